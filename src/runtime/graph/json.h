// A reader of JSON text from anywhere: depth and size are limited, and memory stays in proportion
// to the text.
#ifndef TVM_SRC_RUNTIME_GRAPH_JSON_H_
#define TVM_SRC_RUNTIME_GRAPH_JSON_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tvm {
namespace runtime {
namespace graph {

struct Json {
  enum Kind { kNull, kBool, kInt, kReal, kText, kList, kMap };
  Kind kind = kNull;
  int64_t number = 0;              // kInt and kBool
  double real = 0;                 // kReal
  std::string text;                // kText
  std::vector<Json> items;         // of a list, or values of a map
  std::vector<std::string> names;  // of a map, beside items

  // The member of a map, or NULL.
  const Json* Find(const char* name) const;
};

// Throws Refusal with the position of what is wrong.
Json ParseJson(const char* data, size_t size);

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_GRAPH_JSON_H_
