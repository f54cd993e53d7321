"""The table: one row per op."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.graph.test_nx import index_of
from tfgraphwidget.graph.index import build
from tfgraphwidget.graph.table import COLUMNS, rows, table


@pytest.fixture
def graph() -> tf.Graph:
    with tf.Graph().as_default() as graph, tf.name_scope("net"):
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        first = tf.no_op(name="first")
        with tf.device("/cpu:0"), tf.control_dependencies([first]):
            tf.unstack(x, axis=1, name="halves")
        tf.multiply(x, x, name="square")
    return graph


def row(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(row for row in found if row["name"] == name)


def test_rows_are_dicts_in_graph_order(graph: tf.Graph) -> None:
    found = rows(index_of(graph))
    assert [row["name"] for row in found] == [op.name for op in graph.get_operations()]
    assert all(tuple(row) == COLUMNS for row in found)
    assert row(found, "net/halves") == {
        "name": "net/halves",
        "type": "Unpack",
        "device": "/device:CPU:0",
        "scope": "net",
        "inputs": ("net/x:0",),
        "outputs": ("float32 (None,)", "float32 (None,)"),
        "control_inputs": ("net/first",),
        "consumers": 0,
        "variable": "",
    }


def test_an_op_that_reads_a_tensor_twice_is_one_consumer(graph: tf.Graph) -> None:
    assert row(rows(index_of(graph)), "net/x")["consumers"] == 2


def test_parts_of_a_variable_name_it(mlp: tf.Graph) -> None:
    found = rows(index_of(mlp))
    parts = {row["name"] for row in found if row["variable"] == "net/one/w"}
    assert {"net/one/w", "net/one/w/Assign"} < parts
    assert not any(row["variable"] for row in found if row["name"].endswith("MatMul"))


def test_what_is_not_known_is_called_so() -> None:
    nodes = [v1.NodeDef(name="a", op="Mystery"), v1.NodeDef(name="b", op="Mystery", input=["a:1"])]
    assert [row["outputs"] for row in rows(build(nodes))] == [
        ("unknown unknown", "unknown unknown"),
        (),
    ]


def test_an_empty_graph_has_no_rows() -> None:
    assert rows(build([])) == []


def test_the_table_is_a_frame_of_the_same_rows(graph: tf.Graph) -> None:
    index = index_of(graph)
    frame = table(index)
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("records") == rows(index)
    assert tuple(frame.columns) == COLUMNS
    assert tuple(table(build([])).columns) == COLUMNS
