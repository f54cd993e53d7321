"""Changing: everything that edits a graph, as commands with a history. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from tfgraphwidget import preparing
from tfgraphwidget.edits import code
from tfgraphwidget.edits.clone import Clone, Mode
from tfgraphwidget.edits.copied import Copy
from tfgraphwidget.edits.history import History, Step
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.places import taken_names
from tfgraphwidget.edits.preview import Preview
from tfgraphwidget.errors import NothingTo, NotRunnable
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.live import LiveGraph
from tfgraphwidget.looking import Looking
from tfgraphwidget.names import free_name
from tfgraphwidget.room import Names, Room
from tfgraphwidget.sources import open_source

if TYPE_CHECKING:
    from tfgraphwidget.sources.body import Source


class Options(TypedDict, total=False):
    """What `clone` and `preview` take beside the part and the scope; see `edits.clone.Clone`."""

    variables: Mode | Mapping[Any, Mode]
    init: str | Mapping[Any, Any]
    replace: Mapping[Any, Any]
    placeholders: bool
    reseed: bool
    times: int
    device: str | Mapping[str, str]
    devices: Iterable[str]
    src_scope: str
    graph: Any
    session: Any


class Changing(Looking):
    """Edits a graph: commands that are planned, carried out, remembered, taken back and done again."""

    def __init__(self, source: Source, layout: Any = None) -> None:
        self._source = source
        self._live = LiveGraph(source)
        self._history = History()
        super().__init__(Room(source.title, lambda: source.body, lambda: self._live.index), source, layout)

    def clone(
        self,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: str | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Copy the ops between the boundaries into a name scope, with complete variables of their own.

        The first argument may be a Selection instead: then its ops are copied. Without either, the chosen boundary or
        the chosen ops are taken; without `into` a free name. `variables`, `init`, `replace`, `placeholders`, `reseed`,
        `times`, `device`, `devices`, `src_scope`, `graph` (a tf.Graph or another editor) and `session` are those of
        `edits.clone.Clone`, with dicts for pairs.

        Gives a Copy, or with `times` or `devices` a list of them. Raises a GraphEditError and changes nothing when it
        cannot be right.
        """
        return self.do(self._command(inputs, outputs, into, options))

    def preview(
        self,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: str | None = None,
        **options: Unpack[Options],
    ) -> Preview:
        """What `clone` with the same arguments will do; raises what it would raise for the graph, changes nothing."""
        return self.told(self._command(inputs, outputs, into, options))

    def told(self, command: Clone) -> Preview:
        """What a command will do."""
        target = self._place(command)
        preview = command.plan(self.index, self.index if target is self._live else target.index).preview
        assert preview is not None  # every clone tells
        return preview

    def _command(self, inputs: Names | None, outputs: Names | None, into: str | None, options: Options) -> Clone:
        """The call as a value: names for what was given, the chosen part for what was not."""
        selection = None
        if isinstance(inputs, Selection) and outputs is None:
            selection, inputs, outputs = inputs, (), ()
        elif inputs is None and outputs is None and not any(self.room.boundary):
            selection, inputs, outputs = self.selection, (), ()
        graph = options.get("graph")
        ours = self._pairs if graph is None else self._pairs_to_elsewhere
        variables, init, device = options.get("variables", "own"), options.get("init", "current"), options.get("device")
        return Clone(
            inputs=self.inputs if inputs is None else self._names(inputs),
            outputs=self.outputs if outputs is None else self._names(outputs),
            into=self.free_scope() if into is None else into,
            variables=self._modes(variables) if isinstance(variables, Mapping) else variables,
            init=tuple((self._names(key)[0], value) for key, value in init.items())
            if isinstance(init, Mapping)
            else str(init),
            selection=selection,
            replace=ours(options.get("replace", {})),
            placeholders=options.get("placeholders", False),
            reseed=options.get("reseed", False),
            times=options.get("times"),
            device=tuple(device.items()) if isinstance(device, Mapping) else device,
            devices=tuple(options.get("devices", ())),
            src_scope=options.get("src_scope", ""),
            graph=graph,
            session=options.get("session"),
        )

    def _modes(self, given: Mapping[Any, Mode]) -> tuple[tuple[str, Mode], ...]:
        scopes = self.index.scopes.ids
        found: dict[str, Mode] = {}
        for key, mode in given.items():
            if isinstance(key, Selection):
                found.update((v.handle, mode) for v in key.on(self.index).variables)
            else:
                is_scope = isinstance(key, str) and key.rstrip("/") in scopes
                found[key.rstrip("/") if is_scope else self._names(key)[0].partition(":")[0]] = mode
        return tuple(found.items())

    def _pairs(self, given: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
        return tuple((self._names(old)[0], self._names(new)[0]) for old, new in given.items())

    def _pairs_to_elsewhere(self, given: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
        return tuple((self._names(old)[0], new if isinstance(new, str) else new.name) for old, new in given.items())

    def free_scope(self, wanted: str = "copy") -> str:
        """`wanted`, or with a number behind it: a scope name that nobody has taken."""
        return free_name(wanted, taken_names(self.index, wanted))

    def read_only(self) -> str:
        """Why the graph one stands in cannot be changed, as a sentence with a way out; "" when it can."""
        if len(self.breadcrumb) > 1:
            return (
                f"{self.room.title!r} is a function that the graph calls, and its ops cannot be changed in place; "
                "leave it (editor.leave(0)) to edit the graph itself."
            )
        # A library of ops may have been loaded since: `do` tries again, and says why not.
        return self._source.refusal or ("" if self._source.graph is not None else self._source.stopped)

    def default_init(self) -> Literal["current", "initial", "none"]:
        """What the variables of a clone can be given: "current" values where the session or a checkpoint has them."""
        if self._source.graph is None or self._source.session is not None:
            return "current" if self._source.has_values else "initial"
        return "none"

    def _place(self, command: Clone) -> LiveGraph:
        """The graph that the copies go into."""
        other = command.graph
        if other is None or other is self or other is self._source.graph:
            return self._live
        if isinstance(other, Changing):
            return other._live
        return LiveGraph(open_source(other, command.session))

    def do(self, command: Clone) -> Any:
        """Plan a command, carry it out, fill its variables, and remember it; its boundary is the chosen one then."""
        if len(self.breadcrumb) > 1 or self._source.refusal:
            raise NotRunnable(self.read_only())
        self._names((*command.inputs, *command.outputs))
        if self._source.graph is None:
            self.told(command)  # what is refused is refused before a file is imported
        self._live.graph()
        place = self._place(command)
        origin, target = self._live.place(), place.place()
        patch = command.plan(origin.index, target.index)
        fill = preparing.prepared(command, patch, origin, target)
        place.carry_out(patch, fill, origin.graph)
        made = tuple(self._made(command, patch, place))
        self._history = self._history.pushed(Step(command, patch, place, made))
        self.fresh = frozenset(node.name for node in patch.add.nodes) if place is self._live else frozenset()
        if command.outputs:
            self.room.remember(command.inputs, command.outputs)
        self.changed()
        return made[0] if command.times is None and not command.devices else list(made)

    def _made(self, command: Clone, patch: Patch, place: LiveGraph) -> Iterable[Copy]:
        """What the person gets for each copy."""
        report, variables = patch.preview, place.variables(patch)
        assert report is not None  # every clone tells
        count = len(command.scopes)

        def share(items: tuple[Any, ...], k: int) -> tuple[Any, ...]:
            """What belongs to the k-th copy; all copies have equally many."""
            return items[k * len(items) // count : (k + 1) * len(items) // count]

        for k, scope in enumerate(command.scopes):
            yield Copy(
                scope=scope,
                ops=tuple(node.name for node in share(patch.add.nodes, k)),
                variables=share(variables, k),
                outside=report.inputs + report.control_inputs,
                shared=tuple(state.name for state in report.shared),
                report=report,
                graph=place.graph(),
                _names=dict((*share(patch.add.copies, k), *command.replace)),
                _sync=lambda: None,
            )

    def undo(self) -> str:
        """Take the last edit back; the line of code that it was. On a live graph its ops are hidden."""
        step = self._history.last()
        index = step.place.index
        taken_back = step.patch.inverse().with_dependents(index)
        if any(node.name not in index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has undone this already: {code.line(step.command)}; redo it there first.")
        step.place.carry_out(taken_back, lambda: None)
        self._history = self._history.after_undo(taken_back)
        return self._done(step, frozenset())

    def redo(self) -> str:
        """Do again what was undone last; the same ops and variables come back, with the values they have."""
        step = self._history.next()
        if any(node.name in step.place.index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has done this again already: {code.line(step.command)}.")
        step.place.carry_out(step.patch, lambda: None)
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
    def copies(self) -> dict[str, Copy]:
        """What was cloned and not undone, by scope: after a click, `editor.copies["copy"]`."""
        return {copy.scope: copy for step in self._history.done for copy in step.made}

    def code(self) -> str:
        """The lines of Python that do what was done so far; `editor` is this editor."""
        return "\n".join(code.lines(step.command for step in self._history.done))
