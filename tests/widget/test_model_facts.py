"""What the tab Model says of graphs of all kinds: what they are, their inputs and outputs, sizes,
FLOPs, values and signatures.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.graphs import v1
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

MODELS = Path(__file__).parents[2] / "notebooks" / "models"


def facts(editor: tgw.GraphEditor, batch: int = 0, *, large: bool = False) -> p.ModelReply:
    """The answer of the kernel."""
    reply, _ = RequestHandler(editor).handle(p.DescribeModel(batch, large))
    assert isinstance(reply, p.ModelReply)
    return reply


def trained() -> tgw.GraphEditor:
    """A live network that was trained for three steps."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", [3, 2], initializer=v1.ones_initializer(), use_resource=True)
        y = tf.matmul(x, w, name="y")
        step = v1.train.get_or_create_global_step()
        train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(y), step)
        session = v1.Session()
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: [[1.0, 2.0, 3.0]]})
    return tgw.edit(graph, session=session)


def test_a_file_is_said_to_be_what_it_is_and_whether_it_has_values() -> None:
    found = facts(tgw.edit(MODELS / "dqn_online_train.meta"))
    assert found.title == "dqn_online_train.meta"
    assert found.about == ("MetaGraph", "TensorFlow 1.15.5")
    assert found.values.startswith("no values: the file comes without its checkpoint")
    assert (found.ops, found.variables, found.parameters) == (301, 32, 1_687_208)
    assert (found.size, found.dtypes) == (4 * found.parameters, ("float32",))
    assert found.inputs == (p.ModelEnd("obs", "obs:0", "float32", "(None, 84, 84, 4)"),)
    assert found.outputs == (p.ModelEnd("Mean", "Mean:0", "float32", "()"),)
    assert [row.text for row in found.signatures] == ["No signature yet; likely obs → Mean"]
    assert (found.is_small, found.is_complete, found.flops) == (True, True, -1)


def test_a_file_without_values_gets_those_of_a_checkpoint(tmp_path: Path) -> None:
    shutil.copy(MODELS / "judge.meta", tmp_path)
    editor = tgw.edit(tmp_path / "judge.meta")
    assert "Open checkpoint" in facts(editor).values
    handler = RequestHandler(editor)
    reply, _ = handler.handle(p.Restore(str(MODELS / "judge.index")))
    assert isinstance(reply, p.SceneReply)
    assert reply.edited is not None
    assert reply.edited.text == "15 variables got the value in judge.index."
    assert facts(editor).values == "trained: step 300"
    values, _ = handler.handle(p.Examine("w1"))
    assert isinstance(values, p.ExamineReply)
    with pytest.raises(UnknownName, match="There is no file"):
        handler.handle(p.Restore("nothing"))


def test_flops_are_counted_for_a_batch() -> None:
    editor = trained()
    assert facts(editor).is_ready
    one, many = facts(editor, 1), facts(editor, 32)
    assert (one.batch, many.batch) == (1, 32)
    assert many.flops > one.flops >= 12


def test_a_live_graph_says_how_long_it_was_trained() -> None:
    editor = trained()
    found = facts(editor)
    assert found.about[:2] == ("live graph with a session", "grows with the notebook")
    assert found.values == "trained: step 3"
    # After an edit the facts are those of the new graph.
    editor.rename("y", "scores")
    editor.signatures.add("serving_default", inputs=["x"], outputs=["scores"])
    found = facts(editor)
    assert [row.text for row in found.signatures] == ["serving_default: x=x:0 → scores=scores:0"]
    assert [end.op for end in found.outputs] == ["scores"]


def test_what_was_not_initialized_and_what_has_no_weights_say_so() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        tf.matmul(x, v1.get_variable("w", [3, 2], use_resource=True), name="y")
        assert facts(tgw.edit(graph, session=v1.Session())).values == (
            "not trained: the variables have no values yet"
        )
    with tf.Graph().as_default() as plain:
        tf.negative(v1.placeholder(tf.float32, [2], name="x"), name="y")
    assert facts(tgw.edit(plain)).values == ""
    with tf.Graph().as_default() as frozen:
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        tf.matmul(x, tf.ones([3, 2]) * 2.0, name="y")
    fixed = tgw.edit(frozen)
    assert facts(fixed).values == "the weights are constants"
    assert facts(fixed, 1).batch == 0  # all dimensions are known


def test_a_saved_model_and_a_keras_model_say_what_they_hold(tmp_path: Path) -> None:
    trained().save(tmp_path / "model/", inputs=["x"], outputs=["y"])
    found = facts(tgw.edit(tmp_path / "model"))
    assert found.about[:2] == ("SavedModel", "tags serve")
    assert found.values == "the variables have values"
    assert len(found.signatures) == 1
    assert found.signatures[0].text.startswith("serving_default: ")
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])
    found = facts(tgw.edit(model))
    assert found.about[:2] == ("Keras model", "1 layer")
    assert found.parameters == 10
    assert [end.shape for end in found.inputs] == ["(None, 4)"]


def test_inside_a_function_the_facts_are_those_of_its_body() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x, name="inside")

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x)

    editor = tgw.edit(outer)
    assert facts(editor).inside == ""
    call = editor.ops(where=lambda op: op.type.endswith("PartitionedCall")).ops[0]
    editor.view.enter(call)
    found = facts(editor)
    assert found.inside == call
    assert [end.shape for end in found.inputs] == ["(2,)"]
    assert found.signatures == ()


def test_constants_that_a_function_captures_are_no_inputs_of_it(tmp_path: Path) -> None:
    module = tf.Module()
    table = tf.constant(range(2000), tf.float32)  # too large for TensorFlow to put it inside

    @tf.function(input_signature=[tf.TensorSpec([2000], tf.float32, "x")])
    def serve(x: tf.Tensor) -> tf.Tensor:
        return x * table

    module.serve = serve
    tf.saved_model.save(module, str(tmp_path / "model"))
    editor = tgw.edit(tmp_path / "model")
    assert facts(editor).inside
    assert [end.op for end in facts(editor).inputs] == ["x"]


def test_of_many_outputs_those_that_need_the_most_ops_come_first() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        for k in range(6):
            tf.negative(x, name=f"aside_{k}")
        tf.tanh(tf.exp(x), name="y")
    editor = tgw.edit(graph.as_graph_def())
    asides = [f"aside_{k}" for k in range(6)]
    assert [end.op for end in facts(editor).outputs] == ["y", *asides]
    editor.signatures.add("serving_default", inputs=["x"], outputs=[*asides, "y"])
    assert [end.op for end in facts(editor).outputs] == [*asides, "y"]


def test_a_graph_of_which_nothing_says_who_wrote_it_has_no_version() -> None:
    with tf.Graph().as_default() as graph:
        tf.negative(v1.placeholder(tf.float32, [2], name="x"), name="y")
    definition = graph.as_graph_def()
    producer = definition.versions.producer
    assert facts(tgw.edit(definition)).about == ("GraphDef", f"producer {producer}")
    definition.ClearField("versions")
    assert facts(tgw.edit(definition)).about == ("GraphDef",)


def test_of_a_large_graph_nothing_is_found_that_takes_time_until_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tfgraphwidget.widget.model_facts._LARGE", 100)
    editor = tgw.edit(MODELS / "judge.meta")
    handler = RequestHandler(editor)
    first, _ = handler.handle(p.DescribeModel())
    assert isinstance(first, p.ModelReply)
    assert (first.is_complete, first.inputs, first.parameters, first.signatures) == (
        False,
        (),
        0,
        (),
    )
    assert first.ops == 211
    asked, _ = handler.handle(p.DescribeModel(large=True))
    again, _ = handler.handle(p.DescribeModel())
    assert asked == again
    assert isinstance(again, p.ModelReply)
    assert again.is_complete
    assert again.inputs
