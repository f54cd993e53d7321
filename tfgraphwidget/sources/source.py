"""Body: one graph to read, of a source or of a function. Source: what was opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tfgraphwidget.errors import NotRunnable, SessionRefused
from tfgraphwidget.graph import (
    TRUSTED,
    Asset,
    GraphIndex,
    Member,
    SavedGradient,
    Signature,
    Trust,
    Typing,
    VariableDef,
    build,
)
from tfgraphwidget.sentences import OPEN_WITH_CHECKPOINT
from tfgraphwidget.tf_types import (
    ContextDef,
    FunctionDef,
    GraphDef,
    KerasModel,
    MetaGraphDef,
    NodeDef,
    QueueRunnerDef,
    VersionDef,
)

if TYPE_CHECKING:
    from tfgraphwidget.sources.converted_model import LiteModel, OnnxModel  # noqa: TC004  # a string at run time
    from tfgraphwidget.sources.files.tensor_bundle import StoredTensor  # noqa: TC004  # a string at run time
    from tfgraphwidget.sources.functions.call_structure import CallStructure  # noqa: TC004  # the same
    from tfgraphwidget.tensorflow_modules import tf  # noqa: TC004  # a string at run time

Collections = tuple[dict[str, tuple[Member, ...]], tuple[VariableDef, ...]]


class Body(Protocol):
    """A graph to read; nothing here runs an op.

    `arguments` are the tensors that a caller gives, `returns` maps the name of each result to its
    tensor; both are empty for a plain graph. `alias` maps the name that TensorFlow gave an op to
    the name it is shown under, for those where they differ: captured variables are shown under the
    variables' own names. `called` maps handle ops whose names do not say which variable they hold,
    as in TensorFlow 2's SavedModels, to the variable's name. `origins` maps the ops that represent
    what a call feeds to a function to the ops of the outermost graph that hold it; None for the
    outermost graph itself. `constants` are the Const NodeDefs that a call feeds to arguments, by
    these.
    """

    @property
    def arguments(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def returns(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def alias(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def saved_names(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def origins(self) -> Mapping[str, str] | None: ...  # noqa: D102

    @property
    def constants(self) -> Mapping[str, NodeDef]: ...  # noqa: D102

    @property
    def typing(self) -> Typing: ...  # noqa: D102

    def stamp(self) -> Hashable:
        """Changes whenever ops are added, or entries of collections added, removed or exchanged."""

    def nodes(self, skip: int = 0) -> Sequence[NodeDef]:
        """The NodeDefs after the first `skip` ones, in graph order, under the shown names."""

    def collections(self) -> Collections:
        """Ops, tensors and variables in the graph's collections, and each variable once."""

    def functions(self) -> frozenset[str]:
        """The names of all functions in the library that come with the graph."""

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when the library has none."""

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""

    def contexts(self) -> tuple[ContextDef, ...]:
        """The outermost v1 control flow contexts; see `graph.extras`."""

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """(collection key, QueueRunnerDef) of every queue runner."""

    def envelope(self) -> GraphDef:
        """A GraphDef with the graph's versions and function library and no nodes."""

    def versions(self) -> VersionDef:
        """The versions that TensorFlow reads the graph by."""


def body_index(body: Body, origin: object = None) -> GraphIndex:
    """The index of a graph, with all that it holds beside ops."""
    return build(
        body.nodes(),
        *body.collections(),
        typing=body.typing,
        functions=body.functions(),
        extras=body,
        origin=origin,
    )


@dataclass(frozen=True)
class ImportedGraph:
    """A file's graph after its import into TensorFlow, with a session.

    `notices` say what the session lacks, and what was left out of the file; `repaired` are the
    NodeDefs that were imported otherwise than the file has them, by name; `lacks` say what the
    session lacks, also where that was known before.
    """

    body: Body
    graph: tf.Graph
    session: tf.compat.v1.Session
    notices: tuple[str, ...] = ()
    repaired: Mapping[str, NodeDef] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()


class StoredData(Protocol):
    """The data of a file beside its graph, without an import; see `files.stored_data`."""

    def shape(self, handle: str) -> tuple[int, ...]:
        """The shape of the value of the variable of that handle op. Raises SessionRefused."""

    @property
    def has_values(self) -> bool:
        """Whether there is a checkpoint."""

    def key(self, handle: str) -> str | None:
        """The name in the checkpoint of that handle op's variable; None when there is none."""

    def variable_name(self, handle: str) -> str:
        """The name of that handle op's variable: its object's, where the file stores objects."""

    def twins(self, handle: str) -> tuple[str, ...]:
        """The other handle ops of a variable that functions read: Keras exports each twice."""

    def dtype(self, handle: str) -> str:
        """The dtype of the value of the variable of that handle op. Raises SessionRefused."""

    def value(self, handle: str) -> np.ndarray:
        """The value of that handle op's variable, as a numpy array. Raises SessionRefused."""

    def meta(self) -> MetaGraphDef:
        """The MetaGraphDef that the file holds; an empty one when it holds a GraphDef alone."""

    def gradient(self, kind: str) -> SavedGradient | None:
        """The gradient of a tf.custom_gradient, by its name in ops; None if the file lacks it."""

    def composite_arguments(self) -> Mapping[str, frozenset[int]]:
        """The places of the arguments that are parts of sparse or ragged values, by the names of
        the functions that have some.
        """

    def folder(self) -> Path | None:
        """The directory of a SavedModel, complete; None for other files."""

    def assets(self) -> Mapping[str, Asset] | None:
        """The asset files of a SavedModel by their names in "assets"; None for other files."""

    def tags(self) -> tuple[str, ...]:
        """The tags of the graph that was chosen of a SavedModel; empty for other files."""

    def keys(self, handle: str) -> tuple[str, ...]:
        """The names in the checkpoint of the value of that handle op's variable; empty for none."""

    def other_values(self) -> Mapping[str, Callable[[], object]]:
        """Readers of a SavedModel's values from another checkpoint, by their names in its own."""

    def all_values(self) -> Mapping[str, Callable[[], object]]:
        """Readers of all values in the checkpoint, by their names in it; empty without one."""

    def creation_lines(self, op: str, function: str = "") -> tuple[str, ...]:
        """The lines of Python that created an op of the graph or a function; empty if unknown."""


@dataclass(frozen=True)
class SavedEditor:
    """What an editor had when it was written beside its graph as it was opened; see
    `files.archive`.

    Attributes:
        edits: The edits, as `edits.serialization` writes them.
        expected: The op type and the inputs of each op of the graph after the edits, by name.
        path: The titles of the current graph and those around it.
        boundary: The marked inputs and outputs.
        selected: The names of the selected ops.
        constants: A checksum of each constant that the edits have made, by its op; None in old
            archives.
        renamed: The names of the ops that edits had renamed before the graph was opened, by those
            before: gradient ops are named after these.
        renamed_now: The same with those that the edits have renamed.
        values: The value of each variable, by its handle op.
        removed: The value of each variable that the edits have removed, by the name that its handle
            op had.
        tables: The keys and the values of each hash table, by its op.
        iterators: The position of each iterator in its dataset, by its op.
        pairs: The ops that were paired by hand with those of other graphs, by their titles.
        current: Opens the graph as it is after the edits, without these.
        folder: What keeps the files.
    """

    edits: object
    expected: Mapping[str, tuple[str, tuple[str, ...]]]
    path: tuple[str, ...]
    boundary: tuple[tuple[str, ...], tuple[str, ...]]
    selected: tuple[str, ...]
    constants: Mapping[str, int] | None
    renamed: Mapping[str, str]
    renamed_now: Mapping[str, str]
    values: Mapping[str, StoredTensor]
    removed: Mapping[str, StoredTensor]
    tables: Mapping[str, tuple[StoredTensor, StoredTensor]]
    iterators: Mapping[str, StoredTensor]
    pairs: Mapping[str, Mapping[str, str]]
    current: Callable[[], Source] | None
    folder: object = field(repr=False)


class StoredCaptures(Protocol):
    """What a function captured that was written to a file; see `functions.stored_function`."""

    @property
    def names(self) -> frozenset[str]:
        """The ops of the function that represent state."""

    def live(self) -> Mapping[str, object]:
        """The variables and tensors, by op; made at the first call."""

    @property
    def structure(self) -> object:
        """How the function is called, as it was written."""

    def entries(
        self,
    ) -> Iterable[tuple[str, Mapping[str, object], Mapping[str, Callable[[], object]]]]:
        """As written: the op, the kind, and a reader of each value that the kind's entries name."""


def with_trust(code: str) -> str:
    """The expression that opens a file, with the argument that says that it is trusted.

    >>> with_trust("tgw.edit('a.pb')")
    "tgw.edit('a.pb', trusted=True)"
    """
    if "trusted=True" in code or not code.endswith(")"):
        return code
    if code.endswith("\n)"):
        return f"{code[:-1]}    trusted=True,\n)"
    return f"{code[:-1]}, trusted=True)"


def no_values(title: str, handles: Iterable[str]) -> SessionRefused:
    """The refusal to read variables, by their handle ops, of a file that has no values for them."""
    return SessionRefused(
        f"{title} comes without values for its variables; " + OPEN_WITH_CHECKPOINT + ".", handles
    )


@dataclass
class Source:
    """A graph source that was opened.

    Attributes:
        title: Its name in the graph view and in sentences.
        body: The graph as it was opened.
        graph: The live `tf.Graph` that can be edited; None for a file until `live` is called, and
            for functions.
        session: The session that runs `graph`.
        notices: Sentences about what can only be viewed.
        signatures: The signatures of a file.
        missing_tensors: The tensors that its graph does not have, by the signatures that name them:
            these are left out.
        signature: The signature that was chosen.
        entrance: The ops to enter, outermost first, to reach the function body that does the work:
            a TensorFlow 2 SavedModel wraps it in one or two calls.
        shared_functions: The functions on that way which compute other signatures too; an edit of
            one is for all.
        refusal: Why there is no live graph of a function, as one sentence with a suggested fix.
        live_refusal: The sentence that `live` would have raised when the file was opened, or "".
        has_values: False for a file without a checkpoint.
        reopen_code: The Python expression that opens it again.
        opened: Gives the object that was opened, as long as others hold it; None for a path.
        revive: Imports the file into a new graph and session.
        open_edited: Opens the file's graph as edits have made it, with the names of tables that are
            filled afterwards.
        stored: What a file has besides its graph.
        model: The Keras model that was opened.
        structure: How a function is called, if that is known.
        initial_values: Draws new initial values of a function's variables, by their names; other
            seeds if True.
        saved_editor: What an editor had that was written to the file.
        captures: What a function captured that was written to the file.
        trust: Whether ops of the graph may run that do more than compute; a live graph is the
            user's own.
        find_obstacles: Finds again why the graph of a file cannot run, as `notices` and
            `live_refusal`; trust changes it.
        converted_model: The model of TensorFlow Lite or ONNX that the graph is of, whose runtime
            runs it.
        repaired: The NodeDefs that were imported otherwise than the file has them, by name.
        lacks: Sentences about what the session of a file lacks since the import.
    """

    title: str
    body: Body
    graph: tf.Graph | None = None
    session: tf.compat.v1.Session | None = None
    notices: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()
    missing_tensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signature: Signature | None = None
    entrance: tuple[str, ...] = ()
    shared_functions: frozenset[str] = frozenset()
    refusal: str = ""
    live_refusal: str = ""
    has_values: bool = True
    reopen_code: str = ""
    opened: Callable[[], object] | None = field(default=None, repr=False)
    revive: Callable[[], ImportedGraph] | None = field(default=None, repr=False)
    open_edited: Callable[[MetaGraphDef, Collection[str]], Source] | None = field(
        default=None, repr=False
    )
    stored: StoredData | None = field(default=None, repr=False)
    model: KerasModel | None = field(default=None, repr=False)
    structure: CallStructure | None = field(default=None, repr=False)
    initial_values: Callable[[bool], Mapping[str, object]] | None = field(default=None, repr=False)
    saved_editor: SavedEditor | None = field(default=None, repr=False)
    captures: StoredCaptures | None = field(default=None, repr=False)
    trust: Trust = field(default=TRUSTED, repr=False)
    find_obstacles: Callable[[], tuple[tuple[str, ...], str]] | None = field(
        default=None, repr=False
    )
    converted_model: LiteModel | OnnxModel | None = field(default=None, repr=False)
    repaired: Mapping[str, NodeDef] = field(default_factory=dict, repr=False)
    lacks: tuple[str, ...] = ()

    def give_trust(self) -> None:
        """Let ops of the graph run that do more than compute, as the user says so."""
        before = () if self.find_obstacles is None else self.find_obstacles()[0]
        self.trust.is_given = True
        if self.find_obstacles is not None:
            notices, self.live_refusal = self.find_obstacles()
            self.notices = (*notices, *(notice for notice in self.notices if notice not in before))
        self.reopen_code = with_trust(self.reopen_code)

    def fresh_values(self, *, reseed: bool = False) -> Callable[[], Mapping[str, object]] | None:
        """What draws new initial values of variables, by their names; None where nothing does."""
        return None if self.initial_values is None else partial(self.initial_values, reseed)

    def live(self) -> tf.Graph:
        """Return the graph that can be edited and run. The first call imports a file into
        TensorFlow.

        Raises:
            NotRunnable: The file cannot be imported; the error names the op or file. The source is
                unchanged.
        """
        if self.graph is None:
            if self.revive is None:
                raise NotRunnable(self.refusal)
            self.take(self.revive())
            assert self.graph is not None  # which was imported just now
        return self.graph

    def take(self, imported: ImportedGraph) -> None:
        """Let the file's graph be what TensorFlow has imported."""
        self.body, self.graph, self.session = imported.body, imported.graph, imported.session
        self.repaired, self.lacks = imported.repaired, imported.lacks
        self.notices += tuple(notice for notice in imported.notices if notice not in self.notices)
