"""Each rule on a graph that has what it looks for, and on one that has not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.lint.linter import load_rules
from tfgraphwidget.lint.rule import RULES


def graph_of(build: Callable[[Any], Any], shape: Any = (None, 4)) -> tgw.GraphEditor:
    """x → w → `build` → out, with a session."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, shape, "x")
        tf.identity(build(x), "out")
        session = v1.Session(config=v1.ConfigProto(allow_soft_placement=True))
        session.run(v1.global_variables_initializer())
    return tgw.edit(graph, session=session)


def dense(x: Any) -> Any:
    w = v1.get_variable("w", [4, 3], initializer=v1.initializers.random_uniform(seed=1), use_resource=True)
    return tf.matmul(x, w)


def dense_with(value: Any) -> Callable[[Any], Any]:
    def build(x: Any) -> Any:
        return tf.matmul(x, tf.constant(value, name="weights"))

    return build


def trained(x: Any) -> Any:
    y = dense(x)
    v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(y), name="train")
    return y


def pinned(x: Any) -> Any:
    with tf.device("/device:GPU:7"):
        return tf.nn.relu(x)


def with_spare_variable(x: Any) -> Any:
    v1.get_variable("spare", [2], use_resource=True)
    return dense(x)


def with_dropout(x: Any) -> Any:
    return v1.nn.dropout(dense(x), rate=0.5, name="dropout")


def doubled(x: Any) -> Any:
    value = np.arange(4 * 512, dtype=np.float32).reshape(4, 512)
    return tf.matmul(x, tf.constant(value, name="a")) + tf.matmul(x, tf.constant(value, name="b"))


def in_float64(x: Any) -> Any:
    y = tf.cast(tf.sqrt(tf.cast(tf.nn.relu(x), tf.float64)), tf.float32)
    for _ in range(5):
        y = tf.nn.relu(y)
    return y


def watched(x: Any) -> Any:
    with tf.control_dependencies([v1.debugging.assert_less(tf.reduce_sum(x), 1e9, name="small")]):
        return tf.nn.relu(x)


def called_in_python(x: Any) -> Any:
    return tf.reshape(v1.py_func(np.tanh, [x], tf.float32, name="tanh"), [-1, 4])


def rows_of_eight(x: Any) -> Any:
    return tf.reshape(dense(x), [8, 3])


HUGE = np.zeros((4, 3 << 20), np.float32)
FOUND: dict[str, tuple[Callable[[], tgw.GraphEditor], str]] = {
    "training-ops": (lambda: graph_of(trained), "train/update_w/ResourceApplyGradientDescent"),
    "dropout": (lambda: graph_of(with_dropout), "dropout/random_uniform"),
    "asserts": (lambda: graph_of(watched), "small/"),
    "python-calls": (lambda: graph_of(called_in_python), "tanh"),
    "batch-size": (lambda: graph_of(rows_of_eight, (8, 4)), "x"),
    "unknown-shape": (lambda: graph_of(tf.nn.relu, None), "x"),
    "unused-variables": (lambda: graph_of(with_spare_variable), "spare"),
    "not-finite": (lambda: graph_of(dense_with(np.array([[1.0], [np.nan], [np.inf], [0.0]], np.float32))), "weights"),
    "duplicate-weights": (lambda: graph_of(doubled), "a"),
    "huge-constants": (lambda: graph_of(dense_with(HUGE)), "weights"),
    "float64": (lambda: graph_of(in_float64), "Sqrt"),
    "missing-devices": (lambda: graph_of(pinned), "Relu"),
    "unknown-ops": (lambda: tgw.edit(with_unknown_op()), "strange"),
}  # fmt: skip

FIXED = {"training-ops", "dropout", "asserts", "batch-size", "unused-variables", "missing-devices"}


def with_unknown_op() -> Any:
    message = v1.GraphDef()
    node = message.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    message.node.add(name="strange", op="OpOfAnotherLibrary", input=["x"])
    return message


@pytest.mark.parametrize("code", FOUND)
def test_a_rule_finds_what_it_looks_for_and_its_fix_takes_it_away(code: str) -> None:
    build, name = FOUND[code]
    editor = build()
    before = editor.index
    report = editor.lint(only=[code])
    assert [finding.code for finding in report] == [code] * len(report) != []
    assert any(op.startswith(name) for op in report.ops), report
    assert editor.index is before, "linting changes nothing"
    fixes = report.fixes
    for fix in fixes:
        editor.edit(fix)
    if fixes:
        assert not editor.lint(only=[code])
    assert (code in FIXED) == bool(fixes)


def test_nothing_is_found_in_a_graph_for_inference() -> None:
    assert repr(graph_of(dense).lint("cpu")) == "<Report: nothing found>"


def test_a_baked_batch_size_names_the_constants_that_hold_it() -> None:
    finding = graph_of(rows_of_eight, (8, 4)).lint(only=["batch-size"])[0]
    assert "Reshape/shape" in finding.ops
    assert finding.fix is not None
    assert finding.fix.code() == 'editor.replace_input(tensor="x:0", shape=[None, 4], fix=True)'


def test_a_batch_size_in_a_constant_of_which_nobody_knows_another_value_has_no_fix() -> None:
    finding = graph_of(lambda x: x * tf.constant(np.ones([8, 1], np.float32)), (8, 4)).lint(only=["batch-size"])[0]
    assert finding.fix is None
    assert len(finding.ops) == 2


def test_many_types_are_listed_once() -> None:
    def build(x: Any) -> Any:
        for function in (tf.math.lgamma, tf.math.digamma, tf.math.erfinv, tf.math.bessel_i0e, tf.math.ndtri):
            x = function(x)
        return x

    finding = graph_of(build).lint("tflite", only=["no-kernel"])[0]
    assert finding.sentence.count(" more") == 1


def test_a_signature_that_needs_what_it_does_not_take_is_an_error() -> None:
    editor = tgw.example()
    editor.add_signature("loss", inputs=["x"], outputs=["loss"])
    findings = editor.lint(only=["signature-ends"])
    assert [finding.severity for finding in findings] == ["error"]
    assert findings[0].ops == ("labels",)


@pytest.mark.parametrize(
    ("target", "op_type"), [("tflite", "MatrixInverse"), ("onnx", "MatrixInverse"), ("cpu", "CollectiveReduce")]
)
def test_ops_that_a_target_lacks_are_found(target: Any, op_type: str) -> None:
    editor = graph_of(lambda x: tf.linalg.inv(tf.matmul(x, x, transpose_a=True)))
    report = editor.lint(target, only=["no-kernel"])
    if target == "cpu":
        assert not report
    else:
        assert [editor.index.types[editor.index.ids[name]] for name in report.ops] == [op_type]


def test_a_code_that_there_is_not_is_refused_and_a_rule_can_be_left_out() -> None:
    editor = tgw.example()
    with pytest.raises(UnknownName, match="Did you mean 'training-ops'"):
        editor.lint(only=["training-op"])
    assert "training-ops" not in {finding.code for finding in editor.lint(never="training-ops")}


def test_every_rule_has_a_sentence_and_a_test() -> None:
    load_rules()
    assert all(rule.about.endswith(".") or ":" in rule.about or "," in rule.about for rule in RULES.values())
    assert RULES.keys() - FOUND.keys() == {"no-kernel", "signature-ends"}


def test_function_bodies_and_files_are_linted_too(tmp_path: Path) -> None:
    graph_of(trained).save(tmp_path / "graph.pb")
    assert tgw.edit(str(tmp_path / "graph.pb")).lint(only="training-ops")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def random(x: Any) -> Any:
        return x + tf.random.uniform([4])

    assert [finding.code for finding in tgw.edit(random).lint()] == ["dropout"]
