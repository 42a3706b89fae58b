// Copies of every layout against the plainest possible loop, and copies between devices.
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "test_util.h"

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

constexpr DLDevice kCPU = {kDLCPU, 0};

// A tensor of random layout in its own memory.
struct Layout {
  std::vector<unsigned char> memory;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  DLTensor tensor;

  unsigned char* At(const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
    int64_t element = NumBytes(1, tensor.dtype);
    return static_cast<unsigned char*>(tensor.data) + tensor.byte_offset + offset * element;
  }
};

template <typename F>
void ForEach(const std::vector<int64_t>& shape, F&& body) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t k = 0; k < n; ++k) {
    body(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// Permuted axes, gaps, reversed axes; broadcast axes only in sources.
Layout* MakeLayout(std::mt19937* rng, const std::vector<int64_t>& shape, int element,
                   bool may_broadcast) {
  auto* r = new Layout();
  r->shape = shape;
  size_t n = shape.size();
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), *rng);
  r->strides.assign(n, 0);
  int64_t run = 1;
  int64_t first = 0;
  for (size_t axis : order) {
    if (may_broadcast && (*rng)() % 6 == 0) continue;
    run *= 1 + static_cast<int64_t>((*rng)() % 2);
    r->strides[axis] = run;
    run *= std::max<int64_t>(shape[axis], 1);
    if ((*rng)() % 3 == 0 && shape[axis] > 0) {
      first += r->strides[axis] * (shape[axis] - 1);
      r->strides[axis] = -r->strides[axis];
    }
  }
  size_t offset = (*rng)() % 5;  // misaligned on purpose
  r->memory.resize(static_cast<size_t>(run * element) + offset + 16);
  for (auto& b : r->memory) b = static_cast<unsigned char>((*rng)());
  DLDataType dtype = {kDLInt, static_cast<uint8_t>(element % 3 == 0 ? 8 : element * 8), 1};
  if (element % 3 == 0) dtype.lanes = static_cast<uint16_t>(element);
  if (element == 16) dtype = {kDLInt, 64, 2};
  r->tensor = {r->memory.data() + first * element,
               kCPU,
               static_cast<int>(n),
               dtype,
               r->shape.data(),
               r->strides.data(),
               offset};
  return r;
}

TEST(RandomLayoutsMatchThePlainLoop) {
  std::mt19937 rng(7);
  const int elements[] = {1, 2, 3, 4, 8, 16};
  for (int round = 0; round < 600; ++round) {
    std::vector<int64_t> shape(rng() % 5);
    for (int64_t& s : shape) s = static_cast<int64_t>(rng() % 7);
    if (round % 20 == 0) shape = {67, 45};  // larger than a tile
    int element = elements[rng() % 6];
    std::unique_ptr<Layout> from(MakeLayout(&rng, shape, element, true));
    std::unique_ptr<Layout> to(MakeLayout(&rng, shape, element, false));
    std::vector<unsigned char> before = to->memory;
    CHECK_OK(TVMDeviceCopyDataFromTo(&from->tensor, &to->tensor, nullptr));
    // Every element arrived ...
    std::vector<unsigned char> expected = before;
    bool equal = true;
    ForEach(shape, [&](const std::vector<int64_t>& index) {
      unsigned char* t = to->At(index);
      equal &= memcmp(t, from->At(index), static_cast<size_t>(element)) == 0;
      memcpy(expected.data() + (t - to->memory.data()), from->At(index),
             static_cast<size_t>(element));
    });
    CHECK(equal);
    // ... and nothing else was touched.
    CHECK(expected == to->memory);
  }
}

TEST(BytesInRowMajorOrder) {
  std::mt19937 rng(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> shape(rng() % 4);
    for (int64_t& s : shape) s = static_cast<int64_t>(rng() % 5);
    std::unique_ptr<Layout> t(MakeLayout(&rng, shape, 4, false));
    size_t nbytes = static_cast<size_t>(NumElements(t->tensor)) * 4;
    std::vector<unsigned char> bytes(nbytes), expected;
    CHECK_OK(TVMArrayCopyToBytes(&t->tensor, bytes.data(), nbytes));
    ForEach(shape, [&](const std::vector<int64_t>& index) {
      expected.insert(expected.end(), t->At(index), t->At(index) + 4);
    });
    CHECK(bytes == expected);
    std::reverse(bytes.begin(), bytes.end());
    CHECK_OK(TVMArrayCopyFromBytes(&t->tensor, bytes.data(), nbytes));
    std::vector<unsigned char> again(nbytes);
    CHECK_OK(TVMArrayCopyToBytes(&t->tensor, again.data(), nbytes));
    CHECK(again == bytes);
  }
}

TEST(EqualByteCountsAreEnough) {
  // (6,) float32 to (3,) int64, and both strided with different shapes.
  float from[6] = {0, 1, 2, 3, 4, 5};
  int64_t to[3] = {0, 0, 0};
  int64_t six[1] = {6}, three[1] = {3}, two_three[2] = {2, 3}, transposed[2] = {1, 2},
          backwards[1] = {-1};
  DLTensor a = {from, kCPU, 1, {kDLFloat, 32, 1}, six, nullptr, 0};
  DLTensor b = {to, kCPU, 1, {kDLInt, 64, 1}, three, nullptr, 0};
  CHECK_OK(TVMDeviceCopyDataFromTo(&a, &b, nullptr));
  CHECK_EQ(memcmp(from, to, sizeof(from)), 0);
  DLTensor t = {from, kCPU, 2, {kDLFloat, 32, 1}, two_three, transposed, 0};
  float reversed[6];
  DLTensor r = {reversed + 5, kCPU, 1, {kDLFloat, 32, 1}, six, backwards, 0};
  CHECK_OK(TVMDeviceCopyDataFromTo(&t, &r, nullptr));
  const float expected[6] = {5, 3, 1, 4, 2, 0};
  for (int i = 0; i < 6; ++i) CHECK_EQ(reversed[i], expected[i]);
  three[0] = 2;
  CHECK_FAILS(TVMDeviceCopyDataFromTo(&a, &b, nullptr),
              "ValueError: cannot copy an array of shape (6,) and dtype float32 (24 bytes) to an "
              "array of shape (2,) and dtype int64 (16 bytes): sizes must match");
}

TEST(OverlappingCopies) {
  float data[8];
  int64_t six[1] = {6}, backwards[1] = {-1};
  for (int i = 0; i < 8; ++i) data[i] = static_cast<float>(i);
  DLTensor a = {data, kCPU, 1, {kDLFloat, 32, 1}, six, nullptr, 0};
  DLTensor b = {data, kCPU, 1, {kDLFloat, 32, 1}, six, nullptr, 8};
  CHECK_OK(TVMDeviceCopyDataFromTo(&a, &b, nullptr));
  for (int i = 2; i < 8; ++i) CHECK_EQ(data[i], static_cast<float>(i - 2));
  for (int i = 0; i < 8; ++i) data[i] = static_cast<float>(i);
  DLTensor r = {data + 5, kCPU, 1, {kDLFloat, 32, 1}, six, backwards, 0};
  CHECK_OK(TVMDeviceCopyDataFromTo(&r, &a, nullptr));
  for (int i = 0; i < 6; ++i) CHECK_EQ(data[i], static_cast<float>(5 - i));
}

TEST(PackedElementsMustBeCompact) {
  unsigned char data[4] = {0};
  int64_t shape[1] = {4}, stride[1] = {2};
  DLTensor a = {data, kCPU, 1, {kDLInt, 4, 1}, shape, stride, 0};
  unsigned char out[2];
  CHECK_FAILS_WITH(TVMArrayCopyToBytes(&a, out, 2), "must be compact");
  a.strides = nullptr;
  CHECK_OK(TVMArrayCopyToBytes(&a, out, 2));
}

TEST(NullAndWrongSizes) {
  int64_t shape[1] = {2};
  NDArray a = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU);
  float data[2] = {1, 2};
  CHECK_FAILS_WITH(TVMArrayCopyFromBytes(nullptr, data, 8), "TypeError");
  CHECK_FAILS_WITH(TVMArrayCopyFromBytes(a.handle(), nullptr, 8), "data is NULL");
  CHECK_FAILS_WITH(TVMArrayCopyFromTo(a.handle(), nullptr, nullptr), "TypeError");
  CHECK_FAILS(TVMArrayCopyToBytes(a.handle(), data, 4),
              "ValueError: TVMArrayCopyToBytes: an array of shape (2,) and dtype float32 has 8 "
              "bytes, but got 4");
  shape[0] = 0;
  DLTensor empty = {nullptr, kCPU, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  CHECK_OK(TVMArrayCopyToBytes(&empty, nullptr, 0));
}

// ---- a device whose memory the host cannot touch: addresses are moved by a constant -------------
constexpr uintptr_t kBias = uintptr_t{1} << 56;
struct FakeDevice {
  int copies = 0;
  int syncs = 0;
  int live = 0;
  bool fail = false;
};

int FakeExist(void*, int id, int* out) {
  *out = id < 2;
  return 0;
}
int FakeAlloc(void* self, int, size_t nbytes, size_t, DLDataType, const char* scope, void** out) {
  if (scope != nullptr) {
    TVMErrorSet("ValueError", "fake: the scopes are: global", "");
    return -1;
  }
  auto* d = static_cast<FakeDevice*>(self);
  if (d->fail) {
    TVMErrorSet("MemoryError", "fake: no memory", "");
    return -1;
  }
  ++d->live;
  *out = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(malloc(nbytes + 1)) + kBias);
  return 0;
}
int FakeFree(void* self, int, void* data) {
  --static_cast<FakeDevice*>(self)->live;
  free(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) - kBias));
  return 0;
}
const char* Host(const void* p, DLDevice device) {
  uintptr_t address = reinterpret_cast<uintptr_t>(p);
  return reinterpret_cast<const char*>(device.device_type == kDLCPU ? address : address - kBias);
}
int FakeCopy(void* self, const void* from, uint64_t from_offset, DLDevice from_device, void* to,
             uint64_t to_offset, DLDevice to_device, size_t nbytes, TVMStreamHandle) {
  ++static_cast<FakeDevice*>(self)->copies;
  memcpy(const_cast<char*>(Host(to, to_device)) + to_offset, Host(from, from_device) + from_offset,
         nbytes);
  return 0;
}
int FakeSync(void* self, int, TVMStreamHandle) {
  ++static_cast<FakeDevice*>(self)->syncs;
  return 0;
}

FakeDevice* Install(int type) {
  static FakeDevice devices[128];
  TVMDeviceAPI api = {};
  api.version = TVM_DEVICE_API_VERSION;
  api.size = sizeof(api);
  api.self = &devices[type];
  api.name = "fake";
  api.exist = FakeExist;
  api.alloc = FakeAlloc;
  api.free = FakeFree;
  api.copy = FakeCopy;
  api.sync = FakeSync;
  CHECK_OK(TVMRegisterDeviceAPI(type, &api, 1));
  return &devices[type];
}

TEST(CopiesBetweenDevices) {
  FakeDevice* one = Install(kDLExtDev);
  FakeDevice* two = Install(kDLVPI);
  DLDataType f32 = {kDLFloat, 32, 1};
  DLDevice dev_one = {kDLExtDev, 0}, dev_two = {kDLVPI, 1}, absent = {kDLExtDev, 2};
  {
    std::vector<float> in(12), out(12, -1);
    for (int i = 0; i < 12; ++i) in[static_cast<size_t>(i)] = static_cast<float>(i);
    NDArray a = NDArray::Empty({3, 4}, f32, dev_one);
    a.CopyFromBytes(in.data(), 48);
    CHECK_EQ(one->syncs, 1);        // synchronous
    NDArray b = a.CopyTo(dev_two);  // two kinds meet in the host's memory
    NDArray c = b.CopyTo(kCPU);
    c.CopyToBytes(out.data(), 48);
    CHECK(in == out);
    NDArray d = a.CopyTo(dev_one);
    d.CopyToBytes(out.data(), 48);
    CHECK(in == out);
    // A view on the device has an offset; it arrives in copies.
    NDArray row = d.CreateView({4}, f32, 16);
    float four[4];
    row.CopyToBytes(four, 16);
    CHECK_EQ(four[0], 4.0f);
    // Strided tensors on a device, both ways.
    int64_t shape[2] = {4, 3}, strides[2] = {1, 4};
    DLTensor t = *a.handle();
    t.ndim = 2;
    t.shape = shape;
    t.strides = strides;
    float transposed[12];
    CHECK_OK(TVMArrayCopyToBytes(&t, transposed, 48));
    CHECK_EQ(transposed[1], 4.0f);
    CHECK_EQ(transposed[3], 1.0f);
    float ones[12];
    std::fill(ones, ones + 12, 1.0f);
    ones[1] = 9;
    CHECK_OK(TVMArrayCopyFromBytes(&t, ones, 48));
    a.CopyToBytes(out.data(), 48);
    CHECK_EQ(out[4], 9.0f);
    CHECK_EQ(out[1], 1.0f);
    // Strided on one kind to compact on another.
    NDArray e = NDArray::Empty({4, 3}, f32, dev_two);
    CHECK_OK(TVMArrayCopyFromTo(&t, e.handle(), nullptr));
    e.CopyToBytes(out.data(), 48);
    CHECK_EQ(out[1], 9.0f);
    TVMArrayHandle handle;
    int64_t n[1] = {3};
    CHECK_FAILS_WITH(TVMArrayEmpty(n, 1, f32, absent, nullptr, &handle), "ext_dev(2)");
    CHECK_FAILS_WITH(TVMArrayEmpty(n, 1, f32, dev_one, "texture", &handle), "the scopes are");
    CHECK_OK(TVMArrayEmpty(n, 1, f32, dev_one, "global", &handle));
    TVMArrayFree(handle);
    one->fail = true;
    CHECK_FAILS(TVMArrayEmpty(n, 1, f32, dev_one, nullptr, &handle),
                "MemoryError: fake: no memory");
    one->fail = false;
  }
  CHECK_EQ(one->live, 0);
  CHECK_EQ(two->live, 0);
}

TEST(DeviceRegistration) {
  TVMDeviceAPI api = {};
  api.version = TVM_DEVICE_API_VERSION;
  api.size = sizeof(api);
  CHECK_FAILS_WITH(TVMRegisterDeviceAPI(kDLHexagon, &api, 0), "alloc, free and copy");
  api.alloc = FakeAlloc;
  api.free = FakeFree;
  api.copy = FakeCopy;
  api.version = 9;
  CHECK_FAILS_WITH(TVMRegisterDeviceAPI(kDLHexagon, &api, 0), "version 9");
  api.version = TVM_DEVICE_API_VERSION;
  CHECK_FAILS_WITH(TVMRegisterDeviceAPI(kDLCPU, &api, 0), "registered already");
  const TVMDeviceAPI* found = nullptr;
  CHECK_OK(TVMGetDeviceAPI(kDLOneAPI, 1, &found));
  CHECK(found == nullptr);
  CHECK_FAILS_WITH(TVMGetDeviceAPI(kDLOneAPI, 0, &found), "oneapi");
  // A plug-in built against an older, shorter struct: the rest counts as NULL.
  api.size = offsetof(TVMDeviceAPI, create_stream);
  api.create_stream = reinterpret_cast<int (*)(void*, int, TVMStreamHandle*)>(1);
  CHECK_OK(TVMRegisterDeviceAPI(kDLHexagon, &api, 0));
  CHECK_OK(TVMGetDeviceAPI(kDLHexagon, 0, &found));
  CHECK(found->create_stream == nullptr);
  TVMStreamHandle stream;
  CHECK_OK(TVMStreamCreate(kDLHexagon, 0, &stream));
}

TEST(RegisteredDevicesHaveAGlobalFunction) {
  TVMDeviceAPI api = {};
  api.version = TVM_DEVICE_API_VERSION;
  api.size = sizeof(api);
  api.alloc = FakeAlloc;
  api.free = FakeFree;
  api.copy = FakeCopy;
  auto given = [](const char* name) -> void* {
    TVMFunctionHandle f = nullptr;
    CHECK_OK(TVMFuncGetGlobal(name, &f));
    if (f == nullptr) return nullptr;
    TVMValue result;
    int tag = 0;
    CHECK_OK(TVMFuncCall(f, nullptr, nullptr, 0, &result, &tag));
    CHECK_EQ(tag, static_cast<int>(kTVMOpaqueHandle));
    TVMFuncFree(f);
    return result.v_handle;
  };
  const TVMDeviceAPI* found = nullptr;
  CHECK_OK(TVMGetDeviceAPI(kDLCPU, 0, &found));
  CHECK(given("device_api.cpu") == found);
  CHECK(given("device_api.webgpu") == nullptr);
  for (int override_ : {0, 1}) {
    CHECK_OK(TVMRegisterDeviceAPI(kDLWebGPU, &api, override_));
    CHECK_OK(TVMGetDeviceAPI(kDLWebGPU, 0, &found));
    CHECK(given("device_api.webgpu") == found);
  }
  CHECK_FAILS_WITH(TVMRegisterDeviceAPI(kDLWebGPU, &api, 0), "registered already");
  CHECK(given("device_api.webgpu") == found);
}

TEST(AvailableMemoryFollowsTheArrays) {
  auto available = [] {
    TVMValue v;
    int tag;
    CHECK_OK(TVMDeviceGetAttr(kCPU, kTVMAttrAvailableGlobalMemory, &v, &tag));
    CHECK_EQ(tag, static_cast<int>(kTVMArgInt));
    return v.v_int64;
  };
  int64_t before = available();
  CHECK(before > 0);
  for (int64_t n : {int64_t{10}, int64_t{10} << 20}) {
    NDArray a = NDArray::Empty({n}, {kDLInt, 8, 1}, kCPU);
    CHECK(available() <= before - n);
    a = NDArray();
    CHECK_EQ(available(), before);
  }
}

}  // namespace

TEST_MAIN()
