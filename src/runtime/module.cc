#include <tvm/runtime/c_backend_api.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "error.h"
#include "module_internal.h"
#include "object_internal.h"
#include "registry_internal.h"

namespace tvm {
namespace runtime {

ModuleObj::~ModuleObj() {
  // Functions that were looked up may live in imports, so they go first.
  delete found;
  delete imports;
  delete impl;
  delete mutex;
}

ModuleObj* MakeModule(std::unique_ptr<ModuleImpl> impl) {
  auto imports = std::make_unique<std::vector<ObjectPtr<ModuleObj>>>();
  auto found = std::make_unique<std::unordered_map<std::string, ObjectPtr<PackedFuncObj>>>();
  auto mutex = std::make_unique<std::mutex>();
  auto* m = MakeObject<ModuleObj, kCountOthers>(kTVMTypeModule);
  m->impl = impl.release();
  m->imports = imports.release();
  m->found = found.release();
  m->mutex = mutex.release();
  return m;
}

namespace {

ModuleObj* AsModule(TVMModuleHandle handle, const char* where) {
  if (CheckHandle(handle, kTVMTypeModule, where, "a module") != 0) return nullptr;
  return static_cast<ModuleObj*>(static_cast<Object*>(handle));
}

std::vector<ObjectPtr<ModuleObj>> ImportsOf(ModuleObj* m) {
  std::lock_guard<std::mutex> lock(*m->mutex);
  return *m->imports;
}

// Visits what m imports, and what that imports, depth first, until visit says true. Each module
// once, however many ways lead to it, and without recursion, however long they are.
template <typename F>
bool AnyImport(ModuleObj* m, F&& visit) {
  using Modules = std::vector<ObjectPtr<ModuleObj>>;
  Modules open = ImportsOf(m);
  if (open.empty()) return false;
  std::reverse(open.begin(), open.end());  // the next one is at the end
  std::unordered_set<ModuleObj*> seen;
  Modules kept;  // what was visited must not go, or its address could come again
  while (!open.empty()) {
    ObjectPtr<ModuleObj> next = std::move(open.back());
    open.pop_back();
    if (!seen.insert(next.get()).second) continue;
    if (visit(next.get())) return true;
    Modules imports = ImportsOf(next.get());
    open.insert(open.end(), imports.rbegin(), imports.rend());
    kept.push_back(std::move(next));
  }
  return false;
}

PackedFuncObj* FindInImports(ModuleObj* m, const char* name) {
  PackedFuncObj* found = nullptr;
  AnyImport(m, [&](ModuleObj* import) {
    found = import->impl->GetFunction(name, import);
    return found != nullptr;
  });
  return found;
}

bool Reaches(ModuleObj* from, ModuleObj* target) {
  return from == target || AnyImport(from, [&](ModuleObj* import) { return import == target; });
}

}  // namespace

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMModImport(TVMModuleHandle mod, TVMModuleHandle dep) {
  ModuleObj* m = AsModule(mod, "TVMModImport");
  if (m == nullptr) return -1;
  ModuleObj* d = AsModule(dep, "TVMModImport");
  if (d == nullptr) return -1;
  return Guarded([&] {
    if (Reaches(d, m)) {
      return Fail("ValueError",
                  "import_module: the imported module imports this one already; a cycle of modules "
                  "would never be freed");
    }
    std::lock_guard<std::mutex> lock(*m->mutex);
    m->imports->push_back(ObjectPtr<ModuleObj>::Share(d));
    return 0;
  });
}

int TVMModGetFunction(TVMModuleHandle mod, const char* func_name, int query_imports,
                      TVMFunctionHandle* out) {
  ModuleObj* m = AsModule(mod, "TVMModGetFunction");
  if (m == nullptr) return -1;
  if (func_name == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMModGetFunction: expected a name, but got NULL");
  }
  return Guarded([&] {
    PackedFuncObj* f = m->impl->GetFunction(func_name, m);
    if (f == nullptr && query_imports) f = FindInImports(m, func_name);
    *out = f;
    return 0;
  });
}

int TVMModFree(TVMModuleHandle mod) { return TVMObjectFree(mod); }

int TVMModTypeKey(TVMModuleHandle mod, const char** out) {
  ModuleObj* m = AsModule(mod, "TVMModTypeKey");
  if (m == nullptr) return -1;
  if (out == nullptr) return Fail("TypeError", "TVMModTypeKey: out is NULL");
  *out = m->impl->type_key();
  return 0;
}

int TVMModNumImports(TVMModuleHandle mod, int* out) {
  ModuleObj* m = AsModule(mod, "TVMModNumImports");
  if (m == nullptr) return -1;
  if (out == nullptr) return Fail("TypeError", "TVMModNumImports: out is NULL");
  std::lock_guard<std::mutex> lock(*m->mutex);
  *out = static_cast<int>(m->imports->size());
  return 0;
}

int TVMModGetImport(TVMModuleHandle mod, int index, TVMModuleHandle* out) {
  ModuleObj* m = AsModule(mod, "TVMModGetImport");
  if (m == nullptr) return -1;
  if (out == nullptr) return Fail("TypeError", "TVMModGetImport: out is NULL");
  std::lock_guard<std::mutex> lock(*m->mutex);
  if (index < 0 || static_cast<size_t>(index) >= m->imports->size()) {
    return Fail("IndexError", "TVMModGetImport: index %d is out of range for %zu imports", index,
                m->imports->size());
  }
  *out = ObjectPtr<ModuleObj>((*m->imports)[static_cast<size_t>(index)]).release();
  return 0;
}

int TVMModListFunctions(TVMModuleHandle mod, int* out_size, const char*** out_array) {
  ModuleObj* m = AsModule(mod, "TVMModListFunctions");
  if (m == nullptr) return -1;
  if (out_size == nullptr || out_array == nullptr) {
    return Fail("TypeError", "TVMModListFunctions: expected two results, but got NULL");
  }
  return Guarded([&] {
    std::vector<std::string> names = m->impl->ListFunctions();
    KeepNames(names.data(), static_cast<int>(names.size()), out_size, out_array);
    return 0;
  });
}

int TVMModGetHolder(TVMModuleHandle mod, void** out) {
  ModuleObj* m = AsModule(mod, "TVMModGetHolder");
  if (m == nullptr) return -1;
  if (out == nullptr) return Fail("TypeError", "TVMModGetHolder: out is NULL");
  *out = m->impl->holder();
  return 0;
}

int TVMModLoadFromFile(const char* file_name, const char* format, TVMModuleHandle* out) {
  if (file_name == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMModLoadFromFile: expected a file name, but got NULL");
  }
  return Guarded([&] {
    std::string path = file_name;
    std::string kind = format == nullptr ? "" : format;
    if (kind.empty()) {
      size_t dot = path.rfind('.');
      size_t slash = path.rfind('/');
      if (dot != std::string::npos && (slash == std::string::npos || dot > slash)) {
        kind = path.substr(dot + 1);
      }
    }
    if (kind != "so" && kind != "dll" && kind != "dylib" && kind != "dso") {
      return Fail("ValueError",
                  "cannot load \"%s\": format \"%s\" is not known; the formats are: so, dylib, dll",
                  file_name, kind.c_str());
    }
    ModuleObj* m = LoadSharedLibrary(path);
    if (m == nullptr) return -1;
    *out = m;
    return 0;
  });
}

int TVMBackendGetFuncFromEnv(void* mod_node, const char* func_name, TVMFunctionHandle* out) {
  if (func_name == nullptr || out == nullptr) {
    return Fail("TypeError", "TVMBackendGetFuncFromEnv: expected a function name, but got NULL");
  }
  return Guarded([&] {
    if (mod_node != nullptr) {
      ModuleObj* m = AsModule(mod_node, "TVMBackendGetFuncFromEnv");
      if (m == nullptr) return -1;
      {
        std::lock_guard<std::mutex> lock(*m->mutex);
        auto it = m->found->find(func_name);
        if (it != m->found->end()) {
          *out = it->second.get();
          return 0;
        }
      }
      if (PackedFuncObj* f = FindInImports(m, func_name)) {
        auto ref = ObjectPtr<PackedFuncObj>::Steal(f);
        std::lock_guard<std::mutex> lock(*m->mutex);
        // Another thread may have been quicker; then its function is the one that stays.
        *out = m->found->emplace(func_name, std::move(ref)).first->second.get();
        return 0;
      }
    }
    PackedFuncObj* f = BorrowGlobal(func_name);
    if (f == nullptr) {
      return Fail("ValueError",
                  "function \"%s\" is neither in the imported modules nor a global function; "
                  "register it with tvm.register_func before the call",
                  func_name);
    }
    *out = f;
    return 0;
  });
}
