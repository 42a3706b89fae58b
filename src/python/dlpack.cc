// DLPack methods of NDArray, and from_dlpack.
#include "array_common.h"
#include "foreign.h"

namespace tvm {
namespace python {

namespace {

Signature dlpack_signature = {
    "__dlpack__", 1, 0, 4, {"stream", "max_version", "dl_device", "copy"}, {}};
Signature from_dlpack_signature = {"from_dlpack", 1, 1, 1, {"dltensor"}, {}};

// A pair of ints; anything with __index__ or __int__ counts (enumerations of devices do).
bool PairFromPy(PyObject* o, const char* what, long out[2]) {
  bool ok = PyTuple_Check(o) && PyTuple_Size(o) == 2;
  for (int i = 0; ok && i < 2; ++i) {
    PyObject* item = PyTuple_GetItem(o, i);
    if (PyLong_CheckExact(item)) {  // what NumPy and torch send
      out[i] = PyLong_AsLong(item);
      ok = out[i] <= INT32_MAX && out[i] >= INT32_MIN && (out[i] != -1 || !PyErr_Occurred());
      continue;
    }
    if (PyUnicode_Check(item) || PyBytes_Check(item) || PyFloat_Check(item)) ok = false;
    if (!ok) break;
    PyObject* number = PyLong_Check(item) ? (Py_INCREF(item), item) : PyNumber_Long(item);
    out[i] = number == nullptr ? -1 : PyLong_AsLong(number);
    Py_XDECREF(number);
    if (PyErr_Occurred() || out[i] > INT32_MAX || out[i] < INT32_MIN) ok = false;
  }
  if (ok) return true;
  PyErr_Clear();
  RaiseKind("TypeError", "__dlpack__: expected %s to be None or a pair of small ints, but got %R",
            what, o);
  return false;
}

enum class CopyRule { kIfNeeded, kAlways, kNever };

bool CopyRuleFromPy(PyObject* o, CopyRule* out) {
  if (o == nullptr || o == Py_None) {
    *out = CopyRule::kIfNeeded;
  } else if (o == Py_True) {
    *out = CopyRule::kAlways;
  } else if (o == Py_False) {
    *out = CopyRule::kNever;
  } else {
    RaiseKind("TypeError", "__dlpack__: expected copy to be None or a bool, but got %R", o);
    return false;
  }
  return true;
}

// Makes the data safe to use on the consumer's stream. -1 asks for no synchronisation.
bool Synchronise(const DLTensor& t, PyObject* stream) {
  if (t.device.device_type == kDLCPU) return true;
  if (stream != nullptr && PyLong_Check(stream) && PyLong_AsLong(stream) == -1) {
    return !PyErr_Occurred();
  }
  int rc;
  {
    GILRelease release(true);
    rc = TVMSynchronize(t.device.device_type, t.device.device_id, nullptr);
  }
  if (rc != 0) RaiseLastError();
  return rc == 0;
}

// Whether the array has to move to satisfy dl_device; -1 with an exception.
int NeedsMove(const DLTensor& t, PyObject* dl_device, DLDevice* target) {
  if (dl_device == nullptr || dl_device == Py_None) return 0;
  long pair[2];
  if (!PairFromPy(dl_device, "dl_device", pair)) return -1;
  *target = {static_cast<DLDeviceType>(pair[0]), static_cast<int32_t>(pair[1])};
  if (pair[0] == t.device.device_type && pair[1] == t.device.device_id) return 0;
  if (pair[0] == kDLCPU) return 1;
  PyObject* from = DeviceToPy(t.device);
  PyObject* to = DeviceToPy(*target);
  if (from != nullptr && to != nullptr) {
    RaiseKind("BufferError",
              "__dlpack__: an array on %S can be exported there or to the CPU, but %S was asked "
              "for; use copyto first",
              from, to);
  }
  Py_XDECREF(from);
  Py_XDECREF(to);
  return -1;
}

PyObject* Export(TVMArrayHandle handle, bool versioned, bool copied) {
  if (versioned) {
    DLManagedTensorVersioned* managed = nullptr;
    if (TVMArrayToDLPackVersioned(handle, &managed) != 0) return RaiseLastError();
    if (copied) managed->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    return NewCapsule(managed);
  }
  DLManagedTensor* managed = nullptr;
  if (TVMArrayToDLPack(handle, &managed) != 0) return RaiseLastError();
  return NewCapsule(managed);
}

}  // namespace

PyObject* NDArrayDLPack(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  if (nargs == 0 && kwnames == nullptr && IsCPU(*TensorOf(self))) {
    return Export(TensorOf(self), false, false);
  }
  PyObject* v[4];
  if (!dlpack_signature.Parse(args, nargs, kwnames, v)) return nullptr;
  const DLTensor& t = *TensorOf(self);
  bool versioned = false;
  if (v[1] != nullptr && v[1] != Py_None) {
    long version[2];
    if (!PairFromPy(v[1], "max_version", version)) return nullptr;
    versioned = version[0] >= 1;
  }
  DLDevice target = t.device;
  CopyRule rule;
  if (!CopyRuleFromPy(v[3], &rule)) return nullptr;
  int moves = NeedsMove(t, v[2], &target);
  if (moves < 0) return nullptr;
  if (v[0] != nullptr && v[0] != Py_None && !PyLong_Check(v[0])) {
    return RaiseKind("TypeError", "__dlpack__: expected stream to be None or an int, but got %R",
                     v[0]);
  }
  if (moves != 0 && rule == CopyRule::kNever) {
    return RaiseKind("BufferError",
                     "__dlpack__: the array is on another device than asked for, and copy=False "
                     "forbids to move it");
  }
  if (moves == 0 && rule != CopyRule::kAlways) {
    return Synchronise(t, v[0]) ? Export(TensorOf(self), versioned, false) : nullptr;
  }
  TVMArrayHandle copy = CopyToDevice(t, target, nullptr);
  if (copy == nullptr) return nullptr;
  PyObject* capsule = Export(copy, versioned, true);
  TVMArrayFree(copy);
  return capsule;
}

PyObject* NDArrayDLPackDevice(PyObject* self, PyObject*) {
  const DLDevice& device = TensorOf(self)->device;
  const int64_t pair[2] = {device.device_type, device.device_id};
  return ShapeToPy(pair, 2);
}

PyObject* NDArrayToDLPack(PyObject* self, PyObject*) {
  return Export(TensorOf(self), false, false);
}

PyObject* FromDLPack(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* source = nullptr;
  if (nargs == 1 && kwnames == nullptr) {
    source = args[0];
  } else if (!from_dlpack_signature.Parse(args, nargs, kwnames, &source)) {
    return nullptr;
  }
  return WrapNDArray(ShareForeign(source));
}

int InitDLPack() { return dlpack_signature.Intern() && from_dlpack_signature.Intern() ? 0 : -1; }

}  // namespace python
}  // namespace tvm
