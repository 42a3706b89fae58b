#include <tvm/runtime/ndarray.h>

#include <cstdlib>

#include "device_internal.h"
#include "dlpack_convert.h"
#include "dtype.h"
#include "error.h"
#include "ndarray_internal.h"

namespace tvm {
namespace runtime {

namespace {

template <typename Managed>
void CallDeleter(void* tensor) {
  auto* t = static_cast<Managed*>(tensor);
  if (t->deleter != nullptr) t->deleter(t);
}

template <typename Managed>
int Import(Managed* from, uint32_t flags, TVMArrayHandle* out) {
  DLTensor tensor = from->dl_tensor;
  if (const char* name = DTypeFromDLPack(&tensor.dtype)) {
    int rc = Fail("TypeError",
                  "from_dlpack: the runtime has no dtype for %s (DLPack code %d, bits %d, lanes "
                  "%d); convert the tensor first",
                  name, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
    CallDeleter<Managed>(from);
    return rc;
  }
  return MakeForeign(tensor, flags, from, CallDeleter<Managed>, out);
}

template <typename Managed>
int Export(NDArrayContainer* array, Managed** out) {
  if (TVMArrayEndLoan(&array->dl) != 0) return -1;
  const DLTensor& t = array->dl;
  DLDataType dtype = t.dtype;
  if (!DTypeToDLPack(&dtype)) {
    return Fail("BufferError", "DLPack has no code for dtype %s", DTypeText(t.dtype).c_str());
  }
  // Strides are spelled out: DLPack asks for them since 1.2, and older consumers do not mind.
  size_t num_strides = static_cast<size_t>(t.ndim);
  auto* m = static_cast<Managed*>(malloc(sizeof(Managed) + sizeof(int64_t) * num_strides));
  if (m == nullptr) return Fail("MemoryError", "out of memory");
  auto* strides = reinterpret_cast<int64_t*>(m + 1);
  int64_t run = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    strides[i] = t.strides != nullptr ? t.strides[i] : run;
    run *= t.shape[i];
  }
  m->dl_tensor = t;
  m->dl_tensor.dtype = dtype;
  m->dl_tensor.strides = strides;
  // Some consumers ignore byte_offset, so it is folded in where data is an address.
  bool address = t.device.device_type == kDLCPU;
  if (!address) {
    const TVMDeviceAPI* api = FindDevice(t.device.device_type);
    address = api == nullptr || api->pointers_are_addresses;
  }
  if (address) {
    m->dl_tensor.data = static_cast<char*>(t.data) + t.byte_offset;
    m->dl_tensor.byte_offset = 0;
  }
  m->manager_ctx = array;
  m->deleter = [](Managed* self) {
    static_cast<NDArrayContainer*>(self->manager_ctx)->DecRef();
    free(self);
  };
  array->IncRef();
  *out = m;
  return 0;
}

}  // namespace

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMArrayFromDLPack(DLManagedTensor* from, TVMArrayHandle* out) {
  if (from == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMArrayFromDLPack: expected a managed tensor, but got NULL");
  }
  return Guarded([&] { return Import(from, 0, out); });
}

int TVMArrayFromDLPackVersioned(DLManagedTensorVersioned* from, TVMArrayHandle* out) {
  if (from == nullptr || out == nullptr) {
    return Fail("TypeError",
                "TVMArrayFromDLPackVersioned: expected a managed tensor, but got NULL");
  }
  return Guarded([&] {
    if (from->version.major != DLPACK_MAJOR_VERSION) {
      // Only the head of the struct is known to be the same.
      unsigned major = from->version.major, minor = from->version.minor;
      CallDeleter<DLManagedTensorVersioned>(from);
      return Fail("BufferError",
                  "from_dlpack: this runtime reads DLPack %d.x, but the tensor is of version %u.%u",
                  DLPACK_MAJOR_VERSION, major, minor);
    }
    DLDataType dtype = from->dl_tensor.dtype;
    if ((from->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) && dtype.bits < 8 &&
        dtype.code <= kDLUInt) {
      int bits = dtype.bits;
      CallDeleter<DLManagedTensorVersioned>(from);
      return Fail("BufferError",
                  "from_dlpack: %d-bit elements that are padded to whole bytes are not supported; "
                  "convert the tensor to int8 or uint8 first",
                  bits);
    }
    bool read_only = (from->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    return Import(from, read_only ? uint32_t{kNDArrayReadOnly} : 0, out);
  });
}

int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor** out) {
  if (from == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMArrayToDLPack: expected an array, but got NULL");
  }
  return Guarded([&] {
    NDArrayContainer* array = NDArrayContainer::FromHandle(from);
    if (array->flags & kNDArrayReadOnly) {
      return Fail("BufferError",
                  "a read-only array cannot be exported as a legacy DLPack tensor, which has no "
                  "read-only flag; ask for the versioned form (max_version=(1, 0)) or copy it");
    }
    return Export(array, out);
  });
}

int TVMArrayToDLPackVersioned(TVMArrayHandle from, DLManagedTensorVersioned** out) {
  if (from == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMArrayToDLPackVersioned: expected an array, but got NULL");
  }
  return Guarded([&] {
    NDArrayContainer* array = NDArrayContainer::FromHandle(from);
    if (Export(array, out) != 0) return -1;
    (*out)->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    (*out)->flags = array->flags & kNDArrayReadOnly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    return 0;
  });
}

void TVMDLManagedTensorCallDeleter(DLManagedTensor* dltensor) {
  if (dltensor != nullptr && dltensor->deleter != nullptr) dltensor->deleter(dltensor);
}
