"""A file's graph that TensorFlow has not imported: what is different when the graph is a file.

Edits exchange its NodeDefs, and nothing runs. The values of variables are read from the file's
checkpoint. A session is asked for by importing the graph as it is now, once; see `import_graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tfgraphwidget import edits, export, sources
from tfgraphwidget.editor.places.live_graph import LiveGraph
from tfgraphwidget.editor.places.node_def_graph import NodeDefGraph
from tfgraphwidget.editor.transaction import Transaction
from tfgraphwidget.errors import NotRunnable
from tfgraphwidget.graph import GraphIndex, VariableDef, all_variables
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import Graph, GraphDef, NodeDef

if TYPE_CHECKING:
    from tfgraphwidget.editor.places.holder import Holder
    from tfgraphwidget.edits import FunctionBoundary, Patch
    from tfgraphwidget.sources import Body, Source


def _slice_of(read: Callable[[], object], variable: VariableDef) -> object:
    """The value of a variable that may be a slice of the one that is stored."""
    return sources.variable_slice(read(), variable)


def _with_initializers(index: GraphIndex) -> GraphIndex:
    """The graph with those variables that TensorFlow 1 can make, which have initializers."""
    variables = tuple(
        variable for variable in index.variable_defs if variable.initializer in index.ids
    )
    names = {variable.name for variable in variables}
    collections = {
        key: tuple(
            member for member in members if member.kind != "variable" or member.name in names
        )
        for key, members in index.collections.items()
    }
    return replace(
        index,
        variable_defs=variables,
        collections={key: members for key, members in collections.items() if members},
    )


_EDITED_ONE = either("editor.to_function() is the edited one.", "Export saves the edited one.")


class OpenedFunction(NodeDefGraph):
    """The body of a function that was opened: edits exchange NodeDefs; a tf.Module runs."""

    needs_import = False
    file = None

    def __init__(self, root: Holder) -> None:
        self._root, self.source = root, root.source
        self._stamp = self.source.body.stamp()
        # of that state of the body
        self._boundary: tuple[GraphIndex, FunctionBoundary] | None = None
        super().__init__(self._read())

    def _read(self) -> GraphIndex:
        return sources.body_index(self.source.body, origin=self._root)

    def is_outdated(self) -> bool:
        """Whether the function has changed since it was read, which edits then start from."""
        return not self.patches and self.source.body.stamp() != self._stamp

    def reread(self) -> None:
        """Read the function again, unless it was edited."""
        if not self.patches:
            self._stamp = self.source.body.stamp()
            self.index = self.first = self._read()

    def import_graph(self) -> LiveGraph:
        """Raise NotRunnable: a function has no graph of its own that a session runs."""
        raise NotRunnable(self.source.refusal)

    @property
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of the function after the edits."""
        if self._boundary is None or self._boundary[0] is not self.index:
            body = self.source.body
            self._boundary = (
                self.index,
                edits.track_boundary(body.arguments, body.returns, self.patches),
            )
        return self._boundary[1]

    @property
    def live_refusal(self) -> str:
        """Why TensorFlow cannot import the graph, as a sentence; "" if it can."""
        return self.source.live_refusal

    @property
    def new_names(self) -> dict[str, str]:
        """No names: an editor's history has the ops that were renamed."""
        return {}

    def fit(self, patch: Patch) -> Patch:
        """The patch itself: NodeDefs can be changed in every way."""
        return patch

    def refit(self, patch: Patch) -> Patch:
        """The patch itself, as of an edit that was undone."""
        return patch

    def check_placed(self, patch: Patch, origin: Graph | None) -> None:  # noqa: ARG002
        """Raise SessionRefused for devices that are not names of devices."""
        live.placement.check_file_devices(patch)

    def check(self, patch: Patch, origin: Graph | None = None, *, renew: bool = True) -> None:
        """Raise nothing: NodeDefs take every patch that can be planned."""

    def envelope(self) -> GraphDef:
        """A GraphDef with the versions and the library of the graph, and no nodes."""
        graph_def: GraphDef = self.source.body.envelope()
        return graph_def

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        """The NodeDefs themselves."""
        return list(nodes)

    def is_unedited(self) -> bool:
        """Whether the graph is still the one that was opened."""
        return self.index is self.first

    def return_to_file(self, steps: Transaction) -> bool:  # noqa: ARG002
        """Nothing: TensorFlow does not hold the graph."""
        return False

    def can_hold_values(self) -> bool:
        """Whether its variables can have values: those that the function has captured."""
        return True

    def as_imported(self, index: GraphIndex) -> GraphIndex:
        """The graph itself."""
        return index

    def keep_alive(self, patch: Patch) -> None:
        """Hold nothing: the patch, which a history has, holds what a Python function has made."""

    def hidden_names(self) -> frozenset[str]:
        """No names: NodeDefs are never hidden."""
        return frozenset()

    def notes(self, patch: Patch, *, renewed: bool) -> tuple[str, ...]:  # noqa: ARG002
        """A sentence on code that goes on calling the function as it was."""
        is_of_signatures = patch == edits.Patch(signature_edits=patch.signature_edits)
        stays = (
            f"Code that calls {self.source.title} goes on running it as TensorFlow has traced it; "
        )
        return () if is_of_signatures else (stays + _EDITED_ONE,)

    def names_after_failures(self) -> frozenset[str]:
        """No names: an edit that failed has left nothing."""
        return frozenset()

    def value_readers(self, patches: Iterable[Patch]) -> dict[str, Callable[[], object]]:  # noqa: ARG002
        """No readers: the function has captured what it reads."""
        return {}


class FileGraph(OpenedFunction):
    """A file's graph that TensorFlow can import, and has not.

    `closed` is what a session held that an undo or a redo has closed, and the next one begins with
    it; `losses` are sentences on that, which the next edit reports.
    """

    needs_import = True
    boundary = None

    def __init__(self, root: Holder) -> None:
        super().__init__(root)
        self.closed: sessions.SessionContents | None = None
        self.losses: tuple[str, ...] = ()
        # the file after its edits, opened by itself
        self._present_file: tuple[GraphIndex, Source] | None = None
        self._before_import: tuple[Body, tuple[str, ...], bool] | None = None  # of the source

    def as_imported(self, index: GraphIndex) -> GraphIndex:
        """The graph with the variables that TensorFlow's importer makes."""
        return _with_initializers(index)

    def notes(self, patch: Patch, *, renewed: bool) -> tuple[str, ...]:  # noqa: ARG002
        """No sentences: nothing runs that could be outdated."""
        return ()

    def import_graph(self) -> LiveGraph:
        """Import the graph as it is now: TensorFlow never sees what edits removed before.

        Raises NotRunnable, and the file is as it was.
        """
        source = self.source
        self._before_import = source.body, source.notices, source.has_values
        readers, tables = {}, {}  # the import of the original has all of these
        if self.patches:
            readers, tables = self.value_readers(self.patches), self._contents_of_tables()
        try:
            body = self._import_edited() if self.patches else self._import_original()
            graph = LiveGraph(self._root, self, body)
            assert source.session is not None  # the import has opened it
            values = sessions.SessionContents(
                {handle: read() for handle, read in readers.items()}, tables
            )
            source.notices += sessions.load_contents(values, source.session, source.live())
            graph.begin_new_variables(self.patches, readers.keys())
            self._root.saved.load(graph.index, self.patches)
            if self.closed is not None:
                source.notices += sessions.load_contents(self.closed, source.session, source.live())
        except BaseException:
            self.close_session()
            raise
        return graph

    def _tables_of_checkpoint(self) -> dict[str, str]:
        """The hash tables that only the file's own restoring ops fill: original to present name."""
        stored = self.source.stored
        is_importable = self.source.revive is not None and not self.source.live_refusal
        if stored is None or stored.folder() is None or not is_importable:
            return {}  # a notice says then that they are empty
        new_names = edits.rewire.new_names(self.patches, {})
        first = zip(self.first.names, self.first.types, strict=True)
        return {op: new_names.get(op, op) for op, kind in first if kind.startswith("Mutable")}

    def _contents_of_tables(self) -> dict[str, object]:
        """The contents of these tables by present names, known once the original is imported."""
        tables, revive = self._tables_of_checkpoint(), self.source.revive
        if not tables or revive is None:
            return {}
        original = revive()
        try:
            contents = sessions.read_tables(tables, original.graph, original.session)
        finally:
            original.session.close()
        return {tables[op]: content for op, content in contents.items()}

    def apply(self, patch: Patch, steps: Transaction, **options: Any) -> tuple[str, ...]:
        """Apply a patch as a step of an edit; what a closed session held goes by the new names."""
        self._rename_closed(dict(patch.renamed), steps)
        losses, self.losses = self.losses, ()
        return (*losses, *super().apply(patch, steps, **options))

    def revert(
        self, patch: Patch, steps: Transaction, *, renew: bool = True
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo the last edit; what a closed session held goes by the names before."""
        self._rename_closed({new: old for old, new in patch.renamed}, steps)
        return super().revert(patch, steps, renew=renew)

    def _rename_closed(self, names: Mapping[str, str], steps: Transaction) -> None:
        """Let what a closed session held be found under other names."""
        if self.closed is None or not names:
            return
        steps.on_failure(setattr, self, "closed", self.closed)
        kinds = self.closed.variables, self.closed.tables, self.closed.iterators
        self.closed = sessions.SessionContents(
            *({names.get(op, op): value for op, value in kind.items()} for kind in kinds)
        )

    def close_session(self) -> None:
        """Let the source be a file again that TensorFlow has not imported."""
        source = self.source
        if source.graph is None or self._before_import is None:
            return
        if source.session is not None:
            source.session.close()
        self.forget_import()

    def forget_import(self) -> None:
        """Let the source be what it was before TensorFlow imported it; its session stays open."""
        assert self._before_import is not None  # it was imported
        source = self.source
        source.graph = source.session = None
        source.body, source.notices, source.has_values = self._before_import

    def _import_original(self) -> Body:
        """Import the file as it is, and return that."""
        body = self.source.body
        self.source.live()
        return body

    def _import_edited(self) -> Body:
        """Import the file as edits have made it, and return it as it would be written."""
        source, present = self.source, self._open_present_file()
        assert present.revive is not None  # it is a file's, too
        imported, new_names = present.revive(), edits.rewire.new_names(self.patches, {})
        saved_names = {
            new_names.get(handle, handle): name for handle, name in source.body.saved_names.items()
        }
        source.take(
            replace(imported, body=sources.GraphBody(imported.graph, saved_names=saved_names))
        )
        past = source.find_obstacles()[0] if source.find_obstacles is not None else ()
        others = [notice for notice in source.notices if notice not in (*past, *present.notices)]
        source.notices = (*present.notices, *others)
        return present.body

    def _open_present_file(self) -> Source:
        """The graph, opened as if edits had been made before it was written."""
        source = self.source
        assert source.open_edited is not None  # it is a file's
        if self._present_file is None or self._present_file[0] is not self.index:
            notices: list[str] = []
            original = None if source.stored is None else source.stored.meta()
            meta_graph = export.file_meta_graph(
                _with_initializers(self.index), self.envelope(), self.index.nodes, original, notices
            )
            present = source.open_edited(meta_graph, self._tables_of_checkpoint().values())
            present.notices += tuple(notices)
            self._present_file = self.index, present
        return self._present_file[1]

    @property
    def live_refusal(self) -> str:
        """Why TensorFlow cannot import the file as edits have made it; "" if it can."""
        refusal = self.source.live_refusal
        return self._open_present_file().live_refusal if refusal and self.patches else refusal

    def value_readers(self, patches: Iterable[Patch]) -> dict[str, Callable[[], object]]:
        """Readers of a file's values of variables, by the handles' present names after edits."""
        stored, origins = self.source.stored, dict[str, str | Callable[[], object]]()
        for patch in patches:
            origins |= {new: origins.pop(old, old) for old, new in patch.renamed}
            origins |= dict(patch.values)
        closed_values = {} if self.closed is None else self.closed.variables
        saved_values = self._root.saved.values(self.patches)
        readers: dict[str, Callable[[], object]] = {}
        if (
            not closed_values
            and not saved_values
            and not origins
            and (stored is None or not stored.has_values)
        ):
            return readers  # a file may have 100,000 variables
        for variable in all_variables(self.index):
            origin = origins.get(variable.handle, variable.handle)
            tensor = saved_values.get(variable.handle)
            if variable.handle in closed_values:
                readers[variable.handle] = partial(closed_values.__getitem__, variable.handle)
            elif tensor is not None:
                readers[variable.handle] = partial(_slice_of, tensor.read, variable)
            elif not isinstance(origin, str):
                readers[variable.handle] = origin
            elif stored is not None and stored.key(origin) is not None:
                readers[variable.handle] = partial(stored.value, origin)
        return readers
