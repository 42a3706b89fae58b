// Functions of libraries that are linked into the program and register themselves, and symbols
// that a host program offers.
#include <tvm/runtime/c_backend_api.h>

#include <map>
#include <mutex>
#include <string>

#include "error.h"
#include "fork.h"
#include "module_internal.h"

namespace tvm {
namespace runtime {

namespace {

struct SymbolTable {
  std::mutex mutex;
  std::map<std::string, void*> symbols;
};

SymbolTable* NewTable() {
  auto* t = new SymbolTable();
  ProtectMutexInFork(&t->mutex);
  return t;
}

// Constructors of other libraries may come before ours, so the tables are made on first use.
SymbolTable* SystemSymbols() {
  static SymbolTable* table = NewTable();
  return table;
}

SymbolTable* EnvSymbols() {
  static SymbolTable* table = NewTable();
  return table;
}

int Put(SymbolTable* table, const char* name, void* ptr) {
  std::lock_guard<std::mutex> lock(table->mutex);
  table->symbols[name] = ptr;
  return 0;
}

}  // namespace

void* FindSystemLibSymbol(const std::string& name) {
  SymbolTable* table = SystemSymbols();
  std::lock_guard<std::mutex> lock(table->mutex);
  auto it = table->symbols.find(name);
  return it == table->symbols.end() ? nullptr : it->second;
}

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMBackendRegisterSystemLibSymbol(const char* name, void* ptr) {
  if (name == nullptr) {
    return Fail("TypeError", "TVMBackendRegisterSystemLibSymbol: expected a name, but got NULL");
  }
  return Guarded([&] { return Put(SystemSymbols(), name, ptr); });
}

int TVMBackendRegisterEnvCAPI(const char* name, void* ptr) {
  if (name == nullptr) {
    return Fail("TypeError", "TVMBackendRegisterEnvCAPI: expected a name, but got NULL");
  }
  return Guarded([&] { return Put(EnvSymbols(), name, ptr); });
}

int TVMBackendRunOnce(void** handle, int (*f)(void*), void* cdata, int) {
  if (handle == nullptr || f == nullptr) {
    return Fail("TypeError", "TVMBackendRunOnce: expected a handle and a function, but got NULL");
  }
  // One lock for all handles: such initialisers are rare and short. Recursive, because an
  // initialiser may run another one.
  static std::recursive_mutex* mutex = new std::recursive_mutex();
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != nullptr) return 0;
  std::lock_guard<std::recursive_mutex> lock(*mutex);
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != nullptr) return 0;
  if (f(cdata) != 0) return -1;
  __atomic_store_n(handle, reinterpret_cast<void*>(1), __ATOMIC_RELEASE);
  return 0;
}
