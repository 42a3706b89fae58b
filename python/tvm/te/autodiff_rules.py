"""Derivatives of expressions: how a change of a value comes from changes of what it is made of.

Each rule takes the node and the derivative of the result with respect to it, and gives the
derivatives with respect to its operands. The formulas are those of any calculus text.
"""

from __future__ import annotations

import math

from tvm import tir
from tvm.error import NotImplementedError_
from tvm.ir import dtype as _dtype
from tvm.ir.structural import exactly_equal
from tvm.tir import PrimExpr, ProducerLoad, stmt_functor
from tvm.tir.stmt_functor import StmtExprMutator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # conditions under which a term counts (and may be evaluated), and the term
    Guards = tuple[PrimExpr, ...]
    Terms = list[tuple[Guards, Any]]


def _c(value: float, like: Any) -> Any:
    return tir.const(value, like.dtype)


def _one_minus_square(x: Any) -> Any:
    return _c(1, x) - x * x


def _sum_of_squares(x: Any, y: Any) -> Any:
    return x * x + y * y


def _of_exponent(node: Any, g: Any, base: Any) -> Any:
    zero = _c(0, node)
    return tir.if_then_else(base > zero, g * node * tir.log(base), zero)


_LN2, _LN10, _ERF = math.log(2.0), math.log(10.0), 2.0 / math.sqrt(math.pi)

# name -> derivatives with respect to each argument, given the node, g and the arguments
CALLS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "exp": lambda n, g, x: (g * n,),
    "exp2": lambda n, g, x: (g * n * _c(_LN2, n),),
    "exp10": lambda n, g, x: (g * n * _c(_LN10, n),),
    "log": lambda n, g, x: (g / x,),
    "log2": lambda n, g, x: (g / (x * _c(_LN2, n)),),
    "log10": lambda n, g, x: (g / (x * _c(_LN10, n)),),
    "log1p": lambda n, g, x: (g / (_c(1, n) + x),),
    "sqrt": lambda n, g, x: (g / (_c(2, n) * n),),
    "rsqrt": lambda n, g, x: (_c(-0.5, n) * g * n / x,),
    "sin": lambda n, g, x: (g * tir.cos(x),),
    "cos": lambda n, g, x: (-(g * tir.sin(x)),),
    "tan": lambda n, g, x: (g * (_c(1, n) + n * n),),
    "sinh": lambda n, g, x: (g * tir.cosh(x),),
    "cosh": lambda n, g, x: (g * tir.sinh(x),),
    "tanh": lambda n, g, x: (g * _one_minus_square(n),),
    "asin": lambda n, g, x: (g / tir.sqrt(_one_minus_square(x)),),
    "acos": lambda n, g, x: (-(g / tir.sqrt(_one_minus_square(x))),),
    "atan": lambda n, g, x: (g / (_c(1, n) + x * x),),
    "asinh": lambda n, g, x: (g / tir.sqrt(_c(1, n) + x * x),),
    "acosh": lambda n, g, x: (g / (tir.sqrt(x - _c(1, n)) * tir.sqrt(x + _c(1, n))),),
    "atanh": lambda n, g, x: (g / _one_minus_square(x),),
    "sigmoid": lambda n, g, x: (g * n * (_c(1, n) - n),),
    "erf": lambda n, g, x: (g * _c(_ERF, n) * tir.exp(-(x * x)),),
    "pow": lambda n, g, x, y: (g * y * tir.power(x, y - _c(1, n)), _of_exponent(n, g, x)),
    "hypot": lambda n, g, x, y: (g * x / n, g * y / n),
    "atan2": lambda n, g, x, y: (
        g * y / _sum_of_squares(x, y),
        -(g * x / _sum_of_squares(x, y)),
    ),
    "fmod": lambda n, g, x, y: (g, -(g * tir.trunc(x / y))),
    "copysign": lambda n, g, x, y: (
        g * tir.copysign(_c(1, n), x) * tir.copysign(_c(1, n), y),
        None,
    ),
    "fabs": lambda n, g, x: (tir.Select(x >= _c(0, n), g, -g),),
    "ldexp": lambda n, g, x, y: (tir.ldexp(g, y), None),
    "fma": lambda n, g, x, y, z: (g * y, g * x, g),
    "nextafter": lambda n, g, x, y: (g, None),
    "likely": lambda n, g, x: (None,),
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "nearbyint"), lambda n, g, x: (None,)),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), lambda n, g, x: (None,)),
}


def _mul(node: Any, g: Any) -> tuple[Any, Any]:
    return g * node.b, g * node.a


def _div(node: Any, g: Any) -> tuple[Any, Any]:
    return g / node.b, -(g * node.a / (node.b * node.b))


# class -> derivatives with respect to a and b
BINARY: dict[type, Callable[[Any, Any], tuple[Any, Any]]] = {
    tir.Add: lambda node, g: (g, g),
    tir.Sub: lambda node, g: (g, -g),
    tir.Mul: _mul,
    tir.Div: _div,
}


class _InlineLets(StmtExprMutator):
    """Names of values replaced by the values; what is shared stays shared."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}

    def visit_let_(self, op: Any) -> Any:
        self._values[op.var] = self.visit(op.value)
        return self.visit(op.body)

    def visit_var_(self, op: Any) -> Any:
        return self._values.get(op, op)


def _times(guards: Guards, cond: Any) -> Guards:
    if any(cond is other or exactly_equal(cond, other) for other in guards):
        return guards
    return (*guards, cond)


def derivatives(
    expr: Any, g: Any, guards: Guards, wanted: Callable[[ProducerLoad], bool], where: str
) -> list[tuple[ProducerLoad, Terms]]:
    """The derivatives of an expression with respect to the elements that it reads.

    Parameters
    ----------
    expr : PrimExpr
        A float expression.
    g : PrimExpr
        The factor of its own change.
    guards : tuple of PrimExpr
        Conditions that hold wherever it counts.
    wanted : function of ProducerLoad to bool
        Which reads are asked for.
    where : str
        For messages.

    Returns
    -------
    list of (ProducerLoad, terms)
        Each element once, with the terms whose sum is the derivative.
    """
    expr = _InlineLets()(expr)
    order: list[Any] = []
    stmt_functor.post_order_visit(expr, order.append)
    matters: set[int] = set()
    for node in order:
        if isinstance(node, ProducerLoad):
            if wanted(node) and _dtype.info(node.dtype).is_float:
                matters.add(id(node))
        elif any(id(child) in matters for child in _children(node)):
            matters.add(id(node))
    flow: dict[int, Terms] = {id(expr): [(guards, g)]}
    found: list[tuple[ProducerLoad, Terms]] = []

    def give(child: Any, terms: Terms) -> None:
        if id(child) not in matters:
            return
        own = flow.setdefault(id(child), [])
        for conds, value in terms:
            for position, (other, total) in enumerate(own):
                if len(other) == len(conds) and all(a is b for a, b in zip(other, conds)):
                    own[position] = (other, total + value)
                    break
            else:
                own.append((conds, value))

    for node in reversed(order):
        terms = flow.pop(id(node), None)
        if terms is None or id(node) not in matters:
            continue
        if isinstance(node, ProducerLoad):
            for load, known in found:
                if load.producer == node.producer and exactly_equal(load.indices, node.indices):
                    known += terms
                    break
            else:
                found.append((node, list(terms)))
            continue
        for child, more in _step(node, terms, where):
            give(child, more)
    return found


def _children(node: Any) -> list[Any]:
    """The operands through which a change goes on; conditions and indices are none."""
    if isinstance(node, tir.Call):
        return list(node.args)
    if isinstance(node, tir.Select):
        return [node.true_value, node.false_value]
    if isinstance(node, tir.BinaryOpExpr):
        return [node.a, node.b]
    if isinstance(node, tir.Cast):
        return [node.value]
    return []


def _step(node: Any, terms: Terms, where: str) -> list[tuple[Any, Terms]]:
    """From a node to its operands."""
    kind = type(node)
    rule = BINARY.get(kind)
    if rule is not None:
        pairs = [(conds, rule(node, g)) for conds, g in terms]
        return [
            (node.a, [(conds, values[0]) for conds, values in pairs]),
            (node.b, [(conds, values[1]) for conds, values in pairs]),
        ]
    if kind in (tir.Max, tir.Min):
        first = node.a >= node.b if kind is tir.Max else node.a <= node.b
        zero = _c(0, node)
        return [
            (node.a, [(conds, tir.Select(first, g, zero)) for conds, g in terms]),
            (node.b, [(conds, tir.Select(first, zero, g)) for conds, g in terms]),
        ]
    if kind is tir.Cast:
        back = node.value.dtype
        if not (_dtype.info(back).is_float and _dtype.info(node.dtype).is_float):
            return []
        return [(node.value, [(conds, tir.cast(g, back)) for conds, g in terms])]
    if kind is tir.Select:
        return _branches(node.condition, node.true_value, node.false_value, terms)
    if kind is tir.Call:
        name = getattr(node.op, "name", "").removeprefix("tir.")
        if name == "if_then_else":
            cond, yes, no = node.args
            return _branches(cond, yes, no, terms)
        call = CALLS.get(name)
        if call is not None:
            out: list[tuple[Any, Terms]] = [(arg, []) for arg in node.args]
            for conds, g in terms:
                for (_, more), value in zip(out, call(node, g, *node.args)):
                    if value is not None:
                        more.append((conds, value))
            return [(arg, more) for arg, more in out if more]
    raise NotImplementedError_(f"gradient: {where}: the derivative of this is not known: {node}")


def _branches(cond: Any, yes: Any, no: Any, terms: Terms) -> list[tuple[Any, Terms]]:
    other = tir.Not(cond)
    return [
        (yes, [(_times(conds, cond), g) for conds, g in terms]),
        (no, [(_times(conds, other), g) for conds, g in terms]),
    ]
