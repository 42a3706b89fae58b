#include "thread_pool.h"

#include <tvm/runtime/c_backend_api.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tvm {
namespace runtime {
int NumThreads() {
  unsigned n = std::thread::hardware_concurrency();
  return n == 0 ? 1 : static_cast<int>(n);
}
}  // namespace runtime
}  // namespace tvm

extern "C" int TVMRuntimeNumThreads(void) { return tvm::runtime::NumThreads(); }

extern "C" int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void* cdata, int num_task) {
  if (num_task <= 0) num_task = tvm::runtime::NumThreads();
  std::atomic<int> arrived{0};
  TVMParallelGroupEnv env{&arrived, num_task};
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 1; i < num_task; ++i) {
    threads.emplace_back([&, i] {
      if (flambda(i, &env, cdata) != 0) failed = 1;
    });
  }
  if (flambda(0, &env, cdata) != 0) failed = 1;
  for (auto& t : threads) t.join();
  return failed ? -1 : 0;
}

extern "C" int TVMBackendParallelBarrier(int, TVMParallelGroupEnv* penv) {
  auto* arrived = static_cast<std::atomic<int>*>(penv->sync_handle);
  int turn = arrived->fetch_add(1) / penv->num_task;
  while (arrived->load() / penv->num_task == turn) std::this_thread::yield();
  return 0;
}
