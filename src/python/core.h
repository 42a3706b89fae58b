// What the files of the extension share: the types of the border and the conversions between
// Python objects and runtime values. All functions need the GIL unless said otherwise, and follow
// CPython's convention: NULL / false / -1 with an exception set.
#ifndef TVM_PYTHON_CORE_H_
#define TVM_PYTHON_CORE_H_

#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvm/runtime/ndarray.h>
#include <tvm/runtime/packed_func.h>

#include "compat.h"

namespace tvm {
namespace python {

using runtime::NDArrayContainer;

// ---- the types ---------------------------------------------------------------------------------
struct NDArrayObject {
  PyObject ob_base;
  TVMArrayHandle handle;  // one reference
  PyObject* weakrefs;
  int64_t* strides;  // of a compact array, spelled out on first need of the exchange API
};
struct DeviceObject {
  PyObject ob_base;
  DLDevice device;
  PyObject* weakrefs;
};
struct PackedFuncObject {
  PyObject ob_base;
  runtime::PackedFuncObj* func;  // one reference
  vectorcallfunc vectorcall;
  PyObject* weakrefs;
  bool is_global;  // came from the table of global functions
};
struct ModuleObject {
  PyObject ob_base;
  TVMModuleHandle handle;  // one reference
  vectorcallfunc vectorcall;
  runtime::PackedFuncObj* entry;  // cached entry function, one reference, NULL until first used
  PyObject* weakrefs;
};

extern PyTypeObject* NDArrayType;     // ndarray.cc
extern PyTypeObject* DeviceType;      // device.cc
extern PyTypeObject* PackedFuncType;  // packed_func.cc
extern PyTypeObject* ModuleType;      // module.cc

// Exact type first: subclasses take the slow comparison.
inline bool IsInstance(PyObject* o, PyTypeObject* type) {
  return Py_TYPE(o) == type || PyType_IsSubtype(Py_TYPE(o), type);
}
inline bool IsNDArray(PyObject* o) { return IsInstance(o, NDArrayType); }
inline DLTensor* TensorOf(PyObject* o) { return reinterpret_cast<NDArrayObject*>(o)->handle; }
inline NDArrayContainer* ContainerOf(PyObject* o) {
  return NDArrayContainer::FromHandle(TensorOf(o));
}

// Each steals the reference (NULL passes through as an error already set) and returns a new object.
PyObject* WrapNDArray(TVMArrayHandle handle);
PyObject* WrapPackedFunc(TVMFunctionHandle handle);
PyObject* WrapModule(TVMModuleHandle handle);

// ---- conversions (dtype.cc, device.cc, shape in ndarray.cc) ------------------------------------
// Strings are looked up in a cache; everything else (np.dtype, numpy scalar types, tvm.DataType,
// ml_dtypes, float/int/bool) goes through the Python hook "parse_dtype" once and is cached by
// object when hashable.
bool DTypeFromPy(PyObject* o, DLDataType* out);
PyObject* DTypeToPy(DLDataType dtype);  // canonical text, interned
// Device, or anything that tvm.device accepts; NULL or None means cpu(0).
bool DeviceFromPy(PyObject* o, DLDevice* out);
PyObject* DeviceToPy(DLDevice device);
PyObject* ShapeToPy(const int64_t* values, int n);  // tuple of int
// A shape with room for the usual ranks on the stack.
class ShapeBuffer {
 public:
  ~ShapeBuffer() {
    if (data_ != inline_) PyMem_Free(data_);
  }
  // Accepts tuples, lists, ShapeTuple, sequences of anything with __index__, one int.
  bool FromPy(PyObject* o);
  bool Resize(int n);
  int64_t* data() { return data_; }
  int size() const { return size_; }

 private:
  int64_t inline_[8];
  int64_t* data_ = inline_;
  int size_ = 0;
};

// ---- foreign tensors (foreign.cc): numpy arrays, exchange-API tensors, __dlpack__ --------------
// A tensor that is borrowed for the duration of a call. Uninitialised storage is cheap on purpose:
// call BorrowTensor first, ReleaseTensor only after it returned 1.
struct BorrowedTensor {
  DLTensor tensor;
  // The owner may replace its own at any time.
  int64_t shape[8];
  int64_t strides[8];
  TVMArrayHandle owned;  // non-NULL: an array that holds the source; tensor is not used
};
// 1: borrowed (use owned if non-NULL, else &tensor); 0: not a tensor, no exception; -1: exception.
int BorrowTensor(PyObject* o, BorrowedTensor* out);
inline void ReleaseTensor(BorrowedTensor* t) {
  if (t->owned != nullptr) TVMArrayFree(t->owned);
}
// An array that shares the memory of a foreign tensor and keeps it alive; NULL with an exception.
TVMArrayHandle ShareForeign(PyObject* o);
// Runtime dtype codes <-> DLPack codes (bool, bfloat16, float8): false with BufferError/TypeError.
bool DTypeFromDLPack(DLDataType* dtype);
bool DTypeToDLPack(DLDataType* dtype);

// ---- values (values.cc) ------------------------------------------------------------------------
// Calls func with Python arguments; a new reference or NULL.
PyObject* CallPackedFunc(runtime::PackedFuncObj* func, PyObject* const* args, Py_ssize_t num_args);
// Takes over objects in the cell.
PyObject* ReturnToPy(TVMValue value, int type_code);
// A function handle (new reference) over a Python callable.
TVMFunctionHandle FunctionFromCallable(PyObject* callable);

// ---- arguments of builtins (arguments.cc) ------------------------------------------------------
// The UTF-8 of a str that is going to be a C string. TypeError for other objects, ValueError for
// text that has no such form (NUL inside, lone surrogates); `what` begins the message.
const char* TextFromPy(PyObject* o, const char* what);
// PyArg_ParseTupleAndKeywords whose errors are of our own classes, like all others.
bool ParseArguments(PyObject* args, PyObject* kwargs, const char* format,
                    const char* const* keywords, ...);
// An object's __index__ as an int64. A TypeError of the object's own says what was expected, in the
// form "<what>: expected an int as <name>, but got ..."; other exceptions stay. *overflow is -1, 0
// or 1.
bool IndexFromPy(PyObject* o, const char* what, const char* name, long long* out, int* overflow);

// ---- recursion (recursion.cc) ------------------------------------------------------------------
// Before and after code that may come back to where it was called from. Python's counter protects
// the stack only as long as nobody sets its limit too high, so the stack itself is looked at, too.
// False with RecursionError.
bool EnterRecursion(const char* where);
void LeaveRecursion();

// ---- errors (errors.cc) ------------------------------------------------------------------------
// Turns the runtime's last error into a Python exception; always returns NULL.
PyObject* RaiseLastError();
// Turns the current Python exception into the runtime's last error (payload kept); returns -2.
int SetLastErrorFromPython();
// The exception class of an error kind ("ValueError"), as the Python layer has it; new reference.
PyObject* ErrorClass(const char* kind);
// Raises the class of kind with a text as PyErr_Format makes it; always returns NULL.
PyObject* RaiseKind(const char* kind, const char* format, ...);

// ---- hooks that the Python layer installs (module_init.cc) -------------------------------------
// Borrowed; NULL with RuntimeError when not installed. Names: see _core.set_hooks.
PyObject* GetHook(const char* name);
// Classes that values are checked against, NULL until installed: "Array", "Map", "String",
// "ShapeTuple", "DataType", "Object" (instances of the last cross as themselves, whatever they
// are).
PyObject* ContainerClass(const char* name);

// ---- registration, one a file ------------------------------------------------------------------
int InitErrors(PyObject* module);
int InitDType(PyObject* module);
int InitDevice(PyObject* module);
int InitForeign(PyObject* module);
int InitNDArray(PyObject* module);
int InitPackedFunc(PyObject* module);
int InitModule(PyObject* module);
int InitValues(PyObject* module);

}  // namespace python
}  // namespace tvm
#endif  // TVM_PYTHON_CORE_H_
