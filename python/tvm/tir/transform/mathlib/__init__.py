"""Math functions as straight-line expressions: polynomials, bit operations, selections.

Every backend computes the same bits from them. `builder` makes expressions in which a value that is
used more than once is bound by a `Let`; `float32` and `float64` hold the functions.
"""
