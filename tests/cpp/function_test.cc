// Functions, the global table, errors, objects.
#include <sys/wait.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/registry.h>
#include <unistd.h>

#include <thread>

#include "test_util.h"

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

constexpr DLDevice kCPU = {kDLCPU, 0};

struct Result {
  TVMValue value;
  int tag = -1;
  int rc;
  std::string text() const { return tag == kTVMStr ? value.v_str : "(no text)"; }
};

Result Call(const PackedFunc& f, std::vector<TVMValue> args = {}, std::vector<int> tags = {}) {
  Result r;
  r.rc = TVMFuncCall(f.handle(), args.data(), tags.data(), static_cast<int>(args.size()), &r.value,
                     &r.tag);
  return r;
}

TVMValue Int(int64_t v) {
  TVMValue r;
  r.v_int64 = v;
  return r;
}
TVMValue Text(const char* v) {
  TVMValue r;
  r.v_str = v;
  return r;
}
TVMValue Handle(void* v) {
  TVMValue r;
  r.v_handle = v;
  return r;
}

TEST(ReturnsOfEveryKind) {
  PackedFunc nothing([](TVMArgs, TVMRetValue*) {});
  CHECK_EQ(Call(nothing).tag, static_cast<int>(kTVMNullptr));
  PackedFunc sum(
      [](TVMArgs args, TVMRetValue* rv) { *rv = args.values[0].v_int64 + args.values[1].v_int64; });
  CHECK_EQ(Call(sum, {Int(3), Int(4)}, {0, 0}).value.v_int64, 7);
  PackedFunc half(
      [](TVMArgs args, TVMRetValue* rv) { *rv = static_cast<double>(args.values[0].v_int64) / 2; });
  Result r = Call(half, {Int(3)}, {0});
  CHECK_EQ(r.tag, static_cast<int>(kTVMArgFloat));
  CHECK_EQ(r.value.v_float64, 1.5);
  PackedFunc twice([](TVMArgs args, TVMRetValue* rv) {
    *rv = std::string(args.values[0].v_str) + args.values[0].v_str;
  });
  CHECK_EQ(Call(twice, {Text("ab")}, {kTVMStr}).text(), "abab");
  PackedFunc array(
      [](TVMArgs, TVMRetValue* rv) { *rv = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU); });
  r = Call(array);
  CHECK_EQ(r.tag, static_cast<int>(kTVMNDArrayHandle));
  CHECK_EQ(NDArray::Steal(static_cast<DLTensor*>(r.value.v_handle)).use_count(), 1);
  PackedFunc dtype([](TVMArgs, TVMRetValue* rv) {
    TVMValue v;
    v.v_type = {kDLUInt, 1, 4};
    rv->Set(v, kTVMDataType);
  });
  CHECK_EQ(Call(dtype).text(), "uint1x4");
  PackedFunc bytes([](TVMArgs, TVMRetValue* rv) {
    TVMByteArray b = {"a\0b", 3};
    rv->Set(Handle(&b), kTVMBytes);
  });
  r = Call(bytes);
  CHECK_EQ(r.tag, static_cast<int>(kTVMBytes));
  auto* b = static_cast<TVMByteArray*>(r.value.v_handle);
  CHECK_EQ(std::string(b->data, b->size), std::string("a\0b", 3));
}

TEST(TextSurvivesLaterCallsOfTheCallee) {
  PackedFunc other([](TVMArgs, TVMRetValue* rv) { *rv = std::string("other"); });
  PackedFunc f([other](TVMArgs, TVMRetValue* rv) {
    *rv = std::string("mine");
    Call(other);
  });
  CHECK_EQ(Call(f).text(), "mine");
}

TEST(ResultsAreDroppedWhenNobodyWantsThem) {
  int64_t arrays = TVMRuntimeGetStat(kTVMStatArrays);
  PackedFunc f([](TVMArgs, TVMRetValue* rv) {
    *rv = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU);
    *rv = NDArray::Empty({3}, {kDLFloat, 32, 1}, kCPU);  // replaces the first
  });
  CHECK_OK(TVMFuncCall(f.handle(), nullptr, nullptr, 0, nullptr, nullptr));
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays);
  PackedFunc fails([](TVMArgs, TVMRetValue* rv) {
    *rv = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU);
    throw std::runtime_error("ValueError: after the result");
  });
  Result r = Call(fails);
  CHECK_FAILS(r.rc, "ValueError: after the result");
  CHECK_EQ(r.tag, static_cast<int>(kTVMNullptr));
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatArrays), arrays);
}

TEST(BadHandlesAndArguments) {
  TVMValue v;
  int tag;
  CHECK_FAILS_WITH(TVMFuncCall(nullptr, nullptr, nullptr, 0, &v, &tag), "TypeError");
  CHECK_FAILS_WITH(TVMFuncCreateFromCFunc(nullptr, nullptr, nullptr, nullptr), "TypeError");
  CHECK_FAILS_WITH(TVMFuncRegisterGlobal("x", nullptr, 0), "TypeError");
  CHECK_FAILS_WITH(TVMFuncGetGlobal(nullptr, nullptr), "TypeError");
  NDArray a = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU);
  TVMObjectHandle not_a_function = NDArrayContainer::FromHandle(a.handle());
  CHECK_FAILS(TVMFuncRegisterGlobal("x", not_a_function, 0),
              "TypeError: TVMFuncRegisterGlobal: expected a function, but got an object of type "
              "runtime.NDArray");
  CHECK_FAILS_WITH(TVMModFree(nullptr) || TVMModTypeKey(not_a_function, nullptr),
                   "expected a module");
  CHECK_OK(TVMFuncFree(nullptr));
  CHECK_OK(TVMArrayFree(nullptr));
  PackedFunc alloc = Registry::Get("runtime.TVMArrayAllocWithScope");
  CHECK_FAILS(Call(alloc, {Int(1), Int(2)}, {0, 0}).rc,
              "TypeError: runtime.TVMArrayAllocWithScope: argument 0: expected a ShapeTuple, but "
              "got int");
  CHECK_FAILS_WITH(Call(alloc).rc, "expects 2 to 4 arguments, but got 0");
}

TEST(GlobalTable) {
  Registry::Register("function_test.f", [](TVMArgs, TVMRetValue* rv) { *rv = int64_t{1}; });
  PackedFunc first = Registry::Get("function_test.f");
  PackedFunc second([](TVMArgs, TVMRetValue* rv) { *rv = int64_t{2}; });
  CHECK_FAILS(TVMFuncRegisterGlobal("function_test.f", second.handle(), 0),
              "ValueError: global function \"function_test.f\" is registered already; pass "
              "override=True to replace it");
  // What compiled code has looked up stays alive when it is replaced, and when that is removed.
  TVMFunctionHandle borrowed = nullptr;
  CHECK_OK(TVMBackendGetFuncFromEnv(nullptr, "function_test.f", &borrowed));
  CHECK_EQ(borrowed, first.handle());
  CHECK_OK(TVMFuncRegisterGlobal("function_test.f", second.handle(), 1));
  CHECK_EQ(Call(Registry::Get("function_test.f")).value.v_int64, 2);
  Registry::Remove("function_test.f");
  first = PackedFunc();
  TVMValue v;
  int tag;
  CHECK_OK(TVMFuncCall(borrowed, nullptr, nullptr, 0, &v, &tag));
  CHECK_EQ(v.v_int64, 1);
  CHECK(!Registry::Get("function_test.f"));
  CHECK_FAILS_WITH(TVMFuncRemoveGlobal("function_test.f"), "\"function_test.f\"");
  CHECK_FAILS_WITH(TVMBackendGetFuncFromEnv(nullptr, "function_test.f", &borrowed),
                   "function_test.f");
}

TEST(GlobalTableUnderThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 300; ++i) {
        std::string name = "function_test.thread" + std::to_string((t + i) % 3);
        PackedFunc f([i](TVMArgs, TVMRetValue* rv) { *rv = int64_t{i}; });
        CHECK_OK(TVMFuncRegisterGlobal(name.c_str(), f.handle(), 1));
        PackedFunc g = Registry::Get(name);
        if (g) Call(g);
        Registry::ListNames();
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(FinalizersRunOnce) {
  static int finalized;
  finalized = 0;
  TVMFunctionHandle f = nullptr;
  auto body = [](TVMValue*, int*, int, TVMRetValueHandle, void*) { return 0; };
  CHECK_OK(TVMFuncCreateFromCFunc(body, nullptr, [](void*) { ++finalized; }, &f));
  CHECK_OK(TVMObjectRetain(f));
  TVMFuncFree(f);
  CHECK_EQ(finalized, 0);
  TVMFuncFree(f);
  CHECK_EQ(finalized, 1);
}

TEST(ErrorKinds) {
  const char *kind, *message, *traceback;
  TVMAPISetLastError("ValueError: too small");
  CHECK_OK(TVMErrorGet(&kind, &message, &traceback));
  CHECK_EQ(std::string(kind) + "|" + message + "|" + traceback, "ValueError|too small|");
  CHECK_EQ(std::string(TVMGetLastError()), "ValueError: too small");
  TVMAPISetLastError("Nothing: of that kind");
  CHECK_OK(TVMErrorGet(&kind, &message, nullptr));
  CHECK_EQ(std::string(kind) + "|" + message, "TVMError|Nothing: of that kind");
  CHECK_EQ(std::string(TVMGetLastError()), "Nothing: of that kind");
  TVMErrorSet("KeyError", "k", "file.py:3");
  CHECK_EQ(std::string(TVMGetLastBacktrace()), "file.py:3");
  TVMAPISetLastError(nullptr);
  TVMErrorClear();
  CHECK(TVMErrorGet(&kind, &message, nullptr) != 0);
  CHECK_EQ(std::string(TVMGetLastError()), "");
  // A kind that a frontend adds.
  PackedFunc add = Registry::Get("runtime.RegisterErrorKind");
  CHECK_OK(Call(add, {Text("FunctionTestProblem")}, {kTVMStr}).rc);
  TVMAPISetLastError("FunctionTestProblem: x");
  CHECK_OK(TVMErrorGet(&kind, nullptr, nullptr));
  CHECK_EQ(std::string(kind), "FunctionTestProblem");
  // The error's own text may be its next text.
  TVMAPISetLastError(TVMGetLastError());
  CHECK_EQ(std::string(TVMGetLastError()), "FunctionTestProblem: x");
  TVMErrorClear();
}

int payloads_dropped = 0;
void DropPayload(void*) { ++payloads_dropped; }

TEST(PayloadsAreOwnedExactlyOnce) {
  int object = 0;
  payloads_dropped = 0;
  TVMErrorSetPayload("ValueError", "a", "", &object, DropPayload);
  CHECK_EQ(TVMGetLastPythonError(), static_cast<void*>(&object));
  TVMErrorSet("ValueError", "b", "");  // replaced
  CHECK_EQ(payloads_dropped, 1);
  TVMErrorSetPayload("ValueError", "a", "", &object, DropPayload);
  CHECK_EQ(TVMErrorTakePayload(), static_cast<void*>(&object));
  CHECK_EQ(payloads_dropped, 1);
  CHECK_EQ(TVMErrorTakePayload(), static_cast<void*>(nullptr));
  // Moved to another thread, which ends with it.
  TVMErrorSetPayload("ValueError", "moved", "tb", &object, DropPayload);
  void* state = TVMErrorTake();
  CHECK(TVMErrorGet(nullptr, nullptr, nullptr) != 0);
  std::thread([state] {
    TVMErrorRestore(state);
    CHECK_EQ(tvm_test::LastError(), "ValueError: moved");
  }).join();
  CHECK_EQ(payloads_dropped, 2);
  TVMErrorRestore(nullptr);
  CHECK_EQ(TVMErrorTake(), static_cast<void*>(nullptr));
}

TEST(ForeignErrorsPassThroughCpp) {
  // A callback fails with a payload; C++ code in between throws and rethrows.
  static int object;
  payloads_dropped = 0;
  PackedFunc inner = [] {
    TVMFunctionHandle f = nullptr;
    auto body = [](TVMValue*, int*, int, TVMRetValueHandle, void*) {
      TVMErrorSetPayload("KeyError", "inner", "tb", &object, DropPayload);
      return -2;
    };
    CheckCall(TVMFuncCreateFromCFunc(body, nullptr, nullptr, &f));
    return PackedFunc::Steal(f);
  }();
  PackedFunc outer([inner](TVMArgs, TVMRetValue*) {
    TVMValue v;
    int tag;
    inner.CallPacked(nullptr, nullptr, 0, &v, &tag);
  });
  CHECK(Call(outer).rc != 0);
  CHECK_EQ(tvm_test::LastError(), "KeyError: inner");
  CHECK_EQ(TVMErrorTakePayload(), static_cast<void*>(&object));
  PackedFunc swallows([inner](TVMArgs, TVMRetValue* rv) {
    try {
      TVMValue v;
      int tag;
      inner.CallPacked(nullptr, nullptr, 0, &v, &tag);
    } catch (const std::exception& e) {
      *rv = std::string(e.what());
    }
  });
  CHECK_EQ(Call(swallows).text(), "KeyError: inner");
  CHECK_EQ(payloads_dropped, 1);
}

TEST(Objects) {
  unsigned index = 0;
  CHECK_OK(TVMObjectTypeKey2Index("runtime.ShapeTuple", &index));
  CHECK_EQ(index, static_cast<unsigned>(kTVMTypeShapeTuple));
  CHECK_FAILS_WITH(TVMObjectTypeKey2Index("no.such.type", &index), "no.such.type");
  char* key = nullptr;
  CHECK_OK(TVMObjectTypeIndex2Key(kTVMTypeModule, &key));
  CHECK_EQ(std::string(key), "runtime.Module");
  TVMStringFree(key);
  CHECK_FAILS_WITH(TVMObjectTypeIndex2Key(4711, &key), "4711");
  int64_t values[3] = {1, 2, 3};
  TVMObjectHandle tuple = nullptr;
  int64_t objects = TVMRuntimeGetStat(kTVMStatObjects);
  CHECK_OK(TVMShapeTupleCreate(values, 3, &tuple));
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatObjects), objects + 1);
  const int64_t* got = nullptr;
  int64_t size = 0;
  CHECK_OK(TVMShapeTupleGet(tuple, &got, &size));
  CHECK_EQ(size, 3);
  CHECK_EQ(got[2], 3);
  CHECK_FAILS_WITH(TVMShapeTupleCreate(nullptr, -1, &tuple), "ValueError");
  CHECK_FAILS_WITH(TVMShapeTupleCreate(values, INT64_MAX, &tuple), "too large");
  void* self = nullptr;
  CHECK_FAILS_WITH(TVMHolderGet(tuple, &self), "expected a holder");
  TVMObjectFree(tuple);
  static int dropped;
  dropped = 0;
  TVMObjectHandle holder = nullptr;
  CHECK_OK(TVMHolderCreate(&dropped, [](void* p) { ++*static_cast<int*>(p); }, &holder));
  CHECK_OK(TVMHolderGet(holder, &self));
  CHECK_EQ(self, static_cast<void*>(&dropped));
  CHECK_FAILS_WITH(TVMShapeTupleGet(holder, &got, &size), "runtime.Holder");
  std::thread([holder] { TVMObjectFree(holder); }).join();
  CHECK_EQ(dropped, 1);
  CHECK_EQ(TVMRuntimeGetStat(kTVMStatObjects), objects);
}

TEST(TestingFunctions) {
  NDArray a = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU);
  PackedFunc echo = Registry::Get("testing.echo");
  Result r = Call(echo, {Handle(a.handle())}, {kTVMNDArrayHandle});
  CHECK_EQ(r.value.v_handle, static_cast<void*>(a.handle()));
  CHECK_EQ(a.use_count(), 2);
  TVMArrayFree(static_cast<DLTensor*>(r.value.v_handle));
  CHECK_EQ(Call(echo, {Text("t")}, {kTVMStr}).text(), "t");
  // A borrowed tensor comes back as an array of its own.
  *static_cast<float*>(a->data) = 3;
  r = Call(echo, {Handle(a.handle())}, {kTVMDLTensorHandle});
  NDArray copy = NDArray::Steal(static_cast<DLTensor*>(r.value.v_handle));
  CHECK(copy.handle() != a.handle());
  CHECK_EQ(*static_cast<float*>(copy->data), 3.0f);
  PackedFunc fail = PackedFunc::Steal(
      Call(Registry::Get("testing.test_raise_error_callback"), {Text("IndexError: i")}, {kTVMStr})
          .value.v_handle);
  PackedFunc wrapped = PackedFunc::Steal(Call(Registry::Get("testing.test_wrap_callback"),
                                              {Handle(fail.handle())}, {kTVMPackedFuncHandle})
                                             .value.v_handle);
  CHECK_FAILS(Call(wrapped).rc, "IndexError: i");
  PackedFunc use = Registry::Get("testing.object_use_count");
  CHECK_EQ(Call(use, {Handle(fail.handle())}, {kTVMPackedFuncHandle}).value.v_int64, 2);
}

#if !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)  // whose allocator's locks fork does not reset
TEST(ForkWhileOthersUseTheTables) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      Registry::ListNames();
      TVMAPISetLastError("ValueError: x");
    }
  });
  for (int i = 0; i < 20; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      NDArray a = NDArray::Empty({2}, {kDLFloat, 32, 1}, kCPU);
      TVMAPISetLastError("ValueError: in the child");
      _exit(Registry::ListNames().empty() ? 1 : 0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
  }
  stop = true;
  other.join();
}
#endif

TEST(RunOnce) {
  static int runs;
  runs = 0;
  void* handle = nullptr;
  auto f = [](void*) { return ++runs == 1 ? -1 : 0; };
  CHECK_EQ(TVMBackendRunOnce(&handle, f, nullptr, 0), -1);  // a failure may be repeated
  CHECK_OK(TVMBackendRunOnce(&handle, f, nullptr, 0));
  CHECK_OK(TVMBackendRunOnce(&handle, f, nullptr, 0));
  CHECK_EQ(runs, 2);
}

}  // namespace

TEST_MAIN()
