"""Prefetch: what the user may open next is laid out while the kernel is idle, so that it opens at
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy import outline_of
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.visible import CLOSED, ViewSpec, build_visible_graph

# Boxes that opening shows
_FEWEST = 60  # the layout of fewer takes no time that anybody sees
_MOST = 1_200  # one step of the layout of more would be felt by a cell that starts just then
_LARGEST = 2_500  # boxes of a drawing that may never be shown: 500 KB
_ALL = 12_000  # and of all such drawings together


def candidates(scene: scenes.Scene, view_spec: ViewSpec) -> tuple[str, ...]:
    """Return the closed scopes and groups that take a while to lay out, largest first."""
    if len(scene) + _FEWEST > _LARGEST:
        return ()
    names = [scene.names[item] for item in np.flatnonzero(scene.kind == CLOSED).tolist()]
    boxes = dict(zip(names, _count_boxes(scene.index, view_spec, names), strict=True))
    large = sorted((-boxes[name], name) for name in names if _FEWEST <= boxes[name] <= _MOST)
    drawings = accumulate(len(scene) - inside for inside, _ in large)
    return tuple(name for (_, name), so_far in zip(large, drawings, strict=True) if so_far <= _ALL)


def _count_boxes(index: GraphIndex, view_spec: ViewSpec, scopes: Iterable[str]) -> list[int]:
    """How many boxes stand in each scope or group, once it is open."""
    outline = outline_of(index, fold=view_spec.fold)[0]
    own = np.bincount(outline.home, minlength=len(outline))
    nodes = [outline.ids[name] for name in scopes]
    return [int(own[node]) + len(outline.children[node]) for node in nodes]


def prefetch(
    index: GraphIndex, view_spec: ViewSpec, after: ViewSpec, cache: LayoutCache
) -> scenes.Scene | None:
    """Build the scene as it will be with more scopes open.

    Args:
        cache: the layout cache; results are added, its history does not change.

    Returns:
        The scene; None if that takes too long, or if it is too large to send.
    """
    if (
        sum(_count_boxes(index, after, after.opened - view_spec.opened)) > _MOST
        or len(build_visible_graph(index, after)) > _LARGEST
    ):
        return None
    return _build_ahead(index, after, cache)


def _build_ahead(index: GraphIndex, view_spec: ViewSpec, cache: LayoutCache) -> scenes.Scene:
    """A drawing that may come; its parts are put into the cache, so that it stays the same."""
    fork = cache.fork()
    scene = scenes.build(index, view_spec, cache=fork)
    cache.add_results(fork)
    return scene
