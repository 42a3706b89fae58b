// Allocation, views, foreign arrays, read-only arrays and the live figures.
#include <tvm/runtime/ndarray.h>

#include <thread>

#include "runtime/ndarray_internal.h"
#include "test_util.h"

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

constexpr DLDevice kCPU = {kDLCPU, 0};
constexpr DLDataType kF32 = {kDLFloat, 32, 1};

NDArray Empty(std::vector<int64_t> shape, DLDataType dtype = kF32) {
  return NDArray::Empty(shape, dtype, kCPU);
}

int TryEmpty(std::vector<int64_t> shape, DLDataType dtype, const char* scope = nullptr) {
  TVMArrayHandle out = nullptr;
  int rc = TVMArrayEmpty(shape.data(), static_cast<int>(shape.size()), dtype, kCPU, scope, &out);
  if (rc == 0) TVMArrayFree(out);
  return rc;
}

TEST(EmptyIsAlignedAndWritable) {
  // Both sides of the limit between one allocation and two, and of the huge-page threshold.
  for (int64_t n : {int64_t{0}, int64_t{1}, int64_t{64}, kInlineDataLimit / 4,
                    kInlineDataLimit / 4 + 1, int64_t{2} << 20}) {
    NDArray a = Empty({n});
    CHECK_EQ(reinterpret_cast<uintptr_t>(a->data) % kAllocAlignment, 0u);
    CHECK(NDArray::IsAligned(*a.handle()));
    CHECK_EQ(a->ndim, 1);
    CHECK_EQ(a->shape[0], n);
    CHECK(a->strides == nullptr);
    memset(a->data, 0x5a, static_cast<size_t>(n) * 4);
  }
}

TEST(EmptyOfRankZeroHasOneElement) {
  NDArray a = Empty({});
  CHECK_EQ(a->ndim, 0);
  *static_cast<float*>(a->data) = 2;
  CHECK_EQ(NumElements(*a.handle()), 1);
}

TEST(SizesOfAllElementKinds) {
  struct Case {
    DLDataType dtype;
    int64_t elements;
    int64_t bytes;
  };
  for (const Case& c : {Case{{kDLUInt, 1, 1}, 5, 5}, Case{{kDLInt, 4, 1}, 5, 3},
                        Case{{kDLUInt, 4, 1}, 0, 0}, Case{{kDLFloat, 32, 4}, 3, 48},
                        Case{{kTVMBFloat, 16, 1}, 3, 6}, Case{{kTVME4M3Float8, 8, 1}, 7, 7},
                        Case{{kDLInt, 40, 1}, 2, 10}, Case{{kDLInt, 4, 3}, 1, 2}}) {
    NDArray a = Empty({c.elements}, c.dtype);
    CHECK_EQ(NDArrayContainer::FromHandle(a.handle())->nbytes, c.bytes);
  }
}

TEST(BadShapesAreNamed) {
  CHECK_FAILS(TryEmpty({2, -3}, kF32),
              "ValueError: empty: shape (2, -3) has a negative extent: shape[1] is -3");
  CHECK_FAILS(TryEmpty({int64_t{1} << 40, int64_t{1} << 40}, kF32),
              "ValueError: empty: shape (1099511627776, 1099511627776) of dtype float32 needs more "
              "memory than can be addressed");
  // An extent of 0 does not hide that the others overflow.
  CHECK_FAILS_WITH(TryEmpty({0, int64_t{1} << 62, 16}, kF32), "needs more memory");
  CHECK_FAILS_WITH(TryEmpty({INT64_MAX}, {kDLInt, 4, 1}), "needs more memory");
  CHECK_FAILS_WITH(TryEmpty({2}, {kDLOpaqueHandle, 0, 0}), "dtype \"void\"");
  CHECK_FAILS_WITH(TVMArrayEmpty(nullptr, -1, kF32, kCPU, nullptr, nullptr), "out is NULL");
  TVMArrayHandle out;
  CHECK_FAILS_WITH(TVMArrayEmpty(nullptr, -1, kF32, kCPU, nullptr, &out), "rank -1");
  CHECK_FAILS_WITH(TVMArrayEmpty(nullptr, 1, kF32, kCPU, nullptr, &out), "no extents");
  // More than there is, but addressable: the allocator says no, and the message names the shape.
  CHECK_FAILS_WITH(TryEmpty({int64_t{1} << 60}, {kDLInt, 8, 1}), "shape (1152921504606846976,)");
}

TEST(Scopes) {
  CHECK_OK(TryEmpty({2}, kF32, "global"));
  CHECK_FAILS(TryEmpty({2}, kF32, "texture"),
              "ValueError: memory scope \"texture\" is not known on cpu; the scopes are: global");
}

TEST(DevicesThatAreNotThere) {
  TVMArrayHandle out = nullptr;
  int64_t shape[1] = {2};
  DLDevice metal = {kDLMetal, 0};
  CHECK_FAILS_WITH(TVMArrayEmpty(shape, 1, kF32, metal, nullptr, &out),
                   "RuntimeError: device metal is not there: it needs Metal.framework");
  DLDevice none = {static_cast<DLDeviceType>(99), 0};
  CHECK_FAILS_WITH(TVMArrayEmpty(shape, 1, kF32, none, nullptr, &out), "no device type 99");
  DLDevice negative = {kDLCPU, -1};
  CHECK_FAILS_WITH(TVMArrayEmpty(shape, 1, kF32, negative, nullptr, &out), "cannot be negative");
  DLDevice remote = {static_cast<DLDeviceType>(129), 0};
  CHECK_FAILS_WITH(TVMArrayEmpty(shape, 1, kF32, remote, nullptr, &out), "remote session 0");
}

TEST(ViewsShareAndKeepTheBase) {
  NDArray a = Empty({2, 3});
  for (int i = 0; i < 6; ++i) static_cast<float*>(a->data)[i] = static_cast<float>(i);
  NDArray row = a.CreateView({3}, kF32, 12);
  NDArray one = row.CreateView({1}, kF32, 8);  // a view of a view adds the offsets
  NDArrayContainer* c = NDArrayContainer::FromHandle(one.handle());
  CHECK_EQ(c->base, NDArrayContainer::FromHandle(a.handle()));
  CHECK((c->flags & kNDArrayIsView) != 0);
  CHECK_EQ(one->byte_offset, 20u);
  a = NDArray();
  row = NDArray();
  CHECK_EQ(*reinterpret_cast<float*>(static_cast<char*>(one->data) + one->byte_offset), 5.0f);
}

TEST(ViewsStayInside) {
  NDArray a = Empty({2, 3});
  TVMArrayHandle out = nullptr;
  int64_t seven[1] = {7};
  CHECK_FAILS(
      TVMArrayView(a.handle(), seven, 1, kF32, 0, &out),
      "ValueError: a view of shape (7,) and dtype float32 takes 28 bytes: bytes 0 to 28 lie "
      "outside the array, which has 24 bytes (shape (2, 3), dtype float32)");
  int64_t one[1] = {1};
  CHECK_FAILS_WITH(TVMArrayView(a.handle(), one, 1, kF32, 21, &out), "bytes 21 to 25");
  CHECK_FAILS_WITH(TVMArrayView(a.handle(), one, 1, kF32, UINT64_MAX - 1, &out), "outside");
  CHECK_FAILS_WITH(TVMArrayView(nullptr, one, 1, kF32, 0, &out), "NULL");
  int64_t zero[1] = {0};
  CHECK_OK(TVMArrayView(a.handle(), zero, 1, kF32, 24, &out));
  TVMArrayFree(out);
  CHECK_FAILS_WITH(TVMArrayView(a.handle(), zero, 1, kF32, 25, &out), "outside");
}

int drops = 0;
void CountDrop(void* counter) { ++*static_cast<int*>(counter); }

TEST(ForeignMemoryIsDroppedOnce) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {1, 2};
  DLTensor t = {data, kCPU, 2, kF32, shape, strides, 0};
  drops = 0;
  TVMArrayHandle out = nullptr;
  CHECK_OK(TVMArrayFromForeign(&t, 0, &drops, CountDrop, &out));
  CHECK(out->strides != nullptr && out->strides != strides && out->shape != shape);
  CHECK_EQ(out->strides[1], 2);
  TVMArrayHandle view = nullptr;
  CHECK_FAILS_WITH(TVMArrayView(out, shape, 2, kF32, 0, &view), "strides (1, 2)");
  CHECK_EQ(drops, 0);
  TVMArrayFree(out);
  CHECK_EQ(drops, 1);
  // Compact strides are the same as none; axes of one element never matter.
  int64_t odd_shape[3] = {2, 1, 3};
  int64_t odd_strides[3] = {3, 77, 1};
  DLTensor u = {data, kCPU, 3, kF32, odd_shape, odd_strides, 0};
  CHECK_OK(TVMArrayFromForeign(&u, 0, &drops, CountDrop, &out));
  CHECK(out->strides == nullptr);
  TVMArrayFree(out);
  CHECK_EQ(drops, 2);
  // On failure the owner is dropped at once.
  shape[0] = -2;
  CHECK_FAILS_WITH(TVMArrayFromForeign(&t, 0, &drops, CountDrop, &out), "(-2, 3)");
  CHECK_EQ(drops, 3);
  shape[0] = 2;
  t.data = nullptr;
  CHECK_FAILS_WITH(TVMArrayFromForeign(&t, 0, &drops, CountDrop, &out), "its pointer is NULL");
  CHECK_EQ(drops, 4);
}

TEST(ReadOnlyArraysRefuseWrites) {
  float data[2] = {1, 2};
  int64_t shape[1] = {2};
  DLTensor t = {data, kCPU, 1, kF32, shape, nullptr, 0};
  TVMArrayHandle handle = nullptr;
  CHECK_OK(TVMArrayFromForeign(&t, kNDArrayReadOnly, nullptr, nullptr, &handle));
  NDArray a = NDArray::Steal(handle);
  NDArray view = a.CreateView({1}, kF32);
  NDArray b = Empty({2});
  float other[2] = {3, 4};
  const char* expected = "it is read-only";
  CHECK_FAILS_WITH(TVMArrayCopyFromBytes(a.handle(), other, 8), expected);
  CHECK_FAILS_WITH(TVMArrayCopyFromTo(b.handle(), a.handle(), nullptr), expected);
  CHECK_FAILS_WITH(TVMArrayCopyFromBytes(view.handle(), other, 4), expected);
  CHECK_OK(TVMArrayCopyFromTo(a.handle(), b.handle(), nullptr));
  CHECK_EQ(static_cast<float*>(b->data)[1], 2.0f);
  // A tensor on the stack is no array of ours, and may be written.
  CHECK_OK(TVMArrayCopyFromTo(b.handle(), &t, nullptr));
  a = NDArray();
  CHECK_FAILS_WITH(TVMArrayCopyFromBytes(view.handle(), other, 4), expected);
}

TEST(FiguresAreExact) {
  int64_t arrays = TVMRuntimeGetStat(kTVMStatArrays);
  int64_t bytes = TVMRuntimeGetStat(kTVMStatCPUBytes);
  {
    NDArray small = Empty({64});
    CHECK_EQ(TVMRuntimeGetStat(kTVMStatCPUBytes), bytes + 256);
    NDArray large = Empty({1 << 20});
    CHECK(TVMRuntimeGetStat(kTVMStatCPUBytes) >= bytes + 256 + (4 << 20));
    NDArray view = large.CreateView({1}, kF32);
    CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays + 3);
  }
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays);
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatCPUBytes), bytes);
  // Made here, freed elsewhere, by threads that end.
  for (int i = 0; i < 8; ++i) {
    NDArray a = Empty({1000});
    NDArray b = Empty({100000});
    std::thread([moved_a = std::move(a), moved_b = std::move(b)]() {}).join();
  }
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays);
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatCPUBytes), bytes);
  CHECK_EQ(TVMRuntimeGetStat(77), -1);
  TVMErrorClear();
}

TEST(ManyThreadsShareOneArray) {
  NDArray a = Empty({16});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([a] {
      for (int i = 0; i < 2000; ++i) {
        NDArray copy = a;
        NDArray view = copy.CreateView({2}, kF32, 8);
        NDArray own = Empty({i % 100});
      }
    });
  }
  for (std::thread& t : threads) t.join();
  threads.clear();
  CHECK_EQ(a.use_count(), 1);
}

}  // namespace

TEST_MAIN()
