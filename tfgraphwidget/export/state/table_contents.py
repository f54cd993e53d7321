"""The ops that fill tables and iterators of an exported subgraph. Queues cannot be filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    FILLED_BY_RUNNING,
    INSERTION,
    REQUIRED_PLACEHOLDERS,
    TABLE,
    TABLE_CONTENT,
    GraphIndex,
    Mask,
    by_key,
    initializers,
    kind_of,
    needed_ops,
    users,
)
from tfgraphwidget.naming import free_name, split_input
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef

_EXPORT = "LookupTableExportV2"
_DENSE_TABLE = "MutableDenseHashTableV2"


@dataclass(frozen=True)
class StateContents:
    """The ops that fill tables and iterators.

    Attributes:
        starters: Ops of the graph that fill state, tables before iterators.
        nodes: NodeDefs to add, which fill tables with their contents in the session.
        imports: The names of those of `nodes` to run.
    """

    starters: tuple[str, ...]
    nodes: tuple[NodeDef, ...]
    imports: tuple[str, ...]

    @property
    def all_starters(self) -> tuple[str, ...]:
        """The ops to run once the variables have values."""
        return (*self.imports, *self.starters)


def read_contents(
    index: GraphIndex, need: Mask, run: Callable[[Sequence[str]], Sequence[np.ndarray]]
) -> StateContents:
    """Find the ops that fill the state of some ops, and the state that those ops need in turn.
    Raises GraphEditError for state that cannot be filled where the graph will be loaded.
    """
    starters: dict[str, None] = {}
    exports: dict[str, int] = {}
    while True:
        before = len(starters) + len(exports)
        for key, ops in by_key(index).items():
            if need[ops].any():
                _fill(index, key[0], need, ops, starters, exports)
        need = need | needed_ops(index, (), starters)
        if len(starters) + len(exports) == before:
            break
    _check_closed(index, starters)
    order = sorted(
        starters, key=lambda name: any(_kind(index, i) == "iterator" for i in _handles(index, name))
    )
    nodes, imports = _imports(index, exports, run)
    return StateContents(tuple(order), nodes, imports)


def _kind(index: GraphIndex, op: int) -> str:
    return kind_of(index.types[op])


def _handles(index: GraphIndex, starter: str) -> list[int]:
    return index.input_lists[index.ids[starter]]


def _fill(
    index: GraphIndex,
    kind: str,
    need: Mask,
    ops: Sequence[int],
    starters: dict[str, None],
    exports: dict[str, int],
) -> None:
    """Find the ops that fill one state, which all of `ops` share."""
    needed = [i for i in ops if need[i]]
    fills = dict.fromkeys(index.names[i] for op in ops for i in initializers(index, op))
    first = index.names[needed[0]]
    if fills:
        starters.update(fills)
    elif kind == TABLE:
        export = next(
            (i for op in ops for i in users(index, op) if index.types[i] == _EXPORT), None
        )
        if export is None:
            raise GraphEditError(
                f"Nothing in the graph fills hash table {first!r}, nor reads all of it, so it "
                "would be empty where the model is loaded; give what is looked up in it as an "
                "input.",
                [first],
            )
        exports[first] = export
    elif kind in FILLED_BY_RUNNING or (
        kind == "iterator" and index.types[needed[0]] != "OneShotIterator"
    ):
        consumers = [i for op in needed for i in users(index, op) if need[i] and index.dtypes(i)]
        out = f"{index.names[consumers[0]]}:0" if consumers else f"{first}:0"
        raise GraphEditError(
            f"The outputs need {kind} {first!r}, which only a running session fills; "
            + in_cell(f"give what comes out of it as an input: inputs=[{out!r}]."),
            [first],
        )


def _check_closed(index: GraphIndex, starters: Sequence[str] | dict[str, None]) -> None:
    for name in starters:
        for op in np.flatnonzero(needed_ops(index, (), [name])).tolist():
            if index.types[op] in REQUIRED_PLACEHOLDERS:
                raise GraphEditError(
                    f"{name!r}, which fills a table or an iterator, needs placeholder "
                    f"{index.names[op]!r}, which is not fed where the model is loaded; make what "
                    "follows it an input.",
                    [name, index.names[op]],
                )


def _imports(
    index: GraphIndex, exports: dict[str, int], run: Callable[[Sequence[str]], Sequence[np.ndarray]]
) -> tuple[tuple[NodeDef, ...], tuple[str, ...]]:
    """NodeDefs that fill tables with their contents in the session, and which of them to run."""
    if not exports:
        return (), ()
    read = run([f"{index.names[op]}:{port}" for op in exports.values() for port in (0, 1)])
    used_names = {name.lower() for name in index.names}
    nodes: list[NodeDef] = []
    imports = []
    for k, (table, op) in enumerate(exports.items()):
        content, kind = read[2 * k : 2 * k + 2], "LookupTableImportV2"
        if index.types[index.ids[table]] == _DENSE_TABLE:
            content, kind = _entries(index, index.ids[table], content, run), INSERTION
        node = tf.compat.v1.NodeDef(name=free_name(f"{table}/{TABLE_CONTENT}", used_names), op=kind)
        dtypes = [index.nodes[op].attr[key].type for key in ("Tkeys", "Tvalues")]
        node.attr["Tin"].type, node.attr["Tout"].type = dtypes
        node.input.append(table)
        for name, value, dtype in zip(("keys", "values"), content, dtypes, strict=True):
            const = tf.compat.v1.NodeDef(name=f"{node.name}/{name}", op="Const")
            const.attr["dtype"].type = dtype
            const.attr["value"].tensor.CopyFrom(
                tf.make_tensor_proto(value, tf.as_dtype(dtype), np.shape(value))
            )
            node.input.append(const.name)
            nodes.append(const)
        nodes.append(node)
        imports.append(node.name)
    return tuple(nodes), tuple(imports)


def _entries(
    index: GraphIndex,
    table: int,
    buckets: Sequence[np.ndarray],
    run: Callable[[Sequence[str]], Sequence[np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """The keys and values of a dense table, of which an export gives each bucket, as rows.

    An import takes buckets too, and TensorFlow infers no shape of a constant with them.
    """
    node = index.nodes[table]
    sources = map(split_input, [text for text in node.input if text[:1] != "^"])
    empty, deleted = run([f"{op}:{port}" for op, port in sources])
    keys = np.reshape(buckets[0], (-1, *np.shape(empty)))
    rows = keys.reshape(len(keys), -1)
    is_entry = [(rows != np.reshape(unused, (1, -1))).any(axis=1) for unused in (empty, deleted)]
    entries = np.flatnonzero(is_entry[0] & is_entry[1])
    # A SavedModel leaves an attribute of the default value out, and reading it would add it.
    has_shape = "value_shape" in node.attr
    value_shape = [dim.size for dim in node.attr["value_shape"].shape.dim] if has_shape else []
    return keys[entries], np.reshape(buckets[1], (-1, *value_shape))[entries]
