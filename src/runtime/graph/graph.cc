#include "graph.h"

#include <cstdlib>

#include "../dtype.h"
#include "../ndarray_internal.h"
#include "json.h"
#include "refusal.h"

namespace tvm {
namespace runtime {
namespace graph {

namespace {

constexpr int64_t kMost = 1 << 24;  // nodes, outputs, inputs of a node
constexpr size_t kMaxRank = 64;

const Json& Member(const Json& map, const char* name, Json::Kind kind, const std::string& where) {
  const Json* v = map.kind == Json::kMap ? map.Find(name) : nullptr;
  static const char* const kNames[] = {"null",     "a bool", "an int", "a number",
                                       "a string", "a list", "a map"};
  if (v == nullptr) Refuse(where + ": \"" + name + "\" is missing");
  if (v->kind != kind) {
    Refuse(where + ": \"" + name + "\": expected " + kNames[kind] + ", but found " +
           kNames[v->kind]);
  }
  return *v;
}

int64_t Int(const Json& v, int64_t least, int64_t most, const std::string& where) {
  if (v.kind != Json::kInt) Refuse(where + ": expected an int");
  if (v.number < least || v.number > most) {
    Refuse(where + ": " + std::to_string(v.number) + " is not between " + std::to_string(least) +
           " and " + std::to_string(most));
  }
  return v.number;
}

// An attribute of a node: a number in quotes.
int64_t Attribute(const Json& attrs, const char* name, int64_t otherwise,
                  const std::string& where) {
  const Json* v = attrs.Find(name);
  if (v == nullptr) return otherwise;
  if (v->kind == Json::kInt) return Int(*v, 0, kMost, where + ": " + name);
  char* end = nullptr;
  long value = v->kind == Json::kText && v->text.size() < 10 && !v->text.empty()
                   ? strtol(v->text.c_str(), &end, 10)
                   : -1;
  if (end == nullptr || *end != 0 || value < 0 || value > kMost) {
    Refuse(where + ": attribute \"" + name + "\": expected a number in quotes");
  }
  return value;
}

// [node, index, version], where node < limit.
int EntryOf(const Json& v, const Graph& graph, size_t limit, const std::string& where) {
  if (v.kind != Json::kList || v.items.size() < 2) {
    Refuse(where + ": expected [node, index, version]");
  }
  if (limit == 0) Refuse(where + ": there is no node before it");
  int64_t id = Int(v.items[0], 0, static_cast<int64_t>(limit) - 1, where + ": node");
  const Node& node = graph.nodes[static_cast<size_t>(id)];
  if (node.num_outputs == 0) Refuse(where + ": node \"" + node.name + "\" has no outputs");
  return node.first_output +
         static_cast<int>(Int(v.items[1], 0, node.num_outputs - 1,
                              where + ": output of node \"" + node.name + "\""));
}

void ReadNode(const Json& v, size_t id, int64_t first_output, Graph* graph) {
  std::string where = "graph JSON: node " + std::to_string(id);
  Node node{};
  node.name = Member(v, "name", Json::kText, where).text;
  where += " \"" + node.name + "\"";
  const std::string& op = Member(v, "op", Json::kText, where).text;
  const Json& inputs = Member(v, "inputs", Json::kList, where);
  node.first_output = static_cast<int>(first_output);
  node.num_outputs = 1;
  node.is_input = op == "null";
  if (node.is_input) {
    if (!inputs.items.empty()) Refuse(where + ": an input of the graph cannot have inputs");
  } else if (op != "tvm_op") {
    Refuse(where + ": op \"" + op + "\" is not known; the kinds are \"null\" and \"tvm_op\"");
  } else {
    const Json* attrs = v.Find("attrs");
    if (attrs == nullptr) attrs = v.Find("attr");
    if (attrs == nullptr || attrs->kind != Json::kMap) {
      Refuse(where + ": \"attrs\": expected a map");
    }
    node.func_name = Member(*attrs, "func_name", Json::kText, where).text;
    node.flatten_data = Attribute(*attrs, "flatten_data", 0, where) != 0;
    node.num_outputs = static_cast<int>(Attribute(*attrs, "num_outputs", 1, where));
    int64_t count = static_cast<int64_t>(inputs.items.size());
    if (Attribute(*attrs, "num_inputs", count, where) != count) {
      Refuse(where + ": num_inputs is not the number of inputs, which is " + std::to_string(count));
    }
    for (const Json& input : inputs.items) {
      node.inputs.push_back(EntryOf(input, *graph, id, where + ": input"));
    }
    bool is_copy = node.func_name == "__copy" || node.func_name == "__nop";
    if (is_copy && (node.inputs.size() != 1 || node.num_outputs != 1)) {
      Refuse(where + ": " + node.func_name + " has one input and one output");
    }
  }
  graph->nodes.push_back(std::move(node));
}

// A list over all entries: [kind, list]. NULL when it is not there and need not be.
const Json* List(const Json& attrs, const char* name, const char* kind, size_t size, bool needed) {
  const std::string where = std::string("graph JSON: attrs: \"") + name + "\"";
  const Json* v = attrs.Find(name);
  if (v == nullptr && !needed) return nullptr;
  if (v == nullptr) Refuse(where + " is missing");
  if (v->kind != Json::kList || v->items.size() != 2 || v->items[0].kind != Json::kText ||
      v->items[0].text != kind || v->items[1].kind != Json::kList) {
    Refuse(where + ": expected [\"" + kind + "\", list]");
  }
  if (v->items[1].items.size() != size) {
    Refuse(where + " has " + std::to_string(v->items[1].items.size()) +
           " items, but the graph has " + std::to_string(size) + " arrays");
  }
  return &v->items[1];
}

void ReadEntries(const Json& attrs, size_t count, Graph* graph) {
  const Json* dtypes = List(attrs, "dltype", "list_str", count, true);
  const Json* ids = List(attrs, "storage_id", "list_int", count, true);
  const Json* shapes = List(attrs, "shape", "list_shape", count, true);
  const Json* devices = List(attrs, "device_index", "list_int", count, false);
  const Json* scopes = List(attrs, "storage_scope", "list_str", count, false);
  graph->entries.resize(count);
  for (const Node& node : graph->nodes) {
    for (int k = 0; k < node.num_outputs; ++k) {
      const auto i = static_cast<size_t>(node.first_output + k);
      Entry& e = graph->entries[i];
      const std::string where =
          "graph JSON: output " + std::to_string(k) + " of node \"" + node.name + "\"";
      if (dtypes->items[i].kind != Json::kText) Refuse(where + ": dtype: expected a string");
      Check(ParseDType(dtypes->items[i].text.c_str(), &e.dtype));
      const Json& shape = shapes->items[i];
      if (shape.kind != Json::kList || shape.items.size() > kMaxRank) {
        Refuse(where + ": shape: expected a list of at most 64 extents");
      }
      for (const Json& extent : shape.items) {
        e.shape.push_back(Int(extent, 0, INT64_MAX, where + ": extent of the shape"));
      }
      Check(CheckedBytes(e.shape.data(), static_cast<int>(e.shape.size()), e.dtype, where.c_str(),
                         &e.nbytes));
      e.storage_id = Int(ids->items[i], 0, INT32_MAX, where + ": storage_id");
      if (devices != nullptr) {
        e.device_type =
            static_cast<int>(Int(devices->items[i], 0, INT16_MAX, where + ": device_index"));
      }
      if (scopes != nullptr) {
        if (scopes->items[i].kind != Json::kText) Refuse(where + ": storage_scope: no string");
        e.storage_scope = scopes->items[i].text;
      }
    }
  }
}

}  // namespace

Graph ParseGraph(const char* data, size_t size) {
  const std::string top = "graph JSON";
  const Json doc = ParseJson(data, size);
  if (doc.kind != Json::kMap) Refuse(top + ": expected a map");
  Graph graph;
  const Json& nodes = Member(doc, "nodes", Json::kList, top);
  if (nodes.items.size() > static_cast<size_t>(kMost)) Refuse(top + ": too many nodes");
  int64_t entries = 0;
  const Json* rows = doc.Find("node_row_ptr");
  if (rows != nullptr &&
      (rows->kind != Json::kList || rows->items.size() != nodes.items.size() + 1)) {
    Refuse(top + ": \"node_row_ptr\": expected a list of " +
           std::to_string(nodes.items.size() + 1) + " ints");
  }
  for (size_t i = 0; i <= nodes.items.size(); ++i) {
    if (rows != nullptr) {
      Int(rows->items[i], entries, entries,
          top + ": \"node_row_ptr\" does not agree with the nodes' num_outputs: item " +
              std::to_string(i));
    }
    if (i == nodes.items.size()) break;
    ReadNode(nodes.items[i], i, entries, &graph);
    entries += graph.nodes.back().num_outputs;
    if (entries > kMost) Refuse(top + ": too many outputs of nodes");
  }
  ReadEntries(Member(doc, "attrs", Json::kMap, top), static_cast<size_t>(entries), &graph);
  std::vector<bool> seen(graph.nodes.size());
  for (const Json& v : Member(doc, "arg_nodes", Json::kList, top).items) {
    int64_t id = Int(v, 0, static_cast<int64_t>(graph.nodes.size()) - 1, top + ": \"arg_nodes\"");
    const auto n = static_cast<size_t>(id);
    if (!graph.nodes[n].is_input || seen[n]) {
      Refuse(top + ": \"arg_nodes\": node " + std::to_string(id) + " \"" + graph.nodes[n].name +
             (seen[n] ? "\" is there twice" : "\" is no input (its op is not \"null\")"));
    }
    seen[n] = true;
    graph.arg_nodes.push_back(static_cast<int>(id));
  }
  for (const Json& v : Member(doc, "heads", Json::kList, top).items) {
    graph.heads.push_back(EntryOf(v, graph, graph.nodes.size(), top + ": \"heads\""));
  }
  return graph;
}

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
