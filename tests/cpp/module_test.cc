// Modules of compiled functions: the argument table, its messages, lifetimes, imports.
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/module.h>

#include <random>

#include "runtime/arg_spec.h"
#include "test_util.h"

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

constexpr DLDevice kCPU = {kDLCPU, 0};
constexpr DLDataType kF32 = {kDLFloat, 32, 1};
constexpr DLDataType kI32 = {kDLInt, 32, 1};

// Writes a table as the compiler does.
class Table {
 public:
  explicit Table(int num_args, int num_slots, const char* name = "f") {
    Put<uint32_t>(0x31544154).Put<uint16_t>(1).Put<uint16_t>(num_args).Put<uint32_t>(num_slots);
    Put<uint32_t>(0).Text(name);
  }
  template <typename T, typename V>
  Table& Put(V value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
    }
    return *this;
  }
  Table& Text(const std::string& text) {
    Put<uint16_t>(text.size());
    bytes_ += text;
    return *this;
  }
  Table& Scalar(int kind, DLDataType dtype, int slot, const char* name) {
    return Head(kind, 0, dtype, slot, name);
  }
  Table& Tensor(int flags, DLDataType dtype, int slot, const char* name, int ndim,
                uint64_t alias_ok = 0, int alignment = 4) {
    Head(3, flags, dtype, slot, name);
    return Put<uint32_t>(kDLCPU).Put<uint32_t>(alignment).Put<uint64_t>(alias_ok).Put<uint16_t>(
        ndim);
  }
  Table& Const(int64_t v) { return Put<uint8_t>(0).Put<int64_t>(v); }
  Table& Bind(int slot, const char* text, int op = 1) {
    return Put<uint8_t>(op).Put<uint32_t>(slot).Text(text);
  }
  Table& Check(int slot, const char* text) { return Bind(slot, text, 2); }
  Table& Expr(std::vector<std::pair<int, int64_t>> ops, const char* text) {
    Put<uint8_t>(3).Put<uint16_t>(ops.size());
    for (auto& op : ops) Put<uint8_t>(op.first).Put<int64_t>(op.second);
    return Text(text);
  }
  Table& Strides(bool has) { return Put<uint8_t>(has ? 1 : 0); }
  // No strides, offset 0.
  Table& End() { return Strides(false).Const(0); }
  const std::string& bytes() const { return bytes_; }

 private:
  Table& Head(int kind, int flags, DLDataType dtype, int slot, const char* name) {
    Put<uint8_t>(kind).Put<uint8_t>(flags).Put<uint8_t>(dtype.code).Put<uint8_t>(dtype.bits);
    return Put<uint16_t>(dtype.lanes).Put<uint32_t>(slot).Text(name);
  }
  std::string bytes_;
};

uint64_t seen_slots[16];
int body_runs = 0;
int32_t Body(const uint64_t* slots) {
  ++body_runs;
  memcpy(seen_slots, slots, sizeof(seen_slots));  // the runtime offers more than are declared
  return 0;
}
int32_t FailingBody(const uint64_t*) {
  TVMAPISetLastError("ValueError: from the body");
  return -1;
}

Module MakeModule(const Table& table, int32_t (*body)(const uint64_t*) = Body,
                  void* holder = nullptr, void (*drop)(void*) = nullptr) {
  TVMTableFunction f = {"f", body, table.bytes().data(), table.bytes().size()};
  TVMModuleHandle out = nullptr;
  CheckCall(TVMTableModuleCreate("llvm", &f, 1, "f", holder, drop, &out));
  return Module::Steal(out);
}

struct Args {
  std::vector<TVMValue> values;
  std::vector<int> tags;
  Args& Add(const NDArray& a) { return Handle(a.handle(), kTVMNDArrayHandle); }
  Args& Handle(const void* p, int tag) {
    TVMValue v;
    v.v_handle = const_cast<void*>(p);
    values.push_back(v);
    tags.push_back(tag);
    return *this;
  }
  Args& Int(int64_t i) {
    TVMValue v;
    v.v_int64 = i;
    values.push_back(v);
    tags.push_back(kTVMArgInt);
    return *this;
  }
  Args& Float(double d) {
    TVMValue v;
    v.v_float64 = d;
    values.push_back(v);
    tags.push_back(kTVMArgFloat);
    return *this;
  }
};

int Call(const Module& m, Args args) {
  PackedFunc f = m.GetFunction("f");
  TVMValue v;
  int tag;
  return TVMFuncCall(f.handle(), args.values.data(), args.tags.data(),
                     static_cast<int>(args.values.size()), &v, &tag);
}

NDArray Empty(std::vector<int64_t> shape, DLDataType dtype = kF32) {
  return NDArray::Empty(shape, dtype, kCPU);
}

// f(A: (n, 4) read, B: (n,) written, k: int32)
Table Example() {
  return Table(3, 4)
      .Tensor(2, kF32, 0, "A", 2)
      .Bind(3, "n", 4)
      .Const(4)
      .End()
      .Tensor(1, kF32, 1, "B", 1)
      .Check(3, "n")
      .End()
      .Scalar(0, kI32, 2, "k");
}

TEST(FillsSlots) {
  Module m = MakeModule(Example());
  NDArray a = Empty({3, 4}), b = Empty({3});
  NDArray base = Empty({8, 4});
  NDArray view = base.CreateView({3, 4}, kF32, 16);
  CHECK_OK(Call(m, Args().Add(a).Add(b).Int(-7)));
  CHECK_EQ(seen_slots[0], reinterpret_cast<uint64_t>(a->data));
  CHECK_EQ(seen_slots[1], reinterpret_cast<uint64_t>(b->data));
  CHECK_EQ(static_cast<int64_t>(seen_slots[2]), -7);
  CHECK_EQ(seen_slots[3], 3u);
  CHECK_OK(Call(m, Args().Add(view).Add(b).Int(0)));  // the offset is folded
  CHECK_EQ(seen_slots[0], reinterpret_cast<uint64_t>(base->data) + 16);
}

TEST(MessagesNameFunctionArgumentAndExpectation) {
  Module m = MakeModule(Example());
  NDArray a = Empty({3, 4}), b = Empty({3}), wrong = Empty({3, 4}, {kDLFloat, 64, 1});
  int runs = body_runs;
  CHECK_FAILS(Call(m, Args().Add(a).Add(b)),
              "TypeError: f: expects 3 arguments (A, B, k), but got 2");
  CHECK_FAILS(Call(m, Args().Handle("text", kTVMStr).Add(b).Int(1)),
              "TypeError: f: argument 0 (A): expected a tensor of dtype float32 and shape (n, 4), "
              "but got str");
  CHECK_FAILS(Call(m, Args().Add(wrong).Add(b).Int(1)),
              "TypeError: f: argument 0 (A): expected a tensor of dtype float32 and shape (n, 4), "
              "but got a tensor of dtype float64 and shape (3, 4)");
  CHECK_FAILS_WITH(Call(m, Args().Add(b).Add(b).Int(1)), "dtype float32 and shape (3,)");
  CHECK_FAILS_WITH(Call(m, Args().Handle(nullptr, kTVMNullptr).Add(b).Int(1)), "but got None");
  CHECK_FAILS_WITH(Call(m, Args().Handle(nullptr, kTVMNDArrayHandle).Add(b).Int(1)), "NULL");
  CHECK_FAILS(
      Call(m, Args().Add(a).Add(Empty({5})).Int(1)),
      "ValueError: f: argument 1 (B): shape[0] expected 3 (n), but got 5: the whole shape is "
      "(5,), expected (n,)");
  CHECK_FAILS(Call(m, Args().Add(Empty({3, 5})).Add(b).Int(1)),
              "ValueError: f: argument 0 (A): shape[1] expected 4, but got 5: the whole shape is "
              "(3, 5), expected (n, 4)");
  CHECK_FAILS(Call(m, Args().Add(a).Add(b).Int(int64_t{1} << 31)),
              "ValueError: f: argument 2 (k): expected a value of int32 (-2147483648 to "
              "2147483647), but got 2147483648");
  CHECK_FAILS(Call(m, Args().Add(a).Add(b).Float(1)),
              "TypeError: f: argument 2 (k): expected an int (int32), but got float");
  CHECK_EQ(body_runs, runs);
}

TEST(StridesDevicesAlignmentAndNull) {
  Module m = MakeModule(Example());
  NDArray b = Empty({4});
  float data[64];
  int64_t shape[2] = {4, 4}, strides[2] = {1, 4};
  DLTensor t = {data, kCPU, 2, kF32, shape, strides, 0};
  CHECK_FAILS(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(b).Int(1)),
              "ValueError: f: argument 0 (A): expected a compact (C-contiguous) tensor, but got "
              "strides (1, 4) for shape (4, 4); copy it first, for instance tvm.nd.array(x)");
  strides[0] = 4;
  strides[1] = 1;
  CHECK_OK(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(b).Int(1)));
  t.byte_offset = 2;
  CHECK_FAILS_WITH(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(b).Int(1)),
                   "argument 0 (A): expected data aligned to 4 bytes");
  t.byte_offset = 0;
  t.device = {kDLCUDA, 1};
  CHECK_FAILS(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(b).Int(1)),
              "ValueError: f: argument 0 (A): expected a tensor on device cpu, but got one on "
              "cuda(1)");
  t.device = kCPU;
  t.data = nullptr;
  CHECK_FAILS_WITH(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(b).Int(1)), "NULL pointer");
  shape[0] = 0;  // nothing is read, so no data are needed
  CHECK_OK(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(Empty({0})).Int(1)));
  // Too long for an int32 variable: found before anything else of the shapes.
  shape[0] = int64_t{1} << 32;
  t.data = data;
  CHECK_FAILS(Call(m, Args().Handle(&t, kTVMDLTensorHandle).Add(b).Int(1)),
              "ValueError: f: argument 0 (A): shape[0] is 4294967296, which does not fit the int32 "
              "variable n");
}

TEST(WrittenArguments) {
  // f(A: (n,) read, B: (n,) written); B may be the same memory as A.
  auto two = [](uint64_t alias_ok) {
    return Table(2, 3)
        .Tensor(2, kF32, 0, "A", 1)
        .Bind(2, "n")
        .End()
        .Tensor(1, kF32, 1, "B", 1, alias_ok)
        .Check(2, "n")
        .End();
  };
  NDArray a = Empty({8});
  Module in_place = MakeModule(two(1)), apart = MakeModule(two(0));
  CHECK_OK(Call(in_place, Args().Add(a).Add(a)));
  CHECK_FAILS(
      Call(apart, Args().Add(a).Add(a)),
      "ValueError: f: argument 1 (B): is written, and its memory is also that of argument 0 "
      "(A); they must not share memory");
  NDArray low = a.CreateView({4}, kF32, 0), mid = a.CreateView({4}, kF32, 8),
          high = a.CreateView({4}, kF32, 16);
  CHECK_OK(Call(apart, Args().Add(low).Add(high)));
  CHECK_FAILS_WITH(Call(in_place, Args().Add(low).Add(mid)), "overlaps partly");
  NDArray none = a.CreateView({0}, kF32, 8);
  CHECK_OK(Call(apart, Args().Add(none).Add(none)));
  // Read-only memory.
  float data[4];
  int64_t shape[1] = {4};
  DLTensor t = {data, kCPU, 1, kF32, shape, nullptr, 0};
  TVMArrayHandle handle = nullptr;
  CHECK_OK(TVMArrayFromForeign(&t, kNDArrayReadOnly, nullptr, nullptr, &handle));
  NDArray read_only = NDArray::Steal(handle);
  CHECK_OK(Call(apart, Args().Add(read_only).Add(low)));
  CHECK_FAILS(Call(apart, Args().Add(low).Add(read_only)),
              "ValueError: f: argument 1 (B): is written by the function, but the array is "
              "read-only");
}

TEST(ScalarsHandlesAndExpressions) {
  // f(x: float32, h: handle, u: uint8, b: bool, n: int64, A: (n * 2 + 1,))
  Table table = Table(6, 6)
                    .Scalar(1, kF32, 0, "x")
                    .Scalar(2, {kDLOpaqueHandle, 64, 1}, 1, "h")
                    .Scalar(0, {kDLUInt, 8, 1}, 2, "u")
                    .Scalar(0, {kDLUInt, 1, 1}, 3, "b")
                    .Scalar(0, {kDLInt, 64, 1}, 4, "n")
                    .Tensor(2, kF32, 5, "A", 1)
                    .Expr({{1, 4}, {0, 2}, {4, 0}, {0, 1}, {2, 0}}, "n * 2 + 1")
                    .End();
  Module m = MakeModule(table);
  NDArray a = Empty({7});
  auto args = [&](double x, int64_t u, int64_t b, int64_t n) {
    return Args().Float(x).Handle(&a, kTVMOpaqueHandle).Int(u).Int(b).Int(n).Add(a);
  };
  CHECK_OK(Call(m, args(1.5, 255, 1, 3)));
  double x;
  memcpy(&x, &seen_slots[0], 8);
  CHECK_EQ(x, 1.5);
  CHECK_EQ(seen_slots[1], reinterpret_cast<uint64_t>(&a));
  CHECK_EQ(seen_slots[2], 255u);
  CHECK_FAILS_WITH(Call(m, args(1.5, 256, 1, 3)), "uint8 (0 to 255), but got 256");
  CHECK_FAILS_WITH(Call(m, args(1.5, -1, 1, 3)), "but got -1");
  CHECK_FAILS_WITH(Call(m, args(1.5, 1, 2, 3)), "bool (0 to 1), but got 2");
  CHECK_FAILS(
      Call(m, args(1.5, 1, 1, 4)),
      "ValueError: f: argument 5 (A): shape[0] expected 9 (n * 2 + 1), but got 7: the whole "
      "shape is (7,), expected (n * 2 + 1,)");
  Args ints = Args().Int(2).Handle(nullptr, kTVMNullptr).Int(0).Int(0).Int(3).Add(a);
  CHECK_OK(Call(m, ints));  // an int for a float, None for a handle
  memcpy(&x, &seen_slots[0], 8);
  CHECK_EQ(x, 2.0);
  CHECK_EQ(seen_slots[1], 0u);
  Args tensor_handle = Args().Int(2).Add(a).Int(0).Int(0).Int(3).Add(a);
  CHECK_OK(Call(m, tensor_handle));
  CHECK_EQ(seen_slots[1], reinterpret_cast<uint64_t>(a->data));
  Args text = Args().Handle("x", kTVMStr).Add(a).Int(0).Int(0).Int(3).Add(a);
  CHECK_FAILS(Call(m, text),
              "TypeError: f: argument 0 (x): expected a float (float32), but got str");
}

TEST(DivisionsInExpressions) {
  // opcode, a, b, result
  const int64_t cases[][4] = {{5, -7, 2, -4},        {6, -7, 2, 1},  {7, -7, 2, -3}, {8, -7, 2, -1},
                              {5, 7, -2, -4},        {6, 7, -2, -1}, {5, 9, 0, 0},   {6, 9, 0, 0},
                              {7, 9, 0, 0},          {8, 9, 0, 0},   {9, 3, -2, -2}, {10, 3, -2, 3},
                              {8, INT64_MIN, -1, 0}, {3, 2, 5, -3}};
  for (const auto& c : cases) {
    // The extent is result + 10, so that it is positive.
    Table table =
        Table(1, 1)
            .Tensor(2, kF32, 0, "A", 1)
            .Expr({{0, c[1]}, {0, c[2]}, {static_cast<int>(c[0]), 0}, {0, 10}, {2, 0}}, "e");
    table.End();
    CHECK_OK(Call(MakeModule(table), Args().Add(Empty({c[3] + 10}))));
    CHECK_FAILS_WITH(Call(MakeModule(table), Args().Add(Empty({c[3] + 11}))), "expected");
  }
}

TEST(StridedArguments) {
  // f(A: (m, n) with any strides and offset)
  Table table = Table(1, 6)
                    .Tensor(2, kF32, 0, "A", 2)
                    .Bind(1, "m")
                    .Bind(2, "n")
                    .Strides(true)
                    .Bind(3, "s0")
                    .Const(1)
                    .Bind(5, "offset");
  Module m = MakeModule(table);
  float data[64];
  int64_t shape[2] = {3, 2}, strides[2] = {-8, 1};
  DLTensor t = {data, kCPU, 2, kF32, shape, strides, 128};
  CHECK_OK(Call(m, Args().Handle(&t, kTVMDLTensorHandle)));
  CHECK_EQ(seen_slots[0], reinterpret_cast<uint64_t>(data));  // the offset has its own slot
  CHECK_EQ(static_cast<int64_t>(seen_slots[3]), -8);
  CHECK_EQ(seen_slots[5], 32u);
  strides[1] = 2;
  CHECK_FAILS_WITH(Call(m, Args().Handle(&t, kTVMDLTensorHandle)),
                   "strides[1] expected 1, but got 2");
  shape[1] = 1;  // the stride of an axis with one element never matters
  CHECK_OK(Call(m, Args().Handle(&t, kTVMDLTensorHandle)));
  t.byte_offset = 130;
  CHECK_FAILS_WITH(Call(m, Args().Handle(&t, kTVMDLTensorHandle)), "whole elements");
  NDArray a = Empty({3, 4});
  CHECK_OK(Call(m, Args().Add(a)));
  CHECK_EQ(seen_slots[3], 4u);  // compact arrays have strides, too
}

TEST(BrokenTablesAreRefused) {
  std::string good = Example().bytes();
  ArgSpec spec;
  CHECK_OK(spec.Parse(good.data(), good.size()));
  for (size_t n = 0; n < good.size(); ++n) {  // every truncation
    std::string part = good.substr(0, n);     // a copy, so that a sanitizer sees reads past its end
    ArgSpec s;
    CHECK_FAILS_WITH(s.Parse(part.data(), part.size()), "ValueError: broken argument table");
  }
  CHECK_FAILS_WITH(ArgSpec().Parse((good + "x").data(), good.size() + 1), "follow its end");
  CHECK_FAILS_WITH(ArgSpec().Parse(nullptr, 0), "NULL");
  // Random damage: parsed or refused, and then called, without a crash.
  std::mt19937 rng(11);
  NDArray a = Empty({3, 4}), b = Empty({3});
  Args args = Args().Add(a).Add(b).Int(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 1 + i % 3; ++k) bytes[rng() % bytes.size()] = static_cast<char>(rng());
    ArgSpec s;
    if (s.Parse(bytes.data(), bytes.size()) != 0) continue;
    std::vector<uint64_t> slots(s.num_slots() + 1);
    if (!s.Check(args.values.data(), args.tags.data(), 3, slots.data())) {
      CHECK(s.Explain(args.values.data(), args.tags.data(), 3) != 0);
      CHECK(tvm_test::LastError().find("InternalError") == std::string::npos);
    }
  }
  TVMErrorClear();
}

TEST(CheckAndExplainAgree) {
  // Random calls: whatever Check refuses, Explain has a reason for.
  ArgSpec spec;
  std::string table = Example().bytes();
  CHECK_OK(spec.Parse(table.data(), table.size()));
  std::mt19937 rng(12);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    float data[32];
    int64_t shape_a[2] = {static_cast<int64_t>(rng() % 3),
                          4 - static_cast<int64_t>(rng() % 8 == 0)};
    int64_t shape_b[1] = {static_cast<int64_t>(rng() % 3)};
    int64_t strides[2] = {4, 1 + static_cast<int64_t>(rng() % 4 == 0)};
    DLTensor a = {data, kCPU, 2, kF32, shape_a, rng() % 2 ? strides : nullptr, rng() % 8 ? 0u : 2u};
    DLTensor b = {data + rng() % 16, kCPU, 1, kF32, shape_b, nullptr, 0};
    if (rng() % 10 == 0) a.dtype.bits = 64;
    if (rng() % 10 == 0) b.ndim = 0;
    if (rng() % 10 == 0) b.data = nullptr;
    Args args = Args().Handle(&a, kTVMDLTensorHandle).Handle(&b, kTVMDLTensorHandle).Int(1);
    if (rng() % 10 == 0) args.tags[rng() % 3] = static_cast<int>(rng() % 5);
    uint64_t slots[4];
    if (spec.Check(args.values.data(), args.tags.data(), 3, slots)) {
      ++accepted;
      continue;
    }
    CHECK(spec.Explain(args.values.data(), args.tags.data(), 3) != 0);
    CHECK(tvm_test::LastError().find("InternalError") == std::string::npos);
  }
  CHECK(accepted > 1000);
  TVMErrorClear();
}

TEST(ModulesAndFunctions) {
  static int dropped;
  dropped = 0;
  int64_t objects = TVMRuntimeGetStat(kTVMStatObjects);
  {
    PackedFunc f;
    {
      Module m =
          MakeModule(Example(), FailingBody, &dropped, [](void* p) { ++*static_cast<int*>(p); });
      void* holder = nullptr;
      CHECK_OK(TVMModGetHolder(m.handle(), &holder));
      CHECK_EQ(holder, static_cast<void*>(&dropped));
      const char* key = nullptr;
      CHECK_OK(TVMModTypeKey(m.handle(), &key));
      CHECK_EQ(std::string(key), "llvm");
      int n = 0;
      const char** names = nullptr;
      CHECK_OK(TVMModListFunctions(m.handle(), &n, &names));
      CHECK_EQ(n, 1);
      CHECK_EQ(std::string(names[0]), "f");
      CHECK(!m.GetFunction("g"));
      CHECK(static_cast<bool>(m.GetFunction("__tvm_main__")));
      f = m.GetFunction("f");
    }
    CHECK_EQ(dropped, 0);  // the function keeps the code
    NDArray a = Empty({3, 4}), b = Empty({3});
    Args args = Args().Add(a).Add(b).Int(1);
    TVMValue v;
    int tag;
    CHECK_FAILS(TVMFuncCall(f.handle(), args.values.data(), args.tags.data(), 3, &v, &tag),
                "ValueError: from the body");
  }
  CHECK_EQ(dropped, 1);
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatObjects), objects);
  // What cannot be made leaves the holder to the caller.
  std::string table = Example().bytes();
  TVMTableFunction twice[2] = {{"f", Body, table.data(), table.size()},
                               {"f", Body, table.data(), table.size()}};
  TVMModuleHandle out = nullptr;
  auto drop = [](void* p) { ++*static_cast<int*>(p); };
  CHECK_FAILS_WITH(TVMTableModuleCreate("llvm", twice, 2, nullptr, &dropped, drop, &out),
                   "two functions named");
  CHECK_FAILS_WITH(TVMTableModuleCreate("llvm", twice, 1, "g", &dropped, drop, &out), "entry");
  CHECK_EQ(dropped, 1);
}

TEST(ImportsAreSearchedBeforeTheRegistry) {
  Module host = MakeModule(Example()), device = MakeModule(Example());
  host.Import(device);
  CHECK_FAILS_WITH(TVMModImport(device.handle(), host.handle()), "cycle");
  CHECK_FAILS_WITH(TVMModImport(host.handle(), host.handle()), "cycle");
  int n = 0;
  CHECK_OK(TVMModNumImports(host.handle(), &n));
  CHECK_EQ(n, 1);
  TVMModuleHandle import = nullptr;
  CHECK_OK(TVMModGetImport(host.handle(), 0, &import));
  CHECK_EQ(import, device.handle());
  TVMModFree(import);
  CHECK_FAILS_WITH(TVMModGetImport(host.handle(), 1, &import), "IndexError");
  TVMFunctionHandle f = nullptr, again = nullptr;
  CHECK_OK(TVMBackendGetFuncFromEnv(host.handle(), "f", &f));
  CHECK_OK(TVMBackendGetFuncFromEnv(host.handle(), "f", &again));
  CHECK_EQ(f, again);  // borrowed, so it is the same one as long as the module lives
  CHECK_FAILS_WITH(TVMBackendGetFuncFromEnv(device.handle(), "f", &f), "\"f\"");
  CHECK_OK(TVMBackendGetFuncFromEnv(device.handle(), "testing.nop", &f));
}

TEST(LibrariesThatAreNotThere) {
  TVMModuleHandle m = nullptr;
  CHECK_FAILS_WITH(TVMModLoadFromFile("/no/such/lib.so", "", &m), "\"/no/such/lib.so\"");
  CHECK_FAILS_WITH(TVMModLoadFromFile("x.tar.gz", "", &m), "format \"gz\" is not known");
}

}  // namespace

TEST_MAIN()
