// What the array half of the extension shares beyond core.h.
#ifndef TVM_PYTHON_ARRAY_COMMON_H_
#define TVM_PYTHON_ARRAY_COMMON_H_

#include <cstring>

#include "core.h"

namespace tvm {
namespace python {

// The parameters of a builtin that is called with METH_FASTCALL | METH_KEYWORDS.
struct Signature {
  const char* function;
  int num_positional;  // how many may be given by position
  int num_required;
  int count;
  const char* texts[5];
  PyObject* names[5];  // interned by Intern

  bool Intern();
  // Puts the arguments into out[0..count), NULL where none is given.
  bool Parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** out) const;
};

// Copies of this size let other Python threads run. Below it, giving the GIL away and taking it
// back costs more than the copy.
constexpr int64_t kReleaseGILBytes = 1 << 20;

inline bool IsCPU(const DLTensor& t) { return t.device.device_type == kDLCPU; }
inline char* DataOf(const DLTensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }
inline bool SameDType(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
inline bool SameShape(const DLTensor& a, const DLTensor& b) {
  return a.ndim == b.ndim &&
         (a.ndim == 0 || memcmp(a.shape, b.shape, sizeof(int64_t) * a.ndim) == 0);
}
inline int64_t SizeInBytes(const DLTensor& t) {
  return runtime::NumBytes(runtime::NumElements(t), t.dtype);
}

// Copies elements between tensors of the same byte count, any strides, any devices; synchronous.
bool CopyTensorSlow(const DLTensor& from, const DLTensor& to, int64_t nbytes);
inline bool CopyTensor(const DLTensor& from, const DLTensor& to, int64_t nbytes) {
  if (IsCPU(from) && IsCPU(to) && from.strides == nullptr && to.strides == nullptr &&
      nbytes < kReleaseGILBytes) {
    if (nbytes != 0) memmove(DataOf(to), DataOf(from), nbytes);
    return true;
  }
  return CopyTensorSlow(from, to, nbytes);
}
// A new array on the device with the tensor's shape, dtype and elements; NULL with an exception.
TVMArrayHandle CopyToDevice(const DLTensor& from, DLDevice device, const char* mem_scope);
// str or None; NULL means the default scope.
bool MemScopeFromPy(PyObject* o, const char** out);

// "(2, 3) float32", for messages; a new reference.
PyObject* DescribeTensor(const DLTensor& t);
// Converts a DLPack type to ours; NULL when that went well, else the name of the type that we do
// not have. No exception, no GIL.
const char* DTypeNameWithoutCounterpart(DLDataType* dtype);
// Raises ValueError when the array must not be written.
bool CheckWritable(PyObject* array);
// Copies src into dst, both NDArrays.
bool CopyArray(PyObject* src, PyObject* dst);

// ---- methods, attached to the type in ndarray.cc -----------------------------------------------
PyObject* NDArrayNumpy(PyObject* self, PyObject*);
PyObject* NDArrayCopyFrom(PyObject* self, PyObject* source);
PyObject* NDArrayCopyTo(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* NDArrayCreateView(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                            PyObject* kwnames);
PyObject* NDArrayEndLoan(PyObject* self, PyObject*);
PyObject* NDArraySameAs(PyObject* self, PyObject* other);
int NDArraySetItem(PyObject* self, PyObject* key, PyObject* value);
PyObject* NDArrayGetItem(PyObject* self, PyObject* key);
Py_ssize_t NDArrayLength(PyObject* self);
int InitNDArrayMethods();
// dlpack.cc
PyObject* NDArrayDLPack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* NDArrayDLPackDevice(PyObject* self, PyObject*);
PyObject* NDArrayToDLPack(PyObject* self, PyObject*);
PyObject* FromDLPack(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
int InitDLPack();

// Adds builtins to the extension as functions of the Python module that shows them.
int AddFunctions(PyObject* module, const char* home, PyMethodDef* methods);

}  // namespace python
}  // namespace tvm
#endif  // TVM_PYTHON_ARRAY_COMMON_H_
