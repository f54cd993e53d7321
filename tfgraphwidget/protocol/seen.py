"""Numbers that were looked at, in the words that the panel shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.protocol.details import Seen

if TYPE_CHECKING:
    from tfgraphwidget.runtime.measure.probe import Stats

_FEW = 16  # elements that are all shown
_LONGEST = 200  # characters of them


def seen(stats: Stats) -> Seen:
    """A tensor in words: its elements when they are few, else their range."""
    value, text = stats.value, stats.note
    if value is not None and value.size <= _FEW:
        text = np.array2string(value, precision=4, separator=", ").replace("\n", "")[:_LONGEST]
    low, mean, std, high = (_number(number) for number in (stats.least, stats.mean, stats.std, stats.most))
    return Seen(
        dtype=stats.dtype,
        shape="" if value is None else str(value.shape),
        value=text,
        low=low,
        mean=mean,
        std=std,
        high=high,
        nans=stats.nans,
        infs=stats.infs,
        bars=stats.histogram if low != high else (),
    )


def _number(number: Any) -> str:
    if number is None:
        return ""
    return f"{number:.4g}" if isinstance(number, float) else str(number)
