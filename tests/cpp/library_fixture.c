/* A library as a compiler makes it: functions in the packed form, no undefined symbols of the
 * runtime, which is reached through slots that the loader fills. */
#include <tvm/runtime/c_backend_api.h>

#define SLOT __attribute__((weak, visibility("default")))

SLOT int (*__TVMFuncCall)(TVMFunctionHandle, TVMValue*, int*, int, TVMValue*, int*) = 0;
SLOT void (*__TVMAPISetLastError)(const char*) = 0;
SLOT int (*__TVMBackendGetFuncFromEnv)(void*, const char*, TVMFunctionHandle*) = 0;
SLOT void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = 0;
SLOT int (*__TVMBackendFreeWorkspace)(int, int, void*) = 0;
SLOT void* __tvm_module_ctx = 0;
SLOT const char __tvm_main__[] = "add_one";

/* ret = args[0] + 1 */
TVM_DLL int add_one(TVMValue* args, int* tags, int n, TVMValue* ret, int* ret_tag, void* resource) {
  (void)resource;
  if (n != 1 || tags[0] != kTVMArgInt) {
    __TVMAPISetLastError("Assert fail: add_one expects an int");
    return -1;
  }
  ret->v_int64 = args[0].v_int64 + 1;
  *ret_tag = kTVMArgInt;
  return 0;
}

/* Calls a function that is found by name, in the imports or among the global ones. */
TVM_DLL int call_out(TVMValue* args, int* tags, int n, TVMValue* ret, int* ret_tag,
                     void* resource) {
  TVMFunctionHandle f = 0;
  (void)resource;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "library_test.callee", &f) != 0) return -1;
  return __TVMFuncCall(f, args, tags, n, ret, ret_tag);
}

TVM_DLL int workspace(TVMValue* args, int* tags, int n, TVMValue* ret, int* ret_tag,
                      void* resource) {
  int* memory = (int*)__TVMBackendAllocWorkspace(1, 0, 4096, 0, 32);
  (void)args, (void)tags, (void)n, (void)resource;
  if (memory == 0) return -1;
  memory[1023] = 5;
  ret->v_int64 = memory[1023];
  *ret_tag = kTVMArgInt;
  return __TVMBackendFreeWorkspace(1, 0, memory);
}

/* Fails and says nothing. */
TVM_DLL int silent(TVMValue* args, int* tags, int n, TVMValue* ret, int* ret_tag, void* resource) {
  (void)args, (void)tags, (void)n, (void)ret, (void)ret_tag, (void)resource;
  return 7;
}
