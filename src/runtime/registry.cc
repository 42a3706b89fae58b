#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/packed_func.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "error.h"
#include "fork.h"
#include "object_internal.h"
#include "packed_func_internal.h"
#include "registry_internal.h"

namespace tvm {
namespace runtime {

namespace {

using FuncPtr = ObjectPtr<PackedFuncObj>;

struct Entry {
  FuncPtr func;
  bool pinned = false;  // handed out as borrowed
};

struct GlobalTable {
  std::mutex mutex;
  std::unordered_map<std::string, Entry> functions;
  // Functions that compiled libraries have cached without a reference, replaced or removed since.
  std::vector<FuncPtr> pinned;
};

GlobalTable* Globals() {
  static GlobalTable* table = [] {
    auto* t = new GlobalTable();  // never freed: lookups happen while the process exits
    ProtectMutexInFork(&t->mutex);
    return t;
  }();
  return table;
}

int CheckName(const char* name, const char* where) {
  if (name == nullptr) return Fail("TypeError", "%s: expected a name, but got NULL", where);
  return 0;
}

void Pin(GlobalTable* table, Entry* entry) {
  if (entry->pinned) table->pinned.push_back(entry->func);
}

struct NativeObj : PackedFuncObj {
  NativeBody body;
  std::string own_name;
};

int CallNative(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
               TVMValue* ret, int* ret_type_code) {
  RetValueCell cell = {ret, ret_type_code, nullptr};
  auto* f = static_cast<NativeObj*>(self);
  int rc = Guarded([&] { return f->body(args, type_codes, num_args, &cell); });
  if (rc != 0) DropResult(ret, ret_type_code);
  return rc;
}

}  // namespace

void RegisterNative(const char* name, NativeBody body, uint32_t flags) {
  auto* f = MakeObject<NativeObj, kCountFunctions>(kTVMTypePackedFunc);
  f->call = CallNative;
  f->flags = flags;
  f->body = body;
  f->own_name = name;
  f->name = f->own_name.c_str();
  GlobalTable* table = Globals();
  std::lock_guard<std::mutex> lock(table->mutex);
  table->functions[name].func = FuncPtr::Steal(f);
}

PackedFuncObj* BorrowGlobal(const char* name) {
  GlobalTable* table = Globals();
  std::lock_guard<std::mutex> lock(table->mutex);
  auto it = table->functions.find(name);
  if (it == table->functions.end()) return nullptr;
  it->second.pinned = true;
  return it->second.func.get();
}

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMFuncRegisterGlobal(const char* name, TVMFunctionHandle f, int override_) {
  if (CheckName(name, "TVMFuncRegisterGlobal") != 0 ||
      CheckHandle(f, kTVMTypePackedFunc, "TVMFuncRegisterGlobal", "a function") != 0) {
    return -1;
  }
  return Guarded([&] {
    FuncPtr func = FuncPtr::Share(static_cast<PackedFuncObj*>(static_cast<Object*>(f)));
    FuncPtr old;  // released after the lock: its finalizer may come back to us
    GlobalTable* table = Globals();
    std::lock_guard<std::mutex> lock(table->mutex);
    auto it = table->functions.find(name);
    if (it == table->functions.end()) {
      table->functions[name].func = func;
      return 0;
    }
    if (!override_) {
      return Fail("ValueError",
                  "global function \"%s\" is registered already; pass override=True to replace it",
                  name);
    }
    Pin(table, &it->second);
    old = it->second.func;
    it->second.func = func;
    it->second.pinned = false;
    return 0;
  });
}

int TVMFuncGetGlobal(const char* name, TVMFunctionHandle* out) {
  if (CheckName(name, "TVMFuncGetGlobal") != 0) return -1;
  if (out == nullptr) return Fail("TypeError", "TVMFuncGetGlobal: out is NULL");
  return Guarded([&] {
    GlobalTable* table = Globals();
    std::lock_guard<std::mutex> lock(table->mutex);
    auto it = table->functions.find(name);
    *out = it == table->functions.end() ? nullptr : FuncPtr(it->second.func).release();
    return 0;
  });
}

int TVMFuncListGlobalNames(int* out_size, const char*** out_array) {
  if (out_size == nullptr || out_array == nullptr) {
    return Fail("TypeError", "TVMFuncListGlobalNames: expected two results, but got NULL");
  }
  return Guarded([&] {
    std::vector<std::string> names;
    {
      GlobalTable* table = Globals();
      std::lock_guard<std::mutex> lock(table->mutex);
      for (const auto& item : table->functions) names.push_back(item.first);
    }
    KeepNames(names.data(), static_cast<int>(names.size()), out_size, out_array);
    return 0;
  });
}

int TVMFuncRemoveGlobal(const char* name) {
  if (CheckName(name, "TVMFuncRemoveGlobal") != 0) return -1;
  return Guarded([&] {
    FuncPtr old;
    GlobalTable* table = Globals();
    std::lock_guard<std::mutex> lock(table->mutex);
    auto it = table->functions.find(name);
    if (it == table->functions.end()) {
      return Fail("ValueError", "there is no global function \"%s\" to remove", name);
    }
    Pin(table, &it->second);
    old = std::move(it->second.func);
    table->functions.erase(it);
    return 0;
  });
}
