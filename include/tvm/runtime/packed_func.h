/*
 * Functions with the packed calling convention (header only over the C API).
 */
#ifndef TVM_RUNTIME_PACKED_FUNC_H_
#define TVM_RUNTIME_PACKED_FUNC_H_

#include <functional>
#include <string>
#include <utility>

#include "ndarray.h"
#include "object.h"

namespace tvm {
namespace runtime {

/*! \brief How a caller that holds the GIL should call. */
enum PackedFuncFlags : uint32_t {
  kPackedFuncReleaseGIL = 1,    //!< may run long: compiled kernels, copies, RPC
  kPackedFuncPythonCallee = 2,  //!< takes the GIL itself
};

/*! \brief The object behind a TVMFunctionHandle. */
struct PackedFuncObj : Object {
  /*! \brief 0, -1 or -2; the caller presets *ret_type_code to kTVMNullptr. */
  int (*call)(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
              TVMValue* ret, int* ret_type_code);
  uint32_t flags;
  uint32_t reserved;
  const char* name;  //!< for messages; "" when unknown; lives as long as the object
};

/*!
 * \brief What a TVMRetValueHandle points at.
 * A native `call` that wants TVMCFuncSetReturn to fill its result makes one on its stack, with
 * text == nullptr: returned strings and bytes then go to thread-local storage at once, so setting
 * the result must be the last thing that such a callee does.
 */
struct RetValueCell {
  TVMValue* value;
  int* type_code;
  std::string* text;
};

/*! \brief Arguments of a call, seen by a C++ callee. */
struct TVMArgs {
  const TVMValue* values;
  const int* type_codes;
  int num_args;
  int size() const { return num_args; }
};

/*! \brief Result of a call, filled by a C++ callee. Strings are copied. */
class TVMRetValue {
 public:
  explicit TVMRetValue(TVMRetValueHandle handle) : handle_(handle) {}
  void operator=(int64_t v) {
    TVMValue cell;
    cell.v_int64 = v;
    Set(cell, kTVMArgInt);
  }
  void operator=(double v) {
    TVMValue cell;
    cell.v_float64 = v;
    Set(cell, kTVMArgFloat);
  }
  void operator=(const std::string& v) {
    TVMValue cell;
    cell.v_str = v.c_str();
    Set(cell, kTVMStr);
  }
  /*! \brief Gives the array to the caller. */
  void operator=(NDArray v) {
    TVMValue cell;
    cell.v_handle = v.handle();
    Set(cell, kTVMNDArrayHandle);
  }
  void Set(TVMValue cell, int type_code) {
    CheckCall(TVMCFuncSetReturn(handle_, &cell, &type_code, 1));
  }

 private:
  TVMRetValueHandle handle_;
};

/*! \brief A reference to a function. */
class PackedFunc {
 public:
  using FType = std::function<void(TVMArgs args, TVMRetValue* rv)>;

  PackedFunc() = default;
  explicit PackedFunc(FType body) {
    auto* resource = new FType(std::move(body));
    TVMFunctionHandle out = nullptr;
    int rc = TVMFuncCreateFromCFunc(&Invoke, resource, &Drop, &out);
    if (rc != 0) {
      delete resource;
      ThrowLastError();
    }
    *this = Steal(out);
  }
  /*! \brief Takes over one reference of the handle. */
  static PackedFunc Steal(TVMFunctionHandle handle) {
    PackedFunc f;
    f.data_ = ObjectPtr<PackedFuncObj>::Steal(static_cast<PackedFuncObj*>(handle));
    return f;
  }
  void CallPacked(TVMValue* args, int* type_codes, int num_args, TVMValue* ret,
                  int* ret_code) const {
    CheckCall(TVMFuncCall(data_.get(), args, type_codes, num_args, ret, ret_code));
  }
  explicit operator bool() const { return static_cast<bool>(data_); }
  TVMFunctionHandle handle() const { return data_.get(); }

 private:
  static int Invoke(TVMValue* args, int* type_codes, int num_args, TVMRetValueHandle ret,
                    void* resource) {
    try {
      TVMRetValue rv(ret);
      (*static_cast<FType*>(resource))(TVMArgs{args, type_codes, num_args}, &rv);
      return 0;
    } catch (const CallError& e) {
      e.Restore();
    } catch (const std::exception& e) {
      TVMAPISetLastError(e.what());
    } catch (...) {
      TVMAPISetLastError("unknown C++ exception");
    }
    return -1;
  }
  static void Drop(void* resource) { delete static_cast<FType*>(resource); }

  ObjectPtr<PackedFuncObj> data_;
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_RUNTIME_PACKED_FUNC_H_
