"""Lookup tables of functions: their dtypes, and tables of the same content."""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget.graph import TABLE_WRITES, Table
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import LookupTable, MutableLookupTable, NodeDef


def table_dtypes(nodes: Iterable[NodeDef]) -> list[tuple[int, int]]:
    """(key, value) dtypes of the tables that ops read."""
    reads = [
        node
        for node in nodes
        if node.op.startswith("LookupTable") and {"Tin", "Tout"} <= set(node.attr)
    ]
    return list(dict.fromkeys((node.attr["Tin"].type, node.attr["Tout"].type) for node in reads))


def _is_table_written(nodes: Iterable[NodeDef]) -> bool:
    """Whether any op writes to a table."""
    return any(node.op in TABLE_WRITES for node in nodes)


def table_of(content: Table, nodes: Iterable[NodeDef]) -> LookupTable:
    """A lookup table of the same content, to be written if that one is, or an op does."""
    return make_table(content._replace(is_mutable=content.is_mutable and _is_table_written(nodes)))


def make_table(content: Table) -> LookupTable:
    """A lookup table."""
    keys, values = tf.convert_to_tensor(content.keys), tf.convert_to_tensor(content.values)
    default = tf.zeros(values.shape[1:], values.dtype)
    # A mutable table: TensorFlow initializes no static one with nothing.
    is_empty = keys.shape[0] == 0
    if values.shape.rank == 1 and not content.is_mutable and not is_empty:
        static: LookupTable = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values), default
        )
        return static
    table: MutableLookupTable = tf.lookup.experimental.MutableHashTable(
        keys.dtype, values.dtype, default
    )
    if not is_empty:
        table.insert(keys, values)
    return table
