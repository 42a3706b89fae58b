// Element types and their text.
#ifndef TVM_SRC_RUNTIME_DTYPE_H_
#define TVM_SRC_RUNTIME_DTYPE_H_

#include <tvm/runtime/c_runtime_api.h>

#include <cstring>
#include <string>

namespace tvm {
namespace runtime {

inline bool SameDType(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

// The canonical text: "float32", "bool", "uint1x2", "e4m3_float8", "float32x4", "custom[131]16".
std::string DTypeText(DLDataType dtype);
// The inverse, for text from C callers. 0, or -1 with a ValueError.
int ParseDType(const char* text, DLDataType* out);
// "(2, 3)", "(4,)", "()".
std::string ShapeText(const int64_t* shape, int ndim);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_DTYPE_H_
