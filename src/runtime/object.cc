#include <tvm/runtime/ndarray.h>
#include <tvm/runtime/object.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "error.h"
#include "fork.h"
#include "object_internal.h"

namespace tvm {
namespace runtime {

namespace {

constexpr uint32_t kTypeHolder = kTVMDynamicTypeBegin;

struct TypeTable {
  std::mutex mutex;
  std::vector<std::string*> keys;  // never freed: TypeIndexToKey hands the text out
  std::map<std::string, uint32_t, std::less<>> index;

  void Add(const char* key) {
    index[key] = static_cast<uint32_t>(keys.size());
    keys.push_back(new std::string(key));
  }
};

TypeTable* Types() {
  static TypeTable* table = [] {
    auto* t = new TypeTable();
    // In the order of the fixed indices of c_runtime_api.h.
    for (const char* key :
         {"runtime.Object", "runtime.Module", "runtime.NDArray", "runtime.String", "Array", "Map",
          "runtime.ShapeTuple", "runtime.PackedFunc", "runtime.disco.DRef", "runtime.RPCObjectRef",
          "runtime.Closure", "runtime.ADT", "runtime.Holder"}) {
      t->Add(key);
    }
    ProtectMutexInFork(&t->mutex);
    return t;
  }();
  return table;
}

struct HolderObj : Object {
  void* self;
  void (*drop)(void*);
  ~HolderObj() {
    if (drop != nullptr) drop(self);
  }
};

struct ShapeTupleObj : Object {
  int64_t size;
  int64_t values[1];
};

void DeleteShapeTuple(TVMObjectHeader* self) {
  free(self);
  Count(Shard(), kCountOthers, -1);
}

}  // namespace

uint32_t HolderTypeIndex() { return kTypeHolder; }

int TypeKeyToIndex(const char* key, uint32_t* out) {
  TypeTable* table = Types();
  std::lock_guard<std::mutex> lock(table->mutex);
  auto it = table->index.find(key);
  if (it == table->index.end()) return -1;
  *out = it->second;
  return 0;
}

const char* TypeIndexToKey(uint32_t index) {
  TypeTable* table = Types();
  std::lock_guard<std::mutex> lock(table->mutex);
  return index < table->keys.size() ? table->keys[index]->c_str() : "";
}

int CheckHandle(TVMObjectHandle obj, uint32_t type_index, const char* where, const char* what) {
  if (obj == nullptr) return Fail("TypeError", "%s: expected %s, but got NULL", where, what);
  uint32_t got = static_cast<TVMObjectHeader*>(obj)->type_index;
  if (got == type_index) return 0;
  const char* key = TypeIndexToKey(got);
  return Fail("TypeError", "%s: expected %s, but got an object of type %s", where, what,
              *key != 0 ? key : "(unknown)");
}

}  // namespace runtime
}  // namespace tvm

using namespace tvm::runtime;  // NOLINT(build/namespaces)

int TVMObjectGetTypeIndex(TVMObjectHandle obj, unsigned* out_index) {
  if (obj == nullptr || out_index == nullptr) {
    return Fail("TypeError", "TVMObjectGetTypeIndex: expected an object, but got NULL");
  }
  *out_index = static_cast<TVMObjectHeader*>(obj)->type_index;
  return 0;
}

int TVMObjectTypeKey2Index(const char* type_key, unsigned* out_index) {
  if (type_key == nullptr || out_index == nullptr) {
    return Fail("TypeError", "TVMObjectTypeKey2Index: expected a type key, but got NULL");
  }
  return Guarded([&] {
    if (TypeKeyToIndex(type_key, out_index) == 0) return 0;
    return Fail("ValueError", "there is no object type \"%s\"", type_key);
  });
}

int TVMObjectTypeIndex2Key(unsigned type_index, char** out_key) {
  if (out_key == nullptr) return Fail("TypeError", "TVMObjectTypeIndex2Key: out_key is NULL");
  return Guarded([&] {
    const char* key = TypeIndexToKey(type_index);
    if (*key == 0) return Fail("ValueError", "there is no object type with index %u", type_index);
    *out_key = strdup(key);
    return *out_key == nullptr ? Fail("MemoryError", "out of memory") : 0;
  });
}

void TVMStringFree(char* text) { free(text); }

int TVMObjectRetain(TVMObjectHandle obj) {
  if (obj == nullptr) return Fail("TypeError", "TVMObjectRetain: expected an object, but got NULL");
  static_cast<Object*>(obj)->IncRef();
  return 0;
}

int TVMObjectFree(TVMObjectHandle obj) {
  if (obj != nullptr) static_cast<Object*>(obj)->DecRef();
  return 0;
}

int TVMObjectDerivedFrom(uint32_t child_type, uint32_t parent_type, int* is_derived) {
  if (is_derived == nullptr) return Fail("TypeError", "TVMObjectDerivedFrom: is_derived is NULL");
  // There is one level: everything derives from the root.
  *is_derived = child_type == parent_type || parent_type == kTVMTypeRoot;
  return 0;
}

int TVMHolderCreate(void* self, void (*drop)(void* self), TVMObjectHandle* out) {
  if (out == nullptr) return Fail("TypeError", "TVMHolderCreate: out is NULL");
  return Guarded([&] {
    auto* holder = MakeObject<HolderObj, kCountOthers>(kTypeHolder);
    holder->self = self;
    holder->drop = drop;
    *out = holder;
    return 0;
  });
}

int TVMHolderGet(TVMObjectHandle obj, void** out_self) {
  if (CheckHandle(obj, kTypeHolder, "TVMHolderGet", "a holder") != 0) return -1;
  if (out_self == nullptr) return Fail("TypeError", "TVMHolderGet: out_self is NULL");
  *out_self = static_cast<HolderObj*>(static_cast<Object*>(obj))->self;
  return 0;
}

int TVMShapeTupleCreate(const int64_t* values, int64_t size, TVMObjectHandle* out) {
  if (out == nullptr || size < 0 || (size > 0 && values == nullptr)) {
    return Fail("ValueError", "TVMShapeTupleCreate: expected an array of values and its size");
  }
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(size), sizeof(int64_t), &bytes) ||
      __builtin_add_overflow(bytes, sizeof(ShapeTupleObj), &bytes)) {
    return Fail("ValueError", "TVMShapeTupleCreate: size %lld is too large",
                static_cast<long long>(size));
  }
  auto* tuple = static_cast<ShapeTupleObj*>(malloc(bytes));
  if (tuple == nullptr) return Fail("MemoryError", "out of memory");
  tuple->type_index = kTVMTypeShapeTuple;
  tuple->ref_counter = 1;
  tuple->deleter = DeleteShapeTuple;
  tuple->size = size;
  if (size > 0) memcpy(tuple->values, values, sizeof(int64_t) * static_cast<size_t>(size));
  Count(Shard(), kCountOthers, 1);
  *out = tuple;
  return 0;
}

int TVMShapeTupleGet(TVMObjectHandle obj, const int64_t** values, int64_t* size) {
  if (CheckHandle(obj, kTVMTypeShapeTuple, "TVMShapeTupleGet", "a shape tuple") != 0) return -1;
  auto* tuple = static_cast<ShapeTupleObj*>(static_cast<Object*>(obj));
  if (values != nullptr) *values = tuple->values;
  if (size != nullptr) *size = tuple->size;
  return 0;
}
