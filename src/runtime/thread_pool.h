/*
 * The one set of worker threads behind TVMBackendParallelLaunch. The C functions are in
 * tvm/runtime/c_backend_api.h; this header is for the runtime's own files and the native tests.
 */
#ifndef TVM_LITE_RUNTIME_THREAD_POOL_H_
#define TVM_LITE_RUNTIME_THREAD_POOL_H_

namespace tvm {
namespace runtime {

/* How many tasks a launch with num_task == 0 has: at least 1. */
int NumThreads();

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_LITE_RUNTIME_THREAD_POOL_H_
