"""The state of an editor, in named parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tfgraphwidget.editor.arguments import ArgumentResolver
from tfgraphwidget.editor.coloring import ColorModel
from tfgraphwidget.editor.evaluation import Evaluator
from tfgraphwidget.editor.executor import EditExecutor
from tfgraphwidget.editor.graph_view import Boundary, GraphView
from tfgraphwidget.editor.navigator import Navigator, opened_navigator
from tfgraphwidget.editor.places import OpenedGraph
from tfgraphwidget.editor.transaction import Listeners, Snapshot
from tfgraphwidget.graph import GraphIndex, Signature, traversal, untrusted_ops
from tfgraphwidget.layout import Layout
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.sources import Source
from tfgraphwidget.tf_types import Graph, Session

if TYPE_CHECKING:
    from tfgraphwidget.edits import Command


class FollowedFile(Protocol):
    """A file that an editor follows: see `file_watch.FileWatch`.

    `edits` are those that the file itself holds, the first ones of the editor's.
    """

    edits: tuple[Command, ...]

    def look(self, *, at_once: bool = False) -> str:
        """Follow the file if it has changed; see `FileWatch.look`."""

    def accept(self, path: Path) -> None:
        """Take what the editor itself has written there for what it shows."""


@dataclass(eq=False)
class EditorCore:
    """The parts of an editor; what widgets, the command line and tests need of it.

    `source` is what was opened, `target` its graph, which edits change. `navigator` has the views
    of that graph and of the functions that were entered, `arguments` turns what a user gives into
    names. `executor` applies and undoes edits, `evaluator` runs the graph, `coloring` says what the
    colors mean. `listeners` are called after each change. `entrance` is the path to the graph that
    was current first. `show` makes the widget, `widget` is the one that it made last, or None.
    `save_notices` are sentences on what the last `save` could not do. `extracted` is the tf.Module
    of a function that `extract` took out of another one: it keeps the variables alive. `file_watch`
    follows the file that is open, if the user wants that. `layout` is the layout of the views; None
    for the layered one. `apparent` is the boundary that a graph seems to have, with what it was
    found for. `pairs` are the ops that were paired by hand with those of other graphs, which it was
    beside, by their titles.
    """

    source: Source
    target: OpenedGraph
    navigator: Navigator
    arguments: ArgumentResolver
    executor: EditExecutor
    evaluator: Evaluator
    coloring: ColorModel
    listeners: Listeners
    entrance: tuple[str, ...]
    show: Callable[..., object]
    widget: Any = None
    save_notices: list[str] = field(default_factory=list)
    extracted: object = None
    file_watch: FollowedFile | None = None
    layout: Layout | None = None
    apparent: tuple[GraphIndex, tuple[Signature, ...], Boundary] | None = None
    pairs: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, source: Source, show: Callable[..., object], layout: Layout | None = None
    ) -> EditorCore:
        """The parts of an editor of a source without edits; `layout` None is the layered one."""
        target, listeners = OpenedGraph(source), Listeners()
        navigator = opened_navigator(source, target, layout)
        executor = EditExecutor(source, target, navigator, listeners)
        arguments = ArgumentResolver(source, navigator, executor)
        evaluator = Evaluator(executor, arguments)
        coloring = ColorModel(navigator, evaluator)
        parts = (source, target, navigator, arguments, executor, evaluator, coloring, listeners)
        return cls(*parts, entrance=navigator.path, show=show, layout=layout)

    @property
    def view(self) -> GraphView:
        """The view of the current graph."""
        return self.navigator.here

    @property
    def index(self) -> GraphIndex:
        """The current graph as it is now."""
        return self.view.index

    @property
    def graph(self) -> Graph:
        """The `tf.Graph`; a file is imported into one now. Raises NotRunnable."""
        graph: Graph | None = getattr(self.source.body, "graph", None)
        return self.target.graph() if graph is None else graph

    @property
    def session(self) -> Session | None:
        """The session that runs the graph, or None; a file's has the values of its checkpoint."""
        if not self.source.refusal:
            self.target.graph()
        return self.source.session

    def paint(self, scene: scenes.Scene) -> scenes.Paint:
        """Selection, boundary, last edit, untrusted ops and colors, for each item of a scene."""
        index, selection = scene.index, self.view.selection
        latest = traversal.mask_of(
            index, (index.ids[n] for n in self.executor.latest_ops if n in index.ids)
        )
        # Another thread may have added ops since the scene was made: what is painted is what is
        # drawn.
        boundary_tensors = [
            n for n in self.view.boundary[1] if n in index.ids or split_tensor(n)[0] in index.ids
        ]
        (inputs, sources), outputs = (
            self.view.entrances(index),
            [index.op(name) for name in boundary_tensors],
        )
        selected = traversal.mask_of(index, ()) if selection is None else selection.on(index).mask
        unused = self.executor.unused_ops()
        idle = (
            traversal.mask_of(index, (index.ids[name] for name in unused if name in index.ids))
            if unused
            else None
        )
        effects = untrusted_ops(index, self.source.trust).effects
        paint = scenes.paint(scene, selected, inputs, outputs, latest, idle, sources, effects)
        tints = self.coloring.tints(scene)
        if tints is None:
            return paint
        return replace(scenes.with_colors(paint, *tints), legend=self.coloring.legend)


class EditorSnapshot:
    """A snapshot of an editor with its views, to be restored if nothing was edited."""

    def __init__(self, core: EditorCore, *others: object) -> None:
        self._executor = core.executor
        self._commands = core.executor.history.commands
        parts = (
            core.navigator,
            *core.navigator.stack,
            core.evaluator,
            core.coloring,
            core.listeners,
        )
        # A jump that was undone has made the same edits again: then the history is another one, of
        # the same commands.
        self._executor_snapshot = Snapshot(core.executor, without=("history",))
        self._snapshot = Snapshot(core, *parts, *others)

    def restore(self) -> bool:
        """Put everything back unless edits were made or undone since; whether it did."""
        if self._executor.history.commands != self._commands:
            return False
        self._executor_snapshot.restore()
        self._snapshot.restore()
        return True
