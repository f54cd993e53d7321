"""Changing: the history of edits of a graph, taken back and done again. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget.edits import code
from tfgraphwidget.edits.history import History, Step
from tfgraphwidget.edits.places import taken_names
from tfgraphwidget.errors import NothingTo, NotRunnable
from tfgraphwidget.live import LiveGraph
from tfgraphwidget.looking import Looking
from tfgraphwidget.names import free_name
from tfgraphwidget.room import Room

if TYPE_CHECKING:
    from tfgraphwidget.edits.patch import Patch
    from tfgraphwidget.graph.index import GraphIndex
    from tfgraphwidget.sources.body import Source


class Changing(Looking):
    """Remembers the edits of a graph: each a command, the patch it came to, and what the person got."""

    def __init__(self, source: Source, layout: Any = None) -> None:
        self._source = source
        self._live = LiveGraph(source)
        self._history = History()
        super().__init__(Room(source.title, lambda: source.body, lambda: self._live.index), source, layout)

    def free_scope(self, wanted: str = "copy") -> str:
        """`wanted`, or with a number behind it: a scope name that nobody has taken."""
        made = {scope.lower() for scope in self.copies}  # modules stand in no graph
        return free_name(wanted, taken_names(self.index, wanted) | self._live.left() | made)

    @property
    def outermost(self) -> GraphIndex:
        """The source's own graph as it is now, wherever one stands."""
        return self._live.index

    @property
    def in_function(self) -> bool:
        """Whether one stands in a function's body, whose clones are modules."""
        return len(self.breadcrumb) > 1 or bool(self._source.refusal)

    def read_only(self) -> str:
        """Why the graph one stands in cannot be changed, as a sentence with a way out; "" when it can."""
        if len(self.breadcrumb) > 1:
            return (
                f"{self.room.title!r} is a function that the graph calls, and its ops cannot be changed in place; "
                "leave it (editor.leave(0)) to edit the graph itself."
            )
        # A library of ops may have been loaded since: an edit tries again, and says why not.
        return self._source.refusal or ("" if self._source.graph is not None else self._source.stopped)

    def default_init(self) -> Literal["current", "initial", "none"]:
        """What the variables of a clone can be given: "current" values where the session or a checkpoint has them."""
        if self._source.graph is None or self._source.session is not None:
            return "current" if self._live.has_values() else "initial"
        return "none"

    def _check_editable(self) -> None:
        if self.in_function:
            raise NotRunnable(self.read_only())

    def _remember(self, command: Any, patch: Patch, place: LiveGraph | None, made: tuple[Any, ...]) -> None:
        """Push a step that was carried out in `place`; its ops are the new ones. The caller tells those who listen."""
        self._history = self._history.pushed(Step(command, patch, place, made))
        self.fresh = frozenset(node.name for node in patch.add.nodes) if place is self._live else frozenset()

    def undo(self) -> str:
        """Take the last edit back; the line of code that it was. On a live graph its ops are hidden."""
        step = self._history.last()
        if step.place is None:  # a module: the graph is as it was
            self._history = self._history.after_undo(step.patch)
            return self._done(step, frozenset())
        index = step.place.index
        taken_back = step.patch.inverse().with_dependents(index)
        if any(node.name not in index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has undone this already: {code.line(step.command)}; redo it there first.")
        step.place.carry_out(taken_back, _nothing)
        self._history = self._history.after_undo(taken_back)
        return self._done(step, frozenset())

    def redo(self) -> str:
        """Do again what was undone last; the same ops and variables come back, with the values they have."""
        step = self._history.next()
        if step.place is None:
            self._history = self._history.after_redo()
            return self._done(step, frozenset())
        there = step.place.index.ids
        if any(node.name in there for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has done this again already: {code.line(step.command)}.")
        step.place.carry_out(step.patch, _nothing)
        self._history = self._history.after_redo()
        return self._done(step, frozenset(node.name for node in step.patch.add.nodes))

    def _done(self, step: Step, fresh: frozenset[str]) -> str:
        """What every step back or forth ends with: one stands in the graph itself, and sees what is new."""
        self._rooms.leave(0)
        self.fresh = fresh if step.place is self._live else frozenset()
        self.changed()
        return code.line(step.command)

    @property
    def history(self) -> History:
        """What was done and undone."""
        return self._history

    @property
    def copies(self) -> dict[str, Any]:
        """What was made and not undone, by name scope: after a click, `editor.copies["copy"]`."""
        return {made.scope: made for step in self._history.done for made in step.made}

    def code(self) -> str:
        """The lines of Python that do what was done so far; `editor` is this editor."""
        return "\n".join(code.lines(step.command for step in self._history.done))


_nothing: Callable[[], None] = lambda: None  # noqa: E731
