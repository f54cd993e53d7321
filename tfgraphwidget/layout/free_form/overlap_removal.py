"""Boxes near the points that a layout gave, without overlaps and without more room than that takes.

The points are scaled until some neighbors have room between them; what still overlaps is pushed
apart as in graphviz's prism (Gansner and Hu, 2010): neighbors in a Delaunay triangulation want to
stay where they are to each other, and those that overlap to be as far apart as they must; the least
squares of both are taken, again and again. So the shape of the picture is kept. To scale it until
nothing overlaps would make it endless where two ops are nearly at one point, or where one box is a
scope of a thousand ops, and that at each level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import distinct
from tfgraphwidget.optional_packages import import_package

Points = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.intp]
GAP = 24.0  # pixels between boxes
_ROUNDS = 60  # of moving pairs apart
_DENSE = 150  # boxes of which the equations are solved as a dense matrix
_GOLDEN = 2.399963  # the golden angle: points at one place are put on a sunflower's spiral
_ROOM = 0.3  # the share of neighbors that scaling alone sets apart
_STEP = 1.5  # how many times further apart than it is a pair wants to be at most
_FIRMLY = 32.0  # how much more it counts to go apart than to stay
# How many times what is usual a pair must need that goes apart across the nearest side, not in the
# direction it has.
_LARGE = 2.0
_FLAT = 0.2  # the most that it is flattened by in the end


def remove_overlaps(points: Points, sizes: Points) -> Points:
    """Place boxes near the points of a layout, without overlaps.

    Args:
        points: float64 (n, 2), in any unit, y downwards.
        sizes: float64 (n, 2), width and height in pixels.

    Returns:
        The centers of the boxes in pixels, float64 (n, 2).
    """
    if len(points) < 2:
        return np.zeros_like(points)
    points = _separate_equal_points(points)
    near = _neighbors(points)
    points = _scale(points, sizes, near)
    for _ in range(_ROUNDS):
        overlapping = _overlapping_pairs(points, sizes)
        if not len(overlapping):
            break
        points = _relax(
            points, sizes, _unique_pairs(np.concatenate([overlapping, near]), len(points))
        )
    else:
        points = _push_down(points, sizes)
    tight = [_squeeze(_squeeze(points, sizes, axis), sizes, 1 - axis) for axis in (0, 1)]
    return min(tight, key=lambda some: float(_extent(some, sizes).prod()))


def _separate_equal_points(points: Points) -> Points:
    """The points within a square of one, those at one place a little beside each other."""
    points = points / (float(np.abs(points).max()) or 1.0)
    # Far from the origin, what separates them would be rounded away.
    points = points - points.min(axis=0)
    points = points / (float(points.max()) or 1.0)
    _, place, count = np.unique(
        np.round(points, 6), axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(place.ravel(), kind="stable")
    nth = np.empty(len(points))
    nth[order] = np.concatenate([np.arange(some) for some in count])
    turn = np.stack([np.cos(_GOLDEN * nth), np.sin(_GOLDEN * nth)], axis=1)
    result: Points = points + 1e-3 * np.sqrt(nth)[:, None] * turn
    return result


def _scale(points: Points, sizes: Points, near: Pairs) -> Points:
    """The points far enough apart for some neighbors, but no longer than all boxes in a row."""
    i, j = near.T
    need = (sizes[i] + sizes[j]) / 2 + GAP
    enough = (need / np.maximum(np.abs(points[j] - points[i]), 1e-12)).min(axis=1)
    row = float((sizes + GAP).max(axis=1).sum() / np.ptp(points, axis=0).max())
    return points * min(float(np.quantile(enough, _ROOM)), row)


def _overlapping_pairs(points: Points, sizes: Points) -> Pairs:
    """The pairs of boxes that overlap or are too near, (k, 2), each once."""
    pairs = _overlapping_along(points, sizes, 0)
    i, j = pairs.T
    close: Pairs = pairs[
        np.abs(points[i, 1] - points[j, 1]) < (sizes[i, 1] + sizes[j, 1]) / 2 + GAP - 1e-6
    ]
    return close


def _overlapping_along(points: Points, sizes: Points, axis: int) -> Pairs:
    """The pairs of boxes that overlap along one axis or are too near in it, each once."""
    half = sizes[:, axis] / 2 + GAP / 2
    low, high = points[:, axis] - half, points[:, axis] + half
    order = np.argsort(low, kind="stable")
    # From one end to the other, each with those that begin before it ends.
    stop = np.searchsorted(low[order], high[order] - 1e-6)
    many = np.maximum(stop - np.arange(len(order)) - 1, 0)
    first = np.repeat(np.arange(len(order)), many)
    nth = np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
    return np.sort(np.stack([order[first], order[first + 1 + nth]], axis=1), axis=1)


def _neighbors(points: Points) -> Pairs:
    """The pairs of points that are neighbors, (k, 2), some of them twice."""
    n = len(points)
    if n < 4:
        return np.stack(np.triu_indices(n, 1), axis=1)
    spatial = _scipy("spatial")
    try:
        # QJ: points in a line or on a circle are neighbors, too.
        corners = spatial.Delaunay(points, qhull_options="QJ Qbb").simplices.astype(np.intp)
    except spatial.QhullError:
        rows = [np.argsort(points[:, k], kind="stable") for k in (0, 1)]
        return np.sort(
            np.concatenate([np.stack([row[:-1], row[1:]], axis=1) for row in rows]), axis=1
        )
    return np.sort(
        np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1
    )


def _unique_pairs(pairs: Pairs, n: int) -> Pairs:
    return np.stack(np.divmod(distinct(pairs[:, 0] * n + pairs[:, 1]), n), axis=1)


def _wanted_offsets(points: Points, sizes: Points, pairs: Pairs) -> tuple[Points, Points]:
    """How far from its first each pair's second point wants to be, (k, 2), and how much that
    counts, (k,).
    """
    i, j = pairs.T
    away = points[j] - points[i]
    need = (sizes[i] + sizes[j]) / 2 + GAP
    short = need - np.abs(away)
    clash = (short > 0).all(axis=1)
    further = np.clip((need / np.maximum(np.abs(away), 1e-9)).min(axis=1), 1.0, _STEP)
    want = away * np.where(clash, further * 1.001, 1.0)[:, None]
    # Beside a large box, the direction says little, and to keep it would leave much room empty.
    large = (clash & (need > _LARGE * np.median(sizes + GAP, axis=0)).any(axis=1)).nonzero()[0]
    axis = short[large].argmin(axis=1)
    least = (
        np.minimum(need[large, axis], 4 * np.abs(away[large, axis]) + need[large, axis] / 4) + 0.1
    )
    want[large] = away[large]
    want[large, axis] = np.where(away[large, axis] < 0, -least, least)
    return want, np.where(clash, _FIRMLY, 1.0) / np.maximum((want**2).sum(axis=1), 1.0)


def _relax(points: Points, sizes: Points, pairs: Pairs) -> Points:
    """The points at which all pairs are as near to what they want as they can be together."""
    (i, j), n = pairs.T, len(points)
    want, weight = _wanted_offsets(points, sizes, pairs)
    degree = np.bincount(i, weight, n) + np.bincount(j, weight, n)
    degree += 1e-6 * degree.mean()  # where all of it stands is free: a little weight holds it there
    pull = weight[:, None] * want
    targets = np.stack(
        [np.bincount(j, pull[:, k], n) - np.bincount(i, pull[:, k], n) for k in (0, 1)], axis=1
    )
    targets += 1e-6 * degree.mean() * points
    if n <= _DENSE:
        matrix = np.diag(degree)
        matrix[i, j] = matrix[j, i] = -weight
        return np.linalg.solve(matrix, targets)
    sparse = _scipy("sparse")
    half = sparse.coo_matrix((-weight, (i, j)), (n, n))
    result: Points = (
        _scipy("sparse.linalg").splu((half + half.T + sparse.diags(degree)).tocsc()).solve(targets)
    )
    return result


def _scipy(module: str) -> Any:
    """A module of SciPy, which only a layout of the user's needs; PackageMissing without it."""
    return import_package(
        f"scipy.{module}", "A layout by a function needs SciPy to keep boxes apart"
    )


def _squeeze(points: Points, sizes: Points, axis: int) -> Points:
    """The points, closer together along one axis as far as no two of them then overlap."""
    i, j = _overlapping_along(points, sizes, 1 - axis).T
    need = (sizes[i, axis] + sizes[j, axis]) / 2 + GAP
    factor = np.ones(2)
    factor[axis] = min((need / np.abs(points[i, axis] - points[j, axis])).max(initial=_FLAT), 1.0)
    result: Points = points * factor
    return result


def _extent(points: Points, sizes: Points) -> Points:
    return np.asarray((points + sizes / 2).max(axis=0) - (points - sizes / 2).min(axis=0))


def _push_down(points: Points, sizes: Points) -> Points:
    """Boxes from top to bottom; each moves down past those it would overlap; most stay."""
    order = np.lexsort((points[:, 0], points[:, 1]))
    positions = points.copy()
    previous: list[int] = []
    for node in order.tolist():
        moved = True
        while moved and previous:
            other = np.array(previous)
            need = (sizes[other] + sizes[node]) / 2 + GAP
            near = (np.abs(positions[other] - positions[node]) < need - 1e-6).all(axis=1)
            moved = bool(near.any())
            if moved:
                positions[node, 1] = float((positions[other, 1] + need[:, 1])[near].max())
        previous.append(node)
    return positions
