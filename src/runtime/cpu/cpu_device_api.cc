// The CPU: memory and figures about the machine.
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <tvm/runtime/device_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../device_internal.h"
#include "../error.h"
#include "../stats.h"
#include "../workspace_pool.h"

namespace tvm {
namespace runtime {

namespace {

// From this size on we ask for huge pages; fewer page faults make fresh memory much faster.
constexpr size_t kHugePageThreshold = 4 << 20;

std::string ReadText(const char* path, size_t limit = 64 << 10) {
  std::string text;
  if (FILE* f = fopen(path, "re")) {
    text.resize(limit);
    text.resize(fread(&text[0], 1, limit, f));
    fclose(f);
  }
  return text;
}

// A number at the start of the file, or -1 ("max", or no such file).
int64_t ReadNumber(const char* path) {
  std::string text = ReadText(path, 64);
  char* end = nullptr;
  long long v = strtoll(text.c_str(), &end, 10);
  return end == text.c_str() ? -1 : v;
}

// The path of this process below the root of a cgroup hierarchy ("0::/a/b" or "5:memory:/a/b").
std::string CgroupPath(const char* controller) {
  std::string text = ReadText("/proc/self/cgroup");
  size_t pos = 0;
  while (pos < text.size()) {
    size_t end = text.find('\n', pos);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(pos, end - pos);
    pos = end + 1;
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    bool match = *controller == 0
                     ? names == ",,"
                     : names.find("," + std::string(controller) + ",") != std::string::npos;
    if (match) return line.substr(second + 1);
  }
  return "";
}

// The smallest limit on the way from the process's group up to the root; -1 when there is none.
int64_t SmallestLimit(const std::string& root, std::string path, const char* file) {
  int64_t least = -1;
  for (;;) {
    int64_t v = ReadNumber((root + (path == "/" ? "" : path) + "/" + file).c_str());
    if (v > 0 && (least < 0 || v < least)) least = v;
    size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty() || path == "/") break;
    path.resize(slash);
  }
  return least;
}

int64_t TotalMemory() {
  static const int64_t total = [] {
    int64_t physical =
        static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
    for (int64_t limit :
         {SmallestLimit("/sys/fs/cgroup", CgroupPath(""), "memory.max"),
          SmallestLimit("/sys/fs/cgroup/memory", CgroupPath("memory"), "memory.limit_in_bytes")}) {
      if (limit > 0 && limit < physical) physical = limit;
    }
    return physical;
  }();
  return total;
}

// "model name : X" of /proc/cpuinfo.
std::string CPUInfo(const char* field) {
  std::string text = ReadText("/proc/cpuinfo");
  size_t pos = text.find(field);
  if (pos == std::string::npos) return "";
  size_t colon = text.find(':', pos);
  size_t end = text.find('\n', pos);
  if (colon == std::string::npos || end == std::string::npos || colon > end) return "";
  ++colon;
  while (colon < end && text[colon] == ' ') ++colon;
  return text.substr(colon, end - colon);
}

int64_t L2Bytes() {
  long size = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
  size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  if (size > 0) return size;
  std::string text = ReadText("/sys/devices/system/cpu/cpu0/cache/index2/size", 64);
  char* end = nullptr;
  int64_t v = strtoll(text.c_str(), &end, 10);
  if (*end == 'K') v <<= 10;
  if (*end == 'M') v <<= 20;
  return v;
}

int64_t ClockKHz() {
  int64_t khz = ReadNumber("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (khz > 0) return khz;
  return static_cast<int64_t>(strtod(CPUInfo("cpu MHz").c_str(), nullptr) * 1000);
}

int64_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return sysconf(_SC_NPROCESSORS_ONLN);
}

// ---- the members of TVMDeviceAPI ----------------------------------------------------------------
int Exist(void*, int, int* out) {
  *out = 1;
  return 0;
}

void SetInt(int64_t v, TVMValue* value, int* type_code) {
  if (v <= 0) return;  // not known here: no such figure
  value->v_int64 = v;
  *type_code = kTVMArgInt;
}

int GetAttr(void*, int, int kind, TVMValue* value, int* type_code) {
  return Guarded([&] {
    value->v_int64 = 0;
    *type_code = kTVMNullptr;
    switch (kind) {
      case kTVMAttrExist:
        SetInt(1, value, type_code);
        break;
      case kTVMAttrDeviceName: {
        std::string name = CPUInfo("model name");
        if (name.empty()) break;
        value->v_str = KeepText(name);
        *type_code = kTVMStr;
        break;
      }
      case kTVMAttrMaxClockRate:
        SetInt(ClockKHz(), value, type_code);
        break;
      case kTVMAttrMultiProcessorCount:
        SetInt(UsableCores(), value, type_code);
        break;
      case kTVMAttrL2CacheSizeBytes:
        SetInt(L2Bytes(), value, type_code);
        break;
      case kTVMAttrTotalGlobalMemory:
        SetInt(TotalMemory(), value, type_code);
        break;
      case kTVMAttrAvailableGlobalMemory: {
        int64_t available = TotalMemory() - Total(kCountCPUBytes) - WorkspaceBytesHeld();
        value->v_int64 = available < 0 ? 0 : available;
        *type_code = kTVMArgInt;
        break;
      }
      default:
        break;
    }
    return 0;
  });
}

int Alloc(void*, int, size_t nbytes, size_t alignment, DLDataType, const char* mem_scope,
          void** out) {
  if (mem_scope != nullptr && CheckCPUScope(mem_scope) != 0) return -1;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return Fail("ValueError", "the alignment must be a power of two, but got %zu", alignment);
  }
  *out = CPUAlloc(nbytes, alignment);
  if (*out == nullptr) return Fail("MemoryError", "cannot allocate %zu bytes on the CPU", nbytes);
  return 0;
}

int Free(void*, int, void* data) {
  CPUFree(data);
  return 0;
}

int Copy(void*, const void* from, uint64_t from_offset, DLDevice, void* to, uint64_t to_offset,
         DLDevice, size_t nbytes, TVMStreamHandle) {
  if (nbytes != 0) {
    memmove(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset,
            nbytes);
  }
  return 0;
}

const TVMDeviceAPI kCPU = {
    TVM_DEVICE_API_VERSION,
    sizeof(TVMDeviceAPI),
    nullptr,
    "cpu",
    Exist,
    nullptr,
    GetAttr,
    Alloc,
    Free,
    Copy,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    1,
    0,
};

}  // namespace

void* CPUAlloc(size_t nbytes, size_t alignment) {
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  void* data = nullptr;
  if (posix_memalign(&data, alignment, nbytes == 0 ? 1 : nbytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  if (nbytes >= kHugePageThreshold) {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    uintptr_t first = (reinterpret_cast<uintptr_t>(data) + page - 1) & ~(page - 1);
    uintptr_t last = (reinterpret_cast<uintptr_t>(data) + nbytes) & ~(page - 1);
    // Only advice: a kernel without huge pages refuses, and nothing is lost.
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
#endif
  Count(Shard(), kCountCPUBytes, static_cast<int64_t>(malloc_usable_size(data)));
  return data;
}

void CPUFree(void* data) {
  if (data == nullptr) return;
  Count(Shard(), kCountCPUBytes, -static_cast<int64_t>(malloc_usable_size(data)));
  free(data);
}

const TVMDeviceAPI* CPUDeviceAPI() { return &kCPU; }

int CheckCPUScope(const char* mem_scope) {
  if (*mem_scope == 0 || strcmp(mem_scope, "global") == 0) return 0;
  return Fail("ValueError", "memory scope \"%s\" is not known on cpu; the scopes are: global",
              mem_scope);
}

}  // namespace runtime
}  // namespace tvm
