// Arrays over tensors that a caller lends for the time of a call: the arguments of a callback. As
// long as only the array itself is used, it works on the caller's memory. A view or an export takes
// the address along to where it cannot be corrected when the call is over, so before one is made
// the array moves to memory of its own; what was written there goes back to the caller at the end.
#include <tvm/runtime/ndarray.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "error.h"
#include "fork.h"
#include "ndarray_internal.h"

namespace tvm {
namespace runtime {

namespace {

// Two threads may derive from the same array.
std::mutex* LoanMutex() {
  static std::mutex* mutex = [] {
    auto* m = new std::mutex();
    ProtectMutexInFork(m);
    return m;
  }();
  return mutex;
}

void DropCopy(void* copy) {
  if (copy != nullptr) TVMArrayFree(static_cast<TVMArrayHandle>(copy));
}

bool IsMoved(const NDArrayContainer* c) {
  return (__atomic_load_n(&c->flags, __ATOMIC_ACQUIRE) & kNDArrayOnLoan) == 0;
}

int Move(NDArrayContainer* c) {
  TVMArrayHandle copy = nullptr;
  const DLTensor& t = c->dl;
  if (TVMArrayEmpty(t.shape, t.ndim, t.dtype, t.device, nullptr, &copy) != 0) return -1;
  if (TVMArrayCopyFromTo(&c->dl, copy, nullptr) != 0) {
    TVMArrayFree(copy);
    return -1;
  }
  c->dl.data = copy->data;
  c->dl.byte_offset = copy->byte_offset;
  c->dl.strides = nullptr;
  c->owner = copy;
  __atomic_and_fetch(&c->flags, ~static_cast<uint32_t>(kNDArrayOnLoan), __ATOMIC_RELEASE);
  return 0;
}

// Whether the elements are other than those of the caller's tensor; device memory always may be.
int Differs(NDArrayContainer* c, DLTensor* tensor, bool* out) {
  *out = true;
  if (c->dl.device.device_type != kDLCPU || c->nbytes == 0) {
    *out = c->nbytes != 0;
    return 0;
  }
  const char* mine = static_cast<const char*>(c->dl.data) + c->dl.byte_offset;
  const char* other = static_cast<const char*>(tensor->data) + tensor->byte_offset;
  std::vector<char> compact;
  if (!IsCompact(*tensor)) {
    compact.resize(static_cast<size_t>(c->nbytes));
    DLTensor packed = *tensor;
    packed.data = compact.data();
    packed.byte_offset = 0;
    packed.strides = nullptr;
    if (TVMDeviceCopyDataFromTo(tensor, &packed, nullptr) != 0) return -1;
    other = compact.data();
  }
  *out = memcmp(mine, other, static_cast<size_t>(c->nbytes)) != 0;
  return 0;
}

}  // namespace

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMArrayOnLoan(const DLTensor* tensor, TVMArrayHandle* out) {
  if (tensor == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMArrayOnLoan: expected a tensor, but got NULL");
  }
  return MakeForeign(*tensor, kNDArrayOnLoan, nullptr, DropCopy, out);
}

int TVMArrayEndLoan(TVMArrayHandle array) {
  if (array == nullptr)
    return Fail("TypeError", "TVMArrayEndLoan: expected an array, but got NULL");
  NDArrayContainer* c = NDArrayContainer::FromHandle(array);
  if (__builtin_expect(IsMoved(c), 1)) return 0;
  return Guarded([&] {
    std::lock_guard<std::mutex> lock(*LoanMutex());
    return IsMoved(c) ? 0 : Move(c);
  });
}

int TVMArrayReturnLoans(TVMArrayHandle* arrays, DLTensor** tensors, int num) {
  if (num < 0 || (num > 0 && (arrays == nullptr || tensors == nullptr))) {
    return Fail("TypeError", "TVMArrayReturnLoans: expected arrays and tensors, but got NULL");
  }
  return Guarded([&] {
    // All are compared before the first is written: several tensors may be the same memory, and one
    // that only was read must not undo what was written through another.
    std::vector<char> changed(static_cast<size_t>(num));
    for (int i = 0; i < num; ++i) {
      bool differs = false;
      if (Differs(NDArrayContainer::FromHandle(arrays[i]), tensors[i], &differs) != 0) return -1;
      changed[static_cast<size_t>(i)] = differs;
    }
    for (int i = 0; i < num; ++i) {
      if (!changed[static_cast<size_t>(i)]) continue;
      if (TVMDeviceCopyDataFromTo(arrays[i], tensors[i], nullptr) != 0) return -1;
    }
    return 0;
  });
}
