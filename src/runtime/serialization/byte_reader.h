// Reading of binary streams from anywhere: every size is compared with what is there before it is
// used. All integers are little-endian.
#ifndef TVM_SRC_RUNTIME_SERIALIZATION_BYTE_READER_H_
#define TVM_SRC_RUNTIME_SERIALIZATION_BYTE_READER_H_

#include <cstdint>
#include <cstring>
#include <string>

namespace tvm {
namespace runtime {

// What a loader of modules, runtime.module.loadbinary_KEY, gets as an opaque handle: it moves `at`
// behind what it has read.
struct ByteReader {
  const char* data;
  size_t size;
  size_t at;

  size_t left() const { return size - at; }
  // The next n bytes, or NULL when there are not so many.
  const char* Take(uint64_t n) {
    if (n > left()) return nullptr;
    const char* p = data + at;
    at += static_cast<size_t>(n);
    return p;
  }
  template <typename T>
  bool Get(T* out) {
    const char* p = Take(sizeof(T));
    if (p == nullptr) return false;
    memcpy(out, p, sizeof(T));
    return true;
  }
  bool Text(std::string* out) {
    uint64_t n = 0;
    if (!Get(&n)) return false;
    const char* p = Take(n);
    if (p == nullptr) return false;
    out->assign(p, static_cast<size_t>(n));
    return true;
  }
};

// The other direction.
struct ByteWriter {
  std::string bytes;
  template <typename T>
  void Put(T v) {
    bytes.append(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  void Text(const std::string& text) {
    Put<uint64_t>(text.size());
    bytes += text;
  }
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_SERIALIZATION_BYTE_READER_H_
