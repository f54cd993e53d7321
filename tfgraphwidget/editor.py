"""GraphEditor: one graph, what is chosen in it, what was done to it. Complete without a browser."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget import export
from tfgraphwidget.edits import code
from tfgraphwidget.edits.clone import Clone, taken_names
from tfgraphwidget.edits.copied import Copy
from tfgraphwidget.edits.history import History, Step
from tfgraphwidget.errors import NothingTo, NotRunnable
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.live import LiveGraph
from tfgraphwidget.looking import Looking
from tfgraphwidget.names import free_name
from tfgraphwidget.room import Names, Room
from tfgraphwidget.view import scene as scenes

if TYPE_CHECKING:
    from tfgraphwidget.sources.body import Signature, Source


class GraphEditor(Looking):
    """Shows, selects from and edits a graph; made by `tfgraphwidget.edit`.

    `layout` is any networkx layout: a callable that takes a graph and returns {node: (x, y)}.
    """

    def __init__(self, source: Source, show: Callable[[GraphEditor], Any], layout: Any = None) -> None:
        self._source = source
        self._live = LiveGraph(source)
        self._show = show
        self._history = History()
        self._widget: Any = None
        room = Room(source.title, lambda: source.body, lambda: self._live.index)
        super().__init__(room, source, layout)

    # What is there

    @property
    def graph(self) -> Any:
        """The `tf.Graph`; a file is imported into one now. A function's graph is given as it is, to be read only.

        Raises NotRunnable when TensorFlow cannot hold what the file says.
        """
        held = getattr(self._source.body, "graph", None)
        return self._live.graph() if held is None else held

    @property
    def session(self) -> Any:
        """The session that runs the graph, or None; for a file, one that holds its checkpoint's values."""
        if not self._source.refusal:
            self._live.graph()
        return self._source.session

    @property
    def notices(self) -> tuple[str, ...]:
        """What can only be looked at, and what is missing: one sentence each."""
        return self._source.notices

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of a SavedModel or MetaGraphDef; `tgw.edit(path, signature=name)` opens one."""
        return self._source.signatures

    def refresh(self) -> None:
        """Read the graph anew; needed only after other code changed edges in place, which TensorFlow does not tell."""
        self._live.reread()
        self.changed()

    def is_behind(self) -> bool:
        """Whether the graph has ops that the last drawing was not told of."""
        return self._live.is_behind()

    # Changing

    def clone(
        self,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: str | None = None,
        *,
        variables: Literal["own", "shared"] = "own",
        init: Literal["current", "initial", "none"] = "current",
    ) -> Copy:
        """Copy the ops between the boundaries into a name scope, with complete variables of their own.

        Without `inputs` and `outputs` the chosen boundary is taken, without `into` a free name. See
        `edits.clone.Clone` for the options. Raises a GraphEditError and changes nothing when it cannot be right.
        """
        chosen_inputs = self.inputs if inputs is None else self._names(inputs)
        chosen_outputs = self.outputs if outputs is None else self._names(outputs)
        scope = self.free_scope() if into is None else into
        return self.do(Clone(chosen_inputs, chosen_outputs, scope, variables, init))

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

    def do(self, command: Clone) -> Copy:
        """Plan a command, carry it out, fill its variables, and remember it; its boundary is the chosen one then."""
        if len(self.breadcrumb) > 1 or self._source.refusal:
            raise NotRunnable(self.read_only())
        self._names((*command.inputs, *command.outputs))
        if self._source.graph is None:
            command.plan(self.index)  # what is refused is refused before a file is imported
        self._live.graph()
        index = self.index
        patch = command.plan(index)
        self._live.carry_out(patch, self._live.prepared(command, patch))
        self._history = self._history.pushed(Step(command, patch))
        self.fresh = frozenset(node.name for node in patch.add.nodes)
        self.room.remember(command.inputs, command.outputs)
        self.changed()
        copied = (index.ids[name[len(command.into) + 1 :]] for name in self.fresh)
        part = Selection.of(index, copied, "")
        return Copy(
            scope=command.into,
            ops=tuple(node.name for node in patch.add.nodes),
            variables=self._live.variables(patch),
            outside=part.inputs + part.control_inputs,
            shared=part.shared(command.inputs),
            _element=self._live.graph().as_graph_element,
        )

    def undo(self) -> str:
        """Take the last edit back; the line of code that it was. On a live graph its ops are hidden."""
        step, index = self._history.last(), self._live.index
        taken_back = step.patch.inverse().with_dependents(index)
        if any(node.name not in index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has undone this already: {code.line(step.command)}; redo it there first.")
        self._live.carry_out(taken_back, lambda: None)
        self._history = self._history.after_undo(taken_back)
        return self._done(step, frozenset())

    def redo(self) -> str:
        """Do again what was undone last; the same ops and variables come back, with the values they have."""
        step = self._history.next()
        if any(node.name in self._live.index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has done this again already: {code.line(step.command)}.")
        self._live.carry_out(step.patch, lambda: None)
        self._history = self._history.after_redo()
        return self._done(step, frozenset(node.name for node in step.patch.add.nodes))

    def _done(self, step: Step, fresh: frozenset[str]) -> str:
        """What every step back or forth ends with: one stands in the graph itself, and sees what is new."""
        self._rooms.leave(0)
        self.fresh = fresh
        self.changed()
        return code.line(step.command)

    # History

    @property
    def history(self) -> History:
        """What was done and undone."""
        return self._history

    def code(self) -> str:
        """The lines of Python that do what was done so far; `editor` is this editor."""
        return "\n".join(code.lines(step.command for step in self._history.done))

    def save(self, path: str | PathLike[str], inputs: Names | None = None, outputs: Names | None = None) -> Path:
        """Write the graph as it is now; the end of `path` says how.

        "edited/" is a SavedModel whose signature is the boundary (`inputs`, `outputs`, or the chosen one) with the
        session's values; ".pb" and ".pbtxt" a GraphDef; ".svg", ".png" and ".pdf" the picture. Written beside and
        moved into place: a failure leaves an old file as it was.
        """
        what = export.Export(
            index=self.index,
            envelope=self.room.body.envelope,
            graph=lambda: self.graph,
            session=lambda: self.session,
            inputs=self.inputs if inputs is None else self._names(inputs),
            outputs=self.outputs if outputs is None else self._names(outputs),
            picture=self._picture,
            read_only=self.read_only(),
        )
        return export.save(Path(path), what, folder=str(path).endswith("/"))

    def _picture(self) -> tuple[scenes.Scene, scenes.Paint]:
        scene = self.scene()
        return scene, self.paint(scene)

    @property
    def widget(self) -> Any:
        """The editor as an ipywidgets widget; always the same one."""
        if self._widget is None:
            self._widget = self._show(self)
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        return f"<GraphEditor: {len(self.index)} ops, {len(self._history.done)} edits>"
