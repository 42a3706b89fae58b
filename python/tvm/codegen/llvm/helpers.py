"""Functions that a module carries along, for what is no instruction and no straight line."""

from __future__ import annotations

from .unit import Unit

# The remainder of two floats is exact: the mantissas as integers, the dividend shifted left by
# the difference of the exponents a chunk at a time, the remainder taken after each chunk.
_FMOD = """\
define internal {t} @{name}({t} %x, {t} %y) #0 {{
entry:
  %xb = bitcast {t} %x to {w}
  %yb = bitcast {t} %y to {w}
  %sign = and {w} %xb, {signbit}
  %xa = and {w} %xb, {magnitude}
  %ya = and {w} %yb, {magnitude}
  ; y is 0 or NaN, x is infinite or NaN: NaN
  %y0 = icmp eq {w} %ya, 0
  %yn = icmp ugt {w} %ya, {inf}
  %xi = icmp uge {w} %xa, {inf}
  %b1 = or i1 %y0, %yn
  %bad = or i1 %b1, %xi
  br i1 %bad, label %nan, label %finite
nan:
  ret {t} 0x7FF8000000000000
finite:
  %less = icmp ult {w} %xa, %ya
  br i1 %less, label %same, label %split
same:
  ret {t} %x
split:
  %xe0 = lshr {w} %xa, {mantissa}
  %ye0 = lshr {w} %ya, {mantissa}
  %xm0 = and {w} %xa, {low}
  %ym0 = and {w} %ya, {low}
  %xn = icmp ne {w} %xe0, 0
  %yn2 = icmp ne {w} %ye0, 0
  %xo = select i1 %xn, {w} {one}, {w} 0
  %yo = select i1 %yn2, {w} {one}, {w} 0
  %xm1 = or {w} %xm0, %xo
  %ym1 = or {w} %ym0, %yo
  %xe = call {w} @llvm.umax.{w}({w} %xe0, {w} 1)
  %ye = call {w} @llvm.umax.{w}({w} %ye0, {w} 1)
  %gap0 = sub {w} %xe, %ye
  %xm = {widen_x}
  %ym = {widen_y}
  %gap = {widen_gap}
  %r0 = urem {v} %xm, %ym
  br label %loop
loop:
  %r = phi {v} [ %r0, %split ], [ %next, %loop ]
  %left = phi {v} [ %gap, %split ], [ %rest, %loop ]
  %step = call {v} @llvm.umin.{v}({v} %left, {v} {chunk})
  %moved = shl {v} %r, %step
  %next = urem {v} %moved, %ym
  %rest = sub {v} %left, %step
  %done = icmp eq {v} %rest, 0
  br i1 %done, label %pack, label %loop
pack:
  %m = {shorten}
  %zero = icmp eq {w} %m, 0
  br i1 %zero, label %nothing, label %scale
nothing:
  %z = bitcast {w} %sign to {t}
  ret {t} %z
scale:
  ; the leading bit moves to its place, unless the exponent ends first
  %lead = call {w} @llvm.ctlz.{w}({w} %m, i1 false)
  %want = sub {w} %lead, {exponent_bits}
  %room = sub {w} %ye, 1
  %shift = call {w} @llvm.umin.{w}({w} %want, {w} %room)
  %mm = shl {w} %m, %shift
  %e = sub {w} %ye, %shift
  %hidden = and {w} %mm, {one}
  %denormal = icmp eq {w} %hidden, 0
  %ee = select i1 %denormal, {w} 0, {w} %e
  %field = shl {w} %ee, {mantissa}
  %frac = and {w} %mm, {low}
  %b2 = or {w} %field, %frac
  %b3 = or {w} %b2, %sign
  %f = bitcast {w} %b3 to {t}
  ret {t} %f
}}
"""


def _resize(value: str, bits: int, wanted: int) -> str:
    """The instruction that gives an unsigned number another width."""
    if bits == wanted:
        return f"or i{bits} {value}, 0"
    return f"{'zext' if bits < wanted else 'trunc'} i{bits} {value} to i{wanted}"


def fmod_function(unit: Unit, kind: str) -> str:
    """The function that computes C's fmod on `float` or `double`."""
    bits, mantissa = (32, 23) if kind == "float" else (64, 52)
    name = f"__tvm_fmod_{bits}"
    word = f"i{bits}"
    # 24 bits and 40 more fill a word; of doubles 53 bits leave 11
    unit.declare(f"llvm.umax.{word}", f"{word} @({word}, {word})")
    unit.declare(f"llvm.umin.{word}", f"{word} @({word}, {word})")
    unit.declare("llvm.umin.i64", "i64 @(i64, i64)")
    unit.declare(f"llvm.ctlz.{word}", f"{word} @({word}, i1 immarg)")
    return unit.helper(
        name,
        _FMOD.format(
            t=kind,
            w=word,
            v="i64",
            name=name,
            mantissa=mantissa,
            exponent_bits=bits - 1 - mantissa,
            signbit=1 << (bits - 1),
            magnitude=(1 << (bits - 1)) - 1,
            inf=((1 << (bits - 1 - mantissa)) - 1) << mantissa,
            low=(1 << mantissa) - 1,
            one=1 << mantissa,
            chunk=40 if bits == 32 else 11,
            widen_x=_resize("%xm1", bits, 64),
            widen_y=_resize("%ym1", bits, 64),
            widen_gap=_resize("%gap0", bits, 64),
            shorten=_resize("%next", 64, bits),
        ),
    )
