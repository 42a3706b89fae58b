// Element types at the DLPack border. Inside the runtime bool is (uint, 1 bit) and the two float8
// types have codes 6 and 7; DLPack says (bool, 8 bits), float8_e4m3fn and float8_e5m2.
#ifndef TVM_SRC_RUNTIME_DLPACK_CONVERT_H_
#define TVM_SRC_RUNTIME_DLPACK_CONVERT_H_

#include <tvm/runtime/c_runtime_api.h>

namespace tvm {
namespace runtime {

// NULL when converted, else the name of what the runtime has no type for.
inline const char* DTypeFromDLPack(DLDataType* dtype) {
  switch (dtype->code) {
    case kDLInt:
    case kDLUInt:
    case kDLOpaqueHandle:
      return nullptr;
    case kDLFloat:
      if (dtype->bits != 16 && dtype->bits != 32 && dtype->bits != 64) return "float of that width";
      return nullptr;
    case kDLBfloat:
      return dtype->bits == 16 ? nullptr : "bfloat that is not of 16 bits";
    case kDLComplex:
      return "complex";
    case kDLBool:
      if (dtype->bits != 8) return "bool that is not one byte";
      dtype->code = kDLUInt;
      dtype->bits = 1;
      return nullptr;
    case kDLFloat8_e4m3fn:
      if (dtype->bits != 8) return "float8 that is not of 8 bits";
      dtype->code = kTVME4M3Float8;
      return nullptr;
    case kDLFloat8_e5m2:
      if (dtype->bits != 8) return "float8 that is not of 8 bits";
      dtype->code = kTVME5M2Float8;
      return nullptr;
    case kDLFloat8_e3m4:
      return "float8_e3m4";
    case kDLFloat8_e4m3:
      return "float8_e4m3";
    case kDLFloat8_e4m3b11fnuz:
      return "float8_e4m3b11fnuz";
    case kDLFloat8_e4m3fnuz:
      return "float8_e4m3fnuz";
    case kDLFloat8_e5m2fnuz:
      return "float8_e5m2fnuz";
    case kDLFloat8_e8m0fnu:
      return "float8_e8m0fnu";
    case kDLFloat6_e2m3fn:
      return "float6_e2m3fn";
    case kDLFloat6_e3m2fn:
      return "float6_e3m2fn";
    case kDLFloat4_e2m1fn:
      return "float4_e2m1fn";
    default:
      return "an unknown type code";
  }
}

// False for types that DLPack does not have.
inline bool DTypeToDLPack(DLDataType* dtype) {
  if (dtype->code == kDLUInt && dtype->bits == 1) {
    dtype->code = kDLBool;
    dtype->bits = 8;
  } else if (dtype->code == kTVME4M3Float8) {
    dtype->code = kDLFloat8_e4m3fn;
  } else if (dtype->code == kTVME5M2Float8) {
    dtype->code = kDLFloat8_e5m2;
  } else {
    return dtype->code <= kDLBfloat;
  }
  return true;
}

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_DLPACK_CONVERT_H_
