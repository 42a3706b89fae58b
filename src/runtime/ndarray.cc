#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "device_internal.h"
#include "dtype.h"
#include "error.h"
#include "fork.h"
#include "ndarray_internal.h"
#include "stats.h"

namespace tvm {
namespace runtime {

namespace {

struct ReadOnlyTable {
  std::mutex mutex;
  std::unordered_set<const DLTensor*> handles;
};
std::atomic<int64_t> num_read_only{0};

ReadOnlyTable* ReadOnly() {
  static ReadOnlyTable* table = [] {
    auto* t = new ReadOnlyTable();  // never freed: arrays may go while the process exits
    ProtectMutexInFork(&t->mutex);
    return t;
  }();
  return table;
}

void AddReadOnly(const DLTensor* handle) {
  ReadOnlyTable* table = ReadOnly();
  std::lock_guard<std::mutex> lock(table->mutex);
  table->handles.insert(handle);
  num_read_only.store(static_cast<int64_t>(table->handles.size()), std::memory_order_release);
}

void RemoveReadOnly(const DLTensor* handle) {
  ReadOnlyTable* table = ReadOnly();
  std::lock_guard<std::mutex> lock(table->mutex);
  table->handles.erase(handle);
  num_read_only.store(static_cast<int64_t>(table->handles.size()), std::memory_order_release);
}

NDArrayContainer* Self(TVMObjectHeader* self) {
  return static_cast<NDArrayContainer*>(static_cast<Object*>(self));
}

// ---- deleters, one for each way in which an array holds its memory ------------------------------
void DeleteInline(TVMObjectHeader* header) {
  NDArrayContainer* self = Self(header);
  StatShard* shard = Shard();
  Count(shard, kCountArrays, -1);
  Count(shard, kCountCPUBytes, -self->nbytes);
  free(self);
}

void DeleteCPU(TVMObjectHeader* header) {
  NDArrayContainer* self = Self(header);
  CPUFree(self->owner);
  Count(Shard(), kCountArrays, -1);
  free(self);
}

void DeleteDevice(TVMObjectHeader* header) {
  NDArrayContainer* self = Self(header);
  const TVMDeviceAPI* api = FindDevice(self->dl.device.device_type);
  // A failure here has nobody to go to; the thread's error must not change behind its back either.
  void* pending = TVMErrorTake();
  if (api != nullptr && api->free(api->self, self->dl.device.device_id, self->owner) != 0) {
    TVMErrorClear();
  }
  TVMErrorRestore(pending);
  Count(Shard(), kCountArrays, -1);
  free(self);
}

void DeleteView(TVMObjectHeader* header) {
  NDArrayContainer* self = Self(header);
  if (self->flags & kNDArrayReadOnly) RemoveReadOnly(&self->dl);
  NDArrayContainer* base = self->base;
  Count(Shard(), kCountArrays, -1);
  free(self);
  base->DecRef();
}

void DeleteForeign(TVMObjectHeader* header) {
  NDArrayContainer* self = Self(header);
  if (self->flags & kNDArrayReadOnly) RemoveReadOnly(&self->dl);
  void* owner = self->owner;
  void (*drop)(void*) = self->drop;
  Count(Shard(), kCountArrays, -1);
  free(self);
  if (drop != nullptr) drop(owner);
}

// The fields that all kinds have in common; num_strides is 0 or ndim.
void Fill(NDArrayContainer* c, const int64_t* shape, int ndim, DLDataType dtype, DLDevice device,
          int64_t nbytes, void (*deleter)(TVMObjectHeader*)) {
  c->type_index = kTVMTypeNDArray;
  c->ref_counter = 1;
  c->deleter = deleter;
  auto* behind = reinterpret_cast<int64_t*>(c + 1);
  for (int i = 0; i < ndim; ++i) behind[i] = shape[i];
  c->dl.device = device;
  c->dl.ndim = ndim;
  c->dl.dtype = dtype;
  c->dl.shape = behind;
  c->dl.strides = nullptr;
  c->dl.byte_offset = 0;
  c->flags = 0;
  c->reserved = 0;
  c->nbytes = nbytes;
  c->owner = nullptr;
  c->drop = nullptr;
  c->base = nullptr;
}

NDArrayContainer* AllocHeader(int ndim, int num_strides) {
  return static_cast<NDArrayContainer*>(
      malloc(sizeof(NDArrayContainer) + sizeof(int64_t) * static_cast<size_t>(ndim + num_strides)));
}

// The slow half of CheckedBytes: says what is wrong.
int ExplainBytes(const int64_t* shape, int ndim, DLDataType dtype, const char* where) {
  if (ndim < 0 || (ndim > 0 && shape == nullptr)) {
    return Fail("ValueError", "%s: expected a shape, but got rank %d%s", where, ndim,
                ndim > 0 ? " and no extents" : "");
  }
  return Guarded([&] {
    std::string text = ShapeText(shape, ndim);
    for (int i = 0; i < ndim; ++i) {
      if (shape[i] < 0) {
        return Fail("ValueError", "%s: shape %s has a negative extent: shape[%d] is %lld", where,
                    text.c_str(), i, static_cast<long long>(shape[i]));
      }
    }
    std::string type = DTypeText(dtype);
    if (dtype.bits == 0 || dtype.lanes == 0) {
      return Fail("ValueError", "%s: dtype \"%s\" (code %d, bits %d, lanes %d) has no elements",
                  where, type.c_str(), dtype.code, dtype.bits, dtype.lanes);
    }
    return Fail("ValueError", "%s: shape %s of dtype %s needs more memory than can be addressed",
                where, text.c_str(), type.c_str());
  });
}

// Whether the distances of all elements from the first can be computed.
bool StridesAreSane(const DLTensor& t) {
  constexpr int64_t kMost = INT64_MAX / 4096;  // in elements, which are smaller than that
  int64_t reach = 0;
  for (int i = 0; i < t.ndim; ++i) {
    int64_t step;
    if (__builtin_mul_overflow(t.shape[i] - 1, t.strides[i], &step)) return false;
    if (__builtin_add_overflow(reach, step < 0 ? -(step + 1) : step, &reach)) return false;
    if (reach > kMost) return false;
  }
  return true;
}

int AllocOnDevice(const int64_t* shape, int ndim, DLDataType dtype, DLDevice device,
                  const char* mem_scope, int64_t nbytes, TVMArrayHandle* out) {
  const TVMDeviceAPI* api = UsableDevice(device);
  if (api == nullptr) return -1;
  if (mem_scope != nullptr && strcmp(mem_scope, "global") == 0) mem_scope = nullptr;
  NDArrayContainer* c = AllocHeader(ndim, 0);
  if (c == nullptr) return Fail("MemoryError", "out of memory");
  Fill(c, shape, ndim, dtype, device, nbytes, DeleteDevice);
  if (api->alloc(api->self, device.device_id, static_cast<size_t>(nbytes), kAllocAlignment, dtype,
                 mem_scope, &c->owner) != 0) {
    free(c);
    return -1;
  }
  c->dl.data = c->owner;
  Count(Shard(), kCountArrays, 1);
  *out = &c->dl;
  return 0;
}

}  // namespace

bool IsReadOnly(const DLTensor* handle) {
  if (num_read_only.load(std::memory_order_acquire) == 0) return false;
  ReadOnlyTable* table = ReadOnly();
  std::lock_guard<std::mutex> lock(table->mutex);
  return table->handles.count(handle) != 0;
}

int CheckedBytes(const int64_t* shape, int ndim, DLDataType dtype, const char* where,
                 int64_t* nbytes) {
  // 4096 bytes of room for headers and alignment.
  constexpr uint64_t kMost = INT64_MAX - 4096;
  uint64_t bits = uint64_t{dtype.bits == 1 ? 8u : dtype.bits} * dtype.lanes;
  bool bad = (bits == 0) | (ndim < 0) | (ndim > 0 && shape == nullptr);
  bool empty = false;
  uint64_t covered = 1;  // extents of 0 left out: strides must not overflow either
  for (int i = 0; !bad && i < ndim; ++i) {
    uint64_t extent = static_cast<uint64_t>(shape[i]);  // a negative one becomes too large
    if (extent == 0) {
      empty = true;
      continue;
    }
    bad = __builtin_mul_overflow(covered, extent, &covered) | (extent > kMost);
  }
  uint64_t most = 0;
  bad |= __builtin_mul_overflow(covered, (bits + 7) / 8, &most);
  bad |= most > kMost;
  // The size of packed elements is computed in bits.
  if (bits % 8 != 0) bad |= __builtin_mul_overflow(covered, bits, &most) || most > kMost;
  if (__builtin_expect(bad, 0)) return ExplainBytes(shape, ndim, dtype, where);
  *nbytes = empty ? 0 : NumBytes(static_cast<int64_t>(covered), dtype);
  return 0;
}

std::string TensorText(const DLTensor& t) {
  return "an array of shape " + ShapeText(t.shape, t.ndim) + " and dtype " + DTypeText(t.dtype);
}

int MakeForeign(const DLTensor& t, uint32_t flags, void* owner, void (*drop)(void*),
                TVMArrayHandle* out) {
  int rc = Guarded([&] {
    int64_t nbytes = 0;
    if (CheckedBytes(t.shape, t.ndim, t.dtype, "foreign array", &nbytes) != 0) return -1;
    if (t.data == nullptr && nbytes != 0) {
      return Fail("ValueError", "%s has no data (its pointer is NULL)", TensorText(t).c_str());
    }
    if (t.device.device_type <= 0 || t.device.device_id < 0) {
      return Fail("ValueError", "%s is on a device that cannot be: type %d, number %d",
                  TensorText(t).c_str(), static_cast<int>(t.device.device_type),
                  t.device.device_id);
    }
    bool strided = !IsCompact(t);
    if (strided && !StridesAreSane(t)) {
      return Fail("ValueError", "%s has strides %s, which reach outside of any memory",
                  TensorText(t).c_str(), ShapeText(t.strides, t.ndim).c_str());
    }
    if (strided && t.dtype.bits % 8 != 0 && t.dtype.bits != 1) {
      return Fail("ValueError", "%s packs its elements, so it must be compact",
                  TensorText(t).c_str());
    }
    NDArrayContainer* c = AllocHeader(t.ndim, strided ? t.ndim : 0);
    if (c == nullptr) return Fail("MemoryError", "out of memory");
    Fill(c, t.shape, t.ndim, t.dtype, t.device, nbytes, DeleteForeign);
    c->dl.data = t.data;
    c->dl.byte_offset = t.byte_offset;
    if (strided) {
      c->dl.strides = c->dl.shape + t.ndim;
      for (int i = 0; i < t.ndim; ++i) c->dl.strides[i] = t.strides[i];
    }
    c->flags = (flags & (kNDArrayReadOnly | kNDArrayOnLoan)) | kNDArrayForeign;
    c->owner = owner;
    c->drop = drop;
    if (flags & kNDArrayReadOnly) {
      try {
        AddReadOnly(&c->dl);
      } catch (...) {
        free(c);
        throw;
      }
    }
    Count(Shard(), kCountArrays, 1);
    *out = &c->dl;
    return 0;
  });
  if (rc != 0 && drop != nullptr) drop(owner);
  return rc;
}

void ElementSpan(const DLTensor& t, int64_t* low, int64_t* high) {
  *low = 0;
  *high = 0;
  int64_t n = NumElements(t);
  if (n == 0) return;
  if (t.strides == nullptr) {
    *high = n;
    return;
  }
  int64_t last = 0;
  for (int i = 0; i < t.ndim; ++i) {
    int64_t reach = (t.shape[i] - 1) * t.strides[i];
    if (reach < 0) {
      *low += reach;
    } else {
      last += reach;
    }
  }
  *high = last + 1;
}

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMArrayEmpty(const int64_t* shape, int ndim, DLDataType dtype, DLDevice device,
                  const char* mem_scope, TVMArrayHandle* out) {
  int64_t nbytes;
  if (__builtin_expect(out == nullptr, 0)) return Fail("TypeError", "TVMArrayEmpty: out is NULL");
  if (CheckedBytes(shape, ndim, dtype, "empty", &nbytes) != 0) return -1;
  if (device.device_type != kDLCPU) {
    return Guarded(
        [&] { return AllocOnDevice(shape, ndim, dtype, device, mem_scope, nbytes, out); });
  }
  if (device.device_id < 0) return UsableDevice(device) == nullptr ? -1 : 0;
  if (mem_scope != nullptr && CheckCPUScope(mem_scope) != 0) return -1;
  NDArrayContainer* c;
  StatShard* shard = Shard();
  if (nbytes <= kInlineDataLimit) {
    size_t header = sizeof(NDArrayContainer) + sizeof(int64_t) * static_cast<size_t>(ndim);
    c = static_cast<NDArrayContainer*>(
        malloc(header + kAllocAlignment - 1 + static_cast<size_t>(nbytes)));
    if (c == nullptr) return Fail("MemoryError", "out of memory");
    Fill(c, shape, ndim, dtype, device, nbytes, DeleteInline);
    uintptr_t data = reinterpret_cast<uintptr_t>(c) + header + kAllocAlignment - 1;
    c->dl.data = reinterpret_cast<void*>(data & ~static_cast<uintptr_t>(kAllocAlignment - 1));
    Count(shard, kCountCPUBytes, nbytes);
  } else {
    c = AllocHeader(ndim, 0);
    if (c == nullptr) return Fail("MemoryError", "out of memory");
    Fill(c, shape, ndim, dtype, device, nbytes, DeleteCPU);
    c->owner = CPUAlloc(static_cast<size_t>(nbytes), kAllocAlignment);
    if (c->owner == nullptr) {
      free(c);
      return Guarded([&] {
        return Fail("MemoryError", "empty: cannot allocate %lld bytes for shape %s of dtype %s",
                    static_cast<long long>(nbytes), ShapeText(shape, ndim).c_str(),
                    DTypeText(dtype).c_str());
      });
    }
    c->dl.data = c->owner;
  }
  Count(shard, kCountArrays, 1);
  *out = &c->dl;
  return 0;
}

int TVMArrayAlloc(const int64_t* shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes,
                  int device_type, int device_id, TVMArrayHandle* out) {
  if (dtype_code < 0 || dtype_code > 255 || dtype_bits < 0 || dtype_bits > 255 || dtype_lanes < 0 ||
      dtype_lanes > 65535) {
    return Fail("ValueError", "TVMArrayAlloc: code %d, bits %d, lanes %d is not a dtype",
                dtype_code, dtype_bits, dtype_lanes);
  }
  DLDataType dtype = {static_cast<uint8_t>(dtype_code), static_cast<uint8_t>(dtype_bits),
                      static_cast<uint16_t>(dtype_lanes)};
  DLDevice device = {static_cast<DLDeviceType>(device_type), device_id};
  return TVMArrayEmpty(shape, ndim, dtype, device, nullptr, out);
}

int TVMArrayFree(TVMArrayHandle handle) {
  if (handle != nullptr) NDArrayContainer::FromHandle(handle)->DecRef();
  return 0;
}

int TVMArrayGetTypeIndex(TVMArrayHandle handle, unsigned* out_index) {
  if (handle == nullptr || out_index == nullptr) {
    return Fail("TypeError", "TVMArrayGetTypeIndex: expected an array, but got NULL");
  }
  *out_index = NDArrayContainer::FromHandle(handle)->type_index;
  return 0;
}

int TVMArrayView(TVMArrayHandle base_handle, const int64_t* shape, int ndim, DLDataType dtype,
                 uint64_t relative_byte_offset, TVMArrayHandle* out) {
  if (base_handle == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMArrayView: expected an array, but got NULL");
  }
  return Guarded([&] {
    NDArrayContainer* base = NDArrayContainer::FromHandle(base_handle);
    int64_t nbytes = 0;
    if (CheckedBytes(shape, ndim, dtype, "view", &nbytes) != 0) return -1;
    if (base->dl.strides != nullptr) {
      return Fail("ValueError",
                  "a view needs a compact array, but this one has shape %s and strides %s; copy "
                  "it first",
                  ShapeText(base->dl.shape, base->dl.ndim).c_str(),
                  ShapeText(base->dl.strides, base->dl.ndim).c_str());
    }
    uint64_t end;
    if (__builtin_add_overflow(relative_byte_offset, static_cast<uint64_t>(nbytes), &end) ||
        end > static_cast<uint64_t>(base->nbytes)) {
      return Fail(
          "ValueError",
          "a view of shape %s and dtype %s takes %lld bytes: bytes %llu to %llu lie outside "
          "the array, which has %lld bytes (shape %s, dtype %s)",
          ShapeText(shape, ndim).c_str(), DTypeText(dtype).c_str(), static_cast<long long>(nbytes),
          static_cast<unsigned long long>(relative_byte_offset),
          static_cast<unsigned long long>(relative_byte_offset + nbytes),
          static_cast<long long>(base->nbytes), ShapeText(base->dl.shape, base->dl.ndim).c_str(),
          DTypeText(base->dl.dtype).c_str());
    }
    if (TVMArrayEndLoan(base_handle) != 0) return -1;
    NDArrayContainer* c = AllocHeader(ndim, 0);
    if (c == nullptr) return Fail("MemoryError", "out of memory");
    Fill(c, shape, ndim, dtype, base->dl.device, nbytes, DeleteView);
    c->dl.data = base->dl.data;
    c->dl.byte_offset = base->dl.byte_offset + relative_byte_offset;
    c->flags = (base->flags & (kNDArrayReadOnly | kNDArrayForeign)) | kNDArrayIsView;
    if (c->flags & kNDArrayReadOnly) {
      try {
        AddReadOnly(&c->dl);
      } catch (...) {
        free(c);
        throw;
      }
    }
    // The root keeps the memory, so views of views do not make chains.
    c->base = base->base != nullptr ? base->base : base;
    c->base->IncRef();
    Count(Shard(), kCountArrays, 1);
    *out = &c->dl;
    return 0;
  });
}

int TVMArrayFromForeign(const DLTensor* tensor, uint32_t flags, void* owner,
                        void (*drop)(void* owner), TVMArrayHandle* out) {
  if (tensor == nullptr || out == nullptr) {
    if (drop != nullptr) drop(owner);
    return Fail("TypeError", "TVMArrayFromForeign: expected a tensor, but got NULL");
  }
  return MakeForeign(*tensor, flags, owner, drop, out);
}
