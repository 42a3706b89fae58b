#include "fork.h"

#include <pthread.h>

#include <atomic>

namespace tvm {
namespace runtime {

namespace {

constexpr int kMaxMutexes = 32;
std::mutex* mutexes[kMaxMutexes];
std::atomic<int> num_mutexes{0};
std::mutex table_mutex;

void LockAll() {
  table_mutex.lock();
  for (int i = 0; i < num_mutexes.load(); ++i) mutexes[i]->lock();
}

void UnlockAll() {
  for (int i = num_mutexes.load() - 1; i >= 0; --i) mutexes[i]->unlock();
  table_mutex.unlock();
}

}  // namespace

void ProtectMutexInFork(std::mutex* mutex) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { pthread_atfork(LockAll, UnlockAll, UnlockAll); });
  std::lock_guard<std::mutex> lock(table_mutex);
  int n = num_mutexes.load();
  if (n == kMaxMutexes) return;
  mutexes[n] = mutex;
  num_mutexes.store(n + 1);
}

}  // namespace runtime
}  // namespace tvm
