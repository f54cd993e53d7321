"""The module that holds what is used of TensorFlow beyond its public API."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.test_layering import private_names
from tfgraphwidget import tf_internals, tf_releases

MODULES = sorted(Path(tf_internals.__file__).parent.glob("*.py"))
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES]
FUNCTIONS = [node for tree in TREES for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_the_installed_release_is_the_one_that_the_internals_were_run_on() -> None:
    assert tf.__version__.startswith(f"{tf_releases.NEWEST}.")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_each_function_names_what_it_uses_and_why_nothing_public_does(
    function: ast.FunctionDef,
) -> None:
    _, said, private = (ast.get_docstring(function) or "").partition("\n\nPrivate: ")
    assert said, "no paragraph begins with 'Private:'"
    assert re.search(r"(?i)see|[a-z]{3}", re.sub("`[^`]*`", "", private)), "no reason"
    used = {
        name
        for _, thing, name in private_names(ast.walk(function))
        if not re.match(r"_[A-Z]+", name)
    }
    unsaid = {name for name in used if name not in private}
    assert unsaid == set()


def test_an_op_is_made_without_the_surroundings_of_the_code_that_makes_it(line: tf.Graph) -> None:
    node = v1.NodeDef(name="e", op="Relu", input=["x"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    with line.as_default(), v1.name_scope("around"), tf.device("/CPU:0"):
        op = tf_internals.create_operation(line, node, [line.get_tensor_by_name("x:0")])
    assert (op.name, op.device, line.get_operation_by_name("e") is op) == ("e", "", True)


def test_each_new_op_is_observed_after_it_has_come_to_the_graph() -> None:
    graph, seen = tf.Graph(), []
    tf_internals.observe_new_operations(
        graph, lambda op: seen.append((op.name, op.name in names(graph)))
    )
    with graph.as_default():
        tf.constant(1.0, name="a")
    assert seen == [("a", True)]


def names(graph: tf.Graph) -> list[str]:
    return [op.name for op in graph.get_operations()]


def test_an_op_whose_check_raises_does_not_come_to_the_graph() -> None:
    graph, asked = tf.Graph(), []

    def check(op_type: str, inputs: object, attributes: object, name: str) -> None:
        asked.append((op_type, name))
        if op_type == "Relu":
            raise ValueError("no")

    with graph.as_default(), tf_internals.check_new_operations(graph, check):
        x = tf.constant(1.0, name="x")
        with pytest.raises(ValueError, match="no"):
            tf.nn.relu(x, name="y")
    assert (asked, names(graph)) == ([("Const", "x"), ("Relu", "y/")], ["x"])
    with graph.as_default():
        tf.nn.relu(x, name="z")
    assert names(graph) == ["x", "z"]


def test_control_edges_are_pairs_of_numbers_and_inputs_stay_the_same_object_until_they_change(
    line: tf.Graph,
) -> None:
    with line.as_default(), tf.control_dependencies([line.get_operation_by_name("a")]):
        waiting = tf.no_op(name="waiting")
    ops = line.get_operations()
    number = {op.name: tf_internals.operation_number(op) for op in ops}
    assert tf_internals.control_edges(ops) == {(number["a"], number["waiting"])}
    assert tf_internals.control_outputs(line.get_operation_by_name("a")) == [waiting]
    before, again = tf_internals.input_tuples(ops), tf_internals.input_tuples(ops)
    assert all(one is other for one, other in zip(before, again, strict=True))
    tf_internals.update_input(line.get_operation_by_name("c"), 0, line.get_tensor_by_name("x:0"))
    changed = [
        op.name
        for op, one, other in zip(ops, before, tf_internals.input_tuples(ops), strict=True)
        if one is not other
    ]
    assert changed == ["c"]


def test_a_serialized_graph_is_imported_with_other_tensors_in_place_of_what_it_reads(
    line: tf.Graph,
) -> None:
    node = v1.NodeDef(name="copy", op="Neg", input=["outside", "^before"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    serialized = v1.GraphDef(node=[node], versions=line.graph_def_versions).SerializeToString()
    x, a = line.get_operation_by_name("x"), line.get_operation_by_name("a")
    ends = {("outside", 0): tf_internals.c_end(x, 0), ("before", -1): tf_internals.c_end(a, -1)}
    tf_internals.import_serialized(line, serialized, ends)
    assert list(tf_internals.new_c_operations(line)) == ["copy"]
    tf_internals.wrap_operations(line, line.new_operations())
    copy = tf_internals.find_operation(line, "copy")
    assert (copy.inputs[0].name, copy.control_inputs) == ("x:0", [a])
    with v1.Session(graph=line) as session:
        assert session.run("copy:0", {"x:0": np.ones((1, 2))}).tolist() == [[-1.0, -1.0]]


def test_a_session_without_extension_does_not_run_new_ops(line: tf.Graph) -> None:
    with v1.Session(graph=line) as session:
        session.run("a:0", {"x:0": np.ones((1, 2))})
        with line.as_default():
            tf.constant(3.0, name="new")
        with (
            tf_internals.without_extension(session),
            pytest.raises(tf.errors.InvalidArgumentError, match="new:0"),
        ):
            session.run("new:0")
        assert session.run("new:0") == 3.0
        assert not tf_internals.is_closed(session)
    assert tf_internals.is_closed(session)


def test_a_monitored_session_is_unwrapped_step_by_step() -> None:
    with tf.Graph().as_default(), v1.train.MonitoredSession() as monitored:
        assert tf_internals.is_session(monitored)
        inner = tf_internals.wrapped_session(monitored)
        assert isinstance(inner, tf_internals.BaseSession)
        assert tf_internals.wrapped_session(inner) is inner
    assert tf_internals.wrapped_session(monitored) is None
