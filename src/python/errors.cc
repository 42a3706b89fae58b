// Errors in both directions. A Python exception travels through native code as the payload of the
// runtime's error and comes out as the same object; native errors name the class to raise.
#include <cstdarg>
#include <cstdio>
#include <string>

#include "border.h"

// The limited API of 3.10 has only the calls that 3.12 marks as deprecated.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace tvm {
namespace python {

PyObject* TakeException() {
#if PY_VERSION_HEX >= 0x030c0000 && (!defined(Py_LIMITED_API) || Py_LIMITED_API >= 0x030c0000)
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return nullptr;
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) {
    PyException_SetTraceback(value, traceback);
    Py_DECREF(traceback);
  }
  Py_DECREF(type);
  return value;
#endif
}

void RestoreException(PyObject* exc) {
#if PY_VERSION_HEX >= 0x030c0000 && (!defined(Py_LIMITED_API) || Py_LIMITED_API >= 0x030c0000)
  PyErr_SetRaisedException(exc);
#else
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(exc));
  Py_INCREF(type);
  PyErr_Restore(type, exc, PyException_GetTraceback(exc));
#endif
}

PyObject* ErrorClass(const char* kind) {
  if (PyObject* hook = FindHook("error_class")) {
    PyObject* found = PyObject_CallFunction(hook, "s", kind);
    if (found != nullptr && PyExceptionClass_Check(found)) return found;
    Py_XDECREF(found);
    PyErr_Clear();
  }
  PyObject* builtins = PyImport_ImportModule("builtins");
  PyObject* found = builtins == nullptr ? nullptr : PyObject_GetAttrString(builtins, kind);
  Py_XDECREF(builtins);
  if (found != nullptr && PyExceptionClass_Check(found)) return found;
  Py_XDECREF(found);
  PyErr_Clear();
  return Py_NewRef(PyExc_RuntimeError);
}

PyObject* RaiseKind(const char* kind, const char* format, ...) {
  PyObject* cls = ErrorClass(kind);
  va_list args;
  va_start(args, format);
  PyErr_FormatV(cls, format, args);
  va_end(args);
  Py_DECREF(cls);
  return nullptr;
}

PyObject* RaiseLastError() {
  if (BoxGet(TVMGetLastPythonError()) != nullptr) {
    void* box = TVMErrorTakePayload();
    PyObject* exc = Py_NewRef(BoxGet(box));
    BoxDrop(box);
    RestoreException(exc);
    return nullptr;
  }
  const char* kind = nullptr;
  const char* message = nullptr;
  if (TVMErrorGet(&kind, &message, nullptr) != 0) {
    return RaiseKind("TVMError",
                     "a native function returned an error code, but set no error (which "
                     "TVMAPISetLastError does)");
  }
  // Decoding and looking up the class may run Python code that calls functions: copy first.
  char kind_copy[128];
  snprintf(kind_copy, sizeof(kind_copy), "%s", kind);
  PyObject* text =
      PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(strlen(message)), "replace");
  TVMErrorClear();
  if (text == nullptr) return nullptr;
  PyObject* cls = ErrorClass(kind_copy);
  PyErr_SetObject(cls, text);
  Py_DECREF(cls);
  Py_DECREF(text);
  return nullptr;
}

namespace {

// The kind of an exception for callers that are not Python. The classes with two bases carry an
// underscore behind the name of the built-in one.
std::string KindOf(PyObject* exc) {
  std::string kind = "TVMError";
  PyObject* name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(exc)), "__name__");
  const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8(name);
  if (text != nullptr && *text != 0) {
    kind = text;
    if (kind.size() > 1 && kind.back() == '_') kind.pop_back();
  }
  Py_XDECREF(name);
  PyErr_Clear();
  return kind;
}

std::string TextOf(PyObject* exc) {
  std::string message;
  PyObject* text = PyObject_Str(exc);
  PyObject* bytes =
      text == nullptr ? nullptr : PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  if (bytes != nullptr) message = PyBytes_AS_STRING(bytes);
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  PyErr_Clear();
  return message;
}

}  // namespace

int SetLastErrorFromPython() {
  PyObject* exc = TakeException();
  if (exc == nullptr) {
    TVMErrorSet("InternalError", "a Python callee failed without an exception", "");
    return -1;
  }
  // A text that is too long for the memory stays away; the exception itself travels anyway.
  std::string kind = OrNoMemory([&] { return KindOf(exc); });
  std::string message = OrNoMemory([&] { return TextOf(exc); });
  PyErr_Clear();
  void* box = BoxNew(exc);
  Py_DECREF(exc);
  if (box == nullptr) {
    PyErr_Clear();
    TVMErrorSet(kind.c_str(), message.c_str(), "");
    return -1;
  }
  TVMErrorSetPayload(kind.c_str(), message.c_str(), "", box, BoxDrop);
  return -2;
}

int InitErrors(PyObject*) { return 0; }

}  // namespace python
}  // namespace tvm
