"""Rooms: the way from a graph into the functions that its ops call, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from tfgraphwidget.editor.graph_view import Room
from tfgraphwidget.editor.targets import Draft
from tfgraphwidget.errors import NoPath, NothingTo, UnknownName
from tfgraphwidget.graph.called_functions import Door, doors
from tfgraphwidget.graph.index import build
from tfgraphwidget.sources import open_function

if TYPE_CHECKING:
    from tfgraphwidget.sources import Body, Source


class Rooms:
    """The rooms from the outermost, a source's own graph, to the one that one stands in."""

    def __init__(self, first: Room) -> None:
        self._way = [first]
        self._known: dict[tuple[str, ...], Room] = {}

    @property
    def here(self) -> Room:
        """The innermost room."""
        return self._way[-1]

    @property
    def outermost(self) -> Room:
        """The room of the graph itself."""
        return self._way[0]

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the rooms, outermost first."""
        return tuple(room.title for room in self._way)

    @property
    def function(self) -> str:
        """The name in the library of the function that one stands in; "" in the outermost room, or after a rename."""
        if len(self._way) < 2:
            return ""
        outer = self._way[-2].index
        op, _, label = self.here.title.partition(":")
        if op not in outer.ids:
            return op if op in outer.functions else ""
        ways = doors(outer.nodes[outer.ids[op]], outer.functions)
        return next((door.function for door in ways if label in ("", door.label)), "")

    def doors(self, name: str) -> tuple[Door, ...]:
        """The functions that an op of this room calls."""
        index = self.here.index
        return doors(index.nodes[index.op(name)], index.functions)

    def enter(self, name: str, label: str = "") -> None:
        """Go into a function that an op calls, or into one of the library by its own name. Raises UnknownName."""
        index, body = self.here.index, self.here.body
        if name not in index.ids and name in index.functions:
            self._go_in(name, lambda: open_function(name, body))
            return
        ways = self.doors(name)
        if not ways:
            callers = [index.names[i] for i, node in enumerate(index.nodes) if doors(node, index.functions)]
            some = ", ".join(map(repr, callers[:3])) + (f" and {len(callers) - 3} more" if callers[3:] else "")
            others = f"these do: {some}" if callers else "nor does any other here"
            raise UnknownName(f"Op {name!r} calls no function that one could enter; {others}.", [name])
        way = next((d for d in ways if label in ("", d.label, d.function)), None)
        if way is None:
            known = " or ".join(repr(d.label) for d in ways)
            raise UnknownName(f"Op {name!r} calls no function as {label!r}; enter {known}.", [name])
        title = name if len(ways) == 1 else f"{name}:{way.label}"
        self._go_in(title, lambda: open_function(way.function, body, index, index.op(name)))

    def _go_in(self, title: str, open_body: Callable[[], Body]) -> None:
        path = (*self.path, title)
        if path not in self._known:
            body = open_body()
            held = build(body.nodes(), *body.collections(), typing=body.typing, functions=body.functions(), beside=body)
            self._known[path] = Room(title, lambda: body, Draft(held))
        self._way.append(self._known[path])

    @property
    def known(self) -> tuple[Room, ...]:
        """Each room that one has been in."""
        return self.outermost, *self._known.values()

    def inside(self, path: tuple[str, ...]) -> dict[str, Room]:
        """The rooms right behind the one of that path that one has been in, by their titles."""
        return {known[-1]: room for known, room in self._known.items() if known[:-1] == path}

    def go(self, path: tuple[str, ...]) -> None:
        """Stand in the room of that path, in which one was before; in the outermost when there is none."""
        known = [self._known[path[:depth]] for depth in range(2, len(path) + 1) if path[:depth] in self._known]
        self._way[1:] = known if len(known) == len(path) - 1 else []

    def leave(self, depth: int | None = None) -> None:
        """Go back one room, or to the room at this place of the path; NothingTo when there is none."""
        to = len(self._way) - 2 if depth is None else depth
        if not 0 <= to < len(self._way):
            raise NothingTo(f"There is no room to leave for; the path here is {' / '.join(self.path)}.")
        del self._way[to + 1 :]

    def start(self, source: Source) -> None:
        """Go where the chosen signature's work is done, or mark its ends when that is in the graph itself."""
        for op in source.entrance:
            self.enter(op)
        if source.signature is not None and not source.entrance:
            ends = source.signature.inputs, source.signature.outputs
            with contextlib.suppress(NoPath):  # a signature may name an input that it does not use
                self.here.mark(*(tuple(name for _, name in side) for side in ends))
