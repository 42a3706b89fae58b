// Python values into native cells, and the call itself. Whatever the callee is, an argument is
// normalised by the same rules (Normalise); the first lines of SetArg are shortcuts for the types
// that calls are made of.
#include <cstring>
#include <string>

#include "border.h"

namespace tvm {
namespace python {

using runtime::Object;
using runtime::PackedFuncObj;

bool IntToInt64(PyObject* o, int64_t* out) {
  *out = PyLong_AsLongLong(o);
  if (__builtin_expect(*out != -1, 1) || !PyErr_Occurred()) return true;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    PyObject* bits = PyObject_CallMethod(o, "bit_length", nullptr);
    if (bits == nullptr) return false;
    RaiseKind("OverflowError", "an integer of %S bits does not fit the 64 bits of an argument",
              bits);
    Py_DECREF(bits);
  }
  return false;
}

namespace {

// What an argument needs beyond its cell, until the call is over.
enum class TempKind { kNothing, kTensor, kObject, kPython, kBuffer };
struct Temp {
  TempKind kind;
  TVMByteArray bytes;
  union {
    BorrowedTensor tensor;
    Object* object;    // one reference
    PyObject* python;  // one reference
    Py_buffer buffer;
  };
};

struct Call {
  PackedFuncObj* func;
  TVMValue* values;
  int* codes;
  Temp* temps;
  int num_temps;
  bool ran_python;  // code of the arguments' own, which may have done anything

  Temp* Add(TempKind kind) {
    Temp* t = &temps[num_temps++];
    t->kind = kind;
    return t;
  }
};

constexpr int kInlineArgs = 8;
// An argument takes one Temp at most for its Python object and one for its native one.
constexpr int kTempsPerArg = 2;

void Release(Call* call) {
  for (int i = 0; i < call->num_temps; ++i) {
    Temp* t = &call->temps[i];
    switch (t->kind) {
      case TempKind::kNothing:
        break;
      case TempKind::kTensor:
        ReleaseTensor(&t->tensor);
        break;
      case TempKind::kObject:
        t->object->DecRef();
        break;
      case TempKind::kPython:
        Py_DECREF(t->python);
        break;
      case TempKind::kBuffer:
        PyBuffer_Release(&t->buffer);
        break;
    }
  }
}

inline bool SetInt(PyObject* o, TVMValue* value, int* code) {
  *code = kTVMArgInt;
  return IntToInt64(o, &value->v_int64);
}

// Text as a C string; false without an exception when it cannot be one (NUL inside, surrogates).
bool SetText(PyObject* o, TVMValue* value, int* code) {
  Py_ssize_t size = 0;
  value->v_str = PyUnicode_AsUTF8AndSize(o, &size);
  *code = kTVMStr;
  if (__builtin_expect(value->v_str != nullptr, 1)) {
    return static_cast<size_t>(size) == strlen(value->v_str);
  }
  PyErr_Clear();
  return false;
}

// A value that Normalise made. *native receives a new reference when an object had to be made;
// everything else in the cell is borrowed from o.
bool SetNormalised(PyObject* o, TVMValue* value, int* code, TVMByteArray* bytes, Object** native) {
  *native = nullptr;
  if (o == Py_None) {
    value->v_handle = nullptr;
    *code = kTVMNullptr;
    return true;
  }
  if (PyLong_Check(o)) return SetInt(o, value, code);
  if (PyFloat_Check(o)) {
    value->v_float64 = PyFloat_AsDouble(o);
    *code = kTVMArgFloat;
    return true;
  }
  if (PyUnicode_Check(o) && SetText(o, value, code)) return true;
  if (PyByteArray_Check(o)) {
    bytes->data = PyByteArray_AS_STRING(o);
    bytes->size = static_cast<size_t>(PyByteArray_GET_SIZE(o));
    value->v_handle = bytes;
    *code = kTVMBytes;
    return true;
  }
  if (IsNDArray(o)) {
    value->v_handle = TensorOf(o);
    *code = kTVMNDArrayHandle;
    return true;
  }
  if (IsInstance(o, PackedFuncType)) {
    value->v_handle = reinterpret_cast<PackedFuncObject*>(o)->func;
    *code = kTVMPackedFuncHandle;
    return true;
  }
  if (IsInstance(o, ModuleType)) {
    value->v_handle = reinterpret_cast<ModuleObject*>(o)->handle;
    *code = kTVMModuleHandle;
    return true;
  }
  if (IsInstance(o, DeviceType)) {
    value->v_device = reinterpret_cast<DeviceObject*>(o)->device;
    *code = kDLDevice;
    return true;
  }
  if (IsVoidPointer(o)) {
    *code = kTVMOpaqueHandle;
    return VoidPointerFromPy(o, &value->v_handle);
  }
  TVMObjectHandle handle = nullptr;
  if (hook_classes.shape_tuple != nullptr && IsInstance(o, hook_classes.shape_tuple)) {
    ShapeBuffer shape;
    if (!shape.FromPy(o)) return false;
    if (TVMShapeTupleCreate(shape.data(), shape.size(), &handle) != 0) {
      RaiseLastError();
      return false;
    }
  } else {
    handle = HolderFromPy(o);
    if (handle == nullptr) return false;
  }
  *native = static_cast<Object*>(handle);
  value->v_handle = handle;
  *code = kTVMObjectHandle;
  return true;
}

// Types whose instances BorrowTensor has taken: they skip the questions before it. Entries are
// never replaced and keep their type alive, so reading needs no lock.
constexpr int kTensorTypes = 4;
PyTypeObject* tensor_types[kTensorTypes];

bool IsTensorType(PyTypeObject* type) {
  for (PyTypeObject*& t : tensor_types) {
    if (__atomic_load_n(&t, __ATOMIC_ACQUIRE) == type) return true;
  }
  return false;
}

void RememberTensorType(PyTypeObject* type) {
  for (PyTypeObject*& slot : tensor_types) {
    PyTypeObject* expected = nullptr;
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    if (__atomic_compare_exchange_n(&slot, &expected, type, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return;
    }
    Py_DECREF(reinterpret_cast<PyObject*>(type));
    if (expected == type) return;
  }
}

// 1: set; 0: not a tensor; -1: exception.
int SetTensor(PyObject* o, TVMValue* value, int* code, Call* call) {
  Temp* t = &call->temps[call->num_temps];
  int rc = BorrowTensor(o, &t->tensor);
  if (rc != 1) return rc;
  t->kind = TempKind::kTensor;
  ++call->num_temps;
  if (t->tensor.owned != nullptr) {
    value->v_handle = t->tensor.owned;
    *code = kTVMNDArrayHandle;
  } else {
    value->v_handle = &t->tensor.tensor;
    *code = kTVMDLTensorHandle;
  }
  return 1;
}

bool SetBytes(PyObject* o, TVMValue* value, int* code, Call* call) {
  Temp* t = call->Add(TempKind::kNothing);
  t->bytes.data = PyBytes_AS_STRING(o);
  t->bytes.size = static_cast<size_t>(PyBytes_GET_SIZE(o));
  value->v_handle = &t->bytes;
  *code = kTVMBytes;
  return true;
}

// The buffer keeps other threads from resizing the array while the GIL is released.
bool SetByteArray(PyObject* o, TVMValue* value, int* code, Call* call) {
  Temp* t = &call->temps[call->num_temps];
  if (PyObject_GetBuffer(o, &t->buffer, PyBUF_SIMPLE) != 0) return false;
  t->kind = TempKind::kBuffer;
  ++call->num_temps;
  t->bytes.data = static_cast<const char*>(t->buffer.buf);
  t->bytes.size = static_cast<size_t>(t->buffer.len);
  value->v_handle = &t->bytes;
  *code = kTVMBytes;
  return true;
}

PyObject* extension_code = nullptr;    // "_tvm_tcode"
PyObject* extension_handle = nullptr;  // "_tvm_handle"

// Objects of classes of other libraries that name a tag for what their handle points at.
// 1: set; 0: not such an object; -1: exception.
int SetExtension(PyObject* o, TVMValue* value, int* code) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  if (PyType_Check(o) || !PyObject_HasAttr(type, extension_code)) return 0;
  PyObject* tag = PyObject_GetAttr(type, extension_code);
  long number = tag != nullptr && PyLong_Check(tag) ? PyLong_AsLong(tag) : -1;
  Py_XDECREF(tag);
  PyErr_Clear();
  // Objects with other tags cross as Python objects.
  if (number != kTVMOpaqueHandle && number != kTVMDLTensorHandle && number != kTVMNDArrayHandle) {
    return 0;
  }
  PyObject* handle = PyObject_GetAttr(o, extension_handle);
  if (handle == nullptr) return -1;
  if (!PyLong_Check(handle)) {
    RaiseKind("TypeError", "%R._tvm_handle: expected an address (int), but got %R", type, handle);
    Py_DECREF(handle);
    return -1;
  }
  value->v_handle = PyLong_AsVoidPtr(handle);
  Py_DECREF(handle);
  *code = static_cast<int>(number);
  return PyErr_Occurred() ? -1 : 1;
}

__attribute__((noinline)) bool SetArgSlow(PyObject* o, TVMValue* value, int* code, Call* call) {
  PyTypeObject* type = Py_TYPE(o);
  if (IsTensorType(type)) {
    int rc = SetTensor(o, value, code, call);
    if (rc > 0 && *code == kTVMDLTensorHandle) return true;
    call->ran_python = true;
    if (rc != 0) return rc > 0;
  }
  if (PyBytes_Check(o)) return SetBytes(o, value, code, call);
  if (PyByteArray_Check(o)) return SetByteArray(o, value, code, call);
  call->ran_python = true;
  if (MayBeTensor(o)) {
    int rc = SetTensor(o, value, code, call);
    if (rc > 0) RememberTensorType(type);
    if (rc != 0) return rc > 0;
  }
  if (int rc = SetExtension(o, value, code)) return rc > 0;
  PyObject* n = Normalise(o, false, true);
  if (n == nullptr) return false;
  Temp* t = call->Add(TempKind::kPython);
  t->python = n;
  Object* native = nullptr;
  if (!SetNormalised(n, value, code, &t->bytes, &native)) return false;
  if (native != nullptr) call->Add(TempKind::kObject)->object = native;
  return true;
}

inline bool SetArg(PyObject* o, TVMValue* value, int* code, Call* call) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == NDArrayType) {
    value->v_handle = TensorOf(o);
    *code = kTVMNDArrayHandle;
    return true;
  }
  if (type == &PyLong_Type) return SetInt(o, value, code);
  if (type == &PyFloat_Type) {
    value->v_float64 = PyFloat_AS_DOUBLE(o);
    *code = kTVMArgFloat;
    return true;
  }
  if (type == &PyUnicode_Type && SetText(o, value, code)) return true;
  if (o == Py_None) {
    value->v_handle = nullptr;
    *code = kTVMNullptr;
    return true;
  }
  return SetArgSlow(o, value, code, call);
}

// Borrows the tensors again after code has run that may have resized or moved them. Returns the
// number of the argument that failed, num_args when none did.
__attribute__((noinline)) Py_ssize_t BorrowAgain(Call* call, PyObject* const* args,
                                                 Py_ssize_t num_args) {
  for (Py_ssize_t i = 0; i < num_args; ++i) {
    if (call->codes[i] != kTVMDLTensorHandle) continue;
    static_assert(offsetof(BorrowedTensor, tensor) == 0, "the cell points at both");
    auto* borrowed = static_cast<BorrowedTensor*>(call->values[i].v_handle);
    auto* first = reinterpret_cast<char*>(call->temps);
    auto* here = reinterpret_cast<char*>(borrowed);
    if (here < first || here >= first + sizeof(Temp) * static_cast<size_t>(call->num_temps)) {
      continue;  // the address is an extension's own
    }
    int rc = BorrowTensor(args[i], borrowed);
    if (rc != 1) {
      borrowed->owned = nullptr;
      if (rc == 0) RaiseKind("TypeError", "%R is no longer a tensor", Py_TYPE(args[i]));
      return i;
    }
    if (borrowed->owned == nullptr) continue;
    call->values[i].v_handle = borrowed->owned;
    call->codes[i] = kTVMNDArrayHandle;
  }
  return num_args;
}

inline PyObject* Run(Call* call, PyObject* const* args, Py_ssize_t num_args) {
  PackedFuncObj* func = call->func;
  PyObject* result = nullptr;
  Py_ssize_t i = 0;
  for (; i < num_args; ++i) {
    if (__builtin_expect(!SetArg(args[i], &call->values[i], &call->codes[i], call), 0)) break;
  }
  if (__builtin_expect(call->ran_python, 0) && i == num_args) i = BorrowAgain(call, args, num_args);
  if (__builtin_expect(i == num_args, 1)) {
    TVMValue ret;
    ret.v_handle = nullptr;
    int ret_code = kTVMNullptr;
    int rc;
    if ((func->flags & runtime::kPackedFuncReleaseGIL) != 0) {
      PyThreadState* state = PyEval_SaveThread();
      rc = func->call(func, call->values, call->codes, static_cast<int>(num_args), &ret, &ret_code);
      PyEval_RestoreThread(state);
    } else {
      rc = func->call(func, call->values, call->codes, static_cast<int>(num_args), &ret, &ret_code);
    }
    // Before the arguments go: the result may point into them, and letting go of them may run
    // Python code that replaces the thread's error.
    result = __builtin_expect(rc == 0, 1) ? ReturnToPy(ret, ret_code) : RaiseLastError();
  } else {
    AddArgumentContext(func, i);
  }
  if (call->num_temps == 0) return result;
  if (result == nullptr) {
    PyObject* exc = TakeException();
    Release(call);
    RestoreException(exc);
  } else {
    Release(call);
  }
  return result;
}

__attribute__((noinline)) PyObject* RunMany(PackedFuncObj* func, PyObject* const* args,
                                            Py_ssize_t num_args) {
  if (num_args > INT32_MAX / 4) return RaiseKind("ValueError", "%zd arguments", num_args);
  size_t n = static_cast<size_t>(num_args);
  size_t cell = sizeof(Temp) * kTempsPerArg + sizeof(TVMValue) + sizeof(int);
  char* memory = static_cast<char*>(PyMem_Malloc(n * cell));
  if (memory == nullptr) return PyErr_NoMemory();
  auto* temps = reinterpret_cast<Temp*>(memory);
  auto* values = reinterpret_cast<TVMValue*>(temps + n * kTempsPerArg);
  auto* codes = reinterpret_cast<int*>(values + n);
  Call call{func, values, codes, temps, 0, false};
  PyObject* result = Run(&call, args, num_args);
  PyMem_Free(memory);
  return result;
}

bool Keep(std::string* storage, const char* data, size_t size) {
  return OrNoMemory([&] {
    storage->assign(data, size);
    return true;
  });
}

}  // namespace

void AddArgumentContext(PackedFuncObj* func, Py_ssize_t index) {
  PyObject* exc = TakeException();
  if (exc == nullptr) return;
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(exc));
  bool ours = false;
  for (const char* kind : {"TypeError", "ValueError", "OverflowError"}) {
    PyObject* cls = ErrorClass(kind);
    ours = ours || type == cls;
    Py_DECREF(cls);
  }
  PyObject* text = ours ? PyObject_Str(exc) : nullptr;
  const char* message = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  if (message == nullptr) {
    PyErr_Clear();
    RestoreException(exc);
  } else {
    bool named = func->name != nullptr && *func->name != 0;
    // Conversions that know nothing of their place call it "argument".
    const char kNoPlace[] = "argument: ";
    if (strncmp(message, kNoPlace, sizeof(kNoPlace) - 1) == 0) message += sizeof(kNoPlace) - 1;
    PyErr_Format(type, "%.200s: argument %zd: %s", named ? func->name : "function", index, message);
    Py_DECREF(exc);
  }
  Py_XDECREF(text);
}

PyObject* CallPackedFunc(PackedFuncObj* func, PyObject* const* args, Py_ssize_t num_args) {
  if (__builtin_expect(IsPyCallable(func), 0)) {
    return CallPyCallable(AsPyCallable(func), args, num_args);
  }
  if (num_args > kInlineArgs) return RunMany(func, args, num_args);
  TVMValue values[kInlineArgs];
  int codes[kInlineArgs];
  // Storage only: a Temp begins to exist when Add or SetTensor fills it.
  alignas(Temp) char temps[sizeof(Temp) * kInlineArgs * kTempsPerArg];
  Call call{func, values, codes, reinterpret_cast<Temp*>(temps), 0, false};
  return Run(&call, args, num_args);
}

bool ResultToValue(PyObject* o, TVMValue* value, int* type_code) {
  struct Text {
    std::string storage;
    TVMByteArray bytes;
  };
  static thread_local Text text;
  PyObject* n = Normalise(o, false);
  if (n == nullptr) return false;
  Object* native = nullptr;
  TVMByteArray bytes;
  bool ok = SetNormalised(n, value, type_code, &bytes, &native);
  if (ok) {
    switch (*type_code) {
      case kTVMStr:
        ok = Keep(&text.storage, value->v_str, strlen(value->v_str));
        value->v_str = text.storage.c_str();
        break;
      case kTVMBytes:
        ok = Keep(&text.storage, bytes.data, bytes.size);
        text.bytes = {text.storage.data(), text.storage.size()};
        value->v_handle = &text.bytes;
        break;
      case kTVMNDArrayHandle:
        ContainerOf(n)->IncRef();
        break;
      case kTVMModuleHandle:
      case kTVMPackedFuncHandle:
        static_cast<Object*>(value->v_handle)->IncRef();
        break;
      default:
        break;
    }
  }
  Py_DECREF(n);
  return ok;
}

int InitValues(PyObject*) {
  extension_code = PyUnicode_InternFromString("_tvm_tcode");
  extension_handle = PyUnicode_InternFromString("_tvm_handle");
  return extension_code == nullptr || extension_handle == nullptr ? -1 : 0;
}

}  // namespace python
}  // namespace tvm
