"""`ge.match`: OpMatcher as TensorFlow 1.4 had it, and patterns as views."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tests.conftest import v1


@pytest.fixture(scope="module")
def graph() -> tf.Graph:
    """a, b -> c = a + b -> d = c + b, e = relu(c); e waits for b."""
    graph = tf.Graph()
    with graph.as_default():
        a, b = (v1.placeholder(tf.float32, [], name) for name in "ab")
        c = tf.add(a, b, "c")
        tf.add(c, b, "d")
        with tf.control_dependencies([b]):
            tf.nn.relu(c, "e")
    return graph


def names(graph: tf.Graph, matches: Any) -> list[str]:
    return [op.name for op in graph.get_operations() if matches(op)]


def test_an_op_is_matched_by_name_by_identity_by_a_function_or_always(graph: tf.Graph) -> None:
    op = graph.get_operation_by_name("c")
    assert names(graph, ge.matcher("^[cd]$")) == ["c", "d"]
    assert names(graph, ge.matcher(re.compile("A", re.IGNORECASE))) == ["a"]
    assert names(graph, ge.matcher(op)) == ["c"]
    assert names(graph, ge.matcher(lambda each: each.name > "c")) == ["d", "e"]
    assert names(graph, ge.OpMatcher(True)) == ["a", "b", "c", "d", "e"]
    assert names(graph, ge.matcher(ge.op_type(("Relu", "Placeholder")))) == ["a", "b", "e"]
    assert ge.op_type("AddV2", op) is True


def test_inputs_control_inputs_and_consumers_are_matched_in_number_and_order(
    graph: tf.Graph,
) -> None:
    assert names(graph, ge.matcher(True).input_ops("^a$", "^b$")) == ["c"]
    assert names(graph, ge.matcher(True).input_ops(None, "^b$")) == ["c", "d"]
    assert names(graph, ge.matcher(True).input_ops(ge.matcher(True).input_ops("a", "b"), None)) == [
        "d"
    ]
    assert names(graph, ge.matcher(True).input_ops(True)) == ["e"]
    assert names(graph, ge.matcher(True).control_input_ops("^b$")) == ["e"]
    assert names(graph, ge.matcher("^[cde]$").control_input_ops()) == ["c", "d"]
    assert names(graph, ge.matcher(True).output_ops(["^d$", "^e$"])) == ["c"]
    assert names(graph, ge.matcher(True).output_ops("^c$")) == ["a"]
    assert names(graph, ge.matcher("^[ab]$").output_ops(None)) == ["a", "b"]
    assert names(graph, ge.matcher(True).output_ops([None, None])) == ["b", "c"]


def test_conditions_are_nested_as_in_tensorflow_1_4(graph: tf.Graph) -> None:
    """The test of TensorFlow 1.4: an input by its type, a consumer with control inputs, an op
    without consumers.
    """
    add, name = ge.match.op_type("AddV2"), graph.get_operation_by_name
    assert ge.OpMatcher("^d$").input_ops(add, ge.match.op_type("Placeholder"))(name("d"))
    consumer = ge.OpMatcher("^e$").control_input_ops("^b$")
    assert ge.OpMatcher("^c$").input_ops("^a$", "^b$").output_ops(["^d$", consumer])(name("c"))
    assert ge.OpMatcher("^e$").input_ops(True).control_input_ops("^b$").output_ops([])(name("e"))
    assert not ge.OpMatcher("^c$").output_ops([])(name("c"))


def test_a_condition_that_is_none_and_a_second_call_are_refused(graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match="a regular expression, an op, a function or True"):
        ge.matcher(3)
    with pytest.raises(ValueError, match="input_ops was called on this matcher before"):
        ge.matcher(True).input_ops(None).input_ops(None)
    with pytest.raises(TypeError, match=r"Expected a tf\.Operation"):
        ge.matcher(True)("c")


def test_a_pattern_is_found_as_views_of_a_graph_or_of_a_part_of_it(graph: tf.Graph) -> None:
    both = ge.match_pattern("AddV2(x, y: float32[])", graph)
    assert [[op.name for op in view.ops] for view in both] == [["c"], ["d"]]
    one = ge.match_pattern("Relu(AddV2(x, y))", ge.make_view("^[cd]$", "^e$", graph=graph))
    assert [[op.name for op in view.ops] for view in one] == [["c", "e"]]
    assert [tensor.name for tensor in one[0].inputs] == ["a:0", "b:0"]
    assert ge.match_pattern("AddV2(x, y)", ge.make_view("^e$", graph=graph)) == []
    assert ge.match_pattern("Relu(x)", []) == []
