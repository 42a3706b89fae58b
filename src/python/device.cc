// The Device type: a kind of device and a number, two 32-bit integers.
#include <atomic>

#include "array_common.h"

namespace tvm {
namespace python {

PyTypeObject* DeviceType = nullptr;

namespace {

// Devices of small numbers are made once: comparing and passing them needs no allocation.
constexpr int kCachedTypes = 20;
constexpr int kCachedIds = 8;
std::atomic<PyObject*> cache[kCachedTypes][kCachedIds];

// Remote devices carry their session above this factor.
constexpr int kRPCSessionMask = 128;

inline DLDevice DeviceOf(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }

PyObject* NewDevice(PyTypeObject* type, DLDevice device) {
  auto* alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* self = alloc(type, 0);
  if (self != nullptr) reinterpret_cast<DeviceObject*>(self)->device = device;
  return self;
}

bool Int32FromPy(PyObject* o, const char* what, int* out) {
  int overflow = 0;
  long long v = 0;
  if (!IndexFromPy(o, "Device", what, &v, &overflow)) return false;
  if (overflow != 0 || v < 0 || v > INT32_MAX) {
    RaiseKind("ValueError", "Device: expected 0 <= %s < 2**31, but got %R", what, o);
    return false;
  }
  *out = static_cast<int>(v);
  return true;
}

const char* const parameter_names[] = {"device_type", "device_id", nullptr};

PyObject* DeviceNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* v[2] = {nullptr, nullptr};
  if (!ParseArguments(args, kwargs, "O|O:Device", parameter_names, &v[0], &v[1])) return nullptr;
  int device_type;
  int device_id = 0;
  if (!Int32FromPy(v[0], "device_type", &device_type)) return nullptr;
  if (v[1] != nullptr && !Int32FromPy(v[1], "device_id", &device_id)) return nullptr;
  DLDevice device = {static_cast<DLDeviceType>(device_type), device_id};
  return type == DeviceType ? DeviceToPy(device) : NewDevice(type, device);
}

void DeviceDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_ClearWeakRefs(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* GetDeviceType(PyObject* self, void*) {
  return PyLong_FromLong(DeviceOf(self).device_type);
}
PyObject* GetDeviceId(PyObject* self, void*) { return PyLong_FromLong(DeviceOf(self).device_id); }

PyObject* DeviceCompare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !IsInstance(other, DeviceType)) Py_RETURN_NOTIMPLEMENTED;
  DLDevice a = DeviceOf(self);
  DLDevice b = DeviceOf(other);
  bool equal = a.device_type == b.device_type && a.device_id == b.device_id;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

Py_hash_t DeviceHash(PyObject* self) {
  DLDevice d = DeviceOf(self);
  Py_hash_t hash = static_cast<Py_hash_t>(d.device_type) * 1000003 + d.device_id;
  return hash == -1 ? -2 : hash;
}

// The names are in the Python layer's table MASK2STR, which is an attribute of the type.
PyObject* DeviceRepr(PyObject* self) {
  DLDevice d = DeviceOf(self);
  int kind = d.device_type % kRPCSessionMask;
  int session = d.device_type / kRPCSessionMask - 1;
  PyObject* name = nullptr;
  PyObject* table = PyObject_GetAttrString(reinterpret_cast<PyObject*>(DeviceType), "MASK2STR");
  if (table != nullptr) {
    PyObject* key = PyLong_FromLong(kind);
    if (key != nullptr) name = PyObject_GetItem(table, key);
    Py_XDECREF(key);
    Py_DECREF(table);
  }
  if (name == nullptr) {
    PyErr_Clear();
    return PyUnicode_FromFormat("Device(%d, %d)", d.device_type, d.device_id);
  }
  PyObject* text = session < 0
                       ? PyUnicode_FromFormat("%S(%d)", name, d.device_id)
                       : PyUnicode_FromFormat("remote[%d]:%S(%d)", session, name, d.device_id);
  Py_DECREF(name);
  return text;
}

PyObject* DeviceReduce(PyObject* self, PyObject*) {
  DLDevice d = DeviceOf(self);
  return Py_BuildValue("O(ii)", Py_TYPE(self), d.device_type, d.device_id);
}

PyObject* MakeDevice(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) return RaiseKind("TypeError", "make_device: expected a type and an id");
  int device_type;
  int device_id;
  if (!Int32FromPy(args[0], "device_type", &device_type)) return nullptr;
  if (!Int32FromPy(args[1], "device_id", &device_id)) return nullptr;
  return DeviceToPy({static_cast<DLDeviceType>(device_type), device_id});
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(DeviceObject, weakrefs), READONLY, nullptr}, {}};
PyGetSetDef getset[] = {
    {"device_type", GetDeviceType, nullptr, "The kind of device, as a number.", nullptr},
    {"device_id", GetDeviceId, nullptr, "Which device of its kind.", nullptr},
    {}};
PyMethodDef device_methods[] = {{"__reduce__", DeviceReduce, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_new, AsSlot(DeviceNew)},
    {Py_tp_dealloc, AsSlot(DeviceDealloc)},
    {Py_tp_richcompare, AsSlot(DeviceCompare)},
    {Py_tp_hash, AsSlot(DeviceHash)},
    {Py_tp_repr, AsSlot(DeviceRepr)},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {Py_tp_methods, device_methods},
    {Py_tp_doc, const_cast<char*>("Device(device_type, device_id=0)\n--\n\n"
                                  "A device: its kind as a number, and which one of its kind.")},
    {}};
PyType_Spec spec = {"tvm._ffi.runtime_ctypes.Device", sizeof(DeviceObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

PyMethodDef methods[] = {
    {"make_device", AsCFunction(MakeDevice), METH_FASTCALL,
     "make_device(device_type, device_id, /)\n--\n\nThe Device of a kind and a number."},
    {}};

}  // namespace

PyObject* DeviceToPy(DLDevice device) {
  unsigned type = static_cast<unsigned>(device.device_type);
  unsigned id = static_cast<unsigned>(device.device_id);
  if (type >= kCachedTypes || id >= kCachedIds) return NewDevice(DeviceType, device);
  std::atomic<PyObject*>& slot = cache[type][id];
  PyObject* found = slot.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = NewDevice(DeviceType, device);
    if (found == nullptr) return nullptr;
    PyObject* expected = nullptr;
    if (!slot.compare_exchange_strong(expected, found, std::memory_order_acq_rel)) {
      Py_DECREF(found);
      found = expected;
    }
  }
  Py_INCREF(found);
  return found;
}

bool DeviceFromPy(PyObject* o, DLDevice* out) {
  if (o == nullptr || o == Py_None) {
    *out = {kDLCPU, 0};
    return true;
  }
  if (IsInstance(o, DeviceType)) {
    *out = DeviceOf(o);
    return true;
  }
  PyObject* hook = GetHook("parse_device");
  if (hook == nullptr) return false;
  PyObject* device = PyObject_CallFunctionObjArgs(hook, o, nullptr);
  if (device == nullptr) return false;
  bool ok = IsInstance(device, DeviceType);
  if (ok) {
    *out = DeviceOf(device);
  } else {
    PyErr_Format(PyExc_RuntimeError, "the hook parse_device answered %R for %R", device, o);
  }
  Py_DECREF(device);
  return ok;
}

int InitDevice(PyObject* module) {
  DeviceType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (DeviceType == nullptr) return -1;
  PyObject* type = reinterpret_cast<PyObject*>(DeviceType);
  Py_INCREF(type);
  if (PyModule_AddObject(module, "Device", type) != 0) {
    Py_DECREF(type);
    return -1;
  }
  return AddFunctions(module, "tvm._ffi._core", methods);
}

}  // namespace python
}  // namespace tvm
