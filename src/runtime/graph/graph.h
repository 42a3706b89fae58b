// What a graph's JSON text says, checked: every index is in range, every size can be computed.
#ifndef TVM_SRC_RUNTIME_GRAPH_GRAPH_H_
#define TVM_SRC_RUNTIME_GRAPH_GRAPH_H_

#include <tvm/runtime/c_runtime_api.h>

#include <string>
#include <vector>

namespace tvm {
namespace runtime {
namespace graph {

// One array of the graph: an input, or an output of a node.
struct Entry {
  std::vector<int64_t> shape;
  DLDataType dtype;
  int64_t nbytes;
  int64_t storage_id;
  int device_type;  // 0: the executor's first device
  std::string storage_scope;
};

struct Node {
  std::string name;
  bool is_input;
  std::string func_name;
  bool flatten_data;
  std::vector<int> inputs;  // entries
  int first_output;         // entry
  int num_outputs;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Entry> entries;
  std::vector<int> arg_nodes;  // nodes
  std::vector<int> heads;      // entries
};

// Throws Refusal.
Graph ParseGraph(const char* data, size_t size);

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_GRAPH_GRAPH_H_
