#include "workspace_pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "error.h"
#include "fork.h"
#include "futex.h"

namespace tvm {
namespace runtime {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr uint64_t kHugeFrom = uint64_t{4} << 20;
constexpr size_t kMaxBlocksKept = 32;  // a thread
// Blocks up to this size do not count as kept: a common counter would cost more than the block.
constexpr uint64_t kUncounted = uint64_t{64} << 10;
// A kept block serves a request if it is not far too large for it.
constexpr uint64_t kAlwaysFits = uint64_t{1} << 20;
constexpr uint64_t kMaxWaste = 4;

struct Block {
  void* data;
  uint64_t size;
  int device_type;
  int device_id;
};

bool SameDevice(const Block& a, int device_type, int device_id) {
  return a.device_type == device_type && a.device_id == device_id;
}

bool OnHost(int device_type) { return device_type == kDLCPU; }

std::atomic<int64_t> bytes_held{0};
std::atomic<int64_t> bytes_kept_host{0};
std::atomic<int64_t> bytes_kept_devices{0};

std::atomic<int64_t>& BytesKept(int device_type) {
  return OnHost(device_type) ? bytes_kept_host : bytes_kept_devices;
}

// Returns the new total.
int64_t CountKept(const Block& block, int sign) {
  int64_t change = block.size > kUncounted ? sign * static_cast<int64_t>(block.size) : 0;
  std::atomic<int64_t>& total = BytesKept(block.device_type);
  if (change == 0) return total.load(std::memory_order_relaxed);
  return total.fetch_add(change, std::memory_order_relaxed) + change;
}

// ---- memory of a device ------------------------------------------------------------------------

int AllocBlock(uint64_t size, int device_type, int device_id, DLDataType hint, void** out) {
  *out = nullptr;
  if (OnHost(device_type)) {
    bool huge = size >= kHugeFrom;
    // Not on page borders: blocks that all begin there fight for the same cache sets.
    if (size > PTRDIFF_MAX || posix_memalign(out, huge ? kHugePage : kAlignment, size) != 0) {
      *out = nullptr;
      return Fail("MemoryError", "cannot allocate a workspace of %llu bytes",
                  static_cast<unsigned long long>(size));
    }
    if (huge) madvise(*out, size, MADV_HUGEPAGE);
  } else {
    const TVMDeviceAPI* api = nullptr;
    if (TVMGetDeviceAPI(device_type, 0, &api) != 0) return -1;
    if (api == nullptr || api->alloc == nullptr || api->free == nullptr) {
      return Fail("RuntimeError", "device type %d has no memory of its own for a workspace",
                  device_type);
    }
    if (api->alloc(api->self, device_id, size, kAlignment, hint, nullptr, out) != 0) return -1;
  }
  bytes_held.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  return 0;
}

int FreeBlock(const Block& block) {
  bytes_held.fetch_sub(static_cast<int64_t>(block.size), std::memory_order_relaxed);
  if (OnHost(block.device_type)) {
    free(block.data);
    return 0;
  }
  const TVMDeviceAPI* api = nullptr;
  if (TVMGetDeviceAPI(block.device_type, 0, &api) != 0) return -1;
  return api->free(api->self, block.device_id, block.data);
}

// ---- pools -------------------------------------------------------------------------------------

// Held for a few instructions, by other threads only when they free a block of this pool.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) {
      while (locked_.load(std::memory_order_relaxed)) CpuRelax();
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

struct Pool {
  SpinLock lock;  // for in_use; kept is the owner's alone
  std::vector<Block> in_use;
  std::vector<Block> kept;  // in the order in which they were freed
  // With the table's lock: the thread has ended, and the pool only waits for its last free.
  bool orphaned = false;
  // With the table's lock: left behind by a fork, perhaps in the middle of a change.
  bool lost = false;

  void Add(const Block& block) {
    std::lock_guard<SpinLock> guard(lock);
    in_use.push_back(block);
  }

  // Takes a block that is in use off the list. The youngest is looked at first.
  bool Remove(void* data, int device_type, int device_id, Block* out) {
    std::lock_guard<SpinLock> guard(lock);
    for (size_t i = in_use.size(); i-- > 0;) {
      if (in_use[i].data != data || !SameDevice(in_use[i], device_type, device_id)) continue;
      *out = in_use[i];
      in_use.erase(in_use.begin() + static_cast<ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  // The smallest kept block that will do; of equal ones the youngest, which the cache still has.
  bool TakeKept(uint64_t size, int device_type, int device_id, Block* out) {
    uint64_t largest =
        std::max(kAlwaysFits, size > UINT64_MAX / kMaxWaste ? size : size * kMaxWaste);
    size_t best = kept.size();
    for (size_t i = kept.size(); i-- > 0;) {
      const Block& block = kept[i];
      if (block.size < size || block.size > largest) continue;
      if (!SameDevice(block, device_type, device_id)) continue;
      if (best == kept.size() || block.size < kept[best].size) best = i;
      if (block.size == size) break;
    }
    if (best == kept.size()) return false;
    *out = kept[best];
    Forget(best);
    return true;
  }

  // Keeps a free block for later; the oldest ones go where there would be too much otherwise.
  int Keep(const Block& block) {
    int code = 0;
    if (kept.size() == kMaxBlocksKept) code |= DropKept(0);
    if (block.size > kUncounted) {
      if (block.size > static_cast<uint64_t>(kMaxWorkspaceKept)) return code | FreeBlock(block);
      int64_t total = CountKept(block, 1);
      for (size_t i = 0; total > kMaxWorkspaceKept && i < kept.size();) {
        if (kept[i].size > kUncounted && OnHost(kept[i].device_type) == OnHost(block.device_type)) {
          code |= DropKept(i);
          total = BytesKept(block.device_type).load(std::memory_order_relaxed);
        } else {
          ++i;
        }
      }
      if (total > kMaxWorkspaceKept) {  // other threads have it all
        CountKept(block, -1);
        return code | FreeBlock(block);
      }
    }
    kept.push_back(block);
    return code;
  }

  int DropKept(size_t index) {
    Block block = kept[index];
    Forget(index);
    return FreeBlock(block);
  }

  void Forget(size_t index) {
    CountKept(kept[index], -1);
    kept.erase(kept.begin() + static_cast<ptrdiff_t>(index));
  }
};

// All pools, so that a thread can free what another one has allocated. Never destroyed: threads may
// still run while the process exits.
struct PoolTable {
  std::mutex mutex;
  std::vector<Pool*> pools;
  pthread_key_t key;

  static PoolTable* Global() {
    static PoolTable* table = [] {
      auto* t = new PoolTable();
      pthread_key_create(&t->key, DropPool);
      ProtectMutexInFork(&t->mutex);
      pthread_atfork(nullptr, nullptr, LeaveParentsPools);
      return t;
    }();
    return table;
  }

  // When a thread ends.
  static void DropPool(void* pool);
  // In the child of a fork: the other threads are gone.
  static void LeaveParentsPools();
  bool RemoveFromAny(void* data, int device_type, int device_id, Block* out);
  void DeleteIfOver(Pool* pool);
};

// A plain pointer with a key's destructor: destructors of other thread-local objects that use
// workspaces after ours ran simply get a new pool, and the key's destructor runs again.
__thread Pool* own_pool __attribute__((tls_model("initial-exec"))) = nullptr;

void PoolTable::DropPool(void* pointer) {
  auto* pool = static_cast<Pool*>(pointer);
  own_pool = nullptr;
  while (!pool->kept.empty()) pool->DropKept(pool->kept.size() - 1);
  PoolTable* table = Global();
  std::lock_guard<std::mutex> guard(table->mutex);
  pool->orphaned = true;
  table->DeleteIfOver(pool);
}

void PoolTable::DeleteIfOver(Pool* pool) {
  if (!pool->orphaned || !pool->in_use.empty()) return;
  pools.erase(std::find(pools.begin(), pools.end(), pool));
  delete pool;
}

bool PoolTable::RemoveFromAny(void* data, int device_type, int device_id, Block* out) {
  std::lock_guard<std::mutex> guard(mutex);
  for (Pool* pool : pools) {
    if (pool->lost || !pool->Remove(data, device_type, device_id, out)) continue;
    DeleteIfOver(pool);
    return true;
  }
  return false;
}

void PoolTable::LeaveParentsPools() {
  for (Pool* pool : Global()->pools) pool->lost = pool != own_pool && !pool->orphaned;
}

Pool* OwnPool() {
  if (own_pool != nullptr) return own_pool;
  PoolTable* table = PoolTable::Global();
  auto pool = std::make_unique<Pool>();
  pool->kept.reserve(kMaxBlocksKept);  // so that freeing needs no memory
  {
    std::lock_guard<std::mutex> guard(table->mutex);
    table->pools.push_back(pool.get());
  }
  own_pool = pool.release();
  pthread_setspecific(table->key, own_pool);
  return own_pool;
}

void* Alloc(int device_type, int device_id, uint64_t nbytes, DLDataType hint) {
  if (nbytes > UINT64_MAX - kPage) {
    Fail("MemoryError", "cannot allocate a workspace of %llu bytes",
         static_cast<unsigned long long>(nbytes));
    return nullptr;
  }
  uint64_t size = std::max((nbytes + kPage - 1) / kPage * kPage, kPage);
  Pool* pool = OwnPool();
  Block block{nullptr, size, device_type, device_id};
  if (!pool->TakeKept(size, device_type, device_id, &block) &&
      AllocBlock(size, device_type, device_id, hint, &block.data) != 0) {
    return nullptr;
  }
  try {
    pool->Add(block);
  } catch (...) {
    FreeBlock(block);
    throw;
  }
  return block.data;
}

int Free(int device_type, int device_id, void* data) {
  Block block;
  Pool* own = OwnPool();
  if (own->Remove(data, device_type, device_id, &block)) return own->Keep(block);
  // Another thread's. It goes back to the device and not into a pool: threads that only free would
  // collect what threads that only allocate miss.
  if (PoolTable::Global()->RemoveFromAny(data, device_type, device_id, &block)) {
    return FreeBlock(block);
  }
  return Fail("ValueError",
              "TVMBackendFreeWorkspace: expected a workspace of device type %d, number %d, that is "
              "in use, but got %p",
              device_type, device_id, data);
}

}  // namespace

int64_t WorkspaceBytesHeld() { return bytes_held.load(std::memory_order_relaxed); }

}  // namespace runtime
}  // namespace tvm

void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                               int dtype_bits_hint) {
  void* data = nullptr;
  DLDataType hint{static_cast<uint8_t>(dtype_code_hint), static_cast<uint8_t>(dtype_bits_hint), 1};
  tvm::runtime::Guarded([&] {
    data = tvm::runtime::Alloc(device_type, device_id, nbytes, hint);
    return 0;
  });
  return data;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void* ptr) {
  if (ptr == nullptr) return 0;
  return tvm::runtime::Guarded([&] { return tvm::runtime::Free(device_type, device_id, ptr); });
}
