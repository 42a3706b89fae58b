// What Python values become when they cross the border, in the terms of Python.
#include <cstring>

#include "border.h"

namespace tvm {
namespace python {

namespace {

inline PyObject* AsObject(PyTypeObject* type) { return reinterpret_cast<PyObject*>(type); }

bool IsOurs(PyObject* o) {
  return IsNDArray(o) || IsInstance(o, PackedFuncType) || IsInstance(o, ModuleType) ||
         IsInstance(o, DeviceType);
}

bool IsHooked(PyObject* o, PyTypeObject* type) { return type != nullptr && IsInstance(o, type); }

// ---- classes of modules that are asked about only once they are loaded -------------------------

// Borrowed; NULL without an exception when the module is not loaded (completely) or lacks the name.
PyTypeObject* LoadedClass(const char* module_name, const char* name) {
  PyObject* key = PyUnicode_FromString(module_name);
  PyObject* module = key == nullptr ? nullptr : PyImport_GetModule(key);
  Py_XDECREF(key);
  PyObject* found = module == nullptr ? nullptr : PyObject_GetAttrString(module, name);
  Py_XDECREF(module);
  if (found == nullptr || !PyType_Check(found)) {
    Py_XDECREF(found);
    PyErr_Clear();
    return nullptr;
  }
  // The reference is kept for ever: these are classes of modules that cannot be unloaded.
  return reinterpret_cast<PyTypeObject*>(found);
}

struct NumpyClasses {
  PyTypeObject* dtype;
  PyTypeObject* generic;
  PyTypeObject* bool_;
  PyTypeObject* integer;
  PyTypeObject* floating;
  PyTypeObject* timedelta;
};

const NumpyClasses* Numpy() {
  static NumpyClasses classes;
  static bool ready = false;
  if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) return &classes;
  NumpyClasses c = {LoadedClass("numpy", "dtype"),    LoadedClass("numpy", "generic"),
                    LoadedClass("numpy", "bool_"),    LoadedClass("numpy", "integer"),
                    LoadedClass("numpy", "floating"), LoadedClass("numpy", "timedelta64")};
  if (c.dtype == nullptr || c.generic == nullptr || c.bool_ == nullptr || c.integer == nullptr ||
      c.floating == nullptr || c.timedelta == nullptr) {
    return nullptr;
  }
  classes = c;
  __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
  return &classes;
}

PyTypeObject* VoidPointerClass() {
  static PyTypeObject* cls = nullptr;
  PyTypeObject* known = __atomic_load_n(&cls, __ATOMIC_ACQUIRE);
  if (known != nullptr) return known;
  known = LoadedClass("ctypes", "c_void_p");
  __atomic_store_n(&cls, known, __ATOMIC_RELEASE);
  return known;
}

// ---- numbers and text --------------------------------------------------------------------------

bool IsNumpyOwn(PyTypeObject* type) {
  PyObject* module = PyObject_GetAttrString(AsObject(type), "__module__");
  const char* text =
      module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  bool own = text != nullptr && strncmp(text, "numpy", 5) == 0;
  Py_XDECREF(module);
  PyErr_Clear();
  return own;
}

// A NumPy scalar as int or float; o itself when it is not a real number.
PyObject* NumpyScalar(PyObject* o, const NumpyClasses& np) {
  if (IsInstance(o, np.bool_)) {
    int truth = PyObject_IsTrue(o);
    return truth < 0 ? nullptr : PyLong_FromLong(truth);
  }
  if (IsInstance(o, np.timedelta)) return Py_NewRef(o);
  if (IsInstance(o, np.integer)) return PyNumber_Index(o);
  if (IsInstance(o, np.floating)) return PyNumber_Float(o);
  // bfloat16 and the like belong to other packages; numpy's own rest is complex, text and dates.
  if (IsNumpyOwn(Py_TYPE(o))) return Py_NewRef(o);
  return PyIndex_Check(o) ? PyNumber_Index(o) : PyNumber_Float(o);
}

PyObject* DTypeText(PyObject* o) {
  DLDataType dtype;
  if (DTypeFromPy(o, &dtype)) return DTypeToPy(dtype);
  // A record type, say: no element type, but a Python object like any other.
  PyErr_Clear();
  return Py_NewRef(o);
}

// The exact int behind bool, IntEnum and whatever has __index__. Out of range for a cell is left
// to the cell.
PyObject* PlainInt(PyObject* o) {
  if (Py_TYPE(o) == &PyLong_Type) return Py_NewRef(o);
  PyObject* index = PyNumber_Index(o);
  // Some versions let a subclass of int pass through __index__.
  if (index == nullptr || Py_TYPE(index) == &PyLong_Type) return index;
  PyObject* plain = PyNumber_Long(index);
  Py_DECREF(index);
  return plain;
}

PyObject* PlainText(PyObject* o) {
  return Py_TYPE(o) == &PyUnicode_Type ? Py_NewRef(o) : PyUnicode_FromObject(o);
}

// ---- containers --------------------------------------------------------------------------------

PyObject* Make(PyTypeObject* cls, PyObject* content) {
  if (content == nullptr || cls == nullptr) return content;
  PyObject* made = PyObject_CallFunctionObjArgs(AsObject(cls), content, nullptr);
  Py_DECREF(content);
  return made;
}

PyObject* NormaliseSequence(PyObject* o) {
  // A snapshot: code that runs during the conversion may change a list.
  PyObject* items = PySequence_Tuple(o);
  if (items == nullptr) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(items);
  PyObject* out = PyTuple_New(n);
  for (Py_ssize_t i = 0; out != nullptr && i < n; ++i) {
    PyObject* item = Normalise(PyTuple_GET_ITEM(items, i), true);
    if (item == nullptr)
      Py_CLEAR(out);
    else
      PyTuple_SetItem(out, i, item);
  }
  Py_DECREF(items);
  return Make(hook_classes.array, out);
}

PyObject* NormaliseDict(PyObject* o) {
  PyObject* items = PyMapping_Items(o);
  PyObject* out = items == nullptr ? nullptr : PyDict_New();
  Py_ssize_t n = out == nullptr ? 0 : PyList_GET_SIZE(items);
  for (Py_ssize_t i = 0; out != nullptr && i < n; ++i) {
    PyObject* pair = PyList_GET_ITEM(items, i);
    // A subclass has its own items(), which may give anything.
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
      RaiseKind("TypeError", "%R.items() gave %R, not a pair of key and value", Py_TYPE(o), pair);
      Py_CLEAR(out);
      break;
    }
    PyObject* key = Normalise(PyTuple_GET_ITEM(pair, 0), true);
    PyObject* value = key == nullptr ? nullptr : Normalise(PyTuple_GET_ITEM(pair, 1), true);
    if (value == nullptr || PyDict_SetItem(out, key, value) != 0) Py_CLEAR(out);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  Py_XDECREF(items);
  return Make(hook_classes.map, out);
}

PyObject* NormaliseContainer(PyObject* o) {
  if (IsHooked(o, hook_classes.array) || IsHooked(o, hook_classes.map) ||
      IsHooked(o, hook_classes.shape_tuple) || IsHooked(o, hook_classes.object)) {
    return Py_NewRef(o);
  }
  if (!EnterRecursion(" while a container is converted")) return nullptr;
  PyObject* made = PyDict_Check(o) ? NormaliseDict(o) : NormaliseSequence(o);
  LeaveRecursion();
  return made;
}

// ---- everything that is no builtin -------------------------------------------------------------

PyObject* ShareTensor(PyObject* o) {
  TVMArrayHandle handle = ShareForeign(o);
  return handle == nullptr ? nullptr : WrapNDArray(handle);
}

// Types that were asked for tensor protocols in vain. Only those that nobody can change or delete,
// so that neither the answer nor the pointer can become wrong; a collision forgets the older one.
constexpr size_t kNoTensorTypes = 256;
PyTypeObject* no_tensor_types[kNoTensorTypes];

PyTypeObject** NoTensorSlot(PyTypeObject* type) {
  size_t hash = reinterpret_cast<uintptr_t>(type) >> 5;
  return &no_tensor_types[(hash ^ (hash >> 8)) % kNoTensorTypes];
}

bool IsKnownNoTensor(PyTypeObject* type) {
  return __atomic_load_n(NoTensorSlot(type), __ATOMIC_RELAXED) == type;
}

void RememberNoTensor(PyTypeObject* type) {
  if ((PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) != 0) return;
  __atomic_store_n(NoTensorSlot(type), type, __ATOMIC_RELAXED);
}

// Whether o speaks a tensor protocol. The borrowed form answers at once for every type it has seen.
int IsForeignTensor(PyObject* o) {
  BorrowedTensor borrowed;
  int rc = BorrowTensor(o, &borrowed);
  if (rc == 1) ReleaseTensor(&borrowed);
  return rc;
}

PyObject* NormaliseOther(PyObject* o, bool is_no_tensor) {
  if (is_no_tensor) RememberNoTensor(Py_TYPE(o));
  if (IsHooked(o, hook_classes.object)) return Py_NewRef(o);
  if (IsHooked(o, hook_classes.data_type)) return DTypeText(o);
  if (const NumpyClasses* np = Numpy()) {
    if (IsInstance(o, np->generic)) return NumpyScalar(o, *np);
    if (IsInstance(o, np->dtype)) return DTypeText(o);
    if (PyType_Check(o) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o), np->generic)) {
      return DTypeText(o);
    }
  }
  if (IsVoidPointer(o)) return Py_NewRef(o);
  int tensor = is_no_tensor || !MayBeTensor(o) ? 0 : IsForeignTensor(o);
  if (tensor == 0) RememberNoTensor(Py_TYPE(o));
  if (tensor != 0) return tensor < 0 ? nullptr : ShareTensor(o);
  if (PyIndex_Check(o)) return PlainInt(o);
  if (PyCallable_Check(o)) {
    TVMFunctionHandle func = FunctionFromCallable(o);
    return func == nullptr ? nullptr : WrapPackedFunc(func);
  }
  return Py_NewRef(o);
}

}  // namespace

bool MayBeTensor(PyObject* o) {
  constexpr unsigned long kBuiltins = Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS |
                                      Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS |
                                      Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS |
                                      Py_TPFLAGS_TYPE_SUBCLASS;
  if ((PyType_GetFlags(Py_TYPE(o)) & kBuiltins) != 0) return false;
  return !IsKnownNoTensor(Py_TYPE(o)) && !PyFloat_Check(o) && !IsOurs(o) &&
         !IsHooked(o, hook_classes.object);
}

PyObject* Normalise(PyObject* o, bool inside_container, bool is_no_tensor) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == NDArrayType || type == &PyFloat_Type || type == &PyUnicode_Type || o == Py_None) {
    return Py_NewRef(o);
  }
  unsigned long flags = PyType_GetFlags(type);
  if ((flags & Py_TPFLAGS_LONG_SUBCLASS) != 0) {
    return inside_container ? Py_NewRef(o) : PlainInt(o);
  }
  if ((flags & Py_TPFLAGS_UNICODE_SUBCLASS) != 0) {
    return inside_container ? Py_NewRef(o) : PlainText(o);
  }
  if ((flags & Py_TPFLAGS_BYTES_SUBCLASS) != 0 || PyByteArray_Check(o)) {
    return inside_container ? Py_NewRef(o) : PyByteArray_FromObject(o);
  }
  if ((flags & (Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS)) !=
      0) {
    return NormaliseContainer(o);
  }
  if (PyFloat_Check(o)) return PyFloat_FromDouble(PyFloat_AsDouble(o));
  if (IsOurs(o)) return Py_NewRef(o);
  return NormaliseOther(o, is_no_tensor);
}

bool IsVoidPointer(PyObject* o) {
  PyTypeObject* cls = VoidPointerClass();
  return cls != nullptr && IsInstance(o, cls);
}

bool VoidPointerFromPy(PyObject* o, void** out) {
  PyObject* value = PyObject_GetAttrString(o, "value");
  if (value == nullptr) return false;
  *out = value == Py_None ? nullptr : PyLong_AsVoidPtr(value);
  Py_DECREF(value);
  return *out != nullptr || !PyErr_Occurred();
}

PyObject* VoidPointerToPy(void* pointer) {
  if (pointer == nullptr) return Py_NewRef(Py_None);
  PyObject* ctypes = PyImport_ImportModule("ctypes");
  if (ctypes == nullptr) return nullptr;
  PyObject* cls = PyObject_GetAttrString(ctypes, "c_void_p");
  Py_DECREF(ctypes);
  if (cls == nullptr) return nullptr;
  PyObject* address = PyLong_FromVoidPtr(pointer);
  PyObject* made =
      address == nullptr ? nullptr : PyObject_CallFunctionObjArgs(cls, address, nullptr);
  Py_XDECREF(address);
  Py_DECREF(cls);
  return made;
}

}  // namespace python
}  // namespace tvm
