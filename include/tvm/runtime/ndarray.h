/*
 * The array container and its C++ face (header only over the C API).
 */
#ifndef TVM_RUNTIME_NDARRAY_H_
#define TVM_RUNTIME_NDARRAY_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "object.h"

namespace tvm {
namespace runtime {

/*! \brief Alignment in bytes of the memory that the runtime allocates on the CPU. */
constexpr size_t kAllocAlignment = 64;

/*! \brief Container flags. */
enum NDArrayFlags : uint32_t {
  kNDArrayReadOnly = 1,  //!< writes through this array are refused
  kNDArrayIsView = 2,    //!< shares another array's memory (base is set)
  kNDArrayForeign = 4,   //!< the memory belongs to another library
  kNDArrayOnLoan = 8,    //!< the memory is a caller's, who may reuse it after the call
};

/*!
 * \brief What an array handle points into: handle == &container->dl.
 * Shape, and strides when there are any, are stored behind the struct in the same allocation;
 * so is the data of small CPU arrays. dl.strides is NULL exactly when the array is compact.
 */
struct NDArrayContainer : Object {
  DLTensor dl;
  uint32_t flags;
  uint32_t reserved;
  int64_t nbytes;          //!< bytes that the elements cover (compact size)
  void* owner;             //!< foreign owner or device allocation, by deleter
  void (*drop)(void*);     //!< for foreign memory
  NDArrayContainer* base;  //!< strong reference for views, else NULL

  static NDArrayContainer* FromHandle(const DLTensor* handle) {
    return reinterpret_cast<NDArrayContainer*>(
        reinterpret_cast<char*>(const_cast<DLTensor*>(handle)) - sizeof(Object));
  }
};
static_assert(sizeof(Object) == 16, "array handle == object handle + 16");

/*!
 * \brief An error of the C API as a C++ exception. It carries the whole error, so that a foreign
 * exception that passes through C++ code arrives as itself.
 */
class CallError : public std::runtime_error {
 public:
  explicit CallError(const char* text)
      : std::runtime_error(text), state_(std::make_shared<State>(TVMErrorTake())) {}
  /*! \brief Makes it the thread's error again (once; then only the text is left). */
  void Restore() const {
    if (void* state = std::exchange(state_->error, nullptr)) {
      TVMErrorRestore(state);
    } else {
      TVMAPISetLastError(what());
    }
  }

 private:
  struct State {
    explicit State(void* e) : error(e) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
      if (error != nullptr) {  // never restored: drop it, keeping what the thread has by now
        void* current = TVMErrorTake();
        TVMErrorRestore(error);
        TVMErrorClear();
        TVMErrorRestore(current);
      }
    }
    void* error;
  };
  std::shared_ptr<State> state_;
};

/*! \brief Throws what the last failed C call left behind. */
[[noreturn]] inline void ThrowLastError() { throw CallError(TVMGetLastError()); }
inline void CheckCall(int rc) {
  if (rc != 0) ThrowLastError();
}

/*! \brief A reference to an array; copying it shares the array. */
class NDArray {
 public:
  using Container = NDArrayContainer;

  NDArray() = default;
  /*! \brief Takes over one reference of the handle. */
  static NDArray Steal(TVMArrayHandle handle) {
    NDArray r;
    r.data_ = ObjectPtr<Container>::Steal(Container::FromHandle(handle));
    return r;
  }
  static NDArray Empty(const std::vector<int64_t>& shape, DLDataType dtype, DLDevice dev,
                       const char* mem_scope = nullptr) {
    TVMArrayHandle out = nullptr;
    CheckCall(
        TVMArrayEmpty(shape.data(), static_cast<int>(shape.size()), dtype, dev, mem_scope, &out));
    return Steal(out);
  }
  NDArray CreateView(const std::vector<int64_t>& shape, DLDataType dtype,
                     uint64_t relative_byte_offset = 0) const {
    TVMArrayHandle out = nullptr;
    CheckCall(TVMArrayView(handle(), shape.data(), static_cast<int>(shape.size()), dtype,
                           relative_byte_offset, &out));
    return Steal(out);
  }
  /*! \brief A new managed tensor that shares this array; the caller runs its deleter. */
  DLManagedTensor* ToDLPack() const {
    DLManagedTensor* out = nullptr;
    CheckCall(TVMArrayToDLPack(handle(), &out));
    return out;
  }
  /*! \brief Takes over the managed tensor. */
  static NDArray FromDLPack(DLManagedTensor* tensor) {
    TVMArrayHandle out = nullptr;
    CheckCall(TVMArrayFromDLPack(tensor, &out));
    return Steal(out);
  }
  static void CopyFromTo(const DLTensor* from, DLTensor* to, TVMStreamHandle stream = nullptr) {
    CheckCall(TVMArrayCopyFromTo(const_cast<DLTensor*>(from), to, stream));
  }
  void CopyFromBytes(const void* data, size_t nbytes) {
    CheckCall(TVMArrayCopyFromBytes(handle(), const_cast<void*>(data), nbytes));
  }
  void CopyToBytes(void* data, size_t nbytes) const {
    CheckCall(TVMArrayCopyToBytes(handle(), data, nbytes));
  }
  NDArray CopyTo(DLDevice dev) const {
    NDArray r = Empty(Shape(), data_->dl.dtype, dev);
    CopyFromTo(handle(), r.handle());
    return r;
  }
  /*! \brief Whether data + byte_offset is a multiple of kAllocAlignment. */
  static bool IsAligned(const DLTensor& t) {
    return (reinterpret_cast<uintptr_t>(t.data) + t.byte_offset) % kAllocAlignment == 0;
  }
  std::vector<int64_t> Shape() const { return {data_->dl.shape, data_->dl.shape + data_->dl.ndim}; }
  DLDataType DataType() const { return data_->dl.dtype; }
  bool defined() const { return static_cast<bool>(data_); }
  int use_count() const { return data_ ? data_->use_count() : 0; }
  DLTensor* handle() const { return data_ ? &data_->dl : nullptr; }
  const DLTensor* operator->() const { return handle(); }
  /*! \brief Gives the reference away, for C callers. */
  TVMArrayHandle release() {
    Container* c = data_.release();
    return c == nullptr ? nullptr : &c->dl;
  }

 private:
  ObjectPtr<Container> data_;
};

/*! \brief Number of elements; the runtime has checked that it does not overflow. */
inline int64_t NumElements(const DLTensor& t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; ++i) n *= t.shape[i];
  return n;
}

/*! \brief Bytes that n elements of a type need; sub-byte types are packed, bool takes a byte. */
inline int64_t NumBytes(int64_t n, DLDataType t) {
  int64_t bits = static_cast<int64_t>(t.bits == 1 ? 8 : t.bits) * t.lanes;
  return bits % 8 == 0 ? n * (bits / 8) : (n * bits + 7) / 8;
}

inline bool IsCompact(const DLTensor& t) {
  if (t.strides == nullptr) return true;
  int64_t expected = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] == 0) return true;
  }
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_RUNTIME_NDARRAY_H_
