#include <tvm/runtime/device_api.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device_internal.h"
#include "device_table.h"
#include "error.h"
#include "fork.h"
#include "ndarray_internal.h"
#include "packed_func_internal.h"

namespace tvm {
namespace runtime {

namespace {

constexpr int kNumLocalTypes = 128;

struct DeviceTable {
  std::mutex mutex;
  const TVMDeviceAPI* local[kNumLocalTypes] = {};  // read without the lock
  std::map<int, const TVMDeviceAPI*> remote;       // device types of RPC sessions
  // All that were ever registered. Never freed, not even when replaced: callers keep borrowed
  // pointers.
  std::vector<std::unique_ptr<TVMDeviceAPI>> registered;
  DeviceTable() {
    local[kDLCPU] = CPUDeviceAPI();
    ProtectMutexInFork(&mutex);
  }
};

DeviceTable* Devices() {
  static DeviceTable* table = new DeviceTable();  // arrays may be freed while the process exits
  return table;
}

}  // namespace

const TVMDeviceAPI* FindDevice(int device_type) {
  DeviceTable* table = Devices();
  if (device_type >= 0 && device_type < kNumLocalTypes) {
    return __atomic_load_n(&table->local[device_type], __ATOMIC_ACQUIRE);
  }
  std::lock_guard<std::mutex> lock(table->mutex);
  auto it = table->remote.find(device_type);
  return it == table->remote.end() ? nullptr : it->second;
}

const TVMDeviceAPI* UsableDevice(DLDevice device) {
  const TVMDeviceAPI* api = FindDevice(device.device_type);
  if (api == nullptr) {
    FailText("RuntimeError", DeviceMissingText(device.device_type));
    return nullptr;
  }
  int exist = 0;
  if (device.device_id < 0) {
    Fail("ValueError", "%s: a device number cannot be negative", DeviceText(device).c_str());
    return nullptr;
  }
  if (api->exist != nullptr && (api->exist(api->self, device.device_id, &exist) != 0 || !exist)) {
    if (api->explain_missing != nullptr) {
      api->explain_missing(api->self, device.device_id);
    } else {
      FailText("RuntimeError", DeviceText(device) + ": " + DeviceMissingText(device.device_type));
    }
    return nullptr;
  }
  return api;
}

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

namespace {

int ReturnAPI(TVMValue*, int*, int, TVMRetValueHandle ret, void* api) {
  TVMValue value;
  value.v_handle = api;
  int tag = kTVMOpaqueHandle;
  return TVMCFuncSetReturn(ret, &value, &tag, 1);
}

// The global function device_api.<kind>, which gives the struct: that it is there is how programs
// see whether the runtime supports a kind of device.
int Announce(int device_type, const TVMDeviceAPI* api) {
  const DeviceKind* kind = FindDeviceKind(device_type);
  if (kind == nullptr) return 0;
  TVMFunctionHandle f;
  void* resource = const_cast<TVMDeviceAPI*>(api);
  if (TVMFuncCreateFromCFunc(ReturnAPI, resource, nullptr, &f) != 0) return -1;
  int rc = TVMFuncRegisterGlobal((std::string("device_api.") + kind->name).c_str(), f, 1);
  TVMFuncFree(f);
  return rc;
}

__attribute__((constructor)) void AnnounceBuiltIn() {
  Guarded([] { return Announce(kDLCPU, CPUDeviceAPI()); });
}

// Runs one optional member for a device that must be there.
template <typename F>
int OnDevice(int device_type, int device_id, F&& body) {
  return Guarded([&] {
    const TVMDeviceAPI* api = UsableDevice({static_cast<DLDeviceType>(device_type), device_id});
    return api == nullptr ? -1 : body(api);
  });
}

}  // namespace

int TVMRegisterDeviceAPI(int device_type, const TVMDeviceAPI* api, int override_) {
  return Guarded([&] {
    if (api == nullptr || api->alloc == nullptr || api->free == nullptr || api->copy == nullptr) {
      return Fail("ValueError", "TVMRegisterDeviceAPI: alloc, free and copy must be there");
    }
    if (api->version != TVM_DEVICE_API_VERSION) {
      return Fail("ValueError",
                  "TVMRegisterDeviceAPI: this runtime knows version %d of TVMDeviceAPI, but the "
                  "plug-in has version %u",
                  TVM_DEVICE_API_VERSION, api->version);
    }
    if (device_type <= 0) {
      return Fail("ValueError", "TVMRegisterDeviceAPI: %d is not a device type", device_type);
    }
    auto owned = std::make_unique<TVMDeviceAPI>();
    TVMDeviceAPI* copy = owned.get();
    memcpy(copy, api, api->size < sizeof(TVMDeviceAPI) ? api->size : sizeof(TVMDeviceAPI));
    copy->size = sizeof(TVMDeviceAPI);
    DeviceTable* table = Devices();
    bool is_local = device_type < kNumLocalTypes;
    {
      std::lock_guard<std::mutex> lock(table->mutex);
      bool taken =
          is_local ? table->local[device_type] != nullptr : table->remote.count(device_type) != 0;
      if (taken && !override_) {
        return Fail("ValueError", "TVMRegisterDeviceAPI: device type %d is registered already",
                    device_type);
      }
      table->registered.push_back(std::move(owned));
      if (is_local) {
        __atomic_store_n(&table->local[device_type], copy, __ATOMIC_RELEASE);
      } else {
        table->remote[device_type] = copy;
      }
    }
    return Announce(device_type, copy);
  });
}

int TVMGetDeviceAPI(int device_type, int allow_missing, const TVMDeviceAPI** out) {
  return Guarded([&] {
    if (out == nullptr) return Fail("TypeError", "TVMGetDeviceAPI: out is NULL");
    *out = FindDevice(device_type);
    if (*out != nullptr || allow_missing) return 0;
    return FailText("RuntimeError", DeviceMissingText(device_type));
  });
}

int TVMDeviceGetAttr(DLDevice dev, int kind, TVMValue* value, int* type_code) {
  return Guarded([&] {
    if (value == nullptr || type_code == nullptr) {
      return Fail("TypeError", "TVMDeviceGetAttr: value and type_code must not be NULL");
    }
    value->v_int64 = 0;
    *type_code = kTVMNullptr;
    const TVMDeviceAPI* api = FindDevice(dev.device_type);
    int exist = 0;
    if (api != nullptr && dev.device_id >= 0) {
      exist = 1;
      if (api->exist != nullptr && api->exist(api->self, dev.device_id, &exist) != 0) exist = 0;
    }
    if (kind == kTVMAttrExist) {
      value->v_int64 = exist != 0;
      *type_code = kTVMArgInt;
      return 0;
    }
    if (!exist || api->get_attr == nullptr) return 0;
    return api->get_attr(api->self, dev.device_id, kind, value, type_code);
  });
}

int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle* out) {
  return OnDevice(device_type, device_id, [&](const TVMDeviceAPI* api) {
    if (out == nullptr) return Fail("TypeError", "TVMStreamCreate: out is NULL");
    *out = nullptr;
    return api->create_stream == nullptr ? 0 : api->create_stream(api->self, device_id, out);
  });
}

int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream) {
  return OnDevice(device_type, device_id, [&](const TVMDeviceAPI* api) {
    return api->free_stream == nullptr ? 0 : api->free_stream(api->self, device_id, stream);
  });
}

int TVMSetStream(int device_type, int device_id, TVMStreamHandle stream) {
  return OnDevice(device_type, device_id, [&](const TVMDeviceAPI* api) {
    return api->set_stream == nullptr ? 0 : api->set_stream(api->self, device_id, stream);
  });
}

int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream) {
  return OnDevice(device_type, device_id, [&](const TVMDeviceAPI* api) {
    return api->sync == nullptr ? 0 : api->sync(api->self, device_id, stream);
  });
}

int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle src,
                               TVMStreamHandle dst) {
  return OnDevice(device_type, device_id, [&](const TVMDeviceAPI* api) {
    return api->sync_streams == nullptr ? 0 : api->sync_streams(api->self, device_id, src, dst);
  });
}

int TVMDeviceAllocDataSpace(DLDevice dev, size_t nbytes, size_t alignment, DLDataType type_hint,
                            void** out_data) {
  return OnDevice(dev.device_type, dev.device_id, [&](const TVMDeviceAPI* api) {
    if (out_data == nullptr) return Fail("TypeError", "TVMDeviceAllocDataSpace: out_data is NULL");
    return api->alloc(api->self, dev.device_id, nbytes, alignment, type_hint, nullptr, out_data);
  });
}

int TVMDeviceAllocDataSpaceWithScope(DLDevice dev, int ndim, const int64_t* shape, DLDataType dtype,
                                     const char* mem_scope, void** out_data) {
  return OnDevice(dev.device_type, dev.device_id, [&](const TVMDeviceAPI* api) {
    if (out_data == nullptr) {
      return Fail("TypeError", "TVMDeviceAllocDataSpaceWithScope: out_data is NULL");
    }
    int64_t nbytes = 0;
    if (CheckedBytes(shape, ndim, dtype, "TVMDeviceAllocDataSpaceWithScope", &nbytes) != 0) {
      return -1;
    }
    const char* scope =
        mem_scope != nullptr && strcmp(mem_scope, "global") == 0 ? nullptr : mem_scope;
    return api->alloc(api->self, dev.device_id, static_cast<size_t>(nbytes), kAllocAlignment, dtype,
                      scope, out_data);
  });
}

int TVMDeviceFreeDataSpace(DLDevice dev, void* ptr) {
  if (ptr == nullptr) return 0;
  return OnDevice(dev.device_type, dev.device_id, [&](const TVMDeviceAPI* api) {
    return api->free(api->self, dev.device_id, ptr);
  });
}
