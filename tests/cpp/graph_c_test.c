/* A C99 program that runs a graph without Python: out = (x + w) + w. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/runtime/c_runtime_api.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: CHECK failed: %s\nlast error: %s\n", __FILE__, __LINE__, #condition, \
              TVMGetLastError());                                                                  \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static const char* const kGraph =
    "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []},"
    " {\"op\": \"null\", \"name\": \"w\", \"inputs\": []},"
    " {\"op\": \"tvm_op\", \"name\": \"first\", \"inputs\": [[0, 0, 0], [1, 0, 0]],"
    "  \"attrs\": {\"func_name\": \"add\", \"num_inputs\": \"2\", \"num_outputs\": \"1\","
    "              \"flatten_data\": \"0\"}},"
    " {\"op\": \"tvm_op\", \"name\": \"second\", \"inputs\": [[2, 0, 0], [1, 0, 0]],"
    "  \"attrs\": {\"func_name\": \"add\", \"num_inputs\": \"2\", \"num_outputs\": \"1\","
    "              \"flatten_data\": \"0\"}}],"
    " \"arg_nodes\": [0, 1], \"heads\": [[3, 0, 0]], \"node_row_ptr\": [0, 1, 2, 3, 4],"
    " \"attrs\": {\"dltype\": [\"list_str\", [\"float32\", \"float32\", \"float32\", \"float32\"]],"
    "  \"shape\": [\"list_shape\", [[4], [4], [4], [4]]],"
    "  \"storage_id\": [\"list_int\", [0, 1, 2, 3]]}}";

static size_t put(char* to, const void* from, size_t size) {
  memcpy(to, from, size);
  return size;
}

/* The parameter file of {"w": values}. */
static size_t write_params(char* to, const float* values) {
  const uint64_t head[4] = {0xF7E58D4F05049CB7u, 0, 1, 1};
  const uint64_t array[2] = {0xDD5E40F096B4A13Fu, 0};
  const uint64_t count = 1;
  const int32_t device_and_rank[3] = {kDLCPU, 0, 1};
  const DLDataType f32 = {kDLFloat, 32, 1};
  const int64_t extent = 4;
  const int64_t bytes = 16;
  size_t at = put(to, head, sizeof(head));
  at += put(to + at, "w", 1);
  at += put(to + at, &count, sizeof(count));
  at += put(to + at, array, sizeof(array));
  at += put(to + at, device_and_rank, sizeof(device_and_rank));
  at += put(to + at, &f32, sizeof(f32));
  at += put(to + at, &extent, sizeof(extent));
  at += put(to + at, &bytes, sizeof(bytes));
  return at + put(to + at, values, 16);
}

static int call(TVMModuleHandle mod, const char* name, TVMValue* args, int* codes, int n,
                TVMValue* ret) {
  TVMFunctionHandle f = NULL;
  int code = kTVMNullptr;
  int rc;
  CHECK(TVMModGetFunction(mod, name, 0, &f) == 0 && f != NULL);
  rc = TVMFuncCall(f, args, codes, n, ret, &code);
  TVMFuncFree(f);
  return rc;
}

int main(int argc, char** argv) {
  TVMModuleHandle lib = NULL;
  TVMFunctionHandle create = NULL;
  TVMValue args[4];
  TVMValue ret;
  int codes[4] = {kTVMStr, kTVMModuleHandle, kTVMArgInt, kTVMArgInt};
  int code = kTVMNullptr;
  char blob[256];
  const float w[4] = {1, 2, 3, 4};
  const float x[4] = {10, 20, 30, 40};
  float out[4];
  TVMByteArray bytes;
  TVMModuleHandle graph;
  TVMArrayHandle array = NULL;
  int64_t shape[1] = {4};
  int64_t before = TVMRuntimeGetStat(kTVMStatObjects) + TVMRuntimeGetStat(kTVMStatArrays);
  int i;
  CHECK(argc == 2);

  CHECK(TVMModLoadFromFile(argv[1], "so", &lib) == 0);
  CHECK(TVMFuncGetGlobal("tvm.graph_executor.create", &create) == 0 && create != NULL);
  args[0].v_str = kGraph;
  args[1].v_handle = lib;
  args[2].v_int64 = kDLCPU;
  args[3].v_int64 = 0;
  CHECK(TVMFuncCall(create, args, codes, 4, &ret, &code) == 0 && code == kTVMModuleHandle);
  graph = ret.v_handle;
  TVMModFree(lib); /* the graph keeps it */

  bytes.data = blob;
  bytes.size = write_params(blob, w);
  args[0].v_handle = &bytes;
  codes[0] = kTVMBytes;
  CHECK(call(graph, "load_params", args, codes, 1, &ret) == 0);
  bytes.size -= 1;
  CHECK(call(graph, "load_params", args, codes, 1, &ret) == -1);
  CHECK(strstr(TVMGetLastError(), "the data ends early") != NULL);

  CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &array) == 0);
  CHECK(TVMArrayCopyFromBytes(array, (void*)x, sizeof(x)) == 0);
  args[0].v_str = "x";
  codes[0] = kTVMStr;
  args[1].v_handle = array;
  codes[1] = kTVMNDArrayHandle;
  CHECK(call(graph, "set_input", args, codes, 2, &ret) == 0);
  CHECK(call(graph, "run", NULL, NULL, 0, &ret) == 0);
  args[0].v_int64 = 0;
  codes[0] = kTVMArgInt;
  CHECK(call(graph, "get_output", args, codes, 2, &ret) == 0);
  CHECK(TVMArrayCopyToBytes(array, out, sizeof(out)) == 0);
  for (i = 0; i < 4; ++i) CHECK(out[i] == x[i] + 2 * w[i]);

  TVMArrayFree(array);
  TVMModFree(graph);
  TVMFuncFree(create);
  CHECK(TVMRuntimeGetStat(kTVMStatObjects) + TVMRuntimeGetStat(kTVMStatArrays) == before);
  printf("ok\n");
  return 0;
}
