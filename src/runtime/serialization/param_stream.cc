#include "param_stream.h"

#include "../dtype.h"
#include "../error.h"
#include "../ndarray_internal.h"

namespace tvm {
namespace runtime {

namespace {

int Short(const std::string& where, const ByteReader& in, const char* what) {
  return FailText("ValueError", where + ": the data ends early, at byte " + std::to_string(in.at) +
                                    " of " + std::to_string(in.size) + ", in " + what);
}

}  // namespace

int ReadArray(ByteReader* in, const std::string& where, StreamArray* out) {
  uint64_t magic = 0, reserved = 0;
  int32_t device[2], rank = 0;
  int64_t size = 0;
  if (!in->Get(&magic) || !in->Get(&reserved)) return Short(where, *in, "its header");
  if (magic != kArrayMagic)
    return FailText("ValueError", where + ": it does not begin as an array");
  if (!in->Get(&device) || !in->Get(&rank) || !in->Get(&out->dtype)) {
    return Short(where, *in, "its header");
  }
  if (rank < 0 || rank > 64) {
    return FailText("ValueError",
                    where + ": it cannot have " + std::to_string(rank) + " dimensions");
  }
  const char* extents = in->Take(sizeof(int64_t) * static_cast<size_t>(rank));
  if (extents == nullptr || !in->Get(&size)) return Short(where, *in, "its shape");
  out->shape.resize(static_cast<size_t>(rank));
  if (rank > 0) memcpy(out->shape.data(), extents, sizeof(int64_t) * out->shape.size());
  DLDataType stored = out->dtype;
  if (stored.bits % 8 != 0) stored.bits = static_cast<uint8_t>((stored.bits / 8 + 1) * 8);
  int64_t expected = 0, unused = 0;
  if (CheckedBytes(out->shape.data(), rank, out->dtype, where.c_str(), &unused) != 0 ||
      CheckedBytes(out->shape.data(), rank, stored, where.c_str(), &expected) != 0) {
    return -1;
  }
  if (size != expected) {
    return FailText("ValueError", where + ": it has " + std::to_string(size) +
                                      " bytes, but its shape and dtype need " +
                                      std::to_string(expected));
  }
  out->size = static_cast<size_t>(size);
  out->data = in->Take(out->size);
  return out->data == nullptr ? Short(where, *in, "its elements") : 0;
}

int ReadNamedArrays(ByteReader* in, const std::string& where, std::vector<std::string>* names,
                    std::vector<StreamArray>* arrays, bool with_header) {
  uint64_t count = 0, number = 0;
  if (with_header) {
    uint64_t magic = 0, reserved = 0;
    if (!in->Get(&magic) || !in->Get(&reserved)) return Short(where, *in, "the header");
    if (magic != kParamListMagic) {
      return FailText("ValueError", where + ": this is no parameter file");
    }
  }
  auto read_names = [&] {
    for (uint64_t i = 0; i < number; ++i) {
      names->emplace_back();
      if (!in->Text(&names->back())) return Short(where, *in, "a name");
    }
    return 0;
  };
  // Files have the names and then the number of arrays, factory modules the number first.
  if (!with_header && !in->Get(&count)) return Short(where, *in, "the number of arrays");
  if (!in->Get(&number)) return Short(where, *in, "the number of names");
  if (read_names() != 0) return -1;
  if (with_header && !in->Get(&count)) return Short(where, *in, "the number of arrays");
  if (count != number) {
    return FailText("ValueError", where + ": there are " + std::to_string(number) + " names, but " +
                                      std::to_string(count) + " arrays");
  }
  for (const std::string& name : *names) {
    arrays->emplace_back();
    if (ReadArray(in, where + ": array \"" + name + "\"", &arrays->back()) != 0) return -1;
  }
  return 0;
}

int CopyStreamArray(const StreamArray& from, TVMArrayHandle to) {
  const int bits = from.dtype.bits;
  if (bits == 1 || bits % 8 == 0) {
    return TVMArrayCopyFromBytes(to, const_cast<char*>(from.data), from.size);
  }
  if (bits != 4) {
    return FailText("ValueError", "arrays of dtype " + DTypeText(from.dtype) + " cannot be read");
  }
  std::string packed((from.size + 1) / 2, 0);
  for (size_t i = 0; i < from.size; ++i) {
    packed[i / 2] = static_cast<char>(packed[i / 2] | (from.data[i] & 15) << (i % 2 * 4));
  }
  return TVMArrayCopyFromBytes(to, &packed[0], packed.size());
}

int WriteArray(TVMArrayHandle array, ByteWriter* out) {
  const DLTensor& t = *array;
  const int bits = t.dtype.bits;
  if (bits != 1 && bits % 8 != 0 && bits != 4) {
    return FailText("ValueError", "arrays of dtype " + DTypeText(t.dtype) + " cannot be written");
  }
  int64_t nbytes = 0;
  if (CheckedBytes(t.shape, t.ndim, t.dtype, "write", &nbytes) != 0) return -1;
  std::string data(static_cast<size_t>(nbytes), 0);
  if (nbytes > 0 && TVMArrayCopyToBytes(array, &data[0], data.size()) != 0) return -1;
  if (bits == 4) {
    std::string wide(static_cast<size_t>(NumElements(t)) * t.dtype.lanes, 0);
    for (size_t i = 0; i < wide.size(); ++i) {
      int nibble = data[i / 2] >> (i % 2 * 4) & 15;
      wide[i] = static_cast<char>(t.dtype.code == kDLInt && nibble > 7 ? nibble - 16 : nibble);
    }
    data.swap(wide);
  }
  out->Put(kArrayMagic);
  out->Put<uint64_t>(0);
  out->Put<int32_t>(kDLCPU);
  out->Put<int32_t>(0);
  out->Put<int32_t>(t.ndim);
  out->Put(t.dtype);
  for (int i = 0; i < t.ndim; ++i) out->Put(t.shape[i]);
  out->Put<int64_t>(static_cast<int64_t>(data.size()));
  out->bytes += data;
  return 0;
}

}  // namespace runtime
}  // namespace tvm
