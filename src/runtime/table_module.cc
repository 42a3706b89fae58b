// Modules of compiled functions that are in memory: a body and an argument table each.
#include <cstring>

#include "arg_spec.h"
#include "error.h"
#include "module_internal.h"
#include "object_internal.h"

namespace tvm {
namespace runtime {

namespace {

// So many slots live on the caller's stack; more come from the heap.
constexpr uint32_t kMaxStackSlots = 128;

using TableBody = int32_t (*)(const uint64_t* slots);

struct TableFunction {
  TableBody body;  // NULL until the first call when it is made only then
  std::string name;
  ArgSpec spec;
};

struct TableFuncObj : PackedFuncObj {
  TableFunction* function;  // in the module
  ObjectPtr<ModuleObj> module;
};

// The body of a function that has none yet; NULL with an error.
TableBody Resolve(ModuleObj* module, TableFunction* f);

int CallTable(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
              TVMValue*, int*) {
  TableFunction* f = static_cast<TableFuncObj*>(self)->function;
  uint64_t stack_slots[kMaxStackSlots];
  uint64_t* slots = stack_slots;
  std::unique_ptr<uint64_t[]> heap_slots;
  if (__builtin_expect(f->spec.num_slots() > kMaxStackSlots, 0)) {
    heap_slots.reset(new (std::nothrow) uint64_t[f->spec.num_slots()]);
    slots = heap_slots.get();
    if (slots == nullptr) return Fail("MemoryError", "out of memory");
  }
  if (__builtin_expect(!f->spec.Check(args, type_codes, num_args, slots), 0)) {
    return f->spec.Explain(args, type_codes, num_args);
  }
  TableBody body = __atomic_load_n(&f->body, __ATOMIC_ACQUIRE);
  if (__builtin_expect(body == nullptr, 0)) {
    body = Resolve(static_cast<TableFuncObj*>(self)->module.get(), f);
    if (body == nullptr) return -1;
  }
  return body(slots);
}

class TableModule : public ModuleImpl {
 public:
  ~TableModule() override {
    if (drop_ != nullptr) drop_(holder_);
  }
  const char* type_key() const override { return type_key_.c_str(); }
  void* holder() const override { return holder_; }
  std::vector<std::string> ListFunctions() const override { return names_; }

  PackedFuncObj* GetFunction(const char* name, ModuleObj* self) override {
    if (strcmp(name, kEntryName) == 0 && !entry_.empty()) name = entry_.c_str();
    auto it = functions_.find(name);
    if (it == functions_.end()) return nullptr;
    auto* f = MakeObject<TableFuncObj, kCountFunctions>(kTVMTypePackedFunc);
    f->call = CallTable;
    f->flags = it->second->spec.is_brief() ? 0u : uint32_t{kPackedFuncReleaseGIL};
    f->name = it->second->spec.name().c_str();
    f->function = it->second.get();
    f->module = ObjectPtr<ModuleObj>::Share(self);
    return f;
  }

  int Fill(const char* type_key, const TVMTableFunction* functions, int num_functions,
           const char* entry) {
    type_key_ = type_key == nullptr ? "llvm" : type_key;
    for (int i = 0; i < num_functions; ++i) {
      const TVMTableFunction& given = functions[i];
      if (given.name == nullptr) {
        return Fail("TypeError", "TVMTableModuleCreate: function %d has no name", i);
      }
      auto f = std::make_unique<TableFunction>();
      f->body = given.body;
      f->name = given.name;
      if (f->spec.Parse(given.table, given.table_size) != 0) return -1;
      if (!functions_.emplace(given.name, std::move(f)).second) {
        return Fail("ValueError", "TVMTableModuleCreate: there are two functions named \"%s\"",
                    given.name);
      }
      names_.push_back(given.name);
    }
    if (entry != nullptr && *entry != 0) {
      if (functions_.count(entry) == 0) {
        return Fail("ValueError", "TVMTableModuleCreate: the entry function \"%s\" is not there",
                    entry);
      }
      entry_ = entry;
    }
    return 0;
  }

  void SetHolder(void* holder, void (*drop)(void*)) {
    holder_ = holder;
    drop_ = drop;
  }

  void SetResolver(void* (*resolve)(void*, const char*)) { resolve_ = resolve; }

  TableBody ResolveBody(TableFunction* f) {
    if (resolve_ == nullptr) {
      FailText("RuntimeError", f->spec.name() + ": the function has no code");
      return nullptr;
    }
    TVMErrorClear();
    void* found = resolve_(holder_, f->name.c_str());
    if (found == nullptr) {
      if (TVMErrorGet(nullptr, nullptr, nullptr) != 0) {
        FailText("RuntimeError", f->spec.name() + ": the function has no code");
      }
      return nullptr;
    }
    auto body = reinterpret_cast<TableBody>(found);
    __atomic_store_n(&f->body, body, __ATOMIC_RELEASE);
    return body;
  }

 private:
  std::string type_key_;
  std::string entry_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::unique_ptr<TableFunction>> functions_;
  void* holder_ = nullptr;
  void (*drop_)(void*) = nullptr;
  void* (*resolve_)(void*, const char*) = nullptr;
};

TableBody Resolve(ModuleObj* module, TableFunction* f) {
  return static_cast<TableModule*>(module->impl)->ResolveBody(f);
}

}  // namespace

}  // namespace runtime
}  // namespace tvm

int TVMTableModuleCreate(const char* type_key, const TVMTableFunction* functions, int num_functions,
                         const char* entry, void* holder, void (*drop)(void* holder),
                         TVMModuleHandle* out) {
  using namespace tvm::runtime;  // NOLINT(build/namespaces)
  if (out == nullptr || num_functions < 0 || (num_functions > 0 && functions == nullptr)) {
    return Fail("TypeError", "TVMTableModuleCreate: expected functions and a result, but got NULL");
  }
  return Guarded([&] {
    auto impl = std::make_unique<TableModule>();
    TableModule* table = impl.get();
    if (table->Fill(type_key, functions, num_functions, entry) != 0) return -1;
    ModuleObj* m = MakeModule(std::move(impl));
    // Taken over only now: on failure the holder stays the caller's.
    table->SetHolder(holder, drop);
    *out = m;
    return 0;
  });
}

int TVMTableModuleSetResolver(TVMModuleHandle mod,
                              void* (*resolve)(void* holder, const char* name)) {
  using namespace tvm::runtime;  // NOLINT(build/namespaces)
  if (CheckHandle(mod, kTVMTypeModule, "TVMTableModuleSetResolver", "a module") != 0) return -1;
  auto* m = static_cast<ModuleObj*>(static_cast<Object*>(mod));
  auto* table = dynamic_cast<TableModule*>(m->impl);
  if (table == nullptr) {
    return Fail("TypeError",
                "TVMTableModuleSetResolver: expected a module of TVMTableModuleCreate");
  }
  table->SetResolver(resolve);
  return 0;
}
