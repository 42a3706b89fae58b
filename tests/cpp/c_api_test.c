/* A C99 program that uses the runtime without Python: arrays, copies, functions, errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvm/runtime/device_api.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: CHECK failed: %s\nlast error: %s\n", __FILE__, __LINE__, #condition, \
              TVMGetLastError());                                                                  \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static int add_arrays(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  DLTensor* a;
  DLTensor* b;
  int64_t i;
  double sum = 0;
  TVMValue value;
  int code = kTVMArgFloat;
  if (n != 2 || codes[0] != kTVMNDArrayHandle || codes[1] != kTVMNDArrayHandle) {
    TVMAPISetLastError("TypeError: add_arrays: expects two arrays");
    return -1;
  }
  a = (DLTensor*)args[0].v_handle;
  b = (DLTensor*)args[1].v_handle;
  for (i = 0; i < a->shape[0]; ++i) {
    sum += ((float*)a->data)[i] + ((float*)b->data)[i];
  }
  *(int*)resource += 1;
  value.v_float64 = sum;
  return TVMCFuncSetReturn(ret, &value, &code, 1);
}

static int greet(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  char text[64];
  TVMValue value;
  int code = kTVMStr;
  (void)resource;
  if (n != 1 || codes[0] != kTVMStr) {
    TVMAPISetLastError("greet expects a name");
    return -1;
  }
  snprintf(text, sizeof(text), "hello, %s", args[0].v_str);
  value.v_str = text;
  return TVMCFuncSetReturn(ret, &value, &code, 1);
}

static int finalized = 0;
static void finalize(void* resource) {
  (void)resource;
  ++finalized;
}

static void test_arrays(void) {
  int64_t shape[2] = {3, 4};
  float in[12];
  float out[12];
  TVMArrayHandle a = NULL;
  TVMArrayHandle b = NULL;
  TVMArrayHandle view = NULL;
  DLDataType f32 = {kDLFloat, 32, 1};
  DLDevice cpu = {kDLCPU, 0};
  int64_t flat[1] = {4};
  int64_t bad[2] = {3, -4};
  int64_t before = TVMRuntimeGetStat(kTVMStatArrays);
  int i;
  for (i = 0; i < 12; ++i) in[i] = (float)i;
  CHECK(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &a) == 0);
  CHECK(TVMArrayEmpty(shape, 2, f32, cpu, NULL, &b) == 0);
  CHECK((uintptr_t)a->data % 64 == 0);
  CHECK(TVMArrayCopyFromBytes(a, in, sizeof(in)) == 0);
  CHECK(TVMArrayCopyFromTo(a, b, NULL) == 0);
  CHECK(TVMArrayCopyToBytes(b, out, sizeof(out)) == 0);
  CHECK(memcmp(in, out, sizeof(in)) == 0);
  CHECK(TVMArrayView(b, flat, 1, f32, 16, &view) == 0);
  CHECK(*(float*)((char*)view->data + view->byte_offset) == 4.0f);
  CHECK(TVMArrayCopyFromBytes(a, in, 5) == -1);
  CHECK(strstr(TVMGetLastError(), "ValueError: ") == TVMGetLastError());
  CHECK(TVMArrayFree(a) == 0);
  CHECK(TVMArrayAlloc(bad, 2, kDLFloat, 32, 1, kDLCPU, 0, &a) == -1);
  CHECK(strstr(TVMGetLastError(), "(3, -4)") != NULL);
  CHECK(TVMArrayFree(b) == 0);
  CHECK(*(float*)((char*)view->data + view->byte_offset) == 4.0f); /* the view keeps it */
  CHECK(TVMArrayFree(view) == 0);
  CHECK(TVMRuntimeGetStat(kTVMStatArrays) == before);
}

static void test_functions(void) {
  TVMFunctionHandle f = NULL;
  TVMFunctionHandle g = NULL;
  TVMArrayHandle arrays[2];
  TVMValue args[2];
  int codes[2] = {kTVMNDArrayHandle, kTVMNDArrayHandle};
  int64_t shape[1] = {2};
  float data[2] = {1.5f, 2.0f};
  TVMValue ret;
  int ret_code;
  int calls = 0;
  int size = 0;
  int found = 0;
  const char** names = NULL;
  int i;
  CHECK(TVMFuncCreateFromCFunc(add_arrays, &calls, finalize, &f) == 0);
  CHECK(TVMFuncRegisterGlobal("c_api_test.add", f, 0) == 0);
  CHECK(TVMFuncRegisterGlobal("c_api_test.add", f, 0) == -1);
  CHECK(strstr(TVMGetLastError(), "c_api_test.add") != NULL);
  CHECK(TVMFuncRegisterGlobal("c_api_test.add", f, 1) == 0);
  CHECK(TVMFuncFree(f) == 0);
  CHECK(TVMFuncGetGlobal("c_api_test.add", &g) == 0 && g != NULL);
  for (i = 0; i < 2; ++i) {
    CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &arrays[i]) == 0);
    CHECK(TVMArrayCopyFromBytes(arrays[i], data, sizeof(data)) == 0);
    args[i].v_handle = arrays[i];
  }
  CHECK(TVMFuncCall(g, args, codes, 2, &ret, &ret_code) == 0);
  CHECK(ret_code == kTVMArgFloat && ret.v_float64 == 7.0 && calls == 1);
  CHECK(TVMFuncCall(g, args, codes, 1, &ret, &ret_code) == -1);
  CHECK(strcmp(TVMGetLastError(), "TypeError: add_arrays: expects two arrays") == 0);
  CHECK(TVMFuncListGlobalNames(&size, &names) == 0);
  for (i = 0; i < size; ++i) found += strcmp(names[i], "c_api_test.add") == 0;
  CHECK(found == 1);
  CHECK(TVMFuncRemoveGlobal("c_api_test.add") == 0);
  CHECK(finalized == 0);
  CHECK(TVMFuncFree(g) == 0);
  CHECK(finalized == 1);
  CHECK(TVMFuncGetGlobal("c_api_test.add", &g) == 0 && g == NULL);
  CHECK(TVMFuncRemoveGlobal("c_api_test.add") == -1);

  CHECK(TVMFuncCreateFromCFunc(greet, NULL, NULL, &f) == 0);
  args[0].v_str = "C";
  codes[0] = kTVMStr;
  CHECK(TVMFuncCall(f, args, codes, 1, &ret, &ret_code) == 0);
  CHECK(ret_code == kTVMStr && strcmp(ret.v_str, "hello, C") == 0);
  CHECK(TVMFuncCall(f, args, codes, 0, &ret, &ret_code) == -1);
  CHECK(strcmp(TVMGetLastError(), "greet expects a name") == 0);
  CHECK(TVMFuncFree(f) == 0);
  for (i = 0; i < 2; ++i) CHECK(TVMArrayFree(arrays[i]) == 0);
}

static int double_in_parallel(int task_id, TVMParallelGroupEnv* env, void* data) {
  (void)env;
  ((int*)data)[task_id] *= 2;
  return 0;
}

static void test_backend(void) {
  int values[4] = {1, 2, 3, 4};
  void* handle = NULL;
  char* w = (char*)TVMBackendAllocWorkspace(kDLCPU, 0, 1000, kDLFloat, 32);
  CHECK(w != NULL && (uintptr_t)w % 64 == 0);
  memset(w, 1, 1000);
  CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, w) == 0);
  CHECK(TVMBackendParallelLaunch(double_in_parallel, values, 4) == 0);
  CHECK(values[0] == 2 && values[3] == 8);
  CHECK(TVMBackendGetFuncFromEnv(NULL, "testing.nop", &handle) == 0 && handle != NULL);
  CHECK(TVMBackendGetFuncFromEnv(NULL, "testing.no_such_function", &handle) == -1);
  CHECK(TVMRuntimeNumThreads() >= 1);
}

static void test_devices(void) {
  TVMValue value;
  int code;
  DLDevice cpu = {kDLCPU, 0};
  DLDevice cuda = {kDLCUDA, 0};
  int64_t shape[1] = {4};
  TVMArrayHandle a = NULL;
  CHECK(TVMDeviceGetAttr(cpu, kTVMAttrExist, &value, &code) == 0);
  CHECK(code == kTVMArgInt && value.v_int64 == 1);
  CHECK(TVMDeviceGetAttr(cuda, kTVMAttrExist, &value, &code) == 0 && code == kTVMArgInt);
  if (value.v_int64 == 0) {
    CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCUDA, 0, &a) == -1);
    CHECK(strstr(TVMGetLastError(), "RuntimeError: device cuda") == TVMGetLastError());
  }
  CHECK(TVMSynchronize(kDLCPU, 0, NULL) == 0);
}

int main(void) {
  test_arrays();
  test_functions();
  test_backend();
  test_devices();
  printf("c_api_test: ok\n");
  return 0;
}
