// The executor as a module: its functions take a name or a number where one is meant.
#include <atomic>
#include <mutex>
#include <thread>

#include "../object_internal.h"
#include "../packed_func_internal.h"
#include "executor.h"
#include "refusal.h"

namespace tvm {
namespace runtime {
namespace graph {

namespace {

struct Call {
  const char* name;
  const TVMValue* values;
  const int* tags;
  int size;
  RetValueCell* ret;

  [[noreturn]] void Wrong(int i, const char* expected) const {
    Refuse(std::string(name) + ": argument " + std::to_string(i) + ": expected " + expected +
               ", but got " + ArgumentText(values[i], tags[i]),
           "TypeError");
  }
  void Expect(int least, int most) const {
    if (size >= least && size <= most) return;
    Refuse(std::string(name) + ": expects " + std::to_string(least) +
               (least == most ? "" : " to " + std::to_string(most)) + " arguments, but got " +
               std::to_string(size),
           "TypeError");
  }
  bool IsInt(int i) const { return tags[i] == kTVMArgInt || tags[i] == kTVMArgBool; }
  int64_t Int(int i, int64_t least, int64_t most, const char* what) const {
    if (!IsInt(i)) Wrong(i, "an int");
    int64_t v = values[i].v_int64;
    if (v < least || v > most) {
      Refuse(std::string(name) + ": " + what + " " + std::to_string(v) +
                 " is out of range; there are " + std::to_string(most + 1),
             "IndexError");
    }
    return v;
  }
  const char* Text(int i) const {
    if (tags[i] != kTVMStr || values[i].v_str == nullptr) Wrong(i, "a str");
    return values[i].v_str;
  }
  NDArray Array(int i) const {
    if (tags[i] != kTVMNDArrayHandle || values[i].v_handle == nullptr) Wrong(i, "an NDArray");
    auto* t = static_cast<DLTensor*>(values[i].v_handle);
    NDArrayContainer::FromHandle(t)->IncRef();
    return NDArray::Steal(t);
  }
  const DLTensor* Tensor(int i) const {
    bool is_tensor = tags[i] == kTVMNDArrayHandle || tags[i] == kTVMDLTensorHandle;
    if (!is_tensor || values[i].v_handle == nullptr) Wrong(i, "an NDArray");
    return static_cast<const DLTensor*>(values[i].v_handle);
  }
  const TVMByteArray& Bytes(int i) const {
    if (tags[i] != kTVMBytes || values[i].v_handle == nullptr) Wrong(i, "bytes");
    return *static_cast<const TVMByteArray*>(values[i].v_handle);
  }
  void Return(int64_t v) const {
    ret->value->v_int64 = v;
    *ret->type_code = kTVMArgInt;
  }
  void Return(const NDArray& array) const {
    NDArray copy = array;
    ret->value->v_handle = copy.release();
    *ret->type_code = kTVMNDArrayHandle;
  }
  void Return(const std::string& text, int tag) const {
    TVMByteArray bytes = {text.data(), text.size()};
    TVMValue v;
    if (tag == kTVMStr) {
      v.v_str = text.c_str();
    } else {
      v.v_handle = &bytes;
    }
    Check(TVMCFuncSetReturn(ret, &v, &tag, 1));
  }
};

int Input(const Executor& e, const Call& c, int i) {
  if (c.IsInt(i)) return static_cast<int>(c.Int(i, 0, e.num_inputs() - 1, "input"));
  const char* name = c.Text(i);
  int index = e.InputIndex(name);
  if (index >= 0) return index;
  std::string known;
  for (int k = 0; k < e.num_inputs() && k < 20; ++k) {
    known += (k == 0 ? "\"" : ", \"") + e.input_node(k).name + "\"";
  }
  Refuse(std::string(c.name) + ": the graph has no input \"" + name +
         "\"; its inputs are: " + known);
}

int Output(const Executor& e, const Call& c, int i) {
  if (c.IsInt(i)) return static_cast<int>(c.Int(i, 0, e.num_outputs() - 1, "output"));
  const char* name = c.Text(i);
  int index = e.OutputIndex(name);
  if (index < 0) Refuse(std::string(c.name) + ": the graph has no output \"" + name + "\"");
  return index;
}

size_t NodeAt(const Executor& e, const Call& c, int i) {
  if (c.IsInt(i)) return static_cast<size_t>(c.Int(i, 0, e.num_nodes() - 1, "node"));
  int index = e.NodeIndex(c.Text(i));
  if (index < 0) Refuse(std::string(c.name) + ": the graph has no node \"" + c.Text(i) + "\"");
  return static_cast<size_t>(index);
}

// An array for the caller: itself, or copied to where the caller says.
void Deliver(const Call& c, const NDArray& array, int out) {
  if (c.size <= out) return c.Return(array);
  auto* to = const_cast<DLTensor*>(c.Tensor(out));
  Check(TVMArrayCopyFromTo(array.handle(), to, nullptr));
}

struct Method {
  const char* name;
  bool debug_only;
  void (*body)(Executor& e, const Call& c);
};

const Method kMethods[] = {
    {"run", false,
     [](Executor& e, const Call& c) {
       c.Expect(0, 0);
       Check(e.Run());
     }},
    {"set_input", false,
     [](Executor& e, const Call& c) {
       c.Expect(2, 2);
       e.SetInput(Input(e, c, 0), c.Tensor(1));
     }},
    {"set_input_zero_copy", false,
     [](Executor& e, const Call& c) {
       c.Expect(2, 2);
       e.SetInputZeroCopy(Input(e, c, 0), c.Array(1));
     }},
    {"set_output_zero_copy", false,
     [](Executor& e, const Call& c) {
       c.Expect(2, 2);
       e.SetOutputZeroCopy(Output(e, c, 0), c.Array(1));
     }},
    {"get_input", false,
     [](Executor& e, const Call& c) {
       c.Expect(1, 2);
       Deliver(c, e.Input(Input(e, c, 0)), 1);
     }},
    {"get_output", false,
     [](Executor& e, const Call& c) {
       c.Expect(1, 2);
       Deliver(c, e.Output(Output(e, c, 0)), 1);
     }},
    {"get_num_inputs", false, [](Executor& e, const Call& c) { c.Return(e.num_inputs()); }},
    {"get_num_outputs", false, [](Executor& e, const Call& c) { c.Return(e.num_outputs()); }},
    {"get_input_index", false,
     [](Executor& e, const Call& c) {
       c.Expect(1, 1);
       c.Return(e.InputIndex(c.Text(0)));
     }},
    {"get_output_index", false,
     [](Executor& e, const Call& c) {
       c.Expect(1, 1);
       c.Return(e.OutputIndex(c.Text(0)));
     }},
    {"get_input_name", false,
     [](Executor& e, const Call& c) {
       c.Expect(1, 1);
       c.Return(e.input_node(Input(e, c, 0)).name, kTVMStr);
     }},
    {"load_params", false,
     [](Executor& e, const Call& c) {
       c.Expect(1, 1);
       e.LoadParams(c.Bytes(0).data, c.Bytes(0).size);
     }},
    {"share_params", false,
     [](Executor& e, const Call& c) {
       c.Expect(2, 2);
       auto other = ModuleFrom(c.values[0], c.tags[0], c.name);
       const Executor* from = ExecutorOf(other.get());
       if (from == nullptr) c.Wrong(0, "a graph executor");
       e.ShareParams(*from, c.Bytes(1).data, c.Bytes(1).size);
     }},
    {"get_num_nodes", true, [](Executor& e, const Call& c) { c.Return(e.num_nodes()); }},
    {"get_node_name", true,
     [](Executor& e, const Call& c) {
       c.Expect(1, 1);
       c.Return(e.node(NodeAt(e, c, 0)).name, kTVMStr);
     }},
    {"execute_node", true,
     [](Executor& e, const Call& c) {
       c.Expect(1, 1);
       Check(e.RunNode(NodeAt(e, c, 0)));
     }},
    {"get_node_output", true,
     [](Executor& e, const Call& c) {
       c.Expect(2, 3);
       size_t node = NodeAt(e, c, 0);
       int64_t k = c.Int(1, 0, e.node(node).num_outputs - 1, "output of the node");
       Deliver(c, e.NodeOutput(node, static_cast<int>(k)), 2);
     }},
};

class ExecutorModule : public ModuleImpl {
 public:
  ExecutorModule(std::unique_ptr<Executor> executor, bool debug)
      : executor(std::move(executor)), debug_(debug) {}
  const char* type_key() const override { return debug_ ? "GraphExecutorDebug" : "GraphExecutor"; }
  std::vector<std::string> ListFunctions() const override {
    std::vector<std::string> names;
    for (const Method& m : kMethods) {
      if (debug_ || !m.debug_only) names.push_back(m.name);
    }
    return names;
  }
  PackedFuncObj* GetFunction(const char* name, ModuleObj* self) override;

  std::unique_ptr<Executor> executor;
  std::mutex mutex;                   // one call at a time
  std::atomic<std::thread::id> user;  // who is in one

 private:
  bool debug_;
};

struct MethodFuncObj : PackedFuncObj {
  const Method* method;
  ExecutorModule* module;
  ObjectPtr<ModuleObj> ref;
};

int CallMethod(PackedFuncObj* self, const TVMValue* args, const int* type_codes, int num_args,
               TVMValue* ret, int* ret_type_code) {
  auto* f = static_cast<MethodFuncObj*>(self);
  RetValueCell cell = {ret, ret_type_code, nullptr};
  return Answered([&] {
    ExecutorModule* m = f->module;
    if (m->user.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      Refuse(std::string(f->name) + ": the executor is running; a function of its graph called it",
             "RuntimeError");
    }
    std::lock_guard<std::mutex> lock(m->mutex);
    struct Mark {
      explicit Mark(std::atomic<std::thread::id>* u) : user(u) {
        user->store(std::this_thread::get_id(), std::memory_order_relaxed);
      }
      ~Mark() { user->store(std::thread::id(), std::memory_order_relaxed); }
      std::atomic<std::thread::id>* user;
    } mark(&m->user);
    f->method->body(*m->executor, Call{f->name, args, type_codes, num_args, &cell});
  });
}

PackedFuncObj* ExecutorModule::GetFunction(const char* name, ModuleObj* self) {
  for (const Method& m : kMethods) {
    if (strcmp(m.name, name) != 0 || (m.debug_only && !debug_)) continue;
    auto* f = MakeObject<MethodFuncObj, kCountFunctions>(kTVMTypePackedFunc);
    f->call = CallMethod;
    f->flags = kPackedFuncReleaseGIL;  // waits for other threads
    f->name = m.name;
    f->method = &m;
    f->module = this;
    f->ref = ObjectPtr<ModuleObj>::Share(self);
    return f;
  }
  return nullptr;
}

int Create(const TVMValue* values, const int* tags, int n, RetValueCell* ret, const char* where,
           bool debug) {
  return Answered([&] {
    Call c{where, values, tags, n, ret};
    if (n < 3) {
      Refuse(std::string(where) + ": expects the graph's JSON text, a module and devices",
             "TypeError");
    }
    const char* text = c.Text(0);
    auto lib = ModuleFrom(values[1], tags[1], where);
    int first = 2;
    if (tags[2] == kTVMNullptr) first = 3;
    if (tags[2] == kTVMPackedFuncHandle) {
      Refuse(std::string(where) + ": a look-up function for linked parameters is not supported",
             "NotImplementedError");
    }
    auto devices = DevicesFrom(values + first, tags + first, n - first);
    auto executor = std::make_unique<Executor>(ParseGraph(text, strlen(text)), std::move(lib),
                                               false, std::move(devices));
    ret->value->v_handle = MakeExecutorModule(std::move(executor), debug);
    *ret->type_code = kTVMModuleHandle;
  });
}

int CreateExecutor(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  return Create(values, tags, n, ret, "tvm.graph_executor.create", false);
}

int CreateDebug(const TVMValue* values, const int* tags, int n, RetValueCell* ret) {
  return Create(values, tags, n, ret, "tvm.graph_executor_debug.create", true);
}

__attribute__((constructor)) void RegisterGraph() {
  Guarded([] {
    RegisterNative("tvm.graph_executor.create", CreateExecutor);
    RegisterNative("tvm.graph_runtime.create", CreateExecutor);
    RegisterNative("tvm.graph_executor_debug.create", CreateDebug);
    return 0;
  });
}

}  // namespace

ModuleObj* MakeExecutorModule(std::unique_ptr<Executor> executor, bool debug) {
  return MakeModule(std::make_unique<ExecutorModule>(std::move(executor), debug));
}

Executor* ExecutorOf(ModuleObj* module) {
  auto* m = dynamic_cast<ExecutorModule*>(module->impl);
  return m == nullptr ? nullptr : m->executor.get();
}

ObjectPtr<ModuleObj> ModuleFrom(TVMValue value, int tag, const char* where) {
  if (tag != kTVMModuleHandle || value.v_handle == nullptr) {
    Refuse(std::string(where) + ": expected a module, but got " + ArgumentText(value, tag),
           "TypeError");
  }
  return ObjectPtr<ModuleObj>::Share(static_cast<ModuleObj*>(static_cast<Object*>(value.v_handle)));
}

std::vector<DLDevice> DevicesFrom(const TVMValue* values, const int* tags, int n) {
  std::vector<DLDevice> devices;
  for (int i = 0; i < n; ++i) {
    DLDevice d;
    if (tags[i] == kDLDevice) {
      d = values[i].v_device;
    } else if (tags[i] == kTVMArgInt && i + 1 < n && tags[i + 1] == kTVMArgInt) {
      d.device_type = static_cast<DLDeviceType>(values[i].v_int64);
      d.device_id = static_cast<int32_t>(values[i + 1].v_int64);
      ++i;
    } else {
      Refuse("graph executor: expected a device, or its type and number, but got " +
                 ArgumentText(values[i], tags[i]),
             "TypeError");
    }
    devices.push_back(d);
  }
  return devices;
}

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
