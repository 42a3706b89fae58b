"""Arithmetic and conversions on registers, with the semantics of the interpreter.

Integers wrap; a division by a run-time zero gives 0 and the least integer divided by -1 wraps;
float to integer saturates and NaN gives 0; `min` and `max` hand on NaN. No input traps, and nothing
here becomes a call of a library function.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import TypeInfo, info
from .types import (
    FLOAT_LAYOUT,
    constant,
    float_bits,
    is_narrow,
    mangled,
    register_type,
    splat,
    vector,
)
from .writer import Writer

_FLOAT_OP = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class Numeric(Writer):
    """Operations whose operands and results are registers (or constants' texts)."""

    # ---- conversions
    def cast(self, value: str, source: str, target: str) -> str:
        """`value` of dtype `source` as dtype `target`."""
        if source == target:
            return value
        old, new = info(source), info(target)
        if old.lanes != new.lanes:
            raise error.InternalError(f"cast from {source} to {target} changes the lanes")
        if "handle" in (old.kind, new.kind):
            return self._cast_handle(value, old, new)
        if is_narrow(old):
            return self._from_narrow(value, old, new)
        if is_narrow(new):
            return self._to_narrow(value, old, new)
        before, after = register_type(source), register_type(target)
        if new.is_bool:
            zero = constant(source, 0)
            test = "icmp ne" if old.is_int else "fcmp une"
            return self.pure(f"{test} {before} {value}, {zero}")
        if old.is_int and new.is_int:
            if old.bits == new.bits:
                return value
            how = "trunc" if old.bits > new.bits else "sext" if old.signed else "zext"
            return self.pure(f"{how} {before} {value} to {after}")
        if old.is_int:
            how = "sitofp" if old.signed else "uitofp"
            return self.pure(f"{how} {before} {value} to {after}")
        if new.is_int:
            how = "fptosi" if new.signed else "fptoui"
            name = self.unit.declare(
                f"llvm.{how}.sat.{mangled(f'i{new.bits}', new.lanes)}."
                f"{mangled(_real(old), old.lanes)}",
                f"{after} @({before})",
            )
            return self.pure(f"call {after} {name}({before} {value})")
        how = "fptrunc" if old.bits > new.bits else "fpext"
        return self.pure(f"{how} {before} {value} to {after}")

    def _cast_handle(self, value: str, old: TypeInfo, new: TypeInfo) -> str:
        if old.kind == new.kind:
            return value
        before, after = register_type(old.text), register_type(new.text)
        if old.kind == "handle" and new.is_int:
            return self.pure(f"ptrtoint {before} {value} to {after}")
        if new.kind == "handle" and old.is_int:
            return self.pure(f"inttoptr {before} {value} to {after}")
        raise error.TypeError_(f"no cast from {old.text} to {new.text}")

    def _from_narrow(self, value: str, old: TypeInfo, new: TypeInfo) -> str:
        wide = self.widen(value, old)
        return self.cast(wide, _float32(old.lanes), new.text)

    def _to_narrow(self, value: str, old: TypeInfo, new: TypeInfo) -> str:
        lanes = new.lanes
        if old.is_int:
            value, old = self._exact_float(value, old, new)
        if old.bits == 64:
            value = self._round_to_odd(value, lanes)
        return self.narrow(value, new)

    def _exact_float(self, value: str, old: TypeInfo, new: TypeInfo) -> tuple[str, TypeInfo]:
        """An integer as a float or double that rounds to `new` as the integer itself would."""
        lanes, kind = old.lanes, register_type(old.text)
        narrow32, wide64 = info(_float32(lanes)), info("float64" + _suffix(lanes))
        if old.bits <= 24:
            return self.cast(value, old.text, narrow32.text), narrow32
        if old.bits > 53:
            # bits below the 53rd may only say "not zero"; sizes beyond 2^53 keep their place
            sign = self.pure(f"ashr {kind} {value}, {constant(old.text, 63)}")
            if old.signed:
                flipped = self.pure(f"xor {kind} {value}, {sign}")
                size = self.pure(f"sub {kind} {flipped}, {sign}")
            else:
                size = value
            low = self.pure(f"and {kind} {size}, {constant(old.text, 0x7FF)}")
            some = self.pure(f"icmp ne {kind} {low}, {constant(old.text, 0)}")
            large = self.pure(f"icmp ugt {kind} {size}, {constant(old.text, (1 << 53) - 1)}")
            high = self.pure(f"and {kind} {size}, {constant(old.text, -0x800)}")
            sticky = self.pure(
                f"select {vector('i1', lanes)} {some}, {kind} {constant(old.text, 0x800)}, "
                f"{kind} {constant(old.text, 0)}"
            )
            odd = self.pure(f"or {kind} {high}, {sticky}")
            size = self.select(large, odd, size, kind, lanes)
            unsigned = "uint64" + _suffix(lanes)
            real = self.cast(size, unsigned, wide64.text)
            if old.signed:
                below = self.pure(f"icmp slt {kind} {value}, {constant(old.text, 0)}")
                double = register_type(wide64.text)
                minus = self.pure(f"fneg {double} {real}")
                real = self.select(below, minus, real, double, lanes)
            return real, wide64
        return self.cast(value, old.text, wide64.text), wide64

    def _round_to_odd(self, value: str, lanes: int) -> str:
        """A double as a float whose last bit says whether anything was lost.

        A second rounding to a type of at most 22 mantissa bits is then as good as a single one.
        """
        double, single = vector("double", lanes), vector("float", lanes)
        word, flag = vector("i32", lanes), vector("i1", lanes)
        near = self.pure(f"fptrunc {double} {value} to {single}")
        back = self.pure(f"fpext {single} {near} to {double}")
        lost = self.pure(f"fcmp one {double} {back}, {value}")
        size, full = (
            self.call_real("fabs", back, "double", lanes),
            self.call_real("fabs", value, "double", lanes),
        )
        over = self.pure(f"fcmp ogt {double} {size}, {full}")
        bits = self.pure(f"bitcast {single} {near} to {word}")
        step = self.pure(f"zext {flag} {over} to {word}")
        down = self.pure(f"sub {word} {bits}, {step}")
        last = self.pure(f"zext {flag} {lost} to {word}")
        odd = self.pure(f"or {word} {down}, {last}")
        return self.pure(f"bitcast {word} {odd} to {single}")

    def widen(self, value: str, found: TypeInfo) -> str:
        """A narrow float's bits as a float32: exact."""
        lanes = found.lanes
        single, word = vector("float", lanes), vector("i32", lanes)
        kind = register_type(found.text)
        if found.scalar == "bfloat16":
            wide = self.pure(f"zext {kind} {value} to {word}")
            shifted = self.pure(f"shl {word} {wide}, {splat('i32', lanes, '16')}")
            return self.pure(f"bitcast {word} {shifted} to {single}")
        if found.scalar == "float16" and self.machine.has_f16c:
            half = vector("half", lanes)
            real = self.pure(f"bitcast {kind} {value} to {half}")
            return self.pure(f"fpext {half} {real} to {single}")
        mantissa, bias, has_inf, greatest = FLOAT_LAYOUT[found.scalar]
        top = found.bits - 1

        def each(number: int) -> str:
            return splat("i32", lanes, str(number))

        wide = self.pure(f"zext {kind} {value} to {word}")
        size = self.pure(f"and {word} {wide}, {each((1 << top) - 1)}")
        sign = self.pure(f"shl {word} {wide}, {each(31 - top)}")
        sign = self.pure(f"and {word} {sign}, {each(-(1 << 31))}")
        moved = self.pure(f"shl {word} {size}, {each(23 - mantissa)}")
        normal = self.pure(f"add {word} {moved}, {each((127 - bias) << 23)}")
        # a subnormal is its integer times the least step, exactly
        whole = self.pure(f"uitofp {word} {size} to {single}")
        step = splat("float", lanes, float_bits(2.0 ** (1 - bias - mantissa)))
        small = self.pure(f"fmul {single} {whole}, {step}")
        small = self.pure(f"bitcast {single} {small} to {word}")
        tiny = self.pure(f"icmp ult {word} {size}, {each(1 << mantissa)}")
        bits = self.select(tiny, small, normal, word, lanes)
        if has_inf:
            special = self.pure(f"or {word} {moved}, {each(0x7F800000)}")
            beyond = self.pure(f"icmp ugt {word} {size}, {each(greatest)}")
            bits = self.select(beyond, special, bits, word, lanes)
        else:
            beyond = self.pure(f"icmp ugt {word} {size}, {each(greatest)}")
            bits = self.select(beyond, each(0x7FC00000), bits, word, lanes)
        bits = self.pure(f"or {word} {bits}, {sign}")
        return self.pure(f"bitcast {word} {bits} to {single}")

    def narrow(self, value: str, found: TypeInfo) -> str:
        """A float32 as a narrow float's bits, rounded to nearest even."""
        lanes = found.lanes
        single, word = vector("float", lanes), vector("i32", lanes)
        kind = register_type(found.text)
        mantissa, bias, has_inf, greatest = FLOAT_LAYOUT[found.scalar]
        if found.scalar == "float16" and self.machine.has_f16c:
            half = vector("half", lanes)
            real = self.pure(f"fptrunc {single} {value} to {half}")
            return self.pure(f"bitcast {half} {real} to {kind}")

        def each(number: int) -> str:
            return splat("i32", lanes, str(number))

        bits = self.pure(f"bitcast {single} {value} to {word}")
        if found.scalar == "bfloat16":
            odd = self.pure(f"lshr {word} {bits}, {each(16)}")
            odd = self.pure(f"and {word} {odd}, {each(1)}")
            odd = self.pure(f"add {word} {odd}, {each(0x7FFF)}")
            rounded = self.pure(f"add {word} {bits}, {odd}")
            nan = self.pure(f"fcmp uno {single} {value}, {value}")
            quiet = self.pure(f"or {word} {bits}, {each(0x400000)}")
            rounded = self.select(nan, quiet, rounded, word, lanes)
            rounded = self.pure(f"lshr {word} {rounded}, {each(16)}")
            return self.pure(f"trunc {word} {rounded} to {kind}")
        size = self.pure(f"and {word} {bits}, {each(0x7FFFFFFF)}")
        shift = 23 - mantissa
        odd = self.pure(f"lshr {word} {size}, {each(shift)}")
        odd = self.pure(f"and {word} {odd}, {each(1)}")
        sum_ = self.pure(f"add {word} {size}, {odd}")
        sum_ = self.pure(
            f"add {word} {sum_}, {each((1 << (shift - 1)) - 1 - ((127 - bias) << 23))}"
        )
        normal = self.pure(f"lshr {word} {sum_}, {each(shift)}")
        # adding this number lines a subnormal's last bit up with the float's last bit
        magic = 2.0 ** (1 - bias - mantissa + 23)
        real = self.pure(f"bitcast {word} {size} to {single}")
        lined = self.pure(f"fadd {single} {real}, {splat('float', lanes, float_bits(magic))}")
        lined = self.pure(f"bitcast {single} {lined} to {word}")
        magic_bits = (127 + 1 - bias - mantissa + 23) << 23
        small = self.pure(f"sub {word} {lined}, {each(magic_bits)}")
        tiny = self.pure(f"icmp ult {word} {size}, {each((127 + 1 - bias) << 23)}")
        out = self.select(tiny, small, normal, word, lanes)
        # NaN and what is too large; `normal` of a very large number has all its bits, unsigned
        most = self.pure(f"icmp ugt {word} {out}, {each(greatest)}")
        nan = each(greatest + 2 if has_inf else greatest + 1)
        over = each(greatest + 1)
        unordered = self.pure(f"icmp ugt {word} {size}, {each(0x7F800000)}")
        special = self.select(unordered, nan, over, word, lanes)
        out = self.select(most, special, out, word, lanes)
        sign = self.pure(f"lshr {word} {bits}, {each(32 - found.bits)}")
        sign = self.pure(f"and {word} {sign}, {each(1 << (found.bits - 1))}")
        out = self.pure(f"or {word} {out}, {sign}")
        return self.pure(f"trunc {word} {out} to {kind}")

    # ---- arithmetic
    def arith(self, op: str, a: str, b: str, dtype: str) -> str:
        """`add`, `sub`, `mul`; on floats also `div`."""
        found = info(dtype)
        if found.is_int:
            return self.pure(f"{op} {register_type(dtype)} {a}, {b}")
        if not found.is_float:
            raise error.TypeError_(f"{op} is not defined on dtype {dtype}")
        if is_narrow(found):
            wide = _float32(found.lanes)
            result = self.arith(op, self.widen(a, found), self.widen(b, found), wide)
            return self.narrow(result, found)
        return self.pure(f"{_FLOAT_OP[op]} {register_type(dtype)} {a}, {b}")

    def select(self, condition: str, a: str, b: str, kind: str, lanes: int) -> str:
        return self.pure(f"select {vector('i1', lanes)} {condition}, {kind} {a}, {kind} {b}")

    def divide(self, op: str, a: str, b: str, dtype: str, divisor: int | None = None) -> str:
        """Integer `truncdiv`, `truncmod`, `floordiv`, `floormod`; `divisor` if b is constant."""
        found = info(dtype)
        kind, lanes = register_type(dtype), found.lanes
        if found.is_bool:
            # the only divisor that is not 0 is 1
            return self.pure(f"and {kind} {a}, {b}") if op.endswith("div") else constant(dtype, 0)
        rest = op.endswith("mod")
        floor = op.startswith("floor")
        if divisor == 0:
            return constant(dtype, 0)
        if not found.signed:
            how = "urem" if rest else "udiv"
            if divisor is not None:
                return self.pure(f"{how} {kind} {a}, {b}")
            zero = self.pure(f"icmp eq {kind} {b}, {constant(dtype, 0)}")
            safe = self.select(zero, constant(dtype, 1), b, kind, lanes)
            result = self.pure(f"{how} {kind} {a}, {safe}")
            return result if rest else self.select(zero, constant(dtype, 0), result, kind, lanes)
        if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0 and floor:
            if rest:
                return self.pure(f"and {kind} {a}, {constant(dtype, divisor - 1)}")
            shift = constant(dtype, divisor.bit_length() - 1)
            return self.pure(f"ashr {kind} {a}, {shift}")
        if divisor == -1:
            zero_text = constant(dtype, 0)
            return zero_text if rest else self.pure(f"sub {kind} {zero_text}, {a}")
        zero = minus = ""
        safe = b
        if divisor is None:
            # 0 and -1 are the divisors that may trap
            zero = self.pure(f"icmp eq {kind} {b}, {constant(dtype, 0)}")
            minus = self.pure(f"icmp eq {kind} {b}, {constant(dtype, -1)}")
            either = self.pure(f"or {vector('i1', lanes)} {zero}, {minus}")
            safe = self.select(either, constant(dtype, 1), b, kind, lanes)
        if rest:
            result = self.pure(f"srem {kind} {a}, {safe}")
            if floor:
                wrong = self._wrong_sign(result, safe, kind, dtype)
                moved = self.pure(f"add {kind} {result}, {safe}")
                result = self.select(wrong, moved, result, kind, lanes)
            return result
        result = self.pure(f"sdiv {kind} {a}, {safe}")
        if floor:
            back = self.pure(f"mul {kind} {result}, {safe}")
            left = self.pure(f"sub {kind} {a}, {back}")
            wrong = self._wrong_sign(left, safe, kind, dtype)
            moved = self.pure(f"add {kind} {result}, {constant(dtype, -1)}")
            result = self.select(wrong, moved, result, kind, lanes)
        if divisor is None:
            opposite = self.pure(f"sub {kind} {constant(dtype, 0)}, {a}")
            result = self.select(minus, opposite, result, kind, lanes)
            result = self.select(zero, constant(dtype, 0), result, kind, lanes)
        return result

    def _wrong_sign(self, left: str, divisor: str, kind: str, dtype: str) -> str:
        """Whether a C remainder is neither 0 nor of the divisor's sign."""
        flag = vector("i1", info(dtype).lanes)
        some = self.pure(f"icmp ne {kind} {left}, {constant(dtype, 0)}")
        mixed = self.pure(f"xor {kind} {left}, {divisor}")
        other = self.pure(f"icmp slt {kind} {mixed}, {constant(dtype, 0)}")
        return self.pure(f"and {flag} {some}, {other}")

    def extreme(self, op: str, a: str, b: str, dtype: str, safe_a: bool = False) -> str:
        """`min` or `max`; on floats NaN in either operand is the result.

        `safe_a` says that `a` is known not to be NaN, which saves the second selection.
        """
        found = info(dtype)
        if is_narrow(found):
            wide = _float32(found.lanes)
            left, right = self.widen(a, found), self.widen(b, found)
            return self.narrow(self.extreme(op, left, right, wide), found)
        kind = register_type(dtype)
        if found.is_int:
            name = ("s" if found.signed else "u") + op
            function = self.unit.declare(
                f"llvm.{name}.{mangled(f'i{found.bits}', found.lanes)}", f"{kind} @({kind}, {kind})"
            )
            return self.pure(f"call {kind} {function}({kind} {a}, {kind} {b})")
        # This selection gives b when either is NaN: exactly one instruction on x86.
        test = self.pure(f"fcmp {'olt' if op == 'min' else 'ogt'} {kind} {a}, {b}")
        result = self.select(test, a, b, kind, found.lanes)
        if safe_a:
            return result
        nan = self.pure(f"fcmp uno {kind} {a}, {a}")
        return self.select(nan, a, result, kind, found.lanes)

    def compare(self, op: str, a: str, b: str, dtype: str) -> str:
        """`eq`, `ne`, `lt`, `le`, `gt`, `ge`; ordered on floats, but for `ne`."""
        found = info(dtype)
        if is_narrow(found):
            a, b = self.widen(a, found), self.widen(b, found)
            return self.compare(op, a, b, _float32(found.lanes))
        kind = register_type(dtype)
        if found.is_float:
            return self.pure(f"fcmp {'une' if op == 'ne' else 'o' + op} {kind} {a}, {b}")
        if op not in ("eq", "ne"):
            op = ("s" if found.signed else "u") + op
        return self.pure(f"icmp {op} {kind} {a}, {b}")

    def call_real(self, name: str, value: str, kind: str, lanes: int, *more: str) -> str:
        """An LLVM intrinsic on float or double operands, such as `sqrt` or `fma`."""
        whole = vector(kind, lanes)
        operands = (value, *more)
        function = self.unit.declare(
            f"llvm.{name}.{mangled(kind, lanes)}",
            f"{whole} @({', '.join([whole] * len(operands))})",
        )
        passed = ", ".join(f"{whole} {operand}" for operand in operands)
        return self.pure(f"call {whole} {function}({passed})")

    def any_lane(self, condition: str, lanes: int) -> str:
        """Whether a vector of i1 has a true lane."""
        if lanes == 1:
            return condition
        bits = self.pure(f"bitcast <{lanes} x i1> {condition} to i{lanes}")
        return self.pure(f"icmp ne i{lanes} {bits}, 0")

    def broadcast(self, value: str, kind: str, lanes: int) -> str:
        """A scalar in every lane."""
        if lanes == 1:
            return value
        if not value.startswith("%"):
            return f"splat ({kind} {value})"
        whole = vector(kind, lanes)
        one = self.pure(f"insertelement {whole} poison, {kind} {value}, i64 0")
        return self.pure(
            f"shufflevector {whole} {one}, {whole} poison, <{lanes} x i32> zeroinitializer"
        )


def _real(found: TypeInfo) -> str:
    return "float" if found.bits == 32 else "double"


def _suffix(lanes: int) -> str:
    return "" if lanes == 1 else f"x{lanes}"


def _float32(lanes: int) -> str:
    return "float32" + _suffix(lanes)
