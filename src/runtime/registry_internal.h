// The global functions, for callers that keep no reference.
#ifndef TVM_SRC_RUNTIME_REGISTRY_INTERNAL_H_
#define TVM_SRC_RUNTIME_REGISTRY_INTERNAL_H_

#include <tvm/runtime/packed_func.h>

namespace tvm {
namespace runtime {

// The function, or NULL. It stays alive for ever, also when it is replaced or removed later:
// compiled libraries keep the pointer.
PackedFuncObj* BorrowGlobal(const char* name);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_REGISTRY_INTERNAL_H_
