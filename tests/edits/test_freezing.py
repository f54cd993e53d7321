"""Freeze, strip, fold, extract: less of a graph, and what it computes stays the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, build_mlp, fill, initialised, v1
from tests.nothing import says_nothing
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.freeze import results
from tfgraphwidget.errors import GraphEditError, SessionRefused

rng = np.random.default_rng(0)
BATCH = rng.normal(size=(5, 3)).astype(np.float32)


@pytest.fixture
def trained(mlp: tf.Graph) -> tuple[tf.Graph, v1.Session]:
    """The mlp with an optimiser, a saver and a summary, trained a little."""
    with mlp.as_default():
        loss = tf.reduce_mean(tf.square(mlp.get_tensor_by_name("net/logits:0") - 1), name="loss")
        step = v1.train.AdamOptimizer(0.1).minimize(loss, name="step")
        v1.summary.scalar("told", loss)
        v1.train.Saver()
    session = initialised(mlp)
    for _ in range(3):
        session.run(step, {"x:0": BATCH})
    return mlp, session


def types(editor: GraphEditor) -> set[str]:
    return set(editor._core.index.types)


def run(graph_def: Any, output: str, feeds: dict[str, Any]) -> Any:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(output, feeds)


def saved(editor: GraphEditor, folder: Path) -> Any:
    return v1.GraphDef.FromString(editor.save(folder / "saved.pb").read_bytes())


def test_a_file_run_without_its_checkpoint_is_not_frozen_and_the_error_says_how_to_open_it(
    trained: tuple[tf.Graph, v1.Session], tmp_path: Path
) -> None:
    graph, session = trained
    tgw.edit(graph, session=session).save(tmp_path / "model.meta")
    editor = tgw.edit(tmp_path / "model.meta")
    for _ in range(2):
        with pytest.raises(SessionRefused, match=r"comes without values.*checkpoint="):
            editor.freeze("net/logits:0")
        assert editor.session.graph is editor.graph  # TensorFlow has imported it the second time
    again = tgw.edit(tmp_path / "model.meta", checkpoint=tmp_path / "model")
    again.freeze("net/logits:0")


def test_what_is_no_constant_yet_is_not_said_to_be_no_batch_normalization() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        is_training = v1.placeholder_with_default(False, [], name="is_training")
        ones = [
            v1.get_variable(name, [2], initializer=v1.ones_initializer())
            for name in ("m", "v", "b", "g")
        ]
        y = tf.matmul(x, v1.get_variable("w", [3, 2], initializer=v1.ones_initializer()))
        mean, variance = tf.cond(
            is_training, lambda: tuple(tf.nn.moments(y, [0])), lambda: (ones[0] + 0, ones[1] + 0)
        )
        tf.nn.batch_normalization(y, mean, variance, *ones[2:], 1e-3)
    editor = tgw.edit(graph, session=initialised(graph))
    says_nothing(
        editor.passes.fold_batch_norm(), "no batch normalization whose parameters are constants"
    )


def test_a_live_graph_is_frozen_and_thawed(
    trained: tuple[tf.Graph, v1.Session], tmp_path: Path
) -> None:
    graph, session = trained
    before = session.run("net/logits:0", {"x:0": BATCH})
    editor = tgw.edit(graph, session=session)
    names, members = list(editor._core.index.names), dict(editor._core.index.collections)
    report = editor.freeze("net/logits:0")
    assert not any("Var" in kind or "Apply" in kind for kind in types(editor))
    assert len(report.removed) > len(editor._core.index)
    assert np.array_equal(session.run("net/logits:0", {"x:0": BATCH}), before)
    assert np.array_equal(run(saved(editor, tmp_path), "net/logits:0", {"x:0": BATCH}), before)
    assert not any(
        member.kind == "variable"
        for held in editor._core.index.collections.values()
        for member in held
    )
    editor.undo()
    assert list(editor._core.index.names) == names
    assert {k: sorted(v) for k, v in editor._core.index.collections.items() if v} == {
        k: sorted(v) for k, v in members.items() if v
    }
    session.run("step", {"x:0": BATCH})
    assert not np.array_equal(session.run("net/logits:0", {"x:0": BATCH}), before)


def test_a_file_with_its_checkpoint_is_frozen_without_being_changed(
    trained: tuple[tf.Graph, v1.Session], tmp_path: Path
) -> None:
    graph, session = trained
    before = session.run("net/logits:0", {"x:0": BATCH})
    with graph.as_default():
        v1.train.Saver(name="other").save(session, str(tmp_path / "m"))
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    index = editor._core.index
    editor.freeze("net/logits")
    assert "net/one/w" in editor._core.index.ids
    assert editor._core.index.types[editor._core.index.op("net/one/w")] == "Const"
    assert np.array_equal(run(saved(editor, tmp_path), "net/logits:0", {"x:0": BATCH}), before)
    editor.undo()
    assert editor._core.index is index


def test_a_frozen_file_goes_on_in_tensorflow_and_thaws_there(
    trained: tuple[tf.Graph, v1.Session], tmp_path: Path
) -> None:
    graph, session = trained
    before = session.run("net/logits:0", {"x:0": BATCH})
    with graph.as_default():
        v1.train.Saver(name="other").save(session, str(tmp_path / "m"))
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    editor.freeze("net/logits")
    copy = editor.clone("x:0", "net/logits:0", "copy")
    assert not copy.variables
    assert np.array_equal(editor.session.run(copy["net/logits:0"], {"x:0": BATCH}), before)
    editor.undo()
    editor.undo()
    assert any("Var" in kind for kind in types(editor))
    assert np.array_equal(editor.session.run("net/logits:0", {"x:0": BATCH}), before)


def test_what_is_wanted_is_found_without_being_named(trained: tuple[tf.Graph, v1.Session]) -> None:
    graph, session = trained
    editor = tgw.edit(graph, session=session)
    editor.passes.strip_training()
    assert not any("Apply" in kind or kind in ("SaveV2", "RestoreV2") for kind in types(editor))
    assert {"loss", "net/logits"} <= set(editor._core.index.ids)
    assert not [
        name for name in editor._core.index.names if "Adam" in name or name.startswith("gradients")
    ]


def test_an_updated_variable_and_the_counter_of_a_loop_are_not_taken_for_results(
    tmp_path: Path,
) -> None:
    v1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        mean = v1.get_variable("mean", [4], use_resource=True)
        v1.assign(mean, tf.reduce_mean(x, 0), name="update")
        y = tf.while_loop(
            lambda i, _: i < 3, lambda i, h: (i + 1, h * 2), [0, x - mean], name="loop"
        )[1]
        tf.tanh(y, name="y")
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert results(tgw.edit(tmp_path / "g.pb")._core.index) == ("loop/Identity_2", "y")


def test_what_a_conditional_with_a_dropout_reads_is_no_result_of_a_graph_that_trains() -> None:
    v1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        hidden = tf.nn.relu(x * v1.get_variable("v", [3]), name="hidden")
        training = v1.placeholder_with_default(False, [])
        passed = tf.cond(training, lambda: tf.nn.dropout(hidden, 0.5), lambda: hidden)
        loss = tf.reduce_mean(passed * v1.get_variable("w", [3]), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    assert "If" in {op.type for op in graph.get_operations()}
    assert results(tgw.edit(graph)._core.index) == ("loss",)


def test_what_a_dynamic_rnn_counts_is_no_result_and_a_loss_that_is_reported_is_one() -> None:
    """As TensorFlow 1 writes it, whose loop is not in TensorFlow any more."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            lengths = v1.placeholder(tf.int32, [None], name="lengths")
            tf.fill([tf.expand_dims(tf.shape(x)[0] + 1, 0)[0], 2], 0.0, name="zero_state")
            tf.reduce_min(lengths, name="rnn/Min")
            longest = tf.reduce_max(lengths, name="rnn/Max")
            scale = v1.get_variable("scale", [4], use_resource=True)
            _, _, y = v1.while_loop(
                lambda counter, *_: counter < longest,
                lambda counter, time, h: (counter + 1, 1 + time, h * scale),
                [0, 0, x],
                name="rnn/while",
            )
            loss = tf.reduce_mean(y, name="loss")
            v1.train.GradientDescentOptimizer(0.1).minimize(loss)
            v1.summary.scalar("report", loss)
            v1.summary.scalar("of_weights", tf.reduce_mean(scale))
            tf.add(tf.reduce_sum(lengths), 1, name="total")  # whole numbers may be results
    finally:
        v1.enable_control_flow_v2()
    for graph_like in (graph, graph.as_graph_def()):
        assert set(results(tgw.edit(graph_like)._core.index)) == {"loss", "total"}


def test_stripping_keeps_variables_and_what_initialises_them(
    trained: tuple[tf.Graph, v1.Session],
) -> None:
    graph, session = trained
    before = session.run("net/logits:0", {"x:0": BATCH})
    editor = tgw.edit(graph, session=session)
    editor.passes.strip_training("net/logits:0")
    assert "loss" not in editor._core.index.ids
    assert {v.name for v in graph.get_collection("trainable_variables")} == {
        f"net/{layer}/{part}:0" for layer in ("one", "two") for part in "wb"
    }
    assert np.array_equal(session.run("net/logits:0", {"x:0": BATCH}), before)
    with graph.as_default():
        session.run(v1.global_variables_initializer())
    editor.undo()
    session.run("step", {"x:0": BATCH})


def test_freezing_needs_values(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    with pytest.raises(SessionRefused, match="session"):
        editor.freeze("net/logits:0")
    with v1.Session(graph=mlp) as session, pytest.raises(SessionRefused, match="no value"):
        tgw.edit(mlp, session=session).freeze("net/logits:0")
    assert not editor.history.done


@pytest.mark.parametrize(
    ("outputs", "inputs"), [("x", ()), ("x:0", ()), ("net/one/out:0", "net/one/out:0")]
)
@pytest.mark.sample(2)
def test_a_graph_that_would_compute_nothing_is_refused(
    mlp: tf.Graph, outputs: str, inputs: Any, tmp_path: Path
) -> None:
    session = initialised(mlp)
    editor = tgw.edit(mlp, session=session)
    why = "is an input, which nothing computes, so no other op would be left; name the ops"
    with pytest.raises(GraphEditError, match=why) as refusal:
        editor.freeze(outputs, inputs)
    assert refusal.value.ops == (outputs.partition(":")[0],)
    with pytest.raises(GraphEditError, match=why):
        editor.save(tmp_path / "m.pb", inputs or None, outputs, frozen=True)
    if not inputs:
        with pytest.raises(GraphEditError, match=why):
            editor.passes.strip_training(outputs)
    assert not editor.history.done
    assert not list(tmp_path.iterdir())
    editor.freeze([outputs, "net/logits:0"], inputs)
    session.close()


def test_nothing_to_strip_is_said(line: tf.Graph) -> None:
    says_nothing(tgw.edit(line).passes.strip_training("c:0"), "needs every op of the graph")


# Batch normalisation


def normalised(
    kind: str, *, between: bool = False, data_format: str = "NHWC"
) -> tuple[Any, np.ndarray]:
    """A frozen convolution (or matrix product) and a batch normalisation after it, and something
    to feed.
    """
    c = 6
    numbers = [
        tf.constant(rng.uniform(0.5, 2, c).astype(np.float32), name=n)
        for n in ("scale", "mean", "variance")
    ]
    with tf.Graph().as_default() as graph:
        scale, mean, variance = (
            tf.constant(t.numpy(), name=n) for t, n in zip(numbers, ("g", "m", "v"), strict=True)
        )
        offset = tf.constant(rng.normal(size=c).astype(np.float32), name="o")
        if kind == "MatMul":
            x = v1.placeholder(tf.float32, [None, 3], name="x")
            y = tf.matmul(
                x, tf.constant(rng.normal(size=(3, c)).astype(np.float32), name="w"), name="conv"
            )
            feed = rng.normal(size=(4, 3))
        elif kind == "Depthwise":
            x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
            w = tf.constant(rng.normal(size=(3, 3, 3, 2)).astype(np.float32), name="w")
            y = tf.raw_ops.DepthwiseConv2dNative(
                input=x, filter=w, strides=[1, 1, 1, 1], padding="SAME", name="conv"
            )
            feed = rng.normal(size=(2, 8, 8, 3))
        else:
            x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
            w = tf.identity(
                tf.constant(rng.normal(size=(3, 3, 3, c)).astype(np.float32), name="w"),
                name="w/read",
            )
            y = tf.nn.conv2d(x, w, 2, "SAME", name="conv", data_format=data_format)
            feed = rng.normal(size=(2, 8, 8, 3))
        if between:
            y = tf.nn.bias_add(
                y, tf.constant(rng.normal(size=c).astype(np.float32), name="b"), name="bias"
            )
        if kind == "fused":
            y = v1.nn.fused_batch_norm(
                y, scale, offset, mean, variance, epsilon=0.01, is_training=False, name="bn"
            )[0]
        else:
            y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 0.01, name="bn")
        tf.identity(y, name="y")
    return graph.as_graph_def(), feed.astype(np.float32)


@pytest.mark.parametrize("kind", ["fused", "arithmetic", "Depthwise", "MatMul"])
@pytest.mark.parametrize("between", [False, True], ids=["", "bias"])
def test_a_batch_normalisation_goes_into_the_weights(
    kind: str, between: bool, tmp_path: Path
) -> None:
    graph_def, feed = normalised(kind, between=between)
    before = run(graph_def, "y:0", {"x:0": feed})
    editor = tgw.edit(graph_def)
    index = editor._core.index
    editor.passes.fold_batch_norm()
    on_the_way = {
        editor._core.index.types[editor._core.index.op(name)] for name in editor.downstream("x").ops
    }
    assert not on_the_way & {"FusedBatchNormV3", "FusedBatchNorm", "Mul"}
    after = run(saved(editor, tmp_path), "y:0", {"x:0": feed})
    assert np.allclose(after, before, atol=1e-4)
    assert not np.array_equal(after, 0 * after)
    editor.undo()
    assert editor._core.index is index


@pytest.mark.parametrize("is_live", [False, True])
def test_of_what_a_normalisation_leaves_out_the_defaults_are_meant(is_live: bool) -> None:
    graph_def, feed = normalised("fused", between=False)
    by_name = {node.name: node for node in graph_def.node}
    del by_name["conv"].attr["data_format"]
    del by_name["bn"].attr["epsilon"], by_name["bn"].attr["data_format"]
    variance = tf.make_ndarray(by_name["v"].attr["value"].tensor)
    by_name["v"].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(variance * 1e-6))
    given = v1.GraphDef()
    given.CopyFrom(graph_def)
    expected = run(given, "y:0", {"x:0": feed})
    editor = tgw.edit(graph_def)
    if is_live:
        assert editor.session
    editor.passes.fold_batch_norm()
    assert np.allclose(editor.session.run("y:0", {"x:0": feed}), expected, rtol=1e-3)
    del by_name["bn"].attr["is_training"]  # which is to train then
    training = tgw.edit(graph_def)
    before = [node.SerializeToString(deterministic=True) for node in training._core.index.nodes]
    for _ in range(2):
        says_nothing(training.passes.fold_batch_norm(), "it is in training mode")
    assert [
        node.SerializeToString(deterministic=True) for node in training._core.index.nodes
    ] == before


def test_folding_on_a_live_graph_is_seen_by_its_session() -> None:
    graph_def, feed = normalised("fused", between=True)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    with v1.Session(graph=graph) as session:
        before = session.run("y:0", {"x:0": feed})
        editor = tgw.edit(graph, session=session)
        editor.passes.fold_batch_norm()
        assert "FusedBatchNormV3" not in types(editor)
        assert np.allclose(session.run("y:0", {"x:0": feed}), before, atol=1e-4)
        editor.undo()
        assert np.array_equal(session.run("y:0", {"x:0": feed}), before)


def test_a_normalisation_that_cannot_be_folded_is_named() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        v1.nn.fused_batch_norm(
            x, tf.ones(3), tf.zeros(3), tf.zeros(3), tf.ones(3), is_training=False, name="bn"
        )
    says_nothing(tgw.edit(graph).passes.fold_batch_norm(), r"'bn' cannot be folded: 'x'")
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        v1.nn.fused_batch_norm(x, tf.ones(3), tf.zeros(3), name="bn")
    says_nothing(tgw.edit(graph).passes.fold_batch_norm(), "training mode")
    says_nothing(tgw.edit(tf.Graph()).passes.fold_batch_norm(), "no batch normalization")


def test_a_normalisation_whose_scale_can_be_fed_is_not_folded_with_the_default() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        y = tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv")
        scale = v1.placeholder_with_default(np.ones(4, np.float32), [4], name="scale")
        four = tf.ones(4)
        v1.nn.fused_batch_norm(y, scale, four, four, four, is_training=False, name="bn")
    says_nothing(tgw.edit(graph).passes.fold_batch_norm(), "depend on a placeholder")


# Extract


def test_a_part_is_taken_out_with_its_values(trained: tuple[tf.Graph, v1.Session]) -> None:
    graph, session = trained
    ops = len(graph.get_operations())
    hidden, after = session.run(["net/one/out:0", "net/logits:0"], {"x:0": BATCH})
    editor = tgw.edit(graph, session=session)
    part = editor.extract("net/one/out:0", "net/logits:0")
    assert part.inputs == ("net/one/out:0",)
    assert part.outputs == ("net/logits:0",)
    assert np.array_equal(part.session.run("net/logits:0", {"net/one/out:0": hidden}), after)
    assert "net/one/w" not in part._core.index.ids
    assert [v.name for v in part.graph.get_collection("trainable_variables")] == [
        "net/two/w:0",
        "net/two/b:0",
    ]
    assert len(graph.get_operations()) == ops
    assert not editor.history.done


def test_all_that_an_output_needs_is_taken_out(trained: tuple[tf.Graph, v1.Session]) -> None:
    graph, session = trained
    after = session.run("net/logits:0", {"x:0": BATCH})
    part = tgw.edit(graph, session=session).extract([], ["net/logits:0"])
    assert np.array_equal(part.session.run("net/logits:0", {"x:0": BATCH}), after)
    assert set(part._core.index.names) <= {op.name for op in graph.get_operations()}


def test_an_extract_that_is_refused_leaves_nothing(mlp: tf.Graph) -> None:
    session = v1.Session(graph=build_mlp(resource=True))
    editor = tgw.edit(session.graph, session=session)
    with pytest.raises(GraphEditError):
        editor.extract("x:0", "gone:0")
    assert not editor.history.done


def test_an_extract_is_no_edit_of_the_graph_and_calls_no_listener() -> None:
    graph = build_mlp(resource=True)
    editor = tgw.edit(graph, session=initialised(graph))
    editor.rename("net/logits", "scores")
    editor.undo()
    history, reported = editor.history, []
    editor._core.listeners.append(lambda: reported.append(len(editor.history.done)))
    editor.extract("x:0", "net/logits:0")
    with pytest.raises(GraphEditError):
        editor.extract("x:0", "gone:0")
    assert reported == []
    assert editor.history == history
    editor.redo()
    assert reported == [1]


# Inputs


@pytest.mark.parametrize("cut", ["x:0", "net/one/out:0", "net/one/add"])
@pytest.mark.sample(2)
def test_a_live_graph_frozen_from_an_input_on_is_fed_there(
    mlp: tf.Graph, session: v1.Session, cut: str
) -> None:
    editor = tgw.edit(mlp, session=session)
    names = editor._core.index.names
    first = np.float32(np.random.default_rng(0).normal(size=(2, 3)))
    between, expected = session.run(
        [cut if ":" in cut else f"{cut}:0", "net/logits:0"], {"x:0": first}
    )
    report = editor.freeze("net/logits:0", cut)
    fed = editor.ops(type="Placeholder").ops
    assert len(fed) == 1
    assert fed[0] == "x" or f"'{cut.partition(':')[0]}' is '{fed[0]}' now" in str(report)
    found = editor.session.run("net/logits:0", {f"{fed[0]}:0": between})
    assert np.allclose(found, expected)
    editor.undo()
    assert editor._core.index.names == names
    assert np.array_equal(editor.session.run("net/logits:0", {"x:0": first}), expected)


def test_a_file_frozen_from_an_input_on_has_a_placeholder_of_its_name(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    with initialised(mlp) as session:
        tgw.edit(mlp, session=session).save(tmp_path / "m.meta")
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    editor.freeze("net/logits:0", "net/one/out:0")
    assert editor.ops(type="Placeholder").ops == ("net/one/out",)
    assert editor._core.index.shape(editor._core.index.op("net/one/out"), 0) == (None, 4)
    assert not any(
        name.startswith("net/one/") for name in editor._core.index.names if name != "net/one/out"
    )
    with tf.Graph().as_default() as again:
        tf.import_graph_def(v1.GraphDef(node=editor._core.index.nodes), name="")
    with v1.Session(graph=again) as other:
        assert other.run("net/logits:0", {"net/one/out:0": np.ones((1, 4))}).shape == (1, 4)


def test_an_input_that_is_needed_itself_is_read_from_a_placeholder_nearby(
    mlp: tf.Graph, session: v1.Session
) -> None:
    editor = tgw.edit(mlp, session=session)
    report = editor.freeze(["net/logits", "net/one/out"], "net/one/out:0")
    assert "'net/one/out_placeholder' replaces 'net/one/out:0' now; feed it." in report.notes
    assert {"net/one/out", "net/one/out_placeholder", "x"} <= set(editor._core.index.names)


def test_what_cannot_be_fed_is_no_input_of_a_frozen_graph(
    mlp: tf.Graph, session: v1.Session
) -> None:
    editor = tgw.edit(mlp, session=session)
    with pytest.raises(GraphEditError, match="leave it out of inputs="):
        editor.freeze("net/logits:0", "net/one/w")
    assert not editor.history.done


def test_a_constant_that_was_undone_does_not_come_back_with_its_old_value() -> None:
    """In a loop, where the value is a new op under a name of its own."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(
            v1.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, v * w), [0, x])[1], name="y"
        )
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        for value in (2.0, 3.0):
            fill(w, value, session)
            editor.freeze("y")
            assert editor.session.run("y:0", {"x:0": 1.0}) == value**2
            editor.undo()


def test_a_variable_that_enters_a_loop_is_frozen_in_files_that_store_shapes(tmp_path: Path) -> None:
    """Of a reference these are a scalar's, and of the value they are not."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [3], initializer=v1.ones_initializer(), use_resource=True)
        x = v1.placeholder(tf.float32, [3], name="x")
        looped = v1.while_loop(
            lambda i, _: i < 2, lambda i, v: (i + 1, v * w), [0, x], name="loop"
        )[1]
        tf.cond(tf.reduce_sum(x) > 0, lambda: looped * w, lambda: looped - w, name="y")
    with initialised(graph) as session, graph.as_default():
        v1.train.Saver().save(session, str(tmp_path / "m"))
        ends = {"x": x}, {"y": graph.get_tensor_by_name("y/Merge:0")}
        v1.saved_model.simple_save(session, str(tmp_path / "saved"), *ends)
    for path, options in (
        (tmp_path / "m.meta", {"checkpoint": tmp_path / "m"}),
        (tmp_path / "saved", {}),
    ):
        editor = tgw.edit(path, **options)
        frozen = editor.save(tmp_path / "frozen.pb", "x:0", "y/Merge:0", frozen=True)
        given = run(
            v1.GraphDef.FromString(frozen.read_bytes()),
            "y/Merge:0",
            {"x:0": np.full(3, 2.0, np.float32)},
        )
        assert given.tolist() == [2.0] * 3
        editor.freeze("y/Merge")
        assert not any(kind == "VarHandleOp" for kind in editor._core.index.types)
        editor.undo()
        assert "VarHandleOp" in editor._core.index.types


def test_stripping_removes_regularization_losses_that_no_loss_reads(tmp_path: Path) -> None:
    """98 of slim's Inception in a collection; in a GraphDef, which has none, they are known by
    their scope.
    """
    editor = tgw.edit(INCEPTION)
    path = str(tmp_path / "inception.pb")
    editor.save(path)
    for each in (editor, tgw.edit(path)):
        each.passes.strip_training()
        assert not [name for name in each._core.index.names if "Regularizer/" in name]
        assert {
            "net/predictions",
            "net/InceptionV3/AuxLogits/SpatialSqueeze",
        } <= each._core.index.ids.keys()
    asked = tgw.edit(path)
    kept = next(
        name for name in asked._core.index.names if name.endswith("Regularizer/l2_regularizer")
    )
    asked.passes.strip_training(["net/predictions", kept])
    assert [
        name for name in asked._core.index.names if name.endswith("Regularizer/l2_regularizer")
    ] == [kept]


def test_regularization_losses_stay_for_a_loss_that_reads_them_and_where_alone() -> None:
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [2], regularizer=lambda w: tf.nn.l2_loss(w, name="penalty"))
        assert tgw.edit(graph)._core.arguments.outputs(None) == ("penalty",)
        tf.add(tf.reduce_sum(w), v1.losses.get_regularization_loss(), name="loss")
        tf.no_op("unused")
    editor = tgw.edit(graph)
    editor.passes.strip_training()
    assert {"loss", "penalty"} <= editor._core.index.ids.keys()
    assert "unused" not in editor._core.index.ids


@pytest.mark.parametrize("control_flow_v2", [False, True])
def test_a_condition_is_no_result_unless_there_is_nothing_else(*, control_flow_v2: bool) -> None:
    def graph_of(build: Callable[[Any], Any]) -> tf.Graph:
        graph = tf.Graph()
        (v1.enable_control_flow_v2 if control_flow_v2 else v1.disable_control_flow_v2)()
        try:
            with graph.as_default():
                build(v1.placeholder(tf.float32, [None, 2], "x"))
        finally:
            v1.disable_control_flow_v2()
        return graph

    def checked(x: Any) -> None:
        tf.debugging.assert_non_negative(x)
        with tf.control_dependencies(
            [v1.assert_equal(tf.shape(x)[0], 2), v1.Assert(tf.reduce_all(x > 0.0), [x])]
        ):
            tf.identity(v1.cond(x[0, 0] > 1.0, lambda: x > 1.0, lambda: x > 2.0), "y")

    for graph_like in (graph_of(checked), graph_of(checked).as_graph_def()):
        assert tgw.edit(graph_like)._core.arguments.outputs(None) == ("y",)
    alone = tgw.edit(graph_of(tf.debugging.assert_non_negative))._core.arguments.outputs(None)
    assert alone
    assert all("assert_non_negative" in name for name in alone)


def test_a_loop_whose_gradient_is_stripped_is_written_without_the_counter_of_the_gradient(
    tmp_path: Path,
) -> None:
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [2], "x")
            w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
            y = v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * w), [0, x])[1]
            tf.identity(y, "y")
            v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y), name="train")
            session = v1.Session(graph=graph)
            session.run(v1.global_variables_initializer())
    finally:
        v1.enable_control_flow_v2()
    before = session.run("y:0", {"x:0": [1.0, 1.0]})
    editor = tgw.edit(graph, session=session)
    editor.passes.strip_training(outputs=["y"])
    path = editor.save(tmp_path / "stripped.meta")
    with tf.Graph().as_default() as loaded, v1.Session() as other:
        v1.train.import_meta_graph(str(path)).restore(other, str(path.with_suffix("")))
        assert np.array_equal(other.run("y:0", {"x:0": [1.0, 1.0]}), before)
        assert loaded.get_collection("while_context")
        assert v1.gradients(loaded.get_tensor_by_name("y:0"), loaded.get_tensor_by_name("x:0"))


def test_a_conditional_whose_predicate_is_removed_is_no_context_of_a_meta_graph(
    tmp_path: Path,
) -> None:
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [3], "x")
            with tf.control_dependencies(
                [v1.debugging.Assert(tf.reduce_all(x > 0), [x], name="check")]
            ):
                tf.identity(x, "y")
    finally:
        v1.enable_control_flow_v2()
    editor = tgw.edit(graph)
    for finding in editor.lint(only="asserts"):
        assert finding.fix is not None
        editor.apply(finding.fix)
    path = editor.save(tmp_path / "clean.meta")
    with tf.Graph().as_default() as loaded, v1.Session() as session:
        v1.train.import_meta_graph(str(path))
        assert not loaded.get_collection("cond_context")
        assert list(session.run("y:0", {"x:0": [-1.0, 0.0, 1.0]})) == [-1, 0, 1]


def test_a_layer_of_constants_only_is_folded_and_stays() -> None:
    with tf.Graph().as_default() as graph:
        y = tf.nn.conv2d(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 2]), 1, "SAME", name="conv")
        v1.nn.fused_batch_norm(y, *[tf.constant([2.0, 4.0])] * 4, is_training=False, name="norm")
    with v1.Session(graph=graph) as session:
        before = session.run("norm:0")
        editor = tgw.edit(graph, session=session)
        editor.passes.fold_batch_norm()
        (folded,) = editor.find("type:BiasAdd")
        np.testing.assert_allclose(session.run(f"{folded}:0"), before, atol=1e-5)
    assert "norm" not in editor._core.index.ids


def test_what_is_left_without_training_has_the_initial_values_that_variables_name(
    tmp_path: Path,
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        direction = v1.get_variable("direction", [3, 2], use_resource=False)
        # TensorFlow puts a guard between this and the assignment.
        begin = lambda: tf.norm(direction, axis=0)  # noqa: E731
        length = v1.get_variable("length", initializer=begin, use_resource=False)
        y = tf.matmul(x, tf.nn.l2_normalize(direction, 0) * length, name="y")
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
    session = v1.Session(graph=graph)
    session.run(direction.initializer)
    session.run(length.initializer)
    editor = tgw.edit(graph, session)
    editor.passes.strip_training("y:0")
    editor.save(tmp_path / "m.meta")
    with tf.Graph().as_default(), v1.Session() as loaded:
        v1.train.import_meta_graph(str(tmp_path / "m.meta")).restore(loaded, str(tmp_path / "m"))
        rows = np.ones([2, 3])
        assert np.allclose(loaded.run("y:0", {"x:0": rows}), session.run("y:0", {"x:0": rows}))


def test_averages_that_are_served_keep_the_variables_that_they_begin_with(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        kernel = v1.get_variable("kernel", [3, 2], use_resource=True)
        averages = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([kernel.assign_add(tf.ones([3, 2]))]):
            averages.apply([kernel])
        tf.matmul(x, averages.average(kernel), name="y")
    session = v1.Session(graph=graph)
    for variable in graph.get_collection("variables"):
        session.run(variable.initializer)
    editor = tgw.edit(graph, session)
    editor.passes.strip_training("y:0")
    editor.save(tmp_path / "m.meta")
    with tf.Graph().as_default(), v1.Session() as loaded:
        v1.train.import_meta_graph(str(tmp_path / "m.meta")).restore(loaded, str(tmp_path / "m"))
        rows = np.ones([2, 3])
        assert np.allclose(loaded.run("y:0", {"x:0": rows}), session.run("y:0", {"x:0": rows}))
