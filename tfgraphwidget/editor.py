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
from tfgraphwidget.errors import NothingTo
from tfgraphwidget.graph import select
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.select import Selection
from tfgraphwidget.live import LiveGraph, Names
from tfgraphwidget.names import enclosing_scopes, free_name, split_tensor
from tfgraphwidget.view import scene as scenes
from tfgraphwidget.view import visible

if TYPE_CHECKING:
    from tfgraphwidget.sources import Source


class GraphEditor:
    """Edits a live `tf.Graph`; made by `tfgraphwidget.edit`.

    `layout` is any networkx layout: a callable that takes a graph and returns {node: (x, y)}.
    """

    def __init__(self, source: Source, show: Callable[[GraphEditor], Any], layout: Any = None) -> None:
        self._live = LiveGraph(source)
        self._show = show
        self._layout = layout
        self._memo: dict[Any, Any] = {}
        self._history = History()
        self._widget: Any = None
        self._boundary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._selection: Selection | None = None
        self.fresh: frozenset[str] = frozenset()
        self.opened = visible.default_open(self.index)
        self.listeners: list[Callable[[], None]] = []

    # What is there

    @property
    def graph(self) -> Any:
        """The `tf.Graph`."""
        return self._live.source.graph

    @property
    def session(self) -> Any:
        """The session that runs the graph, or None."""
        return self._live.source.session

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now; ops that other cells added are taken in."""
        return self._live.index

    def _kept_boundary(self, index: GraphIndex) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The boundary, less what is no longer there."""
        inputs, outputs = (tuple(n for n in side if split_tensor(n)[0] in index.ids) for side in self._boundary)
        if (inputs, outputs) != self._boundary:
            self._boundary, self._selection = (inputs, outputs), None
        return self._boundary

    # Selecting

    def between(self, inputs: Names, outputs: Names) -> Selection:
        """The ops between two boundaries of tensors or ops; see `graph.select.between`."""
        return select.between(self.index, self._live.names(inputs), self._live.names(outputs))

    def upstream(self, *names: Any) -> Selection:
        """The given ops and everything they need."""
        return select.upstream(self.index, *self._live.names(names))

    def downstream(self, *names: Any) -> Selection:
        """The given ops and everything that needs them."""
        return select.downstream(self.index, *self._live.names(names))

    def scope(self, name: str) -> Selection:
        """All ops inside a name scope."""
        return select.scope(self.index, name)

    def matching(self, pattern: str) -> Selection:
        """Ops in whose name the regular expression is found."""
        return select.matching(self.index, pattern)

    def of_type(self, *types: str) -> Selection:
        """Ops of the given types, for example "Conv2D"."""
        return select.of_type(self.index, *types)

    def mark(self, inputs: Names = (), outputs: Names = ()) -> Selection | None:
        """Choose the boundary, as clicks do; the selection between, once there are outputs and inputs.

        Raises UnknownName or NoPath and keeps the boundary as it was.
        """
        boundary = (self._live.names(inputs), self._live.names(outputs))
        selection = select.between(self.index, *boundary) if all(boundary) else None
        self._boundary, self._selection = boundary, selection
        self._changed()
        return selection

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input boundary."""
        return self._kept_boundary(self.index)[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the output boundary."""
        return self._kept_boundary(self.index)[1]

    @property
    def selection(self) -> Selection | None:
        """The ops between the boundaries; None until both are chosen."""
        index = self.index
        if not all(self._kept_boundary(index)):
            return None
        if self._selection is None or self._selection.index is not index:
            self._selection = select.between(index, *self._boundary)
        return self._selection

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
        chosen_inputs = self.inputs if inputs is None else self._live.names(inputs)
        chosen_outputs = self.outputs if outputs is None else self._live.names(outputs)
        scope = self.free_scope() if into is None else into
        return self.do(Clone(chosen_inputs, chosen_outputs, scope, variables, init))

    def free_scope(self, wanted: str = "copy") -> str:
        """`wanted`, or with a number behind it: a scope name that nobody has taken."""
        return free_name(wanted, taken_names(self.index, wanted))

    def do(self, command: Clone) -> Copy:
        """Plan a command, carry it out, fill its variables, and remember it; its boundary is the chosen one then."""
        index = self.index
        self._live.names((*command.inputs, *command.outputs))
        patch = command.plan(index)
        self._live.carry_out(patch, self._live.prepared(command, patch))
        self._history = self._history.pushed(Step(command, patch))
        self.fresh = frozenset(node.name for node in patch.add.nodes)
        self._boundary, self._selection = (command.inputs, command.outputs), None
        self._changed()
        copied = frozenset(index.ids[name[len(command.into) + 1 :]] for name in self.fresh)
        part = Selection(index, copied, "")
        return Copy(
            scope=command.into,
            ops=tuple(node.name for node in patch.add.nodes),
            variables=self._live.variables(patch),
            outside=part.inputs + part.control_inputs,
            shared=part.shared(command.inputs),
            _element=self._live.source.element,
        )

    def undo(self) -> str:
        """Take the last edit back; the line of code that it was. On a live graph its ops are hidden."""
        step = self._history.last()
        taken_back = step.patch.inverse().with_dependents(self.index)
        if any(node.name not in self.index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has undone this already: {code.line(step.command)}; redo it there first.")
        self._live.carry_out(taken_back, lambda: None)
        self._history = self._history.after_undo(taken_back)
        self.fresh = frozenset()
        self._changed()
        return code.line(step.command)

    def redo(self) -> str:
        """Do again what was undone last; the same ops and variables come back, with the values they have."""
        step = self._history.next()
        if any(node.name in self.index.ids for node in step.patch.add.nodes):
            raise NothingTo(f"Another editor has done this again already: {code.line(step.command)}.")
        self._live.carry_out(step.patch, lambda: None)
        self._history = self._history.after_redo()
        self.fresh = frozenset(node.name for node in step.patch.add.nodes)
        self._changed()
        return code.line(step.command)

    # History

    @property
    def history(self) -> History:
        """What was done and undone."""
        return self._history

    def code(self) -> str:
        """The lines of Python that do what was done so far; `editor` is this editor."""
        return "\n".join(code.lines(step.command for step in self._history.done))

    # Seeing

    def open(self, *scopes: str) -> None:
        """Open name scopes in the drawing, and those around them."""
        tree = self.index.scopes
        names = {tree.names[tree.scope(name)] for name in scopes}
        self.opened |= names | {outer for name in names for outer in enclosing_scopes(name)}
        self._changed()

    def close(self, *scopes: str) -> None:
        """Close name scopes in the drawing."""
        tree = self.index.scopes
        self.opened -= {tree.names[tree.scope(name)] for name in scopes}
        self._changed()

    def reveal(self, name: str) -> str:
        """Open the scopes around an op, a tensor or a scope; the name of the op or scope."""
        index = self.index
        is_scope = name.rstrip("/") in index.scopes.ids and name not in index.ids
        found = name.rstrip("/") if is_scope else index.names[index.op(name)]
        around = set(enclosing_scopes(found)) | ({found} if found in index.scopes.ids and not is_scope else set())
        if not around <= self.opened:
            self.opened |= around
            self._changed()
        return found

    def scene(self) -> scenes.Scene:
        """The drawing as arrays; see `view.scene` for the fields."""
        return scenes.build(self.index, self.opened, layout=self._layout, memo=self._memo)

    def paint(self, scene: scenes.Scene) -> scenes.Paint:
        """The selection, the boundary and the last edit, per item of a scene."""
        index = self.index
        fresh = select.Selection(index, frozenset(index.ids[n] for n in self.fresh if n in index.ids), "")
        inputs, outputs = ([index.op(name) for name in side] for side in self._kept_boundary(index))
        return scenes.paint(scene, select.mask(self.selection, index), inputs, outputs, select.mask(fresh, index))

    def draw(self, ax: Any = None, *, dark: bool = False) -> Any:
        """Draw the same picture with matplotlib, into the Axes `ax` or a new figure; the Axes."""
        from tfgraphwidget.view import draw

        scene = self.scene()
        return draw.draw(scene, ax, paint=self.paint(scene), dark=dark)

    def save(self, path: str | PathLike[str], inputs: Names | None = None, outputs: Names | None = None) -> Path:
        """Write the graph as it is now; the end of `path` says how.

        "edited/" is a SavedModel whose signature is the boundary (`inputs`, `outputs`, or the chosen one) with the
        session's values; ".pb" and ".pbtxt" a GraphDef; ".svg", ".png" and ".pdf" the picture. Written beside and
        moved into place: a failure leaves an old file as it was.
        """
        what = export.Export(
            index=self.index,
            graph=self.graph,
            session=self.session,
            inputs=self.inputs if inputs is None else self._live.names(inputs),
            outputs=self.outputs if outputs is None else self._live.names(outputs),
            picture=self._picture,
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

    def _changed(self) -> None:
        for listener in self.listeners:
            listener()
