// Locks and fork: a child that forks while another thread holds one of our locks must not hang.
#ifndef TVM_SRC_RUNTIME_FORK_H_
#define TVM_SRC_RUNTIME_FORK_H_

#include <mutex>

namespace tvm {
namespace runtime {

// The mutex is held over every later fork, so that the child gets it free and its data whole.
// Only for leaf locks: nothing may be locked while one of them is held.
void ProtectMutexInFork(std::mutex* mutex);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_FORK_H_
