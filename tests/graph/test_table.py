"""The table: one row per op, with pandas or without."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.graph.test_nx import index_of
from tfgraphwidget.graph.index import build
from tfgraphwidget.graph.table import COLUMNS, table


@pytest.fixture
def no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if pandas were not installed."""
    monkeypatch.setitem(sys.modules, "pandas", None)


@pytest.fixture
def graph() -> tf.Graph:
    with tf.Graph().as_default() as graph, tf.name_scope("net"):
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        first = tf.no_op(name="first")
        with tf.device("/cpu:0"), tf.control_dependencies([first]):
            tf.unstack(x, axis=1, name="halves")
        tf.multiply(x, x, name="square")
    return graph


def row(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(row for row in rows if row["name"] == name)


def test_without_pandas_rows_are_dicts_in_graph_order(graph: tf.Graph, no_pandas: None) -> None:
    rows = table(index_of(graph))
    assert [row["name"] for row in rows] == [op.name for op in graph.get_operations()]
    assert all(tuple(row) == COLUMNS for row in rows)
    assert row(rows, "net/halves") == {
        "name": "net/halves",
        "type": "Unpack",
        "device": "/device:CPU:0",
        "scope": "net",
        "inputs": ("net/x:0",),
        "outputs": ("float32 (None,)", "float32 (None,)"),
        "control_inputs": ("net/first",),
        "readers": 0,
        "variable": "",
    }


def test_an_op_that_reads_a_tensor_twice_is_one_reader(graph: tf.Graph, no_pandas: None) -> None:
    assert row(table(index_of(graph)), "net/x")["readers"] == 2


def test_parts_of_a_variable_name_it(mlp: tf.Graph, no_pandas: None) -> None:
    rows = table(index_of(mlp))
    parts = {row["name"] for row in rows if row["variable"] == "net/one/w"}
    assert {"net/one/w", "net/one/w/Assign"} < parts
    assert not any(row["variable"] for row in rows if row["name"].endswith("MatMul"))


def test_what_is_not_known_is_called_so(no_pandas: None) -> None:
    nodes = [v1.NodeDef(name="a", op="Mystery"), v1.NodeDef(name="b", op="Mystery", input=["a:1"])]
    assert [row["outputs"] for row in table(build(nodes))] == [("unknown unknown", "unknown unknown"), ()]


def test_an_empty_graph_has_no_rows(no_pandas: None) -> None:
    assert table(build([])) == []


def test_with_pandas_it_is_a_frame_of_the_same_rows(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(graph)
    frame = table(index)
    assert isinstance(frame, pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert frame.to_dict("records") == table(index)
    assert tuple(frame.columns) == COLUMNS


def test_whatever_pandas_is_installed_it_is_asked_for_a_frame(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas:
        @staticmethod
        def DataFrame(rows: list[dict[str, Any]], columns: list[str]) -> tuple[int, list[str]]:  # noqa: N802
            return len(rows), columns

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    index = index_of(graph)
    assert table(index) == (len(index), list(COLUMNS))
