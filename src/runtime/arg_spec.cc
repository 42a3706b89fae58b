// Checking a call against an argument table.
#include "arg_spec.h"

#include <algorithm>

#include "arg_spec_internal.h"
#include "ndarray_internal.h"

namespace tvm {
namespace runtime {

namespace {

// Division by zero gives 0, and the one quotient that overflows wraps.
int64_t Divide(int64_t a, int64_t b, bool floor, bool modulo) {
  if (b == 0) return 0;
  if (b == -1) return modulo ? 0 : static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t q = a / b;
  int64_t r = a % b;
  if (floor && r != 0 && (r < 0) != (b < 0)) {
    q -= 1;
    r += b;
  }
  return modulo ? r : q;
}

int64_t Wrapping(uint8_t opcode, int64_t a, int64_t b) {
  uint64_t x = static_cast<uint64_t>(a);
  uint64_t y = static_cast<uint64_t>(b);
  switch (opcode) {
    case kAdd:
      return static_cast<int64_t>(x + y);
    case kSub:
      return static_cast<int64_t>(x - y);
    case kMul:
      return static_cast<int64_t>(x * y);
    case kFloorDiv:
      return Divide(a, b, true, false);
    case kFloorMod:
      return Divide(a, b, true, true);
    case kTruncDiv:
      return Divide(a, b, false, false);
    case kTruncMod:
      return Divide(a, b, false, true);
    case kMin:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

// Binds or compares; expressions come later, when everything is bound.
// Chained by frequency: a switch would become a jump through a table.
inline bool CheckDim(const Dim& dim, int64_t value, uint64_t* slots) {
  if (dim.op == DimOp::kConst) return dim.value == value;
  if (dim.op == DimOp::kCheck) return slots[dim.slot] == static_cast<uint64_t>(value);
  if (dim.op == DimOp::kExpr) return true;
  slots[dim.slot] = static_cast<uint64_t>(value);
  return dim.op == DimOp::kBind || value == static_cast<int32_t>(value);
}

}  // namespace

int64_t ArgSpec::Evaluate(const Dim& dim, const uint64_t* slots) const {
  int64_t stack[kMaxDepth];
  int top = 0;
  for (uint32_t i = dim.expr_begin; i < dim.expr_end; ++i) {
    const DimExprOp& e = expr_ops_[i];
    if (e.opcode == kPushConst) {
      stack[top++] = e.operand;
    } else if (e.opcode == kPushSlot) {
      stack[top++] = static_cast<int64_t>(slots[e.operand]);
    } else {
      --top;
      stack[top - 1] = Wrapping(e.opcode, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

bool ArgSpec::PairIsFine(const Pair& pair, const TVMValue* args, bool* partly) const {
  const DLTensor* a = TensorOf(args[pair.written]);
  const DLTensor* b = TensorOf(args[pair.other]);
  *partly = true;
  if (a->device.device_type != b->device.device_type ||
      (a->device.device_type != kDLCPU && a->device.device_id != b->device.device_id)) {
    return true;
  }
  uintptr_t a_base = reinterpret_cast<uintptr_t>(a->data);
  uintptr_t b_base = reinterpret_cast<uintptr_t>(b->data);
  if (!HasAddresses(a->device.device_type)) {
    if (a_base != b_base) return true;
    a_base = b_base = 0;
  }
  int64_t a_low, a_high, b_low, b_high;
  ElementSpan(*a, &a_low, &a_high);
  ElementSpan(*b, &b_low, &b_high);
  if (a_low == a_high || b_low == b_high) return true;
  // Packed elements have no byte stride; such tensors are compact, so low is 0.
  auto bytes = [](int64_t n, const ArgInfo& i) { return (n * i.element_bits + 7) >> 3; };
  a_base += a->byte_offset + static_cast<uintptr_t>(bytes(a_low, args_[pair.written]));
  b_base += b->byte_offset + static_cast<uintptr_t>(bytes(b_low, args_[pair.other]));
  uintptr_t a_end = a_base + static_cast<uintptr_t>(bytes(a_high - a_low, args_[pair.written]));
  uintptr_t b_end = b_base + static_cast<uintptr_t>(bytes(b_high - b_low, args_[pair.other]));
  if (a_end <= b_base || b_end <= a_base) return true;
  if (a_base != b_base || a_end != b_end) return false;
  *partly = false;
  if (!pair.same_is_fine) return false;
  if (a->strides == nullptr && b->strides == nullptr) return true;
  // The same bytes in another order are not the same elements.
  if (IsCompact(*a) && IsCompact(*b)) return true;
  if (a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; ++i) {
    if (a->shape[i] != b->shape[i]) return false;
    int64_t a_stride = a->strides == nullptr ? CompactStride(*a, i) : a->strides[i];
    int64_t b_stride = b->strides == nullptr ? CompactStride(*b, i) : b->strides[i];
    if (a->shape[i] != 1 && a_stride != b_stride) return false;
  }
  return true;
}

bool ArgSpec::CheckStrides(const ArgInfo& a, const DLTensor& t, bool empty, uint64_t* slots) const {
  const Dim* dim = &dims_[a.first_dim + static_cast<uint32_t>(a.ndim)];
  for (int k = 0; k < a.ndim; ++k, ++dim) {
    int64_t stride = t.strides != nullptr ? t.strides[k] : CompactStride(t, k);
    // The stride of an axis with one element or none is never used.
    bool matters = !empty && t.shape[k] != 1;
    bool fine = CheckDim(*dim, stride, slots);
    if (!fine && (matters || dim->op == DimOp::kBind32)) return false;
  }
  return true;
}

// Whether a byte offset is right that is not simply added to the address.
static bool CheckOffset(const ArgInfo& a, const DLTensor& t, const Dim* dim, uint64_t* slots) {
  if (a.folds_offset) return t.byte_offset == 0 || HasAddresses(a.device_type);
  uint64_t scaled = t.byte_offset * 8;
  if (scaled % static_cast<uint64_t>(a.element_bits) != 0) return false;
  int64_t offset = static_cast<int64_t>(scaled / static_cast<uint64_t>(a.element_bits));
  return CheckDim(*dim, offset, slots);
}

bool ArgSpec::Check(const TVMValue* args, const int* type_codes, int num_args,
                    uint64_t* slots) const {
  if (static_cast<size_t>(num_args) != args_.size()) return false;
  for (uint16_t i : scalars_) {
    const ArgInfo& a = args_[i];
    int tag = type_codes[i];
    uint64_t bits;
    if (a.kind == ArgKind::kInt) {
      int64_t v = args[i].v_int64;
      if ((tag != kTVMArgInt && tag != kTVMArgBool) || v < a.low || v > a.high) return false;
      bits = static_cast<uint64_t>(v);
    } else if (a.kind == ArgKind::kFloat) {
      double v;
      if (tag == kTVMArgFloat) {
        v = args[i].v_float64;
      } else if (tag == kTVMArgInt || tag == kTVMArgBool) {
        v = static_cast<double>(args[i].v_int64);
      } else {
        return false;
      }
      memcpy(&bits, &v, sizeof(bits));
    } else {
      if (tag == kTVMOpaqueHandle) {
        bits = reinterpret_cast<uintptr_t>(args[i].v_handle);
      } else if (tag == kTVMNullptr) {
        bits = 0;
      } else if (IsTensorTag(tag) && args[i].v_handle != nullptr) {
        const DLTensor* t = TensorOf(args[i]);
        bits = reinterpret_cast<uintptr_t>(t->data) + t->byte_offset;
      } else {
        return false;
      }
    }
    if (!(a.flags & kArgNoSlot)) slots[a.slot] = bits;
  }
  // Bytes that each tensor covers; everything, where it takes a closer look to know.
  struct Range {
    uintptr_t low;
    uintptr_t high;
  };
  constexpr size_t kMaxRanges = 32;
  Range ranges[kMaxRanges];
  // Locals, because every store to a slot would make the compiler load the members again.
  const ArgInfo* infos = args_.data();
  const Dim* dims = dims_.data();
  const uint16_t* end = tensors_.data() + tensors_.size();
  for (const uint16_t* p = tensors_.data(); p != end; ++p) {
    const uint16_t i = *p;
    const ArgInfo& a = infos[i];
    const DLTensor* t = TensorOf(args[i]);
    if (!IsTensorTag(type_codes[i]) || t == nullptr) return false;
    if (RankAndType(*t) != a.rank_and_type || t->device.device_type != a.device_type) return false;
    const Dim* dim = dims + a.first_dim;
    uint64_t elements = 1;
    const int64_t* shape = t->shape;
    for (const int64_t* last = shape + t->ndim; shape != last; ++shape, ++dim) {
      elements *= static_cast<uint64_t>(*shape);
      if (!CheckDim(*dim, *shape, slots)) return false;
    }
    // A product that wraps to 0 belongs to no tensor that fits in memory, except an empty one.
    bool empty = elements == 0;
    if (a.has_strides) {
      if (!CheckStrides(a, *t, empty, slots)) return false;
      dim += a.ndim;
    } else if (t->strides != nullptr && !IsCompact(*t)) {
      return false;
    }
    uintptr_t address = reinterpret_cast<uintptr_t>(t->data);
    if (address == 0 && !empty) return false;
    if (__builtin_expect(a.plain, 1)) {
      address += t->byte_offset;
    } else {
      if (!CheckOffset(a, *t, dim, slots)) return false;
      if (a.folds_offset) address += t->byte_offset;
    }
    if ((address & a.align_mask) != 0 && !empty && HasAddresses(a.device_type)) return false;
    if ((a.flags & kArgWritten) && type_codes[i] == kTVMNDArrayHandle &&
        (NDArrayContainer::FromHandle(t)->flags & kNDArrayReadOnly)) {
      return false;
    }
    if (!(a.flags & kArgNoSlot)) slots[a.slot] = address;
    if (i < kMaxRanges) {
      bool simple = a.plain & (t->strides == nullptr);
      ranges[i] = {simple ? address : 0,
                   simple ? address + elements * a.element_bytes : UINTPTR_MAX};
    }
  }
  if (has_exprs_) {
    for (uint16_t i : tensors_) {
      const ArgInfo& a = args_[i];
      const DLTensor* t = TensorOf(args[i]);
      const Dim* dim = &dims_[a.first_dim];
      for (int k = 0; k < a.ndim; ++k, ++dim) {
        if (dim->op == DimOp::kExpr && Evaluate(*dim, slots) != t->shape[k]) return false;
      }
      for (int k = 0; a.has_strides && k < a.ndim; ++k, ++dim) {
        if (dim->op != DimOp::kExpr || t->shape[k] == 1 || !NotEmpty(*t)) continue;
        int64_t stride = t->strides != nullptr ? t->strides[k] : CompactStride(*t, k);
        if (Evaluate(*dim, slots) != stride) return false;
      }
      if (dim->op == DimOp::kExpr &&
          Evaluate(*dim, slots) != static_cast<int64_t>(t->byte_offset * 8) / a.element_bits) {
        return false;
      }
    }
  }
  for (const Pair& pair : pairs_) {
    if (pair.written < kMaxRanges && pair.other < kMaxRanges) {
      const Range& a = ranges[pair.written];
      const Range& b = ranges[pair.other];
      if (a.high <= b.low || b.high <= a.low) continue;
    }
    bool partly;
    if (!PairIsFine(pair, args, &partly)) return false;
  }
  return true;
}

}  // namespace runtime
}  // namespace tvm
