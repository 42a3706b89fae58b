// A small harness: TEST(Name) { CHECK...; } in any number of files, TEST_MAIN() in one of them.
// A failed check prints where and what, and the program ends with status 1 when all tests have run.
// CHECK and CHECK_EQ go on after a failure, so they may be used in any thread; CHECK_OK,
// CHECK_FAILS and REQUIRE end the test.
#ifndef TVM_TESTS_CPP_TEST_UTIL_H_
#define TVM_TESTS_CPP_TEST_UTIL_H_

#include <tvm/runtime/c_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace tvm_test {

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

inline std::atomic<int>& Failures() {
  static std::atomic<int> failures{0};
  return failures;
}

struct Register {
  Register(const char* name, void (*body)()) { Tests().push_back({name, body}); }
};

// Ends the current test.
struct Stop {};

inline void Report(const char* file, int line, const std::string& text) {
  ++Failures();
  std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
}

template <typename T>
std::string Show(const T& v) {
  std::ostringstream os;
  os << v;
  return os.str();
}
inline std::string Show(std::nullptr_t) { return "nullptr"; }

template <typename A, typename B>
void CheckEqual(const A& a, const B& b, const char* text_a, const char* text_b, const char* file,
                int line) {
  if (a == b) return;
  Report(file, line,
         std::string(text_a) + " == " + text_b + ": got " + Show(a) + " and " + Show(b));
}

// The last error as one text, for checks of failing calls.
inline std::string LastError() {
  const char* kind = "";
  const char* message = "";
  if (TVMErrorGet(&kind, &message, nullptr) != 0) return "(no error)";
  return std::string(kind) + ": " + message;
}

inline void CheckFails(int rc, const char* expression, const std::string& expected, bool whole,
                       const char* file, int line) {
  if (rc == 0) {
    Report(file, line, std::string(expression) + " succeeded, expected " + expected);
    throw Stop();
  }
  std::string got = LastError();
  TVMErrorClear();
  if (whole ? got != expected : got.find(expected) == std::string::npos) {
    Report(file, line,
           std::string(expression) + ":\n  got      " + got + "\n  expected " + expected);
    throw Stop();
  }
}

inline int RunAll(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  int ran = 0;
  for (const Test& test : Tests()) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    ++ran;
    int before = Failures();
    try {
      test.body();
    } catch (const Stop&) {
    } catch (const std::exception& e) {
      Report(test.name, 0, std::string("exception: ") + e.what());
    }
    if (Failures() != before) std::fprintf(stderr, "FAILED %s\n", test.name);
  }
  std::printf("%d tests, %d failures\n", ran, Failures().load());
  // A filter that fits nothing must not look like success.
  return Failures() == 0 && ran > 0 ? 0 : 1;
}

}  // namespace tvm_test

// For programs that have a main function of their own.
namespace test {
inline int RunAllTests(int argc, char** argv) { return tvm_test::RunAll(argc, argv); }
}  // namespace test

#define TEST(name)                                               \
  static void Test_##name();                                     \
  static tvm_test::Register register_##name(#name, Test_##name); \
  static void Test_##name()

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) tvm_test::Report(__FILE__, __LINE__, "CHECK failed: " #condition); \
  } while (0)
#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      tvm_test::Report(__FILE__, __LINE__, "REQUIRE failed: " #condition); \
      throw tvm_test::Stop();                                              \
    }                                                                      \
  } while (0)
#define CHECK_EQ(a, b) tvm_test::CheckEqual((a), (b), #a, #b, __FILE__, __LINE__)
// A C API call that must succeed.
#define CHECK_OK(call)                                                          \
  do {                                                                          \
    if ((call) != 0) {                                                          \
      tvm_test::Report(__FILE__, __LINE__,                                      \
                       std::string(#call " failed: ") + tvm_test::LastError()); \
      throw tvm_test::Stop();                                                   \
    }                                                                           \
  } while (0)
// A C API call that must fail with "Kind: message".
#define CHECK_FAILS(call, text) \
  tvm_test::CheckFails((call), #call, (text), true, __FILE__, __LINE__)
#define CHECK_FAILS_WITH(call, part) \
  tvm_test::CheckFails((call), #call, (part), false, __FILE__, __LINE__)

#define TEST_MAIN() \
  int main(int argc, char** argv) { return tvm_test::RunAll(argc, argv); }

#endif  // TVM_TESTS_CPP_TEST_UTIL_H_
