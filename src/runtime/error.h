// The calling thread's error, as seen by the other files of the runtime.
#ifndef TVM_SRC_RUNTIME_ERROR_H_
#define TVM_SRC_RUNTIME_ERROR_H_

#include <tvm/runtime/c_runtime_api.h>

#include <exception>
#include <new>
#include <string>

namespace tvm {
namespace runtime {

// Sets the thread's error and returns -1, so that a shim can say `return Fail(...)`.
__attribute__((format(printf, 2, 3))) int Fail(const char* kind, const char* format, ...);
int FailText(const char* kind, const std::string& message);

// What each thread keeps between calls: its error, and the storage of returned text. Created on
// first use, freed when the thread ends.
struct ThreadState;
// Storage for text that a call returns ("valid until the next call on this thread").
const char* KeepText(std::string text);
// The same for bytes: the returned struct lives in the thread's storage, too.
TVMByteArray* KeepBytes(std::string bytes);
// The same for a list of names.
void KeepNames(std::string* names, int size, int* out_size, const char*** out_array);

// Makes "Kind: message" known as an error of class Kind, for TVMAPISetLastError.
void RegisterErrorKind(const std::string& kind);

// Runs body() and turns whatever it throws into the thread's error: no exception crosses the C API.
template <typename F>
int Guarded(F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    TVMErrorSet("MemoryError", "out of memory", "");
  } catch (const std::exception& e) {
    TVMErrorSet("InternalError", e.what(), "");
  } catch (...) {
    TVMErrorSet("InternalError", "unknown C++ exception", "");
  }
  return -1;
}

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_ERROR_H_
