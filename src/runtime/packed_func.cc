#include <tvm/runtime/packed_func.h>

#include <cstring>
#include <string>

#include "device_table.h"
#include "dtype.h"
#include "error.h"
#include "object_internal.h"
#include "packed_func_internal.h"

namespace tvm {
namespace runtime {

namespace {

// A function over a C callback.
struct CFuncObj : PackedFuncObj {
  TVMPackedCFunc func;
  void* resource;
  TVMPackedCFuncFinalizer finalizer;
  ~CFuncObj() {
    if (finalizer != nullptr) finalizer(resource);
  }
};

int CallCFunc(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
              TVMValue* ret, int* ret_type_code) {
  auto* f = static_cast<CFuncObj*>(self);
  // Text set by the callee waits here, safe from the calls that it makes afterwards.
  std::string text;
  RetValueCell cell = {ret, ret_type_code, &text};
  int rc = f->func(const_cast<TVMValue*>(args), const_cast<int*>(type_codes), num_args, &cell,
                   f->resource);
  if (__builtin_expect(rc != 0, 0)) {
    DropResult(ret, ret_type_code);
    return rc;
  }
  if (*ret_type_code == kTVMStr || *ret_type_code == kTVMBytes) {
    return Guarded([&] {
      if (*ret_type_code == kTVMStr) {
        ret->v_str = KeepText(std::move(text));
      } else {
        ret->v_handle = KeepBytes(std::move(text));
      }
      return 0;
    });
  }
  return 0;
}

int SetText(RetValueCell* cell, std::string text, int type_code) {
  if (cell->text != nullptr) {
    *cell->text = std::move(text);
    cell->value->v_handle = nullptr;  // filled in when the callee has returned
  } else if (type_code == kTVMStr) {
    cell->value->v_str = KeepText(std::move(text));
  } else {
    cell->value->v_handle = KeepBytes(std::move(text));
  }
  *cell->type_code = type_code;
  return 0;
}

}  // namespace

std::string ArgumentText(TVMValue value, int type_code) {
  switch (type_code) {
    case kTVMArgInt:
      return "int";
    case kTVMArgBool:
      return "bool";
    case kTVMArgFloat:
      return "float";
    case kTVMOpaqueHandle:
      return "handle";
    case kTVMNullptr:
      return "None";
    case kTVMDataType:
      return "dtype";
    case kDLDevice:
      return "Device";
    case kTVMStr:
      return "str";
    case kTVMBytes:
      return "bytes";
    case kTVMModuleHandle:
      return "Module";
    case kTVMPackedFuncHandle:
      return "PackedFunc";
    case kTVMDLTensorHandle:
    case kTVMNDArrayHandle: {
      auto* t = static_cast<const DLTensor*>(value.v_handle);
      if (t == nullptr) return "a NULL tensor";
      return "a tensor of dtype " + DTypeText(t->dtype) + " and shape " +
             ShapeText(t->shape, t->ndim);
    }
    case kTVMObjectHandle:
    case kTVMObjectRValueRefArg: {
      auto* obj = static_cast<TVMObjectHeader*>(value.v_handle);
      if (type_code == kTVMObjectRValueRefArg && obj != nullptr) {
        obj = *static_cast<TVMObjectHeader**>(value.v_handle);
      }
      if (obj == nullptr) return "a NULL object";
      if (obj->type_index == kTVMTypeShapeTuple) return "ShapeTuple";
      return "an object";
    }
    default:
      return "a value with type code " + std::to_string(type_code);
  }
}

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMFuncCall(TVMFunctionHandle func, TVMValue* arg_values, int* type_codes, int num_args,
                TVMValue* ret_val, int* ret_type_code) {
  if (__builtin_expect(func == nullptr, 0)) {
    return Fail("TypeError", "TVMFuncCall: expected a function, but got NULL");
  }
  TVMValue unused_value;
  int unused_code;
  bool wants_result = ret_val != nullptr && ret_type_code != nullptr;
  if (__builtin_expect(!wants_result, 0)) {
    ret_val = &unused_value;
    ret_type_code = &unused_code;
  }
  *ret_type_code = kTVMNullptr;
  auto* f = static_cast<PackedFuncObj*>(static_cast<Object*>(func));
  int rc = f->call(f, arg_values, type_codes, num_args, ret_val, ret_type_code);
  if (__builtin_expect(!wants_result, 0)) DropResult(ret_val, ret_type_code);
  return rc;
}

int TVMFuncFree(TVMFunctionHandle func) {
  if (func != nullptr) static_cast<Object*>(func)->DecRef();
  return 0;
}

int TVMFuncCreateFromCFunc(TVMPackedCFunc func, void* resource_handle, TVMPackedCFuncFinalizer fin,
                           TVMFunctionHandle* out) {
  if (func == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMFuncCreateFromCFunc: expected a function, but got NULL");
  }
  return Guarded([&] {
    auto* f = MakeObject<CFuncObj, kCountFunctions>(kTVMTypePackedFunc);
    f->call = CallCFunc;
    // It may run long, or wait for threads that call back into the caller's language.
    f->flags = kPackedFuncReleaseGIL;
    f->name = "";
    f->func = func;
    f->resource = resource_handle;
    f->finalizer = fin;
    *out = f;
    return 0;
  });
}

int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue* value, int* type_code, int num_ret) {
  if (ret == nullptr || value == nullptr || type_code == nullptr) {
    return Fail("TypeError", "TVMCFuncSetReturn: expected a return cell and a value, but got NULL");
  }
  if (num_ret != 1) {
    return Fail("ValueError", "TVMCFuncSetReturn: a function returns one value, but got %d",
                num_ret);
  }
  return Guarded([&] {
    auto* cell = static_cast<RetValueCell*>(ret);
    TVMValue v = *value;
    int tag = *type_code;
    Object* obj = nullptr;
    if (tag == kTVMObjectRValueRefArg) {
      // The reference moves: the caller's cell is emptied.
      auto** ref = static_cast<Object**>(v.v_handle);
      if (ref != nullptr) obj = std::exchange(*ref, nullptr);
      v.v_handle = obj;
      tag = kTVMObjectHandle;
    } else if (IsCounted(tag)) {
      obj = CountedObject(v, tag);
      if (obj != nullptr) obj->IncRef();
    }
    DropResult(cell->value, cell->type_code);  // an earlier SetReturn of the same call
    if (IsCounted(tag) && obj == nullptr) return 0;
    switch (tag) {
      case kTVMStr:
        if (v.v_str == nullptr) return 0;
        return SetText(cell, v.v_str, kTVMStr);
      case kTVMBytes: {
        auto* bytes = static_cast<const TVMByteArray*>(v.v_handle);
        if (bytes == nullptr) return 0;
        return SetText(cell, std::string(bytes->data == nullptr ? "" : bytes->data, bytes->size),
                       kTVMBytes);
      }
      case kTVMDataType:
        return SetText(cell, DTypeText(v.v_type), kTVMStr);
      default:
        *cell->value = v;
        *cell->type_code = tag == kTVMArgBool ? static_cast<int>(kTVMArgInt) : tag;
        return 0;
    }
  });
}

int TVMCbArgToReturn(TVMValue* value, int* code) {
  if (value == nullptr || code == nullptr) {
    return Fail("TypeError", "TVMCbArgToReturn: expected a value, but got NULL");
  }
  if (*code == kTVMObjectRValueRefArg) {
    auto** ref = static_cast<Object**>(value->v_handle);
    value->v_handle = ref == nullptr ? nullptr : std::exchange(*ref, nullptr);
    *code = kTVMObjectHandle;
  } else if (IsCounted(*code)) {
    if (Object* obj = CountedObject(*value, *code)) obj->IncRef();
  }
  return 0;
}

int TVMByteArrayFree(TVMByteArray*) {
  // Returned bytes live in the thread's storage, which the next call reuses.
  return 0;
}
