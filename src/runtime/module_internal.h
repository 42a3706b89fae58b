// Modules inside the runtime: one object type, and one subclass of ModuleImpl a kind of module.
#ifndef TVM_SRC_RUNTIME_MODULE_INTERNAL_H_
#define TVM_SRC_RUNTIME_MODULE_INTERNAL_H_

#include <tvm/runtime/packed_func.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace runtime {

struct ModuleObj;

class ModuleImpl {
 public:
  virtual ~ModuleImpl() = default;
  virtual const char* type_key() const = 0;
  // A new reference, or NULL when there is no such function. The function keeps `self` alive.
  virtual PackedFuncObj* GetFunction(const char* name, ModuleObj* self) = 0;
  virtual std::vector<std::string> ListFunctions() const = 0;
  virtual void* holder() const { return nullptr; }
};

struct ModuleObj : Object {
  ModuleImpl* impl;
  std::mutex* mutex;  // guards the rest
  std::vector<ObjectPtr<ModuleObj>>* imports;
  // What compiled code of this module looked up by name; it keeps the pointers.
  std::unordered_map<std::string, ObjectPtr<PackedFuncObj>>* found;
  ~ModuleObj();
};

// Takes over impl. The name of the entry function is looked up as "__tvm_main__".
constexpr const char* kEntryName = "__tvm_main__";
ModuleObj* MakeModule(std::unique_ptr<ModuleImpl> impl);

// A module over a shared library; NULL with an error.
ModuleObj* LoadSharedLibrary(const std::string& path);
// The module of functions that system libraries registered under a prefix; a new reference.
ModuleObj* SystemLibModule(const std::string& prefix);
// What a system library registered; NULL when there is none.
void* FindSystemLibSymbol(const std::string& name);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_MODULE_INTERNAL_H_
