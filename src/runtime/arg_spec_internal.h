// What the three parts of the argument check share: reading a table, checking a call, explaining.
#ifndef TVM_SRC_RUNTIME_ARG_SPEC_INTERNAL_H_
#define TVM_SRC_RUNTIME_ARG_SPEC_INTERNAL_H_

#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>

#include <cstddef>
#include <cstring>

#include "arg_spec.h"
#include "device_internal.h"

namespace tvm {
namespace runtime {

enum DimOpcode : uint8_t {
  kPushConst = 0,
  kPushSlot = 1,
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kFloorDiv = 5,
  kFloorMod = 6,
  kTruncDiv = 7,
  kTruncMod = 8,
  kMin = 9,
  kMax = 10,
  kNumOpcodes = 11
};
constexpr int kMaxDepth = 64;

inline bool IsTensorTag(int tag) { return tag == kTVMNDArrayHandle || tag == kTVMDLTensorHandle; }

inline const DLTensor* TensorOf(TVMValue v) { return static_cast<const DLTensor*>(v.v_handle); }

inline int64_t CompactStride(const DLTensor& t, int axis) {
  int64_t run = 1;
  for (int i = t.ndim - 1; i > axis; --i) run *= t.shape[i];
  return run;
}

inline bool HasAddresses(int device_type) {
  if (device_type == kDLCPU) return true;
  const TVMDeviceAPI* api = FindDevice(device_type);
  return api == nullptr || api->pointers_are_addresses;
}

inline bool NotEmpty(const DLTensor& t) {
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] == 0) return false;
  }
  return true;
}

// Rank and dtype stand side by side in a DLTensor, so that one comparison does for both.
static_assert(offsetof(DLTensor, dtype) == offsetof(DLTensor, ndim) + 4, "see RankAndType");
inline uint64_t RankAndType(const DLTensor& t) {
  uint64_t bits;
  memcpy(&bits, &t.ndim, sizeof(int32_t) + sizeof(DLDataType));
  return bits;
}

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_ARG_SPEC_INTERNAL_H_
