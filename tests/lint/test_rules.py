"""Each rule on a graph that has what it looks for, and on one that has not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.edits import RemoveSignature
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.lint.linter import load_rules
from tfgraphwidget.lint.rule import RULES
from tfgraphwidget.lint.structure import BROKEN


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
    w = v1.get_variable(
        "w", [4, 3], initializer=v1.initializers.random_uniform(seed=1), use_resource=True
    )
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
NOT_FINITE = np.array([[1.0], [np.nan], [np.inf], [0.0]], np.float32)
FOUND: dict[str, tuple[Callable[[], tgw.GraphEditor], str]] = {
    "training-ops": (lambda: graph_of(trained), "train/update_w/ResourceApplyGradientDescent"),
    "dropout": (lambda: graph_of(with_dropout), "dropout/random_uniform"),
    "asserts": (lambda: graph_of(watched), "small/"),
    "python-calls": (lambda: graph_of(called_in_python), "tanh"),
    "batch-size": (lambda: graph_of(rows_of_eight, (8, 4)), "x"),
    "unknown-shape": (lambda: graph_of(tf.nn.relu, None), "x"),
    "unused-variables": (lambda: graph_of(with_spare_variable), "spare"),
    "not-finite": (lambda: graph_of(dense_with(NOT_FINITE)), "weights"),
    "duplicate-weights": (lambda: graph_of(doubled), "a"),
    "huge-constants": (lambda: graph_of(lambda x: dense(x)[0, 0] + dense_with(HUGE)(x)), "weights"),
    "float64": (lambda: graph_of(in_float64), "Sqrt"),
    "missing-devices": (lambda: graph_of(pinned), "Relu"),
    "unknown-ops": (lambda: tgw.edit(with_unknown_op()), "strange"),
}  # fmt: skip

FIXED = {"training-ops", "dropout", "asserts", "batch-size", "unused-variables", "missing-devices"}


def slots(x: Any) -> Any:
    y = dense(x)
    v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(y), name="train")
    return y


def checked_and_printed(x: Any) -> Any:
    """One check that hands its input on, and one that others wait for; one print of each kind."""
    with tf.control_dependencies(
        [
            v1.debugging.assert_less(tf.reduce_sum(x), 1e9),
            tf.raw_ops.PrintV2(input=tf.constant("x")),
        ]
    ):
        y = tf.raw_ops.Print(input=tf.nn.relu(x), data=[x])
    return tf.debugging.check_numerics(tf.exp(tf.debugging.check_numerics(y, "bad")), "worse")


def checked_in_a_loop(x: Any) -> Any:
    """In the loop is a constant that is there only because it waits for the check."""

    def body(i: Any, y: Any) -> Any:
        with tf.control_dependencies([v1.debugging.Assert(tf.reduce_all(y > -1e9), [y])]):
            return i + 1, y + tf.constant(1.0, name="step")

    v1.disable_control_flow_v2()
    try:
        return v1.while_loop(lambda i, _: i < 3, body, [0, x])[1]
    finally:
        v1.enable_control_flow_v2()


def with_fed_rate(x: Any) -> Any:
    rate = v1.placeholder_with_default(0.0, [], "rate")
    return v1.nn.dropout(dense(x), rate=rate, name="dropout")


def zeros(x: Any) -> Any:
    for _ in range(2):
        x = tf.matmul(x, v1.get_variable(f"w{x.op.name}", [4, 4], use_resource=True)) + tf.tile(
            tf.constant(np.zeros((1, 4), np.float32)), [1, 1]
        )
    a, b = (tf.constant(np.zeros((4, 512), np.float32)) for _ in range(2))
    return tf.matmul(x, a) + tf.matmul(x, b)


def on_cpu(x: Any) -> Any:
    with tf.device("/device:CPU:0"):
        return tf.nn.relu(x)


NOT_FOUND: dict[str, tuple[str, Callable[[], tgw.GraphEditor]]] = {
    "a batch of any size": ("batch-size", lambda: graph_of(dense)),
    "a vector that is not a batch": ("batch-size", lambda: graph_of(tf.nn.relu, (4,))),
    "a shape of unknown sizes": ("unknown-shape", lambda: graph_of(tf.nn.relu, (None, None))),
    "zeros of an untrained network": ("duplicate-weights", lambda: graph_of(zeros)),
    "a frozen weight of 48 MB": ("huge-constants", lambda: graph_of(dense_with(HUGE))),
    "float64 throughout": (
        "float64",
        lambda: graph_of(lambda x: tf.sqrt(tf.exp(tf.cast(x, tf.float64)))),
    ),
    "the -inf of a mask": ("not-finite", lambda: graph_of(lambda x: x + tf.constant(-np.inf))),
    "random initial values": ("dropout", lambda: graph_of(dense)),
    "a device that is here": ("missing-devices", lambda: graph_of(on_cpu)),
    "a check of training alone": ("asserts", lambda: graph_of(lambda x: (watched(x), dense(x))[1])),
    "a call that no output needs": (
        "python-calls",
        lambda: graph_of(lambda x: (called_in_python(x).op, dense(x))[1]),
    ),
    "a variable that is read": ("unused-variables", lambda: graph_of(dense)),
    "no optimizer": ("training-ops", lambda: graph_of(with_dropout)),
}


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
    before = editor._core.index
    report = editor.lint(only=[code])
    assert [finding.code for finding in report] == [code] * len(report) != []
    assert any(op.startswith(name) for op in report.ops), report
    assert editor._core.index is before, "linting changes nothing"
    fixes = report.fixes
    for fix in fixes:
        editor.apply(fix)
    if fixes:
        assert not editor.lint(only=[code])
    assert (code in FIXED) == bool(fixes)


@pytest.mark.parametrize("what", NOT_FOUND)
def test_a_rule_finds_nothing_in_what_is_as_it_should_be(what: str) -> None:
    code, build = NOT_FOUND[what]
    editor = build()
    if what in ("a check of training alone", "a call that no output needs"):
        editor.signatures.add("serve", inputs=["x"], outputs=["out"])
    assert not editor.lint(only=[code])


@pytest.mark.parametrize("build", [checked_and_printed, checked_in_a_loop])
def test_checks_and_prints_go_wherever_they_stand_and_the_results_stay(
    build: Callable[[Any], Any],
) -> None:
    editor = graph_of(build)
    feeds = {"x:0": np.ones((2, 4), np.float32)}
    before = editor.session.run("out:0", feeds)
    report = editor.lint(only="asserts")
    assert len(report) == (3 if build is checked_and_printed else 1)
    for finding in report:
        assert finding.fix is not None, finding
        editor.apply(finding.fix)
    assert not editor.lint(only="asserts")
    np.testing.assert_array_equal(editor.session.run("out:0", feeds), before)


def test_a_conditional_that_computes_and_asserts_is_not_bypassed() -> None:
    def build(x: Any) -> Any:
        def positive() -> Any:
            with tf.control_dependencies(
                [tf.raw_ops.Assert(condition=tf.reduce_all(x > 0), data=[x])]
            ):
                return x * 2.0

        return tf.cond(tf.reduce_sum(x) > 0, positive, lambda: x)

    findings = graph_of(build).lint(only="asserts")
    assert len(findings) == 1
    assert findings[0].fix is None


def test_the_slots_of_an_optimizer_go_with_it() -> None:
    editor = graph_of(slots)
    report = editor.lint()
    assert {finding.code for finding in report} == {"training-ops", "unused-variables"}
    assert len(report.fixes) == 1, "both have the same fix"
    editor.apply(report.of("unused-variables")[0].fix)
    assert not editor.lint()


def test_a_dropout_that_is_turned_off_by_what_is_fed_is_not_said_to_be_active() -> None:
    finding = graph_of(with_fed_rate).lint(only="dropout")[0]
    assert finding.sentence.startswith("Whether dropout 'dropout' is active depends on 'rate'")
    assert finding.fix is not None


def test_labels_next_to_a_batch_are_a_batch() -> None:
    editor = graph_of(
        lambda x: x * tf.expand_dims(v1.placeholder(tf.float32, [8], "labels"), 1), (8, 4)
    )
    assert [finding.ops[0] for finding in editor.lint(only="batch-size")] == ["x", "labels"]


def test_a_shape_or_a_summary_is_no_output_of_a_graph_that_computes_something() -> None:
    def build(x: Any) -> Any:
        v1.summary.scalar("mean", tf.reduce_mean(x))
        tf.shape(x)
        return dense(x)

    outputs = [
        line for line in repr(graph_of(build).inspect()).splitlines() if line.startswith("output")
    ]
    assert len(outputs) == 1, outputs


def test_nothing_is_found_in_a_graph_for_inference() -> None:
    assert repr(graph_of(dense).lint("cpu")) == "<Report: nothing found>"


def test_a_baked_batch_size_names_the_constants_that_hold_it() -> None:
    finding = graph_of(rows_of_eight, (8, 4)).lint(only=["batch-size"])[0]
    assert "Reshape/shape" in finding.ops
    assert finding.fix is not None
    assert finding.fix.code() == 'editor.passes.set_input(tensor="x:0", shape=[None, 4], fix=True)'


def test_a_batch_size_in_a_constant_of_which_no_one_knows_another_value_has_no_fix() -> None:
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)
    finding = graph_of(lambda x: x * tf.constant(rows), (8, 4)).lint(only=["batch-size"])[0]
    assert finding.fix is None
    assert len(finding.ops) == 2


def test_many_types_are_listed_once() -> None:
    def build(x: Any) -> Any:
        for function in (
            tf.math.lgamma,
            tf.math.digamma,
            tf.math.erfinv,
            tf.math.bessel_i0e,
            tf.math.ndtri,
        ):
            x = function(x)
        return x

    finding = graph_of(build).lint("tflite", only=["no-kernel"])[0]
    assert finding.sentence.count(" more") == 1


def test_a_signature_that_needs_what_it_does_not_take_is_an_error() -> None:
    editor = tgw.example()
    editor.signatures.add("loss", inputs=["x"], outputs=["loss"])
    findings = editor.lint(only=["signature-boundary"])
    assert [finding.severity for finding in findings] == ["error"]
    assert findings[0].ops == ("labels",)


def two_ways_in() -> Any:
    """A GraphDef: examples → parse → y → z, where `z` waits for `seen`, and `parse` waits for
    `labels`.
    """
    with tf.Graph().as_default() as graph:
        examples, labels = (
            v1.placeholder(tf.float32, [2], name) for name in ("examples", "labels")
        )
        with tf.control_dependencies([labels]):
            parse = tf.negative(examples, "parse")
        with tf.control_dependencies([v1.placeholder(tf.float32, [2], "seen")]):
            tf.add(tf.square(parse, "y"), 1.0, "z")
    return graph.as_graph_def()


@pytest.mark.parametrize(
    ("inputs", "outputs", "found"),
    [
        (["parse:0", "seen:0"], ["z:0"], []),
        (["y:0", "seen:0"], ["z:0"], []),
        (["examples:0", "labels:0", "seen:0"], ["z:0"], []),
        (["parse:0"], ["parse:0"], []),
        (["parse:0"], ["z:0"], [("error", "seen")]),
        (["examples:0", "seen:0"], ["z:0"], [("error", "labels")]),
        (["examples:0", "parse:0", "seen:0"], ["z:0"], [("warning", "examples")]),
        (["parse:0", "y:0"], ["y:0"], [("warning", "parse")]),
    ],
)
def test_what_lies_after_a_tensor_that_a_signature_feeds_is_not_needed(
    inputs: list[str], outputs: list[str], found: list[tuple[str, str]]
) -> None:
    meta = v1.MetaGraphDef(graph_def=two_ways_in())
    for side, tensors in (("inputs", inputs), ("outputs", outputs)):
        for tensor in tensors:
            getattr(meta.signature_def["call"], side)[tensor.partition(":")[0]].name = tensor
    findings = tgw.edit(meta).lint(only="signature-boundary")
    assert [(finding.severity, *finding.ops) for finding in findings] == found


def test_a_signature_that_takes_a_tensor_twice_is_an_error() -> None:
    meta = v1.MetaGraphDef(graph_def=graph_of(dense).graph.as_graph_def())
    ends = meta.signature_def["twice"]
    for key, side, tensor in (
        ("a", ends.inputs, "x:0"),
        ("b", ends.inputs, "x:0"),
        ("c", ends.outputs, "out:0"),
    ):
        side[key].name = tensor
    editor = tgw.edit(meta)
    (finding,) = editor.lint(only="signature-boundary")
    assert (finding.severity, finding.ops) == ("error", ("x",))
    assert "takes 'x:0' as 'a' and 'b'" in finding.sentence


def with_missing_ends(meta: Any) -> dict[str, str]:
    """Give the one signature of a MetaGraphDef companions that name what its graph does not have;
    what they name.
    """
    (name,) = (name for name in meta.signature_def if not name.startswith("__"))
    end = next(iter(meta.signature_def[name].outputs.values())).name.partition(":")[0]
    missing = {"gone": "gone:0", "port": f"{end}:3"}
    for signature, tensor in missing.items():
        meta.signature_def[signature].CopyFrom(meta.signature_def[name])
        next(iter(meta.signature_def[signature].outputs.values())).name = tensor
    return missing


@pytest.mark.parametrize("kind", ["meta", "TF1 SavedModel", "TF2 SavedModel"])
def test_ends_that_do_not_exist_are_found_and_their_signatures_removed_from_the_file(
    kind: str, tmp_path: Path
) -> None:
    path: Path = tmp_path / "m"
    if kind == "TF2 SavedModel":
        spec = tf.TensorSpec([None, 4], tf.float32, "x")
        tf.saved_model.save(
            tf.Module(), path, tf.function(lambda x: {"y": tf.nn.relu(x)}, input_signature=[spec])
        )
    else:
        editor = graph_of(dense)
        editor.signatures.add("serve", inputs=["x"], outputs=["out"])
        path = editor.save(tmp_path / "m.meta" if kind == "meta" else f"{path}/")
    file = path / "saved_model.pb" if path.is_dir() else path
    message: Any = saved_model_pb2.SavedModel() if path.is_dir() else v1.MetaGraphDef()
    message.ParseFromString(file.read_bytes())
    missing = with_missing_ends(message.meta_graphs[0] if path.is_dir() else message)
    file.write_bytes(message.SerializeToString())

    editor = tgw.edit(path) if path.is_dir() else tgw.edit(path, checkpoint=path.with_suffix(""))
    report = editor.lint(only="missing-tensors")
    assert [finding.severity for finding in report] == ["error", "error"]
    for (name, tensor), finding in zip(missing.items(), report, strict=True):
        assert (
            finding.sentence
            == f"Signature {name!r} names {tensor!r}, which the graph does not have."
        )
        assert finding.fix == RemoveSignature(name)
    assert [
        sum(tensor in notice for notice in editor.source.notices) for tensor in missing.values()
    ] == [1, 1]
    for fix in report.fixes:
        editor.apply(fix)
    assert not editor.lint(only="missing-tensors")
    editor.undo()
    assert editor.lint(only="missing-tensors").fixes == report.fixes[1:]
    editor.redo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = editor.save(tmp_path / "again.meta" if kind == "meta" else f"{tmp_path}/again/")
    assert not tgw.edit(again).lint(only="missing-tensors")
    assert [signature.name for signature in tuple(tgw.edit(again).signatures.values())] == [
        s.name for s in tuple(editor.signatures.values())
    ]


@pytest.mark.parametrize(
    ("target", "op_types"),
    [("tflite", ["MatrixInverse"]), ("onnx", ["MatrixInverse"]), ("cpu", [])],
)
def test_ops_that_a_target_lacks_are_found(target: Any, op_types: list[str]) -> None:
    editor = graph_of(lambda x: tf.linalg.inv(tf.matmul(x, x, transpose_a=True)))
    report = editor.lint(target, only=["no-kernel"])
    assert [
        editor._core.index.types[editor._core.index.ids[name]] for name in report.ops
    ] == op_types


def test_an_op_without_a_kernel_on_a_cpu_is_found() -> None:
    """NcclAllReduce reduces among graphics cards."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        tf.nn.relu(
            tf.raw_ops.NcclAllReduce(input=x, reduction="sum", num_devices=1, shared_name="all"),
            name="out",
        )
    editor = tgw.edit(graph)
    (finding,) = editor.lint("cpu", only=["no-kernel"])
    assert (finding.severity, finding.ops) == ("error", ("NcclAllReduce",))
    assert "'NcclAllReduce', which TensorFlow has no kernel for on a CPU" in finding.sentence
    assert not editor.lint(only=["no-kernel"])


def test_a_code_that_there_is_not_is_refused_and_a_rule_can_be_left_out() -> None:
    editor = tgw.example()
    with pytest.raises(UnknownName, match="did you mean 'training-ops'"):
        editor.lint(only=["training-op"])
    assert "training-ops" not in {finding.code for finding in editor.lint(never="training-ops")}


def test_every_rule_has_a_sentence_and_a_test() -> None:
    load_rules()
    assert all(
        rule.about.endswith(".") or ":" in rule.about or "," in rule.about
        for rule in RULES.values()
    )
    assert RULES.keys() - FOUND.keys() == {
        *("no-kernel", "signature-boundary", "missing-tensors", "untrusted"),
        *BROKEN,  # tests/sources/test_broken_graphs.py
    }


def test_function_bodies_and_files_are_linted_too(tmp_path: Path) -> None:
    graph_of(trained).save(tmp_path / "graph.pb")
    assert tgw.edit(str(tmp_path / "graph.pb")).lint(only="training-ops")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def random(x: Any) -> Any:
        return x + tf.random.uniform([4])

    assert [finding.code for finding in tgw.edit(random).lint()] == ["dropout"]
