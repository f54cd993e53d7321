"""Ahead: what a person may open next is laid out while nothing else is asked, so that it stands there at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.view import scene as scenes
from tfgraphwidget.view.groups import outline_of
from tfgraphwidget.view.shown import Shown
from tfgraphwidget.view.visible import CLOSED, visible

# Opening shows so many boxes: below, the layout takes no time that anybody sees; above, one step of it would be felt by
# whoever starts a cell just then.
_FEWEST, _MOST = 60, 1_200
_AT_MOST = 6  # containers of one drawing
_LARGEST = 2_500  # boxes of a drawing that nobody may want to see: 500 KB
_OF_THE_STATE = ("kept", "shape")  # what drawings look like those before them by: nothing was drawn before here


class Ahead:
    """What waits to be laid out while nothing else is asked."""

    def __init__(self) -> None:
        self._now: tuple[GraphIndex, Shown] | None = None
        self._waiting: list[str] = []

    def step(self, index: GraphIndex, shown: Shown, memo: dict[Any, Any]) -> bool:
        """Lay out one large scope of the drawing that is closed; whether there are more."""
        if self._now is None or self._now[0] is not index or self._now[1] != shown:
            self._now, self._waiting = (index, shown), candidates(index, shown)
        if self._waiting:
            drawn(index, replace(shown, opened=shown.opened | {self._waiting.pop(0)}), memo)
        return bool(self._waiting)


def candidates(index: GraphIndex, shown: Shown) -> list[str]:
    """The closed scopes and groups of the drawing whose insides take a while to lay out, the largest first."""
    seen = visible(index, shown)
    outline = outline_of(index, fold=shown.fold)[0]
    own = np.bincount(outline.home, minlength=len(outline))
    found: list[tuple[int, str]] = []
    for item in np.flatnonzero(seen.kind == CLOSED).tolist():
        node = outline.ids.get(seen.names[item], 0)
        inside = int(own[node]) + len(outline.children[node])
        if node and _FEWEST <= inside <= _MOST:
            found.append((-inside, seen.names[item]))
    return [name for _, name in sorted(found)[:_AT_MOST]]


def foreseen(index: GraphIndex, shown: Shown, after: Shown, memo: dict[Any, Any]) -> scenes.Scene | None:
    """The drawing as it will be with more open than now; None where that takes too long, or is too large to be sent."""
    boxes = len(visible(index, after))
    if boxes > _LARGEST or boxes - len(visible(index, shown)) > _MOST:
        return None
    return drawn(index, after, memo)


def drawn(index: GraphIndex, shown: Shown, memo: dict[Any, Any]) -> scenes.Scene:
    """A drawing that may come; what it is made of is put into `memo`, and drawings to come stay the same."""
    own = {key: list(value) if key[0] == "kept" else value for key, value in memo.items()}
    scene = scenes.build(index, shown, memo=own)
    memo.update((key, value) for key, value in own.items() if key[0] not in _OF_THE_STATE and key not in memo)
    return scene
