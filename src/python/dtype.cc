// Element types: text <-> DLDataType, and everything else that names a type in Python.
#include <atomic>

#include "array_common.h"
#include "border.h"
#include "numpy_api.h"

namespace tvm {
namespace python {

namespace {

struct ExactName {
  const char* text;
  size_t size;
  DLDataType dtype;
};

// Bases that carry no digits; lanes may follow.
const ExactName kExactNames[] = {
    {"bool", 4, {kDLUInt, 1, 1}},
    {"bfloat16", 8, {kTVMBFloat, 16, 1}},
    {"bfloat", 6, {kTVMBFloat, 16, 1}},
    {"e4m3_float8", 11, {kTVME4M3Float8, 8, 1}},
    {"e5m2_float8", 11, {kTVME5M2Float8, 8, 1}},
    {"float8_e4m3fn", 13, {kTVME4M3Float8, 8, 1}},
    {"float8_e5m2", 11, {kTVME5M2Float8, 8, 1}},
    {"handle", 6, {kDLOpaqueHandle, 64, 1}},
};

// Reads decimal digits; -1 when there are none, or above the limit, or with a leading zero.
int ReadNumber(const char** p, const char* end, int limit) {
  const char* s = *p;
  int value = 0;
  if (s == end || *s < '1' || *s > '9') return -1;
  for (; s != end && *s >= '0' && *s <= '9'; ++s) {
    value = value * 10 + (*s - '0');
    if (value > limit) return -1;
  }
  *p = s;
  return value;
}

bool ParseLanes(const char* p, const char* end, DLDataType* out) {
  if (p == end) return true;
  if (*p++ != 'x') return false;
  int lanes = ReadNumber(&p, end, 65535);
  if (lanes < 0 || p != end) return false;
  out->lanes = static_cast<uint16_t>(lanes);
  return true;
}

bool IsWidth(DLDataType t) {
  switch (t.code) {
    case kDLFloat:
      return t.bits == 16 || t.bits == 32 || t.bits == 64;
    default:
      return true;
  }
}

// The known spellings; custom types and nonsense give false.
bool ParseText(const char* s, size_t size, DLDataType* out) {
  const char* end = s + size;
  const char* p;
  if (size >= 5 && memcmp(s, "float", 5) == 0) {
    *out = {kDLFloat, 0, 1};
    p = s + 5;
  } else if (size >= 3 && memcmp(s, "int", 3) == 0) {
    *out = {kDLInt, 0, 1};
    p = s + 3;
  } else if (size >= 4 && memcmp(s, "uint", 4) == 0) {
    *out = {kDLUInt, 0, 1};
    p = s + 4;
  } else {
    p = nullptr;
  }
  if (p != nullptr) {
    int bits = p == end || *p == 'x' ? 32 : ReadNumber(&p, end, 255);
    if (bits > 0) {
      out->bits = static_cast<uint8_t>(bits);
      if (IsWidth(*out) && ParseLanes(p, end, out)) return true;
    }
  }
  for (const ExactName& name : kExactNames) {
    if (size < name.size || memcmp(s, name.text, name.size) != 0) continue;
    *out = name.dtype;
    if (ParseLanes(s + name.size, end, out)) return true;
  }
  if (size == 0 || (size == 4 && memcmp(s, "void", 4) == 0)) {
    *out = {kDLOpaqueHandle, 0, 0};
    return true;
  }
  return false;
}

PyObject* FormatText(DLDataType t) {
  const char* base = nullptr;
  int bits = t.bits;
  switch (t.code) {
    case kDLInt:
      base = "int";
      break;
    case kDLUInt:
      if (t.bits == 1 && t.lanes == 1) return PyUnicode_FromString("bool");
      base = "uint";
      break;
    case kDLFloat:
      base = "float";
      break;
    case kDLOpaqueHandle:
      if (t.bits == 0) return PyUnicode_FromString("void");
      base = "handle";
      if (bits == 64) bits = 0;
      break;
    case kTVMBFloat:
      base = "bfloat";
      break;
    case kDLComplex:
      base = "complex";
      break;
    case kTVME4M3Float8:
      base = "e4m3_float";
      break;
    case kTVME5M2Float8:
      base = "e5m2_float";
      break;
    default:
      break;
  }
  if (base == nullptr) {
    // User types have names that only the Python layer knows.
    if (PyObject* hook = FindHook("format_custom_dtype")) {
      return PyObject_CallFunction(hook, "iii", t.code, t.bits, t.lanes);
    }
    if (t.lanes == 1) return PyUnicode_FromFormat("custom[%d]%d", t.code, t.bits);
    return PyUnicode_FromFormat("custom[%d]%dx%d", t.code, t.bits, t.lanes);
  }
  if (bits == 0 && t.lanes == 1) return PyUnicode_FromString(base);
  if (bits == 0) return PyUnicode_FromFormat("%sx%d", base, t.lanes);
  if (t.lanes == 1) return PyUnicode_FromFormat("%s%d", base, bits);
  return PyUnicode_FromFormat("%s%dx%d", base, bits, t.lanes);
}

// Interned text of scalar types, made on first use. A slot is written once; the string is kept.
std::atomic<PyObject*> texts[8][256];

// Types (np.float32, float, ml_dtypes.bfloat16 ...) that the hook has answered for. Only types are
// kept, and not more than this, so that no program can make it grow.
constexpr Py_ssize_t kMaxCachedTypes = 256;
PyObject* type_cache = nullptr;

PyObject* Pack(DLDataType t) {
  return PyLong_FromLong(t.code | t.bits << 8 | static_cast<long>(t.lanes) << 16);
}

bool Unpack(PyObject* value, DLDataType* out) {
  long v = PyLong_AsLong(value);
  if (v == -1 && PyErr_Occurred()) return false;
  *out = {static_cast<uint8_t>(v), static_cast<uint8_t>(v >> 8), static_cast<uint16_t>(v >> 16)};
  return true;
}

bool TripleFromPy(PyObject* o, DLDataType* out) {
  long v[3];
  const long limits[3] = {255, 255, 65535};
  if (!PyTuple_Check(o) || PyTuple_Size(o) != 3) return false;
  for (int i = 0; i < 3; ++i) {
    v[i] = PyLong_AsLong(PyTuple_GetItem(o, i));
    if (v[i] < 0 || v[i] > limits[i]) {
      PyErr_Clear();
      return false;
    }
  }
  *out = {static_cast<uint8_t>(v[0]), static_cast<uint8_t>(v[1]), static_cast<uint16_t>(v[2])};
  return true;
}

bool AskHook(PyObject* o, DLDataType* out) {
  PyObject* hook = GetHook("parse_dtype");
  if (hook == nullptr) return false;
  PyObject* answer = PyObject_CallFunctionObjArgs(hook, o, nullptr);
  if (answer == nullptr) return false;
  bool ok = false;
  if (PyUnicode_Check(answer)) {
    Py_ssize_t size;
    const char* s = PyUnicode_AsUTF8AndSize(answer, &size);
    ok = s != nullptr && ParseText(s, size, out);
  } else {
    ok = TripleFromPy(answer, out);  // of user types only the Python layer knows the code
  }
  if (!ok && !PyErr_Occurred()) {
    PyErr_Format(PyExc_RuntimeError, "the hook parse_dtype answered %R for %R", answer, o);
  }
  Py_DECREF(answer);
  return ok;
}

PyObject* ParseDType(PyObject*, PyObject* text) {
  Py_ssize_t size;
  if (!PyUnicode_Check(text)) {
    return RaiseKind("TypeError", "parse_dtype: expected a str, but got %R", Py_TYPE(text));
  }
  const char* s = PyUnicode_AsUTF8AndSize(text, &size);
  if (s == nullptr) {
    PyErr_Clear();  // lone surrogates: no type has them
    Py_RETURN_NONE;
  }
  DLDataType t;
  if (!ParseText(s, size, &t)) Py_RETURN_NONE;
  const int64_t v[3] = {t.code, t.bits, t.lanes};
  return ShapeToPy(v, 3);
}

PyObject* FormatDType(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  const long limits[3] = {255, 255, 65535};
  long v[3];
  if (nargs != 3) return RaiseKind("TypeError", "format_dtype: expected code, bits and lanes");
  for (int i = 0; i < 3; ++i) {
    v[i] = PyLong_AsLong(args[i]);
    if (v[i] == -1 && PyErr_Occurred()) return nullptr;
    if (v[i] < 0 || v[i] > limits[i]) {
      return RaiseKind("ValueError", "format_dtype: %ld is not in 0..%ld", v[i], limits[i]);
    }
  }
  return DTypeToPy(
      {static_cast<uint8_t>(v[0]), static_cast<uint8_t>(v[1]), static_cast<uint16_t>(v[2])});
}

PyMethodDef methods[] = {
    {"parse_dtype", ParseDType, METH_O,
     "parse_dtype(text, /)\n--\n\n"
     "(code, bits, lanes) of a dtype's text, or None when it is no known spelling."},
    {"format_dtype", AsCFunction(FormatDType), METH_FASTCALL,
     "format_dtype(code, bits, lanes, /)\n--\n\nThe canonical text of a dtype."},
    {}};

}  // namespace

bool DTypeFromPy(PyObject* o, DLDataType* out) {
  if (PyUnicode_Check(o)) {
    Py_ssize_t size;
    const char* s = PyUnicode_AsUTF8AndSize(o, &size);
    if (s != nullptr && ParseText(s, size, out)) return true;
    PyErr_Clear();
    return AskHook(o, out);
  }
  if (DTypeFromNumpyDescr(o, out)) return true;
  if (!PyType_Check(o)) return AskHook(o, out);
  PyObject* known = PyDict_GetItemWithError(type_cache, o);
  if (known != nullptr) return Unpack(known, out);
  if (PyErr_Occurred() || !AskHook(o, out)) return false;
  if (PyDict_Size(type_cache) < kMaxCachedTypes) {
    PyObject* value = Pack(*out);
    if (value == nullptr) return false;
    int rc = PyDict_SetItem(type_cache, o, value);
    Py_DECREF(value);
    if (rc != 0) return false;
  }
  return true;
}

PyObject* DTypeToPy(DLDataType t) {
  if (t.lanes != 1 || t.code >= 8) return FormatText(t);
  std::atomic<PyObject*>& slot = texts[t.code][t.bits];
  PyObject* text = slot.load(std::memory_order_acquire);
  if (text == nullptr) {
    text = FormatText(t);
    if (text == nullptr) return nullptr;
    PyUnicode_InternInPlace(&text);
    PyObject* expected = nullptr;
    if (!slot.compare_exchange_strong(expected, text, std::memory_order_acq_rel)) {
      Py_DECREF(text);
      text = expected;
    }
  }
  Py_INCREF(text);
  return text;
}

int InitDType(PyObject* module) {
  if (type_cache == nullptr) type_cache = PyDict_New();
  if (type_cache == nullptr) return -1;
  return AddFunctions(module, "tvm._ffi._core", methods);
}

}  // namespace python
}  // namespace tvm
