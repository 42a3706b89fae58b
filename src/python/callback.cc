// Python callables as functions of the runtime.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "border.h"

namespace tvm {
namespace python {

using runtime::Object;
using runtime::PackedFuncObj;

namespace {

int64_t num_alive = 0;

void DeleteCallable(TVMObjectHeader* header) {
  auto* f = static_cast<PyCallableFunc*>(static_cast<Object*>(header));
  PyObject* callable = f->callable;
  free(const_cast<char*>(f->name));
  free(f);
  __atomic_fetch_sub(&num_alive, 1, __ATOMIC_RELAXED);
  DropReference(callable);
}

// For messages: the callable's own name, else that of its type.
char* NameOf(PyObject* callable) {
  PyObject* name = PyObject_GetAttrString(callable, "__name__");
  if (name == nullptr || !PyUnicode_Check(name)) {
    PyErr_Clear();
    Py_XDECREF(name);
    name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(callable)), "__name__");
  }
  const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8(name);
  char* copy = strdup(text == nullptr ? "" : text);
  Py_XDECREF(name);
  PyErr_Clear();
  return copy;
}

bool CheckNotCleared(PyCallableFunc* func) {
  if (func->callable != nullptr) return true;
  RaiseKind("RuntimeError", "%.200s: the Python function behind it was collected as garbage",
            func->name);
  return false;
}

// Arguments of a Python callee: one spare cell in front, as vectorcall likes it.
class Stack {
 public:
  explicit Stack(Py_ssize_t n) {
    if (n > kInline) {
      cells_ =
          static_cast<PyObject**>(PyMem_Malloc((static_cast<size_t>(n) + 1) * sizeof(PyObject*)));
      if (cells_ == nullptr) PyErr_NoMemory();
    }
  }
  ~Stack() {
    if (cells_ != inline_) PyMem_Free(cells_);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  bool ok() const { return cells_ != nullptr; }
  PyObject** args() { return cells_ + 1; }

 private:
  static constexpr Py_ssize_t kInline = 8;
  PyObject* inline_[kInline + 1];
  PyObject** cells_ = inline_;
};

PyObject* CallWithStack(PyCallableFunc* func, Stack* stack, Py_ssize_t n) {
  if (!EnterRecursion(" in a function of the runtime")) return nullptr;
  PyObject* callable = Py_NewRef(func->callable);
  PyObject* result = PyObject_VectorcallDict(
      callable, stack->args(), static_cast<size_t>(n) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  Py_DECREF(callable);
  LeaveRecursion();
  return result;
}

// An argument or a result as the other side sees it; integers must fit a cell.
PyObject* Cross(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == NDArrayType || type == &PyFloat_Type || type == &PyUnicode_Type || o == Py_None) {
    return Py_NewRef(o);
  }
  PyObject* n = Normalise(o, false);
  int64_t unused;
  if (n != nullptr && PyLong_Check(n) && !IntToInt64(n, &unused)) Py_CLEAR(n);
  return n;
}

// ---- views of tensors that belong to the caller ------------------------------------------------

PyObject* MakeView(DLTensor* tensor) {
  TVMArrayHandle handle = nullptr;
  if (TVMArrayOnLoan(tensor, &handle) != 0) return RaiseLastError();
  return WrapNDArray(handle);
}

bool IsOnLoan(NDArrayContainer* view) {
  return (__atomic_load_n(&view->flags, __ATOMIC_ACQUIRE) & runtime::kNDArrayOnLoan) != 0;
}

// The callee kept a view: from here on it has memory of its own.
bool EndLoan(NDArrayContainer* view) {
  if (TVMArrayEndLoan(&view->dl) == 0) return true;
  // Nothing may read the caller's memory later on: the view becomes empty.
  for (int i = 0; i < view->dl.ndim; ++i) view->dl.shape[i] = 0;
  view->dl.data = nullptr;
  view->dl.byte_offset = 0;
  view->dl.strides = nullptr;
  view->nbytes = 0;
  return false;
}

// What the callee wrote to views that were moved goes back to the caller.
bool ReturnLoans(PyObject** args, const TVMValue* values, const int* type_codes, int n) {
  std::vector<TVMArrayHandle> moved;
  std::vector<DLTensor*> tensors;
  for (int i = 0; i < n; ++i) {
    if (type_codes[i] != kTVMDLTensorHandle || !IsNDArray(args[i])) continue;
    if (IsOnLoan(ContainerOf(args[i]))) continue;
    moved.push_back(TensorOf(args[i]));
    tensors.push_back(static_cast<DLTensor*>(values[i].v_handle));
  }
  return moved.empty() ||
         TVMArrayReturnLoans(moved.data(), tensors.data(), static_cast<int>(moved.size())) == 0;
}

// Lets the arguments go; views that live on get their own memory. False with the runtime's error.
bool DropArguments(PyObject** args, const TVMValue* values, const int* type_codes, int n) {
  bool ok = OrNoMemory([&] { return ReturnLoans(args, values, type_codes, n); });
  if (!ok && PyErr_Occurred() != nullptr) SetLastErrorFromPython();
  for (int i = 0; i < n; ++i) {
    PyObject* arg = args[i];
    if (type_codes[i] == kTVMDLTensorHandle && IsNDArray(arg)) {
      NDArrayContainer* view = ContainerOf(arg);
      if (Py_REFCNT(arg) > 1 || view->use_count() > 1) ok = EndLoan(view) && ok;
    }
    Py_DECREF(arg);
  }
  return ok;
}

PyObject* ArgumentToPy(TVMValue value, int type_code) {
  if (type_code == kTVMDLTensorHandle && value.v_handle != nullptr) {
    return MakeView(static_cast<DLTensor*>(value.v_handle));
  }
  return ValueToPy(value, type_code);
}

// The body of a call from native code, with the GIL.
int Invoke(PyCallableFunc* func, const TVMValue* args, const int* type_codes, int num_args,
           TVMValue* ret, int* ret_type_code) {
  if (num_args < 0)
    RaiseKind("TypeError", "%.200s: called with %d arguments", func->name, num_args);
  Stack stack(num_args);
  if (num_args < 0 || !stack.ok() || !CheckNotCleared(func)) return SetLastErrorFromPython();
  int i = 0;
  for (; i < num_args; ++i) {
    stack.args()[i] = ArgumentToPy(args[i], type_codes[i]);
    if (stack.args()[i] == nullptr) {
      AddArgumentContext(func, i);
      break;
    }
  }
  PyObject* result = i == num_args ? CallWithStack(func, &stack, num_args) : nullptr;
  bool ok = result != nullptr && ResultToValue(result, ret, ret_type_code);
  Py_XDECREF(result);
  int rc = ok ? 0 : SetLastErrorFromPython();
  if (!DropArguments(stack.args(), args, type_codes, i) && rc == 0) rc = -1;
  return rc;
}

}  // namespace

int PyCallableCall(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
                   TVMValue* ret, int* ret_type_code) {
  PyCallableFunc* func = AsPyCallable(self);
  if (!InterpreterIsAlive()) {
    TVMErrorSet("RuntimeError", "a Python function was called after the interpreter had ended", "");
    return -1;
  }
  return StopAtThreadExit([&] {
    PyGILState_STATE gil = PyGILState_Ensure();
    // Native code may run while an exception is on its way (a destructor that calls a function).
    PyObject* pending = PyErr_Occurred() != nullptr ? TakeException() : nullptr;
    int rc = Invoke(func, args, type_codes, num_args, ret, ret_type_code);
    if (pending != nullptr) RestoreException(pending);
    PyGILState_Release(gil);
    return rc;
  });
}

PyObject* CallPyCallable(PyCallableFunc* func, PyObject* const* args, Py_ssize_t num_args) {
  Stack stack(num_args);
  if (!stack.ok() || !CheckNotCleared(func)) return nullptr;
  Py_ssize_t i = 0;
  for (; i < num_args; ++i) {
    stack.args()[i] = Cross(args[i]);
    if (stack.args()[i] == nullptr) {
      AddArgumentContext(func, i);
      break;
    }
  }
  PyObject* result = nullptr;
  if (i == num_args) {
    PyObject* raw = CallWithStack(func, &stack, num_args);
    result = raw == nullptr ? nullptr : Cross(raw);
    Py_XDECREF(raw);
  }
  while (i > 0) Py_DECREF(stack.args()[--i]);
  return result;
}

int64_t NumPyCallables() { return __atomic_load_n(&num_alive, __ATOMIC_RELAXED); }

TVMFunctionHandle FunctionFromCallable(PyObject* callable) {
  if (IsInstance(callable, PackedFuncType)) {
    PackedFuncObj* func = reinterpret_cast<PackedFuncObject*>(callable)->func;
    func->IncRef();
    return func;
  }
  if (!PyCallable_Check(callable)) {
    RaiseKind("TypeError", "expected a function, got %.200R",
              reinterpret_cast<PyObject*>(Py_TYPE(callable)));
    return nullptr;
  }
  auto* f = static_cast<PyCallableFunc*>(calloc(1, sizeof(PyCallableFunc)));
  if (f == nullptr) return PyErr_NoMemory();
  f->type_index = kTVMTypePackedFunc;
  f->ref_counter = 1;
  f->deleter = DeleteCallable;
  f->call = PyCallableCall;
  f->flags = runtime::kPackedFuncPythonCallee;
  f->name = NameOf(callable);
  f->callable = Py_NewRef(callable);
  __atomic_fetch_add(&num_alive, 1, __ATOMIC_RELAXED);
  return static_cast<PackedFuncObj*>(f);
}

}  // namespace python
}  // namespace tvm
