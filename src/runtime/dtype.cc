#include "dtype.h"

#include <cstdlib>

#include "error.h"

namespace tvm {
namespace runtime {

namespace {

struct NamedDType {
  const char* name;
  DLDataType dtype;
  bool exact;  // the name is complete; otherwise digits for the bits follow
};

// The first row of a type is its canonical name.
const NamedDType kNames[] = {
    {"int", {kDLInt, 32, 1}, false},
    {"uint", {kDLUInt, 32, 1}, false},
    {"float", {kDLFloat, 32, 1}, false},
    {"handle", {kDLOpaqueHandle, 64, 1}, true},
    {"void", {kDLOpaqueHandle, 0, 0}, true},
    {"bool", {kDLUInt, 1, 1}, true},
    {"bfloat16", {kTVMBFloat, 16, 1}, true},
    {"bfloat", {kTVMBFloat, 16, 1}, false},
    {"e4m3_float8", {kTVME4M3Float8, 8, 1}, true},
    {"e5m2_float8", {kTVME5M2Float8, 8, 1}, true},
    {"float8_e4m3fn", {kTVME4M3Float8, 8, 1}, true},
    {"float8_e5m2", {kTVME5M2Float8, 8, 1}, true},
};

}  // namespace

std::string DTypeText(DLDataType t) {
  if (t.code == kDLOpaqueHandle) {
    if (t.bits == 0 && t.lanes == 0) return "void";
    if (t.bits == 64 && t.lanes == 1) return "handle";
  }
  if (t.code == kDLUInt && t.bits == 1 && t.lanes == 1) return "bool";
  std::string text;
  for (const NamedDType& n : kNames) {
    if (n.dtype.code != t.code) continue;
    if (n.exact && (n.dtype.bits != t.bits || t.code == kDLUInt || t.bits == 0)) continue;
    text = n.name;
    if (!n.exact) text += std::to_string(t.bits);
    break;
  }
  if (text.empty() && t.code == kDLOpaqueHandle) text = "handle" + std::to_string(t.bits);
  if (text.empty()) {
    text = "custom[" + std::to_string(t.code) + "]" + std::to_string(t.bits);
  }
  if (t.lanes != 1) text += "x" + std::to_string(t.lanes);
  return text;
}

int ParseDType(const char* text, DLDataType* out) {
  if (text == nullptr) return Fail("TypeError", "expected the text of a dtype, but got NULL");
  const char* rest = nullptr;
  DLDataType t{};
  bool exact = false;
  size_t best = 0;
  for (const NamedDType& n : kNames) {  // the longest name that fits
    size_t len = strlen(n.name);
    if (len > best && strncmp(text, n.name, len) == 0) {
      best = len;
      t = n.dtype;
      exact = n.exact;
      rest = text + len;
    }
  }
  bool ok = rest != nullptr;
  char* end = const_cast<char*>(rest);
  if (ok && !exact && *rest >= '1' && *rest <= '9') {
    long bits = strtol(rest, &end, 10);
    ok = bits <= 255;
    t.bits = static_cast<uint8_t>(bits);
  }
  if (ok && *end == 'x' && end[1] >= '1' && end[1] <= '9') {
    long lanes = strtol(end + 1, &end, 10);
    ok = lanes <= 65535;
    t.lanes = static_cast<uint16_t>(lanes);
  }
  if (!ok || *end != 0) {
    return Fail("ValueError",
                "unknown dtype \"%s\"; expected for instance \"float32\", \"int8\", \"bool\", "
                "\"bfloat16\", \"e4m3_float8\", \"float32x4\"",
                text);
  }
  *out = t;
  return 0;
}

std::string ShapeText(const int64_t* shape, int ndim) {
  std::string text = "(";
  for (int i = 0; i < ndim; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (ndim == 1) text += ",";
  return text + ")";
}

}  // namespace runtime
}  // namespace tvm
