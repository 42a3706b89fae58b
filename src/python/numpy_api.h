// NumPy through its own C table, read from the capsule `_ARRAY_API` when the first NumPy object is
// met: no NumPy headers at build time, no import of NumPy at our import, one binary for NumPy 1 and
// 2. Only what both versions lay out alike is declared.
#ifndef TVM_PYTHON_NUMPY_API_H_
#define TVM_PYTHON_NUMPY_API_H_

#include <atomic>

#include "core.h"

namespace tvm {
namespace python {

struct NumpyDescr {
  PyObject ob_base;
  PyTypeObject* typeobj;
  char kind;
  char type;
  char byteorder;
  char former_flags;
  int type_num;
};

struct NumpyArray {
  PyObject ob_base;
  char* data;
  int nd;
  Py_ssize_t* dimensions;
  Py_ssize_t* strides;  // bytes
  PyObject* base;
  NumpyDescr* descr;
  int flags;
};

enum NumpyFlags { kNumpyCContiguous = 0x1, kNumpyWriteable = 0x400 };

// The largest rank of an array in any version of NumPy.
constexpr int kNumpyMaxDims = 64;

// NULL until the table was read.
extern std::atomic<PyTypeObject*> numpy_array_type;
// Reads the table if NumPy has been imported by somebody; no exception.
bool FindNumpy();
// Imports NumPy if need be; false with an exception.
bool ImportNumpy();

inline bool IsNumpyArray(PyObject* o) {
  PyTypeObject* type = numpy_array_type.load(std::memory_order_acquire);
  if (type == nullptr) {
    if (!FindNumpy()) return false;
    type = numpy_array_type.load(std::memory_order_acquire);
  }
  return IsInstance(o, type);
}
bool IsNumpyScalar(PyObject* o);

inline NumpyArray* AsNumpyArray(PyObject* o) { return reinterpret_cast<NumpyArray*>(o); }
inline bool IsNumpyReadOnly(PyObject* o) { return (AsNumpyArray(o)->flags & kNumpyWriteable) == 0; }

// Whether o is an np.dtype of a type that we have: byte order and all. No exception.
bool DTypeFromNumpyDescr(PyObject* o, DLDataType* out);
// Describes the array without copying its data. `shape` and `strides` have room for kNumpyMaxDims
// numbers, or as many as the array has axes: NumPy's own may go at any time (x.shape = ...). The
// strides are used when the array is not compact. False, without an exception, for what a tensor
// cannot describe: other dtypes and byte orders, strides that are not multiples of the element
// size.
bool ViewNumpy(PyObject* array, DLTensor* out, int64_t* shape, int64_t* strides);
// Raises the error that tells why ViewNumpy refused.
void RaiseNotViewable(const char* where, PyObject* array);
// A new C-contiguous array, uninitialised; false, without an exception, when NumPy has no such type
// NumPy's number of a type; -1 when NumPy itself has no such type. bfloat16 counts as uint16.
int NumpyTypeNumber(DLDataType dtype);
// A new C-contiguous array, uninitialised; ImportNumpy must have succeeded.
PyObject* NewNumpyArray(int type_number, int ndim, const int64_t* shape);
int InitNumpy();

}  // namespace python
}  // namespace tvm
#endif  // TVM_PYTHON_NUMPY_API_H_
