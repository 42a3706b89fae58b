#include "executor.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "../dtype.h"
#include "../ndarray_internal.h"
#include "../packed_func_internal.h"
#include "refusal.h"

namespace tvm {
namespace runtime {
namespace graph {

namespace {

std::string EntryText(const std::vector<int64_t>& shape, DLDataType dtype) {
  return "shape " + ShapeText(shape.data(), static_cast<int>(shape.size())) + " and dtype " +
         DTypeText(dtype);
}

// The same array, or a Refusal that says what differs.
void CheckSame(const std::string& what, const Entry& entry, const DLTensor& t) {
  std::vector<int64_t> shape(t.shape, t.shape + t.ndim);
  if (shape == entry.shape && SameDType(t.dtype, entry.dtype)) return;
  Refuse("graph executor: " + what + ": expected an array of " +
         EntryText(entry.shape, entry.dtype) + ", but got one of " + EntryText(shape, t.dtype));
}

PackedFuncObj* FindKernel(ModuleObj* lib, bool imports_only, const char* name) {
  TVMFunctionHandle out = nullptr;
  if (!imports_only) {
    Check(TVMModGetFunction(lib, name, 1, &out));
    return static_cast<PackedFuncObj*>(out);
  }
  int count = 0;
  Check(TVMModNumImports(lib, &count));
  for (int i = 0; i < count && out == nullptr; ++i) {
    TVMModuleHandle import = nullptr;
    Check(TVMModGetImport(lib, i, &import));
    int rc = TVMModGetFunction(import, name, 1, &out);
    TVMModFree(import);
    Check(rc);
  }
  return static_cast<PackedFuncObj*>(out);
}

DLDevice DeviceOf(const Entry& entry, const std::vector<DLDevice>& devices,
                  const std::string& name) {
  if (entry.device_type == 0) return devices[0];
  for (DLDevice d : devices) {
    // A remote device is numbered by its session too.
    if (d.device_type % 128 == entry.device_type) return d;
  }
  Refuse("graph executor: node \"" + name + "\" is on a device of type " +
         std::to_string(entry.device_type) + ", but no such device was given");
}

}  // namespace

Executor::Executor(Graph graph, ObjectPtr<ModuleObj> lib, bool imports_only,
                   std::vector<DLDevice> devices)
    : graph_(std::move(graph)), lib_(std::move(lib)) {
  if (devices.empty()) Refuse("graph executor: expected at least one device");
  PrepareOps(lib_.get(), imports_only);  // before memory is taken: a function may be missing
  PlanMemory(devices);
  users_.resize(graph_.entries.size());
  for (Op& op : ops_) {
    const Node& node = graph_.nodes[op.node];
    std::vector<int> entries = node.inputs;
    for (int k = 0; k < node.num_outputs; ++k) entries.push_back(node.first_output + k);
    op.tensors.resize(entries.size());
    op.flat.resize(entries.size());
    op.values.resize(entries.size());
    op.tags.assign(entries.size(), kTVMDLTensorHandle);
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto e = static_cast<size_t>(entries[i]);
      DLTensor& t = op.tensors[i];
      t = *arrays_[e].handle();
      t.data = static_cast<char*>(t.data) + t.byte_offset;
      t.byte_offset = 0;
      t.shape = graph_.entries[e].shape.data();
      if (node.flatten_data) {
        op.flat[i] = NumElements(t);
        t.ndim = 1;
        t.shape = &op.flat[i];
      }
      op.values[i].v_handle = &t;
      users_[e].push_back(&t);
    }
  }
  for (int i = 0; i < num_inputs(); ++i) {
    if (!inputs_.emplace(input_node(i).name, i).second) {
      Refuse("graph JSON: there are two inputs named \"" + input_node(i).name + "\"");
    }
  }
  for (int i = 0; i < num_outputs(); ++i) {
    for (const Node& node : graph_.nodes) {
      int k = OutputEntry(i) - node.first_output;
      if (k < 0 || k >= node.num_outputs) continue;
      outputs_.emplace(node.name + ":" + std::to_string(k), i);
      if (node.num_outputs == 1) outputs_.emplace(node.name, i);
    }
  }
}

void Executor::PrepareOps(ModuleObj* lib, bool imports_only) {
  op_of_node_.resize(graph_.nodes.size());
  ops_.reserve(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.is_input) continue;
    ops_.emplace_back();
    Op& op = ops_.back();
    op.node = i;
    op_of_node_[i] = &op;
    if (node.func_name == "__nop" || node.func_name == "__copy") continue;
    op.ref = ObjectPtr<PackedFuncObj>::Steal(FindKernel(lib, imports_only, node.func_name.c_str()));
    op.func = op.ref.get();
    if (op.func == nullptr) {
      Refuse("graph executor: node \"" + node.name + "\" calls the function \"" + node.func_name +
             "\", which the module does not have");
    }
  }
}

void Executor::PlanMemory(const std::vector<DLDevice>& devices) {
  struct Pool {
    int64_t nbytes = 0;
    DLDevice device = {};
    std::string scope;
    std::string node;
    NDArray memory;
  };
  std::map<int64_t, Pool> pools;  // ordered: the same graph allocates in the same order
  for (const Node& node : graph_.nodes) {
    for (int k = 0; k < node.num_outputs; ++k) {
      const Entry& e = graph_.entries[static_cast<size_t>(node.first_output + k)];
      DLDevice device = DeviceOf(e, devices, node.name);
      auto found = pools.emplace(e.storage_id, Pool());
      Pool& pool = found.first->second;
      if (found.second) {
        pool.device = device;
        pool.scope = e.storage_scope;
        pool.node = node.name;
      } else if (pool.device.device_type != device.device_type ||
                 pool.device.device_id != device.device_id || pool.scope != e.storage_scope) {
        Refuse("graph executor: nodes \"" + pool.node + "\" and \"" + node.name +
               "\" share storage " + std::to_string(e.storage_id) +
               ", but are on different devices or in different scopes");
      }
      pool.nbytes = std::max(pool.nbytes, e.nbytes);
    }
  }
  // Memory that is promised but not there would end the process at its first use.
  const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  int64_t total = 0;
  for (auto& item : pools) {
    if (item.second.device.device_type != kDLCPU) continue;
    if (__builtin_add_overflow(total, item.second.nbytes, &total) || total > physical) {
      Refuse("graph executor: the graph's arrays need more memory than the " +
                 std::to_string(physical) + " bytes of this machine; storage " +
                 std::to_string(item.first) + " of node \"" + item.second.node + "\" alone has " +
                 std::to_string(item.second.nbytes),
             "MemoryError");
    }
  }
  for (auto& item : pools) {
    Pool& pool = item.second;
    TVMArrayHandle memory = nullptr;
    const DLDataType byte = {kDLUInt, 8, 1};
    Check(TVMArrayEmpty(&pool.nbytes, 1, byte, pool.device,
                        pool.scope.empty() ? nullptr : pool.scope.c_str(), &memory));
    pool.memory = NDArray::Steal(memory);
    if (pool.device.device_type == kDLCPU && pool.nbytes > 0) {
      memset(memory->data, 0, static_cast<size_t>(pool.nbytes));
    }
  }
  for (const Entry& e : graph_.entries) {
    TVMArrayHandle view = nullptr;
    Check(TVMArrayView(pools[e.storage_id].memory.handle(), e.shape.data(),
                       static_cast<int>(e.shape.size()), e.dtype, 0, &view));
    arrays_.push_back(NDArray::Steal(view));
  }
}

// ---- running ------------------------------------------------------------------------------------

int Executor::Call(Op* op) {
  if (__builtin_expect(op->func == nullptr, 0)) {
    if (op->tensors[0].data == op->tensors[1].data) return 0;
    DLTensor& to = op->tensors[1];
    return TVMArrayCopyFromTo(&op->tensors[0], &to, nullptr);
  }
  TVMValue ret;
  int ret_tag = kTVMNullptr;
  int rc = op->func->call(op->func, op->values.data(), op->tags.data(),
                          static_cast<int>(op->tags.size()), &ret, &ret_tag);
  if (__builtin_expect(ret_tag != kTVMNullptr, 0)) DropResult(&ret, &ret_tag);
  return rc;
}

namespace {

// Adds the node's name to the error, unless that is an exception of another language.
int NameNode(int rc, const Node& node) {
  if (rc != -1) return rc;
  const char* kind = nullptr;
  const char* message = nullptr;
  if (TVMErrorGet(&kind, &message, nullptr) != 0) return rc;  // none is set
  std::string k = kind == nullptr ? "RuntimeError" : kind;
  return FailText(k.c_str(), "graph executor: node \"" + node.name + "\" (" + node.func_name +
                                 "): " + (message == nullptr ? "" : message));
}

}  // namespace

int Executor::Run() {
  for (Op& op : ops_) {
    int rc = Call(&op);
    if (__builtin_expect(rc != 0, 0)) return NameNode(rc, graph_.nodes[op.node]);
  }
  return 0;
}

int Executor::RunNode(size_t node) {
  Op* op = op_of_node_[node];
  if (op == nullptr) return 0;
  int rc = Call(op);
  return rc == 0 ? 0 : NameNode(rc, graph_.nodes[node]);
}

// ---- inputs and outputs -------------------------------------------------------------------------

int Executor::InputIndex(const std::string& name) const {
  auto it = inputs_.find(name);
  return it == inputs_.end() ? -1 : it->second;
}

int Executor::OutputIndex(const std::string& name) const {
  auto it = outputs_.find(name);
  return it == outputs_.end() ? -1 : it->second;
}

int Executor::NodeIndex(const std::string& name) const {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const NDArray& Executor::NodeOutput(size_t node, int output) const {
  return arrays_[static_cast<size_t>(graph_.nodes[node].first_output + output)];
}

void Executor::SetInput(int i, const DLTensor* from) {
  const auto e = static_cast<size_t>(InputEntry(i));
  CheckSame(InputText(i), graph_.entries[e], *from);
  Check(TVMArrayCopyFromTo(const_cast<DLTensor*>(from), arrays_[e].handle(), nullptr));
}

void Executor::Replace(int entry, NDArray array, const std::string& what) {
  const auto e = static_cast<size_t>(entry);
  const DLTensor& now = *arrays_[e].handle();
  const DLTensor& t = *array.handle();
  CheckSame(what, graph_.entries[e], t);
  if (t.device.device_type != now.device.device_type ||
      t.device.device_id != now.device.device_id) {
    Refuse("graph executor: " + what + ": the array is on another device than the graph's");
  }
  if (!IsCompact(t)) Refuse("graph executor: " + what + ": an array without copy must be compact");
  // Kernels are compiled for memory of this alignment.
  if (t.device.device_type == kDLCPU && !NDArray::IsAligned(t)) {
    Refuse("graph executor: " + what + ": an array without copy must be aligned to " +
           std::to_string(kAllocAlignment) + " bytes; set_input copies any array");
  }
  for (DLTensor* user : users_[e]) user->data = static_cast<char*>(t.data) + t.byte_offset;
  arrays_[e] = std::move(array);
}

void Executor::SetInputZeroCopy(int i, NDArray array) {
  Replace(InputEntry(i), std::move(array), InputText(i));
}

void Executor::SetOutputZeroCopy(int i, NDArray array) {
  const std::string what = "output " + std::to_string(i);
  for (const Node& node : graph_.nodes) {
    if (node.is_input && node.first_output == OutputEntry(i)) {
      Refuse("graph executor: " + what + " is the input \"" + node.name +
             "\" itself; use set_input_zero_copy");
    }
  }
  if (IsReadOnly(array.handle())) {
    Refuse("graph executor: " + what + ": the array is read-only");
  }
  Replace(OutputEntry(i), std::move(array), what);
}

// ---- parameters ---------------------------------------------------------------------------------

void Executor::LoadParams(const char* data, size_t size) {
  ByteReader in{data, size, 0};
  std::vector<std::string> names;
  std::vector<StreamArray> arrays;
  Check(ReadNamedArrays(&in, "load_params", &names, &arrays, true));
  // All are checked before the first is written.
  for (size_t k = 0; k < names.size(); ++k) {
    int i = InputIndex(names[k]);
    if (i < 0) continue;
    DLTensor t = {};
    t.ndim = static_cast<int>(arrays[k].shape.size());
    t.shape = arrays[k].shape.data();
    t.dtype = arrays[k].dtype;
    CheckSame("parameter \"" + names[k] + "\"", graph_.entries[static_cast<size_t>(InputEntry(i))],
              t);
  }
  for (size_t k = 0; k < names.size(); ++k) {
    int i = InputIndex(names[k]);
    if (i >= 0) Check(CopyStreamArray(arrays[k], Input(i).handle()));
  }
}

void Executor::ShareParams(const Executor& other, const char* data, size_t size) {
  ByteReader in{data, size, 0};
  std::vector<std::string> names;
  std::vector<StreamArray> arrays;
  Check(ReadNamedArrays(&in, "share_params", &names, &arrays, true));
  for (const std::string& name : names) {
    int i = InputIndex(name);
    if (i < 0) continue;
    int j = other.InputIndex(name);
    if (j < 0) {
      Refuse("share_params: the other executor has no input \"" + name + "\"");
    }
    SetInputZeroCopy(i, other.Input(j));
  }
}

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
