// The layouts that other programs rely on, checked when the library is built.
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>
#include <tvm/runtime/packed_func.h>

#include <cstddef>

#define CHECK_OFFSET(type, member, offset) \
  static_assert(offsetof(type, member) == (offset), #type "::" #member " has moved")
#define CHECK_SIZE(type, size) static_assert(sizeof(type) == (size), #type " has changed its size")

// DLPack
CHECK_SIZE(DLDataType, 4);
CHECK_OFFSET(DLDataType, code, 0);
CHECK_OFFSET(DLDataType, bits, 1);
CHECK_OFFSET(DLDataType, lanes, 2);
CHECK_SIZE(DLDevice, 8);
CHECK_OFFSET(DLDevice, device_id, 4);
CHECK_SIZE(DLPackVersion, 8);
#if UINTPTR_MAX == UINT64_MAX
CHECK_SIZE(DLTensor, 48);
CHECK_OFFSET(DLTensor, data, 0);
CHECK_OFFSET(DLTensor, device, 8);
CHECK_OFFSET(DLTensor, ndim, 16);
CHECK_OFFSET(DLTensor, dtype, 20);
CHECK_OFFSET(DLTensor, shape, 24);
CHECK_OFFSET(DLTensor, strides, 32);
CHECK_OFFSET(DLTensor, byte_offset, 40);
CHECK_SIZE(DLManagedTensor, 64);
CHECK_OFFSET(DLManagedTensor, manager_ctx, 48);
CHECK_OFFSET(DLManagedTensor, deleter, 56);
CHECK_SIZE(DLManagedTensorVersioned, 80);
CHECK_OFFSET(DLManagedTensorVersioned, version, 0);
CHECK_OFFSET(DLManagedTensorVersioned, manager_ctx, 8);
CHECK_OFFSET(DLManagedTensorVersioned, deleter, 16);
CHECK_OFFSET(DLManagedTensorVersioned, flags, 24);
CHECK_OFFSET(DLManagedTensorVersioned, dl_tensor, 32);

// The classic C ABI
CHECK_SIZE(TVMValue, 8);
CHECK_SIZE(TVMByteArray, 16);
CHECK_OFFSET(TVMByteArray, size, 8);
CHECK_SIZE(TVMObjectHeader, 16);
CHECK_OFFSET(TVMObjectHeader, ref_counter, 4);
CHECK_OFFSET(TVMObjectHeader, deleter, 8);
CHECK_SIZE(TVMParallelGroupEnv, 16);
CHECK_OFFSET(TVMParallelGroupEnv, num_task, 8);
CHECK_SIZE(TVMTableFunction, 32);

// Our own: the extension is built against the same headers, so these guard against accidents.
CHECK_SIZE(tvm::runtime::Object, 16);
CHECK_SIZE(tvm::runtime::NDArrayContainer, 104);
CHECK_SIZE(tvm::runtime::PackedFuncObj, 40);
CHECK_SIZE(TVMDeviceAPI, 120);
#endif

static_assert(kTVMArgInt == 0 && kTVMArgFloat == 2 && kTVMNDArrayHandle == 13 && kTVMArgBool == 15,
              "the tags are part of the ABI");
static_assert(kDLBool == 6 && kDLFloat8_e4m3fn == 10 && kDLFloat8_e5m2 == 12,
              "DLPack's codes are part of the ABI");
