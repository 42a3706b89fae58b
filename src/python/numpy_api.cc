#include "numpy_api.h"

#include "array_common.h"

namespace tvm {
namespace python {

static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "NumPy's shapes are used as they are");

std::atomic<PyTypeObject*> numpy_array_type{nullptr};

namespace {

// Places in NumPy's table, part of its ABI.
enum TableIndex {
  kArrayType = 2,
  kDescrType = 3,
  kGenericScalarType = 10,
  kDescrFromType = 45,
  kNewFromDescr = 94
};

using DescrFromTypeFunction = NumpyDescr* (*)(int type_num);
using NewFromDescrFunction = PyObject* (*)(PyTypeObject* type, NumpyDescr* descr, int nd,
                                           const Py_ssize_t* dims, const Py_ssize_t* strides,
                                           void* data, int flags, PyObject* obj);

void** table = nullptr;  // published by numpy_array_type

// NumPy numbers its types by C type; which of them has how many bits depends on the platform.
constexpr uint8_t kLongBits = 8 * sizeof(long);
constexpr int kNumBuiltinTypes = 24;
// Complex numbers may come in through DLPack, and numpy() shows them; nothing computes with them,
// so they are not taken from NumPy.
const DLDataType kBuiltinTypes[kNumBuiltinTypes] = {
    {kDLUInt, 1, 1},          // bool
    {kDLInt, 8, 1},           // signed char
    {kDLUInt, 8, 1},          // unsigned char
    {kDLInt, 16, 1},          // short
    {kDLUInt, 16, 1},         // unsigned short
    {kDLInt, 32, 1},          // int
    {kDLUInt, 32, 1},         // unsigned int
    {kDLInt, kLongBits, 1},   // long
    {kDLUInt, kLongBits, 1},  // unsigned long
    {kDLInt, 64, 1},          // long long
    {kDLUInt, 64, 1},         // unsigned long long
    {kDLFloat, 32, 1},        // float
    {kDLFloat, 64, 1},        // double
    {0, 0, 0},                // long double
    {kDLComplex, 64, 1},      // complex float
    {kDLComplex, 128, 1},     // complex double
    {0, 0, 0},                // complex long double
    {0, 0, 0},                // object
    {0, 0, 0},                // bytes
    {0, 0, 0},                // str
    {0, 0, 0},                // void, records
    {0, 0, 0},                // datetime
    {0, 0, 0},                // timedelta
    {kDLFloat, 16, 1},        // half
};

// Types that packages add get numbers from here on.
constexpr int kFirstUserType = 256;
constexpr int kNumUserTypes = 64;
enum UserType : int { kUnknown = 0, kNotOurs = 1, kFirstKnown = 2 };
struct UserTypeName {
  const char* name;
  DLDataType dtype;
};
const UserTypeName kUserTypes[] = {{"bfloat16", {kTVMBFloat, 16, 1}},
                                   {"float8_e4m3fn", {kTVME4M3Float8, 8, 1}},
                                   {"float8_e5m2", {kTVME5M2Float8, 8, 1}}};
// Per type number: a UserType, or kFirstKnown + index into kUserTypes.
std::atomic<int> user_types[kNumUserTypes];

bool AttributeIs(PyTypeObject* type, const char* attribute, const char* text) {
  PyObject* value = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), attribute);
  bool equal = value != nullptr && PyUnicode_Check(value) &&
               PyUnicode_CompareWithASCIIString(value, text) == 0;
  Py_XDECREF(value);
  PyErr_Clear();
  return equal;
}

int LookUpUserType(NumpyDescr* descr) {
  if (!AttributeIs(descr->typeobj, "__module__", "ml_dtypes")) return kNotOurs;
  for (size_t i = 0; i < sizeof(kUserTypes) / sizeof(kUserTypes[0]); ++i) {
    if (AttributeIs(descr->typeobj, "__name__", kUserTypes[i].name)) {
      return kFirstKnown + static_cast<int>(i);
    }
  }
  return kNotOurs;
}

bool UserDType(NumpyDescr* descr, DLDataType* out) {
  int index = descr->type_num - kFirstUserType;
  int state = kUnknown;
  if (index >= 0 && index < kNumUserTypes) {
    state = user_types[index].load(std::memory_order_relaxed);
    if (state == kUnknown) {
      state = LookUpUserType(descr);
      user_types[index].store(state, std::memory_order_relaxed);
    }
  } else if (index >= kNumUserTypes) {
    state = LookUpUserType(descr);
  }
  if (state < kFirstKnown) return false;
  *out = kUserTypes[state - kFirstKnown].dtype;
  return true;
}

inline bool DTypeOf(NumpyDescr* descr, DLDataType* out) {
  constexpr char kForeignOrder = PY_BIG_ENDIAN ? '<' : '>';
  int n = descr->type_num;
  if (descr->byteorder == kForeignOrder) return false;
  if (n < 0 || n >= kNumBuiltinTypes) return UserDType(descr, out);
  *out = kBuiltinTypes[n];
  return out->bits != 0 && out->code != kDLComplex;
}

// One reference for each is kept.
std::atomic<NumpyDescr*> descrs[kNumBuiltinTypes];

NumpyDescr* DescrOf(int type_number) {
  std::atomic<NumpyDescr*>& slot = descrs[type_number];
  NumpyDescr* d = slot.load(std::memory_order_acquire);
  if (d == nullptr) {
    d = reinterpret_cast<DescrFromTypeFunction>(table[kDescrFromType])(type_number);
    if (d == nullptr) return nullptr;
    NumpyDescr* expected = nullptr;
    if (!slot.compare_exchange_strong(expected, d, std::memory_order_acq_rel)) {
      Py_DECREF(reinterpret_cast<PyObject*>(d));
      d = expected;
    }
  }
  Py_INCREF(reinterpret_cast<PyObject*>(d));
  return d;
}

// NumPy 2 and NumPy 1 keep the capsule in modules of different names.
const char* const kModules[] = {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"};
PyObject* module_names[2];
PyObject* capsule_name = nullptr;

bool ReadTable(PyObject* module) {
  PyObject* capsule = PyObject_GetAttr(module, capsule_name);
  void** found = nullptr;
  if (capsule != nullptr && PyCapsule_CheckExact(capsule)) {
    found = static_cast<void**>(PyCapsule_GetPointer(capsule, nullptr));
  }
  if (found == nullptr) {  // NumPy's import is still under way, or this is a stand-in module
    PyErr_Clear();
    Py_XDECREF(capsule);
    return false;
  }
  // The reference to the capsule is kept: the table stays.
  table = found;
  numpy_array_type.store(static_cast<PyTypeObject*>(found[kArrayType]), std::memory_order_release);
  return true;
}

}  // namespace

bool FindNumpy() {
  for (PyObject* name : module_names) {
    PyObject* module = PyImport_GetModule(name);
    if (module == nullptr) {
      PyErr_Clear();
      continue;
    }
    bool ok = ReadTable(module);
    Py_DECREF(module);
    if (ok) return true;
  }
  return false;
}

bool ImportNumpy() {
  if (numpy_array_type.load(std::memory_order_acquire) != nullptr) return true;
  PyObject* numpy = PyImport_ImportModule("numpy");
  if (numpy == nullptr) return false;
  Py_DECREF(numpy);
  if (FindNumpy()) return true;
  RaiseKind("ImportError", "tvm: this version of numpy does not offer its C table (_ARRAY_API)");
  return false;
}

bool IsNumpyScalar(PyObject* o) {
  if (numpy_array_type.load(std::memory_order_acquire) == nullptr && !FindNumpy()) return false;
  return IsInstance(o, static_cast<PyTypeObject*>(table[kGenericScalarType]));
}

bool DTypeFromNumpyDescr(PyObject* o, DLDataType* out) {
  if (numpy_array_type.load(std::memory_order_acquire) == nullptr && !FindNumpy()) return false;
  return IsInstance(o, static_cast<PyTypeObject*>(table[kDescrType])) &&
         DTypeOf(reinterpret_cast<NumpyDescr*>(o), out);
}

bool ViewNumpy(PyObject* o, DLTensor* out, int64_t* shape, int64_t* strides) {
  NumpyArray* a = AsNumpyArray(o);
  if (!DTypeOf(a->descr, &out->dtype) || a->nd > kNumpyMaxDims) return false;
  out->data = a->data;
  out->device = {kDLCPU, 0};
  out->ndim = a->nd;
  for (int i = 0; i < a->nd; ++i) shape[i] = a->dimensions[i];
  out->shape = shape;
  out->byte_offset = 0;
  out->strides = nullptr;
  if ((a->flags & kNumpyCContiguous) != 0) return true;
  const int itemsize = (out->dtype.bits + 7) / 8;
  for (int i = 0; i < a->nd; ++i) {
    if (a->strides[i] % itemsize != 0) return false;
    strides[i] = a->strides[i] / itemsize;
  }
  out->strides = strides;
  return true;
}

void RaiseNotViewable(const char* where, PyObject* o) {
  NumpyArray* a = AsNumpyArray(o);
  PyObject* descr = reinterpret_cast<PyObject*>(a->descr);
  DLDataType dtype;
  if (DTypeOf(a->descr, &dtype)) {
    RaiseKind(
        "ValueError",
        "%s: the numpy array's strides are not multiples of its element size (dtype %S); pass a "
        "copy of it, for instance numpy.array(x)",
        where, descr);
  } else if (a->descr->byteorder == (PY_BIG_ENDIAN ? '<' : '>')) {
    RaiseKind("TypeError",
              "%s: the numpy array has dtype %S in the other byte order; pass "
              "x.astype(x.dtype.newbyteorder('='))",
              where, descr);
  } else {
    RaiseKind("TypeError", "%s: a numpy array of dtype %S has no counterpart among tensors", where,
              descr);
  }
}

int NumpyTypeNumber(DLDataType t) {
  if (t.lanes != 1) return -1;
  // Of two C types with the same bits, NumPy's int64 is long if that has them.
  constexpr int kInt64 = kLongBits == 64 ? 7 : 9;
  switch (t.code << 8 | t.bits) {
    case kDLUInt << 8 | 1:
      return 0;
    case kDLInt << 8 | 8:
      return 1;
    case kDLUInt << 8 | 8:
      return 2;
    case kDLInt << 8 | 16:
      return 3;
    case kDLUInt << 8 | 16:
    case kTVMBFloat << 8 | 16:
      return 4;
    case kDLInt << 8 | 32:
      return 5;
    case kDLUInt << 8 | 32:
      return 6;
    case kDLInt << 8 | 64:
      return kInt64;
    case kDLUInt << 8 | 64:
      return kInt64 + 1;
    case kDLFloat << 8 | 16:
      return 23;
    case kDLFloat << 8 | 32:
      return 11;
    case kDLFloat << 8 | 64:
      return 12;
    case kDLComplex << 8 | 64:
      return 14;
    case kDLComplex << 8 | 128:
      return 15;
    default:
      return -1;
  }
}

PyObject* NewNumpyArray(int type_number, int ndim, const int64_t* shape) {
  NumpyDescr* descr = DescrOf(type_number);
  if (descr == nullptr) return nullptr;
  return reinterpret_cast<NewFromDescrFunction>(table[kNewFromDescr])(
      numpy_array_type.load(std::memory_order_relaxed), descr, ndim,
      reinterpret_cast<const Py_ssize_t*>(shape), nullptr, nullptr, 0, nullptr);
}

int InitNumpy() {
  for (int i = 0; i < 2; ++i) {
    module_names[i] = PyUnicode_InternFromString(kModules[i]);
    if (module_names[i] == nullptr) return -1;
  }
  capsule_name = PyUnicode_InternFromString("_ARRAY_API");
  return capsule_name == nullptr ? -1 : 0;
}

}  // namespace python
}  // namespace tvm
