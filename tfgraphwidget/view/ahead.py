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
_OF_THE_STATE = ("kept", "shape")  # what drawings look like those before them by: nothing was drawn before here


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


def lay_out(index: GraphIndex, shown: Shown, name: str, memo: dict[Any, Any]) -> None:
    """Put into `memo` what the drawing with the container `name` open is made of; drawings to come stay the same."""
    own = {key: list(value) if key[0] == "kept" else value for key, value in memo.items()}
    scenes.build(index, replace(shown, opened=shown.opened | {name}), memo=own)
    memo.update((key, value) for key, value in own.items() if key[0] not in _OF_THE_STATE and key not in memo)
