// Bad input inside the graph executor is an exception that carries the kind of error; it becomes
// the thread's error before it could cross the C API.
#ifndef TVM_SRC_RUNTIME_GRAPH_REFUSAL_H_
#define TVM_SRC_RUNTIME_GRAPH_REFUSAL_H_

#include <exception>
#include <string>
#include <utility>

#include "../error.h"

namespace tvm {
namespace runtime {
namespace graph {

struct Refusal : std::exception {
  Refusal(const char* k, std::string t) : kind(k), text(std::move(t)) {}
  const char* what() const noexcept override { return text.c_str(); }
  const char* kind;
  std::string text;
};

// A call of the C API failed, and has set the thread's error.
struct AlreadySet : std::exception {};

[[noreturn]] inline void Refuse(const std::string& text, const char* kind = "ValueError") {
  throw Refusal(kind, text);
}
inline void Check(int rc) {
  if (rc != 0) throw AlreadySet();
}

template <typename F>
int Answered(F&& body) noexcept {
  return Guarded([&] {
    try {
      body();
      return 0;
    } catch (const Refusal& r) {
      return FailText(r.kind, r.text);
    } catch (const AlreadySet&) {
      return -1;
    }
  });
}

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_GRAPH_REFUSAL_H_
