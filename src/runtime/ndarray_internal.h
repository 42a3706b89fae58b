// What the files that make, copy and exchange arrays share.
#ifndef TVM_SRC_RUNTIME_NDARRAY_INTERNAL_H_
#define TVM_SRC_RUNTIME_NDARRAY_INTERNAL_H_

#include <tvm/runtime/ndarray.h>

#include <string>

namespace tvm {
namespace runtime {

// Below this many bytes an array is one allocation: header, shape and data.
constexpr int64_t kInlineDataLimit = 64 << 10;

// Whether handle is an array of ours that refuses writes. handle may be any DLTensor, so the answer
// comes from a table of the (few) read-only arrays, not from what stands before the struct.
bool IsReadOnly(const DLTensor* handle);

// Checks rank, extents and dtype, and computes the compact size. 0, or -1 with a ValueError that
// names the shape.
int CheckedBytes(const int64_t* shape, int ndim, DLDataType dtype, const char* where,
                 int64_t* nbytes);

// "an array of shape (2, 3) and dtype float32"
std::string TensorText(const DLTensor& t);

// An array over memory that owner keeps alive; drop(owner) also runs when this fails.
int MakeForeign(const DLTensor& tensor, uint32_t flags, void* owner, void (*drop)(void*),
                TVMArrayHandle* out);

// The lowest and one past the highest element that the strides reach, in elements from the first.
void ElementSpan(const DLTensor& t, int64_t* low, int64_t* high);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_NDARRAY_INTERNAL_H_
