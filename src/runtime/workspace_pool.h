/*
 * Temporary memory of kernels: what the C functions TVMBackendAllocWorkspace and
 * TVMBackendFreeWorkspace stand on.
 */
#ifndef TVM_SRC_RUNTIME_WORKSPACE_POOL_H_
#define TVM_SRC_RUNTIME_WORKSPACE_POOL_H_

#include <cstdint>

namespace tvm {
namespace runtime {

/* Bytes of workspace memory that the pools of all threads hold, in use or kept for reuse
 * (kTVMStatWorkspaceBytes). */
int64_t WorkspaceBytesHeld();

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_WORKSPACE_POOL_H_
