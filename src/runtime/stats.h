// Live figures. Each thread counts in a shard of its own with plain loads and stores (an atomic
// addition costs as much as half an allocation); a reader adds the shards up.
#ifndef TVM_SRC_RUNTIME_STATS_H_
#define TVM_SRC_RUNTIME_STATS_H_

#include <cstdint>

namespace tvm {
namespace runtime {

enum Counter { kCountArrays, kCountFunctions, kCountOthers, kCountCPUBytes, kNumCounters };

struct alignas(64) StatShard {
  int64_t values[kNumCounters];
  StatShard* next;
  int32_t in_use;
};

extern __thread StatShard* tls_shard __attribute__((tls_model("initial-exec")));
StatShard* NewShard();

inline StatShard* Shard() {
  StatShard* s = tls_shard;
  return __builtin_expect(s != nullptr, 1) ? s : NewShard();
}

// Only the owner writes a shard, so the addition itself need not be atomic.
inline void Count(StatShard* shard, Counter which, int64_t delta) {
  int64_t old = __atomic_load_n(&shard->values[which], __ATOMIC_RELAXED);
  __atomic_store_n(&shard->values[which], old + delta, __ATOMIC_RELAXED);
}

int64_t Total(Counter which);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_STATS_H_
