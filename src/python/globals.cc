// Functions of the extension module that need no type of their own: the table of global functions,
// devices and streams, figures of the runtime.
#include "border.h"

namespace tvm {
namespace python {

using runtime::PackedFuncObj;

namespace {

// ---- the table of global functions -------------------------------------------------------------

PyObject* RegisterFunc(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const keywords[] = {"name", "f", "override", nullptr};
  PyObject *name_object = nullptr, *function = nullptr;
  int override_ = 0;
  if (!ParseArguments(args, kwargs, "OO|p:register_func", keywords, &name_object, &function,
                      &override_)) {
    return nullptr;
  }
  const char* name = TextFromPy(name_object, "register_func");
  if (name == nullptr) return nullptr;
  TVMFunctionHandle handle = FunctionFromCallable(function);
  if (handle == nullptr) return nullptr;
  int rc = TVMFuncRegisterGlobal(name, handle, override_);
  PyObject* result = rc != 0 ? RaiseLastError() : Py_NewRef(Py_None);
  static_cast<PackedFuncObj*>(handle)->DecRef();
  return result;
}

PyObject* GetGlobalFunc(PyObject*, PyObject* name) {
  const char* text = TextFromPy(name, "get_global_func");
  if (text == nullptr) return nullptr;
  TVMFunctionHandle handle = nullptr;
  if (TVMFuncGetGlobal(text, &handle) != 0) return RaiseLastError();
  if (handle == nullptr) Py_RETURN_NONE;
  PyObject* func = WrapPackedFunc(handle);
  if (func != nullptr) reinterpret_cast<PackedFuncObject*>(func)->is_global = true;
  return func;
}

PyObject* ListGlobalFuncNames(PyObject*, PyObject*) {
  int n = 0;
  const char** names = nullptr;
  if (TVMFuncListGlobalNames(&n, &names) != 0) return RaiseLastError();
  PyObject* list = PyList_New(n);
  for (int i = 0; list != nullptr && i < n; ++i) {
    PyObject* name = PyUnicode_DecodeUTF8(
        names[i], static_cast<Py_ssize_t>(__builtin_strlen(names[i])), "surrogateescape");
    if (name == nullptr || PyList_SetItem(list, i, name) != 0) Py_CLEAR(list);
  }
  return list;
}

PyObject* RemoveGlobalFunc(PyObject*, PyObject* name) {
  const char* text = TextFromPy(name, "remove_global_func");
  if (text == nullptr) return nullptr;
  TVMFunctionHandle handle = nullptr;
  if (TVMFuncGetGlobal(text, &handle) != 0) return RaiseLastError();
  if (handle == nullptr) Py_RETURN_FALSE;
  int rc = TVMFuncRemoveGlobal(text);
  PyObject* result = rc != 0 ? RaiseLastError() : Py_NewRef(Py_True);
  static_cast<PackedFuncObj*>(handle)->DecRef();
  return result;
}

// ---- the runtime itself ------------------------------------------------------------------------

struct BackendSlot {
  const char* name;
  void* address;
};

PyObject* BackendSlots(PyObject*, PyObject*) {
  // The names are those of the data symbols in exported libraries.
  const BackendSlot slots[] = {
      {"__TVMFuncCall", AsSlot(TVMFuncCall)},
      {"__TVMAPISetLastError", AsSlot(TVMAPISetLastError)},
      {"__TVMBackendGetFuncFromEnv", AsSlot(TVMBackendGetFuncFromEnv)},
      {"__TVMBackendAllocWorkspace", AsSlot(TVMBackendAllocWorkspace)},
      {"__TVMBackendFreeWorkspace", AsSlot(TVMBackendFreeWorkspace)},
      {"__TVMBackendParallelLaunch", AsSlot(TVMBackendParallelLaunch)},
      {"__TVMBackendParallelBarrier", AsSlot(TVMBackendParallelBarrier)},
  };
  PyObject* dict = PyDict_New();
  for (const BackendSlot& slot : slots) {
    PyObject* address = dict == nullptr ? nullptr : PyLong_FromVoidPtr(slot.address);
    if (address == nullptr || PyDict_SetItemString(dict, slot.name, address) != 0) Py_CLEAR(dict);
    Py_XDECREF(address);
    if (dict == nullptr) break;
  }
  return dict;
}

PyObject* NumThreads(PyObject*, PyObject*) { return PyLong_FromLong(TVMRuntimeNumThreads()); }

PyObject* Stat(PyObject*, PyObject* which) {
  long kind = PyLong_AsLong(which);
  if (kind == -1 && PyErr_Occurred()) return nullptr;
  if (kind < kTVMStatObjects || kind > kTVMStatWorkspaceBytes) {
    return RaiseKind("ValueError", "stat: expected a number from 0 to %d, got %ld",
                     static_cast<int>(kTVMStatWorkspaceBytes), kind);
  }
  int64_t value = TVMRuntimeGetStat(static_cast<int>(kind));
  // Functions over Python callables are made by the extension.
  if (kind == kTVMStatObjects || kind == kTVMStatFunctions) value += NumPyCallables();
  return PyLong_FromLongLong(value);
}

// ---- devices -----------------------------------------------------------------------------------

PyObject* DeviceAttr(PyObject*, PyObject* args) {
  int device_type, device_id, kind;
  static const char* const keywords[] = {"", "", "", nullptr};
  if (!ParseArguments(args, nullptr, "iii:device_attr", keywords, &device_type, &device_id,
                      &kind)) {
    return nullptr;
  }
  DLDevice device;
  device.device_type = static_cast<decltype(device.device_type)>(device_type);
  device.device_id = device_id;
  TVMValue value;
  value.v_handle = nullptr;
  int code = kTVMNullptr;
  int rc;
  {
    GILRelease release;
    rc = TVMDeviceGetAttr(device, kind, &value, &code);
  }
  return rc != 0 ? RaiseLastError() : ValueToPy(value, code);
}

PyObject* AsResult(int rc) { return rc != 0 ? RaiseLastError() : Py_NewRef(Py_None); }

// (device_type, device_id, stream...) with streams as addresses; 0 is the default stream.
bool ReadStreams(PyObject* args, int* device, void** streams, int required, int allowed) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n < 2 + required || n > 2 + allowed) {
    RaiseKind("TypeError",
              "expected a device type, a device id and %d to %d streams, got %zd "
              "arguments",
              required, allowed, n);
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    long value = PyLong_AsLong(PyTuple_GET_ITEM(args, i));
    if (value == -1 && PyErr_Occurred()) return false;
    if (value < INT32_MIN || value > INT32_MAX) {
      RaiseKind("ValueError", "%ld is no device number", value);
      return false;
    }
    device[i] = static_cast<int>(value);
  }
  for (int i = 0; i < allowed; ++i) {
    PyObject* stream = 2 + i < n ? PyTuple_GET_ITEM(args, 2 + i) : Py_None;
    streams[i] = nullptr;
    if (stream == Py_None) continue;
    if (IsVoidPointer(stream)) {
      if (!VoidPointerFromPy(stream, &streams[i])) return false;
      continue;
    }
    streams[i] = PyLong_AsVoidPtr(stream);
    if (streams[i] == nullptr && PyErr_Occurred()) return false;
  }
  return true;
}

PyObject* Synchronize(PyObject*, PyObject* args) {
  int device[2];
  void* stream[1];
  if (!ReadStreams(args, device, stream, 0, 1)) return nullptr;
  int rc;
  {
    GILRelease release;
    rc = TVMSynchronize(device[0], device[1], stream[0]);
  }
  return AsResult(rc);
}

PyObject* StreamCreate(PyObject*, PyObject* args) {
  int device[2];
  if (!ReadStreams(args, device, nullptr, 0, 0)) return nullptr;
  TVMStreamHandle stream = nullptr;
  if (TVMStreamCreate(device[0], device[1], &stream) != 0) return RaiseLastError();
  return PyLong_FromVoidPtr(stream);
}

PyObject* StreamFree(PyObject*, PyObject* args) {
  int device[2];
  void* stream[1];
  if (!ReadStreams(args, device, stream, 1, 1)) return nullptr;
  return AsResult(TVMStreamFree(device[0], device[1], stream[0]));
}

PyObject* StreamSet(PyObject*, PyObject* args) {
  int device[2];
  void* stream[1];
  if (!ReadStreams(args, device, stream, 1, 1)) return nullptr;
  return AsResult(TVMSetStream(device[0], device[1], stream[0]));
}

PyObject* StreamWait(PyObject*, PyObject* args) {
  int device[2];
  void* streams[2];
  if (!ReadStreams(args, device, streams, 2, 2)) return nullptr;
  int rc;
  {
    GILRelease release;
    rc = TVMStreamStreamSynchronize(device[0], device[1], streams[0], streams[1]);
  }
  return AsResult(rc);
}

PyMethodDef functions[] = {
    {"register_func", AsCFunction(RegisterFunc), METH_VARARGS | METH_KEYWORDS,
     "register_func($module, /, name, f, override=False)\n--\n\n"
     "Make a callable or PackedFunc known by name."},
    {"get_global_func", GetGlobalFunc, METH_O,
     "get_global_func($module, name, /)\n--\n\nThe global function, or None."},
    {"list_global_func_names", ListGlobalFuncNames, METH_NOARGS,
     "list_global_func_names($module, /)\n--\n\nThe names of all global functions."},
    {"remove_global_func", RemoveGlobalFunc, METH_O,
     "remove_global_func($module, name, /)\n--\n\nForget a name; whether it was known."},
    {"backend_slots", BackendSlots, METH_NOARGS,
     "backend_slots($module, /)\n--\n\n"
     "The addresses that compiled code reaches the runtime by, by the names of their slots."},
    {"num_threads", NumThreads, METH_NOARGS,
     "num_threads($module, /)\n--\n\nThe number of threads that parallel loops use."},
    {"stat", Stat, METH_O,
     "stat($module, which, /)\n--\n\n"
     "Live figures: 0 objects, 1 arrays, 2 bytes of CPU arrays, 3 functions, 4 workspace bytes."},
    {"device_attr", DeviceAttr, METH_VARARGS,
     "device_attr($module, device_type, device_id, kind, /)\n--\n\n"
     "A figure of a device, None when it has no such figure."},
    {"synchronize", Synchronize, METH_VARARGS,
     "synchronize($module, device_type, device_id, stream=None, /)\n--\n\n"
     "Wait until a stream of a device has finished."},
    {"stream_create", StreamCreate, METH_VARARGS,
     "stream_create($module, device_type, device_id, /)\n--\n\nA new stream, as an address."},
    {"stream_free", StreamFree, METH_VARARGS,
     "stream_free($module, device_type, device_id, stream, /)\n--\n\nEnd a stream."},
    {"stream_set", StreamSet, METH_VARARGS,
     "stream_set($module, device_type, device_id, stream, /)\n--\n\n"
     "Let this thread's work on the device go to a stream."},
    {"stream_wait", StreamWait, METH_VARARGS,
     "stream_wait($module, device_type, device_id, first, then, /)\n--\n\n"
     "Let the stream `then` wait for what is in the stream `first` now."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int InitGlobals(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace python
}  // namespace tvm
