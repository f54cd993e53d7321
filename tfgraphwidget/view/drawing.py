"""What was decided for a container's inside, so that it can be taken up again and things stay where they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tfgraphwidget.view.flow import Plan
from tfgraphwidget.view.placed import Placed, Point
from tfgraphwidget.view.route import Column
from tfgraphwidget.view.structure import BORDER, Structure

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
