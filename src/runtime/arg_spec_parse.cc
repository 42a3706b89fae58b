// Reading an argument table. Whatever the bytes are, the result is a table or an error.
#include "arg_spec.h"
#include "arg_spec_internal.h"
#include "error.h"

namespace tvm {
namespace runtime {

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
    spec_->is_brief_ = (Read<uint32_t>() & kTableBrief) != 0;
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
    if (!BindsInOrder()) return Broken(problem_);
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

  bool SlotProblem(uint64_t slot, const char* what) {
    return Problem("slot " + std::to_string(slot) + what);
  }

  // Each slot belongs to one argument or one variable. A variable is bound once and before it is
  // used: scalars first, then the dimensions in the order of the arguments, then the expressions.
  bool BindsInOrder() {
    std::vector<bool> taken(spec_->num_slots_);  // by the address of a tensor
    std::vector<bool> bound(spec_->num_slots_);
    for (const ArgInfo& a : spec_->args_) {
      if (a.flags & kArgNoSlot) continue;
      if (taken[a.slot] || bound[a.slot]) return SlotProblem(a.slot, " belongs to two arguments");
      (a.kind == ArgKind::kTensor ? taken : bound)[a.slot] = true;
    }
    for (const Dim& d : spec_->dims_) {
      if (d.op == DimOp::kConst || d.op == DimOp::kExpr) continue;
      if (taken[d.slot]) return SlotProblem(d.slot, " is a variable's and a tensor's");
      bool checks = d.op == DimOp::kCheck;
      if (checks && !bound[d.slot]) return SlotProblem(d.slot, " is checked before it is bound");
      if (!checks && bound[d.slot]) return SlotProblem(d.slot, " is bound twice");
      bound[d.slot] = true;
    }
    for (const DimExprOp& e : spec_->expr_ops_) {
      auto slot = static_cast<size_t>(e.operand);
      if (e.opcode == kPushSlot && !bound[slot])
        return SlotProblem(slot, " is used, but not bound");
    }
    return true;
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

}  // namespace runtime
}  // namespace tvm
