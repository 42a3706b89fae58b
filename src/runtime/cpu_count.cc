#include "cpu_count.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tvm {
namespace runtime {
namespace {

/* Files in /proc and /sys have no length before they are read. */
std::string ReadText(const std::string& path) {
  std::string text;
  if (FILE* file = fopen(path.c_str(), "re")) {
    char buffer[4096];
    size_t got;
    while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0) text.append(buffer, got);
    fclose(file);
  }
  return text;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool Contains(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Mount {
  std::string root;  // which group of the hierarchy is mounted
  std::string point;
  bool found = false;
};

/* A line of mountinfo: id parent dev root point options [tags] - type source super-options. */
Mount FindCgroupMount(const std::string& mountinfo, bool version2) {
  for (const std::string& line : Split(mountinfo, '\n')) {
    std::vector<std::string> words = Split(line, ' ');
    auto dash = std::find(words.begin(), words.end(), "-");
    if (words.end() - dash < 4 || dash - words.begin() < 6) continue;
    bool fits = version2 ? dash[1] == "cgroup2"
                         : dash[1] == "cgroup" && Contains(Split(dash[3], ','), "cpu");
    if (fits) return {words[3], words[4], true};
  }
  return {};
}

double QuotaOfVersion2(const std::string& directory) {
  long long quota = 0, period = 0;
  std::string text = ReadText(directory + "/cpu.max");  // "max 100000" or "150000 100000"
  if (sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
    return 0;
  return static_cast<double>(quota) / static_cast<double>(period);
}

double QuotaOfVersion1(const std::string& directory) {
  long long quota = atoll(ReadText(directory + "/cpu.cfs_quota_us").c_str());  // -1: no limit
  long long period = atoll(ReadText(directory + "/cpu.cfs_period_us").c_str());
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<double>(quota) / static_cast<double>(period);
}

/* The smallest quota of the group at `path` and of all groups above it, as far as mounted. */
double SmallestQuota(const Mount& mount, std::string path, bool version2, const std::string& root) {
  // Inside a container the mount shows a part of the tree: cut what lies above it off the path.
  if (mount.root != "/" && path.compare(0, mount.root.size(), mount.root) == 0) {
    path.erase(0, mount.root.size());
  }
  double smallest = 0;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    std::string directory = root + mount.point + path;
    double quota = version2 ? QuotaOfVersion2(directory) : QuotaOfVersion1(directory);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    if (path.empty()) return smallest;
    size_t slash = path.rfind('/');
    path.erase(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

std::vector<int> ProcessCpus() {
  // The kernel refuses a mask that is shorter than its own, so grow until it fits.
  for (int limit = CPU_SETSIZE; limit <= (1 << 20); limit *= 2) {
    cpu_set_t* set = CPU_ALLOC(limit);
    if (set == nullptr) return {};
    size_t size = CPU_ALLOC_SIZE(limit);
    CPU_ZERO_S(size, set);
    int rc = sched_getaffinity(getpid(), size, set);
    int error = errno;
    std::vector<int> cpus;
    for (int cpu = 0; rc == 0 && cpu < limit; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (rc == 0 || error != EINVAL) return cpus;
  }
  return {};
}

bool SetThreadCpus(int thread, const std::vector<int>& cpus, int except) {
  static_assert(kMaxCpuNumber <= CPU_SETSIZE, "the fixed mask has to hold the numbers");
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) {
    if (cpu >= kMaxCpuNumber) return false;
    if (cpu != except) CPU_SET(cpu, &set);
  }
  return CPU_COUNT(&set) > 0 && sched_setaffinity(thread, sizeof(set), &set) == 0;
}

double CgroupCpuQuota(const std::string& cgroup, const std::string& mountinfo,
                      const std::string& root) {
  double smallest = 0;
  for (const std::string& line : Split(cgroup, '\n')) {
    // "id:controllers:path", where version 2 has id 0 and no controllers; a path may hold colons.
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool version2 = controllers.empty();
    if (!version2 && !Contains(Split(controllers, ','), "cpu")) continue;
    Mount mount = FindCgroupMount(mountinfo, version2);
    if (!mount.found) continue;
    double quota = SmallestQuota(mount, line.substr(second + 1), version2, root);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  }
  return smallest;
}

int AvailableCpus() {
  int count = static_cast<int>(ProcessCpus().size());
  if (count == 0) count = static_cast<int>(std::thread::hardware_concurrency());
  double quota =
      CgroupCpuQuota(ReadText("/proc/self/cgroup"), ReadText("/proc/self/mountinfo"), "");
  if (quota > 0 && quota < count) count = static_cast<int>(std::ceil(quota));
  return std::max(count, 1);
}

int PositiveFromEnv(const char* name) {
  const char* text = getenv(name);
  if (text == nullptr) return 0;
  char* end = nullptr;
  errno = 0;
  long value = strtol(text, &end, 10);
  while (*end == ' ') ++end;
  bool clean = end != text && errno == 0 && (*end == '\0' || *end == ',');
  return clean && value > 0 && value <= INT32_MAX ? static_cast<int>(value) : 0;
}

}  // namespace runtime
}  // namespace tvm
