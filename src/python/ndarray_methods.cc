// Methods of NDArray: conversion, copies, views, subscripts.
#include "array_common.h"
#include "numpy_api.h"

namespace tvm {
namespace python {

namespace {

Signature copyto_signature = {"copyto", 2, 1, 2, {"target", "mem_scope"}, {}};
Signature view_signature = {
    "_create_view", 3, 1, 3, {"shape", "dtype", "relative_byte_offset"}, {}};
PyObject* start_name = nullptr;
PyObject* stop_name = nullptr;
PyObject* step_name = nullptr;

PyObject* CallHook(const char* name, PyObject* self, PyObject* argument) {
  PyObject* hook = GetHook(name);
  return hook == nullptr ? nullptr : PyObject_CallFunctionObjArgs(hook, self, argument, nullptr);
}

bool RaiseShapeMismatch(const DLTensor& source, const DLTensor& array) {
  PyObject* from = ShapeToPy(source.shape, source.ndim);
  PyObject* to = ShapeToPy(array.shape, array.ndim);
  if (from != nullptr && to != nullptr) {
    RaiseKind("ValueError",
              "copyfrom: the source has shape %R, but the array has shape %R; the shapes must be "
              "the same",
              from, to);
  }
  Py_XDECREF(from);
  Py_XDECREF(to);
  return false;
}

// 1: done; 0: the slow way is needed; -1: exception.
int CopyFromNumpy(PyObject* self, PyObject* source) {
  const DLTensor& t = *TensorOf(self);
  DLTensor view;
  int64_t shape[kNumpyMaxDims];
  int64_t strides[kNumpyMaxDims];
  if (t.dtype.lanes != 1 || !ViewNumpy(source, &view, shape, strides)) return 0;
  if (!SameShape(view, t)) {
    RaiseShapeMismatch(view, t);
    return -1;
  }
  bool is_bit_pattern = t.dtype.code == kTVMBFloat && view.dtype.code == kDLUInt &&
                        view.dtype.bits == 16 && t.dtype.bits == 16;
  if (is_bit_pattern) view.dtype = t.dtype;
  if (!SameDType(view.dtype, t.dtype)) return 0;
  return CopyTensor(view, t, ContainerOf(self)->nbytes) ? 1 : -1;
}

bool IsNoneAttribute(PyObject* o, PyObject* name) {
  PyObject* value = PyObject_GetAttr(o, name);
  Py_XDECREF(value);
  return value == Py_None;
}

bool IsFullSlice(PyObject* key) {
  return Py_TYPE(key) == &PySlice_Type && IsNoneAttribute(key, start_name) &&
         IsNoneAttribute(key, stop_name) && IsNoneAttribute(key, step_name);
}

}  // namespace

bool CheckWritable(PyObject* array) {
  if ((ContainerOf(array)->flags & runtime::kNDArrayReadOnly) == 0) return true;
  RaiseKind("ValueError",
            "the array is read-only: it shares memory that its owner does not let others write; "
            "copy it first, for instance tvm.nd.array(x)");
  return false;
}

bool CopyArray(PyObject* src, PyObject* dst) {
  if (!CheckWritable(dst)) return false;
  NDArrayContainer* from = ContainerOf(src);
  NDArrayContainer* to = ContainerOf(dst);
  if (from == to) return true;
  if (from->nbytes == to->nbytes) return CopyTensor(from->dl, to->dl, from->nbytes);
  PyObject* from_text = DescribeTensor(from->dl);
  PyObject* to_text = DescribeTensor(to->dl);
  if (from_text != nullptr && to_text != nullptr) {
    RaiseKind("ValueError",
              "copyto: expected a target of %lld bytes, as the source has (%U), but the target has "
              "%lld bytes (%U)",
              static_cast<long long>(from->nbytes), from_text, static_cast<long long>(to->nbytes),
              to_text);
  }
  Py_XDECREF(from_text);
  Py_XDECREF(to_text);
  return false;
}

PyObject* NDArrayNumpy(PyObject* self, PyObject*) {
  const DLTensor& t = *TensorOf(self);
  const int type_number = NumpyTypeNumber(t.dtype);
  if (type_number < 0) {
    PyObject* hook = GetHook("numpy_slow");
    return hook == nullptr ? nullptr : PyObject_CallFunctionObjArgs(hook, self, nullptr);
  }
  if (!ImportNumpy()) return nullptr;
  PyObject* array = NewNumpyArray(type_number, t.ndim, t.shape);
  if (array == nullptr) {
    // NumPy counts axes and bytes in its own way.
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) return nullptr;
    PyObject* exc = TakeException();
    RaiseKind("ValueError", "numpy: no numpy.ndarray can hold an array with %d axes: %S", t.ndim,
              exc);
    Py_DECREF(exc);
    return nullptr;
  }
  DLTensor target = t;
  target.data = AsNumpyArray(array)->data;
  target.device = {kDLCPU, 0};
  target.strides = nullptr;
  target.byte_offset = 0;
  if (!CopyTensor(t, target, ContainerOf(self)->nbytes)) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

PyObject* NDArrayCopyFrom(PyObject* self, PyObject* source) {
  int done = 0;
  if (IsNumpyArray(source)) {
    if (!CheckWritable(self)) return nullptr;
    done = CopyFromNumpy(self, source);
  } else if (IsNDArray(source)) {
    done = CopyArray(source, self) ? 1 : -1;
  } else if (!CheckWritable(self)) {
    return nullptr;
  }
  if (done < 0) return nullptr;
  if (done == 0) {
    PyObject* answer = CallHook("copyfrom_slow", self, source);
    if (answer == nullptr) return nullptr;
    Py_DECREF(answer);
  }
  Py_INCREF(self);
  return self;
}

PyObject* NDArrayCopyTo(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  PyObject* v[2] = {nullptr, nullptr};
  if (nargs == 1 && kwnames == nullptr) {
    v[0] = args[0];
  } else if (!copyto_signature.Parse(args, nargs, kwnames, v)) {
    return nullptr;
  }
  PyObject* target = v[0];
  if (IsNDArray(target)) {
    if (!CopyArray(self, target)) return nullptr;
    Py_INCREF(target);
    return target;
  }
  if (IsInstance(target, DeviceType)) {
    const char* scope;
    DLDevice device;
    if (!DeviceFromPy(target, &device) || !MemScopeFromPy(v[1], &scope)) return nullptr;
    return WrapNDArray(CopyToDevice(*TensorOf(self), device, scope));
  }
  return RaiseKind("ValueError", "copyto: expected an NDArray or a Device as target, but got %R",
                   Py_TYPE(target));
}

PyObject* NDArrayCreateView(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                            PyObject* kwnames) {
  PyObject* v[3];
  if (!view_signature.Parse(args, nargs, kwnames, v)) return nullptr;
  ShapeBuffer shape;
  DLDataType dtype = TensorOf(self)->dtype;
  if (!shape.FromPy(v[0])) return nullptr;
  if (v[1] != nullptr && v[1] != Py_None && !DTypeFromPy(v[1], &dtype)) return nullptr;
  int64_t offset = 0;
  if (v[2] != nullptr) {
    int overflow = 0;
    long long value = 0;
    if (!IndexFromPy(v[2], "_create_view", "relative_byte_offset", &value, &overflow)) {
      return nullptr;
    }
    offset = value;
    if (overflow != 0 || offset < 0) {
      return RaiseKind("ValueError",
                       "_create_view: a view with the relative byte offset %R lies outside the "
                       "array, which has %lld bytes",
                       v[2], static_cast<long long>(ContainerOf(self)->nbytes));
    }
  }
  TVMArrayHandle out = nullptr;
  if (TVMArrayView(TensorOf(self), shape.data(), shape.size(), dtype, static_cast<uint64_t>(offset),
                   &out) != 0) {
    return RaiseLastError();
  }
  return WrapNDArray(out);
}

PyObject* NDArrayEndLoan(PyObject* self, PyObject*) {
  if (TVMArrayEndLoan(TensorOf(self)) != 0) return RaiseLastError();
  Py_RETURN_NONE;
}

PyObject* NDArraySameAs(PyObject* self, PyObject* other) {
  return PyBool_FromLong(IsNDArray(other) && TensorOf(self) == TensorOf(other));
}

Py_ssize_t NDArrayLength(PyObject* self) {
  const DLTensor& t = *TensorOf(self);
  if (t.ndim != 0) return static_cast<Py_ssize_t>(t.shape[0]);
  RaiseKind("TypeError", "len() of an array without axes (shape ())");
  return -1;
}

PyObject* NDArrayGetItem(PyObject*, PyObject*) {
  return RaiseKind("TypeError",
                   "an NDArray is a container whose elements cannot be read by subscripts; use "
                   "x.numpy()[...], or numpy.from_dlpack(x)[...] without a copy");
}

int NDArraySetItem(PyObject* self, PyObject* key, PyObject* value) {
  if (value == nullptr) {
    RaiseKind("TypeError", "the elements of an NDArray cannot be deleted");
    return -1;
  }
  if (!IsFullSlice(key)) {
    if (PyErr_Occurred()) return -1;
    RaiseKind("ValueError",
              "Array only support set from numpy array: x[:] = value sets all elements, parts "
              "cannot be set (got the subscript %R); numpy.from_dlpack(x) gives a NumPy view",
              key);
    return -1;
  }
  if (IsNDArray(value)) return CopyArray(value, self) ? 0 : -1;
  if (!IsNumpyArray(value) && !IsNumpyScalar(value)) {
    RaiseKind("TypeError",
              "x[:] = value: expected a numpy.ndarray, a NumPy scalar or an NDArray, but got %R",
              Py_TYPE(value));
    return -1;
  }
  PyObject* result = NDArrayCopyFrom(self, value);
  Py_XDECREF(result);
  return result == nullptr ? -1 : 0;
}

int InitNDArrayMethods() {
  start_name = PyUnicode_InternFromString("start");
  stop_name = PyUnicode_InternFromString("stop");
  step_name = PyUnicode_InternFromString("step");
  if (start_name == nullptr || stop_name == nullptr || step_name == nullptr) return -1;
  return copyto_signature.Intern() && view_signature.Intern() ? 0 : -1;
}

}  // namespace python
}  // namespace tvm
