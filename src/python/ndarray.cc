// The NDArray type: life, attributes, and the builtins that make arrays.
#include <cstdlib>

#include "array_common.h"
#include "exchange_api.h"
#include "numpy_api.h"

namespace tvm {
namespace python {

PyTypeObject* NDArrayType = nullptr;

namespace {

// ---- life ---------------------------------------------------------------------------------------
inline void InitObject(PyObject* o, TVMArrayHandle handle) {
  auto* self = reinterpret_cast<NDArrayObject*>(o);
  self->handle = handle;
  self->weakrefs = nullptr;
  self->strides = nullptr;
}

// A few dead objects are kept for the next ones: a visit to Python's allocator costs as much as
// half of all the rest of nd.empty. The GIL guards the list; without one there is no list.
#ifndef Py_GIL_DISABLED
constexpr int kMostSpare = 32;
PyObject* spare[kMostSpare];
int num_spare = 0;

inline PyObject* NewObject() {
  if (num_spare != 0) return PyObject_Init(spare[--num_spare], NDArrayType);
  return reinterpret_cast<PyObject*>(PyObject_New(NDArrayObject, NDArrayType));
}

inline void FreeObject(PyObject* o) {
  if (num_spare == kMostSpare) return PyObject_Free(o);
  spare[num_spare++] = o;
}
#else
inline PyObject* NewObject() {
  return reinterpret_cast<PyObject*>(PyObject_New(NDArrayObject, NDArrayType));
}

inline void FreeObject(PyObject* o) { PyObject_Free(o); }
#endif

void Dealloc(PyObject* o) {
  auto* self = reinterpret_cast<NDArrayObject*>(o);
  PyTypeObject* type = Py_TYPE(o);
#ifndef Py_GIL_DISABLED
  if (self->weakrefs != nullptr)
#endif
    PyObject_ClearWeakRefs(o);
  if (self->strides != nullptr) free(self->strides);
  if (self->handle != nullptr) ContainerOf(o)->DecRef();
  if (type == NDArrayType) {
    FreeObject(o);
  } else {  // subclasses may be garbage-collected objects with another allocator
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(o);
  }
  Py_DECREF(type);
}

// NDArray(x) is a second object for the same array; it exists so that subclasses can be made.
PyObject* New(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* source = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : nullptr;
  if (source == nullptr || !IsNDArray(source) || (kwargs != nullptr && PyDict_Size(kwargs) != 0)) {
    return RaiseKind("TypeError",
                     "NDArray: expected one NDArray; arrays are made by tvm.nd.array, "
                     "tvm.nd.empty and tvm.nd.from_dlpack");
  }
  PyObject* self = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == nullptr) return nullptr;
  ContainerOf(source)->IncRef();
  InitObject(self, TensorOf(source));
  return self;
}

// ---- attributes ---------------------------------------------------------------------------------
PyObject* GetShape(PyObject* self, void*) {
  const DLTensor& t = *TensorOf(self);
  return ShapeToPy(t.shape, t.ndim);
}
PyObject* GetDType(PyObject* self, void*) { return DTypeToPy(TensorOf(self)->dtype); }
PyObject* GetDevice(PyObject* self, void*) { return DeviceToPy(TensorOf(self)->device); }
PyObject* GetNDim(PyObject* self, void*) { return PyLong_FromLong(TensorOf(self)->ndim); }
PyObject* GetSize(PyObject* self, void*) {
  return PyLong_FromLongLong(runtime::NumElements(*TensorOf(self)));
}
PyObject* GetNBytes(PyObject* self, void*) {
  return PyLong_FromLongLong(ContainerOf(self)->nbytes);
}
PyObject* GetStrides(PyObject* self, void*) {
  const DLTensor& t = *TensorOf(self);
  if (t.strides == nullptr) Py_RETURN_NONE;
  return ShapeToPy(t.strides, t.ndim);
}
PyObject* GetByteOffset(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(TensorOf(self)->byte_offset);
}
PyObject* GetIsView(PyObject* self, void*) {
  return PyBool_FromLong((ContainerOf(self)->flags & runtime::kNDArrayIsView) != 0);
}
PyObject* GetReadOnly(PyObject* self, void*) {
  return PyBool_FromLong((ContainerOf(self)->flags & runtime::kNDArrayReadOnly) != 0);
}
PyObject* GetHandleAddress(PyObject* self, void*) { return PyLong_FromVoidPtr(TensorOf(self)); }

PyObject* Compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  // False for other types, not NotImplemented: their reflected comparison may look at the content.
  bool same = IsNDArray(other) && TensorOf(self) == TensorOf(other);
  return PyBool_FromLong(same == (op == Py_EQ));
}

Py_hash_t Hash(PyObject* self) {
  // The low bits of an address are always the same.
  auto address = reinterpret_cast<uintptr_t>(TensorOf(self));
  auto hash = static_cast<Py_hash_t>(address >> 4 | address << (8 * sizeof(address) - 4));
  return hash == -1 ? -2 : hash;
}

// ---- making arrays ------------------------------------------------------------------------------
Signature array_signature = {"array", 3, 1, 3, {"arr", "device", "mem_scope"}, {}};
Signature empty_signature = {"empty", 4, 1, 4, {"shape", "dtype", "device", "mem_scope"}, {}};

PyObject* ArrayFrom(PyObject* source, PyObject* device, PyObject* mem_scope) {
  DLDevice dev;
  const char* scope;
  if (!DeviceFromPy(device, &dev) || !MemScopeFromPy(mem_scope, &scope)) return nullptr;
  if (IsNumpyArray(source)) {
    DLTensor t;
    int64_t shape[kNumpyMaxDims];
    int64_t strides[kNumpyMaxDims];
    if (ViewNumpy(source, &t, shape, strides)) return WrapNDArray(CopyToDevice(t, dev, scope));
  } else if (IsNDArray(source)) {
    return WrapNDArray(CopyToDevice(*TensorOf(source), dev, scope));
  } else if (FindExchangeAPI(Py_TYPE(source)) != nullptr) {
    TVMArrayHandle shared = ShareForeign(source);
    if (shared == nullptr) return nullptr;
    PyObject* array = WrapNDArray(CopyToDevice(*shared, dev, scope));
    TVMArrayFree(shared);
    return array;
  }
  PyObject* hook = GetHook("array_slow");
  if (hook == nullptr) return nullptr;
  PyObject* device_object = DeviceToPy(dev);
  if (device_object == nullptr) return nullptr;
  PyObject* array = PyObject_CallFunctionObjArgs(
      hook, source, device_object, mem_scope == nullptr ? Py_None : mem_scope, nullptr);
  Py_DECREF(device_object);
  return array;
}

PyObject* MakeArray(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (nargs == 1 && kwnames == nullptr) return ArrayFrom(args[0], nullptr, nullptr);
  PyObject* v[3];
  if (!array_signature.Parse(args, nargs, kwnames, v)) return nullptr;
  return ArrayFrom(v[0], v[1], v[2]);
}

PyObject* MakeEmpty(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* v[4] = {nullptr, nullptr, nullptr, nullptr};
  if (kwnames == nullptr && nargs >= 1 && nargs <= 4) {
    for (Py_ssize_t i = 0; i < nargs; ++i) v[i] = args[i];
  } else if (!empty_signature.Parse(args, nargs, kwnames, v)) {
    return nullptr;
  }
  ShapeBuffer shape;
  DLDataType dtype = {kDLFloat, 32, 1};
  DLDevice device;
  const char* scope;
  if (!shape.FromPy(v[0])) return nullptr;
  if (v[1] != nullptr && !DTypeFromPy(v[1], &dtype)) return nullptr;
  if (!DeviceFromPy(v[2], &device) || !MemScopeFromPy(v[3], &scope)) return nullptr;
  TVMArrayHandle handle = nullptr;
  if (TVMArrayEmpty(shape.data(), shape.size(), dtype, device, scope, &handle) != 0) {
    return RaiseLastError();
  }
  return WrapNDArray(handle);
}

// ---- tables -------------------------------------------------------------------------------------
PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NDArrayObject, weakrefs), READONLY, nullptr}, {}};

PyGetSetDef getset[] = {
    {"shape", GetShape, nullptr, "Extents, a tuple of int.", nullptr},
    {"dtype", GetDType, nullptr, "Element type, as text.", nullptr},
    {"device", GetDevice, nullptr, "Where the memory is.", nullptr},
    {"ndim", GetNDim, nullptr, "Number of axes.", nullptr},
    {"size", GetSize, nullptr, "Number of elements.", nullptr},
    {"nbytes", GetNBytes, nullptr, "Bytes that the elements take, without gaps.", nullptr},
    {"strides", GetStrides, nullptr,
     "Distances between neighbours along each axis, in elements; None for a compact array.",
     nullptr},
    {"byte_offset", GetByteOffset, nullptr, "Bytes from the data pointer to the first element.",
     nullptr},
    {"is_view", GetIsView, nullptr, "Whether the array shares the memory of another NDArray.",
     nullptr},
    {"_read_only", GetReadOnly, nullptr, "Whether writing through this array is refused.", nullptr},
    {"_handle_address", GetHandleAddress, nullptr, "Address of the DLTensor.", nullptr},
    {}};

PyMethodDef type_methods[] = {
    {"numpy", NDArrayNumpy, METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "A NumPy array with a copy of the elements.\n\n"
     "Returns\n-------\nnumpy.ndarray\n"
     "    C-contiguous, of the same shape; lanes become one more axis. bfloat16 arrives as uint16\n"
     "    bit patterns.\n\n"
     "Examples\n--------\n>>> tvm.nd.array([1.5, 2.5]).numpy().tolist()\n[1.5, 2.5]"},
    {"copyfrom", NDArrayCopyFrom, METH_O,
     "copyfrom($self, source_array, /)\n--\n\n"
     "Copy the elements of an array-like of the same shape into this array.\n\n"
     "Parameters\n----------\nsource_array : array_like\n"
     "    Converted to this array's dtype.\n\n"
     "Returns\n-------\nNDArray\n    This array.\n\n"
     "Raises\n------\nValueError\n    The shapes differ, or this array is read-only.\n"
     "TypeError\n    The source is not array-like.\n\n"
     "Examples\n--------\n>>> tvm.nd.empty((2,)).copyfrom([1, 2]).numpy().tolist()\n[1.0, 2.0]"},
    {"copyto", AsCFunction(NDArrayCopyTo), METH_FASTCALL | METH_KEYWORDS,
     "copyto($self, target, mem_scope=None)\n--\n\n"
     "Copy the elements to an array of the same size in bytes, or to a device.\n\n"
     "Parameters\n----------\ntarget : NDArray or Device\n"
     "mem_scope : str, optional\n    Kind of memory, for a Device.\n\n"
     "Returns\n-------\nNDArray\n    The target, or the new array on the device.\n\n"
     "Raises\n------\nValueError\n"
     "    The sizes differ, the target is read-only, or it is something else.\n\n"
     "Examples\n--------\n>>> tvm.nd.array([1, 2]).copyto(tvm.cpu(0)).shape\n(2,)"},
    {"_create_view", AsCFunction(NDArrayCreateView), METH_FASTCALL | METH_KEYWORDS,
     "_create_view($self, shape, dtype=None, relative_byte_offset=0)\n--\n\n"
     "An array that shares this array's memory.\n\n"
     "Compiled functions assume that their arguments do not share memory, so views are for those\n"
     "who know what they do.\n\n"
     "Parameters\n----------\nshape : sequence of int\n"
     "dtype : str, optional\n    This array's by default.\n"
     "relative_byte_offset : int\n    From the beginning of this array.\n\n"
     "Raises\n------\nValueError\n    The view would reach outside, or this array has gaps."},
    {"_end_loan", NDArrayEndLoan, METH_NOARGS,
     "_end_loan($self, /)\n--\n\n"
     "Give an argument of a callback memory of its own before its address is handed on."},
    {"same_as", NDArraySameAs, METH_O,
     "same_as($self, other, /)\n--\n\nWhether both are the same array, not just equal in content."},
    {"__dlpack__", AsCFunction(NDArrayDLPack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, stream=None, *, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule that shares the memory, as the array API standard describes it.\n\n"
     "Raises\n------\nBufferError\n"
     "    The form asked for cannot express the array, or the device cannot be reached."},
    {"__dlpack_device__", NDArrayDLPackDevice, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nThe pair (device_type, device_id)."},
    {"to_dlpack", NDArrayToDLPack, METH_NOARGS,
     "to_dlpack($self, /)\n--\n\nA DLPack capsule of the form before DLPack 1.0."},
    {}};

PyType_Slot slots[] = {
    {Py_tp_new, AsSlot(New)},
    {Py_tp_dealloc, AsSlot(Dealloc)},
    {Py_tp_richcompare, AsSlot(Compare)},
    {Py_tp_hash, AsSlot(Hash)},
    {Py_mp_length, AsSlot(NDArrayLength)},
    {Py_mp_subscript, AsSlot(NDArrayGetItem)},
    {Py_mp_ass_subscript, AsSlot(NDArraySetItem)},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {Py_tp_methods, type_methods},
    {Py_tp_doc,
     const_cast<char*>("An array: memory on a device, with a shape and an element type.\n\n"
                       "It is a container. Computation is done by compiled functions.")},
    {}};
PyType_Spec spec = {"tvm.runtime.ndarray.NDArray", sizeof(NDArrayObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

PyMethodDef functions[] = {
    {"array", AsCFunction(MakeArray), METH_FASTCALL | METH_KEYWORDS,
     "array(arr, device=None, mem_scope=None)\n--\n\n"
     "Make an array with a copy of the source's elements.\n\n"
     "Parameters\n----------\narr : array_like\n"
     "    A NumPy array, an NDArray, a number, a nested list, a tensor of another framework. Any\n"
     "    strides and byte order.\n"
     "device : Device, optional\n    Where to make it, ``cpu(0)`` by default.\n"
     "mem_scope : str, optional\n    Kind of the device's memory.\n\n"
     "Returns\n-------\nNDArray\n    Its dtype is the one that ``numpy.array(arr)`` has.\n\n"
     "Raises\n------\nTypeError\n    There is no dtype for the elements (records, text, "
     "objects).\n\n"
     "Examples\n--------\n>>> tvm.nd.array([[1, 2], [3, 4]]).shape\n(2, 2)"},
    {"empty", AsCFunction(MakeEmpty), METH_FASTCALL | METH_KEYWORDS,
     "empty(shape, dtype='float32', device=None, mem_scope=None)\n--\n\n"
     "Make an array whose elements are not set.\n\n"
     "Parameters\n----------\nshape : int or sequence of int\n"
     "dtype : str or numpy.dtype\n"
     "device : Device, optional\n    Where to make it, ``cpu(0)`` by default.\n"
     "mem_scope : str, optional\n    Kind of the device's memory.\n\n"
     "Returns\n-------\nNDArray\n    Compact, its data aligned to 64 bytes.\n\n"
     "Raises\n------\nValueError\n"
     "    A negative or too large shape, an unknown dtype or memory scope.\n\n"
     "Examples\n--------\n>>> tvm.nd.empty((2, 3), \"int8\").nbytes\n6"},
    {"from_dlpack", AsCFunction(FromDLPack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(dltensor)\n--\n\n"
     "Make an array that shares the memory of another library's tensor.\n\n"
     "Parameters\n----------\ndltensor : object with __dlpack__, or DLPack capsule\n"
     "    Any strides. A capsule can be used once.\n\n"
     "Returns\n-------\nNDArray\n    Keeps the tensor's memory alive; read-only when it is.\n\n"
     "Raises\n------\nValueError\n    The capsule was consumed already.\n"
     "TypeError\n    Not a tensor, or its element type has no counterpart.\n\n"
     "Examples\n--------\n>>> x = numpy.zeros(3)\n>>> tvm.nd.from_dlpack(x)[:] = numpy.ones(3)\n"
     ">>> x.tolist()\n[1.0, 1.0, 1.0]"},
    {}};

bool SignaturesInterned() { return array_signature.Intern() && empty_signature.Intern(); }

// A size that does not fit, or that is no integer at all.
bool RaiseBadExtent(PyObject* shape, PyObject* item) {
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    RaiseKind("ValueError", "shape %R has an extent that does not fit into 64 bits", shape);
  } else if (PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    RaiseKind("TypeError", "shape: expected an int or a sequence of ints, but got %R%s%R", shape,
              shape == item ? ", a " : ", which has the element ",
              shape == item ? reinterpret_cast<PyObject*>(Py_TYPE(item)) : item);
  }
  return false;
}

inline bool ExtentFromPy(PyObject* shape, PyObject* item, int64_t* out) {
  if (PyLong_CheckExact(item)) {
    *out = PyLong_AsLongLong(item);
    if (*out != -1 || !PyErr_Occurred()) return true;
    return RaiseBadExtent(shape, item);
  }
  PyObject* index = PyNumber_Index(item);
  if (index == nullptr) return RaiseBadExtent(shape, item);
  *out = PyLong_AsLongLong(index);
  Py_DECREF(index);
  if (*out != -1 || !PyErr_Occurred()) return true;
  return RaiseBadExtent(shape, item);
}

}  // namespace

bool ShapeBuffer::Resize(int n) {
  if (n > static_cast<int>(sizeof(inline_) / sizeof(inline_[0]))) {
    auto* data = static_cast<int64_t*>(PyMem_Malloc(sizeof(int64_t) * n));
    if (data == nullptr) {
      PyErr_NoMemory();
      return false;
    }
    if (data_ != inline_) PyMem_Free(data_);
    data_ = data;
  }
  size_ = n;
  return true;
}

bool ShapeBuffer::FromPy(PyObject* o) {
  PyObject* owned = nullptr;
  if (!PyTuple_Check(o)) {
#ifndef Py_GIL_DISABLED
    // Reading plain ints runs no Python code, so the list stays as it is.
    if (PyList_CheckExact(o) && PyList_GET_SIZE(o) <= INT32_MAX) {
      const Py_ssize_t n = PyList_GET_SIZE(o);
      Py_ssize_t i = 0;
      if (!Resize(static_cast<int>(n))) return false;
      while (i < n && PyLong_CheckExact(PyList_GET_ITEM(o, i))) {
        if (!ExtentFromPy(o, PyList_GET_ITEM(o, i), &data_[i])) return false;
        ++i;
      }
      if (i == n) return true;
    }
#endif
    if (PyIndex_Check(o) && !IsNumpyArray(o)) return Resize(1) && ExtentFromPy(o, o, &data_[0]);
    // A tuple of our own: nobody can change it while the extents are read.
    bool unordered = PyDict_Check(o) || PyObject_TypeCheck(o, &PySet_Type) ||
                     PyObject_TypeCheck(o, &PyFrozenSet_Type);
    bool no_shape = PyUnicode_Check(o) || PyBytes_Check(o) || unordered;
    owned = no_shape ? nullptr : PySequence_Tuple(o);
    if (owned == nullptr) {
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_TypeError);
      return RaiseBadExtent(o, o);
    }
  }
  PyObject* tuple = owned != nullptr ? owned : o;
  Py_ssize_t n = PyTuple_Size(tuple);
  bool ok = n <= INT32_MAX && Resize(static_cast<int>(n));
  if (n > INT32_MAX) RaiseKind("ValueError", "shape: %zd axes are too many", n);
  for (Py_ssize_t i = 0; ok && i < n; ++i)
    ok = ExtentFromPy(o, PyTuple_GET_ITEM(tuple, i), &data_[i]);
  Py_XDECREF(owned);
  return ok;
}

PyObject* ShapeToPy(const int64_t* values, int n) {
  PyObject* tuple = PyTuple_New(n);
  if (tuple == nullptr) return nullptr;
  for (int i = 0; i < n; ++i) {
    PyObject* v = PyLong_FromLongLong(values[i]);
    if (v == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, i, v);
  }
  return tuple;
}

PyObject* WrapNDArray(TVMArrayHandle handle) {
  if (handle == nullptr) return nullptr;
  PyObject* self = NewObject();
  if (self == nullptr) {
    TVMArrayFree(handle);
    return nullptr;
  }
  InitObject(self, handle);
  return self;
}

int InitNDArray(PyObject* module) {
  if (!SignaturesInterned() || InitNDArrayMethods() != 0 || InitDLPack() != 0) return -1;
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) return -1;
  NDArrayType = reinterpret_cast<PyTypeObject*>(type);
  if (InitExchangeAPI() != 0) return -1;
  Py_INCREF(type);
  if (PyModule_AddObject(module, "NDArray", type) != 0) {
    Py_DECREF(type);
    return -1;
  }
  return AddFunctions(module, "tvm.runtime.ndarray", functions);
}

}  // namespace python
}  // namespace tvm
