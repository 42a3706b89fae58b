// What the files that call functions share.
#ifndef TVM_SRC_RUNTIME_PACKED_FUNC_INTERNAL_H_
#define TVM_SRC_RUNTIME_PACKED_FUNC_INTERNAL_H_

#include <tvm/runtime/packed_func.h>

namespace tvm {
namespace runtime {

// Whether a cell of this tag holds a counted reference when it is a result.
inline bool IsCounted(int type_code) {
  return type_code == kTVMObjectHandle || type_code == kTVMModuleHandle ||
         type_code == kTVMPackedFuncHandle || type_code == kTVMNDArrayHandle;
}

inline Object* CountedObject(TVMValue value, int type_code) {
  if (value.v_handle == nullptr) return nullptr;
  if (type_code == kTVMNDArrayHandle) {
    return NDArrayContainer::FromHandle(static_cast<DLTensor*>(value.v_handle));
  }
  return static_cast<Object*>(value.v_handle);
}

// Gives up the reference that a result cell holds.
inline void DropResult(TVMValue* value, int* type_code) {
  if (IsCounted(*type_code)) {
    if (Object* obj = CountedObject(*value, *type_code)) obj->DecRef();
  }
  value->v_handle = nullptr;
  *type_code = kTVMNullptr;
}

// "str", "int", "a tensor of dtype float64 and shape (3, 4)": what a caller passed, for messages.
std::string ArgumentText(TVMValue value, int type_code);

// A function over a C++ body for the runtime's own global functions.
using NativeBody = int (*)(const TVMValue* args, const int* type_codes, int num_args,
                           RetValueCell* ret);
void RegisterNative(const char* name, NativeBody body, uint32_t flags = 0);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_PACKED_FUNC_INTERNAL_H_
