/*
 * The table of global functions (header only over the C API).
 */
#ifndef TVM_RUNTIME_REGISTRY_H_
#define TVM_RUNTIME_REGISTRY_H_

#include <string>
#include <utility>
#include <vector>

#include "packed_func.h"

namespace tvm {
namespace runtime {

class Registry {
 public:
  /*! \brief Makes body callable by name from every language; throws if the name is taken. */
  static void Register(const std::string& name, PackedFunc::FType body, bool can_override = false) {
    PackedFunc f(std::move(body));
    CheckCall(TVMFuncRegisterGlobal(name.c_str(), f.handle(), can_override));
  }
  /*! \brief The function, or an empty reference. */
  static PackedFunc Get(const std::string& name) {
    TVMFunctionHandle out = nullptr;
    CheckCall(TVMFuncGetGlobal(name.c_str(), &out));
    return PackedFunc::Steal(out);
  }
  static std::vector<std::string> ListNames() {
    int n = 0;
    const char** names = nullptr;
    CheckCall(TVMFuncListGlobalNames(&n, &names));
    return {names, names + n};
  }
  static void Remove(const std::string& name) { CheckCall(TVMFuncRemoveGlobal(name.c_str())); }
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_RUNTIME_REGISTRY_H_
