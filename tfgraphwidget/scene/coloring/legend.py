"""What colors mean, as a list of categories or a ramp."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LegendEntry:
    """One line of a legend: `tint` as in the scene's paint, 0 for no color; and how many ops."""

    label: str
    tint: int
    ops: int


@dataclass(frozen=True)
class Legend:
    """The legend of colors: categories as `entries`, or a ramp from `low` to `high`; a `notice`."""

    by: str
    entries: tuple[LegendEntry, ...] = ()
    low: str = ""
    high: str = ""
    notice: str = ""
