// What the function half of the extension shares among its own files: boxes and holders, Python
// callables as functions, values in both directions. As core.h: the GIL is needed unless said
// otherwise, failures leave a Python exception.
#ifndef TVM_PYTHON_BORDER_H_
#define TVM_PYTHON_BORDER_H_

#include <cxxabi.h>
#include <unistd.h>

#include <exception>
#include <string>

#include "core.h"

namespace tvm {
namespace python {

// ---- module_init.cc ----------------------------------------------------------------------------
// The classes behind ContainerClass, read without a look-up. NULL until the Python layer is there.
struct HookClasses {
  PyTypeObject* array;
  PyTypeObject* map;
  PyTypeObject* string;
  PyTypeObject* shape_tuple;
  PyTypeObject* data_type;
  PyTypeObject* object;
};
extern HookClasses hook_classes;
// Borrowed; NULL without an exception when not installed.
PyObject* FindHook(const char* name);

// ---- C++ exceptions ----------------------------------------------------------------------------
// Python's frames must not be unwound: what the standard library throws (it is out of memory, or
// asked for more than there can be) becomes Python's MemoryError, and the result zero.
template <typename F>
inline auto OrNoMemory(F body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception&) {
    PyErr_NoMemory();
    return {};
  }
}

// ---- threads that Python ends ------------------------------------------------------------------
// Before 3.14 a thread that asks for the GIL after the interpreter has begun to end is unwound by
// pthread_exit. Native callers of ours do not expect that (a destructor, a catch-all), so the two
// ways from native code into Python stop the thread instead, as 3.14 does.
// (The unwinder's object has no address, of which the undefined-behaviour sanitizer would
// complain.)
template <typename F>
__attribute__((no_sanitize("undefined"))) inline auto StopAtThreadExit(F body) -> decltype(body()) {
#ifdef __GLIBCXX__
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  return body();
#endif
}

// ---- holder.cc ---------------------------------------------------------------------------------
// A Python object on its way through native code. The runtime hands back plain pointers, which may
// come from another frontend, so a box begins with a mark that says that it is ours.
void* BoxNew(PyObject* object);  // adds a reference; NULL with MemoryError
PyObject* BoxGet(void* box);     // borrowed; NULL, no exception, when the box is not ours
void BoxDrop(void* box);         // without the GIL, from any thread
TVMObjectHandle HolderFromPy(PyObject* object);  // new native reference
PyObject* ObjectToPy(runtime::Object* object);   // borrows object; new reference

// ---- callback.cc -------------------------------------------------------------------------------
// A Python callable as a function of the runtime.
struct PyCallableFunc : runtime::PackedFuncObj {
  PyObject* callable;         // one reference; NULL once a garbage collection has cleared it
  PackedFuncObject* wrapper;  // borrowed: the living PackedFunc over this function, if any
};
int PyCallableCall(runtime::PackedFuncObj* self, const TVMValue* args, const int* type_codes,
                   int num_args, TVMValue* ret, int* ret_type_code);
inline bool IsPyCallable(const runtime::PackedFuncObj* func) {
  return func->call == PyCallableCall;
}
inline PyCallableFunc* AsPyCallable(runtime::PackedFuncObj* func) {
  return static_cast<PyCallableFunc*>(func);
}
// The way from Python to Python: arguments and result are normalised as for a native callee.
PyObject* CallPyCallable(PyCallableFunc* func, PyObject* const* args, Py_ssize_t num_args);
int64_t NumPyCallables();  // alive, for _core.stat

// ---- normalise.cc ------------------------------------------------------------------------------
// What the other side of the border sees of o, as a Python object: lists become Arrays, bytes
// become bytearrays and so on; o itself when it crosses unchanged. New reference.
PyObject* Normalise(PyObject* o, bool inside_container, bool is_no_tensor = false);
// False for everything that is surely no foreign tensor: asking for its protocols is slow.
bool MayBeTensor(PyObject* o);
// ctypes.c_void_p, the Python side of an opaque handle. ctypes is loaded when the first handle
// comes to Python.
bool IsVoidPointer(PyObject* o);
bool VoidPointerFromPy(PyObject* o, void** out);
PyObject* VoidPointerToPy(void* pointer);

// ---- values.cc, values_to_py.cc ----------------------------------------------------------------
// OverflowError when o needs more than 64 bits.
bool IntToInt64(PyObject* o, int64_t* out);
// Puts "name: argument i: " before the message of a failed conversion. Errors of classes that are
// not made from one text (of user code, say) stay as they are.
void AddArgumentContext(runtime::PackedFuncObj* func, Py_ssize_t index);
// Borrows what is in the cell; new reference.
PyObject* ValueToPy(TVMValue value, int type_code);
// The result of a Python callee as a cell that owns what is in it; text lives until the next call
// on this thread.
bool ResultToValue(PyObject* o, TVMValue* value, int* type_code);

// ---- the functions of the module, one a file ---------------------------------------------------
int InitGlobals(PyObject* module);

}  // namespace python
}  // namespace tvm

#endif  // TVM_PYTHON_BORDER_H_
