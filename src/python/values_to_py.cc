// Native cells into Python values.
#include <cstring>

#include "border.h"

namespace tvm {
namespace python {

using runtime::Object;

namespace {

PyObject* TextToPy(const char* text) {
  if (text == nullptr) return Py_NewRef(Py_None);
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strlen(text)), "surrogateescape");
}

PyObject* BytesToPy(const TVMByteArray* bytes) {
  if (bytes == nullptr) return Py_NewRef(Py_None);
  return PyByteArray_FromStringAndSize(bytes->data, static_cast<Py_ssize_t>(bytes->size));
}

// A tensor that somebody else owns for a time nobody knows: its data is copied.
PyObject* CopyTensor(DLTensor* tensor) {
  TVMArrayHandle out = nullptr;
  if (TVMArrayEmpty(tensor->shape, tensor->ndim, tensor->dtype, tensor->device, nullptr, &out) !=
      0) {
    return RaiseLastError();
  }
  if (TVMArrayCopyFromTo(tensor, out, nullptr) != 0) {
    TVMArrayFree(out);
    return RaiseLastError();
  }
  return WrapNDArray(out);
}

PyObject* ExtensionToPy(TVMValue value, int type_code) {
  PyObject* hook = FindHook("extension_from_handle");
  if (hook == nullptr) {
    return RaiseKind("TypeError", "a value of type code %d cannot come to Python", type_code);
  }
  return PyObject_CallFunction(hook, "iK", type_code,
                               static_cast<unsigned long long>(value.v_int64));
}

}  // namespace

PyObject* ValueToPy(TVMValue value, int type_code) {
  switch (type_code) {
    case kTVMArgInt:
      return PyLong_FromLongLong(value.v_int64);
    case kTVMArgBool:
      return PyBool_FromLong(value.v_int64 != 0);
    case kTVMArgFloat:
      return PyFloat_FromDouble(value.v_float64);
    case kTVMNullptr:
      return Py_NewRef(Py_None);
    case kTVMOpaqueHandle:
      return VoidPointerToPy(value.v_handle);
    case kTVMDataType:
      return DTypeToPy(value.v_type);
    case kDLDevice:
      return DeviceToPy(value.v_device);
    case kTVMStr:
      return TextToPy(value.v_str);
    case kTVMBytes:
      return BytesToPy(static_cast<const TVMByteArray*>(value.v_handle));
    default:
      break;
  }
  if (type_code == kTVMObjectRValueRefArg && value.v_handle != nullptr) {
    value.v_handle = *static_cast<void**>(value.v_handle);
    type_code = kTVMObjectHandle;
  }
  if (value.v_handle == nullptr && type_code <= kTVMObjectRValueRefArg) return Py_NewRef(Py_None);
  switch (type_code) {
    case kTVMDLTensorHandle:
      return CopyTensor(static_cast<DLTensor*>(value.v_handle));
    case kTVMNDArrayHandle: {
      auto* handle = static_cast<TVMArrayHandle>(value.v_handle);
      NDArrayContainer::FromHandle(handle)->IncRef();
      return WrapNDArray(handle);
    }
    case kTVMObjectHandle:
      return ObjectToPy(static_cast<Object*>(value.v_handle));
    case kTVMModuleHandle:
      static_cast<Object*>(value.v_handle)->IncRef();
      return WrapModule(value.v_handle);
    case kTVMPackedFuncHandle:
      static_cast<Object*>(value.v_handle)->IncRef();
      return WrapPackedFunc(value.v_handle);
    default:
      return ExtensionToPy(value, type_code);
  }
}

PyObject* ReturnToPy(TVMValue value, int type_code) {
  if (type_code == kTVMNullptr) return Py_NewRef(Py_None);
  if (value.v_handle == nullptr) return ValueToPy(value, type_code);
  switch (type_code) {
    case kTVMNDArrayHandle:
      return WrapNDArray(static_cast<TVMArrayHandle>(value.v_handle));
    case kTVMModuleHandle:
      return WrapModule(value.v_handle);
    case kTVMPackedFuncHandle:
      return WrapPackedFunc(value.v_handle);
    case kTVMObjectHandle: {
      auto* object = static_cast<Object*>(value.v_handle);
      PyObject* result = ObjectToPy(object);
      object->DecRef();
      return result;
    }
    default:
      return ValueToPy(value, type_code);
  }
}

}  // namespace python
}  // namespace tvm
