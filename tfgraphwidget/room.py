"""Room: one graph that one can stand in, a source's own or a function's, with what is chosen and open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph.between import between
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.named import check_ports
from tfgraphwidget.graph.selection import Selection, as_selection
from tfgraphwidget.names import enclosing_scopes, split_tensor
from tfgraphwidget.view import visible

if TYPE_CHECKING:
    from tfgraphwidget.edits.patch import Patch
    from tfgraphwidget.sources.body import Body

Names = str | Iterable[Any]


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
        self.title, self.site = title, site
        self._body = body
        self._boundary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._chosen: Selection | None = None
        self.opened = visible.default_open(self.index)
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

    def choose(self, selection: Selection | None) -> None:
        """Choose these ops; the boundary is then empty."""
        self._chosen = None if selection is None else as_selection(selection).on(self.index)
        self._boundary = ((), ())

    # What is open

    def open(self, scopes: Iterable[str]) -> None:
        """Open name scopes in the drawing, and those around them."""
        tree = self.index.scopes
        names = {tree.names[tree.scope(name)] for name in scopes}
        self.opened |= names | {outer for name in names for outer in enclosing_scopes(name)}

    def close(self, scopes: Iterable[str]) -> None:
        """Close name scopes in the drawing."""
        tree = self.index.scopes
        self.opened -= {tree.names[tree.scope(name)] for name in scopes}

    def reveal(self, name: str) -> str:
        """Open the scopes around an op, a tensor or a scope; the name of the op or scope."""
        index = self.index
        if not isinstance(name, str):
            raise UnknownName(f"{str(name)[:60]!r} is no name; write that of an op, a tensor or a scope.")
        is_scope = name.rstrip("/") in index.scopes.ids and name not in index.ids
        found = name.rstrip("/") if is_scope else index.names[index.op(name)]
        around = set(enclosing_scopes(found)) | ({found} if found in index.scopes.ids and not is_scope else set())
        self.opened |= around
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
