"""Changing: the history of edits of a graph, taken back and done again. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.cancellation import held_back
from tfgraphwidget.editor.graph_view import Room
from tfgraphwidget.editor.targets import LiveGraph
from tfgraphwidget.editor.view_api import Seeing
from tfgraphwidget.edits.clone.scopes import taken_names
from tfgraphwidget.edits.history import History, Step
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.serialization import python_source
from tfgraphwidget.errors import NothingTo, NotRunnable, UnknownName
from tfgraphwidget.naming import did_you_mean, free_name

if TYPE_CHECKING:
    from typing import Unpack  # Python 3.10 has none

    from tfgraphwidget.editor.graph_view import Site
    from tfgraphwidget.graph.index import GraphIndex
    from tfgraphwidget.sources import Source


class How(TypedDict, total=False):
    """What a step hangs on beside its command; see `edits.history.Step`."""

    renewed: bool
    reserved: tuple[str, ...]
    imported: bool


class Copies(dict[str, Any]):
    """What an editor has made, by name scope; asking for another name raises UnknownName."""

    def __getitem__(self, scope: object) -> Any:
        if isinstance(scope, str) and scope in self:
            return super().__getitem__(scope)
        near = did_you_mean(scope, self) if isinstance(scope, str) else ""
        raise UnknownName(f"This editor has no copy {shown(scope)}, or it was undone.{near}")


class Changing(Seeing):
    """Remembers the edits of a graph: each a command, the patch it came to, and what the person got."""

    def __init__(self, source: Source, layout: Any = None) -> None:
        self._source = source
        self._live = LiveGraph(source)
        self._history = History()
        self.lost: tuple[str, ...] = ()  # what the session could not keep over the last step
        super().__init__(Room(source.title, lambda: source.body, self._live), source, layout)

    def free_scope(self, wanted: str = "copy") -> str:
        """`wanted`, or with a number behind it: a scope name that nobody has taken.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.free_scope("net"), editor.free_scope("twin")
        ('net_1', 'twin')
        """
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
        """Why what one stands in cannot run and grow as a graph does, with a way out; "" when it can."""
        if len(self.breadcrumb) > 1:
            return (
                f"{self.room.title!r} is a function that the graph calls: edits here make a new function "
                "(editor.module()); leave it (editor.leave(0)) for the graph itself."
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

    def _remember(
        self, command: Any, patch: Patch, place: Site | None, made: tuple[Any, ...], **how: Unpack[How]
    ) -> None:
        """Push a step that was carried out in `place`; its ops are the new ones. The caller tells those who listen."""
        self._history = self._history.pushed(Step(command, patch, place, made, self.breadcrumb, **how))
        self._freshen(self._history.done[-1])

    def _freshen(self, step: Step) -> None:
        """Let what a step has made or changed be the latest."""
        names = [node.name for node in step.patch.add.nodes] + [edited.name for edited in step.patch.changed]
        self.fresh = frozenset(names) if step.place is self.room.site else frozenset()

    def undo(self) -> str:
        """Take the last edit back; the line of code that it was. On a live graph its ops are hidden. Raises NothingTo.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> editor.undo()
        'editor.rename(old="loss", new="mean_loss")'
        >>> editor.diff()
        No difference.
        """
        step, lost = self._history.last(), ()
        taken_back = step.patch.inverse()  # of a module: the graph is as it was
        with held_back():
            if step.place is not None:
                taken_back, lost = step.place.take_back(step.patch, renew=step.renewed)
            self._history = self._history.after_undo(taken_back)
            return self._done(replace(step, patch=Patch()), lost, taken_back)

    def redo(self) -> str:
        """Do again what was undone last; the same ops and variables come back, with their values. Raises NothingTo.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> editor.undo() == editor.redo()
        True
        >>> editor.ops("mean_loss").ops
        ('mean_loss',)
        """
        step, lost = self._history.next(), ()
        if step.place is not None:
            there = step.place.index.ids
            if any(node.name in there for node in step.patch.add.nodes):
                raise NothingTo(f"Another editor has done this again already: {python_source.line(step.command)}.")
        with held_back():
            if step.place is not None:
                lost = step.place.carry_out(step.patch, renew=step.renewed)
            self._history = self._history.after_redo()
            return self._done(step, lost, step.patch)

    def jump(self, to: Any) -> str:
        """Undo or redo until so many edits (`to`, a whole number) are done; the line of the last step taken, or "".

        When one of the steps fails or is interrupted, all is as it was before the first. Raises NothingTo when there
        are not so many edits.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss"), editor.bypass("net/hidden/Relu")
        >>> editor.jump(1)
        'editor.bypass(what="net/hidden/Relu")'
        """
        edits, done = len(self._history.done) + len(self._history.undone), len(self._history.done)
        if type(to) is not int or not 0 <= to <= edits:
            raise NothingTo(f"There are {edits} edits to jump among; give a number from 0 to {edits}.")
        with self._all_or_nothing(lambda: self._step_to(done)):
            return self._step_to(to)

    def _step_to(self, number: int) -> str:
        """Undo or redo until so many edits are done; the line of the last step."""
        line = ""
        lost: dict[str, None] = {}
        while len(self._history.done) != number:
            line = self.undo() if len(self._history.done) > number else self.redo()
            lost |= dict.fromkeys(self.lost)
        if line:
            self.lost = tuple(lost)
        return line

    @contextmanager
    def _all_or_nothing(self, take_back: Callable[[], object]) -> Iterator[None]:
        """Several steps as one: when one fails, `take_back` undoes them, and all that they moved is put back.

        Who listens hears of it once, when it is over.
        """
        path, listeners, fresh, lost = self.breadcrumb, self.listeners, self.fresh, self.lost
        shown = [(room, room.choice, room.hidden, room.pinned) for room in self._rooms.known]
        self.listeners = []
        try:
            yield
        except BaseException:
            with held_back(wholly=True):
                take_back()
                self.fresh, self.lost = fresh, lost
                self._rooms.go(path)
                for room, choice, hidden, pinned in shown:
                    room.choice, room.hidden, room.pinned = choice, hidden, pinned
            raise
        finally:
            self.listeners = listeners
            self.changed()

    def _done(self, step: Step, lost: tuple[str, ...], patch: Patch) -> str:
        """What every step back or forth ends with: one stands where it was done, and sees what is new.

        `patch` is what was done to the graph.
        """
        self._rooms.go(step.path)
        if step.place is self.room.site:
            self.room.follow(patch.renamed)
        self._freshen(step)
        self.lost = lost
        self.changed()
        return python_source.line(step.command)

    @property
    def history(self) -> History:
        """What was done and undone.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> editor.history
          0  as it was opened
        ▸ 1  editor.rename(old="loss", new="mean_loss")
        """
        return self._history

    @property
    def copies(self) -> Copies:
        """What was made and not undone, by name scope: after a click, `editor.copies["copy"]`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.copies
        {'copy': <Copy 'copy': 22 ops, 3 variables of its own>}
        """
        return Copies((made.scope, made) for step in self._history.done for made in step.made)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of Python that do what was done so far, one for each edit; `editor` is this editor.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.lines
        ('editor.bypass(what="net/hidden/Relu")',)
        """
        return python_source.lines(step.command for step in self._history.done)
