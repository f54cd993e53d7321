"""ExportRequest: what the editor provides for writing a graph to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO

from tfgraphwidget.edits.serialization import Script
from tfgraphwidget.export.formats.renamed_state import new_state_names, rename_in_file, rename_in_graph
from tfgraphwidget.export.html.page_input import PageInput
from tfgraphwidget.graph import TRUSTED, GraphIndex, Signature, Trust, is_filled_in
from tfgraphwidget.scene import Paint, Scene
from tfgraphwidget.sources import GraphDefLibrary, OpTypes, StoredData, readable_nodes, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import MetaGraphDef, NodeDef, SavedModel, Session, TensorCompatible


def _ignore(_: str) -> None:
    return None


def _nothing() -> None:
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True)
class ExportRequest:
    """The graph to write and everything else that a file format may need. Callables are called only if it does.

    Attributes:
        index: The graph to write.
        envelope: Gives a GraphDef without nodes: the versions and the function library.
        graph: Gives the live graph; a file is imported into TensorFlow for it.
        session: Gives the session that has the variables' values, or None.
        find_signatures: Gives the signatures to write.
        find_apparent_signature: Gives a signature of what the graph seems to be for.
        picture: Gives the drawing and its colors.
        code: Gives the script of the edits for the name of the file that will hold its large arrays.
        find_page_input: Gives what an HTML page shows.
        edits: Gives the edits as JSON.
        stored_values: Gives readers of the values of a file's variables, by handle op.
        editor: Writes the editor to an open file; None where there is none.
        nodes_as_in_file: Gives NodeDefs as the file had them from which they were read.
        file_meta_graph: Gives the MetaGraphDef of that file.
        find_opened_model: Gives the SavedModel that was opened, of which this graph is one, or None.
        tags: The tags that the user chose for the graph of a SavedModel; empty for those that it has.
        unedited_folder: Gives the SavedModel's directory if it is to be copied unchanged, or None.
        edited: Gives, for this request, the SavedModel that was opened if it is to be written with its edits, or None.
        modules: Gives tf.Modules that compute what the body of a function does, by the names of their signatures; the
            first one is that of the whole function.
        file_part: Gives the function as a graph of a file, which needs no TensorFlow; None where it does.
        read_only: Why the graph cannot run, as a sentence; "" if it can.
        lacks_values: Whether the graph is that of a file without the values of its variables.
        frozen: Whether variables are written as constants.
        inline: Whether a frozen graph has the ops of functions in place of calls.
        lower_control_flow: Whether it has Switch and Merge in place of loops and conditionals of TensorFlow 2.
        verify: Whether to load the written file and compare its results with the graph's.
        feeds: Values for the comparison by input key, tensor name or op name.
        signature: Of a kind of file that has one signature: its name, "" for the one that the graph is mainly for; None
            for all that are there.
        options: Options of the kind of file, by name: see `writable.CONVERSIONS`.
        seconds: How long a converter may take.
        add_notice: Takes a sentence for the user.
        trust: Whether ops may run that do more than compute.
    """

    index: GraphIndex
    envelope: Callable[[], tf.compat.v1.GraphDef]
    graph: Callable[[], tf.Graph]
    session: Callable[[], tf.compat.v1.Session | None]
    find_signatures: Callable[[], tuple[Signature, ...]]
    picture: Callable[[], tuple[Scene, Paint]]
    find_apparent_signature: Callable[[], Signature]
    code: Callable[[str], Script]
    find_page_input: Callable[[], PageInput]
    edits: Callable[[], str] = str
    stored_values: Callable[[], Mapping[str, Callable[[], object]]] = dict
    editor: Callable[[IO[bytes]], Iterable[str]] | None = None
    nodes_as_in_file: Callable[[Iterable[NodeDef]], list[NodeDef]] = list
    file_meta_graph: Callable[[], MetaGraphDef | None] | None = None
    find_opened_model: Callable[[], OpenedSavedModel | None] = _nothing
    tags: tuple[str, ...] = ()
    unedited_folder: Callable[[], Path | None] | None = None
    edited: Callable[[ExportRequest], EditedSavedModel | None] | None = None
    modules: Callable[[], Mapping[str, tf.Module]] | None = None
    file_part: Callable[[ExportRequest], ExportRequest | None] | None = None
    read_only: str = ""
    lacks_values: Callable[[], bool] = _never
    frozen: bool = False
    inline: bool = False
    lower_control_flow: bool = False
    verify: bool = True
    feeds: Mapping[str, TensorCompatible] = field(default_factory=dict)
    signature: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 600.0
    add_notice: Callable[[str], None] = _ignore
    trust: Trust = TRUSTED

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures to write, found on first use: a picture needs none."""
        return self.find_signatures()

    @cached_property
    def opened_model(self) -> OpenedSavedModel | None:
        """The SavedModel that was opened, of which this graph is one; None for other graphs."""
        return self.find_opened_model()

    def with_signatures(self, signatures: tuple[Signature, ...]) -> ExportRequest:
        """This request with other signatures."""
        return replace(self, find_signatures=lambda: signatures)


@dataclass(frozen=True)
class OpenedSavedModel:
    """A SavedModel that was opened, of which one graph was chosen by its tags.

    Attributes:
        folder: Its directory.
        stored: What the directory holds beside the graph.
        renamed: The names that ops had then, by their present ones, of those that edits have renamed.
    """

    folder: Path
    stored: StoredData
    renamed: Mapping[str, str]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the graph that was chosen."""
        return self.stored.tags()

    def keys(self, handle: str) -> tuple[str, ...]:
        """The names of a variable's value in the checkpoint; empty for a variable that came since.

        Args:
            handle: The name that its handle op has now.
        """
        is_new = handle not in self.renamed and handle in self.renamed.values()
        return () if is_new else self.stored.keys(self.renamed.get(handle, handle))

    @cached_property
    def model(self) -> SavedModel:
        """The SavedModel message in the folder."""
        saved_model: SavedModel = tf_protos.SavedModel.FromString((self.folder / "saved_model.pb").read_bytes())
        return saved_model

    @cached_property
    def place(self) -> int:
        """Which of the graphs in the file was chosen; of two that have the same tags, TensorFlow loads the first."""
        metas = self.model.meta_graphs
        return next(place for place, meta in enumerate(metas) if set(meta.meta_info_def.tags) == set(self.tags))

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
        lost: The names of signatures that are not written, because edits removed ops that they name.
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
        """The MetaGraphDef that was chosen by its tags, with the names that variables and tables have now."""
        return rename_in_file(self._file_meta_graph, self.names)

    @cached_property
    def before(self) -> GraphIndex:
        """The graph as it was opened, with the names that variables and tables have now."""
        return rename_in_graph(self.opened, self.names)

    @cached_property
    def names(self) -> dict[str, str]:
        """The present names of ops that hold state, by those that they had; none where no saved objects follow."""
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
