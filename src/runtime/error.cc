#include "error.h"

#include <pthread.h>

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "fork.h"

namespace tvm {
namespace runtime {

namespace {

struct ErrorData {
  std::string kind;
  std::string message;
  std::string traceback;
  std::string text;  // "Kind: message", made when asked for
  void* payload = nullptr;
  void (*drop)(void*) = nullptr;
  bool set = false;

  // The payload is dropped after the fields are cleared: drop() may come back to us.
  void Clear() {
    void* old = std::exchange(payload, nullptr);
    auto* old_drop = std::exchange(drop, nullptr);
    set = false;
    text.clear();
    if (old != nullptr && old_drop != nullptr) old_drop(old);
  }
};

}  // namespace

struct ThreadState {
  ErrorData error;
  std::string text;
  std::string bytes_storage;
  TVMByteArray bytes{nullptr, 0};
  std::vector<std::string> names;
  std::vector<const char*> name_pointers;
};

namespace {

// A plain pointer instead of a thread_local object: destructors of other thread-local objects may
// fail after ours ran, and then simply get a new state (the key's destructor runs again).
__thread ThreadState* tls_state __attribute__((tls_model("initial-exec"))) = nullptr;
pthread_key_t state_key;
pthread_once_t state_once = PTHREAD_ONCE_INIT;

void DropState(void* state) {
  tls_state = nullptr;
  auto* s = static_cast<ThreadState*>(state);
  s->error.Clear();
  delete s;
}

ThreadState* State() {
  if (tls_state != nullptr) return tls_state;
  pthread_once(&state_once, [] { pthread_key_create(&state_key, DropState); });
  tls_state = new ThreadState();
  pthread_setspecific(state_key, tls_state);
  return tls_state;
}

struct KindTable {
  std::mutex mutex;
  std::set<std::string, std::less<>> kinds = {
      "ArithmeticError",
      "AssertionError",
      "AttributeError",
      "BufferError",
      "ConnectionError",
      "DiagnosticError",
      "EOFError",
      "FileNotFoundError",
      "FloatingPointError",
      "ImportError",
      "IndexError",
      "InternalError",
      "KeyError",
      "KeyboardInterrupt",
      "LookupError",
      "MemoryError",
      "ModuleNotFoundError",
      "NameError",
      "NotImplementedError",
      "OSError",
      "OpAttributeInvalid",
      "OpAttributeRequired",
      "OpAttributeUnImplemented",
      "OpError",
      "OpNotImplemented",
      "OverflowError",
      "PermissionError",
      "RPCError",
      "RPCSessionTimeoutError",
      "RecursionError",
      "ReferenceError",
      "RuntimeError",
      "ScheduleError",
      "StopIteration",
      "SyntaxError",
      "SystemError",
      "SystemExit",
      "TVMError",
      "TimeoutError",
      "TypeError",
      "UnicodeDecodeError",
      "UnicodeEncodeError",
      "UnicodeError",
      "ValueError",
      "ZeroDivisionError",
  };
};

KindTable* Kinds() {
  static KindTable* table = [] {
    auto* t = new KindTable();  // never freed: threads may fail while the process exits
    ProtectMutexInFork(&t->mutex);
    return t;
  }();
  return table;
}

void SetError(const char* kind, const char* message, const char* traceback, void* payload,
              void (*drop)(void*)) noexcept {
  try {
    ErrorData* e = &State()->error;
    // The arguments may point into the old error, so copies come first.
    std::string new_kind = kind == nullptr || *kind == 0 ? "TVMError" : kind;
    std::string new_message = message == nullptr ? "" : message;
    std::string new_traceback = traceback == nullptr ? "" : traceback;
    e->Clear();
    e->kind = std::move(new_kind);
    e->message = std::move(new_message);
    e->traceback = std::move(new_traceback);
    e->payload = payload;
    e->drop = drop;
    e->set = true;
  } catch (...) {
    // Out of memory for the text of an error. The return code still says that the call failed.
    if (tls_state != nullptr) {
      tls_state->error.set = true;
      tls_state->error.kind.clear();
    }
    if (payload != nullptr && drop != nullptr) drop(payload);
  }
}

}  // namespace

int FailText(const char* kind, const std::string& message) {
  SetError(kind, message.c_str(), "", nullptr, nullptr);
  return -1;
}

int Fail(const char* kind, const char* format, ...) {
  char small[512];
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(small, sizeof(small), format, args);
  va_end(args);
  if (n < static_cast<int>(sizeof(small))) {
    SetError(kind, n < 0 ? format : small, "", nullptr, nullptr);
  } else if (auto* big = static_cast<char*>(malloc(static_cast<size_t>(n) + 1))) {
    vsnprintf(big, static_cast<size_t>(n) + 1, format, again);
    SetError(kind, big, "", nullptr, nullptr);
    free(big);
  } else {
    SetError(kind, small, "", nullptr, nullptr);
  }
  va_end(again);
  return -1;
}

const char* KeepText(std::string text) {
  ThreadState* s = State();
  s->text = std::move(text);
  return s->text.c_str();
}

TVMByteArray* KeepBytes(std::string bytes) {
  ThreadState* s = State();
  s->bytes_storage = std::move(bytes);
  s->bytes = {s->bytes_storage.data(), s->bytes_storage.size()};
  return &s->bytes;
}

void KeepNames(std::string* names, int size, int* out_size, const char*** out_array) {
  ThreadState* s = State();
  s->names.assign(std::make_move_iterator(names), std::make_move_iterator(names + size));
  s->name_pointers.clear();
  for (const std::string& name : s->names) s->name_pointers.push_back(name.c_str());
  s->name_pointers.push_back(nullptr);  // so that an empty list has an address, too
  *out_size = size;
  *out_array = s->name_pointers.data();
}

void RegisterErrorKind(const std::string& kind) {
  KindTable* table = Kinds();
  std::lock_guard<std::mutex> lock(table->mutex);
  table->kinds.insert(kind);
}

}  // namespace runtime
}  // namespace tvm

using tvm::runtime::ErrorData;
using tvm::runtime::Kinds;
using tvm::runtime::SetError;
using tvm::runtime::State;

void TVMErrorSet(const char* kind, const char* message, const char* traceback) {
  SetError(kind, message, traceback, nullptr, nullptr);
}

void TVMErrorSetPayload(const char* kind, const char* message, const char* traceback, void* payload,
                        void (*drop)(void* payload)) {
  SetError(kind, message, traceback, payload, drop);
}

void TVMAPISetLastError(const char* msg) {
  tvm::runtime::Guarded([&] {
    if (msg == nullptr) msg = "";
    const char* end = msg;
    while (isalnum(static_cast<unsigned char>(*end)) || *end == '_' || *end == '.') ++end;
    if (end != msg && *end == ':') {
      std::string kind(msg, end);
      auto* table = Kinds();
      bool known;
      {
        std::lock_guard<std::mutex> lock(table->mutex);
        known = table->kinds.count(kind) != 0;
      }
      if (known) {
        const char* rest = end + 1;
        if (*rest == ' ') ++rest;
        SetError(kind.c_str(), rest, "", nullptr, nullptr);
        return 0;
      }
    }
    SetError("TVMError", msg, "", nullptr, nullptr);
    return 0;
  });
}

const char* TVMGetLastError(void) {
  try {
    ErrorData* e = &State()->error;
    if (!e->set) return "";
    if (e->kind.empty()) return "MemoryError: out of memory";
    if (e->kind == "TVMError") return e->message.c_str();
    if (e->text.empty()) e->text = e->kind + ": " + e->message;  // the same address every time
    return e->text.c_str();
  } catch (...) {
    return "MemoryError: out of memory";
  }
}

const char* TVMGetLastBacktrace(void) {
  try {
    ErrorData* e = &State()->error;
    return e->set ? e->traceback.c_str() : "";
  } catch (...) {
    return "";
  }
}

int TVMErrorGet(const char** kind, const char** message, const char** traceback) {
  try {
    ErrorData* e = &State()->error;
    if (!e->set) return -1;
    bool no_memory = e->kind.empty();
    if (kind != nullptr) *kind = no_memory ? "MemoryError" : e->kind.c_str();
    if (message != nullptr) *message = no_memory ? "out of memory" : e->message.c_str();
    if (traceback != nullptr) *traceback = no_memory ? "" : e->traceback.c_str();
    return 0;
  } catch (...) {
    return -1;
  }
}

void TVMErrorClear(void) {
  if (tvm::runtime::tls_state != nullptr) tvm::runtime::tls_state->error.Clear();
}

void TVMAPISetLastPythonError(void* payload) {
  // The old form has no way to say how the object is freed: whoever set it keeps it alive.
  SetError("TVMError", "error raised by a foreign frontend", "", payload, nullptr);
}

void* TVMGetLastPythonError(void) {
  auto* s = tvm::runtime::tls_state;
  return s == nullptr || !s->error.set ? nullptr : s->error.payload;
}

void TVMDropLastPythonError(void) { TVMErrorClear(); }

void* TVMErrorTakePayload(void) {
  auto* s = tvm::runtime::tls_state;
  if (s == nullptr || !s->error.set) return nullptr;
  void* payload = std::exchange(s->error.payload, nullptr);
  s->error.drop = nullptr;
  s->error.Clear();
  return payload;
}

void* TVMErrorTake(void) {
  auto* s = tvm::runtime::tls_state;
  if (s == nullptr || !s->error.set) return nullptr;
  auto* moved = new (std::nothrow) ErrorData(std::move(s->error));
  if (moved == nullptr) return nullptr;
  s->error = ErrorData();
  return moved;
}

void TVMErrorRestore(void* state) {
  if (state == nullptr) return;
  auto* moved = static_cast<ErrorData*>(state);
  try {
    ErrorData* e = &State()->error;
    e->Clear();
    *e = std::move(*moved);
  } catch (...) {
    moved->Clear();
  }
  delete moved;
}
