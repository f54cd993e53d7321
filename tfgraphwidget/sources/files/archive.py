"""Archives: an editor as bytes or a .tgw file, that is its graph, its edits and its values. Nothing
in one is code.

An archive is a zip file whose entries are not compressed:

* tfgraphwidget.json, which comes first: the version of the format, and what `SavedEditor` says
* graph.meta, the graph as a MetaGraphDef; after edits also opened.meta, the graph before them, and
  edits.json
* values.index and values.data-00000-of-00001, a checkpoint with all values: those of variables,
  tables and captures
* model/…, the files of a SavedModel, in place of graph.meta

It is opened by unpacking it to a temporary folder, where these files are opened as any others are.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from tfgraphwidget.errors import GraphEditError, NotAGraph, reason_of
from tfgraphwidget.sentences import Sentence, editor_call, in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.container import ARCHIVE_HEADER, Container, OpenOptions
from tfgraphwidget.sources.files.opening import open_message
from tfgraphwidget.sources.files.summary import summarize_graph
from tfgraphwidget.sources.files.tensor_bundle import SHARD, StoredTensor, write_shard
from tfgraphwidget.sources.functions.stored_function import open_function_message
from tfgraphwidget.sources.source import SavedEditor, Source
from tfgraphwidget.tf_types import Message

_Message = TypeVar("_Message", bound=Message)
VERSION = 1
"""The version of the format. An archive of a newer one is refused."""
_PIECE = 1 << 24  # bytes that are copied at a time
_ZIP_ERRORS = (zipfile.BadZipFile, EOFError, NotImplementedError)


class ArchiveEntry(str, Enum):
    """The names of the entries after the header."""

    EDITS = "edits.json"
    GRAPH = "graph.meta"
    OPENED = "opened.meta"
    VALUES = "values"
    MODEL = "model"


def write_archive(
    file: IO[bytes],
    header: Mapping[str, object],
    folder: Path,
    model: Path | None,
    tensors: Collection[StoredTensor] = (),
) -> None:
    """Write an archive, with the folder of a SavedModel, if there is one, and values, which are
    read and written one after the other.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as entries:
        entries.writestr(ARCHIVE_HEADER, json.dumps({"version": VERSION, **header}))
        for root, prefix in (
            (folder, PurePosixPath()),
            (model, PurePosixPath(ArchiveEntry.MODEL.value)),
        ):
            for path in sorted(root.rglob("*")) if root is not None else ():
                if root is not None and path.is_file():
                    name = str(prefix / path.relative_to(root).as_posix())
                    with (
                        path.open("rb") as content,
                        entries.open(name, "w", force_zip64=True) as entry,
                    ):
                        shutil.copyfileobj(content, entry, _PIECE)
        if tensors:
            with entries.open(
                f"{ArchiveEntry.VALUES.value}{SHARD}", "w", force_zip64=True
            ) as entry:
                index = write_shard(entry, tensors)
            entries.writestr(f"{ArchiveEntry.VALUES.value}.index", index)


class _Folder:
    """A temporary folder that lasts as long as the object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tfgraphwidget-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def open_archive(container: Container, options: OpenOptions) -> Source:
    """Open an archive.

    Args:
        options: What the caller chose; a signature or a checkpoint goes before those of the
            archive.

    Raises:
        NotAGraph: It is damaged, or of a newer version.
    """
    folder = _Folder()
    header = _unpack(container, folder.path)
    with _damage_refused(container.where):
        return _open(folder.path, header, container, options, folder)


@contextmanager
def _damage_refused(where: str) -> Iterator[None]:
    """Raise NotAGraph for what reading entries, a header or a graph raises that are none."""
    try:
        yield
    except GraphEditError:
        raise
    except (
        *_ZIP_ERRORS,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OSError,
        RecursionError,
    ) as error:
        raise NotAGraph(_damage(where, reason_of(error))) from error


def _damage(where: str, what: str) -> Sentence:
    """The sentence on an archive that is damaged."""
    return f"{where} is damaged ({what}); " + in_cell(
        "write it again with editor.save('editor.tgw') or bytes(editor)."
    )


def describe_archive(container: Container) -> list[dict[str, object]]:
    """One summary of the graph in the archive `container`; for a SavedModel, of each."""
    with tempfile.TemporaryDirectory() as folder:
        _unpack(
            container,
            Path(folder),
            [ArchiveEntry.GRAPH.value, f"{ArchiveEntry.MODEL.value}/saved_model.pb"],
        )
        file = Path(folder) / ArchiveEntry.GRAPH.value
        with _damage_refused(container.where):
            if file.is_file():
                graphs = [_message(container.messages.MetaGraphDef, file)]
            else:
                file = Path(folder) / ArchiveEntry.MODEL.value / "saved_model.pb"
                graphs = list(_message(container.messages.SavedModel, file).meta_graphs)
        return [summarize_graph(meta.graph_def, meta) for meta in graphs]


def _unpack(container: Container, folder: Path, names: list[str] | None = None) -> dict[str, Any]:
    """Write the entries of an archive to a folder, and return its header."""
    with (
        _damage_refused(container.where),
        zipfile.ZipFile(container.file or io.BytesIO(container.data)) as archive,
    ):
        for entry in archive.infolist():
            _check_entry(entry)
        header: dict[str, Any] = json.loads(archive.read(ARCHIVE_HEADER))
        version = header["version"]
        if not isinstance(version, int):
            raise ValueError(f"its version is {str(version)[:20]!r}")
        if version > VERSION:
            raise NotAGraph(
                f"{container.where} was written by tfgraphwidget {header.get('by')} in version "
                f"{version} of the format, and this release reads up to {VERSION}; run pip install "
                "--upgrade tfgraphwidget."
            )
        for entry in archive.infolist():
            if names is None or entry.filename in names:
                target = folder.joinpath(*PurePosixPath(entry.filename).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as content, target.open("wb") as file:
                    shutil.copyfileobj(content, file, _PIECE)
    return header


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """Raise ValueError for an entry that no editor has written, before any is read."""
    if ".." in PurePosixPath(entry.filename).parts or entry.filename[:1] == "/":
        raise ValueError(f"entry {entry.filename[:100]!r} is none of an editor")
    encrypted = entry.flag_bits & 1
    if encrypted or entry.compress_type != zipfile.ZIP_STORED:
        how = "encrypted" if encrypted else "compressed"
        raise ValueError(f"entry {entry.filename[:100]!r} is {how}, and those of an editor are not")


def _check_complete(
    root: Path, header: Mapping[str, Any], where: str, *, needs_values: bool
) -> None:
    """Raise NotAGraph for an archive that lacks an entry; no checkpoint could replace it."""
    if header["kind"] == "model":
        graph = f"{ArchiveEntry.MODEL.value}/saved_model.pb"
    else:
        graph = ArchiveEntry.GRAPH.value
    entries = [graph]
    if header["kind"] == "graph" and (root / ArchiveEntry.EDITS.value).is_file():
        entries.append(ArchiveEntry.OPENED.value)
    missing = [name for name in entries if not (root / name).is_file()]
    if missing:
        raise NotAGraph(_damage(where, f"entry {missing[0]!r} is missing"))
    prefixes = []
    if any(header.get(kind) for kind in _VALUED) or header.get("function", {}).get("captures"):
        prefixes.append(root / ArchiveEntry.VALUES.value)
    if header["kind"] == "model" and (root / ArchiveEntry.MODEL.value / "variables").is_dir():
        prefixes.append(Path(Checkpoint.of_saved_model(root / ArchiveEntry.MODEL.value).prefix))
    for prefix in prefixes if needs_values else ():
        missing = Checkpoint(str(prefix)).missing()
        if missing:
            entry = Path(missing[0]).relative_to(root).as_posix()
            raise NotAGraph(
                f"{where} is damaged (entry {entry!r} is missing); write it again with "
                + editor_call("save", "'editor.tgw'")
                + f", or unzip it and open {graph!r}, which is the graph without its values."
            )


_VALUED = ("variables", "removed", "tables", "iterators")
"""What of a header names values."""


def _open(
    root: Path,
    header: Mapping[str, Any],
    container: Container,
    options: OpenOptions,
    folder: object,
) -> Source:
    """Open the graph of an unpacked archive, with what was saved of the editor."""
    where = container.where
    table_folder = None if container.file is None else container.file.parent
    # The user may open the graph with another checkpoint, and the values in the archive are unused.
    is_other_checkpoint = options.checkpoint is not None
    needs_values = not is_other_checkpoint or header["kind"] == "function"
    _check_complete(root, header, where, needs_values=needs_values)

    has_values = (root / f"{ArchiveEntry.VALUES.value}.index").is_file()
    own_checkpoint = str(root / ArchiveEntry.VALUES.value) if has_values else None
    stored = None if own_checkpoint is None else Checkpoint(own_checkpoint)
    chosen = replace(
        options,
        checkpoint=options.checkpoint if is_other_checkpoint else own_checkpoint,
        tags=header.get("tags") if options.tags is None else options.tags,
    )
    open_graph: Callable[[str], Source]
    if header["kind"] == "function":
        open_graph = partial(_open_function, root, header, stored, where, options)
    elif header["kind"] == "model":
        model = root / ArchiveEntry.MODEL.value
        open_graph = lambda _: _open_model(model, where, chosen, header.get("signature"))  # noqa: E731
    else:
        open_graph = partial(_open_graph, root, header, where, chosen, table_folder)

    # The graph before edits, if it was saved; then the edits are made again.
    has_opened = (root / ArchiveEntry.OPENED.value).is_file()
    source = open_graph(ArchiveEntry.OPENED.value if has_opened else ArchiveEntry.GRAPH.value)
    source.title = str(header["title"])
    source.notices += tuple(header.get("notices", ()))
    edits = root / ArchiveEntry.EDITS.value
    expected = {name: (kind, tuple(inputs)) for name, (kind, inputs) in header["expected"].items()}
    if is_other_checkpoint:
        values, removed = {}, {}
    else:
        values = _tensors(stored, header["variables"])
        removed = _tensors(stored, header.get("removed", {}))
    tables = {
        op: (_stored_tensor(stored, keys), _stored_tensor(stored, contents))
        for op, (keys, contents) in header["tables"].items()
    }
    current = partial(_open_current, open_graph, source.title, where)
    source.saved_editor = SavedEditor(
        edits=json.loads(edits.read_bytes()) if edits.is_file() else (),
        expected=expected,
        path=_texts(header["path"]),
        boundary=(_texts(header["inputs"]), _texts(header["outputs"])),
        selected=_texts(header["selected"]),
        constants=header.get("constants"),
        renamed=_names(header.get("renamed", {})),
        renamed_now=_names(header.get("renamed_now", {})),
        values=values,
        removed=removed,
        tables=tables,
        iterators=_tensors(stored, header["iterators"]),
        pairs={title: _names(names) for title, names in header.get("pairs", {}).items()},
        current=current if has_opened else None,
        folder=folder,
    )
    return source


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    """A list of a header, of which all items are texts, whatever a damaged file says."""
    return tuple(map(str, values))


def _names(names: Mapping[str, object]) -> dict[str, str]:
    """Names by names, as texts."""
    return {str(old): str(new) for old, new in names.items()}


def _tensors(stored: Checkpoint | None, keys: Mapping[str, str]) -> dict[str, StoredTensor]:
    """The stored value of each op, by its key in the checkpoint."""
    return {op: _stored_tensor(stored, key) for op, key in keys.items()}


def _open_current(open_graph: Callable[[str], Source], title: str, where: str) -> Source:
    """Open the graph as it was when it was saved, with its edits."""
    with _damage_refused(where):
        source = open_graph(ArchiveEntry.GRAPH.value)
    source.title = title
    return source


def _message(kind: type[_Message], file: Path) -> _Message:
    data = file.read_bytes()
    try:
        return kind.FromString(data)
    except Exception as error:  # protobuf's own exception has no public name
        raise ValueError(f"{file.name} is not a {kind.__name__}") from error


def _open_graph(
    root: Path,
    header: Mapping[str, Any],
    where: str,
    options: OpenOptions,
    table_folder: Path | None,
    file: str,
) -> Source:
    meta, signature = _message(tf_protos.MetaGraphDef, root / file), header.get("signature")
    # protobuf 4 looks up no None. Edits may have removed the signature.
    if options.signature is None and signature is not None and signature in meta.signature_def:
        options = replace(options, signature=signature)
    options = replace(options, tags=None)
    return open_message(
        meta, "", where, options, fills_tables=not header["tables"], table_folder=table_folder
    )


def _open_model(folder: Path, where: str, options: OpenOptions, signature: str | None) -> Source:
    if options.signature is None:
        options = replace(options, signature=signature)
    model = _message(tf_protos.SavedModel, folder / "saved_model.pb")
    return open_message(model, "", where, options, folder)


def _open_function(
    root: Path,
    header: Mapping[str, Any],
    stored: Checkpoint | None,
    where: str,
    options: OpenOptions,
    file: str,
) -> Source:
    meta = _message(tf_protos.MetaGraphDef, root / file)
    return open_function_message(meta, header["function"], stored, where, options)


def _stored_tensor(stored: Checkpoint | None, key: str) -> StoredTensor:
    return StoredTensor(key, partial(_value, stored, key))


def _value(stored: Checkpoint | None, key: str) -> Any:
    if stored is None or key not in stored.shapes:
        raise GraphEditError(
            f"The values of this editor lack {key!r}; "
            + in_cell("write it again with bytes(editor).")
        )
    return stored.value(key)
