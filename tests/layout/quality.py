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
    """Pairs of pieces of different lines that cross in a point inside both.

    Args:
        source: what each line comes from, where lines from one box may cross: they branch there.
    """
    if not lines:
        return 0
    origin = np.arange(len(lines)) if source is None else np.asarray(source)
    pieces = np.array(
        [[*a, *b, n] for n, line in zip(origin, lines, strict=True) for a, b in pairwise(line)]
    )
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
