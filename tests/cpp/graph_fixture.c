/* A library in the classic form: add(A, B, C) of float32, written by hand. */
#include <tvm/runtime/c_backend_api.h>

TVM_DLL int add(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* resource) {
  DLTensor* a = (DLTensor*)args[0].v_handle;
  DLTensor* b = (DLTensor*)args[1].v_handle;
  DLTensor* c = (DLTensor*)args[2].v_handle;
  int64_t i;
  (void)codes;
  (void)ret;
  (void)ret_code;
  (void)resource;
  if (n != 3) return -1;
  for (i = 0; i < a->shape[0]; ++i) {
    ((float*)c->data)[i] = ((float*)a->data)[i] + ((float*)b->data)[i];
  }
  return 0;
}

/* Does nothing, to measure what a node costs beyond its kernel. */
TVM_DLL int nothing(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code,
                    void* resource) {
  (void)args;
  (void)codes;
  (void)n;
  (void)ret;
  (void)ret_code;
  (void)resource;
  return 0;
}
