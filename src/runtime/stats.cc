#include "stats.h"

#include <pthread.h>
#include <tvm/runtime/c_runtime_api.h>

#include <cstdlib>
#include <new>

#include "error.h"
#include "workspace_pool.h"

namespace tvm {
namespace runtime {

__thread StatShard* tls_shard __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Shards are only ever added; those of ended threads keep their figures and are taken up by new
// threads. No lock, so nothing to worry about in fork.
StatShard* all_shards = nullptr;
// For threads that cannot get a shard of their own (out of memory). May miscount, never fails.
StatShard fallback_shard = {};
pthread_key_t shard_key;
pthread_once_t shard_once = PTHREAD_ONCE_INIT;

void ReturnShard(void* shard) {
  tls_shard = nullptr;
  __atomic_store_n(&static_cast<StatShard*>(shard)->in_use, 0, __ATOMIC_RELEASE);
}

}  // namespace

StatShard* NewShard() {
  pthread_once(&shard_once, [] { pthread_key_create(&shard_key, ReturnShard); });
  StatShard* s = __atomic_load_n(&all_shards, __ATOMIC_ACQUIRE);
  for (; s != nullptr; s = s->next) {
    int32_t free_mark = 0;
    if (__atomic_compare_exchange_n(&s->in_use, &free_mark, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      break;
    }
  }
  if (s == nullptr) {
    s = new (std::nothrow) StatShard();
    if (s == nullptr) return &fallback_shard;
    s->in_use = 1;
    s->next = __atomic_load_n(&all_shards, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&all_shards, &s->next, s, true, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE)) {
    }
  }
  tls_shard = s;
  pthread_setspecific(shard_key, s);
  return s;
}

int64_t Total(Counter which) {
  int64_t sum = __atomic_load_n(&fallback_shard.values[which], __ATOMIC_RELAXED);
  for (StatShard* s = __atomic_load_n(&all_shards, __ATOMIC_ACQUIRE); s != nullptr; s = s->next) {
    sum += __atomic_load_n(&s->values[which], __ATOMIC_RELAXED);
  }
  return sum;
}

}  // namespace runtime
}  // namespace tvm

int64_t TVMRuntimeGetStat(int which) {
  using namespace tvm::runtime;  // NOLINT(build/namespaces)
  switch (which) {
    case kTVMStatObjects:
      return Total(kCountArrays) + Total(kCountFunctions) + Total(kCountOthers);
    case kTVMStatArrays:
      return Total(kCountArrays);
    case kTVMStatCPUBytes:
      return Total(kCountCPUBytes);
    case kTVMStatFunctions:
      return Total(kCountFunctions);
    case kTVMStatWorkspaceBytes:
      return WorkspaceBytesHeld();
    default:
      Fail("ValueError", "TVMRuntimeGetStat: there is no figure %d; the figures are 0 to 4", which);
      return -1;
  }
}
