#include "packed_check.h"

#include <tvm/runtime/ndarray.h>

#include "arg_spec.h"
#include "error.h"

namespace tvm {
namespace runtime {

int ExplainCall(const void* table, uint64_t table_size, const void* args, const int* type_codes,
                int num_args) {
  return Guarded([&] {
    ArgSpec spec;
    if (spec.Parse(table, static_cast<size_t>(table_size)) != 0) return -1;
    return spec.Explain(static_cast<const TVMValue*>(args), type_codes, num_args);
  });
}

int IsReadOnly(const void* array) {
  const auto* tensor = static_cast<const DLTensor*>(array);
  return (NDArrayContainer::FromHandle(tensor)->flags & kNDArrayReadOnly) != 0;
}

}  // namespace runtime
}  // namespace tvm
