"""What was decided for a container's inside, so that it can be taken up again and things stay where they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.layout.geometry import Placed, Point
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.layered.components import BORDER, Structure
from tfgraphwidget.layout.layered.layered_graph import Plan
from tfgraphwidget.layout.layered.routing import Column

Size = tuple[float, float]


@dataclass(frozen=True)
class Pack:
    """What was packed beside or `below` the rest: sizes, corners, and what each is (a part's or a node's number)."""

    below: bool
    members: Sequence[int]
    boxes: Sequence[Size]
    places: Sequence[Point]


@dataclass
class Drawing:
    """A container's inside, and how it came about.

    `structure` is how it was drawn: what was `asked`, but with what was one part before as one part still. `plans` are
    by its parts, None for a part without lines. `packs` are of "parts" and of "quiet" nodes.
    """

    asked: Structure
    structure: Structure
    sizes: Sequence[Size]
    plans: list[tuple[Plan, list[Column]] | None] = field(default_factory=list)
    packs: dict[str, Pack] = field(default_factory=dict)
    placed: Placed = field(init=False)


@dataclass(frozen=True)
class Like:
    """A drawing to be taken up again; `number` is what each node's number was in it, -1 for one that was not there."""

    drawing: Drawing
    number: Sequence[int]

    def nodes_changed(self) -> int:
        """How many nodes have come or gone since."""
        same = sum(number >= 0 for number in self.number)
        return max(len(self.number), len(self.drawing.sizes)) - same

    def lines_changed(self, structure: Structure) -> int:
        """How many lines of a structure have come, and how many have gone since."""
        if self.drawing.asked is structure:
            return 0
        old = Counter(line[:2] for line in self.drawing.structure.lines)
        number = [*self.number, BORDER]
        now = Counter((number[line.source], number[line.target]) for line in structure.lines)
        return (old - now).total() + (now - old).total()


# The drawings of one scope that others of it are made after, so that things stay where the eye left them.


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
