"""Editors as bytes and as .tgw files: what is written, and how an editor goes on where it is read.

The files in an archive are described in `sources.files.archive`. The graph as it was opened is written with the edits,
which are made again where it is read, so that undo works there. The graph as it is now is beside it: where the edits
cannot be written, or do not give that graph, it is opened without them, and a notice says why.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget import export
from tfgraphwidget.editor import replay, saving
from tfgraphwidget.edits.serialization import Json, records_of
from tfgraphwidget.errors import GraphEditError, NotRunnable, SessionRefused
from tfgraphwidget.graph import PYTHON_CALLS, GraphIndex, VariableDef, definitions, handles, ops, reachable_functions
from tfgraphwidget.naming import as_input, split_input
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.session import SessionContents, read_contents
from tfgraphwidget.sources import (
    ArchiveEntry,
    NotStorable,
    StoredTensor,
    checkpoint_keys,
    write_archive,
    write_bundle,
    write_structure,
)

if TYPE_CHECKING:
    from tfgraphwidget.editor.state import EditorCore
    from tfgraphwidget.graph import Signature
    from tfgraphwidget.sources import Source

Reader = Callable[[], object]


@dataclass
class _Contents:
    """The values that are written, and where the reader finds them.

    Attributes:
        tensors: What the checkpoint gets, by its name there.
        variables: The name of each variable's value, by handle op.
        tables: The names of the keys and the values of each table.
        iterators: The name of each iterator's position.
    """

    tensors: dict[str, StoredTensor] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[str, str]] = field(default_factory=dict)
    iterators: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, read: Reader) -> str:
        """Add a tensor, or replace the one of the same name."""
        self.tensors[name] = StoredTensor(name, read)
        return name


# Writing


def to_bytes(core: EditorCore) -> bytes:
    """The editor as bytes, which `tgw.edit` opens; see `FileAPI.to_bytes`.

    Args:
        core: The parts of the editor.

    Raises:
        GraphEditError: The editor holds what only this process has.
    """
    file = BytesIO()
    write(core, file)
    return file.getvalue()


def write(core: EditorCore, file: IO[bytes]) -> None:
    """Write the editor whose parts `core` are to an open file. Raises as `to_bytes`."""
    _check_python_calls(core)
    tell("Writing the editor")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        header = _function(core, root) if core.source.refusal else _graph(core, root)
        write_archive(file, header, root, _model_folder(core))


def _model_folder(core: EditorCore) -> Path | None:
    """The folder of the SavedModel that was opened; None for other sources."""
    return None if core.source.stored is None else core.source.stored.folder()


def _check_python_calls(core: EditorCore) -> None:
    """Raise for ops that call functions of this process."""
    source, index = core.source, core.target.index
    if source.revive is not None:
        return  # they were in a file, where they name nothing
    called = reachable_functions(index.functions, index.extras, index.nodes)
    inside = [node for name in called for node in index.extras.function(name).node_def]
    for node in (*index.nodes, *inside):
        if node.op in PYTHON_CALLS:
            raise NotRunnable(
                f"to_bytes: op {node.name!r} ({node.op}) calls a Python function of this process, which no other has; "
                "replace the op with TensorFlow's own, or save the graph without it: editor.save('graph.pb').",
                [node.name] if node.name in index.ids else [],
            )


def _edits(core: EditorCore) -> tuple[list[dict[str, Json]] | None, list[str]]:
    """The edits as JSON; None, with a notice, for edits that cannot be written."""
    try:
        return records_of(core.executor.history.done), []
    except GraphEditError as error:
        return None, [f"The edits of this graph were not written with it, so they cannot be undone: {error.why}"]


def _common(core: EditorCore, kind: str, contents: _Contents, notices: list[str]) -> dict[str, object]:
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
        "variables": contents.variables,
        "tables": contents.tables,
        "iterators": contents.iterators,
    }


def _write_values(root: Path, contents: _Contents) -> None:
    if contents.tensors:
        write_bundle(str(root / ArchiveEntry.VALUES.value), contents.tensors.values())


def _graph(core: EditorCore, root: Path) -> dict[str, object]:
    """Write a graph, or the values of a SavedModel whose folder is written as it is; the header."""
    source, target = core.source, core.target
    edits, notices = _edits(core)
    folder = _model_folder(core)
    contents = _values(core)
    if folder is not None:
        if edits is None:
            raise GraphEditError(f"to_bytes: {notices[0].partition(': ')[2]}")
        if source.session is None and source.stored is not None and not source.stored.other_values():
            contents = _Contents()  # those in the folder
    else:
        _write_graph(core, root / ArchiveEntry.GRAPH.value, target.index, core.executor.signatures)
        if edits:
            _write_graph(core, root / ArchiveEntry.OPENED.value, target.first, source.signatures)
    if edits:
        (root / ArchiveEntry.EDITS.value).write_text(json.dumps(edits), encoding="utf-8")
    _write_values(root, contents)
    header = _common(core, "graph" if folder is None else "model", contents, notices)
    if source.signature is not None:
        header["signature"] = source.signature.name
    if folder is not None and source.stored is not None:
        header["tags"] = source.stored.tags()
    return header


def _write_graph(core: EditorCore, file: Path, index: GraphIndex, signatures: tuple[Signature, ...]) -> None:
    request = saving.export_request(core, index=index).with_signatures(signatures)
    file.write_bytes(export.meta_graph_bytes(request, core.source.graph))


def _values(core: EditorCore) -> _Contents:
    """All values of a graph: of its session, or of its file; none without either."""
    source, index, contents = core.source, core.target.index, _Contents()
    variables = definitions(index, handles(index))
    keys = checkpoint_keys(index.nodes, variables.values())
    if source.stored is not None:
        for name, read in source.stored.all_values().items():
            contents.add(name, read)
        for handle, original in saving.stored_names(core).items():
            contents.variables[handle] = source.stored.key(original) or original
    if source.graph is None:
        for handle, read in saving.stored_values(core).items():
            if handle not in contents.variables:  # of a copy
                contents.variables[handle] = contents.add(handle, read)
    if source.session is not None and source.graph is not None:
        in_session = read_contents(source.session, source.graph, index.ids)
        _add_variables(contents, source, in_session, variables.values(), keys)
        _add_tables(contents, in_session)
    return contents


def _add_variables(
    contents: _Contents,
    source: Source,
    in_session: SessionContents,
    variables: Iterable[VariableDef],
    keys: Mapping[str, str],
) -> None:
    """Add the values of variables in a session; `keys` are their names in a checkpoint of the graph's Saver."""
    slices: dict[str, list[VariableDef]] = {}
    for variable in variables:
        handle = variable.handle
        if handle not in in_session.variables:
            contents.variables.pop(handle, None)
        elif variable.slice_info is not None:
            slices.setdefault(keys[handle], []).append(variable)
            contents.variables[handle] = keys[handle]
        else:
            stored_keys = () if source.stored is None else source.stored.keys(handle)
            for key in stored_keys or (keys[handle],):
                contents.variables[handle] = contents.add(key, partial(in_session.variables.__getitem__, handle))
    for key, parts in slices.items():
        contents.add(key, partial(_whole, parts, in_session))


def _add_tables(contents: _Contents, in_session: SessionContents) -> None:
    """Add the contents of tables, and the positions of iterators."""
    for number, (op, pair) in enumerate(in_session.tables.items()):
        names = f"_tfgraphwidget/table_{number}/keys", f"_tfgraphwidget/table_{number}/values"
        contents.tables[op] = names
        for name, array in zip(names, pair, strict=True):
            contents.add(name, partial(_same, array))
    for number, (op, position) in enumerate(in_session.iterators.items()):
        contents.iterators[op] = contents.add(f"_tfgraphwidget/iterator_{number}", partial(_same, position))


def _same(value: object) -> object:
    return value


def _whole(parts: list[VariableDef], in_session: SessionContents) -> np.ndarray:
    """The value of a partitioned variable, put together from its slices."""
    first: Any = in_session.variables[parts[0].handle]
    info: Any = parts[0].slice_info
    whole = np.zeros(tuple(info.full_shape), np.asarray(first).dtype)
    for part in parts:
        info = part.slice_info
        place = tuple(slice(at, at + size) for at, size in zip(info.var_offset, info.var_shape, strict=True))
        whole[place] = in_session.variables[part.handle]
    return whole


def _function(core: EditorCore, root: Path) -> dict[str, object]:
    """Write a function: its graph, what it captured, and how it is called; the header."""
    source, view = core.source, core.navigator.outermost
    edits, notices = _edits(core)
    if edits is None:
        raise GraphEditError(f"to_bytes: {notices[0].partition(': ')[2]}")
    contents, body = _Contents(), source.body
    captures = {op: _capture(op, live, contents) for op, live in _captures(core)}
    _write_graph(core, root / ArchiveEntry.GRAPH.value, core.target.first, ())
    if edits:
        (root / ArchiveEntry.EDITS.value).write_text(json.dumps(edits), encoding="utf-8")
    _write_values(root, contents)
    structure = None
    if source.structure is not None:
        try:
            structure = write_structure(source.structure)
        except NotStorable as error:
            notices.append(
                f"How {source.title} is called was not written, since that has {error}; it takes tensors one by one."
            )
    header = _common(core, "function", contents, notices)
    header["function"] = {
        "arguments": body.arguments,
        "returns": list(body.returns.items()),
        "captures": captures,
        "structure": structure,
    }
    assert view.body is body  # the function itself
    return header


def _captures(core: EditorCore) -> Iterator[tuple[str, Any]]:
    """Each op of the function as it was opened that stands for state, and what it stands for."""
    from tfgraphwidget.sources import captured_state

    state = captured_state(core.source, core.source.body)
    for op in sorted(state.names):
        yield op, state.live(op)


def _capture(op: str, live: Any, contents: _Contents) -> dict[str, object]:
    dtype = live.dtype.name
    if dtype in ("resource", "variant"):
        raise SessionRefused(
            f"to_bytes: the function captures {op!r}, a {dtype} of this process whose contents cannot be read, "
            "as those of a table; save the function instead: tf.saved_model.save(editor.module(), path).",
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
    """Let an editor of an archive go on where it was written: make its edits, mark its boundary, enter its function.

    Args:
        core: The parts of an editor of the graph as it was opened then.
        new_core: Makes the parts of an editor of another source.

    Returns:
        The same parts; others, of the graph as it was at last, where the edits do not give it.
    """
    saved = core.source.saved_editor
    assert saved is not None  # else it is of no archive
    try:
        if saved.edits:
            replay.replay(core.executor, saved.edits)
        if saved.edits and not _is_as_expected(core, saved.expected):
            raise GraphEditError("they give another graph here")
        load_values(core)
    except GraphEditError as error:
        if saved.current is None:
            raise GraphEditError(
                f"The edits of this editor cannot be made again: {error.why.rstrip('.')}; open it with the release of "
                "tfgraphwidget and TensorFlow that wrote it."
            ) from error
        source = saved.current()
        source.saved_editor = saved
        why = error.why.rstrip(".")
        source.notices += (f"The edits of this graph came with it and cannot be undone here: {why}.",)
        core = new_core(source)
    with suppress(GraphEditError):
        if saved.path[1:]:
            replay.enter(core.executor, saved.path[1:])
        if saved.boundary[1]:
            core.view.mark(*saved.boundary)
        elif saved.selected:
            core.view.choose(ops(core.view.index, *saved.selected))
    return core


def load_values(core: EditorCore) -> None:
    """Load the values of the archive that `core` has open which the import of its graph has not.

    Nothing before that.
    """
    core.target.load_saved_values()


def _is_as_expected(core: EditorCore, expected: Mapping[str, tuple[str, tuple[str, ...]]]) -> bool:
    return {name: (kind, tuple(inputs)) for name, (kind, inputs) in _wiring(core.target.index).items()} == expected


def _wiring(index: GraphIndex) -> dict[str, tuple[str, list[str]]]:
    """The op type and the inputs of each op."""
    return {n.name: (n.op, [as_input(*split_input(text)) for text in n.input]) for n in index.nodes}
