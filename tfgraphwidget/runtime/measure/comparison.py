"""Comparison: how far the outputs of two graphs are apart, in a few numbers each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.naming import count_text, known_instead
from tfgraphwidget.runtime.measure.probe import format_table

Array = np.ndarray


@dataclass(frozen=True)
class OutputDifference:
    """The difference of one output between two graphs. The first of each pair is of the graph
    before.

    Attributes:
        name: The name of the output.
        dtypes: Its dtypes.
        shapes: Its shapes.
        largest: The largest absolute difference of elements that are numbers in both; None if
            shapes or kinds differ, and for text and booleans.
        relative: The largest relative difference of these; None as above.
        differing: How many elements differ.
        nans: How many elements are NaN.
        steady: False if the graph before does not give the same values twice.
    """

    name: str
    dtypes: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    largest: float | None
    relative: float | None
    differing: int
    nans: tuple[int, int]
    steady: bool = True

    @property
    def same(self) -> bool:
        """Whether both are equal, element by element; NaN equals NaN here."""
        return (
            self.shapes[0] == self.shapes[1]
            and self.dtypes[0] == self.dtypes[1]
            and not self.differing
        )

    def row(self) -> tuple[str, ...]:
        """Return name, dtype, shape, largest difference, relative difference and notes, as text."""
        dtype, shape = (_both(*map(str, pair)) for pair in (self.dtypes, self.shapes))
        notes = [] if self.steady else ["random: it differs from run to run"]
        notes += [f"NaN {_both(*(f'{count:,}' for count in self.nans))}"] if any(self.nans) else []
        notes += (
            [f"{count_text(self.differing, 'element')} differ"]
            if self.differing and self.largest is None
            else []
        )
        largest = "equal" if self.same else "" if self.largest is None else f"{self.largest:.3g}"
        relative = "" if self.relative is None or self.same else f"{self.relative:.2g}"
        return self.name, dtype, shape, largest, relative, "; ".join(notes)


@dataclass(frozen=True, repr=False)
class Comparison:
    """The difference of each output; it prints as a table. `missing` are outputs that the graph
    before lacks.
    """

    outputs: tuple[OutputDifference, ...]
    missing: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> OutputDifference:
        by_name = {output.name: output for output in self.outputs}
        for full_name in (name, f"{name}:0"):
            if full_name in by_name:
                return by_name[full_name]
        raise UnknownName(f"{name!r} was not compared{known_instead(name, [*by_name], 'it has')}")

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def same(self) -> bool:
        """Whether all outputs are equal."""
        return all(output.same for output in self.outputs)

    @property
    def largest(self) -> float | None:
        """The largest difference of all outputs; None if one of them has none."""
        if any(output.largest is None and not output.same for output in self.outputs):
            return None
        return max((output.largest or 0.0 for output in self.outputs), default=0.0)

    def __repr__(self) -> str:
        head = ("output", "dtype", "shape", "max abs", "max rel", "")
        text = format_table([head, *(output.row() for output in self.outputs)])
        return text + "".join(f"\n{name}  was not there before" for name in self.missing)


def compare_outputs(
    names: Sequence[str],
    before: Callable[[], Sequence[Array]],
    after: Callable[[], Sequence[Array]],
) -> Comparison:
    """Compare the outputs of two runs. If they differ, the first is run again, to see whether it is
    steady.
    """
    one, other = before(), after()
    differences = [output_difference(*each) for each in zip(names, one, other, strict=True)]
    if all(output.same for output in differences):
        return Comparison(tuple(differences))
    again = before()
    steady = [
        output_difference(name, a, b).same for name, a, b in zip(names, one, again, strict=True)
    ]
    return Comparison(
        tuple(output_difference(*each) for each in zip(names, one, other, steady, strict=True))
    )


def output_difference(
    name: str, before: Array, after: Array, steady: bool = True
) -> OutputDifference:
    """Return the difference of two arrays.

    Args:
        steady: Whether the graph before gives the same values twice.
    """
    difference = partial(
        OutputDifference,
        name=name,
        dtypes=(_dtype(before), _dtype(after)),
        shapes=(before.shape, after.shape),
        nans=(_nans(before), _nans(after)),
        steady=steady,
    )
    if before.shape != after.shape or not (_is_number(before) and _is_number(after)):
        equal = before.shape == after.shape and np.asarray(before == after)
        differing = (
            int(np.size(equal) - np.count_nonzero(equal)) if before.shape == after.shape else 0
        )
        return difference(largest=None, relative=None, differing=differing)
    a, b = (x if x.dtype.kind == "c" else x.astype(np.float64) for x in (before, after))
    equal = (before == after) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        gap = np.where(equal, 0.0, np.abs(a - b))
        scale = np.maximum(np.abs(a), np.abs(b))
        relative = np.where(gap > 0, gap / scale, 0.0)
    numbers = ~(np.isnan(a) | np.isnan(b))
    return difference(
        largest=float(gap[numbers].max(initial=0.0)),
        relative=float(np.nan_to_num(relative[numbers], nan=1.0).max(initial=0.0)),
        differing=int(equal.size - np.count_nonzero(equal)),
    )


def _is_number(array: Array) -> bool:
    return array.dtype.kind in "fiuc" or array.dtype.type.__module__ == "ml_dtypes"


def _dtype(array: Array) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _nans(array: Array) -> int:
    if not _is_number(array):
        return 0
    return int(np.isnan(array if array.dtype.kind in "fc" else array.astype(np.float64)).sum())


def _both(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"
