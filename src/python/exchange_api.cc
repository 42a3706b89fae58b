#include "exchange_api.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "array_common.h"

namespace tvm {
namespace python {

namespace {

const char kCapsuleName[] = "dlpack_exchange_api";
PyObject* attribute_name = nullptr;

// ---- other frameworks' tables -------------------------------------------------------------------
// A process has a handful of tensor types. Each is kept once found (the table only grows), and a
// reference to it is held, so that no other type can take its address. What does not fit is looked
// up again each time.
struct KnownType {
  PyTypeObject* type;
  const ExchangeAPI* api;
};
constexpr int kMaxKnownTypes = 32;
KnownType known_types[kMaxKnownTypes];
std::atomic<int> num_known_types{0};
std::mutex known_types_mutex;  // for writers; no Python code runs under it

void Remember(PyTypeObject* type, const ExchangeAPI* api) {
  std::lock_guard<std::mutex> lock(known_types_mutex);
  int n = num_known_types.load(std::memory_order_relaxed);
  for (int i = 0; i < n; ++i) {
    if (known_types[i].type == type) return;
  }
  if (n == kMaxKnownTypes) return;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  known_types[n] = {type, api};
  num_known_types.store(n + 1, std::memory_order_release);
}

const ExchangeAPI* LookUp(PyTypeObject* type) {
  PyObject* capsule = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), attribute_name);
  if (capsule == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const ExchangeHeader* header = nullptr;
  if (PyCapsule_IsValid(capsule, kCapsuleName)) {
    header = static_cast<ExchangeHeader*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  }
  Py_DECREF(capsule);
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) {
    header = header->prev_api;
  }
  auto* api = reinterpret_cast<const ExchangeAPI*>(header);
  if (api == nullptr || api->managed_from_py == nullptr) return nullptr;
  Remember(type, api);
  return api;
}

// ---- our own table ------------------------------------------------------------------------------
bool CheckNDArray(PyObject* o) {
  if (IsNDArray(o)) return true;
  RaiseKind("TypeError", "DLPack exchange: expected a tvm.nd.NDArray, but got %R", Py_TYPE(o));
  return false;
}

int ManagedFromPy(void* object, DLManagedTensorVersioned** out) {
  PyObject* o = static_cast<PyObject*>(object);
  if (!CheckNDArray(o)) return -1;
  if (TVMArrayToDLPackVersioned(TensorOf(o), out) == 0) return 0;
  RaiseLastError();
  return -1;
}

int ManagedToPy(DLManagedTensorVersioned* tensor, void** out) {
  TVMArrayHandle handle = nullptr;
  *out = nullptr;
  if (TVMArrayFromDLPackVersioned(tensor, &handle) != 0) {
    RaiseLastError();
    return -1;
  }
  *out = WrapNDArray(handle);
  return *out == nullptr ? -1 : 0;
}

// DLPack wants strides always, and they must live as long as the object.
int64_t* StridesOf(NDArrayObject* self) {
  int64_t* strides = __atomic_load_n(&self->strides, __ATOMIC_ACQUIRE);
  if (strides != nullptr) return strides;
  const DLTensor& t = *self->handle;
  strides = static_cast<int64_t*>(malloc(sizeof(int64_t) * t.ndim));
  if (strides == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  int64_t run = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    strides[i] = run;
    run *= t.shape[i];
  }
  int64_t* expected = nullptr;
  if (!__atomic_compare_exchange_n(&self->strides, &expected, strides, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    free(strides);
    strides = expected;
  }
  return strides;
}

int BorrowFromPy(void* object, DLTensor* out) {
  PyObject* o = static_cast<PyObject*>(object);
  if (!CheckNDArray(o)) return -1;
  auto* self = reinterpret_cast<NDArrayObject*>(o);
  // The borrowed form has no read-only flag; consumers that get this error can ask for the managed
  // form, which has.
  if ((ContainerOf(o)->flags & runtime::kNDArrayReadOnly) != 0) {
    RaiseKind("BufferError", "DLPack exchange: a read-only array cannot be lent without its flag");
    return -1;
  }
  *out = *self->handle;
  if (!DTypeToDLPack(&out->dtype)) return -1;
  if (out->strides == nullptr && out->ndim != 0) {
    out->strides = StridesOf(self);
    if (out->strides == nullptr) return -1;
  }
  return 0;
}

int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
             ExchangeSetError set_error) {
  DLDataType dtype = prototype->dtype;
  TVMArrayHandle handle = nullptr;
  int rc = -1;
  if (const char* unknown = DTypeNameWithoutCounterpart(&dtype)) {
    set_error(context, "TypeError", unknown);
    return -1;
  }
  if (TVMArrayEmpty(prototype->shape, prototype->ndim, dtype, prototype->device, nullptr,
                    &handle) == 0) {
    rc = TVMArrayToDLPackVersioned(handle, out);
    TVMArrayFree(handle);
  }
  if (rc != 0) {
    const char *kind = "RuntimeError", *message = "", *traceback = "";
    TVMErrorGet(&kind, &message, &traceback);
    set_error(context, kind, message);
    TVMErrorClear();
    return -1;
  }
  return 0;
}

// Devices work on their default stream unless told otherwise.
int CurrentWorkStream(DLDeviceType, int32_t, void** out) {
  *out = nullptr;
  return 0;
}

const ExchangeAPI our_api = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr},
                             Allocate,
                             ManagedFromPy,
                             ManagedToPy,
                             BorrowFromPy,
                             CurrentWorkStream};

}  // namespace

const ExchangeAPI* FindExchangeAPI(PyTypeObject* type) {
  int n = num_known_types.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i) {
    if (known_types[i].type == type) return known_types[i].api;
  }
  return LookUp(type);
}

int InitExchangeAPI() {
  attribute_name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  if (attribute_name == nullptr) return -1;
  PyObject* capsule = PyCapsule_New(const_cast<ExchangeAPI*>(&our_api), kCapsuleName, nullptr);
  if (capsule == nullptr) return -1;
  int rc = PyObject_SetAttr(reinterpret_cast<PyObject*>(NDArrayType), attribute_name, capsule);
  Py_DECREF(capsule);
  return rc;
}

}  // namespace python
}  // namespace tvm
