"""Looking: moving about in a graph, choosing and drawing parts of it. Nothing here changes the graph."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfgraphwidget.graph import walks
from tfgraphwidget.graph.doors import Door
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.names import split_tensor
from tfgraphwidget.room import Names, Room
from tfgraphwidget.rooms import Rooms
from tfgraphwidget.selecting import Selecting
from tfgraphwidget.view import scene as scenes

if TYPE_CHECKING:
    from tfgraphwidget.sources.body import Source

_log = logging.getLogger(__name__)


class Looking(Selecting):
    """What a person sees of a graph: where they stand, what is open, what is chosen; GraphEditor is one of these.

    `layout` is any networkx layout: a callable that takes a graph and returns {node: (x, y)}. `fresh` holds the names
    of the ops that the last edit made. `listeners` are called after each change of what is seen.
    """

    def __init__(self, first: Room, source: Source, layout: Any) -> None:
        self._layout = layout
        self._rooms = Rooms(first)
        self._rooms.start(source)
        self.fresh: frozenset[str] = frozenset()
        self.listeners: list[Callable[[], None]] = []

    def changed(self) -> None:
        """Tell all who listen. What they are told of is done, so what one of them raises is only logged."""
        for listener in tuple(self.listeners):
            _tell(listener)

    # Where one stands

    @property
    def index(self) -> GraphIndex:
        """The graph one stands in as it is now; ops that other cells added are taken in."""
        return self.room.index

    @property
    def room(self) -> Room:
        """The graph one stands in: the source's own, or a function's body."""
        return self._rooms.here

    @property
    def breadcrumb(self) -> tuple[str, ...]:
        """Where one stands: the source's title, then each op entered."""
        return self._rooms.path

    def doors(self, op: Any) -> tuple[Door, ...]:
        """The functions that an op calls, each with what the op uses it as ("body", "cond", "f")."""
        return self._rooms.doors(self._one(op))

    def enter(self, op: Any, label: str = "") -> None:
        """Stand in the function that an op calls: `editor.enter("while", "body")`; without a label, the first one.

        A function of the graph's library can be entered by its own name too. Raises UnknownName.
        """
        self._rooms.enter(op if isinstance(op, str) and op in self.index.functions else self._one(op), str(label))
        self.changed()

    def leave(self, depth: int | None = None) -> None:
        """Go back one room, or to the one at this place of `breadcrumb` (0: the graph itself). Raises NothingTo."""
        self._rooms.leave(depth)
        self.changed()

    # What is chosen; Selecting has the ways to say it

    def _names(self, given: Any) -> tuple[str, ...]:
        return self.room.names(given)

    def mark(self, inputs: Names = (), outputs: Names = ()) -> Selection | None:
        """Choose the boundary, as clicks do; the selection between, once there are outputs and inputs.

        Raises UnknownName or NoPath and keeps the boundary as it was.
        """
        selection = self.room.mark(self._names(inputs), self._names(outputs))
        self.changed()
        return selection

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input boundary."""
        return self.room.boundary[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the output boundary."""
        return self.room.boundary[1]

    @property
    def selection(self) -> Selection | None:
        """What lights up: the ops between the boundaries, or those chosen. Assign a Selection, or None."""
        return self.room.selection

    @selection.setter
    def selection(self, chosen: Any) -> None:
        self.room.choose(chosen if chosen is None or isinstance(chosen, Selection) else self.ops(*self._names(chosen)))
        self.changed()

    # What is seen

    @property
    def opened(self) -> frozenset[str]:
        """The scopes that are open in the drawing."""
        return self.room.opened

    def open(self, *scopes: str) -> None:
        """Open name scopes in the drawing, and those around them."""
        self.room.open(scopes)
        self.changed()

    def close(self, *scopes: str) -> None:
        """Close name scopes in the drawing."""
        self.room.close(scopes)
        self.changed()

    def reveal(self, name: str) -> str:
        """Open the scopes around an op, a tensor or a scope; the name of the op or scope."""
        before, found = self.room.opened, self.room.reveal(name)
        if self.room.opened != before:
            self.changed()
        return found

    def scene(self) -> scenes.Scene:
        """The drawing as arrays; see `view.scene` for the fields."""
        room = self.room
        return scenes.build(room.index, room.opened, layout=self._layout, memo=room.memo)

    def paint(self, scene: scenes.Scene) -> scenes.Paint:
        """The selection, the boundary and the last edit, per item of a scene."""
        index, selection, boundary = scene.index, self.selection, self.room.boundary
        fresh = walks.mask_of(index, (index.ids[n] for n in self.fresh if n in index.ids))
        # Another thread may have added ops since the scene was made: what is painted is what is drawn.
        known = [[n for n in side if n in index.ids or split_tensor(n)[0] in index.ids] for side in boundary]
        inputs, outputs = ([index.op(name) for name in side] for side in known)
        chosen = walks.mask_of(index, ()) if selection is None else selection.on(index).mask
        return scenes.paint(scene, chosen, inputs, outputs, fresh)

    def draw(self, ax: Any = None, *, dark: bool = False) -> Any:
        """Draw the same picture with matplotlib, into the Axes `ax` or a new figure; the Axes."""
        from tfgraphwidget.view import draw

        scene = self.scene()
        return draw.draw(scene, ax, paint=self.paint(scene), dark=dark)

    def networkx(self) -> Any:
        """The graph one stands in as a `networkx.MultiDiGraph`; see `graph.nx.networkx`."""
        from tfgraphwidget.graph import nx

        return nx.networkx(self.index)

    def table(self) -> Any:
        """One row for each op, as a pandas DataFrame when pandas is installed, else as a list of dicts."""
        from tfgraphwidget.graph import table

        return table.table(self.index)


def _tell(listener: Callable[[], None]) -> None:
    try:
        listener()
    except Exception:  # whatever it is, it is the listener's
        _log.exception("The graph has changed, and a listener of its editor failed: %r", listener)
