"""Gradients that a network goes on with are a part of it: forces, and the penalty of a loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

v1 = tf.compat.v1
PLACES = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def energy(places: Any) -> Any:
    """Two layers and a sum: a number for each row."""
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        hidden = tf.tanh(tf.matmul(places, v1.get_variable("w", [3, 8])))
        return tf.reduce_sum(tf.matmul(hidden, v1.get_variable("v", [8, 1])), 1)


@pytest.fixture(params=[False, True], ids=["not trained", "trained"])
def model(request: pytest.FixtureRequest) -> v1.Session:
    """A model of energies and forces, with or without an optimizer that fits both."""
    with tf.Graph().as_default() as graph:
        places = v1.placeholder(tf.float32, [None, 3], name="places")
        energies = tf.identity(energy(places), name="energy")
        (slopes,) = tf.gradients(energies, places)
        forces = tf.negative(slopes, name="force")
        if request.param:
            wanted = v1.placeholder(tf.float32, [None, 3], name="wanted")
            loss = tf.add(
                tf.reduce_mean(energies**2), tf.reduce_mean((forces - wanted) ** 2), name="loss"
            )
            v1.train.AdamOptimizer().minimize(loss)
        initialize = v1.global_variables_initializer()
    session = v1.Session(graph=graph)
    session.run(initialize)
    return session


def test_forces_are_outputs_and_stay_where_training_is_stripped(model: v1.Session) -> None:
    forces = model.run("force:0", {"places:0": PLACES})
    editor = tgw.edit(model.graph, model)
    is_trained = "loss" in editor
    outputs = {"loss:0"} if is_trained else {"energy:0", "force:0"}
    assert outputs <= {*editor.outputs}
    editor.passes.strip_training()
    assert "force" in editor
    assert not [kind for kind in editor._core.index.types if "Adam" in kind]
    np.testing.assert_array_equal(model.run("force:0", {"places:0": PLACES}), forces)


def test_a_frozen_model_has_its_forces(model: v1.Session, tmp_path: Path) -> None:
    forces = model.run("force:0", {"places:0": PLACES})
    editor = tgw.edit(model.graph, model)
    path = editor.save(tmp_path / "frozen.pb", frozen=True, outputs=["energy:0", "force:0"])
    frozen = tgw.edit(path)
    assert {*frozen.outputs} == {"energy:0", "force:0"}
    assert not frozen.passes.strip_training()
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(v1.GraphDef.FromString(path.read_bytes()), name="")
        np.testing.assert_allclose(session.run("force:0", {"places:0": PLACES}), forces, rtol=1e-6)


def test_the_loss_with_a_gradient_penalty_is_an_output() -> None:
    with tf.Graph().as_default() as graph:
        places = v1.placeholder(tf.float32, [None, 3], name="places")
        energies = energy(places)
        (slopes,) = tf.gradients(energies, places)
        penalty = tf.reduce_mean((tf.norm(slopes, axis=1) - 1) ** 2, name="penalty")
        loss = tf.add(tf.reduce_mean(energies), 10 * penalty, name="loss")
        v1.train.AdamOptimizer().minimize(loss)
        initialize = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(initialize)
        before = session.run("loss:0", {"places:0": PLACES})
        editor = tgw.edit(graph, session)
        assert editor.outputs == ("loss:0",)
        assert editor.passes.strip_training()
        assert session.run("loss:0", {"places:0": PLACES}) == before
        assert not editor.passes.strip_training()


def test_strip_training_keeps_all_of_a_graph_that_nothing_trains() -> None:
    """Programs read constants by name that no output needs, such as a version."""
    with tf.Graph().as_default() as graph:
        places = v1.placeholder(tf.float32, [None, 3], name="places")
        tf.constant("0.4", name="model_attr/version")
        energies = tf.reduce_sum(places**3, 1, name="energy")
        tf.negative(tf.gradients(energies, places)[0], name="force")
    editor = tgw.edit(graph.as_graph_def())
    before = [*editor]
    report = editor.passes.strip_training()
    assert not report
    assert "Nothing here is for training alone" in str(report)
    assert not editor.history
    assert [*editor] == before
    assert editor.passes.strip_training("energy:0")
    assert "model_attr/version" not in editor


def test_forces_that_a_tape_gives_are_outputs_and_no_training() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3])], autograph=False)
    def energy_and_force(places: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(places)
            energies = tf.reduce_sum(tf.tanh(places) ** 2, 1)
        return {"energy": energies, "force": -tape.gradient(energies, places)}

    frozen = energy_and_force.get_concrete_function().graph.as_graph_def()
    version = frozen.node.add(name="model_attr/version", op="Const")
    version.attr["dtype"].type = tf.float32.as_datatype_enum
    version.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0.4))
    editor = tgw.edit(frozen)
    assert any("gradient_tape/" in name for name in editor)
    before = [*editor]
    assert len(editor.outputs) == 2
    assert not editor.passes.strip_training()
    assert [*editor] == before
