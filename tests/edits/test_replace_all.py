"""ReplaceAll: every match of a pattern by what a function or a text makes, in one step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tests.edits.drafts import ran, saved, written
from tests.nothing import says_nothing
from tfgraphwidget.errors import GraphEditError, InvalidArgument

X = {"x:0": np.array([[1.0, -2.0]], np.float32)}


def graph_of(build: Callable[[tf.Tensor], Any]) -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        build(v1.placeholder(tf.float32, [None, 2], "x"))
    return graph


def silu(x: tf.Tensor) -> tf.Tensor:
    return tf.multiply(x, tf.sigmoid(x))


def three_blocks(x: tf.Tensor) -> None:
    """x -> three times x * sigmoid(x), each in a scope -> y."""
    for k in range(3):
        with v1.name_scope(f"block{k}"):
            x = silu(tf.add(x, 1.0))
    tf.identity(x, "y")


# semantics 13
def test_all_matches_are_replaced_in_one_step_on_a_live_graph_with_a_session() -> None:
    graph = graph_of(three_blocks)
    with v1.Session(graph=graph) as session:
        before = session.run("y:0", X)
        editor = tgw.edit(graph, session=session)
        report = editor.replace_all(
            "Mul(x, Sigmoid(x))", lambda x: x * tf.sigmoid(x) * 2.0, into="swish2"
        )
        assert len(report.replaced) == 3
        assert report.replaced[0].ops == ("block0/Sigmoid", "block0/Mul")
        assert report.replaced[0].outputs == (("block0/Mul:0", "block0/swish2/mul_1:0"),)
        assert len(editor.history.done) == 1
        value = X["x:0"]
        for _ in range(3):
            value = (value + 1) / (1 + np.exp(-(value + 1))) * 2
        np.testing.assert_allclose(session.run("y:0", X), value, rtol=1e-5)
        editor.undo()
        np.testing.assert_array_equal(session.run("y:0", X), before)
        editor.redo()
        np.testing.assert_allclose(session.run("y:0", X), value, rtol=1e-5)


def test_text_to_text_is_saved_in_json_replayed_and_undone(tmp_path: Path) -> None:
    path = written(graph_of(three_blocks), tmp_path)
    editor = tgw.edit(path)
    before = saved(editor, tmp_path)
    expected = ran(editor, tmp_path, "y:0", X)
    editor.replace_all("Mul(x, Sigmoid(x))", "Mul(Sigmoid(x), x)", into="turned")
    np.testing.assert_allclose(ran(editor, tmp_path, "y:0", X), expected, rtol=1e-6)
    assert editor.history.lines == (
        'editor.replace_all(pattern="Mul(x, Sigmoid(x))", by="Mul(Sigmoid(x), x)", into="turned")',
    )
    edits = editor.save(tmp_path / "edits.json")
    given = json.loads(edits.read_text())["edits"][0]
    assert given["command"] == "replace_all"
    assert given["arguments"] == {
        "pattern": "Mul(x, Sigmoid(x))",
        "by": "Mul(Sigmoid(x), x)",
        "into": "turned",
    }
    other = tgw.edit(path)
    other.history.replay(edits)
    assert saved(other, tmp_path) == saved(editor, tmp_path)
    other.undo()
    assert saved(other, tmp_path) == before
    third = tgw.edit(path)
    exec(editor.history.lines[0], {"editor": third})
    assert saved(third, tmp_path) == saved(editor, tmp_path)


def test_a_match_is_replaced_by_one_of_its_tensors(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        a = tf.identity(tf.identity(x, "one"), "two")
        tf.add(tf.identity(a, "three"), a, "y")

    editor = tgw.edit(written(graph_of(build), tmp_path))
    report = editor.replace_all("Identity(x)", "x")
    assert len(report.replaced) == 3
    assert editor._core.index.names == ["x", "y"]
    assert list(editor._core.index.nodes[1].input) == ["x", "x"]
    assert ran(editor, tmp_path, "y:0", X).tolist() == [[2, -4]]


# semantics 14
def test_a_result_that_nothing_reads_is_not_replaced_by_its_input(tmp_path: Path) -> None:
    editor = tgw.edit(
        written(graph_of(lambda x: tf.identity(tf.identity(x, "one"), "y")), tmp_path)
    )
    report = editor.replace_all("Identity(x)", "x")
    assert editor._core.index.names == ["x", "y"]
    assert report.skipped[0].ops == ("y",)
    assert str(report).splitlines()[:2] == [
        "replaced 1 of 2 matches",
        (
            "not replaced: 'y:0': nothing reads 'y:0', so it may be a result; give it a consumer, "
            "or keep it."
        ),
    ]


# semantics 4
def test_constants_and_variables_that_others_read_stay_and_others_go() -> None:
    def build(x: tf.Tensor) -> None:
        shared, own = tf.constant([1.0, 2.0], name="shared"), tf.constant([3.0, 4.0], name="own")
        w = v1.get_variable("w", [2], use_resource=True)
        a = tf.nn.relu(x * shared + own, "a")
        tf.identity(tf.nn.relu(a * w + shared, "b"), "y")

    editor = tgw.edit(graph_of(build))
    report = editor.replace_all(
        "Relu(AddV2(Mul(x, m=Const|Variable), b=Const))", lambda x, m, b: tf.nn.elu(x * m - b)
    )
    assert len(report.replaced) == 2
    assert {"shared", "w"} <= set(editor._core.index.names)
    assert not {"a", "b", "mul", "add"} & set(editor._core.index.names)
    assert {tuple(n.input) for n in editor._core.index.nodes if n.op == "Sub"} >= {
        ("replaced/mul", "own")
    }


def test_a_function_takes_the_tensors_of_its_parameters_names() -> None:
    def build(x: tf.Tensor) -> None:
        tf.identity(tf.nn.bias_add(tf.matmul(x, tf.ones([2, 2])), [1.0, 2.0]), "y")

    def dense(b: Any, w: Any) -> Any:
        return tf.reduce_sum(w) + b

    editor = tgw.edit(graph_of(build))
    editor.replace_all("BiasAdd(MatMul(x, w=Const), b=Const)", dense)
    assert editor._core.index.types.count("MatMul") == 0
    assert "x" in editor._core.index.ids


def test_attributes_that_the_pattern_names_go_into_the_replacement(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        image = tf.reshape(tf.tile(x, [1, 8]), [-1, 4, 4, 1])
        same = tf.nn.conv2d(image, tf.ones([2, 2, 1, 1]), 1, "SAME")
        tf.identity(tf.nn.conv2d(same, tf.ones([2, 2, 1, 1]), 2, "VALID"), "y")

    editor = tgw.edit(written(graph_of(build), tmp_path))
    before = ran(editor, tmp_path, "y:0", X)
    report = editor.replace_all(
        "Conv2D(x, w, padding=$p, strides=$s)",
        "Neg(Conv2D(Neg(x), w, padding=$p, strides=$s))",
        into="minus",
    )
    assert len(report.replaced) == 2
    assert [n.attr["padding"].s for n in editor._core.index.nodes if n.op == "Conv2D"] == [
        b"SAME",
        b"VALID",
    ]
    np.testing.assert_array_equal(ran(editor, tmp_path, "y:0", X), before)


TEXTS = [
    ("Reshape(x, [-1, 4])", lambda x: x.reshape(-1, 4)),
    ("Sum(x, 1)", lambda x: x.sum(1)),
    ("ConcatV2(x, x, 1)", lambda x: np.concatenate([x, x], 1)),
    ("Transpose(x, [1, 0])", np.transpose),
    ("Pad(x, [[0, 0], [1, 1]])", lambda x: np.pad(x, [(0, 0), (1, 1)])),
    ("Sub(1, x)", lambda x: 1 - x),
    ("Mul(x, AddN(x, [[2, 2], [2, 2]]))", lambda x: x * (x + 2)),
    ("Select(Less(x, 2), x, Neg(x))", lambda x: np.where(x < 2, x, -x)),
    ("SelectV2(True, x, 0)", lambda x: x),
    ("s=Split(1, x, num_split=2); AddV2(s, s:1)", lambda x: x[:, :1] + x[:, 1:]),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize(("by", "expected"), TEXTS)
@pytest.mark.sample(6)
def test_a_number_of_a_replacement_has_the_dtype_that_the_op_wants_there(
    by: str, expected: Callable[[Any], Any], dtype: str, tmp_path: Path
) -> None:
    graph, value = tf.Graph(), np.array([[1, 3], [2, 5]], dtype)
    with graph.as_default():
        tf.identity(tf.raw_ops.Snapshot(input=v1.placeholder(dtype, [2, 2], "x")), "y")
    file = tgw.edit(written(graph, tmp_path))
    file.replace_all("Snapshot(x)", by, into="new")
    np.testing.assert_allclose(ran(file, tmp_path, "y:0", {"x:0": value}), expected(value))
    with v1.Session(graph=graph) as session:
        live = tgw.edit(graph, session=session)
        live.replace_all("Snapshot(x)", by, into="new")
        np.testing.assert_allclose(session.run("y:0", {"x:0": value}), expected(value))


# semantics 3
def test_control_edges_of_a_match_move_to_what_replaces_it() -> None:
    def build(x: tf.Tensor) -> None:
        ready = tf.no_op("ready")
        with tf.control_dependencies([ready]):
            h = tf.sigmoid(x, "inner")
        out = tf.multiply(h, x, "out")
        with tf.control_dependencies([out.op]):
            tf.no_op("behind")
        tf.identity(out, "y")

    editor = tgw.edit(graph_of(build))
    editor.replace_all("Mul(x, Sigmoid(x))", "Relu(x)", into="new")
    nodes = {node.name: node for node in editor._core.index.nodes}
    assert list(nodes["new/Relu"].input) == ["x", "^ready"]
    assert list(nodes["behind"].input) == ["^new/Relu"]
    editor.undo()
    editor.replace_all("Mul(x, Sigmoid(x))", "x")
    nodes = {node.name: node for node in editor._core.index.nodes}
    assert list(nodes["y"].input) == ["x", "^ready"]
    assert list(nodes["behind"].input) == ["^ready", "^x"]


def test_what_only_passes_tensors_on_leaves_its_waits_to_its_consumers() -> None:
    def build(x: tf.Tensor) -> None:
        first, second = tf.no_op("first"), tf.no_op("second")
        with tf.control_dependencies([first]):
            a = tf.identity(x, "a")
        with tf.control_dependencies([second]):
            b = tf.identity(a, "b")
        tf.tanh(b, "y")
        with tf.control_dependencies([first]):
            tf.identity(x, "result")  # nothing reads it, so that nothing could wait in its place

    editor = tgw.edit(graph_of(build))
    report = editor.replace_all("Identity(x)", "x")
    nodes = {node.name: node for node in editor._core.index.nodes}
    assert list(nodes["y"].input) == ["x", "^first", "^second"]
    assert "result" in nodes
    assert len(report.replaced) == 2
    editor.undo()
    assert "b" in editor._core.index.ids


def test_the_parts_of_a_variable_stay_and_the_other_matches_are_replaced() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], "x")
        w = v1.get_variable("w", [2, 2], use_resource=False)
        tf.tanh(tf.identity(tf.matmul(x, w), "passed"), "y")
    editor = tgw.edit(graph)
    report = editor.replace_all("Identity(x)", "x")
    assert "passed" not in editor._core.index.ids
    assert "w/read" in editor._core.index.ids
    assert [
        why
        for match in report.skipped
        if "'w/read' is a part of variable 'w'" in (why := match.why)
    ]


# semantics 4
def test_a_match_whose_inside_is_read_waited_for_or_returned_is_left_and_says_why(
    signed: Path,
) -> None:
    def build(x: tf.Tensor) -> None:
        for name in ("free", "read", "waited"):
            with v1.name_scope(name):
                h = tf.sigmoid(x, "inner")
                tf.identity(tf.multiply(h, x, "out"), "y")
        graph = v1.get_default_graph()
        tf.tanh(graph.get_tensor_by_name("read/inner:0"), "reader")
        with tf.control_dependencies([graph.get_operation_by_name("waited/inner")]):
            tf.no_op("waiter")

    report = tgw.edit(graph_of(build)).replace_all("Mul(x, Sigmoid(x))", "Relu(x)")
    assert [each.ops for each in report.replaced] == [("free/inner", "free/out")]
    assert [each.why for each in report.skipped] == [
        "'read/out:0': 'reader' outside reads 'read/inner', which is inside.",
        "'waited/out:0': 'waiter' outside waits for 'waited/inner', which is inside.",
    ]
    model = tgw.edit(signed)
    last = str(model.match("Identity(Relu(x))")[0].outputs[0])
    assert last == "net/logits:0"
    assert not model.match("Identity(Relu(x))")[0].why, (
        "an output of the pattern can be one of the model"
    )
    model.replace_all("Identity(Relu(x))", "Elu(x)", into="last")
    assert dict(model._core.executor.signatures[0].outputs)["logits"] == "net/last/Elu:0"


def test_a_match_whose_inside_a_signature_gives_is_left_and_says_so() -> None:
    editor = tgw.edit(graph_of(silu_as_y).as_graph_def())
    editor.signatures.add("inner", {"x": "x:0"}, {"gate": "Sigmoid:0"})
    says_nothing(
        editor.replace_all("Mul(x, Sigmoid(x))", "Relu(x)"),
        "'Sigmoid:0' inside is an output of the model",
    )
    editor.signatures.remove("inner")
    assert len(editor.replace_all("Mul(x, Sigmoid(x))", "Relu(x)").replaced) == 1


def silu_as_y(x: tf.Tensor) -> None:
    """x * sigmoid(x)."""
    tf.identity(silu(x), "y")


def test_a_builder_with_a_condition_on_a_dtype_replaces_what_has_it(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        tf.add(silu(x), tf.cast(silu(tf.cast(x, tf.float16)), tf.float32), "y")

    @tgw.pattern
    def gate(op: Any, x: Any) -> Any:
        return op.Mul(x, op.Sigmoid(x))

    editor = tgw.edit(written(graph_of(build), tmp_path))
    expected = ran(editor, tmp_path, "y:0", X)
    report = editor.replace_all(gate, tf.nn.silu, where=lambda match: match.x.dtype == "float16")
    assert len(report.replaced) == 1
    assert [match.x.dtype for match in editor.match(gate)] == ["float32"]
    np.testing.assert_allclose(ran(editor, tmp_path, "y:0", X), expected, rtol=1e-2)


def test_the_bodies_of_loops_and_branches_are_edited_too(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        branch = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x) + 1.0, lambda: tf.nn.relu(-x))
        tf.identity(
            tf.while_loop(
                lambda i, _: i < 3, lambda i, y: (i + 1, tf.nn.relu(y) - 0.1), [0, branch]
            )[1],
            "y",
        )

    v1.enable_control_flow_v2()
    editor = tgw.edit(written(graph_of(build), tmp_path))
    expected = ran(editor, tmp_path, "y:0", X)
    report = editor.replace_all("Relu(x)", "Maximum(x, 0.0)", functions=True)
    assert len(report.replaced) == len({match.function for match in report.replaced}) == 3
    np.testing.assert_allclose(ran(editor, tmp_path, "y:0", X), expected)


# semantics 12
def test_overlapping_matches_are_replaced_from_the_first_on_and_the_rest_is_reported() -> None:
    def build(x: tf.Tensor) -> None:
        for k in range(4):
            x = tf.nn.relu(x, f"r{k}")
        tf.identity(x, "y")

    for _ in range(2):
        report = tgw.edit(graph_of(build)).replace_all("Relu(Relu(x))", "Relu(x)")
        assert [each.ops for each in report.replaced] == [("r0", "r1"), ("r2", "r3")]
        assert [each.why for each in report.skipped] == [
            "'r2:0': overlaps the match that ends at 'r1:0'."
        ]


# semantics 12
def test_until_fixed_repeats_in_one_step(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        for k in range(9):
            x = tf.nn.relu(x, f"r{k}")
        tf.identity(x, "y")

    editor = tgw.edit(written(graph_of(build), tmp_path))
    before = saved(editor, tmp_path)
    editor.replace_all("Relu(Relu(x))", "Relu(x)", until="fixed")
    assert editor._core.index.types.count("Relu") == 1
    assert len(editor.history.done) == 1
    assert ran(editor, tmp_path, "y:0", X).tolist() == [[1, 0]]
    editor.undo()
    assert saved(editor, tmp_path) == before


# semantics 12
def test_until_fixed_stops_at_a_graph_that_was_there_before_and_after_a_hundred_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(x: tf.Tensor) -> None:
        tf.identity(tf.subtract(x, tf.tanh(x)), "y")

    report = tgw.edit(graph_of(build)).replace_all("Sub(a, b)", "Sub(b, a)", until="fixed")
    assert (
        report.notes[0]
        == "Stopped after 1 round: the next one leads to a graph that was there before."
    )
    monkeypatch.setattr("tfgraphwidget.edits.rewrite.replace_all._MOST_ROUNDS", 3)
    editor = tgw.edit(graph_of(build))
    report = editor.replace_all("Tanh(x)", "Tanh(Exp(x))", until="fixed")
    assert report.notes[0] == "Stopped after 3 rounds, and there are matches left."
    assert editor._core.index.types.count("Exp") == 3


def test_where_chooses_matches_and_an_error_in_it_is_a_refusal() -> None:
    graph = graph_of(three_blocks)
    editor = tgw.edit(graph)
    report = editor.replace_all(
        "Sigmoid(x)", tf.tanh, where=lambda m: m.x.op.name.startswith("block1")
    )
    assert [each.ops for each in report.replaced] == [("block1/Sigmoid",)]
    with pytest.raises(GraphEditError, match="where= raised AttributeError at 'block0/Sigmoid:0'"):
        editor.replace_all("Sigmoid(x)", tf.tanh, where=lambda m: m.z)
    says_nothing(editor.replace_all("Sigmoid(x)", tf.tanh, where=lambda _: False), "where= accepts")
    with pytest.raises(GraphEditError, match=r"edits\.py"):
        editor.history.records()


# semantics 11
def test_ops_with_side_effects_are_replaced_only_if_asked() -> None:
    graph = graph_of(lambda x: tf.identity(x + v1.random_uniform([2], seed=1), "y"))
    editor = tgw.edit(graph)
    says_nothing(
        editor.replace_all("RandomUniform(x)", tf.zeros), "has side effects; effects=True replaces"
    )
    assert editor.replace_all("RandomUniform(x)", tf.zeros, effects=True).replaced


# semantics 10
def test_a_match_in_a_loop_is_replaced_in_that_loop() -> None:
    def build(x: tf.Tensor) -> None:
        v1.disable_control_flow_v2()
        try:
            tf.identity(
                v1.while_loop(
                    lambda i, _: i < 3, lambda i, v: (i + 1, v + silu(v) + silu(v + 2.0)), [0, x]
                )[1],
                "y",
            )
        finally:
            v1.enable_control_flow_v2()

    graph = graph_of(build)
    with v1.Session(graph=graph) as session:
        before = session.run("y:0", X)
        editor = tgw.edit(graph, session=session)
        assert (
            len(editor.replace_all("Mul(x, Sigmoid(x))", lambda x: x / (1.0 + tf.exp(-x))).replaced)
            == 2
        )
        np.testing.assert_allclose(session.run("y:0", X), before, rtol=1e-5)
        editor.undo()
        np.testing.assert_array_equal(session.run("y:0", X), before)


# semantics 10
def test_functions_edits_the_bodies_of_called_functions_too(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        inner = tf.function(silu, autograph=False)
        outer = tf.function(lambda t: silu(inner(t)), autograph=False)
        tf.identity(silu(outer(x)), "y")

    editor = tgw.edit(written(graph_of(build), tmp_path))
    before, expected = saved(editor, tmp_path), ran(editor, tmp_path, "y:0", X)
    report = editor.replace_all(
        "Mul(x, Sigmoid(x))", "RealDiv(x, AddV2(1.0, Exp(Neg(x))))", functions=True
    )
    assert [bool(each.function) for each in report.replaced] == [False, True, True]
    assert not editor.match("Sigmoid(x)", functions=True)
    np.testing.assert_allclose(ran(editor, tmp_path, "y:0", X), expected, rtol=1e-5)
    editor.undo()
    assert saved(editor, tmp_path) == before


def test_a_function_that_several_calls_share_is_edited_once_and_stays_shared(
    tmp_path: Path,
) -> None:
    def build(x: tf.Tensor) -> None:
        function: Any = tf.function(lambda t: tf.tanh(silu(t)), autograph=False)
        for _ in range(5):  # there are 63 calls in calls
            function = tf.function(
                lambda t, inner=function: inner(t) + inner(t * 2.0), autograph=False
            )
        tf.identity(function(x), "y")

    editor = tgw.edit(written(graph_of(build), tmp_path))
    expected = ran(editor, tmp_path, "y:0", X)
    functions = editor._core.index.functions
    report = editor.replace_all(
        "Mul(x, Sigmoid(x))", "RealDiv(x, AddV2(1.0, Exp(Neg(x))))", functions=True
    )
    assert len(report.replaced) == 1
    assert len(editor._core.index.functions - functions) == len(functions) == 6
    np.testing.assert_allclose(ran(editor, tmp_path, "y:0", X), expected, rtol=1e-5)
    editor.undo()
    assert editor._core.index.functions == functions


def test_a_function_itself_is_edited_and_its_callers_are_not(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def model(x: Any) -> Any:
        return silu(silu(x))

    editor = tgw.edit(model)
    assert len(editor.replace_all("Mul(x, Sigmoid(x))", tf.nn.relu).replaced) == 2
    module = editor.to_module()
    np.testing.assert_array_equal(module(tf.constant(X["x:0"])), [[1, 0]])
    editor.undo()
    assert not editor.diff()


REFUSED: list[tuple[str, Any, str]] = [
    ("Mul(x, Sigmoid(x))", "Relu(z)", "The pattern has no tensor 'z'; it names 'x'"),
    ("Mul(x, Sigmoid(x))", "Relu(x, a=$p)", r"The pattern names no attribute \$p"),
    ("Mul(x, Sigmoid(x))", "Mul|Add(x, x)", "must be one op type"),
    ("Mul(x, Sigmoid(x))", "Relu(x)x", "expected a second op"),
    ("Mul(x, Sigmoid(x))", "Reluu(x)", "'Reluu' is not an op type"),
    ("Mul(x, Sigmoid(x))", "x; x", "returns 2 tensors, and the pattern has 1 output;"),
    ("Mul(x, Sigmoid(x))", lambda x: x[9, 9, 9], "raised"),
    ("Mul(x, Sigmoid(x))", lambda x: tf.Variable(tf.zeros([2])) * x, "variables of its own"),
    ("Mul(x, Sigmod(x))", "x", "There is no op type 'Sigmod'; did you mean 'Sigmoid'"),
    ("*", "x", "matches everything"),
]


@pytest.fixture(scope="module")
def blocks() -> tgw.GraphEditor:
    return tgw.edit(graph_of(three_blocks))


@pytest.mark.parametrize(("pattern", "by", "why"), REFUSED)
def test_a_replacement_that_cannot_be_right_is_refused_and_changes_nothing(
    blocks: tgw.GraphEditor, pattern: str, by: Any, why: str
) -> None:
    names = list(blocks._core.index.names)
    with pytest.raises(GraphEditError, match=why):
        blocks.replace_all(pattern, by)
    assert blocks._core.index.names == names
    assert not blocks.history.done


@pytest.mark.parametrize(
    ("pattern", "by", "why"),
    [
        (
            "Mul(x, Tanh(x))",
            "x",
            "Nothing matches 'Mul.x, Tanh.x..'. The closest: 'block0/Sigmoid' is Sigmoid where",
        ),
        (
            "Mul(x, Sigmoid(x))",
            "Cast(x, DstT='int32')",
            "int32, and op 'block1/Add' reads 'block0/Mul:0', which is",
        ),
    ],
)
def test_where_nothing_fits_nothing_is_done(
    blocks: tgw.GraphEditor, pattern: str, by: str, why: str
) -> None:
    names = list(blocks._core.index.names)
    says_nothing(blocks.replace_all(pattern, by), why)
    assert blocks._core.index.names == names
    assert not blocks.history.done


def test_a_name_scope_that_is_none_is_refused(blocks: tgw.GraphEditor) -> None:
    with pytest.raises(InvalidArgument, match="'a b' is not a name scope"):
        blocks.replace_all("Sigmoid(x)", "Tanh", into="a b")


def test_an_op_type_alone_is_called_on_all_tensors_and_names_the_scope() -> None:
    editor = tgw.edit(graph_of(three_blocks))
    report = editor.replace_all("Sigmoid(x)", "Tanh")
    assert report.replaced[0].outputs == (("block0/Sigmoid:0", "block0/Tanh/Tanh:0"),)


# semantics 13
def test_the_replacement_is_traced_once_for_matches_of_one_signature() -> None:
    calls: list[tf.Tensor] = []

    def build(x: tf.Tensor) -> None:
        three_blocks(x)
        silu(v1.placeholder(tf.float32, [5], "other"))

    def traced(x: tf.Tensor) -> tf.Tensor:
        calls.append(x)
        return tf.nn.relu(x)

    tgw.edit(graph_of(build)).replace_all("Mul(x, Sigmoid(x))", traced)
    assert [call.shape.rank for call in calls] == [2, 1]


def test_several_outputs_are_replaced_by_several_tensors(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> None:
        q, k = (
            tf.matmul(x, tf.constant(w), name=n)
            for n, w in (("q", [[1.0], [2.0]]), ("k", [[3.0], [4.0]]))
        )
        tf.concat([q, k], 1, "y")

    editor = tgw.edit(written(graph_of(build), tmp_path))
    expected = ran(editor, tmp_path, "y:0", X)

    def joined(x: Any, a: Any, b: Any) -> Any:
        return tf.split(tf.matmul(x, tf.concat([a, b], 1)), 2, 1)

    report = editor.replace_all("MatMul(x, a=Const); MatMul(x, b=Const)", joined)
    assert len(report.replaced) == 1
    assert editor._core.index.types.count("MatMul") == 1
    np.testing.assert_array_equal(ran(editor, tmp_path, "y:0", X), expected)


# semantics 3
@pytest.mark.parametrize("is_file", [False, True], ids=["graph", "file"])
def test_of_several_outputs_one_may_go_into_the_other_from_outside_unless_that_is_a_cycle(
    is_file: bool,
) -> None:
    def build(x: tf.Tensor) -> None:
        q = tf.matmul(x, tf.ones([2, 2]), name="q")
        tf.identity(tf.add(tf.matmul(x, tf.exp(q)), 1.0), "y")

    graph = graph_of(build)
    source = graph.as_graph_def() if is_file else graph
    pattern = "a=MatMul(x, p); b=MatMul(x, q)"
    with v1.Session(graph=graph) as session:
        before = session.run("y:0", {"x:0": np.eye(2)})
        editor = tgw.edit(source, session=None if is_file else session)
        editor.replace_all(pattern, lambda x, p, q: [x @ p, x @ q])
        np.testing.assert_allclose(editor.session.run("y:0", {"x:0": np.eye(2)}), before)

    editor = tgw.edit(source)
    nodes = editor._core.index.nodes
    says_nothing(
        editor.replace_all(pattern, lambda x, p, q: tf.unstack(tf.stack([x @ p, x @ q]))),
        r"would be a cycle, .*; write a pattern of one output",
    )
    assert (editor._core.index.nodes, editor.history.done) == (nodes, ())


@pytest.mark.parametrize("is_file", [False, True], ids=["graph", "file"])
def test_a_cycle_through_control_inputs_is_refused(is_file: bool) -> None:
    def build(x: tf.Tensor) -> None:
        p = tf.exp(x, "p")
        with tf.control_dependencies([p]):
            wait = tf.no_op("wait")
        with tf.control_dependencies([wait]):
            tf.add(p, tf.tanh(x), "y")

    graph = graph_of(build)
    editor = tgw.edit(graph.as_graph_def() if is_file else graph)
    nodes = editor._core.index.nodes
    says_nothing(
        editor.replace_all(
            "Exp(x); Tanh(x)", lambda x: tf.unstack(tf.stack([tf.sin(x), tf.cos(x)]))
        ),
        r"'wait' cannot come after .* would be a cycle",
    )
    assert (editor._core.index.nodes, editor.history.done) == (nodes, ())


def test_of_two_matches_that_are_a_cycle_together_one_is_replaced() -> None:
    with tf.Graph().as_default() as graph:
        x, y, v, w = (v1.placeholder(tf.float32, [2], name) for name in "xyvw")
        tf.add(w, tf.add(x, y), "sum")
        tf.multiply(x, tf.multiply(w, v), "product")
    editor = tgw.edit(graph.as_graph_def())
    report = editor.replace_all(
        "AddV2(x, y); Mul(x, z)", lambda x, y, z: tf.unstack(tf.stack([x + y, x * z]))
    )
    assert (len(report.replaced), len(report.skipped)) == (1, 1)
    assert "would be a cycle" in report.skipped[0].why
    feeds = {"x:0": [1, 2], "y:0": [3, 4], "v:0": [5, 6], "w:0": [7, 8]}
    results = [tensor for _, tensor in report.replaced[0].outputs]
    assert len(editor.session.run(results, feeds)) == 2


def test_gradients_that_stay_are_said() -> None:
    editor = tgw.example()
    report = editor.replace_all("Relu(x)", "Round(x)")
    assert (
        "The gradients of what was replaced ('gradients/net/hidden/Relu_grad/ReluGrad') stay as "
        "they were" in str(report)
    )
    editor.undo()
    editor.passes.strip_training(["net/logits"])
    assert "gradients" not in str(editor.replace_all("Relu(x)", "Elu(x)"))


def four_layers() -> tf.Graph:
    """Four Relu ops; two of them are multiplied by a matrix of four rows."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 4], "x")
        for k in range(4):
            layer = tf.tanh(tf.nn.relu(x + float(k), f"relu{k}"))
            tf.identity(layer @ tf.ones([4, 1]) if k % 2 else layer, f"y{k}")
    return graph


# semantics 13, 14
@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        ("Relu(x)", lambda x: tf.concat([x, x], 1)),
        ("Relu(x)", "L2Loss(x)"),
        ("Relu(AddV2(x, b))", "b"),
    ],
    ids=["function", "text", "text that passes on"],
)
@pytest.mark.parametrize("until", ["once", "fixed"])
@pytest.mark.parametrize("live", [True, False])
@pytest.mark.sample(4)
def test_a_match_whose_replacement_has_a_wrong_shape_stays_and_the_others_are_replaced(
    pattern: str, by: Any, until: Any, *, live: bool
) -> None:
    graph = four_layers()
    editor = (
        tgw.edit(graph, session=v1.Session(graph=graph)) if live else tgw.edit(graph.as_graph_def())
    )
    before = editor._core.index.names
    report = editor.replace_all(pattern, by, until=until)
    assert [each.ops[-1] for each in report.replaced] == ["relu0", "relu2"]
    assert [each.ops[-1] for each in report.skipped] == ["relu1", "relu3"]
    assert all(
        "cannot take" in each.why and each.why.startswith("'relu") for each in report.skipped
    )
    assert "replaced 2 of 4 matches" in str(report)
    feeds = {"x:0": np.ones((2, 4), np.float32)}
    assert np.shape(editor.session.run("y1:0", feeds)) == (2, 1)
    assert len(editor.history.done) == 1
    editor.undo()
    assert editor._core.index.names == before
    editor.redo()
    assert editor.ops(type="Relu").ops == ("relu1", "relu3")


def test_a_wrong_shape_at_every_match_is_refused_and_nothing_changes() -> None:
    editor = tgw.edit(four_layers().as_graph_def())
    before = [node.SerializeToString() for node in editor._core.index.nodes]
    says_nothing(
        editor.replace_all(
            "Relu(x)", "L2Loss(x)", where=lambda match: match.outputs[0] in ("relu1:0", "relu3:0")
        ),
        r"No match is replaced\.\nnot replaced: 'relu1:0': Op .* cannot take ",
    )
    assert [node.SerializeToString() for node in editor._core.index.nodes] == before
    assert not editor.history.done


def test_a_function_that_returns_nothing_is_refused() -> None:
    editor = tgw.edit(four_layers().as_graph_def())
    with pytest.raises(GraphEditError, match="the replacement returns None; let it return"):
        editor.replace_all("Relu(x)", lambda x: None)  # noqa: ARG005
    assert not editor.history.done


def test_functions_of_a_replacement_have_the_same_names_in_each_process(tmp_path: Path) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    names, files = [], []
    for traced_before in range(2):
        for _ in range(traced_before):  # TensorFlow numbers functions by what was traced before
            tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([]))
        square = tf.function(lambda x: x * x)

        def by(x: tf.Tensor, square: Any = square) -> Any:
            return tf.while_loop(lambda k, _: k < 3, lambda k, y: (k + 1, square(y)), (0, x))[1]

        editor = tgw.edit(path)
        assert editor.replace_all("Relu(x)", by)
        files.append(editor.save(tmp_path / f"{traced_before}.pb"))
        names.append(sorted(editor._core.index.functions))
    assert names[0] == names[1]
    assert len(names[0]) == 3  # the body of the loop, its condition and the function, for both ops
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not tgw.edit(files[1]).diff(files[0])


def test_a_pattern_that_names_no_input_is_refused_with_one_that_does() -> None:
    editor = tgw.example()
    with pytest.raises(GraphEditError, match=r"name the inputs in the pattern .* 'Relu\(x\)'"):
        editor.replace_all("Relu", "Elu")
    assert not editor.history


@pytest.mark.parametrize("outside", [True, False])
def test_matches_in_functions_that_are_left_alone_are_said(*, outside: bool) -> None:
    """A loop of TensorFlow 2 is a function, though a frozen graph is flat otherwise."""

    def build(x: tf.Tensor) -> tf.Tensor:
        y = tf.tanh(x) if outside else x
        loop = tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, tf.tanh(t)), [0, y])
        return tf.identity(loop[1], "y")

    editor = tgw.edit(graph_of(build))
    done = editor.replace_all("Tanh(x)", "Neg(x)")
    assert bool(done) == outside
    (note,) = [note for note in done.notes if "left alone" in note]
    assert re.fullmatch(
        r"1 match in '\w+', which ops call, is left alone; .*functions=True.*", note
    )
    everywhere = editor.replace_all("Tanh(x)", "Neg(x)", functions=True)
    assert len(everywhere.replaced) == 1
    assert not any("left alone" in note for note in everywhere.notes)
    with v1.Session(graph=editor.graph) as session:
        x = np.float32([[0.5, -2.0]])
        assert np.array_equal(session.run("y:0", {"x:0": x}), x if outside else -x)
