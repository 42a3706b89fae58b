// Arguments of builtins.
#include <cstdarg>
#include <cstring>

#include "core.h"

namespace tvm {
namespace python {

const char* TextFromPy(PyObject* o, const char* what) {
  if (!PyUnicode_Check(o)) {
    RaiseKind("TypeError", "%s: expected a str, got %R", what, o);
    return nullptr;
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (text == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return nullptr;
    PyErr_Clear();
    RaiseKind("ValueError", "%s: %R has lone surrogates, so it has no UTF-8 form", what, o);
    return nullptr;
  }
  if (strlen(text) != static_cast<size_t>(size)) {
    RaiseKind("ValueError", "%s: %R has a NUL character inside", what, o);
    return nullptr;
  }
  return text;
}

bool ParseArguments(PyObject* args, PyObject* kwargs, const char* format,
                    const char* const* keywords, ...) {
  va_list list;
  va_start(list, keywords);
  int ok = PyArg_VaParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(keywords), list);
  va_end(list);
  if (ok || !PyErr_ExceptionMatches(PyExc_TypeError)) return ok;
  PyObject* exc = TakeException();
  RaiseKind("TypeError", "%S", exc);
  Py_DECREF(exc);
  return false;
}

bool IndexFromPy(PyObject* o, const char* what, const char* name, long long* out, int* overflow) {
  PyObject* index = PyNumber_Index(o);
  if (index == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      RaiseKind("TypeError", "%s: expected an int as %s, but got %R", what, name, o);
    }
    return false;
  }
  *out = PyLong_AsLongLongAndOverflow(index, overflow);
  Py_DECREF(index);
  return true;
}

}  // namespace python
}  // namespace tvm
