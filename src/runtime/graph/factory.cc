// A graph, its parameters and its library as one module, which makes executors.
#include "../object_internal.h"
#include "../packed_func_internal.h"
#include "executor.h"
#include "refusal.h"

namespace tvm {
namespace runtime {
namespace graph {

namespace {

constexpr const char* kTypeKey = "GraphExecutorFactory";

class FactoryModule : public ModuleImpl {
 public:
  std::string json;
  std::string module_name;
  std::vector<std::string> names;
  std::vector<NDArray> params;

  const char* type_key() const override { return kTypeKey; }
  std::vector<std::string> ListFunctions() const override {
    return {module_name,        "debug_create",    "get_graph_json",
            "get_graph_params", "get_module_name", "remove_params"};
  }
  PackedFuncObj* GetFunction(const char* name, ModuleObj* self) override;

  std::string ParamBytes() const {
    ByteWriter out;
    out.Put(kParamListMagic);
    out.Put<uint64_t>(0);
    out.Put<uint64_t>(names.size());
    for (const std::string& name : names) out.Text(name);
    out.Put<uint64_t>(params.size());
    for (const NDArray& p : params) Check(WriteArray(p.handle(), &out));
    return std::move(out.bytes);
  }

  // string json, count, names, arrays, string module name
  std::string Save() const {
    ByteWriter out;
    out.Text(json);
    out.Put<uint64_t>(params.size());
    out.Put<uint64_t>(names.size());
    for (const std::string& name : names) out.Text(name);
    for (const NDArray& p : params) Check(WriteArray(p.handle(), &out));
    out.Text(module_name);
    return std::move(out.bytes);
  }

  void Load(ByteReader* in) {
    const std::string where = std::string("loading a ") + kTypeKey;
    std::vector<StreamArray> arrays;
    if (!in->Text(&json)) Refuse(where + ": the data ends early, in the graph");
    Check(ReadNamedArrays(in, where, &names, &arrays, false));
    if (!in->Text(&module_name)) Refuse(where + ": the data ends early, in the module's name");
    for (const StreamArray& a : arrays) {
      params.push_back(NDArray::Empty(a.shape, a.dtype, {kDLCPU, 0}));
      Check(CopyStreamArray(a, params.back().handle()));
    }
  }

  ModuleObj* MakeExecutor(ModuleObj* self, const TVMValue* values, const int* tags, int n,
                          bool debug) {
    auto devices = DevicesFrom(values, tags, n);
    auto executor =
        std::make_unique<Executor>(ParseGraph(json.data(), json.size()),
                                   ObjectPtr<ModuleObj>::Share(self), true, std::move(devices));
    for (size_t k = 0; k < names.size(); ++k) {
      int i = executor->InputIndex(names[k]);
      if (i >= 0) executor->SetInput(i, params[k].handle());
    }
    return MakeExecutorModule(std::move(executor), debug);
  }
};

struct FactoryFuncObj : PackedFuncObj {
  std::string own_name;
  ObjectPtr<ModuleObj> module;
};

void ReturnModule(RetValueCell* ret, ModuleObj* m) {
  ret->value->v_handle = m;
  *ret->type_code = kTVMModuleHandle;
}

void ReturnText(RetValueCell* ret, const std::string& text, int tag) {
  TVMByteArray bytes = {text.data(), text.size()};
  TVMValue v;
  if (tag == kTVMStr) {
    v.v_str = text.c_str();
  } else {
    v.v_handle = &bytes;
  }
  Check(TVMCFuncSetReturn(ret, &v, &tag, 1));
}

int CallFactory(PackedFuncObj* self, const TVMValue* values, const int* tags, int n, TVMValue* out,
                int* out_tag) {
  auto* f = static_cast<FactoryFuncObj*>(self);
  RetValueCell cell = {out, out_tag, nullptr};
  return Answered([&] {
    ModuleObj* m = f->module.get();
    auto* factory = static_cast<FactoryModule*>(m->impl);
    const std::string& name = f->own_name;
    if (name == factory->module_name) {
      return ReturnModule(&cell, factory->MakeExecutor(m, values, tags, n, false));
    }
    if (name == "debug_create") {
      if (n < 1 || tags[0] != kTVMStr || values[0].v_str != factory->module_name) {
        Refuse("debug_create: expected the module's name \"" + factory->module_name +
               "\", then devices");
      }
      return ReturnModule(&cell, factory->MakeExecutor(m, values + 1, tags + 1, n - 1, true));
    }
    if (name == "get_graph_json") return ReturnText(&cell, factory->json, kTVMStr);
    if (name == "get_module_name") return ReturnText(&cell, factory->module_name, kTVMStr);
    if (name == "get_graph_params") return ReturnText(&cell, factory->ParamBytes(), kTVMBytes);
    auto bare = std::make_unique<FactoryModule>();
    bare->json = factory->json;
    bare->module_name = factory->module_name;
    auto made = ObjectPtr<ModuleObj>::Steal(MakeModule(std::move(bare)));
    int count = 0;
    Check(TVMModNumImports(m, &count));
    for (int i = 0; i < count; ++i) {
      TVMModuleHandle import = nullptr;
      Check(TVMModGetImport(m, i, &import));
      int rc = TVMModImport(made.get(), import);
      TVMModFree(import);
      Check(rc);
    }
    ReturnModule(&cell, made.release());
  });
}

PackedFuncObj* FactoryModule::GetFunction(const char* name, ModuleObj* self) {
  bool known = false;
  for (const std::string& own : ListFunctions()) known |= own == name;
  if (!known) return nullptr;
  auto* f = MakeObject<FactoryFuncObj, kCountFunctions>(kTVMTypePackedFunc);
  f->call = CallFactory;
  f->flags = kPackedFuncReleaseGIL;
  f->own_name = name;
  f->name = f->own_name.c_str();
  f->module = ObjectPtr<ModuleObj>::Share(self);
  return f;
}

// (json, module or None, module name, then a name and an array each)
int CreateFactory(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  return Answered([&] {
    const char* where = "tvm.graph_executor_factory.create";
    if (n < 3 || n % 2 == 0 || tags[0] != kTVMStr || tags[2] != kTVMStr) {
      Refuse(std::string(where) +
                 ": expects the graph's JSON text, a module, a name, and pairs of name and array",
             "TypeError");
    }
    auto impl = std::make_unique<FactoryModule>();
    impl->json = values[0].v_str;
    impl->module_name = values[2].v_str;
    ParseGraph(impl->json.data(), impl->json.size());  // its errors now, not at the first use
    for (int i = 3; i < n; i += 2) {
      if (tags[i] != kTVMStr || tags[i + 1] != kTVMNDArrayHandle) {
        Refuse(std::string(where) + ": parameters are pairs of name and array", "TypeError");
      }
      auto* t = static_cast<DLTensor*>(values[i + 1].v_handle);
      impl->names.push_back(values[i].v_str);
      NDArrayContainer::FromHandle(t)->IncRef();
      impl->params.push_back(NDArray::Steal(t));
    }
    auto made = ObjectPtr<ModuleObj>::Steal(MakeModule(std::move(impl)));
    if (tags[1] != kTVMNullptr) {
      auto lib = ModuleFrom(values[1], tags[1], where);
      Check(TVMModImport(made.get(), lib.get()));
    }
    ReturnModule(ret, made.release());
  });
}

// From bytes, or from a ByteReader by its handle, which moves on.
int LoadFactory(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  return Answered([&] {
    if (n != 1 || (tags[0] != kTVMBytes && tags[0] != kTVMOpaqueHandle) ||
        values[0].v_handle == nullptr) {
      Refuse("runtime.module.loadbinary_GraphExecutorFactory: expects bytes", "TypeError");
    }
    auto impl = std::make_unique<FactoryModule>();
    if (tags[0] == kTVMBytes) {
      auto* bytes = static_cast<const TVMByteArray*>(values[0].v_handle);
      ByteReader in{bytes->data, bytes->size, 0};
      impl->Load(&in);
      if (in.left() != 0) {
        Refuse("loading a GraphExecutorFactory: there are " + std::to_string(in.left()) +
               " bytes too many");
      }
    } else {
      impl->Load(static_cast<ByteReader*>(values[0].v_handle));
    }
    ReturnModule(ret, MakeModule(std::move(impl)));
  });
}

int SaveFactory(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  return Answered([&] {
    const char* where = "runtime.module.savebinary_GraphExecutorFactory";
    if (n != 1) Refuse(std::string(where) + ": expects a module", "TypeError");
    auto m = ModuleFrom(values[0], tags[0], where);
    auto* factory = dynamic_cast<FactoryModule*>(m->impl);
    if (factory == nullptr) Refuse(std::string(where) + ": expects a GraphExecutorFactory");
    ReturnText(ret, factory->Save(), kTVMBytes);
  });
}

__attribute__((constructor)) void RegisterFactory() {
  Guarded([] {
    RegisterNative("tvm.graph_executor_factory.create", CreateFactory);
    RegisterNative("runtime.module.savebinary_GraphExecutorFactory", SaveFactory);
    // Older programs wrote the other name.
    for (const char* key : {"GraphExecutorFactory", "GraphRuntimeFactory"}) {
      RegisterNative((std::string("runtime.module.loadbinary_") + key).c_str(), LoadFactory);
    }
    return 0;
  });
}

}  // namespace

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
