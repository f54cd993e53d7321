"""Items that the user pinned to places: others give way, and the edges of what has moved are routed
again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tfgraphwidget.hierarchy import outline_of
from tfgraphwidget.layout.frame import Frame
from tfgraphwidget.layout.free_form.orthogonal_detour import (
    OrthogonalRouter,
    TrackSeparator,
    pieces_through,
)
from tfgraphwidget.layout.free_form.polyline_routing import PolylineRerouter, is_slanted
from tfgraphwidget.layout.geometry import ContainerLayout, Point
from tfgraphwidget.layout.layered.components import BORDER
from tfgraphwidget.visible import BADGE, CLOSED, OPEN, VisibleGraph

if TYPE_CHECKING:
    from tfgraphwidget.graph import GraphIndex

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Pinned = dict[int, Point]
# Pixels
_GAP = 14.0  # between a box that gave way and others
_NEAR = 8.0  # nothing stays nearer to a pinned box than this
_STILL = 0.5  # what would move less stays where it is
_ROUNDING = 1e-6


class Pins:
    """The pinned items of each container, by number there; centers in the drawing."""

    def __init__(self, visible: VisibleGraph, pinned: Mapping[str, Point], frame: Frame) -> None:
        self._pinned_in: dict[int, Pinned] = {}
        for item, at in pinned_items(visible, pinned).items():
            around = int(visible.parent[item])
            x, y = at[::-1] if frame.right else at
            left, top = frame.before[around].tolist()
            number = item - int(visible.child_start[around])
            self._pinned_in.setdefault(around, {})[number] = (x - left, y - top)

    def of(self, item: int) -> Pinned:
        """Number of the child -> where its center shall be, from the inside's upper left corner."""
        return self._pinned_in.get(item, {})


def keys(names: Sequence[str], kind: npt.NDArray[np.uint8]) -> dict[str, int]:
    """The items by name, scopes and groups with a slash at the end: an op may have the same name.

    Args:
        names: The names of the items, in order.
    """
    item_of_key: dict[str, int] = {}
    for item, (name, is_a) in enumerate(zip(names, kind.tolist(), strict=True)):
        if item:
            item_of_key.setdefault(f"{name}/" if is_a in (CLOSED, OPEN) else name, item)
    return item_of_key


def pinned_items(visible: VisibleGraph, pinned: Mapping[str, Point]) -> Pinned:
    """The items that names with places mean, and these; a name that an op has, if only at a reader,
    means no scope.

    Args:
        visible: The items and edges that are drawn.
        pinned: The positions (pixels) by the key of the item.
    """
    item_of_key = keys(visible.names, visible.kind) if pinned else {}
    points = {meant_key(name, item_of_key): at for name, at in pinned.items()}
    return {
        item_of_key[key]: at
        for key, at in points.items()
        if key and visible.kind[item_of_key[key]] != BADGE
    }


def remove_pin(pinned: Mapping[str, Point], name: str) -> dict[str, Point]:
    """Return the pins without those that a name means; none at all for "".

    Args:
        pinned: The positions (pixels) by the key of the item.
        name: The name of an item; "" for all.
    """
    pin_key = meant_key(name, pinned)
    return {key: place for key, place in pinned.items() if name and key != pin_key}


def pins_in_sight(
    pinned: Mapping[str, Point], index: GraphIndex, opened: frozenset[str], hidden: frozenset[str]
) -> dict[str, Point]:
    """Drop the pins of ops that are not visible and have the name of a scope.

    `pinned_items` would take such a pin for that of the scope, which contains the op.

    Args:
        hidden: The names of hidden scopes and ops.
    """
    scopes = outline_of(index)[0].ids if pinned else {}
    both = {key for key in pinned if key in index.ids and key in scopes}
    return {
        key: place
        for key, place in pinned.items()
        if key not in both or (key in opened and key not in hidden)
    }


def meant_key(name: str, all_keys: Collection[str]) -> str:
    """The known key that a name means: itself, a scope without its slash, an op with one; or "".

    Args:
        name: The name of an item, with or without a slash at the end.
    """
    bare = name.rstrip("/")
    return next((key for key in (name, f"{bare}/", bare) if key in all_keys), "")


def apply_pins(
    layout: ContainerLayout, pinned: Pinned, sizes: Floats, edges: npt.NDArray[np.int32]
) -> ContainerLayout:
    """Move some nodes of a layout to their pinned places.

    Only what a pinned node would overlap moves, and the edges of what has moved, or that it now
    covers. A pinned node moves only off the upper left border, or where two are pinned to one
    place: the later one gives way.

    Args:
        pinned: the centers by node, in pixels.
        sizes: float64 (n, 2), width and height of each node.
        edges: int32 (m, 2 or more), source and target of each edge.
    """
    if not pinned:
        return layout
    corner = layout.corner.copy()
    for number, (x, y) in pinned.items():
        corner[number] = np.maximum(np.array([x, y]) - sizes[number] / 2, 0.0)
    _resolve_overlaps(corner, sizes, list(pinned))
    width, height = np.maximum((corner + sizes).max(axis=0), [layout.width, layout.height]).tolist()
    stirred = np.abs(corner - layout.corner).max(axis=1) > _STILL
    endpoints, route, stop = edges[:, :2], layout.route.copy(), np.cumsum(layout.points)
    route[stop[endpoints[:, 1] == BORDER] - 1, 1] = height
    to_reroute = np.asarray(np.append(stirred, False)[endpoints].any(axis=1))
    hit = pieces_through(route, corner[stirred] - _NEAR / 2, (corner + sizes)[stirred] + _NEAR / 2)
    # from the end of a line to the beginning of the next there is no piece
    hit[stop[:-1] - 1] = False
    to_reroute[np.searchsorted(stop, hit.nonzero()[0], side="right")] = True
    router: PolylineRerouter | OrthogonalRouter
    if is_slanted(layout):
        router = PolylineRerouter(layout, endpoints, corner, sizes, height)
    else:
        router = OrthogonalRouter(corner, sizes, width, height)
    route, points = _reroute(route, layout.points, endpoints, to_reroute, router)
    return replace(layout, corner=corner, width=width, height=height, route=route, points=points)


def _reroute(
    route: Floats,
    points: npt.NDArray[np.int64],
    endpoints: npt.NDArray[np.int32],
    to_reroute: Mask,
    router: OrthogonalRouter | PolylineRerouter,
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The routes and their numbers of points, some drawn again."""
    start = np.concatenate([[0], np.cumsum(points)])
    routes = [route[a:b] for a, b in pairwise(start.tolist())]
    rows = to_reroute.nonzero()[0].tolist()
    entries: dict[int, Point] = {}
    tracks = None
    if isinstance(router, OrthogonalRouter):
        entries = _entries(rows, routes, endpoints, router)
        tracks = TrackSeparator(router.low, router.high)
    for number in rows:
        (source, target), before = endpoints[number].tolist(), routes[number].tolist()
        way = router.route(source, target, [(x, y) for x, y in before], entries.get(number))
        routes[number] = np.array(tracks.add(source, way) if tracks else way)
    lengths = np.array([len(way) for way in routes], dtype=np.int64)
    return np.concatenate([np.zeros((0, 2)), *routes]), lengths


def _entries(
    rows: list[int],
    routes: list[Floats],
    endpoints: npt.NDArray[np.int32],
    router: OrthogonalRouter,
) -> dict[int, Point]:
    """Where each of these edges comes to its box, if all edges to that are routed again."""
    begins = [
        float(way[0, 0]) if source == BORDER else router.middle_of(source)
        for (source, _), way in zip(endpoints.tolist(), routes, strict=True)
    ]
    again = np.zeros(len(endpoints), dtype=bool)
    again[rows] = True
    entries: dict[int, Point] = {}
    for target in {int(endpoints[row, 1]) for row in rows} - {BORDER}:
        edges = np.flatnonzero(endpoints[:, 1] == target)
        if again[edges].all():
            places = router.entries(target, (begins[edge] for edge in edges))
            entries |= {int(edge): places[begins[edge]] for edge in edges}
    return entries


def _resolve_overlaps(corner: Floats, sizes: Floats, pinned: list[int]) -> None:
    """Move what stands on a pinned node to the nearest free places, nearest first."""
    for number, node in enumerate(pinned):
        _move_to_free_place(node, corner, sizes, np.array(pinned[:number], dtype=np.intp))
    center = corner + sizes / 2
    distances = [np.abs(center[node] - center).sum(axis=1) for node in pinned]
    to_nearest_pinned = np.min(distances, axis=0)
    overlaps = [_overlaps(corner[node], sizes[node], corner, sizes) for node in pinned]
    is_placed = ~np.any(overlaps, axis=0)
    is_placed[pinned] = True
    for node in sorted((~is_placed).nonzero()[0].tolist(), key=to_nearest_pinned.__getitem__):
        _move_to_free_place(node, corner, sizes, is_placed.nonzero()[0])
        is_placed[node] = True


def _move_to_free_place(
    node: int, corner: Floats, sizes: Floats, others: npt.NDArray[np.intp]
) -> None:
    if _overlaps(corner[node], sizes[node], corner[others], sizes[others]).any():
        corner[node] = _free_place(corner[node], sizes[node], corner[others], sizes[others])


def _overlaps(at: Floats, size: Floats, corner: Floats, sizes: Floats) -> Mask:
    """Whether a box at a corner overlaps each of other boxes, or is too near to it."""
    is_before = at + size + _NEAR <= corner + _ROUNDING
    is_after = corner + sizes + _NEAR <= at + _ROUNDING
    return np.asarray(~(is_before | is_after).any(axis=1))


def _free_place(at: Floats, size: Floats, corner: Floats, sizes: Floats) -> Floats:
    """The place nearest to `at` where a box overlaps no other; right or below is free."""
    # Right before and right after each of the boxes, float64 (m, 2).
    before, after = corner - size - _GAP, corner + sizes + _GAP
    xs, ys = (
        _nearest_first(np.concatenate([[at[axis]], after[:, axis], before[:, axis]]), at[axis])
        for axis in (0, 1)
    )
    best, least = at, np.inf
    for x in xs:
        far = abs(x - at[0])
        if far >= least:
            break
        # Of all places at this x, the nearest that no box is in the way of.
        is_in_column = (before[:, 0] < x - _ROUNDING) & (after[:, 0] > x + _ROUNDING)
        low, high = before[is_in_column, 1], after[is_in_column, 1]
        for y in ys:
            if far + abs(y - at[1]) >= least:
                break
            if not ((low + _ROUNDING < y) & (y < high - _ROUNDING)).any():
                best, least = np.array([x, y]), far + abs(y - at[1])
                break
    return best


def _nearest_first(places: Floats, wanted: float) -> list[float]:
    """The places inside of the container, by their distance from the one that is wanted."""
    inside = places[places >= 0]
    nearest: list[float] = inside[np.argsort(np.abs(inside - wanted))].tolist()
    return nearest
