/*
 * Reference-counted objects (C++17, header only over the C API).
 * Every object begins with the 16-byte TVMObjectHeader of c_runtime_api.h.
 */
#ifndef TVM_RUNTIME_OBJECT_H_
#define TVM_RUNTIME_OBJECT_H_

#include <cstdint>
#include <utility>

#include "c_runtime_api.h"

namespace tvm {
namespace runtime {

/*! \brief The common beginning of all objects; derive with this as the first (and only) base. */
struct Object : TVMObjectHeader {
  void IncRef() { __atomic_fetch_add(&ref_counter, 1, __ATOMIC_RELAXED); }
  void DecRef() {
    // The only reference is ours, so nobody can be adding one: saves the locked instruction.
    if (__atomic_load_n(&ref_counter, __ATOMIC_ACQUIRE) == 1) {
      ref_counter = 0;
      deleter(this);
      return;
    }
    if (__atomic_fetch_sub(&ref_counter, 1, __ATOMIC_ACQ_REL) == 1) deleter(this);
  }
  int32_t use_count() const { return __atomic_load_n(&ref_counter, __ATOMIC_RELAXED); }
};
static_assert(sizeof(Object) == 16, "the header is part of the ABI");

/*! \brief Owning pointer to an object. */
template <typename T>
class ObjectPtr {
 public:
  ObjectPtr() = default;
  ObjectPtr(std::nullptr_t) {}  // NOLINT(runtime/explicit)
  /*! \brief Takes over one reference. */
  static ObjectPtr Steal(T* p) {
    ObjectPtr r;
    r.p_ = p;
    return r;
  }
  /*! \brief Adds a reference of its own. */
  static ObjectPtr Share(T* p) {
    if (p != nullptr) p->IncRef();
    return Steal(p);
  }
  ObjectPtr(const ObjectPtr& o) : p_(o.p_) {
    if (p_ != nullptr) p_->IncRef();
  }
  ObjectPtr(ObjectPtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ObjectPtr& operator=(ObjectPtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~ObjectPtr() {
    if (p_ != nullptr) p_->DecRef();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  /*! \brief Gives the reference away. */
  T* release() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_RUNTIME_OBJECT_H_
