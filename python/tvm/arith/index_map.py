"""Maps from indices to indices, which may be turned round."""

from __future__ import annotations

from tvm import error, tir
from tvm.ir.base import Node
from tvm.ir.expr import Range, as_expr
from tvm.ir.structural import structural_equal
from tvm.tir.stmt_functor import StmtExprMutator, substitute

from .analyzer import Analyzer
from .iter_affine_map import (
    IterMapLevel,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Substitution(StmtExprMutator):
    """Puts values in the place of variables; constants take the type of the values."""

    def __init__(self, values: dict[Any, Any], dtype: str | None) -> None:
        self._values = values
        self._dtype = dtype
        self._own = next(iter(values)).dtype if values else None

    def visit_var_(self, op: Any) -> Any:
        return self._values.get(op, op)

    visit_size_var_ = visit_var_

    def visit_int_imm_(self, op: Any) -> Any:
        if self._dtype is None or op.dtype != self._own or op.dtype == self._dtype:
            return op
        return tir.IntImm(self._dtype, op.value)


class IndexMap(Node):
    """A map from some indices to others.

    Parameters
    ----------
    initial_indices : list of Var
        What stands for the given indices.
    final_indices : list of PrimExpr
        The resulting indices in terms of them.
    inverse_index_map : IndexMap or function, optional
        The way back, where it cannot be found.

    Examples
    --------
    >>> import tvm
    >>> tile = tvm.tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    >>> tile.map_indices([9]), tile.map_shape([16])
    ([2, 1], [4, 4])
    >>> tile.inverse([16]).map_indices([2, 1])
    [9]
    """

    __slots__ = ("final_indices", "initial_indices", "inverse_index_map")
    type_key = "tir.IndexMap"
    FIELDS = "initial_indices:ds final_indices:r inverse_index_map:r"

    # Stands between indices that are stored in different dimensions.
    AXIS_SEPARATOR = "axis_separator"

    def __init__(
        self, initial_indices: Any, final_indices: Any, inverse_index_map: Any = None
    ) -> None:
        self.initial_indices = [getattr(item, "var", item) for item in initial_indices]
        self.final_indices = [as_expr(item) for item in final_indices]
        if callable(inverse_index_map) and not isinstance(inverse_index_map, IndexMap):
            dtype = self.initial_indices[0].dtype if self.initial_indices else "int64"
            inverse_index_map = IndexMap.from_func(
                inverse_index_map, len(self.final_indices), index_dtype=dtype
            )
        self.inverse_index_map: IndexMap | None = inverse_index_map

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """A map by a function of the indices.

        Parameters
        ----------
        mapping_function : function
            Of the given indices to the list of the resulting ones.
        ndim : int, optional
            How many indices it takes; needed when it takes any number.
        inverse_index_map : IndexMap or function, optional
            The way back, where it cannot be found.
        index_dtype : str
            The type of the indices.

        Raises
        ------
        ValueError
            When the number of indices is not known, or the function gives axis separators.
        """
        made, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise error.ValueError_(
                "IndexMap.from_func: the function gives axis separators; use "
                "from_func_with_separators"
            )
        return made

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """As `from_func`; the function may put `IndexMap.AXIS_SEPARATOR` between indices.

        Returns
        -------
        IndexMap, list of int
            The map, and the places of the separators.
        """
        code = mapping_function.__code__
        names = list(code.co_varnames[: code.co_argcount])
        if names and getattr(mapping_function, "__self__", None) is not None:
            names = names[1:]
        if code.co_flags & 0x04:
            # Takes *args.
            if ndim is None:
                raise error.ValueError_(
                    "IndexMap.from_func: ndim is needed for a function of any number of indices"
                )
            star = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
            names += [f"{star}_{number}" for number in range(ndim - len(names))]
        elif ndim is not None and ndim != len(names):
            raise error.ValueError_(
                f"IndexMap.from_func: the function takes {len(names)} indices, but ndim is {ndim}"
            )
        given = [tir.Var(name, index_dtype) for name in names]
        result = mapping_function(*given)
        indices: list[Any] = []
        separators: list[int] = []
        for item in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(item, str) and item == IndexMap.AXIS_SEPARATOR:
                separators.append(len(indices))
            elif isinstance(item, (tir.PrimExpr, int, tir.IterVar)):
                indices.append(tir.const(item, index_dtype) if isinstance(item, int) else item)
            else:
                raise error.TypeError_(
                    "IndexMap.from_func: expected expressions or IndexMap.AXIS_SEPARATOR as "
                    f"results, but got {type(item).__name__}"
                )
        return IndexMap(given, indices, inverse_index_map), separators

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Whether both maps give the same for all indices."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        if len(self.final_indices) != len(other_map.final_indices):
            return False
        analyzer = Analyzer()
        mapped = other_map.map_indices(self.initial_indices)
        return all(
            analyzer.can_prove_equal(mine, other) or structural_equal(mine, other)
            for mine, other in zip(self.final_indices, mapped)
        )

    def _check(self, what: str, values: Any) -> list[Any]:
        made = [as_expr(item) for item in values]
        if len(made) != len(self.initial_indices):
            raise error.ValueError_(
                f"IndexMap: the map takes {len(self.initial_indices)} indices, but the {what} has "
                f"{len(made)}"
            )
        return made

    def map_indices(self, indices: Any) -> list[Any]:
        """The resulting indices for given ones."""
        given = self._check("index", indices)
        dtypes = {item.dtype for item in given if not isinstance(item, tir.IntImm)}
        if len(dtypes) > 1:
            raise error.TypeError_(f"IndexMap: indices of different dtypes, {sorted(dtypes)}")
        dtype = dtypes.pop() if dtypes else None
        values = {
            var: tir.cast(item, dtype or var.dtype) if isinstance(item, tir.IntImm) else item
            for var, item in zip(self.initial_indices, given)
        }
        mapped = _Substitution(values, dtype)
        analyzer = Analyzer()
        return [analyzer.simplify(mapped(item)) for item in self.final_indices]

    def _ranges(self, shape: Any) -> dict[Any, Range]:
        sizes = []
        for var, item in zip(self.initial_indices, self._check("shape", shape)):
            if isinstance(item, Range):
                sizes.append(item)
            else:
                size = tir.cast(item, var.dtype) if isinstance(item, tir.IntImm) else item
                sizes.append(Range(tir.const(0, size.dtype), size))
        return dict(zip(self.initial_indices, sizes))

    def map_shape(self, shape: Any) -> list[Any]:
        """The shape that holds all resulting indices for those of a shape."""
        ranges = self._ranges(shape)
        found = detect_iter_map(self.final_indices, ranges, True, IterMapLevel.NoCheck)
        analyzer = Analyzer()
        for var, dom in ranges.items():
            analyzer.bind(var, dom)
        out = []
        for number, item in enumerate(self.final_indices):
            if found.indices:
                made = found.indices[number]
                if not made.args:
                    out.append(analyzer.simplify(made.base + 1))
                    continue
                (part,) = made.args
                last = made.base + part.scale * (part.extent - 1)
                if analyzer.can_prove(part.scale > 0):
                    out.append(analyzer.simplify(last + 1))
                    continue
            limit = analyzer.const_int_bound(item).max_value
            if limit >= Analyzer().const_int_bound(tir.Var("any", "int64")).max_value:
                raise error.ValueError_(f"IndexMap: no bound of the index {item} is known")
            out.append(tir.const(limit + 1, item.dtype))
        return out

    def map_ndarray(self, arr_src: Any) -> Any:
        """An array with its elements moved to the resulting indices.

        Raises
        ------
        ValueError
            When the resulting indices leave gaps.
        """
        import numpy as np

        from tvm.runtime import ndarray
        from tvm.tir.interpreter import evaluate

        source = arr_src.numpy()
        shape = [int(item) for item in self.map_shape(source.shape)]
        if int(np.prod(shape)) != source.size:
            raise error.ValueError_(
                f"IndexMap: an array of shape {source.shape} does not fill the shape {shape}"
            )
        result = np.empty(shape, source.dtype)
        for index in np.ndindex(*source.shape):
            values = dict(zip(self.initial_indices, index))
            result[tuple(evaluate(item, values) for item in self.final_indices)] = source[index]
        return ndarray.array(result, arr_src.device)

    def inverse(self, shape: Any) -> IndexMap:
        """The way back for the indices of a shape.

        Raises
        ------
        ValueError
            When the map cuts iterators unevenly, or leaves a part of one out.
        """
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        return self._turned(shape, IterMapLevel.Bijective)[0]

    def non_surjective_inverse(self, shape: Any) -> tuple[IndexMap, Any]:
        """The way back for the indices of a shape, and which results have none.

        Returns
        -------
        IndexMap, PrimExpr
            The way back, and a condition on its indices that holds where none of the given indices
            leads.

        Raises
        ------
        ValueError
            When the map cuts iterators unevenly, or leads two indices to one place.
        """
        if self.inverse_index_map is not None:
            back = self.inverse_index_map
            analyzer = Analyzer()
            outside: Any = tir.const(False)
            for value, dom in zip(back.final_indices, self._ranges(shape).values()):
                outside = tir.any(outside, value < dom.min, value >= dom.min + dom.extent)
            for var, size in zip(back.initial_indices, self.map_shape(shape)):
                analyzer.bind(var, Range(tir.const(0, size.dtype), size))
            return back, analyzer.simplify(outside)
        back, outside = self._turned(shape, IterMapLevel.NoCheck)
        self._check_return(back, shape)
        return back, outside

    def _check_return(self, back: IndexMap, shape: Any) -> None:
        """The way back must lead to where one came from: `i // 2` loses what is odd."""
        ranges = self._ranges(shape)
        analyzer = Analyzer()
        for var, dom in ranges.items():
            analyzer.bind(var, dom)
        for var, value in zip(self.initial_indices, back.map_indices(self.final_indices)):
            if not analyzer.can_prove_equal(iter_map_simplify([value], ranges)[0], var):
                raise error.ValueError_(
                    f"IndexMap: {self} has no inverse: several {var.name} lead to one place, from "
                    f"which the way back is {analyzer.simplify(value)}"
                )

    def _turned(self, shape: Any, level: int) -> tuple[IndexMap, Any]:
        ranges = self._ranges(shape)
        found = detect_iter_map(self.final_indices, ranges, True, level, False)
        if not found.indices and self.final_indices:
            raise error.ValueError_(f"IndexMap: {self} has no inverse: {'; '.join(found.errors)}")
        names = [tir.Var(f"axis{number}", item.dtype) for number, item in enumerate(found.indices)]
        values = inverse_affine_iter_map(found.indices, names)
        analyzer = Analyzer()
        # Indices that no padded iterator leads to either: before the base, and between steps.
        beside: Any = tir.const(False)
        for name, item in zip(names, found.indices):
            last, low = item.base, item.base
            if item.args:
                (part,) = item.args
                reach = part.scale * (part.extent - 1)
                if analyzer.can_prove(part.scale > 0):
                    last = last + reach
                else:
                    low = low + reach
                if analyzer.can_prove(part.extent > 1):
                    between = tir.floormod(name - low, tir.op.max(part.scale, 0 - part.scale))
                    beside = tir.any(beside, analyzer.simplify(tir.NE(between, 0)))
            if analyzer.can_prove(low >= 1):
                beside = tir.any(beside, name < low)
                low = tir.const(0, name.dtype)
            analyzer.bind(name, Range(low, last + 1))
        results = []
        for var in self.initial_indices:
            if var not in values:
                raise error.ValueError_(f"IndexMap: {self} does not depend on {var.name}")
            results.append(analyzer.simplify(values[var]))
        padding = tir.any(beside, substitute(found.padding_predicate, values))
        padding = analyzer.simplify(padding)
        return IndexMap(names, results), padding

    def __str__(self) -> str:
        given = ", ".join([item.name for item in self.initial_indices])
        made = ", ".join([str(item) for item in self.final_indices])
        return (
            f"lambda {given}: ({made},)"
            if len(self.final_indices) == 1
            else (f"lambda {given}: ({made})")
        )
