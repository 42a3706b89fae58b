#include "array_common.h"

#include <cstring>

namespace tvm {
namespace python {

bool Signature::Intern() {
  for (int i = 0; i < count; ++i) {
    names[i] = PyUnicode_InternFromString(texts[i]);
    if (names[i] == nullptr) return false;
  }
  return true;
}

bool Signature::Parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                      PyObject** out) const {
  for (int i = 0; i < count; ++i) out[i] = nullptr;
  if (nargs > num_positional) {
    RaiseKind("TypeError", "%s() takes at most %d positional argument%s, but %zd were given",
              function, num_positional, num_positional == 1 ? "" : "s", nargs);
    return false;
  }
  for (Py_ssize_t i = 0; i < nargs; ++i) out[i] = args[i];
  Py_ssize_t num_keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < num_keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int found = 0;
    while (found < count && names[found] != name) ++found;
    if (found == count) {  // not interned, or not ours
      found = 0;
      while (found < count && PyUnicode_Compare(names[found], name) != 0) ++found;
    }
    if (found == count && PyUnicode_CompareWithASCIIString(name, "ctx") == 0) {
      found = 0;  // what older programs call the device
      while (found < count && strcmp(texts[found], "device") != 0) ++found;
      if (found < count && PyErr_WarnEx(PyExc_DeprecationWarning,
                                        "ctx= is an older name, please use device=", 1) != 0) {
        return false;
      }
    }
    if (found == count) {
      RaiseKind("TypeError", "%s() got an unexpected keyword argument %R", function, name);
      return false;
    }
    if (out[found] != nullptr) {
      RaiseKind("TypeError", "%s() got two values for the argument '%s'", function, texts[found]);
      return false;
    }
    out[found] = args[nargs + k];
  }
  for (int i = 0; i < num_required; ++i) {
    if (out[i] != nullptr) continue;
    RaiseKind("TypeError", "%s() needs the argument '%s'", function, texts[i]);
    return false;
  }
  return true;
}

bool CopyTensorSlow(const DLTensor& from, const DLTensor& to, int64_t nbytes) {
  bool on_devices = !IsCPU(from) || !IsCPU(to);
  int rc;
  {
    GILRelease release(on_devices || nbytes >= kReleaseGILBytes);
    rc = TVMDeviceCopyDataFromTo(const_cast<DLTensor*>(&from), const_cast<DLTensor*>(&to), nullptr);
  }
  if (rc != 0) RaiseLastError();
  return rc == 0;
}

TVMArrayHandle CopyToDevice(const DLTensor& from, DLDevice device, const char* mem_scope) {
  TVMArrayHandle to = nullptr;
  if (TVMArrayEmpty(from.shape, from.ndim, from.dtype, device, mem_scope, &to) != 0) {
    RaiseLastError();
    return nullptr;
  }
  if (!CopyTensor(from, *to, NDArrayContainer::FromHandle(to)->nbytes)) {
    TVMArrayFree(to);
    return nullptr;
  }
  return to;
}

bool MemScopeFromPy(PyObject* o, const char** out) {
  *out = nullptr;
  if (o == nullptr || o == Py_None) return true;
  *out = TextFromPy(o, "mem_scope");
  return *out != nullptr;
}

PyObject* DescribeTensor(const DLTensor& t) {
  PyObject* shape = ShapeToPy(t.shape, t.ndim);
  PyObject* dtype = DTypeToPy(t.dtype);
  PyObject* text = nullptr;
  if (shape != nullptr && dtype != nullptr) {
    text = PyUnicode_FromFormat("shape %R and dtype %S", shape, dtype);
  }
  Py_XDECREF(shape);
  Py_XDECREF(dtype);
  return text;
}

int AddFunctions(PyObject* module, const char* home, PyMethodDef* methods) {
  PyObject* home_name = PyUnicode_FromString(home);
  if (home_name == nullptr) return -1;
  int rc = 0;
  for (PyMethodDef* m = methods; rc == 0 && m->ml_name != nullptr; ++m) {
    PyObject* function = PyCFunction_NewEx(m, module, home_name);
    rc = function == nullptr ? -1 : PyModule_AddObject(module, m->ml_name, function);
    if (rc != 0) Py_XDECREF(function);
  }
  Py_DECREF(home_name);
  return rc;
}

}  // namespace python
}  // namespace tvm
