"""Room: one graph that one can stand in, a source's own or a function's, with what is chosen and open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import select
from tfgraphwidget.graph.between import between
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.named import check_ports
from tfgraphwidget.graph.selection import Selection, as_selection
from tfgraphwidget.names import by_new_name, enclosing_scopes, split_tensor
from tfgraphwidget.view import inside, pins, visible
from tfgraphwidget.view.groups import outline_of
from tfgraphwidget.view.items import drawn
from tfgraphwidget.view.outline import Outline
from tfgraphwidget.view.shown import Direction, Shown

if TYPE_CHECKING:
    from tfgraphwidget.edits.patch import Patch
    from tfgraphwidget.sources.body import Body
    from tfgraphwidget.view.scene import Scene

Names = str | Iterable[Any]
_FARTHEST = 10_000_000  # pixels; further out, the drawing's float32 knows no single pixels


class Site(Protocol):
    """A graph that edits are carried out in; `first` is what it was before all of them."""

    first: GraphIndex

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""

    def fitted(self, patch: Patch) -> Patch:
        """What a patch comes to here."""

    def carry_out(self, patch: Patch, then: Callable[[], None] = ..., *, renew: bool = True) -> tuple[str, ...]:
        """Apply, and `then()`, or leave everything as it was; a sentence for each thing that was lost by it."""

    def take_back(self, patch: Patch, *, renew: bool = True) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit; the patch that does it, and what was lost by it."""


class Room:
    """What one sees and has chosen in one graph; `title` is its place in the path.

    `body` is asked for each time: a file becomes a live graph. `site` is where edits are carried out.
    """

    def __init__(self, title: str, body: Callable[[], Body], site: Site) -> None:
        self.title, self.site, self._body = title, site, body
        self._boundary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._chosen: Selection | None = None
        self.opened = visible.default_open(self.index)
        self.hidden: frozenset[str] = frozenset()
        self.direction: Direction = "down"
        self.pinned: dict[str, tuple[float, float]] = {}
        self.memo: dict[Any, Any] = {}

    @property
    def body(self) -> Body:
        """Where the graph is read from."""
        return self._body()

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        return self.site.index

    # What is chosen

    @property
    def boundary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the inputs and of the outputs that mark a part, less what is no longer there."""
        ids = self.index.ids
        kept = tuple(tuple(n for n in side if split_tensor(n)[0] in ids or n in ids) for side in self._boundary)
        if kept != self._boundary:
            self._boundary, self._chosen = (kept[0], kept[1]), None
        return self._boundary

    @property
    def selection(self) -> Selection | None:
        """The ops chosen, or those between the boundaries; None when there is nothing."""
        index, boundary = self.index, self.boundary
        if any(boundary):
            if not all(boundary):
                return None
            if self._chosen is None or self._chosen.index is not index:
                self._chosen = between(index, *boundary)
        elif self._chosen is not None:
            self._chosen = self._chosen.on(index)
        return self._chosen or None

    def mark(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Selection | None:
        """Choose the boundary, and with it what lies between; raises NoPath and changes nothing."""
        self._chosen = between(self.index, inputs, outputs) if inputs and outputs else None
        self._boundary = (inputs, outputs)
        return self._chosen

    def remember(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        """Choose a boundary that is known to have something between."""
        self._boundary, self._chosen = (inputs, outputs), None

    def follow(self, renamed: Iterable[tuple[str, str]]) -> None:
        """Let the boundary name by their new names what was renamed; before anybody asks for it."""
        if names := dict(renamed):
            inputs, outputs = (tuple(by_new_name(name, names) for name in side) for side in self._boundary)
            self._boundary = inputs, outputs

    def choose(self, selection: Selection | None) -> None:
        """Choose these ops; the boundary is then empty."""
        self._chosen = None if selection is None else as_selection(selection).on(self.index)
        self._boundary = ((), ())

    # What is seen

    @property
    def shown(self) -> Shown:
        """What there is to see, and how."""
        return self.with_open(())

    @property
    def outline(self) -> Outline:
        """The tree that is drawn: name scopes, and groups made for the drawing."""
        return outline_of(self.index)[0]

    def is_container(self, name: str) -> bool:
        """Whether this is a scope's name and no op's, or a group's."""
        return name.rstrip("/") in self.outline.ids and name not in self.index.ids

    def members_of(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(ops, scopes) that a scope's or a group's box stands for: a scope itself, what a group holds.

        Raises UnknownName.
        """
        outline, nodes, scopes, ops = self.outline, [self._node(name)], [], []
        while nodes:
            node = nodes.pop()
            if outline.members[node]:
                nodes += outline.children[node][::-1]
                ops += np.flatnonzero(outline.home == node).tolist()
            else:
                scopes.append(outline.names[node])
        return tuple(self.index.names[op] for op in ops), tuple(scopes)

    def holding(self, name: str) -> Selection:
        """All ops inside a scope or group. Raises UnknownName."""
        ops, scopes = self.members_of(name)
        whole = select.scope(self.index, *scopes)
        return whole | select.ops(self.index, *ops) if ops else whole

    def with_open(self, scopes: Iterable[str], *, deep: bool = False) -> Shown:
        """What there is to see with name scopes and groups open, and those around them; `deep`: and all inside."""
        nodes = [self._node(name) for name in scopes]
        around = [outer for node in nodes for outer in self.outline.around(node)]
        opened = self.opened | self._names(around + (self._inside(nodes) if deep else nodes))
        pinned = pins.seen(self.pinned, self.index, opened, self.hidden)
        return Shown(opened, self.hidden, self.direction, pinned)

    def close(self, scopes: Iterable[str], *, deep: bool = False) -> None:
        """Close name scopes and groups in the drawing; `deep`: and all inside."""
        nodes = [self._node(name) for name in scopes]
        self.opened -= self._names(self._inside(nodes) if deep else nodes)

    def open_all(self) -> None:
        """Open every name scope and group; nothing stays where it was, so all is laid out anew."""
        self.opened = frozenset(self.outline.names) - {""}
        inside.anew(self.memo)

    def close_all(self) -> None:
        """Close every name scope and group, as laid out anew."""
        self.opened = frozenset()
        inside.anew(self.memo)

    def _node(self, name: str) -> int:
        """The number in the outline of a scope or group. Raises UnknownName."""
        found = self.outline.ids.get(name.rstrip("/"))
        return self.index.scopes.scope(name) if found is None else int(self.outline.one_with[found])

    def _names(self, nodes: Iterable[int]) -> frozenset[str]:
        names = self.outline.names
        return frozenset(names[node] for node in nodes if node)

    def _inside(self, nodes: list[int]) -> list[int]:
        found, children = list(nodes), self.outline.children
        for node in found:
            found += children[node]
        return found

    def hide(self, names: tuple[str, ...]) -> None:
        """Leave these out of the drawing."""
        self.hidden |= {name.rstrip("/") if self.is_container(name) else name for name in names}

    @property
    def hidden_ops(self) -> int:
        """How many ops are left out of the drawing."""
        return int((~drawn(self.index, self.outline, self.hidden)).sum()) if self.hidden else 0

    def show_only(self, names: tuple[str, ...]) -> None:
        """Leave all but these out of the drawing; the scopes around them are drawn."""
        tree = self.index.scopes
        kept = {part.rstrip("/") for name in names for part in self._real(name)}
        around = {outer for name in kept for outer in enclosing_scopes(name)}
        hidden: set[str] = set()
        level = [0]
        while level:
            scope = level.pop()
            ops = np.flatnonzero(tree.scope_of == scope)
            hidden |= {self.index.names[op] for op in ops.tolist()} - kept
            for inner in tree.children[scope]:
                name = tree.names[inner]
                if name in around and name not in kept:
                    level.append(inner)
                elif name not in kept:
                    hidden.add(f"{name}/" if name in self.index.ids else name)
        self.hidden = frozenset(hidden)

    def _real(self, name: str) -> tuple[str, ...]:
        """The names of ops and scopes that a name means: of a group what it holds."""
        ops, scopes = self.members_of(name) if self.is_container(name) else ((name,), ())
        return ops + scopes

    def pin(self, scene: Scene, name: str, x: float, y: float) -> None:
        """Keep an item of a scene at this place of it. Raises UnknownName for what is not drawn."""
        item = pins.box_of(scene, name)
        if item is None:
            raise UnknownName(f"{name[:60]!r} is not drawn, so it cannot be put anywhere; open the scopes around it.")
        if not max(abs(x), abs(y)) <= _FARTHEST:
            raise GraphEditError(f"A place is at most {_FARTHEST:,} pixels from the corner of the drawing.")
        left, top = scene.box[scene.parent[item], :2].tolist()
        self.pinned = {**self.pinned, pins.key_of(scene, item): (x - left, y - top)}

    def unpin(self, name: str = "") -> None:
        """Forget where an item was put by hand; without a name, all of them, and how the drawing came about."""
        self.pinned = pins.without(self.pinned, name)
        if not name:
            inside.anew(self.memo)

    def reveal(self, name: str) -> str:
        """Open the scopes and groups around an op, a tensor, a scope or a group; the name of the op or scope."""
        index = self.index
        if not isinstance(name, str):
            raise UnknownName(f"{str(name)[:60]!r} is no name; write that of an op, a tensor or a scope.")
        if self.is_container(name):
            node = self._node(name)
            found, around = self.outline.names[node], self.outline.around(node)
        else:
            op = index.op(name)
            node = int(self.outline.home[op])
            found, around = index.names[op], [node, *self.outline.around(node)]
        self.opened |= self._names(around)
        # What is asked for is shown, though it, or what is around it, was hidden.
        shown = {found, name, *self._names(around), *self._names([node])}
        self.hidden = frozenset(hidden for hidden in self.hidden if hidden.removesuffix("/") not in shown)
        return found

    # Names

    def names(self, given: Names) -> tuple[str, ...]:
        """Op and tensor names of what was given: names, tensors, ops, selections, one or many; each is in this graph.

        Raises UnknownName.
        """
        # A tensor is an Iterable too, and says so only when it is asked for its first row.
        single = isinstance(given, str | Selection) or hasattr(given, "name") or not hasattr(given, "__iter__")
        index, body = self.index, self.body
        flat: list[Any] = []
        for item in [given] if single else given:
            if isinstance(item, Selection):
                here = item.on(index)  # refuses those of other rooms and editors
                flat += (*here.ops, *here.tensors)
            else:
                flat.append(item)
        names = tuple(_name(item, index, body) for item in flat)
        check_ports(index, names)
        return names


def _name(item: Any, index: GraphIndex, body: Body) -> str:
    name = str(item) if isinstance(item, str) else getattr(item, "name", None)
    if not isinstance(name, str):
        raise UnknownName(f"{str(item)[:60]!r} is neither a name nor a tensor or op of a graph; write 'scope/op:0'.")
    mine = getattr(body, "graph", None)
    if not isinstance(item, str) and getattr(item, "graph", mine) is not mine:
        raise UnknownName(
            f"{name!r} belongs to another graph than the one this editor holds; open an editor on that graph."
        )
    if name in index.ids:
        return name
    op, port = split_tensor(name)
    shown = body.alias.get(op, op)
    index.op(shown)
    return shown if port is None else f"{shown}:{port}"
