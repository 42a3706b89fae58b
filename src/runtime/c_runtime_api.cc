// Shims of the C API that belong to no other file.
#include <tvm/runtime/c_runtime_api.h>

#include <stdexcept>

void TVMThrowLastError(void) {
  // Kept for old C++ callers, who ask for exactly this; C programs never call it.
  if (TVMErrorGet(nullptr, nullptr, nullptr) == 0) throw std::runtime_error(TVMGetLastError());
}
