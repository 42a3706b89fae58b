// The CPython API as the extension uses it, under the limited API of 3.10 and under the full one.
// A few functions joined the limited API only later, although every CPython from 3.10 on exports
// them: they are declared here by hand, so that one binary serves all versions at full speed.
#ifndef TVM_PYTHON_COMPAT_H_
#define TVM_PYTHON_COMPAT_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
// PyMemberDef; lives here until 3.12
#include <structmember.h>

#include <cstddef>

#ifdef Py_LIMITED_API

#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_SET_ITEM PyTuple_SetItem
#define PyList_GET_SIZE PyList_Size
#define PyList_GET_ITEM PyList_GetItem
#define PyList_SET_ITEM PyList_SetItem
#define PyFloat_AS_DOUBLE PyFloat_AsDouble
#define PyBytes_AS_STRING PyBytes_AsString
#define PyBytes_GET_SIZE PyBytes_Size
#define PyByteArray_AS_STRING PyByteArray_AsString
#define PyByteArray_GET_SIZE PyByteArray_Size
#define PyUnicode_AsUTF8(o) PyUnicode_AsUTF8AndSize((o), nullptr)

extern "C" {
PyAPI_FUNC(int) PyGILState_Check(void);
PyAPI_FUNC(PyObject*) PyObject_VectorcallDict(PyObject*, PyObject* const*, size_t, PyObject*);
}

#if Py_LIMITED_API < 0x030c0000
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
#ifndef PY_VECTORCALL_ARGUMENTS_OFFSET
#define PY_VECTORCALL_ARGUMENTS_OFFSET (static_cast<size_t>(1) << (8 * sizeof(size_t) - 1))
#endif
#ifndef PyVectorcall_NARGS
#define PyVectorcall_NARGS(n) (static_cast<Py_ssize_t>((n) & ~PY_VECTORCALL_ARGUMENTS_OFFSET))
#endif
extern "C" {
typedef PyObject* (*vectorcallfunc)(PyObject* callable, PyObject* const* args, size_t nargsf,
                                    PyObject* kwnames);
PyAPI_FUNC(PyObject*) PyVectorcall_Call(PyObject*, PyObject*, PyObject*);
PyAPI_FUNC(PyObject*) PyObject_VectorcallMethod(PyObject*, PyObject* const*, size_t, PyObject*);
}
#endif  // < 3.12

#if Py_LIMITED_API < 0x030b0000
extern "C" {
typedef struct {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject*);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject*, Py_buffer*, int);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer*);
}
#define PyBUF_SIMPLE 0
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define PyBUF_FULL_RO (0x0100 | PyBUF_STRIDES | PyBUF_FORMAT)
#endif  // < 3.11

#endif  // Py_LIMITED_API

#ifndef Py_TPFLAGS_DISALLOW_INSTANTIATION
#define Py_TPFLAGS_DISALLOW_INSTANTIATION (1UL << 7)
#endif

namespace tvm {
namespace python {

// Casts of C functions to the slots' types, in one place: the compiler warns about plain casts
// between function types.
template <typename F>
inline PyCFunction AsCFunction(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(f));
}
template <typename F>
inline void* AsSlot(F* f) {
  return reinterpret_cast<void*>(f);
}

// The current exception, normalised and with its traceback set, taken from the thread; NULL when
// there is none.
PyObject* TakeException();
// Makes exc the current exception; steals the reference.
void RestoreException(PyObject* exc);
// Lets other threads run. A thread that wants the GIL back after the interpreter has begun to end
// is stopped: before 3.14 Python would unwind it, and destructors must not be unwound.
class GILRelease {
 public:
  explicit GILRelease(bool release = true) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~GILRelease() {
    if (state_ != nullptr) TakeBack(state_);
  }
  GILRelease(const GILRelease&) = delete;
  GILRelease& operator=(const GILRelease&) = delete;

 private:
  static void TakeBack(PyThreadState* state);  // holder.cc

  PyThreadState* state_;
};
// Whether Python objects may be touched from any thread that takes the GIL.
bool InterpreterIsAlive();
// Gives one reference back from whichever thread, with or without the GIL. After the interpreter
// is gone, or on a thread that cannot get the GIL any more, the object is left alone.
void DropReference(PyObject* object);

}  // namespace python
}  // namespace tvm

#endif  // TVM_PYTHON_COMPAT_H_
