"""ExportRequest: a graph to write to a file, what the user chose, and how the graph's values are
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from tfgraphwidget.export.formats.renamed_state import (
    new_state_names,
    rename_in_file,
    rename_in_graph,
)
from tfgraphwidget.graph import TRUSTED, GraphIndex, Signature, Trust, is_filled_in
from tfgraphwidget.sources import GraphDefLibrary, OpTypes, StoredData, readable_nodes, tf_protos
from tfgraphwidget.tf_types import (
    Graph,
    GraphDef,
    MetaGraphDef,
    Module,
    NodeDef,
    SavedModel,
    Session,
    TensorCompatible,
)

DEFAULT_SECONDS = 600.0
"""How long a converter may take, unless the user gives a limit."""


class GraphToExport(Protocol):
    """Where the written graph lives. Formats ask for what they write, which may import a file."""

    def envelope(self) -> GraphDef:
        """The versions and function library of the graph, in a message of its own without nodes."""

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        """The NodeDefs `nodes` of the graph as the file had them from which they were read."""

    def file_meta_graph(self) -> MetaGraphDef | None:
        """The MetaGraphDef of that file, if it holds one."""

    def live(self) -> Graph:
        """The graph in TensorFlow, which imports a file for it. Raises NotRunnable."""

    def session(self) -> Session | None:
        """The session that has the variables' values, if any; a file is imported for it."""

    def stored_values(self) -> Mapping[str, Callable[[], object]]:
        """Readers of the values that a file has for variables, by their handle ops."""

    def lacks_values(self) -> bool:
        """Whether this is the graph of a file without the values of its variables."""


class FunctionToExport(Protocol):
    """The body of a function, which runs only as a function."""

    def modules(self) -> Mapping[str, Module]:
        """tf.Modules that compute what it does, by signatures' names; the first is the whole."""

    def without_tensorflow(self, request: ExportRequest) -> ExportRequest | None:
        """The request with the function as a graph of its file, which needs no TensorFlow; None
        where it needs that.
        """


class Document(Protocol):
    """What a file holds that TensorFlow does not load: a drawing, a page, edits, an editor."""

    def write(self, path: Path, notices: list[str]) -> None:
        """Write it to the file `path`; `notices` gets a sentence on each thing left out."""


class SuccessReport(str):
    """A notice of what went well, such as a check and its figure: no reason for a warning."""

    __slots__ = ()


@dataclass(frozen=True)
class SaveSettings:
    """What the user chose of how a graph is written.

    Attributes:
        frozen: Whether variables are written as constants.
        inline: Whether a frozen graph has the ops of functions in place of calls.
        lower_control_flow: Whether it has Switch and Merge in place of loops and conditionals of
            TensorFlow 2.
        verify: Whether to load the written file and compare its results with the graph's.
        feeds: Values for the comparison by input key, tensor name or op name.
        tags: The tags for the graph of a SavedModel; empty for those that it has.
        signature: Of a kind of file that has one signature: its name, "" for the one that the graph
            is mainly for; None for all that are there.
        options: Options of the kind of file, by name: see `export.CONVERSIONS`.
        seconds: How long a converter may take.
    """

    frozen: bool = False
    inline: bool = False
    lower_control_flow: bool = False
    verify: bool = True
    feeds: Mapping[str, TensorCompatible] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    signature: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    seconds: float = DEFAULT_SECONDS


@dataclass(frozen=True)
class ExportRequest:
    """A graph to write in a format that TensorFlow or another runtime loads.

    Attributes:
        index: The graph to write.
        graph: Where it lives.
        signatures: The signatures to write.
        settings: What the user chose.
        trust: Whether ops may run that do more than compute.
        read_only: Why the graph cannot run, as a sentence; "" if it can.
        function: The function whose body the graph is; None for a graph that runs by itself.
        opened_model: The SavedModel that was opened, of which this graph is one, where another one
            is written.
        edited: That SavedModel if it is to be written with its edits.
        is_unedited: Whether it is to be copied, as nothing has changed.
        notices: Gets a sentence for the user on each thing that the file does not have, or that was
            not checked.
    """

    index: GraphIndex
    graph: GraphToExport
    signatures: tuple[Signature, ...] = ()
    settings: SaveSettings = SaveSettings()
    trust: Trust = TRUSTED
    read_only: str = ""
    function: FunctionToExport | None = None
    opened_model: OpenedSavedModel | None = None
    edited: EditedSavedModel | None = None
    is_unedited: bool = False
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OpenedSavedModel:
    """A SavedModel that was opened, of which one graph was chosen by its tags.

    Attributes:
        folder: Its directory.
        stored: What the directory holds beside the graph.
        renamed: The names that ops had then, by their present ones, of those that edits have
            renamed.
    """

    folder: Path
    stored: StoredData
    renamed: Mapping[str, str]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the graph that was chosen."""
        return self.stored.tags()

    def keys(self, handle: str) -> tuple[str, ...]:
        """The names of a variable's value in the checkpoint, by the present name of its handle op;
        empty for a variable that came since.
        """
        is_new = handle not in self.renamed and handle in self.renamed.values()
        return () if is_new else self.stored.keys(self.renamed.get(handle, handle))

    @cached_property
    def model(self) -> SavedModel:
        """The SavedModel message in the folder."""
        saved_model: SavedModel = tf_protos.SavedModel.FromString(
            (self.folder / "saved_model.pb").read_bytes()
        )
        return saved_model

    @cached_property
    def place(self) -> int:
        """Which of the graphs in the file was chosen; of two that have the same tags, TensorFlow
        loads the first.
        """
        metas = self.model.meta_graphs
        return next(
            place
            for place, meta in enumerate(metas)
            if set(meta.meta_info_def.tags) == set(self.tags)
        )

    @property
    def others(self) -> list[MetaGraphDef]:
        """The other graphs in the file, in its order."""
        return [meta for place, meta in enumerate(self.model.meta_graphs) if place != self.place]


@dataclass(frozen=True)
class EditedSavedModel:
    """A SavedModel that was opened, and what edits have made of it.

    Attributes:
        file: The file, and which of its graphs was opened.
        opened: The graph as it was opened.
        signatures: The signatures as they were opened.
        lost: The names of signatures that are not written, because edits removed ops that they
            name.
        request: The graph and the signatures as they are now.
        session: The session that runs the graph; None as long as TensorFlow has not imported it.
    """

    file: OpenedSavedModel
    opened: GraphIndex
    signatures: tuple[Signature, ...]
    lost: tuple[str, ...]
    request: ExportRequest
    session: Session | None

    @property
    def folder(self) -> Path:
        """The directory of the SavedModel."""
        return self.file.folder

    @property
    def stored_data(self) -> StoredData:
        """What the directory holds beside the graph."""
        return self.file.stored

    @cached_property
    def meta_graph(self) -> MetaGraphDef:
        """The MetaGraphDef that its tags choose, with the present names of variables and tables."""
        return rename_in_file(self._file_meta_graph, self.names)

    @cached_property
    def before(self) -> GraphIndex:
        """The graph as it was opened, with the names that variables and tables have now."""
        return rename_in_graph(self.opened, self.names)

    @cached_property
    def names(self) -> dict[str, str]:
        """The present names of ops that hold state, by former ones; none without saved objects."""
        file = self._file_meta_graph
        if not file.object_graph_def.nodes:
            return {}
        return new_state_names(file, self.opened, self.request.index, self.file.renamed)

    @cached_property
    def _file_meta_graph(self) -> MetaGraphDef:
        meta = self.file.model.meta_graphs[self.file.place]
        if is_filled_in(self.opened.nodes):
            types = OpTypes(GraphDefLibrary.of(meta.graph_def).function)
            readable_nodes(meta.graph_def.node, "", types)  # as when it was opened
        return meta
