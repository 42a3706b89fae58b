/*
 * The seam between the runtime and a kind of device: one C struct (version first), and a C++ base
 * class that fills it. A device is added by TVMRegisterDeviceAPI, from this library or from a
 * plug-in.
 */
#ifndef TVM_RUNTIME_DEVICE_API_H_
#define TVM_RUNTIME_DEVICE_API_H_

#include "c_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device attributes; the numbers are those of the RPC protocol. */
typedef enum {
  kTVMAttrExist = 0,
  kTVMAttrMaxThreadsPerBlock = 1,
  kTVMAttrWarpSize = 2,
  kTVMAttrMaxSharedMemoryPerBlock = 3,
  kTVMAttrComputeVersion = 4,
  kTVMAttrDeviceName = 5,
  kTVMAttrMaxClockRate = 6,
  kTVMAttrMultiProcessorCount = 7,
  kTVMAttrMaxThreadDimensions = 8,
  kTVMAttrMaxRegistersPerBlock = 9,
  kTVMAttrGcnArch = 10,
  kTVMAttrApiVersion = 11,
  kTVMAttrDriverVersion = 12,
  kTVMAttrL2CacheSizeBytes = 13,
  kTVMAttrTotalGlobalMemory = 14,
  kTVMAttrAvailableGlobalMemory = 15
} DeviceAttrKind;

#define TVM_DEVICE_API_VERSION 1

/*
 * Every function returns 0, or -1 with the error set by TVMErrorSet, and may be called from any
 * thread. A member may be NULL where the device has nothing to do (streams) or no such thing.
 */
typedef struct TVMDeviceAPI {
  uint32_t version; /* TVM_DEVICE_API_VERSION */
  uint32_t size;    /* sizeof(TVMDeviceAPI) of the provider; later members count as NULL */
  void* self;       /* first argument of all functions */
  const char* name; /* "cuda" */
  /* Whether device_id can be used. Never fails: *out is 0 when driver or hardware is absent. */
  int (*exist)(void* self, int device_id, int* out);
  /* Sets the error that says what is missing (driver, library, package); always returns -1. */
  int (*explain_missing)(void* self, int device_id);
  /* *type_code: kTVMNullptr (no such figure), kTVMArgInt or kTVMStr (thread-local text). */
  int (*get_attr)(void* self, int device_id, int kind, TVMValue* value, int* type_code);
  /* mem_scope is NULL for the default memory. An unknown scope: ValueError listing the known ones.
   */
  int (*alloc)(void* self, int device_id, size_t nbytes, size_t alignment, DLDataType type_hint,
               const char* mem_scope, void** out);
  int (*free)(void* self, int device_id, void* data);
  /* Copies between this kind of device and itself or the host (compact memory, equal sizes). The
   * device types tell the direction; at most one side is the CPU. */
  int (*copy)(void* self, const void* from, uint64_t from_offset, DLDevice from_device, void* to,
              uint64_t to_offset, DLDevice to_device, size_t nbytes, TVMStreamHandle stream);
  int (*create_stream)(void* self, int device_id, TVMStreamHandle* out);
  int (*free_stream)(void* self, int device_id, TVMStreamHandle stream);
  int (*set_stream)(void* self, int device_id, TVMStreamHandle stream);
  int (*sync)(void* self, int device_id, TVMStreamHandle stream);
  int (*sync_streams)(void* self, int device_id, TVMStreamHandle from, TVMStreamHandle to);
  /* 1 when data pointers are addresses that may be offset and checked for alignment, else 0. */
  int pointers_are_addresses;
  int reserved;
} TVMDeviceAPI;

/* The struct is copied; self must live for ever. Replacing a device type needs override_. The
 * global function device_api.<kind of device> then exists, and gives the struct. */
TVM_DLL int TVMRegisterDeviceAPI(int device_type, const TVMDeviceAPI* api, int override_);
/* Borrowed. An unregistered type: NULL when allow_missing, else an error naming what to install. */
TVM_DLL int TVMGetDeviceAPI(int device_type, int allow_missing, const TVMDeviceAPI** out);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif /* TVM_RUNTIME_DEVICE_API_H_ */
