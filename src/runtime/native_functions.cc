// The global functions that the runtime itself registers.
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>

#include <cstring>
#include <string>

#include "arg_spec.h"
#include "device_table.h"
#include "dtype.h"
#include "error.h"
#include "module_internal.h"
#include "object_internal.h"
#include "packed_func_internal.h"

namespace tvm {
namespace runtime {

namespace {

// The arguments of a native function, with one message form for all of them.
struct Args {
  const char* function;
  const TVMValue* values;
  const int* tags;
  int size;

  int Expect(int least, int most) const {
    if (size >= least && size <= most) return 0;
    if (least == most) {
      return Fail("TypeError", "%s: expects %d arguments, but got %d", function, least, size);
    }
    return Fail("TypeError", "%s: expects %d to %d arguments, but got %d", function, least, most,
                size);
  }
  int Wrong(int i, const char* expected) const {
    return Fail("TypeError", "%s: argument %d: expected %s, but got %s", function, i, expected,
                ArgumentText(values[i], tags[i]).c_str());
  }
  int Int(int i, int64_t* out) const {
    if (tags[i] != kTVMArgInt && tags[i] != kTVMArgBool) return Wrong(i, "an int");
    *out = values[i].v_int64;
    return 0;
  }
  // NULL for None.
  int Text(int i, const char** out) const {
    if (tags[i] == kTVMNullptr) {
      *out = nullptr;
      return 0;
    }
    if (tags[i] != kTVMStr) return Wrong(i, "a str");
    *out = values[i].v_str;
    return 0;
  }
  int Device(int i, DLDevice* out) const {
    if (tags[i] != kDLDevice) return Wrong(i, "a Device");
    *out = values[i].v_device;
    return 0;
  }
  int DType(int i, DLDataType* out) const {
    if (tags[i] == kTVMDataType) {
      *out = values[i].v_type;
      return 0;
    }
    if (tags[i] != kTVMStr) return Wrong(i, "a dtype");
    return ParseDType(values[i].v_str, out);
  }
  int Shape(int i, const int64_t** values_out, int* ndim) const {
    int64_t n = 0;
    auto* obj = static_cast<TVMObjectHeader*>(values[i].v_handle);
    if (tags[i] != kTVMObjectHandle || obj == nullptr || obj->type_index != kTVMTypeShapeTuple) {
      return Wrong(i, "a ShapeTuple");
    }
    if (TVMShapeTupleGet(obj, values_out, &n) != 0) return -1;
    if (n > 1 << 16)
      return Fail("ValueError", "%s: a shape of rank %lld", function, static_cast<long long>(n));
    *ndim = static_cast<int>(n);
    return 0;
  }
};

int Return(RetValueCell* ret, int64_t v) {
  ret->value->v_int64 = v;
  *ret->type_code = kTVMArgInt;
  return 0;
}

int Return(RetValueCell* ret, const std::string& text) {
  TVMValue v;
  v.v_str = text.c_str();
  int tag = kTVMStr;
  return TVMCFuncSetReturn(ret, &v, &tag, 1);
}

// Gives the reference to the caller.
int ReturnArray(RetValueCell* ret, TVMArrayHandle array) {
  ret->value->v_handle = array;
  *ret->type_code = kTVMNDArrayHandle;
  return 0;
}

int ArrayAllocWithScope(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.TVMArrayAllocWithScope", values, tags, n};
  const int64_t* shape = nullptr;
  int ndim = 0;
  DLDataType dtype = {};
  DLDevice device = {kDLCPU, 0};
  const char* scope = nullptr;
  TVMArrayHandle array = nullptr;
  if (args.Expect(2, 4) || args.Shape(0, &shape, &ndim) || args.DType(1, &dtype)) return -1;
  if (n > 2 && args.Device(2, &device)) return -1;
  if (n > 3 && args.Text(3, &scope)) return -1;
  if (TVMArrayEmpty(shape, ndim, dtype, device, scope, &array)) return -1;
  return ReturnArray(ret, array);
}

int ArrayCreateView(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.TVMArrayCreateView", values, tags, n};
  const int64_t* shape = nullptr;
  int ndim = 0;
  DLDataType dtype = {};
  int64_t offset = 0;
  TVMArrayHandle array = nullptr;
  if (args.Expect(3, 4)) return -1;
  if (tags[0] != kTVMNDArrayHandle) return args.Wrong(0, "an NDArray");
  if (args.Shape(1, &shape, &ndim) || args.DType(2, &dtype)) return -1;
  if (n > 3 && args.Int(3, &offset)) return -1;
  if (offset < 0) {
    return Fail("ValueError", "%s: relative_byte_offset %lld is negative", args.function,
                static_cast<long long>(offset));
  }
  if (TVMArrayView(static_cast<DLTensor*>(values[0].v_handle), shape, ndim, dtype,
                   static_cast<uint64_t>(offset), &array)) {
    return -1;
  }
  return ReturnArray(ret, array);
}

int NumThreads(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.NumThreads", values, tags, n};
  return args.Expect(0, 0) ? -1 : Return(ret, int64_t{TVMRuntimeNumThreads()});
}

int GetDeviceAttr(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.GetDeviceAttr", values, tags, n};
  int64_t type = 0, id = 0, kind = 0;
  TVMValue v;
  int tag;
  if (n == 2) {
    DLDevice device = {kDLCPU, 0};
    if (args.Device(0, &device) || args.Int(1, &kind)) return -1;
    type = device.device_type;
    id = device.device_id;
  } else if (args.Expect(3, 3) || args.Int(0, &type) || args.Int(1, &id) || args.Int(2, &kind)) {
    return -1;
  }
  DLDevice device = {static_cast<DLDeviceType>(type), static_cast<int32_t>(id)};
  if (TVMDeviceGetAttr(device, static_cast<int>(kind), &v, &tag)) return -1;
  if (tag == kTVMNullptr) return 0;
  return TVMCFuncSetReturn(ret, &v, &tag, 1);
}

int DeviceMissing(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.DeviceMissingText", values, tags, n};
  int64_t type = 0;
  if (args.Expect(1, 1) || args.Int(0, &type)) return -1;
  return Return(ret, DeviceMissingText(static_cast<int>(type)));
}

// One line a kind of device: "number name alias,alias".
int DeviceKinds(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.DeviceKinds", values, tags, n};
  if (args.Expect(0, 0)) return -1;
  std::string text;
  for (int i = 0; const DeviceKind* kind = DeviceKindAt(i); ++i) {
    text += std::to_string(kind->device_type) + " " + kind->name + " " + kind->aliases + "\n";
  }
  return Return(ret, text);
}

int RegisterKind(const TVMValue* values, const int* tags, int n, RetValueCell*) {
  Args args{"runtime.RegisterErrorKind", values, tags, n};
  const char* name = nullptr;
  if (args.Expect(1, 1) || args.Text(0, &name)) return -1;
  if (name == nullptr) return args.Wrong(0, "a str");
  RegisterErrorKind(name);
  return 0;
}

// Checks a call against an argument table, for code that cannot carry the checker itself:
// (table bytes, arguments...). Fails with the very error that an in-process call would have.
int CheckArguments(const TVMValue* values, const int* tags, int n, RetValueCell*) {
  Args args{"runtime.CheckArguments", values, tags, n};
  if (n < 1) return Fail("TypeError", "%s: expects a table", args.function);
  if (tags[0] != kTVMBytes) return args.Wrong(0, "bytes");
  auto* bytes = static_cast<const TVMByteArray*>(values[0].v_handle);
  ArgSpec spec;
  if (spec.Parse(bytes->data, bytes->size)) return -1;
  std::string slots(sizeof(uint64_t) * (spec.num_slots() + 1), 0);
  if (spec.Check(values + 1, tags + 1, n - 1, reinterpret_cast<uint64_t*>(&slots[0]))) return 0;
  return spec.Explain(values + 1, tags + 1, n - 1);
}

// (prefix="") -> the module of functions that are linked into the program.
int SystemLib(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"runtime.SystemLib", values, tags, n};
  const char* prefix = nullptr;
  if (args.Expect(0, 1) || (n == 1 && args.Text(0, &prefix))) return -1;
  ret->value->v_handle = SystemLibModule(prefix == nullptr ? "" : prefix);
  *ret->type_code = kTVMModuleHandle;
  return 0;
}

// ---- for tests ----------------------------------------------------------------------------------
int Nop(const TVMValue*, const int*, int, RetValueCell*) { return 0; }

int Echo(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"testing.echo", values, tags, n};
  if (args.Expect(1, 1)) return -1;
  TVMValue v = values[0];
  int tag = tags[0];
  if (tag == kTVMDLTensorHandle) {
    // A borrowed tensor cannot leave: the caller gets a copy.
    auto* t = static_cast<DLTensor*>(v.v_handle);
    TVMArrayHandle copy;
    if (TVMArrayEmpty(t->shape, t->ndim, t->dtype, t->device, nullptr, &copy)) return -1;
    if (TVMDeviceCopyDataFromTo(t, copy, nullptr)) {
      TVMArrayFree(copy);
      return -1;
    }
    return ReturnArray(ret, copy);
  }
  return TVMCFuncSetReturn(ret, &v, &tag, 1);
}

int UseCount(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"testing.object_use_count", values, tags, n};
  if (args.Expect(1, 1)) return -1;
  if (!IsCounted(tags[0])) return args.Wrong(0, "an object");
  Object* obj = CountedObject(values[0], tags[0]);
  return Return(ret, int64_t{obj == nullptr ? 0 : obj->use_count()});
}

int DeviceTest(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"testing.device_test", values, tags, n};
  DLDevice device = {kDLCPU, 0};
  int64_t type = 0, id = 0;
  if (args.Expect(3, 3) || args.Device(0, &device) || args.Int(1, &type) || args.Int(2, &id)) {
    return -1;
  }
  if (device.device_type != type || device.device_id != id) {
    return Fail("ValueError", "%s: expected device (%lld, %lld), but got (%d, %d)", args.function,
                static_cast<long long>(type), static_cast<long long>(id),
                static_cast<int>(device.device_type), device.device_id);
  }
  ret->value->v_device = device;
  *ret->type_code = kDLDevice;
  return 0;
}

// A function of no arguments that calls the given one.
struct Wrapped {
  ObjectPtr<PackedFuncObj> func;
};

int WrapCallback(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"testing.test_wrap_callback", values, tags, n};
  if (args.Expect(1, 1)) return -1;
  if (tags[0] != kTVMPackedFuncHandle) return args.Wrong(0, "a function");
  auto* func = static_cast<PackedFuncObj*>(CountedObject(values[0], tags[0]));
  auto* wrapped = new Wrapped{ObjectPtr<PackedFuncObj>::Share(func)};
  TVMFunctionHandle out;
  auto body = [](TVMValue*, int*, int, TVMRetValueHandle ret_handle, void* resource) {
    TVMValue v;
    int tag;
    int rc =
        TVMFuncCall(static_cast<Wrapped*>(resource)->func.get(), nullptr, nullptr, 0, &v, &tag);
    if (rc != 0) return rc;
    rc = TVMCFuncSetReturn(ret_handle, &v, &tag, 1);
    DropResult(&v, &tag);
    return rc;
  };
  auto drop = [](void* resource) { delete static_cast<Wrapped*>(resource); };
  if (TVMFuncCreateFromCFunc(body, wrapped, drop, &out)) {
    delete wrapped;
    return -1;
  }
  ret->value->v_handle = out;
  *ret->type_code = kTVMPackedFuncHandle;
  return 0;
}

// A function of no arguments that fails with the given text.
int RaiseErrorCallback(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"testing.test_raise_error_callback", values, tags, n};
  const char* text = nullptr;
  if (args.Expect(1, 1) || args.Text(0, &text)) return -1;
  auto* message = new std::string(text == nullptr ? "" : text);
  TVMFunctionHandle out;
  auto body = [](TVMValue*, int*, int, TVMRetValueHandle, void* resource) {
    TVMAPISetLastError(static_cast<std::string*>(resource)->c_str());
    return -1;
  };
  auto drop = [](void* resource) { delete static_cast<std::string*>(resource); };
  if (TVMFuncCreateFromCFunc(body, message, drop, &out)) {
    delete message;
    return -1;
  }
  ret->value->v_handle = out;
  *ret->type_code = kTVMPackedFuncHandle;
  return 0;
}

// A function of no arguments that fails unless the two ints are equal.
int CheckEqualCallback(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  Args args{"testing.test_check_eq_callback", values, tags, n};
  const char* prefix = nullptr;
  if (args.Expect(1, 1) || args.Text(0, &prefix)) return -1;
  auto* message = new std::string(prefix == nullptr ? "" : prefix);
  TVMFunctionHandle out;
  auto body = [](TVMValue* v, int* t, int num_args, TVMRetValueHandle, void* resource) {
    if (num_args != 2 || t[0] != kTVMArgInt || t[1] != kTVMArgInt) {
      return Fail("TypeError", "test_check_eq_callback: expects two ints");
    }
    if (v[0].v_int64 == v[1].v_int64) return 0;
    std::string text = *static_cast<std::string*>(resource) + std::to_string(v[0].v_int64) +
                       " == " + std::to_string(v[1].v_int64) + " is false";
    TVMAPISetLastError(text.c_str());
    return -1;
  };
  auto drop = [](void* resource) { delete static_cast<std::string*>(resource); };
  if (TVMFuncCreateFromCFunc(body, message, drop, &out)) {
    delete message;
    return -1;
  }
  ret->value->v_handle = out;
  *ret->type_code = kTVMPackedFuncHandle;
  return 0;
}

__attribute__((constructor)) void RegisterAll() {
  Guarded([] {
    RegisterNative("runtime.TVMArrayAllocWithScope", ArrayAllocWithScope);
    RegisterNative("runtime.TVMArrayCreateView", ArrayCreateView);
    RegisterNative("runtime.NumThreads", NumThreads);
    RegisterNative("runtime.GetDeviceAttr", GetDeviceAttr);
    RegisterNative("runtime.DeviceMissingText", DeviceMissing);
    RegisterNative("runtime.DeviceKinds", DeviceKinds);
    RegisterNative("runtime.RegisterErrorKind", RegisterKind);
    RegisterNative("runtime.CheckArguments", CheckArguments);
    RegisterNative("runtime.SystemLib", SystemLib);
    RegisterNative("testing.nop", Nop);
    RegisterNative("testing.echo", Echo);
    RegisterNative("testing.object_use_count", UseCount);
    RegisterNative("testing.device_test", DeviceTest);
    RegisterNative("testing.test_wrap_callback", WrapCallback);
    RegisterNative("testing.test_raise_error_callback", RaiseErrorCallback);
    RegisterNative("testing.test_check_eq_callback", CheckEqualCallback);
    return 0;
  });
}

}  // namespace

}  // namespace runtime
}  // namespace tvm
