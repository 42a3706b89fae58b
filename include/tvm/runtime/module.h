/*
 * Modules: named functions that belong together (header only over the C API).
 */
#ifndef TVM_RUNTIME_MODULE_H_
#define TVM_RUNTIME_MODULE_H_

#include <string>

#include "packed_func.h"

namespace tvm {
namespace runtime {

class Module {
 public:
  /*! \brief Takes over one reference of the handle. */
  static Module Steal(TVMModuleHandle handle) {
    Module m;
    m.data_ = ObjectPtr<Object>::Steal(static_cast<Object*>(handle));
    return m;
  }
  static Module LoadFromFile(const std::string& file_name, const std::string& format = "") {
    TVMModuleHandle out = nullptr;
    CheckCall(TVMModLoadFromFile(file_name.c_str(), format.c_str(), &out));
    return Steal(out);
  }
  /*! \brief The function, or an empty reference. */
  PackedFunc GetFunction(const std::string& name, bool query_imports = false) const {
    TVMFunctionHandle out = nullptr;
    CheckCall(TVMModGetFunction(data_.get(), name.c_str(), query_imports, &out));
    return PackedFunc::Steal(out);
  }
  void Import(const Module& other) { CheckCall(TVMModImport(data_.get(), other.data_.get())); }
  TVMModuleHandle handle() const { return data_.get(); }

 private:
  ObjectPtr<Object> data_;
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_RUNTIME_MODULE_H_
