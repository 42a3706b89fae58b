// Saying what is wrong with a call that the check refused.
#include "arg_spec.h"
#include "arg_spec_internal.h"
#include "device_table.h"
#include "dtype.h"
#include "error.h"
#include "packed_func_internal.h"

namespace tvm {
namespace runtime {

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
