"""Tolerance: how far two tensors may be apart when only rounding differs.

A sum of n numbers that is computed in another order differs by about sqrt(n) roundings (N. J.
Higham and T. Mary, "A new approach to probabilistic rounding error analysis", 2019), and what is
computed from it inherits that. So each tensor has a variance, in squares of roundings by its own
scale: that of what it is computed from, and what its own op adds. Where an op subtracts numbers
that are nearly equal, or leaves out the largest, the variance of the result grows as its scale
shrinks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.graph import CANCELLING, CONTRACTIONS, LIMITING, SUMS_OF_LAST_AXIS

EPSILON = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    # Integers with a scale: the step between two, of the largest that they represent.
    "qint8": 2.0**-7,
    "quint8": 2.0**-7,
    "qint16": 2.0**-15,
}
"""The distance of 1 to the next number of a dtype. Others are exact."""

SAFETY = 2.0  # standard deviations by the largest element, which is 3 to 5 times the usual one
LEAST_TERMS = 4.0  # an op without a sum, such as Tanh, is right to about two roundings
CALLED_SUM = 1024  # terms of the sums that a called function hides: a layer of so many units
LARGEST = 0.1  # of the scale: what differs by more is never called rounding


def epsilon(*dtypes: str) -> float:
    """The coarsest of the roundings of some dtypes; 0 where all are exact."""
    return max((EPSILON.get(dtype, 0.0) for dtype in dtypes), default=0.0)


def terms(op_type: str, inputs: Sequence[tuple[int, ...]], output: tuple[int, ...]) -> float:
    """How many numbers are summed for one element of an output, as far as shapes are known."""
    sizes = sorted((math.prod(shape) for shape in inputs), reverse=True)
    size = max(1, math.prod(output))
    if op_type in CONTRACTIONS and len(sizes) > 1:
        return max(1.0, math.sqrt(sizes[0] * sizes[1] / size), sizes[0] / size)
    if op_type in SUMS_OF_LAST_AXIS:
        return float(max(1, *output[-1:]))
    return max(1.0, sizes[0] / size) if sizes else 1.0


def growth(op_type: str, inputs: Iterable[float], output: float) -> float:
    """How much larger an error is by the scale of the output than by those of the inputs."""
    if op_type not in CANCELLING | LIMITING or not output:
        return 1.0
    return max(1.0, max(inputs, default=0.0) / output)


@dataclass(frozen=True)
class Tolerance:
    """What counts as equal: rounding, or what is given.

    Attributes:
        by_dtype: {dtype: the largest difference by the scale of a tensor}.
        every: The same for all dtypes; None for none.
    """

    by_dtype: Mapping[str, float]
    every: float | None = None

    @classmethod
    def of(cls, tolerance: object) -> Tolerance:
        """The tolerance that a caller gives: None, a number, or {dtype: number}. Raises
        InvalidArgument for anything else.
        """
        if tolerance is None:
            return cls({})
        if isinstance(tolerance, Mapping):
            return cls({_dtype_name(dtype): _number(value) for dtype, value in tolerance.items()})
        return cls({}, _number(tolerance))

    def limit(self, dtypes: tuple[str, str], variance: float) -> float:
        """The largest difference of two tensors of these dtypes, by their scale, that counts as
        equal; the variance is in squares of roundings by the scale, as the module says.
        """
        if self.every is not None:
            return self.every
        limits = [self.by_dtype[dtype] for dtype in dtypes if dtype in self.by_dtype]
        if limits:
            return max(limits)
        return min(LARGEST, SAFETY * math.sqrt(variance)) if epsilon(*dtypes) else 0.0


def _dtype_name(dtype: object) -> str:
    return str(getattr(dtype, "name", dtype))


def _number(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # what is no number is refused below
    except (TypeError, ValueError):
        number = math.nan
    if not number >= 0 or isinstance(value, str | bool):
        raise InvalidArgument(
            "tolerance",
            f"tolerance: {value!r} is not a number of at least 0; give one, such as 1e-4, or one "
            "for each dtype: {'float32': 1e-4}.",
        )
    return number
