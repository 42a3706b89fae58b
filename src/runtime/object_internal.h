// How the runtime makes its own objects.
#ifndef TVM_SRC_RUNTIME_OBJECT_INTERNAL_H_
#define TVM_SRC_RUNTIME_OBJECT_INTERNAL_H_

#include <tvm/runtime/object.h>

#include "stats.h"

namespace tvm {
namespace runtime {

// Makes a T (derived from Object) with one reference; deleted with `delete` when the last one goes.
// Throws std::bad_alloc.
template <typename T, Counter kCounter>
T* MakeObject(uint32_t type_index) {
  T* obj = new T{};
  obj->type_index = type_index;
  obj->ref_counter = 1;
  obj->deleter = [](TVMObjectHeader* self) {
    delete static_cast<T*>(self);
    Count(Shard(), kCounter, -1);
  };
  Count(Shard(), kCounter, 1);
  return obj;
}

// The type index of holders of foreign things.
uint32_t HolderTypeIndex();
int TypeKeyToIndex(const char* key, uint32_t* out);
// "runtime.Module"; "" for an unknown index.
const char* TypeIndexToKey(uint32_t index);
// 0, or -1 with a TypeError that says what was expected.
int CheckHandle(TVMObjectHandle obj, uint32_t type_index, const char* where, const char* what);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_OBJECT_INTERNAL_H_
