"""Scales: values of ops as tints of the boxes, as a note below each, and as a legend.

An op has a category or a number. A box that represents many ops has the category of most of them,
or the sum or mean of their numbers. Color is never the only sign: every tint comes with a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import distinct
from tfgraphwidget.hierarchy import Ints, Mask
from tfgraphwidget.scene.coloring.legend import Legend, LegendEntry
from tfgraphwidget.scene.coloring.palette import RAMP_STEPS, TINTS
from tfgraphwidget.visible import BADGE, CLOSED, OPEN, sum_inside

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Scene

Floats = npt.NDArray[np.float64]
Tint = npt.NDArray[np.uint8]
RAMP_START = 128
MOST = len(TINTS)
_DECADES = 1e4  # what is smaller than the whole by this factor is as pale as nothing
_SPAN = 100.0  # a range wider than this is shown by powers of ten
_THIN = 10.0**-3
_TIE = -2


@dataclass(frozen=True, eq=False)
class Categories:
    """Per op `code` (int32, -1 for none), the number of its label; `labels` are ordered by how many
    ops have them.

    `rank` (int per op, or None) says who speaks for a box that represents many: those of the
    highest rank in it. `none` is what ops without a category are called. `boxes` are the codes of
    scopes that have one of their own, and `totals` then the ops in all scopes of a label.
    """

    labels: Sequence[str]
    code: Ints
    none: str = ""
    rank: npt.NDArray[np.int8] | None = None
    boxes: Mapping[str, int] = field(default_factory=dict)
    totals: Sequence[int] | None = None
    notice: str = ""

    @classmethod
    def of(cls, values: Sequence[str], *, counting: Mask | None = None, **more: Any) -> Categories:
        """Make categories of labels.

        Args:
            values: A label per op, "" for none.
            counting: Which ops count when there are more labels than colors: the most frequent
                labels get colors.
        """
        number: dict[str, int] = {}
        codes = (number.setdefault(value, len(number)) for value in values)
        code = np.fromiter(codes, np.int32, len(values))
        count = np.bincount(code, minlength=len(number))
        labels = list(number)
        order = [k for k in np.argsort(-count, kind="stable").tolist() if labels[k]]
        if len(order) > MOST and counting is not None:
            totals = np.bincount(code, weights=counting, minlength=len(number))
            first = set(sorted(order, key=lambda k: -totals[k])[: MOST - 1])
            order.sort(key=lambda k: k not in first)
        renumbered = np.full(len(labels), -1, dtype=np.int32)
        renumbered[order] = np.arange(len(order))
        return cls([labels[k] for k in order], renumbered[code] if len(code) else code, **more)

    def tint(self, codes: Ints) -> Tint:
        """1 … 12 for the labels of most ops, 12 for all others when there are more; 0 for none.

        Args:
            codes: The number of the category of each op.
        """
        return np.where(codes < 0, 0, np.minimum(codes, MOST - 1) + 1).astype(np.uint8)

    def legend(self, by: str) -> Legend:
        """The labels that have colors."""
        count = np.bincount(self.code[self.code >= 0], minlength=len(self.labels)).tolist()
        rest = len(self.code) - sum(count)
        if self.totals is not None:
            count = list(self.totals)
        has_others = len(self.labels) > MOST
        own_count = MOST - 1 if has_others else len(self.labels)  # labels with a color of their own
        present = [k for k in range(own_count) if count[k]]
        entries = [LegendEntry(str(self.labels[k]), k + 1, count[k]) for k in present]
        if has_others:
            others = f"{len(self.labels) - own_count:,} others"
            entries.append(LegendEntry(others, MOST, sum(count[own_count:])))
        if rest and self.none:
            entries.append(LegendEntry(self.none, 0, rest))
        return Legend(by, tuple(entries), notice=self.notice)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Per op a `value` (float64, NaN for none), of which boxes show the sum (`total`) or the mean;
    in some `unit`.

    `at` (int32, or None) is the op whose box counts an op's number: what a variable holds is of use
    where it is read.
    """

    value: Floats
    unit: str
    total: bool
    notice: str = ""
    at: Ints | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the ramp, independent of which scopes are open."""
        finite = self.value[np.isfinite(self.value)]
        if self.total:
            finite = finite[finite > 0]
        if not len(finite):
            return 0.0, 0.0
        high = float(finite.sum() if self.total else finite.max())
        low = float(finite.min())
        return (max(low, high / _DECADES) if self.total else low), high

    @property
    def is_wide(self) -> bool:
        """Whether the ramp goes by powers of ten."""
        low, high = self.limits
        return low > 0 and high > _SPAN * low

    def tint(self, values: Floats) -> Tint:
        """128 … 255; 0 for what has no value, and for a cost of nothing."""
        low, high = self.limits
        none = ~np.isfinite(values) | (self.total & (values <= 0))
        totals = np.clip(np.where(none, low, values), low, high)
        if self.is_wide:
            totals, low, high = np.log(totals), float(np.log(low)), float(np.log(high))
        # Halves: at the ends of float64 the difference of the ends is infinite.
        place = (
            (totals / 2 - low / 2) / (high / 2 - low / 2) if high > low else np.ones_like(totals)
        )
        return np.where(none, 0, RAMP_START + np.round(place * (RAMP_STEPS - 1))).astype(np.uint8)

    def legend(self, by: str) -> Legend:
        """The ramp."""
        low, high = self.limits
        if not np.isfinite(self.value).any() or (self.total and high <= 0):
            return Legend(by, notice=self.notice)
        least = self.value[(self.value > 0) & np.isfinite(self.value)].min(initial=np.inf)
        below = "≤ " if self.total and least < low else ""
        if below and self.unit != "µs":  # what is counted is whole
            low = float(np.floor(low))
        scale = "log scale" if self.is_wide else ""
        notice = " · ".join(filter(None, (self.notice, scale)))
        return Legend(
            by, (), below + format_number(low, self.unit), format_number(high, self.unit), notice
        )


OpValues = Categories | Numbers


def color_items(scene: Scene, op_values: OpValues) -> tuple[Tint, list[str]]:
    """Return a tint and a note for each item; `op_values` is of the ops of `scene.index`.

    Open scopes have no tint, and as notes only numbers: those of all that is in them.
    """
    if isinstance(op_values, Categories):
        return _by_category(scene, op_values)
    return _by_number(scene, op_values)


def _by_number(scene: Scene, op_values: Numbers) -> tuple[Tint, list[str]]:
    op, item = _ops_by_item(scene, op_values.at)
    is_known = np.isfinite(op_values.value[op])
    total = np.bincount(item[is_known], weights=op_values.value[op][is_known], minlength=len(scene))
    count = np.bincount(item[is_known], minlength=len(scene))
    is_open = scene.kind == OPEN
    if is_open.any():
        boxes = np.where(scene.kind == BADGE, 0, 1)  # what badges represent is counted at home
        total = np.where(is_open, sum_inside(scene.parent, total * boxes), total)
        count = np.where(is_open, sum_inside(scene.parent, count * boxes), count)
    values = np.full(len(scene), np.nan)
    np.divide(total, 1 if op_values.total else count, out=values, where=count > 0)
    tint = op_values.tint(values)
    notes = [""] * len(scene)
    for at in np.flatnonzero(tint).tolist():
        notes[at] = format_number(float(values[at]), op_values.unit)
    return np.where(is_open, 0, tint).astype(np.uint8), notes


def _by_category(scene: Scene, op_values: Categories) -> tuple[Tint, list[str]]:
    code, count, whole = _majority(*_ops_by_item(scene), op_values, len(scene))
    if op_values.boxes:
        for at in np.flatnonzero(scene.kind == CLOSED).tolist():
            code[at] = op_values.boxes.get(scene.names[at].split(" … ")[0], -1)
            count[at] = whole[at] = 1
    code[scene.kind == OPEN] = -1
    notes = [""] * len(scene)
    for at in np.flatnonzero((code >= 0) | (code == _TIE)).tolist():
        some = "" if count[at] in (1, whole[at]) else f" ×{count[at]:,}"
        notes[at] = "mixed" if code[at] < 0 else f"{op_values.labels[code[at]]}{some}"
    return op_values.tint(code), notes


def _ops_by_item(scene: Scene, at: Ints | None = None) -> tuple[Ints, Ints]:
    """(op, item) pairs: the box that counts an op, or the op that stands `at` its place; and its
    badges.

    Of several drawings in one, an op has a box in each, or -1.
    """
    homes = scene.home_of_op if at is None else scene.home_of_op[at]
    every = np.repeat(np.arange(len(homes), dtype=np.int32), homes[:1].size)
    op = np.concatenate([every, scene.badge_op])
    item = np.concatenate([homes.ravel(), scene.badge_item])
    return op[item >= 0], item[item >= 0]


def _majority(op: Ints, item: Ints, op_values: Categories, items: int) -> tuple[Ints, Ints, Ints]:
    """Per item the code of most ops (-1 none, _TIE for a tie), how many have it, or any."""
    has = op_values.code[op] >= 0
    op, item = op[has], item[has]
    labels = np.int64(max(len(op_values.labels), 1))
    pair = item * labels + op_values.code[op]
    ranks = np.zeros(len(op), dtype=np.int8) if op_values.rank is None else op_values.rank[op]
    code, count = np.full(items, -1, dtype=np.int32), np.zeros(items, dtype=np.int32)
    for rank in distinct(ranks)[::-1].tolist():
        mine = (ranks == rank) & (code[item] == -1)
        now, winners = _winners(*np.unique(pair[mine], return_counts=True), labels)
        code[now] = winners
    pairs, times = np.unique(pair, return_counts=True)
    won = np.flatnonzero(code >= 0)
    count[won] = times[np.searchsorted(pairs, won * labels + code[won])]
    return code, count, np.bincount(item, minlength=items).astype(np.int32)


def _winners(
    pairs: npt.NDArray[np.int64], votes: npt.NDArray[np.int64], labels: np.int64
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The items in pairs item * labels + label, and each one's label of most votes, or _TIE."""
    order = np.lexsort((-votes, pairs // labels))
    item, label, votes = (pairs // labels)[order], (pairs % labels)[order], votes[order]
    first = np.flatnonzero(np.diff(item, prepend=-1))
    second = np.minimum(first + 1, max(len(item) - 1, 0))
    tie = (second > first) & (item[second] == item[first]) & (votes[second] == votes[first])
    return item[first], np.where(tie, _TIE, label[first])


def format_number(value: float, unit: str = "") -> str:
    """Format a number in a few letters.

    Args:
        unit: "" for a plain number, "n" for a count, "B", "FLOP" or "µs".

    Example:
        >>> [
        ...     format_number(*some)
        ...     for some in ((25557032, "n"), (1.2e9, "FLOP"), (3400, "µs"), (0.125,))
        ... ]
        ['25.6 M', '1.2 GFLOP', '3.4 ms', '0.125']
    """
    if unit == "":
        return f"{value:.4g}"
    prefixes = ("µs", "ms", "s") if unit == "µs" else ("", "K", "M", "G", "T", "P", "E")
    if unit == "µs" and value < 1:
        return f"{value:.1g} µs" if value >= _THIN else "0 µs"
    step = 0
    while abs(value) >= 999.5 and step < len(prefixes) - 1:
        value, step = value / 1000, step + 1
    digits = f"{value:.0f}" if abs(value) >= 99.95 or value == int(value) else f"{value:.1f}"
    end = prefixes[step] if unit in ("µs", "n") else prefixes[step] + unit
    return f"{digits} {end}".rstrip()
