// Tensors of other libraries: NumPy arrays, types with the exchange API, objects with __dlpack__.
#ifdef Py_GIL_DISABLED
#include <mutex>
#endif

#include "array_common.h"
#include "exchange_api.h"
#include "foreign.h"
#include "numpy_api.h"
#include "runtime/dlpack_convert.h"

namespace tvm {
namespace python {

namespace {

PyObject* dlpack_name = nullptr;
PyObject* dlpack_device_name = nullptr;
PyObject* max_version = nullptr;        // (1, 3)
PyObject* max_version_names = nullptr;  // ("max_version",)
PyObject* with_stream_names = nullptr;  // ("max_version", "stream")

const char kLegacy[] = "dltensor";
const char kLegacyUsed[] = "used_dltensor";
const char kVersioned[] = "dltensor_versioned";
const char kVersionedUsed[] = "used_dltensor_versioned";

#ifdef Py_GIL_DISABLED
// Two threads with the same capsule: one gets it. No Python code runs under the lock.
std::mutex capsule_mutex;
#define TVM_LOCK_CAPSULES() std::lock_guard<std::mutex> lock(capsule_mutex)
#else
#define TVM_LOCK_CAPSULES() (void)0
#endif

// The pointer, which is the caller's from now on; NULL when the capsule has another name.
void* ConsumeAs(PyObject* capsule, const char* name, const char* used) {
  TVM_LOCK_CAPSULES();
  if (!PyCapsule_IsValid(capsule, name)) return nullptr;
  void* pointer = PyCapsule_GetPointer(capsule, name);
  if (pointer == nullptr || PyCapsule_SetName(capsule, used) != 0) return nullptr;
  return pointer;
}

void DropObject(void* object) { DropReference(static_cast<PyObject*>(object)); }

// An array over memory that a Python object owns.
TVMArrayHandle ShareObject(const DLTensor& t, bool read_only, PyObject* owner) {
  TVMArrayHandle out = nullptr;
  Py_INCREF(owner);
  const uint32_t flags = read_only ? uint32_t{runtime::kNDArrayReadOnly} : 0;
  if (TVMArrayFromForeign(&t, flags, owner, DropObject, &out) != 0) {
    RaiseLastError();
    return nullptr;
  }
  return out;
}

TVMArrayHandle ShareNumpy(PyObject* o, const char* where) {
  DLTensor t;
  int64_t shape[kNumpyMaxDims];
  int64_t strides[kNumpyMaxDims];
  if (!ViewNumpy(o, &t, shape, strides)) {
    RaiseNotViewable(where, o);
    return nullptr;
  }
  return ShareObject(t, IsNumpyReadOnly(o), o);
}

void DropArray(void* handle) { TVMArrayFree(static_cast<TVMArrayHandle>(handle)); }

// A second array over the memory of one of ours.
TVMArrayHandle ShareArray(PyObject* o) {
  NDArrayContainer* c = ContainerOf(o);
  TVMArrayHandle out = nullptr;
  if (TVMArrayEndLoan(&c->dl) != 0) {
    RaiseLastError();
    return nullptr;
  }
  c->IncRef();
  if (TVMArrayFromForeign(&c->dl, c->flags, &c->dl, DropArray, &out) != 0) {
    RaiseLastError();
    return nullptr;
  }
  return out;
}

constexpr int kBorrowedDims = sizeof(BorrowedTensor::shape) / sizeof(int64_t);

// Makes the extents the borrower's own.
void KeepExtents(BorrowedTensor* b) {
  DLTensor* t = &b->tensor;
  if (runtime::IsCompact(*t)) t->strides = nullptr;
  for (int i = 0; i < t->ndim; ++i) b->shape[i] = t->shape[i];
  t->shape = b->shape;
  if (t->strides == nullptr) return;
  for (int i = 0; i < t->ndim; ++i) b->strides[i] = t->strides[i];
  t->strides = b->strides;
}

// Whether to ask for the tensor through Python, so that the producer synchronises its streams.
bool NeedsStream(const DLTensor& t) { return t.device.device_type != kDLCPU; }

// 1: *out is set; 0: go on with __dlpack__; -1: exception.
int ShareThroughExchange(const ExchangeAPI* api, PyObject* o, TVMArrayHandle* out) {
  DLManagedTensorVersioned* managed = nullptr;
  if (api->managed_from_py(o, &managed) != 0) return -1;
  if (NeedsStream(managed->dl_tensor)) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    return 0;
  }
  if (TVMArrayFromDLPackVersioned(managed, out) == 0) return 1;
  RaiseLastError();
  return -1;
}

// Whether o.__dlpack_device__() is the CPU; true when it does not say.
bool IsOnCPU(PyObject* o) {
  PyObject* args[1] = {o};
  PyObject* device = PyObject_VectorcallMethod(dlpack_device_name, args, 1, nullptr);
  long type = kDLCPU;
  if (device != nullptr && PyTuple_Check(device) && PyTuple_Size(device) == 2) {
    PyObject* number = PyNumber_Long(PyTuple_GetItem(device, 0));  // an IntEnum in some libraries
    if (number != nullptr) type = PyLong_AsLong(number);
    Py_XDECREF(number);
  }
  Py_XDECREF(device);
  PyErr_Clear();
  return type == kDLCPU;
}

PyObject* CallDLPack(PyObject* o) {
  // stream=None asks for data that is safe to use on the device's default stream.
  bool with_stream = !IsOnCPU(o);
  PyObject* args[3] = {o, max_version, Py_None};
  PyObject* capsule = PyObject_VectorcallMethod(
      dlpack_name, args, 1, with_stream ? with_stream_names : max_version_names);
  if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();  // producers from before DLPack 1.0 do not know max_version
    capsule = PyObject_VectorcallMethod(dlpack_name, args, 1, nullptr);
  }
  return capsule;
}

}  // namespace

bool DTypeFromDLPack(DLDataType* dtype) {
  const char* unknown = runtime::DTypeFromDLPack(dtype);
  if (unknown == nullptr) return true;
  RaiseKind("TypeError",
            "the tensor has the DLPack type %s (code %d, %d bits), which has no counterpart here; "
            "convert it first",
            unknown, dtype->code, dtype->bits);
  return false;
}

bool DTypeToDLPack(DLDataType* dtype) {
  DLDataType original = *dtype;
  if (runtime::DTypeToDLPack(dtype)) return true;
  PyObject* text = DTypeToPy(original);
  if (text != nullptr) RaiseKind("BufferError", "DLPack has no code for dtype %S", text);
  Py_XDECREF(text);
  return false;
}

const char* DTypeNameWithoutCounterpart(DLDataType* dtype) {
  return runtime::DTypeFromDLPack(dtype);
}

int BorrowTensor(PyObject* o, BorrowedTensor* out) {
  out->owned = nullptr;
  if (IsNumpyArray(o)) {
    if (IsNumpyReadOnly(o) || AsNumpyArray(o)->nd > kBorrowedDims) {
      out->owned = ShareNumpy(o, "argument");
      return out->owned == nullptr ? -1 : 1;
    }
    if (ViewNumpy(o, &out->tensor, out->shape, out->strides)) return 1;
    RaiseNotViewable("argument", o);
    return -1;
  }
  PyTypeObject* type = Py_TYPE(o);
  if (const ExchangeAPI* api = FindExchangeAPI(type)) {
    if (api->borrow_from_py == nullptr) {
      int rc = ShareThroughExchange(api, o, &out->owned);
      if (rc != 0) return rc;
    } else {
      if (api->borrow_from_py(o, &out->tensor) != 0) return -1;
      if (!DTypeFromDLPack(&out->tensor.dtype)) return -1;
      if (out->tensor.ndim <= kBorrowedDims) {
        KeepExtents(out);
        return 1;
      }
      int rc = ShareThroughExchange(api, o, &out->owned);
      if (rc != 0) return rc;
    }
  } else if (!PyObject_HasAttr(reinterpret_cast<PyObject*>(type), dlpack_name)) {
    return 0;
  }
  if (PyType_Check(o)) return 0;  // a class, not a tensor
  out->owned = ShareForeign(o);
  return out->owned == nullptr ? -1 : 1;
}

TVMArrayHandle ConsumeCapsule(PyObject* capsule) {
  TVMArrayHandle out = nullptr;
  int rc;
  if (void* versioned = ConsumeAs(capsule, kVersioned, kVersionedUsed)) {
    rc = TVMArrayFromDLPackVersioned(static_cast<DLManagedTensorVersioned*>(versioned), &out);
  } else if (void* legacy = ConsumeAs(capsule, kLegacy, kLegacyUsed)) {
    rc = TVMArrayFromDLPack(static_cast<DLManagedTensor*>(legacy), &out);
  } else {
    const char* name = PyCapsule_GetName(capsule);
    PyErr_Clear();
    if (name != nullptr && (strcmp(name, kLegacyUsed) == 0 || strcmp(name, kVersionedUsed) == 0)) {
      RaiseKind("ValueError",
                "from_dlpack: the capsule was consumed already; a DLPack capsule can be used once, "
                "ask the producer for another one");
    } else {
      RaiseKind("ValueError",
                "from_dlpack: expected a capsule named \"dltensor\" or \"dltensor_versioned\", but "
                "got one named \"%s\"",
                name == nullptr ? "" : name);
    }
    return nullptr;
  }
  if (rc == 0) return out;
  RaiseLastError();
  return nullptr;
}

PyObject* NewCapsule(DLManagedTensor* managed) {
  PyObject* capsule = PyCapsule_New(managed, kLegacy, [](PyObject* self) {
    if (!PyCapsule_IsValid(self, kLegacy)) return;  // consumed
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(self, kLegacy));
    m->deleter(m);
  });
  if (capsule == nullptr) managed->deleter(managed);
  return capsule;
}

PyObject* NewCapsule(DLManagedTensorVersioned* managed) {
  PyObject* capsule = PyCapsule_New(managed, kVersioned, [](PyObject* self) {
    if (!PyCapsule_IsValid(self, kVersioned)) return;
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(self, kVersioned));
    m->deleter(m);
  });
  if (capsule == nullptr) managed->deleter(managed);
  return capsule;
}

TVMArrayHandle ShareForeign(PyObject* o) {
  if (IsNumpyArray(o)) return ShareNumpy(o, "from_dlpack");
  if (Py_TYPE(o) == NDArrayType) return ShareArray(o);
  if (const ExchangeAPI* api = FindExchangeAPI(Py_TYPE(o))) {
    TVMArrayHandle out = nullptr;
    int rc = ShareThroughExchange(api, o, &out);
    if (rc != 0) return out;
  }
  if (PyCapsule_CheckExact(o)) return ConsumeCapsule(o);
  if (!PyObject_HasAttr(o, dlpack_name)) {
    RaiseKind("TypeAttributeError",
              "from_dlpack: expected an object with a __dlpack__ method or a DLPack capsule, but "
              "got %R",
              Py_TYPE(o));
    return nullptr;
  }
  PyObject* capsule = CallDLPack(o);
  if (capsule == nullptr) return nullptr;
  TVMArrayHandle out = nullptr;
  if (PyCapsule_CheckExact(capsule)) {
    out = ConsumeCapsule(capsule);
  } else {
    RaiseKind("TypeError", "from_dlpack: %R.__dlpack__() returned %R, not a capsule", Py_TYPE(o),
              Py_TYPE(capsule));
  }
  Py_DECREF(capsule);
  return out;
}

int InitForeign(PyObject*) {
  if (InitNumpy() != 0) return -1;
  dlpack_name = PyUnicode_InternFromString("__dlpack__");
  dlpack_device_name = PyUnicode_InternFromString("__dlpack_device__");
  max_version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  PyObject* version_word = PyUnicode_InternFromString("max_version");
  PyObject* stream_word = PyUnicode_InternFromString("stream");
  if (version_word == nullptr || stream_word == nullptr) return -1;
  max_version_names = PyTuple_Pack(1, version_word);
  with_stream_names = PyTuple_Pack(2, version_word, stream_word);
  Py_DECREF(version_word);
  Py_DECREF(stream_word);
  bool ok = dlpack_name != nullptr && dlpack_device_name != nullptr && max_version != nullptr &&
            max_version_names != nullptr && with_stream_names != nullptr;
  return ok ? 0 : -1;
}

}  // namespace python
}  // namespace tvm
