"""Names of functions in C."""

from __future__ import annotations

from .dialect import Dialect

# Functions that C compilers know without being told; a function of that name but another type
# would be taken for theirs.
_LIBRARY_WORDS = """\
main abort abs acos acosh alloca asin asinh atan atan2 atanh bcmp bcopy bzero cabs cacos cacosh
calloc carg casin casinh catan catanh cbrt ccos ccosh ceil cexp cimag clog conj copysign cos cosh
cpow cproj creal csin csinh csqrt ctan ctanh drem erf erfc exit exp exp10 exp2 expm1 fabs fdim ffs
floor fma fmax fmin fmod fprintf fputc fputs free frexp fscanf fwrite gamma gammaf hypot ilogb
imaxabs index isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace
isupper isxdigit j0 j1 jn labs ldexp lgamma llabs llrint llround log log10 log1p log2 logb lrint
lround malloc memchr memcmp memcpy memmove memset mempcpy modf nan nearbyint nextafter nexttoward
pow pow10 printf putc putchar puts realloc remainder remquo rindex rint round roundeven scalb
scalbln scalbn scanf signbit significand sin sincos sinh snprintf sprintf sqrt sscanf stpcpy
strcasecmp strcat strchr strcmp strcpy strcspn strdup strlen strncasecmp strncat strncmp strncpy
strndup strpbrk strrchr strspn strstr tan tanh tgamma tolower toupper trunc vfprintf vprintf vscanf
vsnprintf vsprintf y0 y1 yn isfinite isinf isnan isnormal
"""
_LIBRARY = frozenset(_LIBRARY_WORDS.split())


def is_plain(name: str, dialect: Dialect) -> bool:
    """Whether a C function can have this name as it is."""
    if not name.isascii() or not name.isidentifier() or name in dialect.reserved:
        return False
    if name in _LIBRARY or (name[:-1] in _LIBRARY and name[-1] in "fl"):
        return False
    return not name.startswith(("__", "tvm_", "TVM"))


def word_of(name: str) -> str:
    """A C identifier that resembles a name."""
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return word if word and not word[0].isdigit() else f"f_{word}"
