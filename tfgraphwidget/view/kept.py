"""The drawings of one scope that others of it are made after, so that things stay where the eye left them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.view.drawing import Drawing, Like
from tfgraphwidget.view.structure import Structure
from tfgraphwidget.view.wrap import cost

_MOST = 6
# A drawing made after another is given up when it is so far from square, and so much worse than a new one.
_HOPELESS, _WASTE, _FEW = 4.0, 2.0, 6


@dataclass(frozen=True)
class Keep:
    """A drawing, all that it was made of, and the names of its nodes."""

    whole: tuple[Any, ...]
    names: Sequence[str]
    drawing: Drawing

    def numbers(self, names: Sequence[str]) -> Sequence[int]:
        """The number here of each of these nodes, -1 for one that is not here."""
        if names == self.names:
            return range(len(names))
        number = {name: i for i, name in enumerate(self.names)}
        return [number.get(name, -1) for name in names]


Kept = list[Keep]  # that was used last comes last


def find(kept: Kept, whole: tuple[Any, ...]) -> Drawing | None:
    """The drawing that was made of just this; it is the last then."""
    for number, one in enumerate(kept):
        if one.whole == whole:
            kept.append(kept.pop(number))
            return one.drawing
    return None


def nearest(kept: Kept, structure: Structure, names: Sequence[str]) -> Like | None:
    """The drawing to make one of this structure after, None where most has come or gone since; it is the last then."""
    best: tuple[int, int, Like] | None = None
    for number, one in enumerate(kept):
        like = Like(one.drawing, one.numbers(names))
        nodes, lines = like.nodes_changed(), like.lines_changed(structure)
        most = max(len(structure.lines), len(one.drawing.asked.lines))
        if nodes > len(names) // 2 or lines > max(1, most // 2):
            continue
        if best is None or nodes + lines <= best[0]:
            best = nodes + lines, number, like
    if best is None:
        return None
    kept.append(kept.pop(best[1]))
    return best[2]


def keep(kept: Kept, one: Keep) -> None:
    """Keep a drawing as the last, and no more than a few."""
    del kept[: max(0, len(kept) - _MOST + 1)]
    kept.append(one)


def is_given_up(drawing: Drawing, aspect: float, anew: Callable[[], Drawing]) -> bool:
    """Whether a drawing made after another is far from square, and much worse than a new one."""
    ratio = max(drawing.placed.width, 1.0) / max(drawing.placed.height, 1.0)
    if len(drawing.sizes) < _FEW or 1 / _HOPELESS <= ratio <= _HOPELESS:
        return False
    now, fresh = (cost(one.placed.height, one.placed.width, aspect) for one in (drawing, anew()))
    return now > _WASTE * fresh
