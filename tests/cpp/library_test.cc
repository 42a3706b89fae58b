// Modules over shared libraries.
#include <dlfcn.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/module.h>
#include <tvm/runtime/registry.h>
#include <unistd.h>

#include <string>

#include "test_util.h"

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

struct Result {
  TVMValue value;
  int tag;
  int rc;
};

Result Call(const PackedFunc& f, int64_t argument, int tag = kTVMArgInt) {
  Result r;
  TVMValue v;
  v.v_int64 = argument;
  r.rc = TVMFuncCall(f.handle(), &v, &tag, 1, &r.value, &r.tag);
  return r;
}

Module Load() { return Module::LoadFromFile(TVM_TEST_LIBRARY, "so"); }

TEST(CallsFunctionsOfALibrary) {
  Module m = Load();
  PackedFunc f = m.GetFunction("add_one");
  REQUIRE(static_cast<bool>(f));
  CHECK_EQ(Call(f, 4).value.v_int64, 5);
  CHECK_FAILS(Call(f, 4, kTVMNullptr).rc, "TVMError: Assert fail: add_one expects an int");
  CHECK_EQ(Call(m.GetFunction("__tvm_main__"), 9).value.v_int64, 10);
  CHECK_EQ(Call(m.GetFunction("workspace"), 0).value.v_int64, 5);
  CHECK_FAILS(Call(m.GetFunction("silent"), 0).rc,
              "RuntimeError: silent: failed with code 7, and set no error");
}

TEST(FilesOfTheCurrentFolderNeedNoPath) {
  std::string path = TVM_TEST_LIBRARY;
  size_t slash = path.rfind('/');
  REQUIRE(slash != std::string::npos);
  char before[4096];
  REQUIRE(getcwd(before, sizeof(before)) != nullptr);
  REQUIRE(chdir(path.substr(0, slash).c_str()) == 0);
  Module m = Module::LoadFromFile(path.substr(slash + 1), "so");
  CHECK_EQ(Call(m.GetFunction("add_one"), 4).value.v_int64, 5);
  REQUIRE(chdir(before) == 0);
  TVMModuleHandle out;
  CHECK_FAILS_WITH(TVMModLoadFromFile("no_such_library.so", "so", &out), "no_such_library.so");
}

TEST(OnlyFunctionsOfTheLibraryItselfAreFound) {
  Module m = Load();
  CHECK(!m.GetFunction("no_such_function"));
  CHECK(!m.GetFunction("malloc"));            // of a dependency
  CHECK(!m.GetFunction("__tvm_module_ctx"));  // data
  CHECK(!m.GetFunction("TVMFuncCall"));
}

TEST(StaleErrorsAreNotBlamed) {
  Module m = Load();
  TVMAPISetLastError("ValueError: of an earlier call");
  CHECK_FAILS_WITH(Call(m.GetFunction("silent"), 0).rc, "silent: failed with code 7");
}

TEST(CallsOutThroughTheEnvironment) {
  PackedFunc f;
  {
    Module m = Load();
    f = m.GetFunction("call_out");
    CHECK_FAILS_WITH(Call(f, 1).rc, "\"library_test.callee\"");
    Registry::Register("library_test.callee",
                       [](TVMArgs args, TVMRetValue* rv) { *rv = args.values[0].v_int64 * 10; });
  }
  CHECK_EQ(Call(f, 4).value.v_int64, 40);  // the function keeps library and module
  Registry::Remove("library_test.callee");
  Registry::Register("library_test.callee", [](TVMArgs, TVMRetValue* rv) { *rv = int64_t{-1}; });
  CHECK_EQ(Call(f, 4).value.v_int64, -1);
}

int SystemFunction(TVMValue* args, int*, int, TVMValue* ret, int* ret_tag, void*) {
  ret->v_int64 = args[0].v_int64 + 100;
  *ret_tag = kTVMArgInt;
  return 0;
}

TEST(FunctionsThatRegisterThemselves) {
  void* context = nullptr;
  CHECK_OK(TVMBackendRegisterSystemLibSymbol("library_test_f",
                                             reinterpret_cast<void*>(&SystemFunction)));
  CHECK_OK(TVMBackendRegisterSystemLibSymbol("library_test___tvm_module_ctx", &context));
  PackedFunc get = Registry::Get("runtime.SystemLib");
  REQUIRE(static_cast<bool>(get));
  TVMValue prefix, v;
  prefix.v_str = "library_test_";
  int tag = kTVMStr, ret_tag;
  CHECK_OK(TVMFuncCall(get.handle(), &prefix, &tag, 1, &v, &ret_tag));
  Module m = Module::Steal(v.v_handle);
  CHECK_EQ(context, m.handle());
  CHECK_EQ(Call(m.GetFunction("f"), 1).value.v_int64, 101);
  CHECK(!m.GetFunction("g"));
}

TEST(LibrariesAreUnloaded) {
  auto loaded = [] {
    void* handle = dlopen(TVM_TEST_LIBRARY, RTLD_NOLOAD | RTLD_LAZY);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  };
  {
    Module m = Load();
    CHECK(loaded());
  }
  CHECK(!loaded());
}

}  // namespace

TEST_MAIN()
