"""Editors as bytes and as .tgw files: what is written, and how an editor goes on where it is read.

The files in an archive are described in `sources.files.archive`. The graph as it was opened is
written with the edits, which are made again where it is read, so that undo works there. The graph
as it is now is beside it: where the edits cannot be written, or do not give that graph, it is
opened without them, and a notice says why.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget import export
from tfgraphwidget.editor import replay, saving
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.edits.serialization import Json, records_of
from tfgraphwidget.errors import GraphEditError, NotRunnable, SessionRefused
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLES,
    PYTHON_CALLS,
    TABLE_FILE_INITIALIZERS,
    GraphIndex,
    VariableDef,
    all_variables,
    build,
    called_definitions,
    key_of,
    mask_of,
    of_type,
    ops,
    tensor_values,
)
from tfgraphwidget.naming import as_input, names_text, split_input
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.session import read_contents
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.sources import (
    ArchiveEntry,
    NotStorable,
    StoredTensor,
    checkpoint_keys,
    tf_protos,
    write_archive,
    write_structure,
)

if TYPE_CHECKING:
    from tfgraphwidget.graph import Signature
    from tfgraphwidget.sources import SavedEditor, Source

Reader = Callable[[], object]
_OWN = "_tfgraphwidget/"  # begins the names of values that no graph restores


@dataclass
class _Contents:
    """The values that are written, and where the reader finds them.

    Attributes:
        tensors: What the checkpoint gets, by its name there.
        variables: The name of each variable's value, by handle op.
        removed: The same for variables that edits have removed, for which undo and redo ask.
        tables: The names of the keys and the values of each table.
        iterators: The name of each iterator's position.
    """

    tensors: dict[str, StoredTensor] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    removed: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[str, str]] = field(default_factory=dict)
    iterators: dict[str, str] = field(default_factory=dict)
    # Names of values -> the variables that have them.
    owners: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, read: Reader) -> str:
        """Add a tensor, or replace the one of the same name."""
        self.tensors[name] = StoredTensor(name, read)
        return name

    def add_own(self, kind: str, read: Reader) -> str:
        """Add a tensor under a name of its own, which no variable has."""
        return self.add(f"{_OWN}{kind}_{len(self.tensors)}", read)


# Writing


def to_bytes(core: EditorCore) -> bytes:
    """The editor as bytes, which `tgw.edit` opens; see `GraphEditor.__bytes__`. Raises
    GraphEditError where the editor holds what only this process has.
    """
    file = BytesIO()
    write(core, file)
    return file.getvalue()


def write(core: EditorCore, file: IO[bytes]) -> list[str]:
    """Write an editor to an open file; a sentence for each thing left out. Raises as `to_bytes`."""
    _check_python_calls(core)
    tell("Writing the editor")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        header, contents, notices = (
            _function(core, root) if core.source.refusal else _graph(core, root)
        )
        write_archive(file, header, root, _model_folder(core), contents.tensors.values())
    return notices


@dataclass(frozen=True, eq=False)
class EditorArchive:
    """An editor as a file, as an `export.Document`."""

    core: EditorCore

    def write(self, path: Path, notices: list[str]) -> None:
        """Write it to the file `path`; `notices` gets a sentence for each thing left out."""
        with path.open("wb") as file:
            notices += write(self.core, file)


def _model_folder(core: EditorCore) -> Path | None:
    """The folder of the SavedModel that was opened; None for other sources."""
    return None if core.source.stored is None else core.source.stored.folder()


def _check_python_calls(core: EditorCore) -> None:
    """Raise for ops that call functions of this process."""
    source, index = core.source, core.target.index
    if source.revive is not None:
        return  # they were in a file, where they name nothing
    called = index.reachable_functions().values()
    inside = [node for function in called for node in function.node_def]
    for node in (*index.nodes, *inside):
        if node.op in PYTHON_CALLS:
            raise NotRunnable(
                f"Op {node.name!r} ({node.op}) calls a Python function of this process, which no "
                "other has; replace the op with TensorFlow's own, or save the graph without it: "
                + editor_call("save", "'graph.pb'")
                + ".",
                [node.name] if node.name in index.ids else [],
            )


def _edits(core: EditorCore) -> tuple[list[dict[str, Json]] | None, list[str]]:
    """The edits as JSON; None, with a notice, for edits that cannot be written."""
    try:
        return records_of(core.executor.history.done), []
    except GraphEditError as error:
        return None, [
            (
                "The edits of this graph were not written with it, so they cannot be undone: "
                + error.why
            )
        ]


def _common(
    core: EditorCore, kind: str, contents: _Contents, notices: list[str]
) -> dict[str, object]:
    """The fields of the header that all kinds have."""
    view = core.view
    selection = view.selection
    inputs, outputs = view.boundary
    return {
        "by": sys.modules[__name__.partition(".")[0]].__version__,
        "kind": kind,
        "title": core.source.title,
        "path": core.navigator.path,
        "inputs": inputs,
        "outputs": outputs,
        "selected": () if selection is None or outputs else selection.ops,
        "notices": notices,
        "expected": _wiring(core.target.index),
        "constants": _new_constants(core),
        "renamed": {} if core.source.saved_editor is None else core.source.saved_editor.renamed,
        "renamed_now": core.executor.new_names_of(core.navigator.outermost),
        "variables": contents.variables,
        "removed": contents.removed,
        "tables": contents.tables,
        "iterators": contents.iterators,
        "pairs": core.pairs,
    }


def _graph(core: EditorCore, root: Path) -> tuple[dict[str, object], _Contents, list[str]]:
    """Write a graph, unless its SavedModel's folder is written; header, values and notices."""
    source, target = core.source, core.target
    edits, notices = _edits(core)
    folder = _model_folder(core)
    contents = _values(core)
    if folder is not None:
        if edits is None:
            raise GraphEditError(notices[0].partition(": ")[2])
        is_as_saved = source.saved_editor is None and source.session is None
        if is_as_saved and source.stored is not None and not source.stored.other_values():
            contents = _Contents()  # those in the folder
    else:
        if not edits and not target.index.names:
            raise GraphEditError(
                "The graph has no ops, and a file of it could not be opened again; add some first."
            )
        _write_graph(core, root / ArchiveEntry.GRAPH.value, target.index, core.executor.signatures)
        notices += _unread_files(target.index, contents)
        if edits:
            _write_graph(core, root / ArchiveEntry.OPENED.value, target.first, source.signatures)
    if edits:
        (root / ArchiveEntry.EDITS.value).write_text(json.dumps(edits), encoding="utf-8")
    header = _common(core, "graph" if folder is None else "model", contents, notices)
    if source.signature is not None:
        header["signature"] = source.signature.name
    if folder is not None and source.stored is not None:
        header["tags"] = source.stored.tags()
    return header, contents, notices


def _unread_files(index: GraphIndex, contents: _Contents) -> Iterator[str]:
    """A sentence on the files from which tables are filled that hold nothing yet."""
    filled_tables = {key_of(index, index.ids[table]) for table in contents.tables}
    needed_ops: list[int] = []
    for op in np.flatnonzero(of_type(index, TABLE_FILE_INITIALIZERS.__contains__)).tolist():
        inputs = index.input_lists[op]
        if inputs and key_of(index, inputs[0]) not in filled_tables:
            needed_ops += [op, *inputs]
    paths = list(dict.fromkeys(export.named_files(index, mask_of(index, needed_ops)).values()))
    if paths:
        it = "it" if len(paths) == 1 else "them"
        yield (
            f"The editor names {names_text(paths)}, from which tables are filled that hold nothing "
            f"yet; leave {it} there, or fill the tables before you save: then their contents are "
            "in it."
        )


def _write_graph(
    core: EditorCore, file: Path, index: GraphIndex, signatures: tuple[Signature, ...]
) -> None:
    request = replace(saving.export_request(core, index=index), signatures=signatures)
    file.write_bytes(export.meta_graph_bytes(request, core.source.graph))


def _values(core: EditorCore) -> _Contents:
    """All values of a graph: of its session, or of its file; none without either."""
    source, index, contents = core.source, core.target.index, _Contents()
    if source.stored is not None:
        for name, read in source.stored.all_values().items():
            if not name.startswith(_OWN):
                contents.add(name, read)
    variables = all_variables(index)
    if source.graph is None:
        _add_variables(core, contents, variables, saving.stored_values(core), contents.variables)
        _add_saved(core, contents)
    elif source.session is not None:
        removed = _removed_variables(core)
        in_session = read_contents(source.session, source.graph, {*index.ids, *removed})
        values = in_session.variables
        readers = {handle: partial(values.__getitem__, handle) for handle in values}
        _add_variables(core, contents, variables, readers, contents.variables)
        _add_variables(core, contents, removed.values(), readers, contents.removed)
        for op, pair in in_session.tables.items():
            keys, content = (contents.add_own("table", partial(_same, array)) for array in pair)
            contents.tables[op] = keys, content
        for op, position in in_session.iterators.items():
            contents.iterators[op] = contents.add_own("iterator", partial(_same, position))
    return contents


def _removed_variables(core: EditorCore) -> dict[str, VariableDef]:
    """The variables that edits have removed from a live graph, which hides them, by handle ops."""
    patches = core.executor.patches_of(core.navigator.outermost)
    added = (node for patch in patches for node in patch.add.nodes if node.op in HANDLES)
    earlier = core.target.first, build({node.name: node for node in added}.values())
    present = core.target.index
    variables = {v.handle: v for index in earlier for v in all_variables(index)}
    return {handle: v for handle, v in variables.items() if handle not in present.ids}


def _add_variables(
    core: EditorCore,
    contents: _Contents,
    variables: Iterable[VariableDef],
    readers: Mapping[str, Reader],
    names: dict[str, str],
) -> None:
    """Add the values that `readers` read of variables, by their handle ops; the names of the values
    to `names`.

    Each goes under the name by which the graph as it was opened restores it, and by which the graph
    as it is now does.
    """
    originals, owners = saving.original_names(core), contents.owners
    variables = [v for v in variables if v.handle in readers]
    opened_keys = _restoring_keys(core, core.target.first)
    present_keys = checkpoint_keys(core.target.index.nodes, variables)
    slices: dict[str, list[VariableDef]] = {}

    def owner(variable: VariableDef, key: str) -> str:
        return variable.handle if variable.slice_info is None else f"slices of {key}"

    def original_keys(variable: VariableDef) -> tuple[str, ...]:
        return opened_keys.get(originals.get(variable.handle, variable.handle), ())

    for variable in sorted(variables, key=lambda variable: not original_keys(variable)):
        handle = variable.handle
        keys = (*original_keys(variable), present_keys[handle])
        keys = tuple(
            key
            for key in keys
            if owners.setdefault(key, owner(variable, keys[0])) == owner(variable, keys[0])
        )
        keys = keys or (f"{_OWN}variable/{handle}",)  # another variable had its name
        names[handle] = keys[0]
        for key in dict.fromkeys(keys):
            if variable.slice_info is None:
                contents.add(key, readers[handle])
            else:
                slices.setdefault(key, []).append(variable)
    for key, parts in slices.items():
        contents.add(key, partial(_whole, parts, readers))


def _restoring_keys(core: EditorCore, index: GraphIndex) -> dict[str, tuple[str, ...]]:
    """The names of the values that the opened graph restores, by its variables' handle ops."""
    variables, stored = all_variables(index), core.source.stored
    if stored is not None and stored.all_values():
        return {variable.handle: stored.keys(variable.handle) for variable in variables}
    return {handle: (key,) for handle, key in checkpoint_keys(index.nodes, variables).items()}


def _add_saved(core: EditorCore, contents: _Contents) -> None:
    """Add the tables and iterators of an archive whose graph was not imported since, as stored."""
    saved = core.source.saved_editor
    if saved is None:
        return
    for op, name in core.target.saved_names().items():
        if name in saved.tables:
            keys, content = (
                contents.add_own("table", tensor.read) for tensor in saved.tables[name]
            )
            contents.tables[op] = keys, content
        elif name in saved.iterators:
            contents.iterators[op] = contents.add_own("iterator", saved.iterators[name].read)
    for handle, tensor in {**saved.removed, **saved.values}.items():
        if handle not in contents.variables:
            has_key = contents.tensors.get(tensor.name)
            contents.removed[handle] = (
                tensor.name if has_key else contents.add_own("variable", tensor.read)
            )


def _same(value: object) -> object:
    return value


def _whole(parts: list[VariableDef], readers: Mapping[str, Reader]) -> np.ndarray:
    """The value of a partitioned variable, put together from its slices."""
    whole: np.ndarray | None = None
    for part in parts:
        info: Any = part.slice_info
        value = np.asarray(readers[part.handle]())
        whole = np.zeros(tuple(info.full_shape), value.dtype) if whole is None else whole
        place = tuple(
            slice(at, at + size) for at, size in zip(info.var_offset, info.var_shape, strict=True)
        )
        whole[place] = value
    assert whole is not None  # there are parts
    return whole


def _function(core: EditorCore, root: Path) -> tuple[dict[str, object], _Contents, list[str]]:
    """Write a function's graph and how it is called; the header, and the captured values."""
    source, view = core.source, core.navigator.outermost
    edits, notices = _edits(core)
    if edits is None:
        raise GraphEditError(notices[0].partition(": ")[2])
    contents, body = _Contents(), source.body
    if source.captures is not None and not tf_protos.is_tensorflow_installed():
        captures = {
            op: {
                **kind,
                **{key: contents.add(f"{op}{_PARTS[key]}", read) for key, read in readers.items()},
            }
            for op, kind, readers in source.captures.entries()
        }
    else:
        captures = _captures(core, contents)
    _write_graph(core, root / ArchiveEntry.GRAPH.value, core.target.first, ())
    if edits:
        (root / ArchiveEntry.EDITS.value).write_text(json.dumps(edits), encoding="utf-8")
    structure = None if source.captures is None else source.captures.structure
    if source.structure is not None:
        try:
            structure = write_structure(source.structure)
        except NotStorable as error:
            notices.append(
                f"How {source.title} is called was not written, since that has {error}; it takes "
                "tensors one by one."
            )
    header = _common(core, "function", contents, notices)
    header["function"] = {
        "arguments": body.arguments,
        "returns": list(body.returns.items()),
        "captures": captures,
        "structure": structure,
    }
    assert view.body is body  # the function itself
    return header, contents, notices


_PARTS = {"key": "", "keys": "/keys", "values": "/values"}
"""What the name of a value in the checkpoint has after the op that represents it."""


def _captures(core: EditorCore, contents: _Contents) -> dict[str, dict[str, object]]:
    """What each op of the opened function represents, if that is state; values go to `contents`."""
    from tfgraphwidget.sources import captured_state, table_dtypes

    state, index = captured_state(core.source, core.source.body), core.target.first
    called = called_definitions(index.nodes, index.functions, index.extras.function).values()
    nodes = [*index.nodes, *(node for definition in called for node in definition.node_def)]
    captures = {}
    for op in sorted(state.names):
        live = state.live(op)
        table = state.table(op, table_dtypes(nodes)) if live.dtype.name == "resource" else None
        if table is None:
            captures[op] = _capture(op, live, contents)
        else:
            captures[op] = {
                key: contents.add(f"{op}{_PARTS[key]}", part.numpy)
                for key, part in (("keys", table.keys), ("values", table.values))
            } | {"is_mutable": table.is_mutable}
    return captures


def _capture(op: str, live: Any, contents: _Contents) -> dict[str, object]:
    dtype = live.dtype.name
    if dtype in ("resource", "variant"):
        raise SessionRefused(
            f"The function captures {op!r}, a {dtype} of this process whose contents cannot be "
            "read, as those of an iterator, a DenseHashTable or a table that is not initialized; "
            "save a SavedModel instead: " + editor_call("save", "'folder'") + ".",
            [op],
        )
    key = contents.add(op, live.numpy)
    if not hasattr(live, "assign"):
        return {"key": key}
    return {
        "key": key,
        "name": live.name.partition(":")[0],
        "trainable": bool(live.trainable),
        "shape": None if live.shape.rank is None else live.shape.as_list(),
        "synchronization": live.synchronization.value,
        "aggregation": live.aggregation.value,
    }


# Reading


def resume(core: EditorCore, new_core: Callable[[Source], EditorCore]) -> EditorCore:
    """Let an editor of an archive go on where it was written: make its edits, mark its boundary,
    enter its function.

    Args:
        new_core: Makes the parts of an editor of another source.

    Returns:
        The same parts; others, of the graph as it was at last, where the edits do not give it.
    """
    saved = core.source.saved_editor
    assert saved is not None  # else it is of no archive
    try:
        if saved.edits:
            core = _with_edits(core, saved, new_core)
        else:
            core.source.saved_editor = replace(saved, renamed=saved.renamed_now)
        core.target.take_saved_values()
    except GraphEditError as error:
        if saved.current is None:
            raise GraphEditError(
                "The edits of this editor cannot be made again: "
                + error.why.clause
                + "; open it with the release of tfgraphwidget and TensorFlow that wrote it."
            ) from error
        source = saved.current()
        source.saved_editor = replace(saved, renamed=saved.renamed_now)
        why = error.why.clause
        source.notices += (
            "The edits of this graph came with it and cannot be undone here: " + why + ".",
        )
        core = new_core(source)
        core.target.take_saved_values()
    core.pairs |= saved.pairs
    with suppress(GraphEditError):
        replay.enter(core.executor, saved.path[1:])
        if saved.selected:
            core.view.choose(ops(core.view.index, *saved.selected))
        else:
            core.view.mark(*saved.boundary)
    return core


def _with_edits(
    core: EditorCore, saved: SavedEditor, new_core: Callable[[Source], EditorCore]
) -> EditorCore:
    """Make the edits of an archive again: on a file, or, if that gives another graph, on what
    TensorFlow imports of it.

    In TensorFlow's graph new ops get other names than in a file, where an op can take the name of
    one that goes.
    """
    try:
        _make_edits(core, saved)
    except GraphEditError:
        if not core.target.place.needs_import or not tf_protos.is_tensorflow_installed():
            raise
        core = new_core(core.source)
        core.target.graph()
        _make_edits(core, saved)
    return core


def _make_edits(core: EditorCore, saved: SavedEditor) -> None:
    replay.replay(core.executor, saved.edits, core.target.load_saved_values_of)
    if not _is_as_expected(core, saved):
        raise GraphEditError("they give another graph here")


def _is_as_expected(core: EditorCore, saved: SavedEditor) -> bool:
    wiring = {
        name: (kind, tuple(inputs)) for name, (kind, inputs) in _wiring(core.target.index).items()
    }
    return wiring == saved.expected and (
        saved.constants is None or _new_constants(core) == saved.constants
    )


def _new_constants(core: EditorCore) -> dict[str, int]:
    """A checksum of each constant that edits have added or changed, such as those of `freeze`."""
    index, first = core.target.index, core.target.first
    opened = {
        name: node
        for name, node in zip(first.names, first.nodes, strict=True)
        if node.op in CONSTANTS
    }
    checksums = {}
    for node, kind in zip(index.nodes, index.types, strict=True):
        if kind in CONSTANTS:
            before, proto = opened.get(node.name), node.attr["value"].tensor
            if before is node or (before is not None and before.attr["value"].tensor == proto):
                continue
            try:
                array = tensor_values.tensor_array(proto, tf_protos.dtype_names()[proto.dtype])
                if array.dtype == object:
                    data = repr(array.tolist() if array.size else []).encode()
                else:
                    data = array.tobytes()
            except (
                KeyError,
                TypeError,
                ValueError,
            ):  # of a dtype without values, or of a damaged one
                data = proto.SerializeToString(deterministic=True)
            checksums[node.name] = zlib.crc32(data)
    return checksums


def _wiring(index: GraphIndex) -> dict[str, tuple[str, list[str]]]:
    """The op type and the inputs of each op."""
    return {n.name: (n.op, [as_input(*split_input(text)) for text in n.input]) for n in index.nodes}
