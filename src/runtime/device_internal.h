// The registry of device APIs, and the CPU's memory.
#ifndef TVM_SRC_RUNTIME_DEVICE_INTERNAL_H_
#define TVM_SRC_RUNTIME_DEVICE_INTERNAL_H_

#include <tvm/runtime/device_api.h>

#include <cstddef>

namespace tvm {
namespace runtime {

// The API of a device that is to be used. NULL with a RuntimeError that says what is missing.
const TVMDeviceAPI* UsableDevice(DLDevice device);
// The API, or NULL; sets no error.
const TVMDeviceAPI* FindDevice(int device_type);

// CPU memory of at least nbytes, aligned to a power of two; NULL when there is none. Counted as
// held until it is freed.
void* CPUAlloc(size_t nbytes, size_t alignment);
void CPUFree(void* data);
// The CPU's TVMDeviceAPI.
const TVMDeviceAPI* CPUDeviceAPI();
// 0 when the CPU knows the scope, else -1 with a ValueError.
int CheckCPUScope(const char* mem_scope);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_DEVICE_INTERNAL_H_
