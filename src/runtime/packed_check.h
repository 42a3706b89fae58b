// What an exported library asks of the runtime while it checks a call, through slots of its own.
// A loader that does not know them leaves them NULL; the library then says less.
#ifndef TVM_SRC_RUNTIME_PACKED_CHECK_H_
#define TVM_SRC_RUNTIME_PACKED_CHECK_H_

#include <tvm/runtime/c_runtime_api.h>

namespace tvm {
namespace runtime {

// Sets the error of a call that the argument table refuses; returns -1.
int ExplainCall(const void* table, uint64_t table_size, const void* args, const int* type_codes,
                int num_args);
// Whether an array (an argument of type kTVMNDArrayHandle) must not be written.
int IsReadOnly(const void* array);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_PACKED_CHECK_H_
