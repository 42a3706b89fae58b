/*
 * The C API of the runtime (C99). Everything that crosses a library border goes through here.
 *
 * Convention: 0 is success; -1 is failure with the calling thread's error set (TVMGetLastError);
 * -2 is failure with a foreign exception kept as the error's payload (TVMGetLastPythonError).
 * "New reference" means that the caller releases the result; "borrowed" means that it must not.
 */
#ifndef TVM_RUNTIME_C_RUNTIME_API_H_
#define TVM_RUNTIME_C_RUNTIME_API_H_

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifndef TVM_DLL
#if defined(_WIN32)
#ifdef TVM_RUNTIME_EXPORTS
#define TVM_DLL __declspec(dllexport)
#else
#define TVM_DLL __declspec(dllimport)
#endif
#else
#define TVM_DLL __attribute__((visibility("default")))
#endif
#endif

#define TVM_LITE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Device numbers that are TVM's own, beside DLDeviceType. */
enum { kDLAOCL = 32, kDLSDAccel = 33, kOpenGL = 34, kDLMicroDev = 35 };

/* Element kinds inside the runtime. Codes 6 and 7 differ from DLPack's: see array conversions in
 * src/runtime/dlpack_convert.h. bool is (kDLUInt, 1 bit), one byte an element. */
enum { kTVMBFloat = 4, kTVME4M3Float8 = 6, kTVME5M2Float8 = 7, kTVMCustomBegin = 129 };

/* Tags of argument and return cells. kDLInt (0) and kDLFloat (2) are the scalars. */
typedef enum {
  kTVMArgInt = 0,
  kTVMArgFloat = 2,
  kTVMOpaqueHandle = 3,
  kTVMNullptr = 4,
  kTVMDataType = 5,
  kDLDevice = 6,
  kTVMDLTensorHandle = 7,
  kTVMObjectHandle = 8,
  kTVMModuleHandle = 9,
  kTVMPackedFuncHandle = 10,
  kTVMStr = 11,
  kTVMBytes = 12,
  kTVMNDArrayHandle = 13,
  kTVMObjectRValueRefArg = 14,
  kTVMArgBool = 15
} TVMArgTypeCode;

typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;

typedef struct {
  const char* data;
  size_t size;
} TVMByteArray;

/* A 16-byte header stands before every object. An array handle points at the DLTensor that follows
 * its header, so array handle == object handle + 16. */
typedef struct TVMObjectHeader {
  uint32_t type_index;
  int32_t ref_counter; /* touched atomically */
  void (*deleter)(struct TVMObjectHeader* self);
} TVMObjectHeader;

/* Fixed type indices; dynamic ones begin at kTVMDynamicTypeBegin. */
enum {
  kTVMTypeRoot = 0,
  kTVMTypeModule = 1,
  kTVMTypeNDArray = 2,
  kTVMTypeString = 3,
  kTVMTypeArray = 4,
  kTVMTypeMap = 5,
  kTVMTypeShapeTuple = 6,
  kTVMTypePackedFunc = 7,
  kTVMTypeDRef = 8,
  kTVMTypeRPCObjectRef = 9,
  kTVMTypeClosure = 10,
  kTVMTypeADT = 11,
  kTVMDynamicTypeBegin = 12
};

typedef void* TVMObjectHandle;
typedef void* TVMModuleHandle;
typedef void* TVMFunctionHandle;
typedef DLTensor* TVMArrayHandle;
typedef void* TVMStreamHandle;
typedef void* TVMRetValueHandle;

/* ---- errors ------------------------------------------------------------------------------------
 * An error is {kind, message, traceback, payload} of the calling thread. kind is the name of an
 * exception class ("ValueError"). TVMAPISetLastError takes text only: "Kind: message" sets the kind
 * when Kind is a known class name, else the kind is "TVMError". */
TVM_DLL void TVMAPISetLastError(const char* msg);
TVM_DLL const char* TVMGetLastError(void);     /* "Kind: message", or "message" for TVMError */
TVM_DLL const char* TVMGetLastBacktrace(void); /* "" when there is none */
TVM_DLL void TVMAPISetLastPythonError(void* payload);
TVM_DLL void* TVMGetLastPythonError(void); /* borrowed; NULL when there is none */
TVM_DLL void TVMDropLastPythonError(void);
TVM_DLL void TVMThrowLastError(void); /* kept for old callers: throws in C++, no-op without error */
TVM_DLL void TVMErrorSet(const char* kind, const char* message, const char* traceback);
/* Takes ownership of payload; drop(payload) is called when the error is replaced or cleared. */
TVM_DLL void TVMErrorSetPayload(const char* kind, const char* message, const char* traceback,
                                void* payload, void (*drop)(void* payload));
TVM_DLL int TVMErrorGet(const char** kind, const char** message, const char** traceback);
/* Moves the payload out: the caller owns it. NULL when there is none. Clears the error. */
TVM_DLL void* TVMErrorTakePayload(void);
TVM_DLL void TVMErrorClear(void);
/* Carries an error from one thread to another: Take detaches (NULL when none), Restore consumes. */
TVM_DLL void* TVMErrorTake(void);
TVM_DLL void TVMErrorRestore(void* state);

/* ---- objects -----------------------------------------------------------------------------------
 */
TVM_DLL int TVMObjectGetTypeIndex(TVMObjectHandle obj, unsigned* out_index);
TVM_DLL int TVMObjectTypeKey2Index(const char* type_key, unsigned* out_index);
TVM_DLL int TVMObjectTypeIndex2Key(unsigned type_index, char** out_key); /* caller: TVMStringFree */
TVM_DLL void TVMStringFree(char* text);
TVM_DLL int TVMObjectRetain(TVMObjectHandle obj);
TVM_DLL int TVMObjectFree(TVMObjectHandle obj);
TVM_DLL int TVMObjectDerivedFrom(uint32_t child_type, uint32_t parent_type, int* is_derived);
/* An object that owns a foreign thing: drop(self) runs once, on whichever thread lets go last. */
TVM_DLL int TVMHolderCreate(void* self, void (*drop)(void* self), TVMObjectHandle* out);
TVM_DLL int TVMHolderGet(TVMObjectHandle obj, void** out_self); /* borrowed; -1 if not a holder */
/* A native shape tuple (type index 6), new reference. */
TVM_DLL int TVMShapeTupleCreate(const int64_t* values, int64_t size, TVMObjectHandle* out);
TVM_DLL int TVMShapeTupleGet(TVMObjectHandle obj, const int64_t** values, int64_t* size);

/* ---- functions ---------------------------------------------------------------------------------
 */
/* args and type_codes have num_args cells. Strings and bytes in *ret_val live in thread-local
 * storage until the next call on this thread; objects in it are new references. */
TVM_DLL int TVMFuncCall(TVMFunctionHandle func, TVMValue* arg_values, int* type_codes, int num_args,
                        TVMValue* ret_val, int* ret_type_code);
TVM_DLL int TVMFuncFree(TVMFunctionHandle func);
typedef int (*TVMPackedCFunc)(TVMValue* args, int* type_codes, int num_args, TVMRetValueHandle ret,
                              void* resource_handle);
typedef void (*TVMPackedCFuncFinalizer)(void* resource_handle);
TVM_DLL int TVMFuncCreateFromCFunc(TVMPackedCFunc func, void* resource_handle,
                                   TVMPackedCFuncFinalizer fin, TVMFunctionHandle* out);
TVM_DLL int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue* value, int* type_code, int num_ret);
TVM_DLL int TVMCbArgToReturn(TVMValue* value, int* code);
TVM_DLL int TVMByteArrayFree(TVMByteArray* arr);
TVM_DLL int TVMFuncRegisterGlobal(const char* name, TVMFunctionHandle f, int override_);
/* New reference, NULL when missing. (Old callers take it as borrowed: that leaves a count, no
 * memory.) */
TVM_DLL int TVMFuncGetGlobal(const char* name, TVMFunctionHandle* out);
TVM_DLL int TVMFuncListGlobalNames(int* out_size,
                                   const char*** out_array); /* thread-local storage */
TVM_DLL int TVMFuncRemoveGlobal(const char* name);

/* ---- modules -----------------------------------------------------------------------------------
 */
TVM_DLL int TVMModLoadFromFile(const char* file_name, const char* format, TVMModuleHandle* out);
TVM_DLL int TVMModImport(TVMModuleHandle mod, TVMModuleHandle dep);
TVM_DLL int TVMModGetFunction(TVMModuleHandle mod, const char* func_name, int query_imports,
                              TVMFunctionHandle* out); /* new reference, NULL when missing */
TVM_DLL int TVMModFree(TVMModuleHandle mod);
TVM_DLL int TVMModTypeKey(TVMModuleHandle mod, const char** out); /* lives as long as mod */
TVM_DLL int TVMModNumImports(TVMModuleHandle mod, int* out);
TVM_DLL int TVMModGetImport(TVMModuleHandle mod, int index,
                            TVMModuleHandle* out); /* new reference */
TVM_DLL int TVMModListFunctions(TVMModuleHandle mod, int* out_size, const char*** out_array);
TVM_DLL int TVMModGetHolder(TVMModuleHandle mod, void** out); /* borrowed, NULL when none */
/* One compiled function: the body's address and its argument table (arg_spec.h has the format). */
typedef struct {
  const char* name;
  int32_t (*body)(const uint64_t* slots);
  const void* table;
  size_t table_size;
} TVMTableFunction;
/* A module of compiled functions. The code stays mapped until drop(holder), which runs after the
 * last function and the module are gone. entry may be NULL. */
TVM_DLL int TVMTableModuleCreate(const char* type_key, const TVMTableFunction* functions,
                                 int num_functions, const char* entry, void* holder,
                                 void (*drop)(void* holder), TVMModuleHandle* out);
/* Functions that were given without a body get one when they are first called: resolve returns its
 * address, or NULL with the error set. It may be called from any thread, and more than once. */
TVM_DLL int TVMTableModuleSetResolver(TVMModuleHandle mod,
                                      void* (*resolve)(void* holder, const char* name));

/* ---- arrays ------------------------------------------------------------------------------------
 */
TVM_DLL int TVMArrayAlloc(const int64_t* shape, int ndim, int dtype_code, int dtype_bits,
                          int dtype_lanes, int device_type, int device_id, TVMArrayHandle* out);
TVM_DLL int TVMArrayFree(TVMArrayHandle handle);
TVM_DLL int TVMArrayCopyFromBytes(TVMArrayHandle handle, void* data, size_t nbytes);
TVM_DLL int TVMArrayCopyToBytes(TVMArrayHandle handle, void* data, size_t nbytes);
TVM_DLL int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream);
TVM_DLL int TVMArrayGetTypeIndex(TVMArrayHandle handle, unsigned* out_index);
/* Takes over the managed tensor: its deleter runs when the array goes (at once on failure). */
TVM_DLL int TVMArrayFromDLPack(DLManagedTensor* from, TVMArrayHandle* out);
TVM_DLL int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor** out);
TVM_DLL void TVMDLManagedTensorCallDeleter(DLManagedTensor* dltensor);
TVM_DLL int TVMArrayFromDLPackVersioned(DLManagedTensorVersioned* from, TVMArrayHandle* out);
TVM_DLL int TVMArrayToDLPackVersioned(TVMArrayHandle from, DLManagedTensorVersioned** out);
/* The allocation behind tvm.nd.empty; mem_scope may be NULL. */
TVM_DLL int TVMArrayEmpty(const int64_t* shape, int ndim, DLDataType dtype, DLDevice device,
                          const char* mem_scope, TVMArrayHandle* out);
TVM_DLL int TVMArrayView(TVMArrayHandle base, const int64_t* shape, int ndim, DLDataType dtype,
                         uint64_t relative_byte_offset, TVMArrayHandle* out);
/* An array over a tensor that is the caller's for the time of a call. Whoever derives something
 * from it that may live longer (a view, an export) moves it to memory of its own first. */
TVM_DLL int TVMArrayOnLoan(const DLTensor* tensor, TVMArrayHandle* out);
/* Moves an array on loan to memory of its own; other arrays are left as they are. */
TVM_DLL int TVMArrayEndLoan(TVMArrayHandle array);
/* For arrays that were moved during a call: writes those that have changed since back to the
 * tensors that they were made over. */
TVM_DLL int TVMArrayReturnLoans(TVMArrayHandle* arrays, DLTensor** tensors, int num);
/* An array over foreign memory (runtime dtype codes, shape and strides are copied). flags as in
 * ndarray.h. drop(owner) runs when the array goes. */
TVM_DLL int TVMArrayFromForeign(const DLTensor* tensor, uint32_t flags, void* owner,
                                void (*drop)(void* owner), TVMArrayHandle* out);

/* ---- devices -----------------------------------------------------------------------------------
 */
TVM_DLL int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle* out);
TVM_DLL int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream);
TVM_DLL int TVMSetStream(int device_type, int device_id, TVMStreamHandle stream);
TVM_DLL int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream);
TVM_DLL int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle src,
                                       TVMStreamHandle dst);
TVM_DLL int TVMDeviceAllocDataSpace(DLDevice dev, size_t nbytes, size_t alignment,
                                    DLDataType type_hint, void** out_data);
TVM_DLL int TVMDeviceAllocDataSpaceWithScope(DLDevice dev, int ndim, const int64_t* shape,
                                             DLDataType dtype, const char* mem_scope,
                                             void** out_data);
TVM_DLL int TVMDeviceFreeDataSpace(DLDevice dev, void* ptr);
TVM_DLL int TVMDeviceCopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream);
/* kind as DeviceAttrKind in device_api.h. *type_code: kTVMNullptr, kTVMArgInt or kTVMStr. */
TVM_DLL int TVMDeviceGetAttr(DLDevice dev, int kind, TVMValue* value, int* type_code);

/* ---- the runtime itself ------------------------------------------------------------------------
 */
TVM_DLL int TVMRuntimeNumThreads(void);
/* Live figures, for tests and for device memory: see TVMRuntimeStat. */
typedef enum {
  kTVMStatObjects = 0,   /* objects alive, all kinds */
  kTVMStatArrays = 1,    /* arrays alive */
  kTVMStatCPUBytes = 2,  /* bytes of CPU array memory held */
  kTVMStatFunctions = 3, /* functions alive */
  kTVMStatWorkspaceBytes = 4
} TVMRuntimeStat;
TVM_DLL int64_t TVMRuntimeGetStat(int which);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_C_RUNTIME_API_H_ */
