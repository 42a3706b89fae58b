// DLPack both ways: codes, strides, flags, and deleters that run exactly once.
#include <tvm/runtime/ndarray.h>

#include "test_util.h"

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

constexpr DLDevice kCPU = {kDLCPU, 0};

template <typename Managed>
struct Producer {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
  Managed managed = {};

  Producer() {
    managed.dl_tensor = {data, kCPU, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
  }
};
using Legacy = Producer<DLManagedTensor>;
struct Versioned : Producer<DLManagedTensorVersioned> {
  Versioned() { managed.version = {1, 0}; }
};

TEST(ImportsLegacyWithoutCopying) {
  Legacy p;
  {
    NDArray a = NDArray::FromDLPack(&p.managed);
    CHECK_EQ(a->data, static_cast<void*>(p.data));
    CHECK(a->strides == nullptr);
    NDArray view = a.CreateView({2}, {kDLFloat, 32, 1}, 8);
    a = NDArray();
    CHECK_EQ(p.deleted, 0);
    CHECK_EQ(*reinterpret_cast<float*>(static_cast<char*>(view->data) + view->byte_offset), 2.0f);
  }
  CHECK_EQ(p.deleted, 1);
}

TEST(KeepsStridesAndOffsets) {
  Legacy p;
  p.strides[0] = 1;
  p.strides[1] = 2;
  p.managed.dl_tensor.byte_offset = 0;
  NDArray a = NDArray::FromDLPack(&p.managed);
  float out[6];
  a.CopyToBytes(out, sizeof(out));
  const float expected[6] = {0, 2, 4, 1, 3, 5};
  for (int i = 0; i < 6; ++i) CHECK_EQ(out[i], expected[i]);
}

TEST(NullDeleterIsAllowed) {
  Legacy p;
  p.managed.deleter = nullptr;
  NDArray a = NDArray::FromDLPack(&p.managed);
  a = NDArray();
  CHECK_EQ(p.deleted, 0);
}

TEST(DeleterRunsOnceOnFailure) {
  Legacy p;
  TVMArrayHandle out = nullptr;
  p.shape[1] = -3;
  CHECK_FAILS_WITH(TVMArrayFromDLPack(&p.managed, &out), "(2, -3)");
  CHECK_EQ(p.deleted, 1);
  Versioned v;
  v.managed.version.major = 2;
  v.managed.dl_tensor.shape = nullptr;  // nothing behind the head may be read
  CHECK_FAILS_WITH(TVMArrayFromDLPackVersioned(&v.managed, &out), "version 2.0");
  CHECK_EQ(v.deleted, 1);
  Versioned w;
  w.managed.dl_tensor.dtype = {kDLFloat4_e2m1fn, 4, 1};
  CHECK_FAILS_WITH(TVMArrayFromDLPackVersioned(&w.managed, &out), "float4_e2m1fn");
  CHECK_EQ(w.deleted, 1);
  Versioned x;
  x.managed.dl_tensor.dtype = {kDLInt, 4, 1};
  x.managed.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  CHECK_FAILS_WITH(TVMArrayFromDLPackVersioned(&x.managed, &out), "padded");
  CHECK_EQ(x.deleted, 1);
  CHECK_FAILS_WITH(TVMArrayFromDLPack(nullptr, &out), "NULL");
}

TEST(CodesAtTheBorder) {
  struct Case {
    DLDataType outside;
    DLDataType inside;
  };
  for (const Case& c :
       {Case{{kDLBool, 8, 1}, {kDLUInt, 1, 1}}, Case{{kDLFloat8_e4m3fn, 8, 1}, {6, 8, 1}},
        Case{{kDLFloat8_e5m2, 8, 1}, {7, 8, 1}}, Case{{kDLBfloat, 16, 1}, {4, 16, 1}},
        Case{{kDLUInt, 8, 1}, {kDLUInt, 8, 1}}, Case{{kDLFloat, 16, 2}, {kDLFloat, 16, 2}}}) {
    Versioned p;
    p.managed.dl_tensor.dtype = c.outside;
    TVMArrayHandle handle = nullptr;
    CHECK_OK(TVMArrayFromDLPackVersioned(&p.managed, &handle));
    CHECK_EQ(memcmp(&handle->dtype, &c.inside, sizeof(DLDataType)), 0);
    DLManagedTensorVersioned* back = nullptr;
    CHECK_OK(TVMArrayToDLPackVersioned(handle, &back));
    CHECK_EQ(memcmp(&back->dl_tensor.dtype, &c.outside, sizeof(DLDataType)), 0);
    TVMArrayFree(handle);
    CHECK_EQ(p.deleted, 0);
    back->deleter(back);
    CHECK_EQ(p.deleted, 1);
  }
  for (int code = 0; code < 256; ++code) {  // no code crashes
    Versioned p;
    p.managed.dl_tensor.dtype.code = static_cast<uint8_t>(code);
    TVMArrayHandle handle = nullptr;
    if (TVMArrayFromDLPackVersioned(&p.managed, &handle) == 0) TVMArrayFree(handle);
    CHECK_EQ(p.deleted, 1);
  }
  TVMErrorClear();
}

TEST(ReadOnlyBothWays) {
  Versioned p;
  p.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  TVMArrayHandle handle = nullptr;
  CHECK_OK(TVMArrayFromDLPackVersioned(&p.managed, &handle));
  NDArray a = NDArray::Steal(handle);
  float data[6] = {0};
  CHECK_FAILS_WITH(TVMArrayCopyFromBytes(a.handle(), data, sizeof(data)), "read-only");
  DLManagedTensor* legacy = nullptr;
  CHECK_FAILS_WITH(TVMArrayToDLPack(a.handle(), &legacy), "BufferError");
  DLManagedTensorVersioned* versioned = nullptr;
  CHECK_OK(TVMArrayToDLPackVersioned(a.handle(), &versioned));
  CHECK_EQ(versioned->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  versioned->deleter(versioned);
}

TEST(ExportSpellsStridesAndFoldsOffsets) {
  NDArray a = NDArray::Empty({2, 3}, {kDLFloat, 32, 1}, kCPU);
  NDArray row = a.CreateView({3}, {kDLFloat, 32, 1}, 12);
  DLManagedTensor* m = row.ToDLPack();
  CHECK_EQ(m->dl_tensor.data, static_cast<void*>(static_cast<char*>(a->data) + 12));
  CHECK_EQ(m->dl_tensor.byte_offset, 0u);
  REQUIRE(m->dl_tensor.strides != nullptr);
  CHECK_EQ(m->dl_tensor.strides[0], 1);
  int64_t arrays = TVMRuntimeGetStat(kTVMStatArrays);
  row = NDArray();
  a = NDArray();
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays);  // the export keeps both
  TVMDLManagedTensorCallDeleter(m);
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays - 2);
  NDArray scalar = NDArray::Empty({}, {kDLFloat, 32, 1}, kCPU);
  NDArray again = NDArray::FromDLPack(scalar.ToDLPack());
  CHECK_EQ(again->ndim, 0);
  NDArray custom = NDArray::Empty({2}, {kTVMCustomBegin, 16, 1}, kCPU);
  CHECK_FAILS_WITH(TVMArrayToDLPack(custom.handle(), &m), "custom[129]16");
}

}  // namespace

TEST_MAIN()
