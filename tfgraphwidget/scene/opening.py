"""The first drawing of a graph: as much is open as can be read in the pane that shows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy import opening_steps
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.visible import BADGE, ViewSpec

# A drawing that is shown whole at this zoom can be read: most boxes have room for names in letters
# of 9 pixels.
_READABLE = 0.55
# Fewer boxes are no picture of a graph: the upper part of one with more says more.
_FEWEST = 6
# pixels around a drawing that is shown whole, as in labextension/src/render/camera/camera.ts
_MARGIN = 24


def first_drawing(
    index: GraphIndex, view_spec: ViewSpec, width: float, height: float, cache: LayoutCache
) -> tuple[frozenset[str], scenes.Scene]:
    """The scopes and groups to open at first in a pane, and the drawing with them.

    They are those of `default_open`, or of as many of its steps as give a drawing that is readable
    when the pane shows all of it. When no step does, they are those of the first step that shows
    more than a few boxes.

    Args:
        view_spec: The view; which scopes are open in it does not matter.
        width: The width of the pane, in pixels.
        height: The height of the pane, in pixels.
        cache: The layout cache, for the drawings that follow.
    """
    first, *steps = reversed(opening_steps(index))
    opened, scene, fork = first, *_drawing(index, view_spec, first, cache)
    for fewer in steps:
        if _is_readable(scene, width, height):
            break
        smaller, tried = _drawing(index, view_spec, fewer, cache)
        if np.count_nonzero(smaller.kind != BADGE) <= _FEWEST:
            break
        opened, scene, fork = fewer, smaller, tried
    cache.adopt(fork)
    return opened, scene


def _drawing(
    index: GraphIndex, view_spec: ViewSpec, opened: frozenset[str], cache: LayoutCache
) -> tuple[scenes.Scene, LayoutCache]:
    """The drawing with these scopes open, and the cache after it."""
    fork = cache.fork()
    return scenes.build(index, replace(view_spec, opened=opened), cache=fork), fork


def _is_readable(scene: scenes.Scene, width: float, height: float) -> bool:
    return zoom_in(scene, width, height) >= _READABLE


def zoom_in(scene: scenes.Scene, width: float, height: float) -> float:
    """The zoom at which a pane shows all of a drawing.

    Args:
        scene: The drawing.
        width: The width of the pane, in pixels.
        height: The height of the pane, in pixels.
    """
    room = np.array([width, height]) - 2 * _MARGIN
    return float((room / np.maximum(scene.box[0, 2:], 1)).min())
