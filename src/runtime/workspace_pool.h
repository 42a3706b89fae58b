// Temporary memory of kernels, behind TVMBackendAllocWorkspace and TVMBackendFreeWorkspace.
//
// Each thread has a pool of its own: a list of blocks in use, of which the youngest is looked at
// first, and a list of free ones kept for the next kernel. Blocks may be freed in any order, and by
// any thread. A thread's free blocks go when it ends; what it has not freed yet stays valid.
#ifndef TVM_SRC_RUNTIME_WORKSPACE_POOL_H_
#define TVM_SRC_RUNTIME_WORKSPACE_POOL_H_

#include <cstdint>

namespace tvm {
namespace runtime {

// Free blocks that the pools of all threads together keep, at most, host and devices apart.
constexpr int64_t kMaxWorkspaceKept = int64_t{256} << 20;

// Bytes of workspace memory that the pools of all threads hold, in use or kept for the next kernel,
// on all devices (kTVMStatWorkspaceBytes).
int64_t WorkspaceBytesHeld();

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_WORKSPACE_POOL_H_
