// Options that the sanitizers' runtimes ask the program for. To be included by one file of a test.
#ifndef TVM_TESTS_CPP_SANITIZER_OPTIONS_H_
#define TVM_TESTS_CPP_SANITIZER_OPTIONS_H_

#define TVM_SANITIZER_HOOK extern "C" __attribute__((visibility("default"), used)) const char*

// A request for memory that is too large has to fail as it does without a sanitizer.
TVM_SANITIZER_HOOK __asan_default_options() { return "allocator_may_return_null=1"; }
TVM_SANITIZER_HOOK __tsan_default_options() { return "allocator_may_return_null=1"; }

#endif  // TVM_TESTS_CPP_SANITIZER_OPTIONS_H_
