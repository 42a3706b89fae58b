// Modules over shared libraries with functions in the classic form.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <tvm/runtime/c_backend_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "error.h"
#include "module_internal.h"
#include "object_internal.h"
#include "packed_check.h"
#include "packed_func_internal.h"

namespace tvm {
namespace runtime {

namespace {

struct LibraryFuncObj : PackedFuncObj {
  TVMBackendPackedCFunc function;
  ObjectPtr<ModuleObj> module;  // keeps the code mapped
  std::string own_name;
};

int CallLibrary(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
                TVMValue* ret, int* ret_type_code) {
  auto* f = static_cast<LibraryFuncObj*>(self);
  TVMErrorClear();  // so that a failure without a text is not blamed on an earlier call
  int rc = f->function(const_cast<TVMValue*>(args), const_cast<int*>(type_codes), num_args, ret,
                       ret_type_code, nullptr);
  if (__builtin_expect(rc != 0, 0)) {
    if (TVMErrorGet(nullptr, nullptr, nullptr) != 0) {
      Fail("RuntimeError", "%s: failed with code %d, and set no error", f->name, rc);
    }
    DropResult(ret, ret_type_code);
    return rc == -2 ? -2 : -1;
  }
  if (*ret_type_code == kTVMArgBool) *ret_type_code = kTVMArgInt;
  return 0;
}

// Whether the dynamic loader can take a file: it reads a segment that the file does not have to the
// end, which ends the process. 0, or -1 with an error; a file that cannot be read is left to it.
int CheckLibraryFile(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "rb"), fclose);
  if (file == nullptr || fseek(file.get(), 0, SEEK_END) != 0) return 0;
  const auto size = static_cast<uint64_t>(ftell(file.get()));
  rewind(file.get());
  auto refuse = [&](const std::string& why) {
    return FailText("RuntimeError", "cannot load library \"" + path + "\": " + why);
  };
  ElfW(Ehdr) head;
  if (fread(&head, 1, sizeof(head), file.get()) != sizeof(head) ||
      memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return refuse("it is not a shared library: it has no ELF header");
  }
  ElfW(Ehdr) own;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&CheckLibraryFile), &info) == 0) return 0;
  memcpy(&own, info.dli_fbase, sizeof(own));
  if (head.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || head.e_machine != own.e_machine) {
    return refuse("it was made for another kind of processor (ELF machine " +
                  std::to_string(head.e_machine) + ", this process runs " +
                  std::to_string(own.e_machine) + ")");
  }
  if (head.e_type != ET_DYN) {
    return refuse(head.e_type == ET_REL
                      ? "it is an object file, not a shared library; an ending of .o says so"
                      : "it is not a shared library");
  }
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (fseek(file.get(), static_cast<long>(head.e_phoff + i * sizeof(segment)), SEEK_SET) != 0 ||
        fread(&segment, 1, sizeof(segment), file.get()) != sizeof(segment)) {
      return refuse("it is cut off: its program headers are missing");
    }
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > size || segment.p_offset > size - segment.p_filesz) {
      return refuse("it is cut off: it has " + std::to_string(size) +
                    " bytes, but a segment ends at " +
                    std::to_string(segment.p_offset + segment.p_filesz));
    }
  }
  return 0;
}

PackedFuncObj* MakeFunction(void* address, const char* name, ModuleObj* self) {
  auto* f = MakeObject<LibraryFuncObj, kCountFunctions>(kTVMTypePackedFunc);
  f->call = CallLibrary;
  f->flags = kPackedFuncReleaseGIL;
  f->own_name = name;
  f->name = f->own_name.c_str();
  f->function = reinterpret_cast<TVMBackendPackedCFunc>(address);
  f->module = ObjectPtr<ModuleObj>::Share(self);
  return f;
}

// Functions that are linked into the program and have registered themselves.
class SystemLibrary : public ModuleImpl {
 public:
  explicit SystemLibrary(std::string prefix) : prefix_(std::move(prefix)) {}
  const char* type_key() const override { return "system_lib"; }
  std::vector<std::string> ListFunctions() const override { return {}; }
  PackedFuncObj* GetFunction(const char* name, ModuleObj* self) override {
    void* address = FindSystemLibSymbol(prefix_ + name);
    return address == nullptr ? nullptr : MakeFunction(address, name, self);
  }

 private:
  std::string prefix_;
};

class LibraryModule : public ModuleImpl {
 public:
  ~LibraryModule() override {
    if (handle_ != nullptr) dlclose(handle_);
  }
  const char* type_key() const override { return "library"; }
  // A library does not say which of its symbols are functions in the packed form.
  std::vector<std::string> ListFunctions() const override { return {}; }

  int Open(const std::string& path) {
    // Deep binding: slots of a library that somebody loaded globally must not capture ours.
    int flags = RTLD_LAZY | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    flags |= RTLD_DEEPBIND;
#endif
    if (CheckLibraryFile(path) != 0) return -1;
    dlerror();
    // A bare name would be looked for among the system's libraries, but this is a file's.
    bool bare = path.find('/') == std::string::npos && access(path.c_str(), F_OK) == 0;
    handle_ = dlopen((bare ? "./" + path : path).c_str(), flags);
    if (handle_ == nullptr) {
      const char* why = dlerror();
      return Fail("RuntimeError", "cannot load library \"%s\": %s", path.c_str(),
                  why == nullptr ? "unknown reason" : why);
    }
    return 0;
  }

  void FillSlots(ModuleObj* self) {
    SetSlot("__TVMFuncCall", reinterpret_cast<void*>(&TVMFuncCall));
    SetSlot("__TVMAPISetLastError", reinterpret_cast<void*>(&TVMAPISetLastError));
    SetSlot("__TVMBackendGetFuncFromEnv", reinterpret_cast<void*>(&TVMBackendGetFuncFromEnv));
    SetSlot("__TVMBackendAllocWorkspace", reinterpret_cast<void*>(&TVMBackendAllocWorkspace));
    SetSlot("__TVMBackendFreeWorkspace", reinterpret_cast<void*>(&TVMBackendFreeWorkspace));
    SetSlot("__TVMBackendParallelLaunch", reinterpret_cast<void*>(&TVMBackendParallelLaunch));
    SetSlot("__TVMBackendParallelBarrier", reinterpret_cast<void*>(&TVMBackendParallelBarrier));
    SetSlot("__TVMBackendExplainCall", reinterpret_cast<void*>(&ExplainCall));
    SetSlot("__TVMBackendIsReadOnly", reinterpret_cast<void*>(&IsReadOnly));
    SetSlot("__tvm_module_ctx", self);
  }

  PackedFuncObj* GetFunction(const char* name, ModuleObj* self) override {
    std::string entry;
    void* address = nullptr;
    if (strcmp(name, kEntryName) == 0) {
      // LLVM hosts store the name of the entry function there, C hosts the function itself.
      bool is_function = false;
      address = FindSymbol(kEntryName, &is_function);
      if (address == nullptr) return nullptr;
      if (!is_function) {
        entry = static_cast<const char*>(address);
        name = entry.c_str();
        address = FindSymbol(name, &is_function);
      }
    } else {
      bool is_function = false;
      address = FindSymbol(name, &is_function);
      if (!is_function) return nullptr;
    }
    if (address == nullptr) return nullptr;
    return MakeFunction(address, name, self);
  }

 private:
  // The symbol of this library itself: dlsym would look through its dependencies, too ("sin").
  void* FindSymbol(const char* name, bool* is_function) {
    void* address = dlsym(handle_, name);
    if (address == nullptr) return nullptr;
    Dl_info info;
    ElfW(Sym)* symbol = nullptr;
    struct link_map* self_map = nullptr;
    if (dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0) {
      return nullptr;
    }
    if (dlinfo(handle_, RTLD_DI_LINKMAP, &self_map) == 0 && self_map != nullptr) {
      struct link_map* owner = nullptr;
      dladdr1(address, &info, reinterpret_cast<void**>(&owner), RTLD_DL_LINKMAP);
      if (owner != self_map) return nullptr;
    }
    *is_function = symbol != nullptr && (symbol->st_info & 0xf) == STT_FUNC;
    return address;
  }

  void SetSlot(const char* name, void* value) {
    bool is_function = false;
    void* slot = FindSymbol(name, &is_function);
    if (slot != nullptr && !is_function) memcpy(slot, &value, sizeof(value));
  }

  void* handle_ = nullptr;
};

}  // namespace

ModuleObj* SystemLibModule(const std::string& prefix) {
  // One module a prefix, never freed: compiled code keeps a pointer to it, and its lookups.
  static auto* mutex = new std::mutex();
  static auto* modules = new std::unordered_map<std::string, ObjectPtr<ModuleObj>>();
  std::lock_guard<std::mutex> lock(*mutex);
  ObjectPtr<ModuleObj>& m = (*modules)[prefix];
  if (!m) {
    m = ObjectPtr<ModuleObj>::Steal(MakeModule(std::make_unique<SystemLibrary>(prefix)));
  }
  // Set again each time: libraries may have come since.
  if (void* context = FindSystemLibSymbol(prefix + "__tvm_module_ctx")) {
    *static_cast<void**>(context) = m.get();
  }
  return ObjectPtr<ModuleObj>(m).release();
}

ModuleObj* LoadSharedLibrary(const std::string& path) {
  auto impl = std::make_unique<LibraryModule>();
  LibraryModule* library = impl.get();
  if (library->Open(path) != 0) return nullptr;
  ModuleObj* m = MakeModule(std::move(impl));
  library->FillSlots(m);
  return m;
}

}  // namespace runtime
}  // namespace tvm
