#include "arg_spec.h"

#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device_internal.h"
#include "device_table.h"
#include "dtype.h"
#include "error.h"
#include "ndarray_internal.h"
#include "packed_func_internal.h"

namespace tvm {
namespace runtime {

namespace {

enum DimOpcode : uint8_t {
  kPushConst = 0,
  kPushSlot = 1,
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kFloorDiv = 5,
  kFloorMod = 6,
  kTruncDiv = 7,
  kTruncMod = 8,
  kMin = 9,
  kMax = 10,
  kNumOpcodes = 11
};
constexpr int kMaxDepth = 64;

bool IsTensorTag(int tag) { return tag == kTVMNDArrayHandle || tag == kTVMDLTensorHandle; }

const DLTensor* TensorOf(TVMValue v) { return static_cast<const DLTensor*>(v.v_handle); }

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

int64_t CompactStride(const DLTensor& t, int axis) {
  int64_t run = 1;
  for (int i = t.ndim - 1; i > axis; --i) run *= t.shape[i];
  return run;
}

bool HasAddresses(int device_type) {
  if (device_type == kDLCPU) return true;
  const TVMDeviceAPI* api = FindDevice(device_type);
  return api == nullptr || api->pointers_are_addresses;
}

bool NotEmpty(const DLTensor& t) {
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] == 0) return false;
  }
  return true;
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

// Rank and dtype stand side by side in a DLTensor, so that one comparison does for both.
static_assert(offsetof(DLTensor, dtype) == offsetof(DLTensor, ndim) + 4, "see RankAndType");
inline uint64_t RankAndType(const DLTensor& t) {
  uint64_t bits;
  memcpy(&bits, &t.ndim, sizeof(int32_t) + sizeof(DLDataType));
  return bits;
}

}  // namespace

// ---- reading a table ----------------------------------------------------------------------------
class ArgSpec::Parser {
 public:
  Parser(ArgSpec* spec, const void* data, size_t size)
      : spec_(spec), data_(static_cast<const uint8_t*>(data)), size_(size) {}

  int Run() {
    if (Read<uint32_t>() != 0x31544154) return Broken("it does not begin with the magic TAT1");
    uint16_t version = Read<uint16_t>();
    if (ok_ && version != 1) {
      return Broken("it has version " + std::to_string(version) + ", but this runtime reads 1");
    }
    uint16_t num_args = Read<uint16_t>();
    spec_->num_slots_ = Read<uint32_t>();
    Read<uint32_t>();
    spec_->name_ = ReadText();
    if (!ok_) return Broken("it is cut off");
    if (spec_->num_slots_ > 1u << 20) return Broken("it has too many slots");
    for (int i = 0; i < num_args; ++i) {
      if (!ReadArg(i)) {
        return Broken(problem_.empty() ? "it is cut off in argument " + std::to_string(i)
                                       : problem_);
      }
    }
    if (pos_ != size_) return Broken("bytes follow its end");
    MakePairs();
    return 0;
  }

 private:
  int Broken(const std::string& what) {
    return FailText("ValueError", "broken argument table of function \"" + spec_->name_ +
                                      "\": " + what + " (byte " + std::to_string(pos_) + " of " +
                                      std::to_string(size_) + ")");
  }

  template <typename T>
  T Read() {
    T v = 0;
    if (size_ - pos_ < sizeof(T)) {
      ok_ = false;
      pos_ = size_;
      return v;
    }
    // Bytes are put together by hand, so that big-endian hosts read the same table.
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) bits |= uint64_t{data_[pos_ + i]} << (8 * i);
    pos_ += sizeof(T);
    return static_cast<T>(bits);
  }

  std::string ReadText() {
    size_t n = Read<uint16_t>();
    if (size_ - pos_ < n) {
      ok_ = false;
      pos_ = size_;
      return "";
    }
    std::string text(reinterpret_cast<const char*>(data_ + pos_), n);
    pos_ += n;
    return text;
  }

  bool Problem(std::string what) {
    problem_ = std::move(what);
    return false;
  }

  bool GoodSlot(uint32_t slot) {
    if (slot < spec_->num_slots_) return true;
    return Problem("slot " + std::to_string(slot) + " is out of range");
  }

  bool ReadArg(int index) {
    ArgInfo a = {};
    uint8_t kind = Read<uint8_t>();
    if (ok_ && kind > 3) return Problem("argument kind " + std::to_string(kind) + " is unknown");
    a.kind = static_cast<ArgKind>(kind);
    a.flags = Read<uint8_t>();
    a.dtype.code = Read<uint8_t>();
    a.dtype.bits = Read<uint8_t>();
    a.dtype.lanes = Read<uint16_t>();
    a.slot = Read<uint32_t>();
    spec_->arg_names_.push_back(ReadText());
    if (!ok_) return false;
    if (!(a.flags & kArgNoSlot) && !GoodSlot(a.slot)) return false;
    if (a.kind == ArgKind::kInt) SetRange(&a);
    if (a.kind == ArgKind::kTensor) {
      if (!ReadTensor(&a)) return false;
      spec_->tensors_.push_back(static_cast<uint16_t>(index));
    } else {
      spec_->scalars_.push_back(static_cast<uint16_t>(index));
    }
    spec_->args_.push_back(a);
    return true;
  }

  static void SetRange(ArgInfo* a) {
    bool is_unsigned = a->dtype.code == kDLUInt;
    int bits = a->dtype.bits;
    if (bits == 0 || bits >= 64) {
      a->low = is_unsigned ? 0 : INT64_MIN;
      a->high = INT64_MAX;
    } else if (is_unsigned) {
      a->low = 0;
      a->high = static_cast<int64_t>((uint64_t{1} << bits) - 1);
    } else {
      a->low = -(int64_t{1} << (bits - 1));
      a->high = (int64_t{1} << (bits - 1)) - 1;
    }
  }

  bool ReadTensor(ArgInfo* a) {
    a->device_type = static_cast<int32_t>(Read<uint32_t>());
    uint32_t alignment = Read<uint32_t>();
    a->alias_ok = Read<uint64_t>();
    a->ndim = Read<uint16_t>();
    if (!ok_) return false;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
      return Problem("alignment " + std::to_string(alignment) + " is not a power of two");
    }
    a->align_mask = alignment - 1;
    DLTensor head = {};
    head.ndim = a->ndim;
    head.dtype = a->dtype;
    a->rank_and_type = RankAndType(head);
    a->element_bits = int64_t{a->dtype.bits == 1 ? 8 : a->dtype.bits} * a->dtype.lanes;
    if (a->element_bits == 0) return Problem("a tensor argument has no element type");
    a->element_bytes = a->element_bits % 8 == 0 ? static_cast<uint64_t>(a->element_bits) / 8 : 0;
    a->first_dim = static_cast<uint32_t>(spec_->dims_.size());
    for (int i = 0; i < a->ndim; ++i) {
      if (!ReadDim()) return false;
    }
    uint8_t has_strides = Read<uint8_t>();
    if (ok_ && has_strides > 1) return Problem("has_strides is neither 0 nor 1");
    a->has_strides = has_strides != 0;
    for (int i = 0; a->has_strides && i < a->ndim; ++i) {
      if (!ReadDim()) return false;
    }
    if (!ReadDim()) return false;
    const Dim& offset = spec_->dims_.back();
    a->folds_offset = offset.op == DimOp::kConst && offset.value == 0;
    a->plain = a->folds_offset && a->device_type == kDLCPU && a->element_bytes != 0;
    return true;
  }

  bool ReadDim() {
    Dim d = {};
    uint8_t op = Read<uint8_t>();
    if (!ok_) return false;
    if (op > 4) return Problem("dim operation " + std::to_string(op) + " is unknown");
    d.op = static_cast<DimOp>(op);
    std::string text;
    if (d.op == DimOp::kConst) {
      d.value = Read<int64_t>();
      text = std::to_string(d.value);
    } else if (d.op == DimOp::kExpr) {
      if (!ReadExpr(&d)) return false;
      text = ReadText();
    } else {
      d.slot = Read<uint32_t>();
      text = ReadText();
      if (ok_ && !GoodSlot(d.slot)) return false;
    }
    if (!ok_) return false;
    spec_->dims_.push_back(d);
    spec_->dim_texts_.push_back(std::move(text));
    return true;
  }

  // The stack is checked here, so that evaluation need not.
  bool ReadExpr(Dim* d) {
    int n = Read<uint16_t>();
    int depth = 0;
    d->expr_begin = static_cast<uint32_t>(spec_->expr_ops_.size());
    for (int i = 0; ok_ && i < n; ++i) {
      DimExprOp e = {Read<uint8_t>(), 0};
      e.operand = Read<int64_t>();
      if (!ok_) return false;
      if (e.opcode >= kNumOpcodes) {
        return Problem("opcode " + std::to_string(e.opcode) + " is unknown");
      }
      if (e.opcode == kPushSlot) {
        if (e.operand < 0 || e.operand >= int64_t{spec_->num_slots_}) {
          return Problem("slot " + std::to_string(e.operand) + " is out of range");
        }
      }
      depth += e.opcode <= kPushSlot ? 1 : -1;
      if (depth < 1 || depth > kMaxDepth) return Problem("an expression breaks its stack");
      spec_->expr_ops_.push_back(e);
    }
    if (ok_ && depth != 1) return Problem("an expression does not leave one value");
    d->expr_end = static_cast<uint32_t>(spec_->expr_ops_.size());
    spec_->has_exprs_ = true;
    return ok_;
  }

  void MakePairs() {
    auto allows = [&](uint16_t written, uint16_t other) {
      const ArgInfo& a = spec_->args_[written];
      return !(a.flags & kArgWritten) || (other < 64 && (a.alias_ok >> other & 1));
    };
    const std::vector<uint16_t>& tensors = spec_->tensors_;
    for (size_t i = 0; i < tensors.size(); ++i) {
      for (size_t j = i + 1; j < tensors.size(); ++j) {
        uint16_t a = tensors[i], b = tensors[j];
        bool a_written = spec_->args_[a].flags & kArgWritten;
        bool b_written = spec_->args_[b].flags & kArgWritten;
        if (!a_written && !b_written) continue;
        bool fine = allows(a, b) && allows(b, a);
        spec_->pairs_.push_back(b_written ? Pair{b, a, fine} : Pair{a, b, fine});
      }
    }
  }

  ArgSpec* spec_;
  const uint8_t* data_;
  size_t size_;
  size_t pos_ = 0;
  bool ok_ = true;
  std::string problem_;
};

int ArgSpec::Parse(const void* data, size_t size) {
  if (data == nullptr) return Fail("TypeError", "expected an argument table, but got NULL");
  return Parser(this, data, size).Run();
}

// ---- checking a call ----------------------------------------------------------------------------
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

// ---- saying what is wrong -----------------------------------------------------------------------
class ArgSpec::Explainer {
 public:
  Explainer(const ArgSpec& spec, const TVMValue* args, const int* tags, int num_args)
      : spec_(spec), args_(args), tags_(tags), num_args_(num_args), slots_(spec.num_slots_ + 1) {}

  int Run() {
    int expected = static_cast<int>(spec_.args_.size());
    if (num_args_ != expected) {
      std::string text =
          "expects " + std::to_string(expected) + (expected == 1 ? " argument" : " arguments");
      for (int i = 0; i < expected; ++i) text += (i == 0 ? " (" : ", ") + Name(i);
      if (expected > 0) text += ")";
      return Error("TypeError", text + ", but got " + std::to_string(num_args_));
    }
    for (int i = 0; i < expected; ++i) {
      if (Kind(i) == ArgKind::kTensor ? TensorTag(i) : Scalar(i)) return -1;
    }
    for (uint16_t i : spec_.tensors_) {
      if (Binds(i)) return -1;
    }
    for (uint16_t i : spec_.tensors_) {
      if (Tensor(i)) return -1;
    }
    for (const Pair& pair : spec_.pairs_) {
      bool partly;
      if (spec_.PairIsFine(pair, args_, &partly)) continue;
      return Error("ValueError",
                   Where(pair.written) + ": is written, and its memory " +
                       (partly ? "overlaps partly with that of " : "is also that of ") +
                       Where(pair.other) + "; they must not share memory");
    }
    return FailText("InternalError", spec_.name_ +
                                         ": the call was refused, but nothing is wrong with its "
                                         "arguments; please report this");
  }

 private:
  const ArgInfo& Arg(int i) { return spec_.args_[static_cast<size_t>(i)]; }
  ArgKind Kind(int i) { return Arg(i).kind; }
  const std::string& Name(int i) { return spec_.arg_names_[static_cast<size_t>(i)]; }
  std::string Where(int i) { return "argument " + std::to_string(i) + " (" + Name(i) + ")"; }

  int Error(const char* kind, const std::string& text) {
    return FailText(kind, spec_.name_ + ": " + text);
  }

  std::string DimsText(uint32_t first, int n) {
    std::string text = "(";
    for (int i = 0; i < n; ++i) {
      text += (i == 0 ? "" : ", ") + spec_.dim_texts_[first + static_cast<uint32_t>(i)];
    }
    return text + (n == 1 ? ",)" : ")");
  }

  std::string ShapeExpected(int i) { return DimsText(Arg(i).first_dim, Arg(i).ndim); }

  int Mismatch(int i, const std::string& expected) {
    return Error("TypeError", Where(i) + ": expected " + expected + ", but got " +
                                  ArgumentText(args_[i], tags_[i]));
  }

  int Scalar(int i) {
    const ArgInfo& a = Arg(i);
    int tag = tags_[i];
    bool is_int = tag == kTVMArgInt || tag == kTVMArgBool;
    std::string dtype = DTypeText(a.dtype);
    uint64_t bits = 0;
    if (a.kind == ArgKind::kInt) {
      if (!is_int) return Mismatch(i, "an int (" + dtype + ")");
      int64_t v = args_[i].v_int64;
      if (v < a.low || v > a.high) {
        return Error("ValueError", Where(i) + ": expected a value of " + dtype + " (" +
                                       std::to_string(a.low) + " to " + std::to_string(a.high) +
                                       "), but got " + std::to_string(v));
      }
      bits = static_cast<uint64_t>(v);
    } else if (a.kind == ArgKind::kFloat) {
      if (!is_int && tag != kTVMArgFloat) return Mismatch(i, "a float (" + dtype + ")");
    } else if (tag != kTVMOpaqueHandle && tag != kTVMNullptr &&
               !(IsTensorTag(tag) && args_[i].v_handle != nullptr)) {
      return Mismatch(i, "a handle");
    }
    if (!(a.flags & kArgNoSlot)) slots_[a.slot] = bits;
    return 0;
  }

  int TensorTag(int i) {
    const ArgInfo& a = Arg(i);
    const DLTensor* t = TensorOf(args_[i]);
    bool is_tensor = IsTensorTag(tags_[i]) && t != nullptr;
    if (!is_tensor || t->ndim != a.ndim || !SameDType(t->dtype, a.dtype)) {
      return Mismatch(i,
                      "a tensor of dtype " + DTypeText(a.dtype) + " and shape " + ShapeExpected(i));
    }
    if (t->device.device_type != a.device_type) {
      const DeviceKind* kind = FindDeviceKind(a.device_type);
      return Error("ValueError",
                   Where(i) + ": expected a tensor on device " +
                       (kind != nullptr ? kind->name : std::to_string(a.device_type)) +
                       ", but got one on " + DeviceText(t->device));
    }
    return 0;
  }

  int64_t StrideOf(const DLTensor& t, int k) {
    return t.strides != nullptr ? t.strides[k] : CompactStride(t, k);
  }

  int64_t OffsetOf(int i) {
    return static_cast<int64_t>(TensorOf(args_[i])->byte_offset * 8) / Arg(i).element_bits;
  }

  int BindOne(int i, uint32_t dim_index, int64_t value, const std::string& what) {
    const Dim& dim = spec_.dims_[dim_index];
    if (dim.op == DimOp::kBind32 && value != static_cast<int32_t>(value)) {
      return Error("ValueError", Where(i) + ": " + what + " is " + std::to_string(value) +
                                     ", which does not fit the int32 variable " +
                                     spec_.dim_texts_[dim_index]);
    }
    if (dim.op == DimOp::kBind || dim.op == DimOp::kBind32) {
      slots_[dim.slot] = static_cast<uint64_t>(value);
    }
    return 0;
  }

  int Binds(int i) {
    const ArgInfo& a = Arg(i);
    const DLTensor& t = *TensorOf(args_[i]);
    uint32_t dim = a.first_dim;
    for (int k = 0; k < a.ndim; ++k, ++dim) {
      if (BindOne(i, dim, t.shape[k], "shape[" + std::to_string(k) + "]")) return -1;
    }
    for (int k = 0; a.has_strides && k < a.ndim; ++k, ++dim) {
      if (BindOne(i, dim, StrideOf(t, k), "strides[" + std::to_string(k) + "]")) return -1;
    }
    return a.folds_offset ? 0 : BindOne(i, dim, OffsetOf(i), "the element offset");
  }

  // "" when the value is right, else "5 (n)".
  std::string Wrong(uint32_t dim_index, int64_t value) {
    const Dim& dim = spec_.dims_[dim_index];
    int64_t expected;
    if (dim.op == DimOp::kConst) {
      expected = dim.value;
    } else if (dim.op == DimOp::kExpr) {
      expected = spec_.Evaluate(dim, slots_.data());
    } else {
      expected = static_cast<int64_t>(slots_[dim.slot]);
      if (dim.op != DimOp::kCheck) return "";
    }
    if (expected == value) return "";
    std::string text = std::to_string(expected);
    if (dim.op != DimOp::kConst) text += " (" + spec_.dim_texts_[dim_index] + ")";
    return text;
  }

  int Tensor(int i) {
    const ArgInfo& a = Arg(i);
    const DLTensor& t = *TensorOf(args_[i]);
    std::string got_shape = ShapeText(t.shape, t.ndim);
    bool empty = !NotEmpty(t);
    uint32_t dim = a.first_dim;
    for (int k = 0; k < a.ndim; ++k, ++dim) {
      std::string wrong = Wrong(dim, t.shape[k]);
      if (wrong.empty()) continue;
      return Error("ValueError", Where(i) + ": shape[" + std::to_string(k) + "] expected " + wrong +
                                     ", but got " + std::to_string(t.shape[k]) +
                                     ": the whole shape is " + got_shape + ", expected " +
                                     ShapeExpected(i));
    }
    if (!a.has_strides && !IsCompact(t)) {
      return Error("ValueError",
                   Where(i) + ": expected a compact (C-contiguous) tensor, but got strides " +
                       ShapeText(t.strides, t.ndim) + " for shape " + got_shape +
                       "; copy it first, for instance tvm.nd.array(x)");
    }
    for (int k = 0; a.has_strides && k < a.ndim; ++k, ++dim) {
      if (empty || t.shape[k] == 1) continue;
      std::string wrong = Wrong(dim, StrideOf(t, k));
      if (wrong.empty()) continue;
      return Error("ValueError", Where(i) + ": strides[" + std::to_string(k) + "] expected " +
                                     wrong + ", but got " + std::to_string(StrideOf(t, k)) +
                                     " for shape " + got_shape);
    }
    if (!a.folds_offset) {
      if (t.byte_offset * 8 % static_cast<uint64_t>(a.element_bits) != 0) {
        return Error("ValueError",
                     Where(i) + ": expected a byte offset of whole elements, but got " +
                         std::to_string(t.byte_offset) + " for dtype " + DTypeText(t.dtype));
      }
      std::string wrong = Wrong(dim, OffsetOf(i));
      if (!wrong.empty()) {
        return Error("ValueError", Where(i) + ": the element offset expected " + wrong +
                                       ", but got " + std::to_string(OffsetOf(i)));
      }
    } else if (t.byte_offset != 0 && !HasAddresses(a.device_type)) {
      return Error("ValueError",
                   Where(i) + ": expected a tensor without byte offset, but got offset " +
                       std::to_string(t.byte_offset) +
                       "; copy it first, or declare the buffer with an element offset");
    }
    uintptr_t address = reinterpret_cast<uintptr_t>(t.data) + (a.folds_offset ? t.byte_offset : 0);
    if ((address & a.align_mask) != 0 && !empty && t.data != nullptr &&
        HasAddresses(a.device_type)) {
      std::string alignment = std::to_string(a.align_mask + 1);
      return Error("ValueError", Where(i) + ": expected data aligned to " + alignment +
                                     " bytes, but its address is not a multiple of " + alignment +
                                     "; copy it first, for instance tvm.nd.array(x)");
    }
    if (t.data == nullptr && !empty) {
      return Error("ValueError",
                   Where(i) + ": expected data, but got a NULL pointer for shape " + got_shape);
    }
    if ((a.flags & kArgWritten) && tags_[i] == kTVMNDArrayHandle &&
        (NDArrayContainer::FromHandle(&t)->flags & kNDArrayReadOnly)) {
      return Error("ValueError",
                   Where(i) + ": is written by the function, but the array is read-only");
    }
    return 0;
  }

  const ArgSpec& spec_;
  const TVMValue* args_;
  const int* tags_;
  int num_args_;
  std::vector<uint64_t> slots_;
};

int ArgSpec::Explain(const TVMValue* args, const int* type_codes, int num_args) const {
  return Guarded([&] { return Explainer(*this, args, type_codes, num_args).Run(); });
}

}  // namespace runtime
}  // namespace tvm
