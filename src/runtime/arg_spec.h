// The argument table of a compiled function: what a call must look like, and where each value goes.
//
// A table arrives as bytes (little-endian, no padding; str = u16 length + utf-8):
//   u32 magic "TAT1", u16 version 1, u16 num_args, u32 num_slots, u32 flags, str function name,
//   then per argument:
//     u8 kind, u8 flags, u8[4] DLDataType, u32 slot, str name, and for a tensor
//     i32 device_type, u32 alignment, u64 alias_ok, u16 ndim, dim[ndim], u8 has_strides,
//     dim[ndim] if has_strides, dim elem_offset
//   dim: u8 op, then
//     0 const: i64 | 1 bind: u32 slot, str | 2 check: u32 slot, str
//     3 expr: u16 n, n x (u8 opcode, i64 operand), str
//     4 bind of a 32-bit variable: as 1, and the value must fit int32
// A call is checked in this order: number of arguments; for each argument its tag, the range of a
// scalar, rank, dtype and device; then all variables are bound (scalars first, then dims in order);
// for each argument shape, strides, alignment, data pointer, writability; last the overlaps.
#ifndef TVM_SRC_RUNTIME_ARG_SPEC_H_
#define TVM_SRC_RUNTIME_ARG_SPEC_H_

#include <tvm/runtime/c_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tvm {
namespace runtime {

enum class ArgKind : uint8_t { kInt = 0, kFloat = 1, kHandle = 2, kTensor = 3 };
enum ArgFlags : uint8_t { kArgWritten = 1, kArgRead = 2, kArgNoSlot = 4 };
enum TableFlags : uint32_t { kTableBrief = 1 };  // ends within microseconds, waits for nothing
enum class DimOp : uint8_t { kConst = 0, kBind = 1, kCheck = 2, kExpr = 3, kBind32 = 4 };

struct DimExprOp {
  uint8_t opcode;
  int64_t operand;
};

struct Dim {
  DimOp op;
  uint32_t slot;
  int64_t value;        // const
  uint32_t expr_begin;  // into ArgSpec::expr_ops_
  uint32_t expr_end;
};

struct ArgInfo {
  ArgKind kind;
  uint8_t flags;
  bool has_strides;
  bool plain;         // whole-byte elements on the CPU, offset folded: data + offset is the address
  bool folds_offset;  // elem_offset is the constant 0
  DLDataType dtype;
  uint32_t slot;
  int32_t ndim;
  int32_t device_type;
  uint64_t rank_and_type;  // ndim and dtype as they stand in a DLTensor
  uint32_t first_dim;      // shape, then strides if there are any, then elem_offset
  uint64_t align_mask;
  uint64_t alias_ok;
  int64_t element_bits;
  uint64_t element_bytes;  // 0 when elements are packed
  int64_t low;             // range of an int scalar
  int64_t high;
};

class ArgSpec {
 public:
  // 0, or -1 with a ValueError that says where the table is broken.
  int Parse(const void* data, size_t size);

  // Fills the slots and returns true when the call is right; sets no error.
  bool Check(const TVMValue* args, const int* type_codes, int num_args, uint64_t* slots) const;
  // Sets the error of a call that Check refused; returns -1.
  int Explain(const TVMValue* args, const int* type_codes, int num_args) const;

  uint32_t num_slots() const { return num_slots_; }
  const std::string& name() const { return name_; }
  bool is_brief() const { return is_brief_; }

 private:
  struct Pair {
    uint16_t written;
    uint16_t other;
    bool same_is_fine;
  };
  class Parser;
  class Explainer;

  bool CheckStrides(const ArgInfo& a, const DLTensor& t, bool empty, uint64_t* slots) const;
  int64_t Evaluate(const Dim& dim, const uint64_t* slots) const;
  bool PairIsFine(const Pair& pair, const TVMValue* args, bool* partly) const;

  std::string name_;
  uint32_t num_slots_ = 0;
  bool is_brief_ = false;
  std::vector<ArgInfo> args_;
  std::vector<uint16_t> scalars_;
  std::vector<uint16_t> tensors_;
  std::vector<Pair> pairs_;
  std::vector<Dim> dims_;
  std::vector<DimExprOp> expr_ops_;
  bool has_exprs_ = false;
  // for messages
  std::vector<std::string> arg_names_;
  std::vector<std::string> dim_texts_;
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_ARG_SPEC_H_
