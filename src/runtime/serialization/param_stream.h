// Arrays in binary streams, as parameter files and factory modules hold them.
#ifndef TVM_SRC_RUNTIME_SERIALIZATION_PARAM_STREAM_H_
#define TVM_SRC_RUNTIME_SERIALIZATION_PARAM_STREAM_H_

#include <tvm/runtime/ndarray.h>

#include <string>
#include <vector>

#include "byte_reader.h"

namespace tvm {
namespace runtime {

constexpr uint64_t kParamListMagic = 0xF7E58D4F05049CB7u;
constexpr uint64_t kArrayMagic = 0xDD5E40F096B4A13Fu;

// An array in a stream: the data stays there.
struct StreamArray {
  std::vector<int64_t> shape;
  DLDataType dtype;
  const char* data;
  size_t size;  // bytes in the stream, where elements of less than a byte take one
};

// 0, or -1 with a ValueError that begins with `where`.
int ReadArray(ByteReader* in, const std::string& where, StreamArray* out);
// A count, then the arrays; as many as there are names.
int ReadNamedArrays(ByteReader* in, const std::string& where, std::vector<std::string>* names,
                    std::vector<StreamArray>* arrays, bool with_header);
// Into an array of the same shape and dtype, on any device.
int CopyStreamArray(const StreamArray& from, TVMArrayHandle to);
int WriteArray(TVMArrayHandle array, ByteWriter* out);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_SERIALIZATION_PARAM_STREAM_H_
