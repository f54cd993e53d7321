"""Hash tables of a file's graph: the ops that fill them in a new session, and those that nothing
fills there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CHECKPOINT_OPS,
    CHECKPOINT_VALUES,
    CONSTANTS,
    FUNCTION_CALLS,
    IN_PLACE_OF_CALLS,
    TABLE,
    TABLE_FILE_INITIALIZERS,
    TABLE_WRITES,
    GraphIndex,
    Trust,
    build,
    by_key,
    called_functions,
    effects_of,
    first_contents,
    initializers,
    kind_of,
    needed_ops,
    stored_texts,
    types_of,
    users,
)
from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import either, in_cell
from tfgraphwidget.sources.files.assets import loading_ops
from tfgraphwidget.sources.node_body import NodeBody
from tfgraphwidget.tf_types import MetaGraphDef

# Not those that read a file.
_FILLS_TABLE = re.compile(r"(InitializeTable|LookupTableImport)(V2)?")
_QUIET = CONSTANTS | IN_PLACE_OF_CALLS


class TableContents(NamedTuple):
    """How the tables of a file's graph are filled in a new session.

    Attributes:
        initializers: The ops to run once the variables have values, in order.
        notices: A sentence on the tables that hold nothing then, for each reason.
    """

    initializers: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def table_contents(
    body: NodeBody,
    meta: MetaGraphDef,
    folder: Path | None,
    trust: Trust,
    *,
    is_loaded: bool,
    is_restored: bool,
    filled_later: Collection[str] = (),
) -> TableContents:
    """How tables are filled.

    Args:
        meta: The MetaGraphDef that it is of; an empty one for a GraphDef.
        folder: The directory of the files that tables may be filled from; None for no file.
        trust: Whether what does more than compute may run.
        is_loaded: Whether the graph is loaded as a SavedModel, which runs what the model begins
            with.
        is_restored: Whether the ops of the graph's Saver restore a checkpoint.
        filled_later: The names of the tables whose contents are loaded once the graph is imported.
    """
    if not any(kind_of(op_type) == TABLE for op_type in set(types_of(body.protos))):
        return TableContents()
    try:
        index = build(
            body.protos,
            body.collections()[0],
            typing=body.typing,
            functions=body.functions(),
            extras=body,
        )
    except GraphEditError:  # of a damaged graph, which is refused where it is drawn
        return TableContents()
    tables = [ops for (kind, _, _), ops in by_key(index).items() if kind == TABLE]
    by_loading = _run_by_loading(index, meta, is_loaded=is_loaded, is_restored=is_restored)
    waiting = {name for ops in tables for op in ops for name in initializers(index, op)}
    first: list[int] = []
    if not is_loaded:
        ops = {op for same in tables for op in same}
        first = [*first_contents(index, {*waiting, *ops}), *_calls_that_fill(index, ops)]
    fills = _Initializers(index, [op for op in first if op not in by_loading], folder, trust)
    filled = {*by_loading, *fills.run, *fills.left}
    unfilled = [
        ops
        for ops in tables
        if filled.isdisjoint(i for op in ops for i in users(index, op))
        and not any(index.names[op] in filled_later for op in ops)
    ]
    run = tuple(index.names[op] for op in fills.run)
    return TableContents(run, (*fills.left.values(), *_empty_notices(index, unfilled)))


def _run_by_loading(
    index: GraphIndex, meta: MetaGraphDef, *, is_loaded: bool, is_restored: bool
) -> set[int]:
    """The ops that may fill tables and run when a SavedModel or checkpoint is loaded."""
    roots = [*loading_ops(meta)] if is_loaded else []
    roots += [meta.saver_def.restore_op_name] if is_loaded or is_restored else []
    there = [name for name in roots if name in index.ids]
    if not there:
        return set()
    needed = needed_ops(index, (), there)
    fills = TABLE_WRITES | FUNCTION_CALLS
    return {
        i
        for i in np.flatnonzero(needed).tolist()
        if index.types[i] in fills or index.types[i].startswith("InitializeTable")
    }


def _calls_that_fill(index: GraphIndex, tables: Collection[int]) -> Iterator[int]:
    """The calls of functions that fill a table from constants and do nothing else, as TensorFlow 2
    saves initializers.
    """
    for op in sorted({i for table in tables for i in users(index, table)}):
        called = called_functions(index.nodes[op], index.functions)
        if index.types[op] not in FUNCTION_CALLS or len(called) != 1:
            continue
        types = {node.op for node in index.extras.function(called[0].function).node_def}
        fills = {kind for kind in types if _FILLS_TABLE.fullmatch(kind)}
        inputs = {index.types[i] for i in index.input_lists[op] if i not in tables}
        if fills and types - fills <= _QUIET and inputs <= CONSTANTS:
            yield op


class _Initializers:
    """The ops that may fill tables, those to `run` and those `left` to the user, with why."""

    def __init__(
        self, index: GraphIndex, ops: list[int], folder: Path | None, trust: Trust
    ) -> None:
        self.run: list[int] = []
        self.left: dict[int, str] = {}
        for op in ops:
            effects = list(effects_of(index, trust).of_run([index.names[op]]))
            if index.types[op] in TABLE_FILE_INITIALIZERS and (
                why := _why_no_file(index, op, folder, trust)
            ):
                self.left[op] = why
            elif trust.is_given or not effects:
                self.run.append(op)
            elif effects[0].op_type not in CHECKPOINT_VALUES | CHECKPOINT_OPS:
                # These run where there is a checkpoint.
                outcome = (
                    f"the initializer {index.names[op]!r} was not run and its hash table is "
                    "empty in the session"
                )
                self.left[op] = trust.sentence(effects[0], outcome)


def _why_no_file(index: GraphIndex, op: int, folder: Path | None, trust: Trust) -> str:
    """A sentence on the file that an op may not fill a table from; "" where it may."""
    table, *source = index.input_lists[op][:2]
    tensor = (
        index.nodes[source[0]].attr["value"].tensor
        if source and index.types[source[0]] in CONSTANTS
        else None
    )
    call = f"editor.session.run({index.names[op]!r}"
    with_path = f"{call}, {{'{index.names[source[0]]}:0': path}})" if source else f"{call})"

    def empty(file: str, way: str) -> str:
        return (
            f"Hash table {index.names[table]!r} is filled from {file}, so it is empty in the "
            "editor's session; " + way + "."
        )

    texts = None if tensor is None else stored_texts(tensor)
    if texts is None or len(texts) != 1:
        # TensorFlow would open whatever it is, and wait for a pipe.
        return empty(
            "a file whose name is computed",
            in_cell(f"run the op with the name of a file: {with_path}"),
        )
    path = texts[0].decode(errors="surrogateescape")
    try:
        is_there, parent = Path(path).is_file(), Path(path).resolve().parent
        # TensorFlow looks from the present directory.
        path = path if "://" in path else str(Path(path).absolute())
    except (OSError, RuntimeError, ValueError):  # no path, as one with a zero in it
        is_there, parent = False, None
    file = f"the file {path[:200]!r}"
    if trust.is_given and (is_there or "://" in path):
        return ""
    if (
        is_there
        and folder is not None
        and parent in (folder.resolve(), folder.resolve() / "assets")
    ):
        return ""
    if is_there or "://" in path:
        return empty(
            f"{file}, which is not beside the graph",
            in_cell(
                f"if you trust the graph, set editor.source.trusted = True and run the op: {call})"
            ),
        )
    there = "put the file there and open the graph again, or run the op with the name of a file"
    return empty(f"{file}, which is not there", there + either(f": {with_path}", ""))


def _empty_notices(index: GraphIndex, tables: list[list[int]]) -> Iterator[str]:
    if not tables:
        return
    names = [index.names[ops[0]] for ops in tables]
    consumers = {i for ops in tables for op in ops for i in users(index, op)}
    inserts = [
        index.names[i] for i in sorted(consumers) if index.types[i].startswith("LookupTableInsert")
    ]
    it, are = ("it", "Hash table {} is") if len(names) == 1 else ("them", "Hash tables {} are")
    run = ""
    if inserts:
        run = (
            f"run what fills {it} in "
            + either("editor.session", "a cell")
            + f", such as {inserts[0]!r}, or "
        )
    yield (
        f"{are.format(names_text(names))} empty in the editor's session, as neither an initializer "
        "nor a checkpoint "
        f"fills {it}; " + run + "open a '.tgw' or SavedModel, which have the contents of tables."
    )
