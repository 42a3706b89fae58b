// The module tvm._ffi._core: start-up and the hooks of the Python layer.
#include <dlfcn.h>

#include <cstring>

#include "border.h"

namespace tvm {
namespace python {

HookClasses hook_classes = {};

namespace {

PyObject* hooks = nullptr;         // dict: name -> object
PyObject* first_module = nullptr;  // keeps the types of the process alive

struct ClassSlot {
  const char* name;
  PyTypeObject** slot;
};
const ClassSlot class_slots[] = {
    {"Array", &hook_classes.array},        {"Map", &hook_classes.map},
    {"String", &hook_classes.string},      {"ShapeTuple", &hook_classes.shape_tuple},
    {"DataType", &hook_classes.data_type}, {"Object", &hook_classes.object},
};

bool SetHook(PyObject* name, PyObject* value) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return false;
  for (const ClassSlot& c : class_slots) {
    if (strcmp(c.name, text) != 0) continue;
    if (!PyType_Check(value)) {
      PyErr_Format(PyExc_TypeError, "set_hooks: %s must be a class, got %R", text, value);
      return false;
    }
    // The dictionary, and a second reference for readers that were there before a replacement,
    // keep the class alive.
    *c.slot = reinterpret_cast<PyTypeObject*>(Py_NewRef(value));
    return PyDict_SetItem(hooks, name, value) == 0;
  }
  if (!PyCallable_Check(value)) {
    PyErr_Format(PyExc_TypeError, "set_hooks: %s must be callable, got %R", text, value);
    return false;
  }
  return PyDict_SetItem(hooks, name, value) == 0;
}

PyObject* SetHooks(PyObject*, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) != 0) {
    PyErr_SetString(PyExc_TypeError, "set_hooks takes keyword arguments only");
    return nullptr;
  }
  PyObject *name, *value;
  Py_ssize_t pos = 0;
  while (kwargs != nullptr && PyDict_Next(kwargs, &pos, &name, &value)) {
    if (!SetHook(name, value)) return nullptr;
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_hooks", AsCFunction(SetHooks), METH_VARARGS | METH_KEYWORDS,
     "set_hooks($module, /, **hooks)\n--\n\n"
     "Install the functions and classes of the Python layer that the extension calls."},
    {nullptr, nullptr, 0, nullptr}};

// Libraries built by a C compiler, and system libraries, reach the runtime by its plain names: it
// has to be in the global symbol scope, which an extension's dependencies are not by themselves.
int PromoteRuntime() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&TVMFuncCall), &info) == 0 || info.dli_fname == nullptr ||
      dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) == nullptr) {
    const char* why = dlerror();
    PyErr_Format(PyExc_ImportError, "tvm: the runtime library cannot be made global: %s",
                 why == nullptr ? "its file is unknown" : why);
    return -1;
  }
  return 0;
}

// A second import in the same interpreter (sys.modules was emptied) gets the same types again.
int CopyFirstModule(PyObject* module) {
  PyObject* from = PyModule_GetDict(first_module);
  PyObject* to = PyModule_GetDict(module);
  return PyDict_Merge(to, from, 0);
}

int Exec(PyObject* module) {
  // The types are the process's own, and native threads find the main interpreter alone.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "tvm can be loaded into the main interpreter only");
    return -1;
  }
  if (first_module != nullptr) return CopyFirstModule(module);
  hooks = PyDict_New();
  if (hooks == nullptr || PromoteRuntime() != 0 || PyModule_AddFunctions(module, methods) != 0) {
    return -1;
  }
  if (PyModule_AddStringConstant(module, "__version__", TVM_LITE_VERSION) != 0) return -1;
  int (*const parts[])(PyObject*) = {InitErrors,  InitDType,   InitDevice,
                                     InitForeign, InitNDArray, InitPackedFunc,
                                     InitModule,  InitValues,  InitGlobals};
  for (auto* part : parts) {
    if (part(module) != 0) return -1;
  }
  first_module = Py_NewRef(module);
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, AsSlot(Exec)},
#ifndef Py_LIMITED_API
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
#endif
    {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "tvm._ffi._core",
                          "The border between Python and the native runtime.",
                          0,
                          nullptr,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyObject* FindHook(const char* name) {
  return hooks == nullptr ? nullptr : PyDict_GetItemString(hooks, name);
}

PyObject* GetHook(const char* name) {
  PyObject* found = FindHook(name);
  if (found != nullptr) return found;
  PyErr_Format(PyExc_RuntimeError,
               "tvm._ffi._core: the hook %s is not installed; import tvm, not its extension alone",
               name);
  return nullptr;
}

PyObject* ContainerClass(const char* name) {
  for (const ClassSlot& c : class_slots) {
    if (strcmp(c.name, name) == 0) return reinterpret_cast<PyObject*>(*c.slot);
  }
  return nullptr;
}

}  // namespace python
}  // namespace tvm

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&tvm::python::definition); }
