"""What differs between C and the languages that grew out of it, as one table of attributes.

The rules of the generator ask the table and never which language it is. A new language is a new
table.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import info


class Dialect:
    """A language of the C family.

    Attributes
    ----------
    name : str
        The target's name, for messages.
    types : dict of str to str
        Names of the scalar types. Narrow floats are carried as their bits.
    prelude : str
        What every file begins with.
    helper : str
        What stands before a helper function.
    private : str
        What stands before a function that only this file calls.
    restrict : str
        Marks a pointer whose memory no other pointer reaches; "" if there is no such word.
    space : dict of str to str
        Words that say in which memory a pointer's data lives, by storage scope.
    real : dict of str to (str, str)
        Functions that are correctly rounded, on float and on double.
    int64_suffix : str
        How an integer literal of 64 bits ends.
    copy_bits : str
        Statement that copies the bytes of {source} into {target}.
    reserved : frozenset of str
        Words that cannot name a variable.
    """

    __slots__ = ("copy_bits", "helper", "int64_suffix", "name", "prelude", "private", "real",
                 "reserved", "restrict", "space", "types")  # fmt: skip

    def __init__(
        self,
        *,
        name: str,
        types: dict[str, str],
        prelude: str,
        helper: str,
        private: str,
        restrict: str,
        space: dict[str, str],
        real: dict[str, tuple[str, str]],
        int64_suffix: str,
        copy_bits: str,
        reserved: frozenset[str],
    ) -> None:
        self.name = name
        self.types = types
        self.prelude = prelude
        self.helper = helper
        self.private = private
        self.restrict = restrict
        self.space = space
        self.real = real
        self.int64_suffix = int64_suffix
        self.copy_bits = copy_bits
        self.reserved = reserved

    def register(self, dtype: str) -> str:
        """Type of a variable that holds one lane of this dtype."""
        return self._name(dtype, False)

    def memory(self, dtype: str) -> str:
        """Type of one lane in memory; packed integers are bytes."""
        return self._name(dtype, True)

    def _name(self, dtype: str, in_memory: bool) -> str:
        found = info(dtype)
        if found.is_bool:
            return self.types["uint8" if in_memory else "bool"]
        if found.is_int:
            if in_memory and found.bits < 8:
                return self.types["uint8"]
            return self.types[f"{found.base}{container_bits(found.bits)}"]
        name = self.types.get(found.scalar)
        if name is None:
            raise error.TypeError_(f"target {self.name}: there is no type for dtype {dtype!r}")
        return name


def container_bits(bits: int) -> int:
    """Width of the smallest C integer with at least so many bits."""
    for width in (8, 16, 32):
        if bits <= width:
            return width
    return 64


_C_WORDS = """\
auto bool break case char const continue default do double else enum extern false float for goto if
inline int long register restrict return short signed sizeof static struct switch true typedef
union unsigned void volatile while _Bool _Complex _Imaginary asm main errno stdin stdout stderr NULL
INFINITY NAN memcpy memset memmove y0 y1 yn j0 j1 jn gamma signgam
slots lane task_id env closure status args type_codes num_args ret_value ret_type_code resource
abs acos asin atan atan2 ceil cos cosh exp exp2 fabs floor fma fmod hypot ldexp log log2 log10 pow
round sin sinh sqrt tan tanh trunc erf linux unix i386 div index
"""

C99 = Dialect(
    name="c",
    types={
        **{f"int{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
        **{f"uint{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
        "bool": "bool",
        "float16": "uint16_t",
        "bfloat16": "uint16_t",
        "e4m3_float8": "uint8_t",
        "e5m2_float8": "uint8_t",
        "float32": "float",
        "float64": "double",
        "handle": "void*",
    },
    prelude="""\
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "floats must be computed in their own type: on 32-bit x86, -msse2 -mfpmath=sse"
#endif
/* a * b + c is rounded twice; GCC has no such pragma and obeys -std=c99 or -ffp-contract=off */
#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#endif
#if defined(TVM_EXPORT_BODIES)
#define TVM_BODY
#else
#define TVM_BODY static
#endif
#if defined(__GNUC__)
#define TVM_WEAK __attribute__((weak))
#else
#define TVM_WEAK
#endif
/* a function's name where it is no word of C; GCC hands it to the assembler as it is */
#if defined(__clang__)
#define TVM_SYMBOL(name, quoted) __asm__(name)
#elif defined(__GNUC__)
#define TVM_SYMBOL(name, quoted) __asm__(quoted)
#else
#define TVM_SYMBOL(name, quoted)
#endif
""",
    helper="static inline ",
    private="static ",
    restrict="restrict",
    space={},
    real={
        "sqrt": ("sqrtf", "sqrt"),
        "fabs": ("fabsf", "fabs"),
        "copysign": ("copysignf", "copysign"),
        "fma": ("fmaf", "fma"),
    },
    int64_suffix="LL",
    copy_bits="memcpy(&{target}, &{source}, sizeof({target}));",
    reserved=frozenset(_C_WORDS.split()),
)
