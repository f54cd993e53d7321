"""The graph that was opened, wherever it lives now: in a file, in TensorFlow, or in a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from tfgraphwidget import sources
from tfgraphwidget.editor.clone_values import GraphSession
from tfgraphwidget.editor.places.file_graph import FileGraph, OpenedFunction
from tfgraphwidget.editor.places.live_graph import LiveGraph
from tfgraphwidget.editor.places.saved_state import SavedState
from tfgraphwidget.errors import NameTaken
from tfgraphwidget.graph import GraphIndex, handles
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.tf_types import Graph, Variable

if TYPE_CHECKING:
    from tfgraphwidget.editor.transaction import Transaction
    from tfgraphwidget.edits import FunctionBoundary, Patch
    from tfgraphwidget.sources import Body, Source


def _nothing() -> None:
    """Load nothing."""


class OpenedGraph:
    """A graph that was opened: `place` is where it lives, and an import exchanges that.

    `first` is the graph before all edits, `saved` what an archive holds besides it.
    """

    place: FileGraph | LiveGraph | OpenedFunction

    def __init__(self, source: Source) -> None:
        self.source, self.saved = source, SavedState(source)
        if source.graph is not None:
            self.place = LiveGraph(self)
        else:
            self.place = (
                OpenedFunction(self) if source.refusal or source.revive is None else FileGraph(self)
            )
        self.first = self.place.index

    @property
    def body(self) -> Body:
        """The body that the graph is read from."""
        return self.source.body

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        return self.place.index

    # Where it lives

    @property
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of a function that was opened itself; None for a graph."""
        return self.place.boundary

    def graph(self) -> Graph:
        """The graph that can be changed and run; a file is imported now. Raises NotRunnable."""
        self.place = self.place.import_graph()
        return self.place.graph()

    def become(self, file: Any) -> None:  # a FileGraph
        """Let the graph be a file again, as it was when TensorFlow imported it."""
        if self.place is not file:
            file.close_session()
            self.place = file

    def file_restorer(self) -> Callable[[], None]:
        """Return a function that undoes a later import of the file."""
        return partial(self.become, self.place) if isinstance(self.place, FileGraph) else _nothing

    # Edits

    def fit(self, patch: Patch) -> Patch:
        """The patch as this graph can apply it: live ops cannot change in every way."""
        return self.place.fit(patch)

    def refit(self, patch: Patch, steps: Transaction) -> Patch:
        """The patch of an undone edit, if TensorFlow has imported the file since. Where only the
        file can take the patch, the graph is the file again, as a step of the redo.
        """
        try:
            return self.place.refit(patch)
        except NameTaken:
            if not self.place.return_to_file(steps):
                raise
            return patch

    def apply(
        self,
        patch: Patch,
        steps: Transaction,
        *,
        load: Callable[[], None] = _nothing,
        origin: Graph | None = None,
        renew: bool = True,
    ) -> tuple[str, ...]:
        """Apply a patch and load new variables' values, as steps; see `LiveGraph.apply`."""
        return self.place.apply(patch, steps, load=load, origin=origin, renew=renew)

    def revert(
        self, patch: Patch, steps: Transaction, *, renew: bool = True
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit; see `LiveGraph.revert`."""
        return self.place.revert(patch, steps, renew=renew)

    def check(self, patch: Patch, origin: OpenedGraph | None = None, *, renew: bool = True) -> None:
        """Raise what `apply` would before it changes anything; see `LiveGraph.check`."""
        self.place.check(patch, None if origin is None else origin.source.graph, renew=renew)

    def check_placed(self, patch: Patch, origin: OpenedGraph) -> None:
        """Raise SessionRefused when the session could not place what a patch adds."""
        self.place.check_placed(patch, origin.source.graph)

    def placing_notices(self, patch: Patch) -> tuple[str, ...]:
        """A sentence for each device that a patch pins ops to and that is not there."""
        return live.placement.device_notices(self.source.session, self.source.graph, patch)

    # Values

    def graph_session(self) -> GraphSession:
        """The graph, imported now if it is a file's, with its index and session."""
        self.graph()
        return self.present_graph()

    def present_graph(self) -> GraphSession:
        """The index, with the graph and the session unless it is a file's that is not imported."""
        signature = self.source.signature
        named_tensors = {} if signature is None else dict((*signature.outputs, *signature.inputs))
        return GraphSession(
            self.index,
            self.source.graph,
            self.source.session,
            named_tensors,
            sources.SavedNames(self.source, {}).of,
            self.graph_session,
            trust=self.source.trust,
        )

    def take_saved_values(self) -> None:
        """Take the values with which the editor was written for those of the graph as it is now."""
        self.saved.edits = self.place.patches
        self.saved.load(self.index, self.saved.edits)

    def saved_names(self) -> dict[str, str]:
        """The names that ops had when the editor was saved, by those that they have now."""
        return self.saved.names(self.place.patches)

    def load_saved_values_of(self, patch: Patch) -> None:
        """Load the saved editor's values into the variables that an edit of the archive has added,
        as it is made again: later ones read the values.
        """
        self.saved.load_into_new(self.index, patch)

    def has_values(self) -> bool:
        """Whether the variables have values, of a checkpoint or as the user set them since."""
        source = self.source
        if not source.has_values and source.session is not None:
            first = next(
                (v for v in self.index.variable_defs if v.snapshot or not v.resource), None
            )
            source.has_values = first is not None and sessions.variable_values.has_value(
                source.session, first.snapshot or first.name
            )
        return source.has_values

    def came_without_values(self) -> bool:
        """Whether this is a file's graph without values of variables, also in the session."""
        return (
            self.source.revive is not None and bool(handles(self.index)) and not self.has_values()
        )

    def variables(self, patch: Patch) -> tuple[Variable, ...]:
        """The `tf.Variable`s that a patch has made, in graph order."""
        return self.variables_of(v.handle for v in patch.add.variables)

    def variables_of(self, handles: Iterable[str]) -> tuple[Variable, ...]:
        """The `tf.Variable`s of some handle ops."""
        return live.patch_application.variables_of(
            self.graph(), [f"{handle}:0" for handle in handles]
        )
