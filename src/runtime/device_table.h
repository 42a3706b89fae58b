// The one table of device kinds: numbers, names, and what each needs to be there.
#ifndef TVM_SRC_RUNTIME_DEVICE_TABLE_H_
#define TVM_SRC_RUNTIME_DEVICE_TABLE_H_

#include <tvm/runtime/c_runtime_api.h>

#include <string>

namespace tvm {
namespace runtime {

struct DeviceKind {
  int device_type;
  const char* name;     // canonical, as printed
  const char* aliases;  // further names, separated by commas
  const char* library;  // what the runtime opens, or NULL
  const char* install;  // how to get it
};

// NULL past the end.
const DeviceKind* DeviceKindAt(int index);
// NULL for an unknown number.
const DeviceKind* FindDeviceKind(int device_type);
// "cuda(0)"; remote devices as "remote[1]:cuda(0)".
std::string DeviceText(DLDevice device);
// Text of the RuntimeError for a kind of device that is not there.
std::string DeviceMissingText(int device_type);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_DEVICE_TABLE_H_
