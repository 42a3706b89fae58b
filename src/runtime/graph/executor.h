// The graph executor: arrays by the memory plan, and one prepared call a node.
#ifndef TVM_SRC_RUNTIME_GRAPH_EXECUTOR_H_
#define TVM_SRC_RUNTIME_GRAPH_EXECUTOR_H_

#include <tvm/runtime/ndarray.h>
#include <tvm/runtime/packed_func.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../module_internal.h"
#include "../serialization/param_stream.h"
#include "graph.h"

namespace tvm {
namespace runtime {
namespace graph {

// Methods throw Refusal or AlreadySet.
class Executor {
 public:
  // imports_only: functions come from what `lib` imports, not from `lib` itself.
  Executor(Graph graph, ObjectPtr<ModuleObj> lib, bool imports_only, std::vector<DLDevice> devices);

  // 0 or -1 with the error that the node set, which then names it.
  int Run();
  int RunNode(size_t node);

  int num_inputs() const { return static_cast<int>(graph_.arg_nodes.size()); }
  int num_outputs() const { return static_cast<int>(graph_.heads.size()); }
  int num_nodes() const { return static_cast<int>(graph_.nodes.size()); }
  const Node& node(size_t i) const { return graph_.nodes[i]; }
  const Node& input_node(int i) const {
    return graph_.nodes[static_cast<size_t>(graph_.arg_nodes[static_cast<size_t>(i)])];
  }
  // -1 when there is none. Output names: a node's, or "node:i" for one of several.
  int InputIndex(const std::string& name) const;
  int OutputIndex(const std::string& name) const;
  int NodeIndex(const std::string& name) const;
  const NDArray& Input(int i) const { return arrays_[static_cast<size_t>(InputEntry(i))]; }
  const NDArray& Output(int i) const { return arrays_[static_cast<size_t>(OutputEntry(i))]; }
  const NDArray& NodeOutput(size_t node, int output) const;

  void SetInput(int i, const DLTensor* from);
  void SetInputZeroCopy(int i, NDArray array);
  void SetOutputZeroCopy(int i, NDArray array);
  // Parameters that are no inputs of the graph are skipped.
  void LoadParams(const char* data, size_t size);
  void ShareParams(const Executor& other, const char* data, size_t size);

 private:
  // A node's call, ready to be made.
  struct Op {
    PackedFuncObj* func = nullptr;  // NULL: copy the input to the output
    ObjectPtr<PackedFuncObj> ref;
    std::vector<DLTensor> tensors;
    std::vector<int64_t> flat;  // extents of flattened arguments
    std::vector<TVMValue> values;
    std::vector<int> tags;
    size_t node = 0;
  };

  int InputEntry(int i) const { return input_node(i).first_output; }
  int OutputEntry(int i) const { return graph_.heads[static_cast<size_t>(i)]; }
  void PlanMemory(const std::vector<DLDevice>& devices);
  void PrepareOps(ModuleObj* lib, bool imports_only);
  void Replace(int entry, NDArray array, const std::string& what);
  int Call(Op* op);
  std::string InputText(int i) const { return "input \"" + input_node(i).name + "\""; }

  Graph graph_;
  ObjectPtr<ModuleObj> lib_;
  std::vector<NDArray> arrays_;  // one an entry
  std::vector<Op> ops_;
  std::vector<Op*> op_of_node_;
  std::vector<std::vector<DLTensor*>> users_;  // arguments that show an entry
  std::unordered_map<std::string, int> inputs_;
  std::unordered_map<std::string, int> outputs_;
};

// A module over an executor; with debug, the functions of the debug executor too. New reference.
ModuleObj* MakeExecutorModule(std::unique_ptr<Executor> executor, bool debug);
// The executor of such a module, or NULL.
Executor* ExecutorOf(ModuleObj* module);

// Devices from arguments: Device values, or pairs of ints.
std::vector<DLDevice> DevicesFrom(const TVMValue* values, const int* tags, int n);
// A module from an argument.
ObjectPtr<ModuleObj> ModuleFrom(TVMValue value, int tag, const char* where);

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_GRAPH_EXECUTOR_H_
