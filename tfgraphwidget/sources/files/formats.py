"""SourceFormat: one value per file format, and the registry of them.

`tgw.edit`, the command line and JupyterLab's file handler ask this registry: a new format is one
more value in it. Importing this module does not import TensorFlow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.sentences import NO_VALUES, either, in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files import container as containers
from tfgraphwidget.sources.files.container import Container, OpenOptions
from tfgraphwidget.sources.files.parse import LARGEST, graph_defs
from tfgraphwidget.sources.paths import parse_path, shorten
from tfgraphwidget.sources.tf_protos import MessageClasses
from tfgraphwidget.writable import recover

if TYPE_CHECKING:
    from tfgraphwidget.sources.source import Source  # noqa: TC004  # a string at run time; keeps numpy out of --help


def no_checkpoint(path: Path) -> Path | None:  # noqa: ARG001
    """None: the format does not say where values lie."""
    return None


@dataclass(frozen=True)
class SourceFormat:
    """One file format that holds graphs.

    Attributes:
        name: What `tfgraphwidget info` calls it, "GraphDef".
        suffixes: The suffixes of its files, (".pb", ".pbtxt"), that JupyterLab opens on a
            double-click.
        matches: Whether the bytes of a container are of this format.
        open: Opens a container that matches as a Source. TensorFlow is loaded by then.
        describe: One summary for each graph in a container that matches, as `summarize_graph` makes
            them. Must not import TensorFlow: `container.messages` has classes of messages that do
            without.
        hints: Parts of file names; files with such a name are tried with this format first. By
            default the suffixes.
        main_files: Names of files that make a directory one source of this format,
            ("saved_model.pb",).
        find_checkpoint: The checkpoint that belongs to a file, if it lies beside.
    """

    name: str
    suffixes: tuple[str, ...]
    matches: Callable[[Container], bool]
    open: Callable[[Container, OpenOptions], Source]
    describe: Callable[[Container], list[dict[str, object]]]
    hints: tuple[str, ...] | None = None
    main_files: tuple[str, ...] = ()
    find_checkpoint: Callable[[Path], Path | None] = no_checkpoint

    def is_likely(self, name: str) -> bool:
        """Whether a file of that name is tried with this format first."""
        return any(hint in name for hint in (self.suffixes if self.hints is None else self.hints))


# The registry


def register_format(source_format: SourceFormat) -> SourceFormat:
    r"""Add a format, or replace the one of the same name.

    Args:
        source_format: The format; it is tried after those that were registered before, unless a
            file's name hints at it.

    Example:
        A graph of NoOps, one per line: its name, then the names of its control inputs.

        >>> from tfgraphwidget.sources import open_message, summarize_graph
        >>> def read(container):
        ...     graph = container.messages.GraphDef()
        ...     for name, *inputs in map(str.split, container.data.decode().splitlines()):
        ...         graph.node.add(name=name, op="NoOp", input=[f"^{name}" for name in inputs])
        ...     return graph
        >>> edges = register_format(SourceFormat(
        ...     name="edge list", suffixes=(".edges",),
        ...     matches=lambda container: container.name.endswith(".edges"),
        ...     open=lambda container, options: open_message(
        ...         read(container), container.title, container.where, options),
        ...     describe=lambda container: [summarize_graph(read(container))]))
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.edges"
        >>> characters = file.write_text("a\nb a")
        >>> import tfgraphwidget as tgw
        >>> tgw.edit(file)
        <GraphEditor: 2 ops, 0 edits>
        >>> file_suffixes()
        ('.pb', '.pbtxt', '.meta', '.tflite', '.onnx', '.edges')
        >>> unregister_format("edge list")
    """
    _FORMATS[source_format.name] = source_format
    return source_format


def unregister_format(name: str) -> None:
    """Remove the format of that name; KeyError when there is none."""
    del _FORMATS[name]


def registered_formats() -> tuple[SourceFormat, ...]:
    """All formats, in the order in which they are tried."""
    return tuple(_FORMATS.values())


def file_suffixes() -> tuple[str, ...]:
    """The suffixes of files that can be opened, of all formats.

    >>> file_suffixes()
    ('.pb', '.pbtxt', '.meta', '.tflite', '.onnx')
    """
    return tuple(dict.fromkeys(suffix for each in registered_formats() for suffix in each.suffixes))


def listed_suffixes() -> str:
    """The suffixes in a sentence.

    >>> listed_suffixes()
    '.pb, .pbtxt, .meta, .tflite or .onnx'
    """
    *first, last = file_suffixes()
    return f"{', '.join(first)} or {last}" if first else last


def main_files() -> tuple[str, ...]:
    """The names of files that make a directory one source, of all formats."""
    return tuple(name for each in registered_formats() for name in each.main_files)


def find_checkpoint(path: Path) -> Path | None:
    """The checkpoint that belongs to a file by its name, if the file's format knows of one."""
    likely = (each for each in registered_formats() if path.name.lower().endswith(each.suffixes))
    return next(
        (checkpoint for each in likely if (checkpoint := each.find_checkpoint(path)) is not None),
        None,
    )


# Recognizing files


def locate_file(path: Path) -> Path:
    """The file with the graph: `path`, or a directory's main file. Raises as `read_container`."""
    return containers.locate_file(path, main_files(), file_suffixes())


def read_container(path: Path, messages: MessageClasses | None = None) -> Container:
    """Read a file or directory, by TensorFlow's messages, or others."""
    messages = tf_protos.message_classes() if messages is None else messages
    return containers.read_container(path, messages, main_files(), file_suffixes())


def find_format(container: Container) -> SourceFormat:
    """The format of a container's bytes; the file's name only says what to try first. Raises
    NotAGraph when no format matches, with what the file is instead, if that is known.
    """
    where = "This data" if container.file is None else f"File {shorten(str(container.file))}"
    if not container.data:
        raise NotAGraph(f"{where} is empty; save the graph again.")
    if len(container.data) > LARGEST and not container.is_archive:
        raise NotAGraph(
            f"{where} is over 2 GB, the limit of protobuf; keep variables' values in a checkpoint."
        )
    for each in sorted(registered_formats(), key=lambda each: not each.is_likely(container.name)):
        if each.matches(container):
            return each
    if unsupported := _unsupported_input(container.data, container.name):
        raise NotAGraph(f"{where} is " + unsupported + ".")
    errors = list(container.errors.values())
    if len(errors) == len(MessageClasses._fields) and not container.is_text:
        raise NotAGraph(
            f"{where} is not a GraphDef, MetaGraphDef or SavedModel, or it is truncated or "
            "damaged; save or copy it again."
        )
    why = f" ({str(errors[0])[:120]})" if errors and container.is_text else ""
    raise NotAGraph(
        f"{where} holds no TensorFlow graph with ops in it{why}; give a {listed_suffixes()} file."
    )


def recognize(path: Path) -> tuple[Container, SourceFormat]:
    """Read a file or directory and find its format without TensorFlow, which is loaded only for a
    file that is not read without. Raises as `read_container` and `find_format`.
    """
    from tfgraphwidget.sources.files.summary_schema import summary_messages

    container = read_container(path, summary_messages())
    try:
        return container, find_format(container)
    except NotAGraph:
        container = container.with_messages(tf_protos.message_classes())
        return container, find_format(container)


def describe_file(path: Path) -> Mapping[str, object]:
    """Summarize a file or directory: "kind", "bytes" and "graphs". Raises as `recognize`."""
    container, source_format = recognize(path)
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return {
        "kind": source_format.name,
        "bytes": sum(file.stat().st_size for file in files),
        "graphs": source_format.describe(container),
    }


# The formats


def _holds(name: str) -> Callable[[Container], bool]:
    return lambda container: container.message(name) is not None


def _open_graph(name: str) -> Callable[[Container, OpenOptions], Source]:
    def open_graph(container: Container, options: OpenOptions) -> Source:
        from tfgraphwidget.sources.files.opening import open_message

        message = container.message(name)
        container.data = b""  # not read any more, and of a million ops 200 MB
        folder = None if container.file is None else container.file.parent
        source = open_message(
            message, container.title, container.where, options, table_folder=folder
        )
        source.notices += container.notices(name)
        if options.checkpoint is None:
            source.notices += _unread_checkpoint(container, source)
        return source

    return open_graph


def _unread_checkpoint(container: Container, source: Source) -> tuple[str, ...]:
    """A sentence on values beside a file that the caller did not ask for; () if there are none."""
    from tfgraphwidget.graph import HANDLES, types_of

    checkpoint = None if container.path is None else find_checkpoint(container.path)
    if checkpoint is None or HANDLES.isdisjoint(types_of(source.body.nodes())):
        return ()
    prefix = checkpoint.with_suffix("") if checkpoint.suffix == ".index" else checkpoint
    notice = (
        f"{container.where} was opened without the checkpoint beside it, {NO_VALUES}; "
        + either(
            f"checkpoint={str(prefix)!r} gives them.",
            "Open checkpoint in the tab Model gives them.",
        )
    )
    return (notice,)


def _describe_graph(container: Container, name: str) -> list[dict[str, object]]:
    from tfgraphwidget.sources.files.summary import summarize_graph

    message = container.message(name)
    metas = {"GraphDef": [None], "MetaGraphDef": [message]}.get(name) or message.meta_graphs
    return [
        summarize_graph(graph, meta) for graph, meta in zip(graph_defs(message), metas, strict=True)
    ]


def _open_saved_model(container: Container, options: OpenOptions) -> Source:
    """A saved_model.pb beside its variables is opened as its folder, else as a graph."""
    from tfgraphwidget.sources.files.checkpoint import Checkpoint
    from tfgraphwidget.sources.files.opening import open_message

    file = container.file
    alone = file is None or (
        file == container.path and Checkpoint.of_saved_model(file.parent).missing()
    )
    folder = None if file is None or alone else file.parent
    return open_message(
        container.message("SavedModel"), container.title, container.where, options, folder
    )


def _checkpoint_of_meta_graph(path: Path) -> Path | None:
    """The checkpoint of the same name: "m" for m.meta beside m.index, or TensorFlow 0.x's file."""
    return next(
        (file for file in (path.with_suffix(".index"), path.with_suffix("")) if file.is_file()),
        None,
    )


_FORMATS: dict[str, SourceFormat] = {}

GRAPH_DEF = register_format(
    SourceFormat(
        "GraphDef",
        (".pb", ".pbtxt"),
        matches=_holds("GraphDef"),
        open=_open_graph("GraphDef"),
        describe=lambda container: _describe_graph(container, "GraphDef"),
        # many kinds of files end in .pb; this one is tried first where no other format is likely
        hints=(),
    )
)
META_GRAPH_DEF = register_format(
    SourceFormat(
        "MetaGraphDef",
        (".meta",),
        matches=_holds("MetaGraphDef"),
        open=_open_graph("MetaGraphDef"),
        describe=lambda container: _describe_graph(container, "MetaGraphDef"),
        find_checkpoint=_checkpoint_of_meta_graph,
    )
)
SAVED_MODEL = register_format(
    SourceFormat(
        "SavedModel",
        (),
        matches=_holds("SavedModel"),
        open=_open_saved_model,
        describe=lambda container: _describe_graph(container, "SavedModel"),
        hints=("saved_model.",),
        main_files=("saved_model.pb", "saved_model.pbtxt"),
    )
)


def _late_call(module: str, name: str) -> Callable[..., Any]:
    """A function of a module beside this one, which is imported when it is called."""

    def call(*arguments: object) -> Any:
        return getattr(import_module(f"tfgraphwidget.sources.files.{module}"), name)(*arguments)

    return call


TFLITE = register_format(
    SourceFormat(
        "TensorFlow Lite model",
        (".tflite",),
        matches=lambda container: container.data[4:8] == b"TFL3",
        open=_late_call("lite_reader", "open_model"),
        describe=_late_call("lite_reader", "describe"),
    )
)
# How a model begins: with the version of its format, from 3 on, which none of TensorFlow's has.
ONNX_START = re.compile(rb"\x08[\x03-\x7f][\x12\x1a\x22\x28\x32\x3a\x42]")
ONNX = register_format(
    SourceFormat(
        "ONNX model",
        (".onnx",),
        matches=lambda container: ONNX_START.match(container.data) is not None,
        open=_late_call("onnx_reader", "open_model"),
        describe=_late_call("onnx_reader", "describe"),
    )
)


EDITOR = register_format(
    SourceFormat(
        "editor",
        (),  # it is an editor's file, which is not proposed where a graph is asked for
        matches=lambda container: container.is_archive,
        open=_late_call("archive", "open_archive"),
        describe=_late_call("archive", "describe_archive"),
        hints=(".tgw",),
    )
)


def open_path(path: str | os.PathLike[str], options: OpenOptions) -> Source:
    """Open a file or directory in the format that it is recognized as. Raises UnknownName for a
    path that does not exist, and NotAGraph for what no format matches.

    A save into its folder that was interrupted is finished first; the source's notices say so.
    """
    checked_path = parse_path(path, "path")
    recovered: list[str] = []
    with suppress(OSError, ValueError):
        recovered = recover(
            Path(os.path.realpath(checked_path if checked_path.is_dir() else checked_path.parent))
        )
    container = read_container(checked_path)
    source = find_format(container).open(container, options)
    source.notices = (*recovered, *source.notices)
    return source


def open_bytes(data: bytes, options: OpenOptions) -> Source:
    """Open bytes in the recognized format. Raises NotAGraph when no format matches."""
    container = Container(data, tf_protos.message_classes())
    return find_format(container).open(container, options)


# Files of other formats that are often passed by mistake, and what to pass instead

_KERAS = in_cell("load it with keras.models.load_model first, and open the model: tgw.edit(model)")
_WEIGHTS = in_cell("load them with model.load_weights, and open the model: tgw.edit(model)")
_CHECKPOINT = "it holds values and no graph; " + in_cell(
    "give the .meta file: tgw.edit('model.meta', checkpoint='model')"
)
_SSTABLE = bytes.fromhex("57fb808b247547db")  # how every table file of a checkpoint ends


class _UnsupportedInput(NamedTuple):
    """A format that is recognized by its bytes at offset `at`, or by the file name."""

    at: int
    magic: bytes
    name_pattern: str
    what: str
    instead: str


_UNSUPPORTED = (
    _UnsupportedInput(
        0, b"\x89PNG", r"\.png", "a picture", "give the file that the graph was saved in"
    ),
    _UnsupportedInput(
        0, b"\xff\xd8\xff", r"\.jpe?g", "a picture", "give the file that the graph was saved in"
    ),
    _UnsupportedInput(
        0, b"GIF8", r"\.gif", "a picture", "give the file that the graph was saved in"
    ),
    _UnsupportedInput(0, b"", r"\.weights\.h5", "weights of a Keras model and no graph", _WEIGHTS),
    _UnsupportedInput(0, b"\x89HDF", r"\.(h5|hdf5)", "a Keras or HDF5 file", _KERAS),
    _UnsupportedInput(0, b"", r"\.keras", "a Keras file", _KERAS),
    _UnsupportedInput(0, b"", r"\.(pt|pth)", "a PyTorch file", "export it to a SavedModel first"),
    _UnsupportedInput(
        -8, _SSTABLE, r"(\.index|\.data-\d+-of-\d+|\.ckpt)", "a part of a checkpoint", _CHECKPOINT
    ),
    _UnsupportedInput(
        0, b"model_checkpoint_path:", "checkpoint", "a checkpoint's list of names", _CHECKPOINT
    ),
    _UnsupportedInput(
        0, b"", r"\.cpb", "a SavedModel in chunks", "save it without experimental image format"
    ),
    _UnsupportedInput(
        0, b"PK\x03\x04", r"\.zip", "a zip archive", "unpack it, and open what is in it"
    ),
    _UnsupportedInput(
        0, b"\x1f\x8b", r"\.t?gz", "a compressed file", "unpack it, and open what is in it"
    ),
)


def _unsupported_input(data: bytes, name: str) -> str:
    """The kind of a file that is not a graph, by its first bytes, and what to pass instead: "a
    picture; give …"; "" if it is unknown.
    """
    for each in _UNSUPPORTED:
        start = each.at % len(data) if data else 0
        by_bytes = each.magic and data[start : start + len(each.magic)] == each.magic
        if by_bytes or re.search(f"{each.name_pattern}\\Z", name):
            return f"{each.what}; " + each.instead
    return ""
