"""The rooms of a page: the graph, the functions on the way to where one stands, and all that their ops call.

Functions are entered as in the editor, outermost first. One that is called with the same variables from many places is
one room. A page would be as large as its bodies, so these come to so many ops at most: what is further in than that is
left out, and its doors say so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.html.page_input import Rooms, Seen, Viewed
from tfgraphwidget.graph import Door, GraphIndex, build, doors
from tfgraphwidget.hierarchy import default_open, facts
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sources import Body, SignatureLine, body_signature, definition_signature, open_function
from tfgraphwidget.tf_types import NodeDef
from tfgraphwidget.visible import Shown

_MOST_OPS = 20_000  # in all bodies, those on the way to where one stands aside: some 2 MB of the page
_MOST_ROOMS = 500
_MOST_READ = 4 * _MOST_OPS  # of bodies that turn out to be another room's


class Doorway(NamedTuple):
    """A function that op number `op` calls: `ops` in its body, which is the page's room number `room`.

    Where `room` is -1, `why` is the sentence that says why it is not in the page.
    """

    op: int
    label: str
    function: str
    ops: int
    room: int
    why: str
    signature: tuple[SignatureLine, ...]


@dataclass
class Opened:
    """One room: what it shows, where the functions behind its doors are, and what it is called with and gives.

    `ends` are the numbers of the ops that stand for its arguments and results.
    """

    viewed: Viewed
    path: tuple[str, ...]
    body: Body | None = None
    ways: list[Doorway] = field(default_factory=list)

    @property
    def signature(self) -> tuple[tuple[SignatureLine, ...], list[int]]:
        """Arguments and results with dtypes and shapes, and the ops that stand for them; nothing of a graph itself."""
        index, body = self.viewed.index, self.body
        if body is None:
            return (), []
        arguments = tuple(name for name in body.arguments if split_tensor(name)[0] in index.ids)
        returns = {key: name for key, name in body.returns.items() if split_tensor(name)[0] in index.ids}
        ends = {index.ids[split_tensor(name)[0]] for name in (*arguments, *returns.values())}
        return tuple(body_signature(index, arguments, returns)), sorted(ends)


def opened(viewed: Viewed) -> tuple[list[Opened], list[int]]:
    """All rooms of a page, and the numbers of those on the way to where one stands, outermost first."""
    if viewed.rooms is None:
        return [Opened(viewed, viewed.path)], [0]
    search = _Search(viewed, viewed.rooms)
    way = [search.been(path, seen) for path, seen in _way(viewed.rooms)]
    for room in search.found:  # which grows
        room.ways += search.ways(room)
    return search.found, way


def _way(rooms: Rooms) -> Iterator[tuple[tuple[str, ...], Seen]]:
    path = rooms.path
    yield path[:1], rooms.outermost
    for depth in range(1, len(path)):
        yield path[: depth + 1], rooms.inside(path[:depth])[path[depth]]


class _Search:
    """Rooms by what tells them apart: where one has been, else what the body is."""

    def __init__(self, here: Viewed, rooms: Rooms) -> None:
        self.found: list[Opened] = []
        self._here, self._rooms = here, rooms
        self._numbers: dict[Hashable, int] = {}
        self._room, self._patience = _MOST_OPS, _MOST_READ

    def been(self, path: tuple[str, ...], seen: Seen) -> int:
        """The number of a room that one has been in."""
        if path in self._numbers:
            return self._numbers[path]
        chosen, index = seen.selection, seen.index
        inputs, outputs = seen.boundary
        selected = () if chosen is None else tuple(index.ids[name] for name in chosen.ops)
        viewed = self._of(index, seen.shown, seen.memo)
        return self._put(path, replace(viewed, selected=selected, inputs=inputs, outputs=outputs), path, seen.body)

    def ways(self, room: Opened) -> Iterator[Doorway]:
        """What leads further in, once those rooms are there."""
        index, body = room.viewed.index, room.body
        if body is None or not index.functions:
            return
        known = self._rooms.inside(room.path)
        for op in np.flatnonzero(facts(index).calls_function).tolist():
            calls = [index.shape(op, k) for k in range(len(index.dtypes(op)))]
            found = doors(index.nodes[op], index.functions)
            for door in found:
                title = index.names[op] if len(found) == 1 else f"{index.names[op]}:{door.label}"
                definition = index.beside.function(door.function)
                size = len(definition.signature.input_arg) + len(definition.node_def)
                path = (*room.path, title)
                number, why = self._behind(path, known.get(title), lambda d=door, o=op: _read(d, body, index, o), size)
                lines = definition_signature(definition, [] if door.label == "cond" else calls)
                told = ((f"{door.label} {a}" if len(found) > 1 else a, b, c) for a, b, c in lines)
                yield Doorway(op, door.label, door.function, size, number, why, tuple(told))

    def _behind(self, path: tuple[str, ...], seen: Seen | None, read: Any, size: int) -> tuple[int, str]:
        """The number of the room of that path; or -1, and why it is not in the page."""
        if path in self._numbers:
            return self._numbers[path], ""
        if size > min(self._room, self._patience) or len(self.found) >= _MOST_ROOMS:
            return -1, (
                f"This page has no room for {path[-1][:60]!r} of {size:,} ops: with all functions that it has already "
                f"it would be too large; open the graph with tgw.edit(…) to go in, or save a page in there."
            )
        if seen is not None:
            self._room -= len(seen.index)
            return self.been(path, seen), ""
        self._patience -= size
        try:
            name, body, nodes = read()
            key = name, _digest(nodes)
            if key not in self._numbers:
                held = build(nodes, *body.collections(), typing=body.typing, functions=body.functions(), beside=body)
                self._room -= len(held)
                self._put(key, self._of(held, Shown(default_open(held))), path, body)
        except GraphEditError as error:
            return -1, str(error)
        return self._numbers[key], ""

    def _of(self, index: GraphIndex, shown: Shown, memo: LayoutCache | None = None) -> Viewed:
        here = self._here
        if index is here.index:
            return here
        colours = here.coloured(index)
        memo = LayoutCache() if memo is None else memo
        return replace(here, index=index, shown=shown, memo=memo, selected=(), inputs=(), outputs=(), colours=colours)

    def _put(self, key: Hashable, viewed: Viewed, path: tuple[str, ...], body: Body) -> int:
        self._numbers[key] = len(self.found)
        self.found.append(Opened(viewed, path, body))
        return self._numbers[key]


def _read(door: Door, body: Body, index: GraphIndex, op: int) -> tuple[str, Body, list[Any]]:
    inner = open_function(door.function, body, index, op)
    return door.function, inner, inner.nodes()


def _digest(nodes: list[NodeDef]) -> bytes:
    """The same for the same ops under the same names."""
    whole = hashlib.sha256()
    for node in nodes:
        data = node.SerializeToString(deterministic=True)
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.digest()
