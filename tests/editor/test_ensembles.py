"""One call of `clone` makes an ensemble of a function or of a Keras model: as modules, or in a
graph with a session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable, SessionRefused, UnknownName

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


@pytest.fixture
def model() -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    made = keras.Sequential(
        [
            keras.Input([4], name="features"),
            layers.Dense(8, activation="relu", name="hidden"),
            layers.BatchNormalization(name="norm"),
            layers.Dense(3, name="out"),
        ],
        name="sequential",
    )
    made.layers[1].moving_mean.assign(tf.range(8.0))
    return made


class Net(tf.Module):
    """A function with a call, a loop, a conditional and a table."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(
            np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32), name="net/w"
        )
        self.b = tf.Variable([1.0, 2.0, 3.0, 4.0], name="net/b", trainable=False)
        keys = tf.constant([0, 1], tf.int64)
        content = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0.5, 2.0]))
        self.table = tf.lookup.StaticHashTable(content, 1.0)
        self.fixed = tf.constant([0.1, 0.2, 0.3, 0.4])

    @tf.function
    def layer(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x @ self.w) + self.b + self.fixed

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = self.layer(self.layer(x)) * self.table.lookup(tf.constant(1, tf.int64))
        y = tf.cond(tf.reduce_sum(y) > 0, lambda: y @ self.w, lambda: y * self.b)
        for _ in tf.range(3):
            y = tf.tanh(y @ self.w)
        return {"y": y}


def session_of(graph: tf.Graph) -> Any:
    return v1.Session(graph=graph)


# Modules


def test_times_makes_modules_with_variables_of_their_own(model: keras.Model) -> None:
    editor = tgw.edit(model)
    members = editor.clone(into="member", times=3)
    assert [member.scope for member in members] == ["member_0", "member_1", "member_2"]
    assert len({id(v) for member in members for v in member.own}) == 3 * len(model.variables)
    for member in members:
        np.testing.assert_allclose(member(X), model(X), rtol=1e-5, atol=1e-6)
    members[0].own[0].assign_add(tf.ones([4, 8]))
    np.testing.assert_array_equal(members[1].own[0], model.layers[0].kernel)
    assert editor.undo().startswith("member = editor.clone(")
    assert not editor._core.executor.copies
    editor.redo()
    assert editor["member_1"] is members[1]


def test_initial_values_of_a_keras_model_are_drawn_for_each_member(model: keras.Model) -> None:
    members = tgw.edit(model).clone(into="member", times=3, init="initial")
    kernels = [member["sequential/hidden/kernel"].numpy() for member in members]
    assert all(
        np.abs(a - b).max() > 0 for a, b in ((kernels[0], kernels[1]), (kernels[1], kernels[2]))
    )
    assert all(not np.array_equal(kernel, model.layers[0].kernel) for kernel in kernels)
    assert members[0]["sequential/norm/moving_mean"].numpy().tolist() == [0.0] * 8
    assert members[0](X).shape == (5, 3)


def test_a_seeded_initializer_computes_the_same_unless_it_is_reseeded() -> None:
    seeded = keras.initializers.GlorotUniform(seed=5)
    inputs = keras.Input([4])
    outputs = keras.layers.Dense(2, kernel_initializer=seeded, name="dense")(inputs)
    model = keras.Model(inputs, outputs, name="seeded")
    before = model.layers[1].kernel.numpy()
    model.layers[1].kernel.assign(tf.zeros([4, 2]))
    editor = tgw.edit(model)
    same = editor.clone(into="same", times=2, init="initial")
    assert all(np.array_equal(member["dense/kernel"], before) for member in same)
    other = editor.clone(into="other", times=2, init="initial", reseed=True)
    a, b = (member["dense/kernel"].numpy() for member in other)
    assert not np.array_equal(a, before)
    assert not np.array_equal(a, b)


def test_a_subclassed_model_with_a_configuration_has_initial_values() -> None:
    class Small(keras.Model):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.size, self.dense = size, keras.layers.Dense(size)

        def build(self, shape: Any) -> None:
            self.dense.build(shape)

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def get_config(self) -> dict[str, Any]:
            return {"size": self.size}

    model = Small(2)
    model(X)
    members = tgw.edit(model).clone(into="member", times=2, init="initial")
    assert not np.array_equal(members[0].own[0], members[1].own[0])


def test_a_model_that_keras_cannot_make_again_is_refused(model: keras.Model) -> None:
    class Odd(keras.Model):
        def __init__(self, dense: Any) -> None:
            super().__init__()
            self.dense = dense

        def call(self, x: Any) -> Any:
            return self.dense(x)

    odd = Odd(keras.layers.Dense(2))
    odd(X)
    editor = tgw.edit(odd)
    with pytest.raises(SessionRefused, match="cannot be made again for its initial values"):
        editor.clone(into="copy", init="initial")
    assert not editor._core.executor.copies


def test_init_takes_arrays_words_and_checkpoints_for_modules(
    model: keras.Model, tmp_path: Path
) -> None:
    editor = tgw.edit(model)
    zeros = np.zeros([4, 8], np.float32)
    copy = editor.clone(
        into="copy",
        init={"sequential/hidden/kernel": zeros, "sequential/norm/moving_mean": "initial"},
    )
    assert not copy["sequential/hidden/kernel"].numpy().any()
    assert copy["sequential/norm/moving_mean"].numpy().tolist() == [0.0] * 8
    np.testing.assert_array_equal(copy["sequential/out/kernel"], model.layers[2].kernel)
    for wrong, said in (
        ({"sequential/hidden/kernel": np.zeros([2, 2])}, "has shape"),
        ({"sequential/hidden/kernal": zeros}, "did you mean"),
        ("none", "cannot be without a value"),
        ("currant", "is not known"),
    ):
        with pytest.raises(GraphEditError, match=said):
            editor.clone(into="wrong", init=wrong)
    assert list(editor._core.executor.copies) == ["copy"]

    net = Net()
    net_editor = tgw.edit(net.__call__)
    doubled = {"net/w": net.w.numpy() * 2, "net/b": net.b.numpy() * 2}
    graph = tf.Graph()
    with session_of(graph) as session:
        there = net_editor.clone(into="copy", graph=graph, session=session)
        for variable in there.variables:
            variable.load(doubled[variable.op.name.removeprefix("copy/")], session)
        path = there.saver().save(session, str(tmp_path / "doubled"))
    restored = net_editor.clone(into="restored", init=path)
    np.testing.assert_array_equal(restored["net/w"], net.w * 2)


def test_devices_hold_the_variables_and_ops_of_each_member(model: keras.Model) -> None:
    editor = tgw.edit(model)
    members = editor.clone(into="member", devices=["/CPU:0", "/device:CPU:0"])
    assert len(members) == 2
    assert all("CPU:0" in member.own[0].device for member in members)
    ops = members[0].run.get_concrete_function().graph.get_operations()
    assert any("CPU:0" in op.device for op in ops)
    placed = editor.clone(into="placed", device={"sequential/hidden": "/CPU:0"})
    np.testing.assert_allclose(placed(X), model(X), rtol=1e-5, atol=1e-6)
    with pytest.raises(GraphEditError, match="name one device for each copy"):
        editor.clone(into="wrong", devices=["/CPU:0"], times=2)


def test_reseed_draws_other_noise_in_ops_and_in_called_functions() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x + tf.random.uniform([], seed=3)

    @tf.function(input_signature=[tf.TensorSpec([], name="x")])
    def noisy(x: tf.Tensor) -> Any:
        stateless = tf.random.stateless_normal([], seed=[1, 2])
        return {
            "inner": inner(x),
            "op": x + tf.random.normal([], seed=4),
            "stateless": x + stateless,
        }

    editor = tgw.edit(noisy)
    tf.random.set_seed(1)
    first = {key: value.numpy() for key, value in editor.clone(into="plain")(0.0).items()}
    tf.random.set_seed(1)
    plain = {key: value.numpy() for key, value in editor.clone(into="same")(0.0).items()}
    assert plain == first
    made = []
    for member in editor.clone(into="member", times=2, reseed=True):
        tf.random.set_seed(1)
        made.append({key: value.numpy() for key, value in member(0.0).items()})
    for key, value in first.items():
        assert len({value.item(), made[0][key].item(), made[1][key].item()}) == 3, key


def test_modules_can_share_some_variables(model: keras.Model) -> None:
    members = tgw.edit(model).clone(
        into="member", times=2, variables={"sequential/hidden/kernel": "shared"}
    )
    assert all(
        member["sequential/hidden/kernel"] is model.layers[0].kernel.value for member in members
    )
    assert members[0]["sequential/out/kernel"] is not members[1]["sequential/out/kernel"]


def test_a_module_takes_the_options_of_copies_in_graphs(model: keras.Model) -> None:
    editor = tgw.edit(model)
    # Its inputs are arguments anyway.
    copy = editor.clone(into="copy", placeholders=True, src_scope="sequential")
    assert all(
        variable.name.startswith("copy/") and "sequential" not in variable.name
        for variable in copy.variables
    )
    with pytest.raises(NotClonable, match="does not lie in src_scope 'nowhere'"):
        editor.clone(into="other", src_scope="nowhere")
    editor.clone(into="member", times=2)
    with pytest.raises(NameTaken, match="'member_0' is taken"):
        editor.clone(into="member", times=2)
    assert list(editor._core.executor.copies) == ["copy", "member_0", "member_1"]


def test_a_module_reads_another_tensor_in_place_of_one() -> None:
    @tf.function(input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])
    def f(a: Any, b: Any) -> Any:
        return tf.nn.relu(a) * 10.0 + b

    editor = tgw.edit(f)
    a, b = editor._core.executor.inputs_and_outputs[0]
    relu = editor.find("type:Relu").ops[0]
    copy = editor.clone(into="both", replace={b: f"{relu}:0"})
    assert copy(tf.constant(2.0), tf.constant(0.0)).numpy() == 22.0
    part = editor.clone(
        [b], [editor._core.executor.inputs_and_outputs[1].popitem()[1]], into="part", replace={a: b}
    )
    assert part(tf.constant(3.0)).numpy() == 33.0
    with pytest.raises(NotClonable, match="is computed from"):
        editor.clone(into="loop", replace={a: f"{relu}:0"})
    assert f(tf.constant(2.0), tf.constant(1.0)).numpy() == 21.0


# Into a graph with a session


def test_a_keras_model_goes_into_a_graph_with_its_values(model: keras.Model) -> None:
    graph, expected = tf.Graph(), model(X)
    with session_of(graph) as session:
        copies = tgw.edit(model).clone(into="member", times=2, graph=graph, session=session)
        assert [copy.scope for copy in copies] == ["member_0", "member_1"]
        trained = {v.op.name for v in graph.get_collection("trainable_variables")}
        assert trained == {
            f"member_{k}/{v.path}" for k in (0, 1) for v in model.trainable_variables
        }
        for copy in copies:
            found = session.run(copy["output_0"], {copy["inputs"]: X})
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_gradients_in_the_graph_are_those_of_the_model(model: keras.Model) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(X) ** 2)
    expected = tape.gradient(loss, model.trainable_variables)
    graph = tf.Graph()
    with session_of(graph) as session:
        copy = tgw.edit(model).clone(into="copy", graph=graph, session=session)
        session.run(copy["output_0"], {copy["inputs"]: X})
        names = {v.op.name.removeprefix("copy/"): v for v in copy.variables}
        with graph.as_default():
            variables = [names[v.path] for v in model.trainable_variables]
            made = tf.gradients(tf.reduce_sum(copy["output_0"] ** 2), variables)
        for a, b in zip(expected, session.run(made, {copy["inputs"]: X}), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_calls_loops_conditionals_tables_and_constants_run_and_learn_in_the_graph() -> None:
    net = Net()
    with tf.GradientTape() as tape:
        values = net(X)["y"]
        loss = tf.reduce_sum(values)
    expected = tape.gradient(loss, net.w)
    graph = tf.Graph()
    with session_of(graph) as session:
        copies = tgw.edit(net.__call__).clone(into="net", times=2, graph=graph, session=session)
        for copy in copies:
            fed = {copy["x:0"]: X}
            np.testing.assert_allclose(session.run(copy["y"], fed), values, rtol=1e-5)
    with graph.as_default():
        made = [tf.gradients(tf.reduce_sum(copy["y"]), [copy["net/w:0"]])[0] for copy in copies]
    # TensorFlow changes a loop for its gradient, which a session that has run it does not follow.
    with session_of(graph) as session:
        session.run(graph.get_collection("table_initializer"))
        for copy, gradient in zip(copies, made, strict=True):
            copy.sync(session=session)
            found = session.run(gradient, {copy["x:0"]: X})
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_copy_in_a_graph_follows_the_model_by_sync(model: keras.Model) -> None:
    graph = tf.Graph()
    session = session_of(graph)
    copy = tgw.edit(model).clone(into="copy", graph=graph, session=session)
    model.layers[0].kernel.assign_add(tf.ones([4, 8]))
    expected = model(X)
    with session:
        assert copy.drift()["sequential/hidden/kernel:0"] == pytest.approx(1)
        copy.sync()
        assert max(copy.drift().values()) == 0
        np.testing.assert_allclose(
            session.run(copy["output_0"], {copy["inputs"]: X}), expected, rtol=1e-5, atol=1e-6
        )


def test_initial_values_devices_and_arrays_go_into_the_graph(model: keras.Model) -> None:
    graph, trained = tf.Graph(), model.layers[0].kernel.numpy()
    with session_of(graph) as session:
        editor = tgw.edit(model)
        a, b = editor.clone(
            into="m", devices=["/CPU:0", "/CPU:0"], init="initial", graph=graph, session=session
        )
        first, second = (session.run(copy.variables[0]) for copy in (a, b))
        assert not np.array_equal(first, second)
        assert not np.array_equal(first, trained)
        assert "CPU:0" in a.variables[0].device
        zeros = {"sequential/hidden/kernel": np.zeros([4, 8], np.float32)}
        some = editor.clone(into="zeros", init=zeros, graph=graph, session=session)
        assert not session.run(some.variables[0]).any()


def test_a_part_of_a_model_goes_into_a_graph(model: keras.Model) -> None:
    editor = tgw.edit(model)
    (relu,) = editor.ops(type="Relu").ops
    graph, expected = tf.Graph(), model.layers[0](X)
    with session_of(graph) as session:
        copy = editor.clone(outputs=relu, into="part", graph=graph, session=session)
        found = session.run(copy[f"{relu}:0"], {copy["inputs"]: X})
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert len(copy.variables) == 2


def test_edits_of_a_function_are_in_the_graph(model: keras.Model) -> None:
    editor = tgw.edit(model)
    editor.bypass(editor.ops(type="Relu").ops[0])
    graph = tf.Graph()
    with session_of(graph) as session:
        copy = editor.clone(into="copy", graph=graph, session=session)
        found = session.run(copy["output_0"], {copy["inputs"]: X})
    np.testing.assert_allclose(found, editor.to_function()(X), rtol=1e-5, atol=1e-6)


def test_a_clone_into_an_editor_s_graph_is_undone_there() -> None:
    net, target = Net(), tgw.example()
    before = set(target.graph.get_operations())
    editor = tgw.edit(net.__call__)
    copy = editor.clone(into="joined", graph=target)
    assert copy["y"].graph is target.graph
    assert "joined/x" in target._core.index.names
    editor.undo()
    assert {op.name for op in before} == set(target._core.index.names)


def test_a_preview_of_a_clone_into_a_graph_changes_nothing(model: keras.Model) -> None:
    graph = tf.Graph()
    with session_of(graph) as session:
        editor = tgw.edit(model)
        preview = editor.preview(editor.clone, into="copy", graph=graph, session=session)
    assert (len(preview.new), graph.get_operations()) == (8, [])


def test_a_function_s_body_in_a_saved_model_goes_into_a_graph(
    model: keras.Model, tmp_path: Path
) -> None:
    model.export(str(tmp_path / "saved"), verbose=False)
    editor = tgw.edit(str(tmp_path / "saved"))
    assert editor._core.executor.boundary is not None
    graph, expected = tf.Graph(), model(X)
    with session_of(graph) as session:
        copy = editor.clone(into="copy", graph=graph, session=session)
        (fed,) = [
            op
            for op in graph.get_operations()
            if op.type == "Placeholder" and "Initializer" not in op.name
        ]
        (result,) = editor._core.view.body.returns.values()
        np.testing.assert_allclose(
            session.run(copy[result], {fed.outputs[0]: X}), expected, rtol=1e-5, atol=1e-6
        )


def test_refusals_leave_the_graph_as_it_was(model: keras.Model) -> None:
    graph = tf.Graph()
    editor = tgw.edit(model)
    with pytest.raises(SessionRefused, match="There is no session"):
        editor.clone(into="copy", graph=graph)
    with session_of(graph) as session:
        with pytest.raises(UnknownName):
            editor.clone(outputs="nowhere", into="copy", graph=graph, session=session)
        with pytest.raises(NotClonable, match="cannot be shared with another graph"):
            editor.clone(into="copy", variables="shared", graph=graph, session=session)
    assert graph.get_operations() == []
    assert not editor._core.executor.copies


def test_it_is_replayed_as_it_was_done(model: keras.Model) -> None:
    editor = tgw.edit(model)
    editor.clone(into="member", times=2, reseed=True)
    again: GraphEditor = tgw.edit(model)
    again.apply(editor.history.done[0].command)
    assert list(again._core.executor.copies) == ["member_0", "member_1"]


# Into a function


def test_a_part_of_a_graph_is_called_by_a_function_with_its_values() -> None:
    weight = tf.Variable(3.0, name="weight")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def function(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.tanh(x) * weight}

    original, editor = tgw.example(), tgw.edit(function)
    expected = original.session.run("net/logits:0", {"x:0": np.tanh(X)})
    grown = original.clone(
        "x:0", "net/logits:0", into="net", graph=editor, replace={"x:0": "Tanh:0"}
    )
    assert [v.name for v in grown.variables] == [
        "net/net/hidden/w:0",
        "net/net/hidden/b:0",
        "net/net/w:0",
    ]
    module = editor.to_module()
    found = module(X)
    np.testing.assert_allclose(found["net"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["y"], function(X)["y"])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(X)["net"] ** 2)
    assert all(g is not None for g in tape.gradient(loss, list(grown.variables)))
    assert original.history.lines == ()
    editor.undo()
    assert editor.to_module()(X).keys() == {"y"}


def test_an_ensemble_of_a_model_is_called_by_a_function(model: keras.Model) -> None:
    function = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None, 4], name="x")])
    editor = tgw.edit(function)
    tgw.edit(model).clone(
        into="m", times=2, init="initial", graph=editor, replace={"features:0": "x:0"}
    )
    found = editor.to_function()(X)
    assert len(found) == 3
    np.testing.assert_allclose(found[0], X * 2)
    assert np.abs(found[1] - found[2]).max() > 0


def test_a_clone_into_a_function_needs_a_tensor_for_each_input() -> None:
    function = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None, 4], name="x")])
    original, editor = tgw.example(), tgw.edit(function)
    with pytest.raises(NotClonable, match=r"give replace=\{'x:0': tensor of the function\}"):
        original.clone("x:0", "net/logits:0", into="net", graph=editor)
    assert editor.history.lines == ()
    assert (
        len(original.preview(original.clone, "x:0", "net/logits:0", into="net", graph=editor).new)
        == 3
    )


def test_a_clone_of_an_edited_function_is_the_edited_function() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x: Any) -> Any:
        return {"relu": tf.nn.relu(x)}

    editor = tgw.edit(f)
    (result,) = editor._core.executor.inputs_and_outputs[1].values()
    editor.insert(result, tf.negative)
    editor.call(result, tf.exp, into="head")
    given = tf.constant([1.0])
    for made in (
        editor.clone(into="copy"),
        *editor.clone(into="many", times=2),
        editor.to_module(),
    ):
        values = {key: value.numpy().tolist() for key, value in made(given).items()}
        assert values.keys() == {"relu", "head"}
        assert values["relu"] == [-1.0]
    assert editor.preview(editor.clone, into="seen").ops == editor["copy"].report.ops
