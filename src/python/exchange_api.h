// DLPack's C exchange API: a table of functions that a tensor type offers as the capsule
// `__dlpack_c_exchange_api__`, so that tensors cross between frameworks without Python calls.
// The layout is that of DLPack 1.3 (https://dmlc.github.io/dlpack/latest/c_api.html).
#ifndef TVM_PYTHON_EXCHANGE_API_H_
#define TVM_PYTHON_EXCHANGE_API_H_

#include <tvm/runtime/dlpack.h>

#include "compat.h"

namespace tvm {
namespace python {

struct ExchangeHeader {
  DLPackVersion version;
  // The same functions in an older major version; NULL at the end of the chain.
  const ExchangeHeader* prev_api;
};

using ExchangeSetError = void (*)(void* context, const char* kind, const char* message);

// Functions that return int: 0, or -1 with a Python exception set (allocate: with the error given
// to set_error). None synchronises streams.
struct ExchangeAPI {
  ExchangeHeader header;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                  ExchangeSetError set_error);
  int (*managed_from_py)(void* object, DLManagedTensorVersioned** out);
  int (*managed_to_py)(DLManagedTensorVersioned* tensor, void** out);  // takes over the tensor
  int (*borrow_from_py)(void* object, DLTensor* out);  // NULL where it is not supported
  int (*current_work_stream)(DLDeviceType device_type, int32_t device_id, void** out);
};
static_assert(sizeof(ExchangeAPI) == 16 + 5 * sizeof(void*), "the layout is DLPack's");

// The functions of a tensor type, in a version that we read; NULL, without an exception, when the
// type has none.
const ExchangeAPI* FindExchangeAPI(PyTypeObject* type);
// Puts our own table on the NDArray type.
int InitExchangeAPI();

}  // namespace python
}  // namespace tvm
#endif  // TVM_PYTHON_EXCHANGE_API_H_
