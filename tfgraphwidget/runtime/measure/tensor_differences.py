"""How far two tensors are apart, in a few numbers.

Arrays are walked in blocks that stay in the processor's cache, so that tensors of any size are
compared at the speed of memory and without copies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfgraphwidget.naming import count_text
from tfgraphwidget.runtime.measure.probe import bars_text

Array = np.ndarray

BLOCK = 1 << 15  # elements that are compared at once: 128 KB of float32, two of which fit a cache
# Elements of float64 of which BLAS gives no product to threads: these wait for each.
ALONE = 1 << 13
# other, on a busy machine a hundred times as long as the product takes
BINS = 16  # of a histogram: both fit beside each other in a line
SAMPLE = 4_096  # elements that a histogram counts: its bars have 8 heights
LEAST_SQUARE = 1e-30  # of float32 numbers; of smaller ones some squares are 0
MASK_LEAST = 1e4  # the least magnitude of what may be a mask: BERT adds -10,000
MASK_GAP = 1e3  # a mask is so many times larger than all that is no mask
NEAR_MASK = 0.25  # of the largest magnitude: a mask to which a score was added is as large still

_INTEGER_OF: dict[str, type[np.signedinteger[Any]]] = {
    "float16": np.int16,
    "bfloat16": np.int16,
    "float32": np.int32,
    "float64": np.int64,
}
"""The integers that have as many bits as a floating-point dtype."""


@dataclass(frozen=True, repr=False)
class TensorDifference:
    """The difference of one tensor between two graphs. The first of each pair is of the graph
    before, or the other one.

    Attributes:
        name: The name of the tensor.
        dtypes: Its dtypes.
        shapes: Its shapes.
        largest: The largest absolute difference of elements that are numbers in both; None if
            shapes or kinds differ, and for text and booleans.
        relative: The largest relative difference of these, each by its own magnitude; None as
            above.
        differing: How many elements differ.
        nans: How many elements are NaN.
        steady: False if the graph before does not give the same values twice.
        other: The name of the tensor in the other graph.
        scaled: The largest difference by the scale of the tensor, which is its largest magnitude
            without masks; None as above.
        cosine: The cosine of the angle between both, as vectors; None as above, and where one is 0.
        ulps: The most floating-point numbers that lie between two elements; None for other dtypes,
            and for weights.
        norms: The Euclidean norms, of what is finite in both if the shapes are the same; None for
            text and booleans.
        scale: The largest finite magnitude in either.
        tolerance: The largest `scaled` that counts as equal.
        histograms: Of weights how many elements there are in each of `BINS` equal bins, which are
            the same for both; of at most `SAMPLE` finite elements of each, evenly spread. None for
            text, and where nothing is finite.
        range: The ends of the bins: the least and the most of these elements.
    """

    name: str
    dtypes: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    largest: float | None
    relative: float | None
    differing: int
    nans: tuple[int, int]
    steady: bool = True
    other: str = ""
    scaled: float | None = None
    cosine: float | None = None
    ulps: int | None = None
    norms: tuple[float, float] | None = None
    scale: float = 0.0
    tolerance: float = 0.0
    histograms: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    range: tuple[float, float] | None = None

    @property
    def same(self) -> bool:
        """Whether both are equal, element by element; NaN equals NaN here."""
        return (
            self.shapes[0] == self.shapes[1]
            and self.dtypes[0] == self.dtypes[1]
            and not self.differing
        )

    @property
    def differs(self) -> bool:
        """Whether they differ by more than the tolerance. Numbers of two dtypes may be equal."""
        if self.shapes[0] != self.shapes[1]:
            return True
        if self.scaled is None:
            return not self.same
        return self.scaled > self.tolerance

    @property
    def distance(self) -> float:
        """The largest absolute difference; of text and booleans 1.0 if any differ, and infinity
        where shapes or dtypes do, or only one element is NaN.
        """
        if self.shapes[0] != self.shapes[1] or self.dtypes[0] != self.dtypes[1]:
            return math.inf
        if self.largest is None:
            return float(self.differing > 0)
        return math.inf if self.scaled == math.inf else self.largest

    @property
    def excess(self) -> float:
        """How many times the tolerance the difference is; infinite where it cannot be a number."""
        if not self.differs:
            scaled = self.scaled or 0.0
            return scaled / self.tolerance if self.tolerance else 0.0
        if self.scaled is None or not self.tolerance:
            return math.inf
        return self.scaled / self.tolerance

    def row(self) -> tuple[str, ...]:
        """Return name, dtype, shape, largest difference, relative difference and notes, as text."""
        dtype, shape = (_both(*map(str, pair)) for pair in (self.dtypes, self.shapes))
        notes = [] if self.steady else ["random: it differs from run to run"]
        if any(self.nans):
            notes.append(f"NaN {_both(*(f'{count:,}' for count in self.nans))}")
        if self.differing and self.largest is None:
            notes.append(f"{count_text(self.differing, 'element')} differ")
        largest = relative = ""
        if self.same:
            largest = "equal"
        elif self.largest is not None:
            largest = f"{self.largest:.3g}"
        if self.relative is not None and not self.same:
            relative = f"{self.relative:.2g}"
        return self.name, dtype, shape, largest, relative, "; ".join(notes)

    def __repr__(self) -> str:
        name, dtype, shape, largest, relative, notes = self.row()
        numbers = f"max abs {largest}, max rel {relative}" if relative else largest
        return f"<{name}: {', '.join(filter(None, (f'{dtype} {shape}', numbers, notes)))}>"

    def weight_row(self) -> tuple[str, ...]:
        """The row of a weight: norm, cosine and histogram come before the notes."""
        norm = "" if self.norms is None else _both(*(f"{norm:.4g}" for norm in self.norms))
        cosine = "" if self.cosine is None or self.same else f"{self.cosine:.6g}"
        *numbers, notes = self.row()
        histogram = "" if self.bars is None else _both(*self.bars)
        return (*numbers, norm, cosine, histogram, notes)

    @property
    def bars(self) -> tuple[str, str] | None:
        """The histograms as lines of bars."""
        if self.histograms is None:
            return None
        return bars_text(self.histograms[0]), bars_text(self.histograms[1])


def tensor_difference(
    name: str,
    before: Array,
    after: Array,
    steady: bool = True,
    other: str = "",
    *,
    counts_ulps: bool = True,
) -> TensorDifference:
    """Return the difference of two arrays.

    Args:
        steady: Whether the graph before gives the same values twice.
        other: The name of the tensor in the other graph; "" if it is the same.
        counts_ulps: Whether the numbers between elements are counted, which takes as long as all
            else.
    """
    dtypes = _dtype(before), _dtype(after)
    base = TensorDifference(
        name, dtypes, (before.shape, after.shape), None, None, 0, (0, 0), steady, other or name
    )
    are_numbers = _is_number(before) and _is_number(after)
    if before.shape != after.shape:
        norms = (_norm(before), _norm(after)) if are_numbers else None
        return replace(base, nans=(_nans(before), _nans(after)), norms=norms)
    if not are_numbers:
        equal = np.asarray(before == after)
        differing = int(np.size(equal) - np.count_nonzero(equal))
        return replace(base, nans=(_nans(before), _nans(after)), differing=differing)
    has_ulps = counts_ulps and dtypes[0] == dtypes[1] and before.dtype.name in _INTEGER_OF
    totals = _Totals(has_ulps)
    a, b = np.ravel(before), np.ravel(after)
    for x, y in _blocks(a, b):
        totals.add(x, y)
    return replace(
        base,
        largest=totals.largest,
        relative=totals.relative,
        differing=totals.differing,
        nans=(totals.nans[0], totals.nans[1]),
        scaled=math.inf if totals.unpaired_nans else _by_scale(a, b, totals),
        cosine=totals.cosine,
        ulps=totals.ulps if has_ulps else None,
        norms=(math.sqrt(totals.squares[0]), math.sqrt(totals.squares[1])),
        scale=totals.scale,
    )


def weight_difference(name: str, before: Array, after: Array, other: str) -> TensorDifference:
    """Return the difference of two weights, with their histograms. Nothing has rounded them, so
    that no ULPs are counted.
    """
    difference = tensor_difference(name, before, after, other=other, counts_ulps=False)
    samples = _sample(before), _sample(after)
    both = np.concatenate(samples)
    if not both.size:
        return difference
    low, high = float(both.min()), float(both.max())
    shrink = 1.0 if math.isfinite(high - low) else 0.25  # at the ends of float64
    limits = low * shrink, (high if high > low else low + 1) * shrink
    counts = [np.histogram(each * shrink, BINS, limits)[0].tolist() for each in samples]
    return replace(difference, histograms=(tuple(counts[0]), tuple(counts[1])), range=(low, high))


def _sample(array: Array) -> Array:
    """Some finite elements, as float64; magnitudes of complex numbers, none of text."""
    if array.dtype.kind in "OSU":
        return np.zeros(0)
    flat = np.ravel(array)
    some = flat[:: -(-flat.size // SAMPLE) or 1]
    numbers = (np.abs(some) if some.dtype.kind == "c" else some).astype(np.float64)
    return numbers[np.isfinite(numbers)]


def _norm(array: Array) -> float:
    """The Euclidean norm of what is finite."""
    totals = _Totals()
    flat = np.ravel(array)
    for block, _ in _blocks(flat, flat):
        totals.add(block, block)
    return math.sqrt(totals.squares[0])


@dataclass
class _Totals:
    """What is known of the blocks so far; pairs are (before, after)."""

    has_ulps: bool = False
    largest: float = 0.0
    relative: float = 0.0
    differing: int = 0
    ulps: int = 0
    scale: float = 0.0
    unpaired_nans: int = 0
    product: float = 0.0
    nans: list[int] = field(default_factory=lambda: [0, 0])
    squares: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _buffers: dict[tuple[np.dtype, int], Array] = field(default_factory=dict)

    @property
    def cosine(self) -> float | None:
        """The cosine of the angle between both; None where one is 0."""
        norms = math.sqrt(self.squares[0]) * math.sqrt(self.squares[1])
        return None if not norms else max(-1.0, min(1.0, self.product / norms))

    def add(self, x: Array, y: Array) -> None:
        """Take in one block of each."""
        differing = int(
            np.count_nonzero(np.not_equal(x, y, out=self._buffer(np.dtype(bool), x, 0)))
        )
        is_equal = not differing and x.dtype == y.dtype
        a = _widen(x, y)
        b = a if is_equal else _widen(y, x)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = _dot(a, a), _dot(b, b)
        if not (_is_exact(a, squares[0]) and _is_exact(b, squares[1])):
            self._add_careful(x, y, a, b)
        elif is_equal:
            self._add_sums(squares, squares[0], _most(a))
        else:
            self.differing += differing
            self._add_finite(x, y, a, b, squares)

    def _add_finite(
        self, x: Array, y: Array, a: Array, b: Array, squares: tuple[float, float]
    ) -> None:
        """Take in a block in which all is finite: the usual one, so without copies of parts."""
        real = a.real.dtype
        magnitudes, gap = (self._buffer(real, x, place) for place in range(2))
        np.abs(a, out=magnitudes)
        np.maximum(magnitudes, np.abs(b, out=gap), out=magnitudes)
        np.abs(np.subtract(a, b, out=gap if a.dtype == real else None), out=gap)
        self._add_sums(squares, _dot(a, b), float(magnitudes.max()))
        self.largest = max(self.largest, float(gap.max()))
        np.maximum(magnitudes, np.finfo(real).smallest_subnormal, out=magnitudes)
        self.relative = max(self.relative, float(np.divide(gap, magnitudes, out=gap).max()))
        if self.has_ulps:
            self.ulps = max(self.ulps, self._ulps(x, y))

    def _buffer(self, dtype: np.dtype, block: Array, place: int) -> Array:
        """An array of a block's size to compute in, the same one for each block.

        An array that is freed after each step goes back to the system, and the next one begins
        with page faults, which take longer than the step.
        """
        buffer = self._buffers.get((dtype, place))
        if buffer is None or buffer.size < block.size:
            buffer = self._buffers[dtype, place] = np.empty(block.size, dtype)
        return buffer[: block.size]

    def _ulps(self, x: Array, y: Array) -> int:
        """The most floating-point numbers that lie between two elements.

        The bits without the sign count the numbers from 0 on, so that with the sign they are
        integers in the order of the numbers. Their differences fit without a sign.
        """
        if not x.size:
            return 0
        integer = np.dtype(_INTEGER_OF[x.dtype.name])
        one, other, sign = (self._buffer(integer, x, place) for place in range(3))
        for side, counts in ((x, one), (y, other)):
            bits = np.ascontiguousarray(side).view(integer)
            np.right_shift(bits, 8 * integer.itemsize - 1, out=sign)  # 0, or -1 of negative ones
            np.bitwise_and(sign, np.iinfo(integer).max, out=counts)
            np.bitwise_xor(bits, counts, out=counts)
            np.subtract(counts, sign, out=counts)
        np.maximum(one, other, out=sign)
        np.subtract(sign, np.minimum(one, other, out=one), out=sign)
        return int(sign.view(f"u{integer.itemsize}").max())

    def _add_sums(self, squares: tuple[float, float], product: float, scale: float) -> None:
        self.squares[0] += squares[0]
        self.squares[1] += squares[1]
        self.product += product
        self.scale = max(self.scale, scale)

    def _add_careful(self, x: Array, y: Array, a: Array, b: Array) -> None:
        """Take in a block in which something is NaN, infinite or so large that squares are."""
        nans = np.isnan(a), np.isnan(b)
        self.nans[0] += int(np.count_nonzero(nans[0]))
        self.nans[1] += int(np.count_nonzero(nans[1]))
        self.unpaired_nans += int(np.count_nonzero(nans[0] != nans[1]))
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        finite = np.isfinite(a) & np.isfinite(b)
        p, q = (np.where(finite, side, 0).astype(wide) for side in (a, b))
        with np.errstate(over="ignore"):
            self._add_sums((_dot(p, p), _dot(q, q)), _dot(p, q), max(_most(p), _most(q)))
        self._add_differing(x, y, a, b, (x != y) & ~(nans[0] & nans[1]))

    def _add_differing(self, x: Array, y: Array, a: Array, b: Array, differ: Array) -> None:
        """Take in the elements of a block that differ."""
        count = int(np.count_nonzero(differ))
        if not count:
            return
        self.differing += count
        if count < differ.size:
            x, y, a, b = x[differ], y[differ], a[differ], b[differ]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            gap = np.abs(a - b)
            relative = gap / np.maximum(np.abs(a), np.abs(b))
        numbers = ~(np.isnan(a) | np.isnan(b))
        self.largest = max(self.largest, float(gap[numbers].max(initial=0)))
        relative = np.nan_to_num(relative[numbers], nan=1.0)
        self.relative = max(self.relative, float(relative.max(initial=0)))
        if self.has_ulps:
            self.ulps = max(self.ulps, self._ulps(x[numbers], y[numbers]))


def _blocks(a: Array, b: Array) -> Iterator[tuple[Array, Array]]:
    """Two flat arrays in blocks."""
    for start in range(0, a.size, BLOCK):
        yield a[start : start + BLOCK], b[start : start + BLOCK]


def _widen(x: Array, beside: Array | None = None) -> Array:
    """An array in a dtype to compute in, which holds all its values, and those of the other."""
    pair = (x,) if beside is None else (x, beside)
    if all(side.dtype == np.float32 for side in pair):
        return x
    if any(side.dtype.kind == "c" for side in pair):
        return x.astype(np.complex128)
    return x.astype(np.float64, copy=False)


def _dot(a: Array, b: Array) -> float:
    """The product of two flat arrays as vectors."""
    if a.dtype == np.float32 or a.size <= ALONE:
        return float(np.vdot(a, b).real)
    pieces = range(0, a.size, ALONE)
    return sum(float(np.vdot(a[at : at + ALONE], b[at : at + ALONE]).real) for at in pieces)


def _is_exact(a: Array, square: float) -> bool:
    """Whether a sum of squares is as exact as its dtype: finite, and not of parts that vanish."""
    return math.isfinite(square) and (square > LEAST_SQUARE or not a.any())


def _most(a: Array) -> float:
    """The largest magnitude of what is finite."""
    if a.dtype.kind == "c":
        return float(np.abs(a).max(initial=0))
    return max(float(a.max(initial=0)), -float(a.min(initial=0)))


def _by_scale(a: Array, b: Array, totals: _Totals) -> float:
    """The largest difference by the scale of the tensor.

    A mask of -1e9 that was added for attention is not the scale of the scores around it: these are
    measured by themselves, and the mask by its own magnitude.
    """
    if not totals.largest:  # integers may differ by less than float64 can tell
        return float(np.finfo(np.float64).tiny) if totals.differing else 0.0
    if not totals.scale or math.isinf(totals.largest):
        return math.inf
    if totals.scale < MASK_LEAST:
        return totals.largest / totals.scale
    rest = 0.0
    for x, y in _blocks(a, b):
        for side in (x, y):
            magnitudes = np.abs(_widen(side))
            magnitudes = magnitudes[np.isfinite(magnitudes)]
            small = magnitudes < totals.scale / MASK_GAP
            if bool((~small & (magnitudes < NEAR_MASK * totals.scale)).any()):
                return totals.largest / totals.scale
            rest = max(rest, float(magnitudes[small].max(initial=0)))
    if not rest:
        return totals.largest / totals.scale
    scaled = 0.0
    for x, y in _blocks(a, b):
        p, q = _widen(x, y), _widen(y, x)
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(p == q, 0, np.abs(p - q))
            own = gap / np.maximum(np.maximum(np.abs(p), np.abs(q)), rest)
        scaled = max(scaled, float(np.nan_to_num(own, nan=0.0, posinf=np.inf).max(initial=0)))
    return scaled


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
