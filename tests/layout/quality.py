"""How good a drawing is: crossings of its lines, and how far they go round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tfgraphwidget.layout.compound import Positions

Floats = npt.NDArray[np.float64]

SHORT = 20.0  # pixels; a line between ends that are nearer goes round by a few pixels in any case


def lines_of(positions: Positions) -> list[Floats]:
    """The points (n, 2) of each line, in pixels."""
    return np.split(positions.route.astype(float), positions.route_start[1:-1].astype(int))


def crossings(lines: Sequence[Floats], source: Sequence[int] | None = None) -> int:
    """Places where strokes of different lines cross, in a point inside both.

    Lines from one box that lie on each other are one stroke, as they are to the eye: they branch
    off it.

    Args:
        source: what each line comes from, where lines from one box may cross.
    """
    if not lines:
        return 0
    pieces = _strokes(lines, range(len(lines)) if source is None else source)
    starts, ends, line = pieces[:, :2], pieces[:, 2:4], pieces[:, 4]
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    total = 0
    for i in range(len(pieces)):
        near = (low[i + 1 :] < high[i] + 1).all(axis=1) & (high[i + 1 :] > low[i] - 1).all(axis=1)
        later = i + 1 + np.flatnonzero(near & (line[i + 1 :] != line[i]))
        p, q, c, d = starts[i], ends[i], starts[later], ends[later]
        one = _side(p, q, c) * _side(p, q, d)
        two = _side(c, d, p) * _side(c, d, q)
        total += int(((one < 0) & (two < 0)).sum())
    return total


def _strokes(lines: Sequence[Floats], source: Sequence[int]) -> Floats:
    """The straight pieces of lines as (x, y, x, y, source), those joined that lie on each other."""
    pieces: list[tuple[float, ...]] = []
    level: dict[tuple[int, bool, float], list[tuple[float, float]]] = {}
    for origin, line in zip(source, lines, strict=True):
        for (x1, y1), (x2, y2) in pairwise(line.tolist()):
            if x1 == x2:
                level.setdefault((origin, True, x1), []).append((min(y1, y2), max(y1, y2)))
            elif y1 == y2:
                level.setdefault((origin, False, y1), []).append((min(x1, x2), max(x1, x2)))
            else:
                pieces.append((x1, y1, x2, y2, origin))
    for (origin, is_upright, at), spans in level.items():
        for low, high in _joined(spans):
            ends = (at, low, at, high) if is_upright else (low, at, high, at)
            pieces.append((*ends, origin))
    return np.array(pieces)


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals, those that overlap or touch as one."""
    joined: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return joined


def _side(p: Floats, q: Floats, r: Floats) -> Floats:
    """On which side of the line from p to q the point r is: -1, 0 or 1."""
    along, across = q - p, r - p
    result: Floats = np.sign(along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0])
    return result


def length(lines: Sequence[Floats]) -> float:
    """How long all lines are together, in pixels."""
    return sum(float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in lines)


def detours(lines: Sequence[Floats]) -> Floats:
    """How long each line is over its shortest way, which is down and across."""
    shortest = [max(SHORT, float(np.abs(line[-1] - line[0]).sum())) for line in lines]
    return np.array([length([line]) for line in lines]) / np.array(shortest)
