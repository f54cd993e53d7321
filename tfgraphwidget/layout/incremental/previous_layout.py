"""Earlier layouts of a scope: what was decided for them, so that the next layout keeps things where
they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tfgraphwidget.layout.geometry import ContainerLayout, Point
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.layered.components import BORDER, Structure
from tfgraphwidget.layout.layered.layered_graph import LayeredGraph, NodePorts
from tfgraphwidget.layout.layered.routing import Column

Size = tuple[float, float]


@dataclass(frozen=True)
class Packing:
    """The boxes packed beside or `below` the rest: sizes, corners, components' or nodes' number."""

    below: bool
    members: Sequence[int]
    boxes: Sequence[Size]
    places: Sequence[Point]


@dataclass
class LayoutRecord:
    """The layout of a container with the decisions that led to it.

    `structure` is how it was drawn: as `requested`, but with what was one component before as one
    still. `layered_graphs` are per component, None for one without edges. `packs` are of "parts"
    (components) and of "quiet" (isolated) nodes.
    """

    requested: Structure
    structure: Structure
    sizes: Sequence[Size]
    layered_graphs: list[tuple[LayeredGraph, list[Column]] | None] = field(default_factory=list)
    packs: dict[str, Packing] = field(default_factory=dict)
    layout: ContainerLayout = field(init=False)


@dataclass(frozen=True)
class PreviousLayout:
    """An earlier layout to keep the next one similar to.

    `number` is the earlier number of each node, -1 for new ones.
    """

    drawing: LayoutRecord
    number: Sequence[int]

    def nodes_changed(self) -> int:
        """How many nodes have come or gone since."""
        same = sum(number >= 0 for number in self.number)
        return max(len(self.number), len(self.drawing.sizes)) - same

    def lines_changed(self, structure: Structure) -> int:
        """How many pairs of nodes the lines of a structure newly join, and how many no more."""
        if self.drawing.requested is structure:
            return 0
        old = {edge[:2] for edge in self.drawing.structure.edges}
        number = [*self.number, BORDER]
        now = {(edge.source, edge.target) for edge in structure.edges}
        pairs = [(number[source], number[target]) for source, target in now]
        return len(old.difference(pairs)) + sum(pair not in old for pair in pairs)

    def has_same_lines(self, structure: Structure) -> bool:
        """Whether the nodes and lines are those of before, but for the ports that lines have.

        Args:
            structure: The items and edges of one container.
        """
        return not self.nodes_changed() and not self.lines_changed(structure)


_MOST = 6  # layouts of one container that are remembered
# A drawing that keeps to an earlier one is given up if it is far from square, and worse than a new
# one.
_HOPELESS = 4.0  # width to height, or height to width
_WASTE = 2.0  # its cost, as a multiple of that of the new one
_FEW = 6  # boxes; a drawing of fewer is never given up


class LayoutKey(NamedTuple):
    """The key of a container's layout: structure, shape, title, its nodes' sizes and ports."""

    structure: bytes
    level: int
    sizes: bytes
    ports: tuple[NodePorts, ...]
    title: float


@dataclass(frozen=True)
class CachedLayout:
    """A layout, the key of all that it depends on, and the names of its nodes."""

    key: LayoutKey
    names: Sequence[str]
    drawing: LayoutRecord

    def numbers(self, names: Sequence[str]) -> Sequence[int]:
        """The number here of each of these nodes, -1 for one that is not here."""
        if names == self.names:
            return range(len(names))
        number = {name: i for i, name in enumerate(self.names)}
        return [number.get(name, -1) for name in names]


PreviousLayouts = list[CachedLayout]  # that was used last comes last


def translate_names(
    previous: Sequence[CachedLayout], before: Sequence[str], names: Sequence[str]
) -> PreviousLayouts:
    """Return the layouts of one scope for another one that is alike.

    Args:
        names: The names of the nodes of the other, in the same order.
    """
    if len(before) != len(names):
        return [*previous]
    result, new_name = [], dict[str, str]()
    for one in previous:
        if one.names == before:  # nearly always, in tens of thousands of scopes
            own_names = names
        else:
            new_name = new_name or dict(zip(before, names, strict=True))
            own_names = [new_name.get(name, name) for name in one.names]
        result.append(CachedLayout(one.key, own_names, one.drawing))
    return result


def find(previous: PreviousLayouts, key: LayoutKey) -> LayoutRecord | None:
    """Return the layout of a key, and make it the last used; None if there is none."""
    for number, one in enumerate(previous):
        if one.key == key:
            previous.append(previous.pop(number))
            return one.drawing
    return None


def most_similar(
    previous: PreviousLayouts, structure: Structure, names: Sequence[str]
) -> PreviousLayout | None:
    """Find the earlier layout that is most similar to a structure, and make it the last used.

    Args:
        previous: The earlier layouts; their order changes.

    Returns:
        The earlier layout; None if most of each has changed.
    """
    best: tuple[int, int, PreviousLayout] | None = None
    for number, one in enumerate(previous):
        candidate = PreviousLayout(one.drawing, one.numbers(names))
        nodes, edges = candidate.nodes_changed(), candidate.lines_changed(structure)
        most = max(len(structure.edges), len(one.drawing.requested.edges))
        if nodes > len(names) // 2 or edges > max(1, most // 2):
            continue
        if best is None or nodes + edges <= best[0]:
            best = nodes + edges, number, candidate
    if best is None:
        return None
    previous.append(previous.pop(best[1]))
    return best[2]


def remember(previous: PreviousLayouts, one: CachedLayout) -> None:
    """Add a layout as the last used, and drop all but a few."""
    del previous[: max(0, len(previous) - _MOST + 1)]
    previous.append(one)


def is_too_distorted(
    drawing: LayoutRecord, aspect: float, fresh_layout: Callable[[], LayoutRecord]
) -> bool:
    """Decide whether a derived layout is far from square and much worse than a fresh one.

    Args:
        drawing: A layout that was derived from an earlier one.
        aspect: The target ratio of width to height.
        fresh_layout: Lays the same graph out without an earlier layout.
    """
    ratio = max(drawing.layout.width, 1.0) / max(drawing.layout.height, 1.0)
    if len(drawing.sizes) < _FEW or 1 / _HOPELESS <= ratio <= _HOPELESS:
        return False
    now, fresh = (
        cost(one.layout.height, one.layout.width, aspect) for one in (drawing, fresh_layout())
    )
    return now > _WASTE * fresh
