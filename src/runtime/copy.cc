// Copies between tensors of any strides on any devices.
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "device_internal.h"
#include "device_table.h"
#include "dtype.h"
#include "error.h"
#include "ndarray_internal.h"

namespace tvm {
namespace runtime {

namespace {

struct Axis {
  int64_t extent;
  int64_t from;  // byte strides
  int64_t to;
};

int64_t Magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

// A square of kTile elements keeps both sides of a transposition in the first-level cache.
constexpr int64_t kTile = 32;

// The two innermost axes, for elements of a fixed size.
template <int kBytes>
void CopyPlane(const char* from, char* to, const Axis& outer, const Axis& inner, int64_t) {
  bool transposing = Magnitude(inner.from) > Magnitude(outer.from);
  int64_t tile_outer = transposing ? kTile : 1;
  int64_t tile_inner = transposing ? kTile : inner.extent;
  for (int64_t i0 = 0; i0 < outer.extent; i0 += tile_outer) {
    int64_t i1 = std::min(outer.extent, i0 + tile_outer);
    for (int64_t j0 = 0; j0 < inner.extent; j0 += tile_inner) {
      int64_t j1 = std::min(inner.extent, j0 + tile_inner);
      for (int64_t i = i0; i < i1; ++i) {
        const char* f = from + i * outer.from + j0 * inner.from;
        char* t = to + i * outer.to + j0 * inner.to;
        for (int64_t j = j0; j < j1; ++j, f += inner.from, t += inner.to) memcpy(t, f, kBytes);
      }
    }
  }
}

void CopyPlaneAnySize(const char* from, char* to, const Axis& outer, const Axis& inner,
                      int64_t element) {
  for (int64_t i = 0; i < outer.extent; ++i) {
    const char* f = from + i * outer.from;
    char* t = to + i * outer.to;
    for (int64_t j = 0; j < inner.extent; ++j, f += inner.from, t += inner.to) {
      memcpy(t, f, static_cast<size_t>(element));
    }
  }
}

using PlaneCopy = void (*)(const char*, char*, const Axis&, const Axis&, int64_t);

PlaneCopy ChoosePlaneCopy(int64_t element) {
  switch (element) {
    case 1:
      return CopyPlane<1>;
    case 2:
      return CopyPlane<2>;
    case 4:
      return CopyPlane<4>;
    case 8:
      return CopyPlane<8>;
    case 16:
      return CopyPlane<16>;
    default:
      return CopyPlaneAnySize;
  }
}

// Copies elements of `element` bytes; the regions must not overlap.
void CopyStrided(const char* from, char* to, std::vector<Axis> axes, int64_t element) {
  axes.erase(std::remove_if(axes.begin(), axes.end(), [](const Axis& a) { return a.extent == 1; }),
             axes.end());
  for (const Axis& a : axes) {
    if (a.extent == 0) return;
  }
  // Writes go through memory in order; reads take what comes.
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return Magnitude(a.to) > Magnitude(b.to); });
  // Neighbours that are one run in both tensors become one axis.
  std::vector<Axis> merged;
  for (const Axis& a : axes) {
    if (!merged.empty() && merged.back().from == a.from * a.extent &&
        merged.back().to == a.to * a.extent) {
      merged.back() = {merged.back().extent * a.extent, a.from, a.to};
    } else {
      merged.push_back(a);
    }
  }
  // A run of bytes at the end is one big element.
  if (!merged.empty() && merged.back().from == element && merged.back().to == element) {
    element *= merged.back().extent;
    merged.pop_back();
  }
  while (merged.size() < 2) merged.insert(merged.begin(), Axis{1, 0, 0});
  const Axis inner = merged[merged.size() - 1];
  const Axis outer = merged[merged.size() - 2];
  size_t num_loops = merged.size() - 2;
  PlaneCopy copy_plane = ChoosePlaneCopy(element);
  std::vector<int64_t> index(num_loops, 0);
  for (;;) {
    copy_plane(from, to, outer, inner, element);
    size_t d = num_loops;
    while (d > 0) {
      const Axis& a = merged[--d];
      from += a.from;
      to += a.to;
      if (++index[d] < a.extent) break;
      from -= a.from * a.extent;
      to -= a.to * a.extent;
      index[d] = 0;
      if (d == 0) return;
    }
    if (num_loops == 0) return;
  }
}

int64_t TensorBytes(const DLTensor& t) { return NumBytes(NumElements(t), t.dtype); }

char* DataOf(const DLTensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }

// The byte strides of a tensor.
std::vector<int64_t> ByteStrides(const DLTensor& t, int64_t element) {
  std::vector<int64_t> strides(static_cast<size_t>(t.ndim));
  int64_t run = element;
  for (int i = t.ndim - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = t.strides == nullptr ? run : t.strides[i] * element;
    run *= t.shape[i];
  }
  return strides;
}

// Copies between host tensors of equal shape and element size that do not overlap.
void CopySameShape(const DLTensor& from, const DLTensor& to) {
  int64_t element = NumBytes(1, from.dtype);
  std::vector<int64_t> from_strides = ByteStrides(from, element);
  std::vector<int64_t> to_strides = ByteStrides(to, element);
  std::vector<Axis> axes;
  for (int i = 0; i < from.ndim; ++i) {
    size_t k = static_cast<size_t>(i);
    axes.push_back({from.shape[i], from_strides[k], to_strides[k]});
  }
  CopyStrided(DataOf(from), DataOf(to), std::move(axes), element);
}

struct FreeDeleter {
  void operator()(void* p) const { free(p); }
};
using Scratch = std::unique_ptr<char, FreeDeleter>;

Scratch AllocScratch(int64_t nbytes) {
  Scratch s(static_cast<char*>(malloc(nbytes > 0 ? static_cast<size_t>(nbytes) : 1)));
  if (s == nullptr) throw std::bad_alloc();
  return s;
}

// The same tensor, compact, in host memory at data.
DLTensor CompactAt(const DLTensor& t, char* data) {
  DLTensor r = t;
  r.data = data;
  r.byte_offset = 0;
  r.strides = nullptr;
  r.device = {kDLCPU, 0};
  return r;
}

bool RangesOverlap(const DLTensor& a, const DLTensor& b) {
  int64_t a_low, a_high, b_low, b_high;
  ElementSpan(a, &a_low, &a_high);
  ElementSpan(b, &b_low, &b_high);
  int64_t a_size = NumBytes(1, a.dtype);
  int64_t b_size = NumBytes(1, b.dtype);
  return DataOf(a) + a_low * a_size < DataOf(b) + b_high * b_size &&
         DataOf(b) + b_low * b_size < DataOf(a) + a_high * a_size;
}

// Both in host memory, equal byte counts.
void CopyHost(const DLTensor& from, const DLTensor& to, int64_t nbytes) {
  if (nbytes == 0) return;
  bool from_compact = IsCompact(from);
  bool to_compact = IsCompact(to);
  if (from_compact && to_compact) {
    memmove(DataOf(to), DataOf(from), static_cast<size_t>(nbytes));
    return;
  }
  if (RangesOverlap(from, to)) {
    Scratch scratch = AllocScratch(nbytes);
    DLTensor packed = CompactAt(from, scratch.get());
    CopySameShape(from, packed);
    DLTensor target_shaped = CompactAt(to, scratch.get());
    CopySameShape(target_shaped, to);
  } else if (from.ndim == to.ndim && std::equal(from.shape, from.shape + from.ndim, to.shape) &&
             NumBytes(1, from.dtype) == NumBytes(1, to.dtype)) {
    CopySameShape(from, to);
  } else if (to_compact) {
    CopySameShape(from, CompactAt(from, DataOf(to)));
  } else if (from_compact) {
    CopySameShape(CompactAt(to, DataOf(from)), to);
  } else {
    Scratch scratch = AllocScratch(nbytes);
    CopySameShape(from, CompactAt(from, scratch.get()));
    CopySameShape(CompactAt(to, scratch.get()), to);
  }
}

// The API that moves bytes between device and the host.
const TVMDeviceAPI* Mover(DLDevice device) { return UsableDevice(device); }

int MoveBytes(const TVMDeviceAPI* api, const void* from, uint64_t from_offset, DLDevice from_device,
              void* to, uint64_t to_offset, DLDevice to_device, int64_t nbytes,
              TVMStreamHandle stream) {
  if (nbytes == 0) return 0;
  if (api->copy(api->self, from, from_offset, from_device, to, to_offset, to_device,
                static_cast<size_t>(nbytes), stream) != 0) {
    return -1;
  }
  // Without a stream of the caller's the copy is synchronous.
  if (stream != nullptr || api->sync == nullptr) return 0;
  DLDevice device = from_device.device_type != kDLCPU ? from_device : to_device;
  return api->sync(api->self, device.device_id, nullptr);
}

constexpr DLDevice kHost = {kDLCPU, 0};

// The bytes of device memory that a strided tensor spans, as a tensor in host memory.
struct HostSpan {
  Scratch memory;
  DLTensor tensor;
  int64_t offset;  // of the span in the device's memory
  int64_t nbytes;
};

int FetchSpan(const TVMDeviceAPI* api, const DLTensor& t, HostSpan* out) {
  int64_t low, high;
  ElementSpan(t, &low, &high);
  int64_t element = NumBytes(1, t.dtype);
  out->offset = static_cast<int64_t>(t.byte_offset) + low * element;
  out->nbytes = (high - low) * element;
  out->memory = AllocScratch(out->nbytes);
  out->tensor = t;
  out->tensor.device = kHost;
  out->tensor.data = out->memory.get() - low * element;
  out->tensor.byte_offset = 0;
  return MoveBytes(api, t.data, static_cast<uint64_t>(out->offset), t.device, out->memory.get(), 0,
                   kHost, out->nbytes, nullptr);
}

int CopyAcross(const DLTensor& from, const DLTensor& to, int64_t nbytes, TVMStreamHandle stream) {
  bool from_host = from.device.device_type == kDLCPU;
  bool to_host = to.device.device_type == kDLCPU;
  const TVMDeviceAPI* from_api = from_host ? nullptr : Mover(from.device);
  if (!from_host && from_api == nullptr) return -1;
  const TVMDeviceAPI* to_api = to_host ? nullptr : Mover(to.device);
  if (!to_host && to_api == nullptr) return -1;
  bool from_compact = IsCompact(from);
  bool to_compact = IsCompact(to);
  bool one_api = from_host || to_host || from.device.device_type == to.device.device_type;
  if (from_compact && to_compact && one_api) {
    return MoveBytes(from_host ? to_api : from_api, from.data, from.byte_offset, from.device,
                     to.data, to.byte_offset, to.device, nbytes, stream);
  }
  // Through the host: strides are resolved there, and two kinds of device meet there.
  HostSpan source;
  DLTensor host = from;
  if (!from_host) {
    if (FetchSpan(from_api, from, &source) != 0) return -1;
    host = source.tensor;
  }
  if (to_host) {
    CopyHost(host, to, nbytes);
    return 0;
  }
  if (!to_compact) {
    HostSpan target;
    if (FetchSpan(to_api, to, &target) != 0) return -1;
    CopyHost(host, target.tensor, nbytes);
    return MoveBytes(to_api, target.memory.get(), 0, kHost, to.data,
                     static_cast<uint64_t>(target.offset), to.device, target.nbytes, nullptr);
  }
  Scratch packed;
  if (!IsCompact(host)) {
    packed = AllocScratch(nbytes);
    DLTensor compact = CompactAt(host, packed.get());
    CopyHost(host, compact, nbytes);
    host = compact;
  }
  return MoveBytes(to_api, host.data, host.byte_offset, kHost, to.data, to.byte_offset, to.device,
                   nbytes, nullptr);
}

int RefuseReadOnly(const DLTensor& t) {
  return Fail("ValueError", "cannot write to %s: it is read-only (it shares read-only memory)",
              TensorText(t).c_str());
}

bool IsPackedType(DLDataType t) { return t.bits % 8 != 0 && t.bits != 1; }

int CopyTensor(const DLTensor* from, const DLTensor* to, TVMStreamHandle stream,
               const char* where) {
  if (from == nullptr || to == nullptr) {
    return Fail("TypeError", "%s: expected two arrays, but got NULL", where);
  }
  int64_t nbytes = TensorBytes(*from);
  if (nbytes != TensorBytes(*to)) {
    return Guarded([&] {
      return Fail("ValueError", "cannot copy %s (%lld bytes) to %s (%lld bytes): sizes must match",
                  TensorText(*from).c_str(), static_cast<long long>(nbytes),
                  TensorText(*to).c_str(), static_cast<long long>(TensorBytes(*to)));
    });
  }
  if (IsReadOnly(to)) return Guarded([&] { return RefuseReadOnly(*to); });
  if (from->device.device_type == kDLCPU && to->device.device_type == kDLCPU) {
    if (from->strides == nullptr && to->strides == nullptr) {
      if (nbytes != 0) memmove(DataOf(*to), DataOf(*from), static_cast<size_t>(nbytes));
      return 0;
    }
  }
  return Guarded([&] {
    for (const DLTensor* t : {from, to}) {
      if (IsPackedType(t->dtype) && !IsCompact(*t)) {
        return Fail("ValueError", "%s packs its elements, so it must be compact",
                    TensorText(*t).c_str());
      }
    }
    if (from->device.device_type == kDLCPU && to->device.device_type == kDLCPU) {
      CopyHost(*from, *to, nbytes);
      return 0;
    }
    return CopyAcross(*from, *to, nbytes, stream);
  });
}

// A plain buffer as a compact host tensor of the array's shape and type.
int BytesTensor(const DLTensor* handle, void* data, size_t nbytes, const char* where,
                DLTensor* out) {
  if (handle == nullptr) return Fail("TypeError", "%s: expected an array, but got NULL", where);
  int64_t expected = TensorBytes(*handle);
  if (static_cast<uint64_t>(expected) != nbytes) {
    return Guarded([&] {
      return Fail("ValueError", "%s: %s has %lld bytes, but got %zu", where,
                  TensorText(*handle).c_str(), static_cast<long long>(expected), nbytes);
    });
  }
  if (data == nullptr && nbytes != 0) return Fail("TypeError", "%s: data is NULL", where);
  *out = CompactAt(*handle, static_cast<char*>(data));
  return 0;
}

}  // namespace

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream) {
  return CopyTensor(from, to, stream, "TVMArrayCopyFromTo");
}

int TVMDeviceCopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream) {
  return CopyTensor(from, to, stream, "TVMDeviceCopyDataFromTo");
}

int TVMArrayCopyFromBytes(TVMArrayHandle handle, void* data, size_t nbytes) {
  DLTensor bytes;
  if (BytesTensor(handle, data, nbytes, "TVMArrayCopyFromBytes", &bytes) != 0) return -1;
  return CopyTensor(&bytes, handle, nullptr, "TVMArrayCopyFromBytes");
}

int TVMArrayCopyToBytes(TVMArrayHandle handle, void* data, size_t nbytes) {
  DLTensor bytes;
  if (BytesTensor(handle, data, nbytes, "TVMArrayCopyToBytes", &bytes) != 0) return -1;
  return CopyTensor(handle, &bytes, nullptr, "TVMArrayCopyToBytes");
}
