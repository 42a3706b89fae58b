// Between foreign.cc and its neighbours.
#ifndef TVM_PYTHON_FOREIGN_H_
#define TVM_PYTHON_FOREIGN_H_

#include "core.h"

namespace tvm {
namespace python {

// Takes the tensor out of an unused DLPack capsule; NULL with an exception.
TVMArrayHandle ConsumeCapsule(PyObject* capsule);
// A capsule that owns the tensor until somebody consumes it; the tensor is deleted on failure.
PyObject* NewCapsule(DLManagedTensor* managed);
PyObject* NewCapsule(DLManagedTensorVersioned* managed);

}  // namespace python
}  // namespace tvm
#endif  // TVM_PYTHON_FOREIGN_H_
