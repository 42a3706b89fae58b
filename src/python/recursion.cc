// Recursion through the border.
#include <pthread.h>

#include <algorithm>
#include <cstdint>

#include "core.h"

namespace tvm {
namespace python {

namespace {

// What Python, NumPy and compiled code may need below the last call that is let through.
constexpr size_t kStackReserve = 256 << 10;
// Above this depth nobody asks where the stack ends.
constexpr int kShallow = 40;

__thread int depth = 0;
// The reserve of this thread's stack, once known. A stack of another maker (a coroutine's) lies
// elsewhere, so only addresses inside count.
__thread uintptr_t reserve_begin = 0;
__thread uintptr_t reserve_end = 0;

void FindReserve() {
  reserve_begin = reserve_end = 1;  // found: nothing
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    reserve_begin = reinterpret_cast<uintptr_t>(low);
    reserve_end = reserve_begin + std::min(kStackReserve, size / 4);
  }
  pthread_attr_destroy(&attributes);
}

bool InReserve() {
  if (reserve_begin == 0) FindReserve();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= reserve_begin && here < reserve_end;
}

}  // namespace

bool EnterRecursion(const char* where) {
  if (Py_EnterRecursiveCall(where) != 0) return false;
  if (++depth > kShallow && InReserve()) {
    LeaveRecursion();
    PyErr_Format(PyExc_RecursionError, "the stack of this thread is almost used up%s", where);
    return false;
  }
  return true;
}

void LeaveRecursion() {
  --depth;
  Py_LeaveRecursiveCall();
}

}  // namespace python
}  // namespace tvm
