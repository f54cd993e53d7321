from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager.context import context

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import (
    GraphEditError,
    NameTaken,
    NoPath,
    NotClonable,
    SessionRefused,
    UnknownName,
)
from tfgraphwidget.runtime.functions.module_clone import as_module
from tfgraphwidget.runtime.functions.module_copy import ModuleCopy
from tfgraphwidget.sources.functions.state import captured_state

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def clone(
    editor: GraphEditor,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    into: str = "copy",
    **options: Any,
) -> ModuleCopy:
    """A module of the body that one stands in."""
    body = editor._core.view.body
    ends = editor._core.view.names(inputs), editor._core.view.names(outputs)
    reported: dict[str, Any] = {"arguments": body.arguments, "returns": body.returns}
    return as_module(
        editor._core.index,
        captured_state(editor._core.source, body),
        *ends,
        into,
        **reported,
        **options,
    )


def gradients(function: Callable[[Any], Any], x: Any, variables: Sequence[Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(function(x) ** 2)
    return [tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, variables)]


def check_same(
    original: Callable[[Any], Any], copy: ModuleCopy, x: Any, variables: Sequence[Any]
) -> None:
    """The same numbers, and the same gradients on corresponding variables."""
    np.testing.assert_allclose(copy(x), original(x), rtol=1e-5, atol=1e-6)
    expected = gradients(original, x, variables)
    found = gradients(copy, x, [copy[v] for v in variables])
    for a, b in zip(expected, found, strict=True):
        assert np.abs(a).sum() > 0
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


class Net(tf.Module):
    """Calls, a conditional, a loop with a captured variable in its body, and a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(
            np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32), name="net/w"
        )
        self.b = tf.Variable([1.0, 2.0, 3.0], trainable=False, name="net/b")
        self.calls = tf.Variable(0, trainable=False, name="net/calls")

    @tf.function
    def layer(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x @ self.w) + self.b

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        self.calls.assign_add(1)
        y = self.layer(x)
        y = tf.cond(tf.reduce_sum(y) > 0, lambda: y @ self.w, lambda: y * self.b)
        y = tf.switch_case(tf.constant(1), [lambda: y, lambda: self.layer(y)])
        for _ in tf.range(3):
            y = tf.tanh(y @ self.w) + self.layer(y)
        return self.layer(y)


@pytest.fixture
def net() -> Net:
    return Net()


def test_a_clone_of_a_function_computes_the_same_with_variables_of_its_own(net: Net) -> None:
    module = clone(tgw.edit(net.__call__), into="twin")
    assert isinstance(module, tf.Module)
    assert module.name == "twin"
    assert {v.name for v in module.variables} == {
        "twin/net/w:0",
        "twin/net/b:0",
        "twin/net/calls:0",
    }
    assert [v.name for v in module.trainable_variables] == ["twin/net/w:0"]
    assert not {id(v) for v in module.variables} & {id(v) for v in net.variables}
    np.testing.assert_allclose(module(X), net(X), rtol=1e-5)


def test_gradients_flow_through_calls_conditionals_cases_and_loops(net: Net) -> None:
    check_same(net, clone(tgw.edit(net.__call__)), X, [net.w])


def test_training_the_clone_leaves_the_original_bit_equal(net: Net) -> None:
    module = clone(tgw.edit(net.__call__))
    before = [v.numpy() for v in net.variables]
    optimizer = keras.optimizers.SGD(0.1)
    for _ in range(3):
        optimizer.apply_gradients(
            zip(gradients(module, X, [module["net/w"]]), [module["net/w"]], strict=True)
        )
    assert all(np.array_equal(a, b) for a, b in zip(before, net.variables, strict=True))
    assert not np.allclose(module["net/w"], net.w)
    assert module["net/calls"].numpy() == 3


def test_the_clone_keeps_dtypes_static_shapes_and_the_free_batch_dimension(net: Net) -> None:
    module = clone(tgw.edit(net.__call__))
    (spec,) = module.run.input_signature
    assert (spec.shape.as_list(), spec.dtype) == ([None, 3], tf.float32)
    assert module.run.get_concrete_function().outputs[0].shape.as_list() == [None, 3]
    assert module(X[:2].astype(np.float64)).shape == (2, 3)
    assert module([[1, 2, 3]]).dtype == tf.float32


def test_inputs_can_be_given_by_tensor_op_or_parameter(net: Net) -> None:
    module = clone(tgw.edit(net.__call__))
    expected = net(X).numpy()
    for named in ({"x:0": X}, {"x": X}):
        np.testing.assert_allclose(module(**named), expected, rtol=1e-5)
    with pytest.raises(UnknownName, match="no input 'y'"):
        module(y=X)


def test_a_saved_clone_gives_the_same_numbers_in_a_fresh_process(
    net: Net, tmp_path: Path, warm_python: list[str]
) -> None:
    module = clone(tgw.edit(net.__call__))
    expected = module(X).numpy()
    tf.saved_model.save(module, str(tmp_path / "saved"))
    np.save(tmp_path / "x.npy", X)
    script = (
        "import sys, numpy as np, tensorflow as tf\n"
        "folder, x = sys.argv[1], np.load(sys.argv[2])\n"
        "loaded = tf.saved_model.load(folder)\n"
        "np.save(sys.argv[3], loaded(x))\n"
        "np.save(sys.argv[4], loaded.signatures['serving_default'](x=tf.constant(x))['output_0'])\n"
    )
    paths = [str(tmp_path / name) for name in ("saved", "x.npy", "y.npy", "z.npy")]
    subprocess.run([*warm_python, "-c", script, *paths], check=True)
    for name in ("y.npy", "z.npy"):
        np.testing.assert_allclose(np.load(tmp_path / name), expected, rtol=1e-5)


def test_a_loaded_clone_can_be_trained_on(net: Net, tmp_path: Path) -> None:
    module = clone(tgw.edit(net.__call__))
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    (mine,) = [v for v in loaded.own if v.trainable]
    expected = gradients(module, X, [module["net/w"]])
    np.testing.assert_allclose(gradients(loaded, X, [mine])[0], expected[0], rtol=1e-4)


def test_a_clone_can_be_opened_and_cloned_again(net: Net) -> None:
    module = clone(tgw.edit(clone(tgw.edit(net.__call__)).run), into="second")
    np.testing.assert_allclose(module(X), net(X), rtol=1e-5)


def test_shared_variables_are_the_originals_and_the_module_lists_them(net: Net) -> None:
    module = clone(tgw.edit(net.__call__), variables="shared")
    assert {id(v) for v in module.variables} == {id(v) for v in net.variables}
    net.w.assign(net.w * 2.0)
    np.testing.assert_allclose(module(X), net(X), rtol=1e-5)


def test_a_mapping_says_which_variables_are_shared(net: Net) -> None:
    module = clone(tgw.edit(net.__call__), variables={"net/b": "shared", "net/calls:0": "own"})
    assert module.shared == [net.b]
    assert {v.name for v in module.own} == {"copy/net/w:0", "copy/net/calls:0"}
    assert [s.name for s in module.report.shared] == ["net/b"]
    assert {s.name for s in module.report.new} == {"net/w", "net/calls"}
    with pytest.raises(UnknownName, match="did you mean 'net/w'"):
        clone(tgw.edit(net.__call__), variables={"net/ww": "own"})


def test_a_function_that_a_function_calls_can_be_cloned(net: Net) -> None:
    editor = tgw.edit(net.__call__)
    editor.view.enter(
        next(name for name in editor._core.index.names if name.endswith("PartitionedCall"))
    )
    check_same(net.layer, clone(editor), X, [net.w])


def test_a_loop_s_body_becomes_one_step() -> None:
    w = tf.Variable(3.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([])])
    def power(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 4, lambda i, v: (i + 1, v * w), [0, x])[1]

    editor = tgw.edit(power)
    editor.view.enter(
        next(n.name for n in editor._core.index.nodes if n.op.endswith("While")), "body"
    )
    mul = next(n.name for n in editor._core.index.nodes if n.op == "Mul")
    value = next(n for n in editor._core.index.nodes if n.name == mul).input[0]
    step = clone(editor, [value], [mul])
    w.assign(0.0)
    assert step(5.0).numpy() == 15.0


def test_a_part_between_two_tensors_has_only_its_own_variables() -> None:
    model = keras.Sequential(
        [keras.Input((3,)), *(keras.layers.Dense(4, "relu", name=f"d{k}") for k in range(3))]
    )
    editor = tgw.edit(model)
    first, second, _ = [name for name in editor._core.index.names if name.endswith("Relu")]
    module = clone(editor, [first], [f"{second}:0"], "middle")
    assert sorted(v.name for v in module.variables) == [
        f"middle/{model.name}/d1/bias:0",
        f"middle/{model.name}/d1/kernel:0",
    ]
    hidden = model.layers[0](X)
    np.testing.assert_allclose(module(hidden), model.layers[1](hidden), rtol=1e-5)
    np.testing.assert_allclose(module(**{first: hidden}), model.layers[1](hidden), rtol=1e-5)


def test_several_outputs_come_in_their_order_and_are_named_in_the_signature(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([])])
    def ends(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"sum": x + y, "product": tf.multiply(x, y, name="inner")}

    editor = tgw.edit(ends)
    returns = editor._core.view.body.returns
    product, total = clone(editor, (), [returns["product"], returns["sum"]])([2.0], 3.0)
    assert (product.numpy().tolist(), total.numpy().tolist()) == ([6.0], [5.0])
    module = clone(editor)
    assert sorted(module.signature(tf.constant([2.0]), tf.constant(3.0))) == ["product", "sum"]
    tf.saved_model.save(module, str(tmp_path))
    served = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    assert served(x=tf.constant([2.0]), y=tf.constant(3.0))["sum"].numpy().tolist() == [5.0]


def test_a_keras_model_with_normalisation_and_dropout_is_cloned_for_inference() -> None:
    image = keras.Input((3,))
    hidden = keras.layers.BatchNormalization()(keras.layers.Dense(6, "silu")(image))
    skip = keras.layers.Dropout(0.5)(keras.layers.Dense(6, "gelu")(hidden))
    model = keras.Model(image, keras.layers.Dense(2)(keras.layers.Add()([hidden, skip])))
    model.layers[2].moving_mean.assign(np.arange(6.0))
    module = clone(tgw.edit(model))
    check_same(model, module, X, [v.value for v in model.trainable_variables])
    assert len(module.trainable_variables) == len(model.trainable_variables)


def test_a_keras_model_in_training_keeps_its_own_statistics_and_random_state() -> None:
    layers = [
        keras.layers.Dense(6),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.5, seed=3),
    ]
    model = keras.Sequential([keras.Input((3,)), *layers])
    train = tf.function(lambda x: model(x, training=True))
    train(X)
    module = clone(tgw.edit(train))
    before = [v.numpy() for v in model.variables]
    given = module(X)
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(before, model.variables, strict=True))
    np.testing.assert_allclose(given, train(X))
    for variable in model.variables:
        np.testing.assert_allclose(module[variable.value], variable.value)


def test_recurrent_layers_are_cloned_with_their_loops() -> None:
    layers = [keras.layers.LSTM(4, return_sequences=True), keras.layers.GRU(3)]
    model = keras.Sequential([keras.Input((4, 3)), *layers])
    x = np.random.default_rng(2).normal(size=(2, 4, 3)).astype(np.float32)
    check_same(model, clone(tgw.edit(model)), x, [v.value for v in model.trainable_variables])


@pytest.mark.parametrize(
    "save", [tf.saved_model.save, lambda model, folder: model.export(folder, verbose=False)]
)
def test_a_saved_keras_model_is_cloned_with_the_values_of_its_checkpoint(
    save: Any, tmp_path: Path
) -> None:
    image = keras.Input((3,))
    hidden = keras.layers.BatchNormalization()(keras.layers.Dense(6, "relu", name="dense")(image))
    model = keras.Model(image, keras.layers.Dense(2)(hidden))
    save(model, str(tmp_path / "model"))
    editor = tgw.edit(str(tmp_path / "model"))
    module = clone(editor)
    np.testing.assert_allclose(module(X), model(X), rtol=1e-5)
    assert len(module.trainable_variables) == len(model.trainable_variables)
    expected = gradients(model, X, [v.value for v in model.trainable_variables])
    found = gradients(module, X, module.trainable_variables)
    norms = [sorted(float(np.square(g).sum()) for g in of) for of in (expected, found)]
    np.testing.assert_allclose(norms[1], norms[0], rtol=1e-4)
    tf.saved_model.save(module, str(tmp_path / "again"))
    np.testing.assert_allclose(tf.saved_model.load(str(tmp_path / "again"))(X), model(X), rtol=1e-5)


def test_values_changed_in_the_session_of_a_file_are_the_present_ones(
    net: Net, tmp_path: Path
) -> None:
    tf.saved_model.save(net, str(tmp_path), signatures=net.__call__)
    editor = tgw.edit(str(tmp_path))
    first = clone(editor)["net/b"].numpy()
    session = editor.session
    with session.graph.as_default():
        handle = session.graph.get_tensor_by_name("net/b:0")
        session.run(
            tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant([7.0, 7.0, 7.0]))
        )
    assert first.tolist() == [1.0, 2.0, 3.0]
    assert clone(editor)["net/b"].numpy().tolist() == [7.0] * 3


class Words(tf.Module):
    """A table, an embedding, and a captured tensor too large to become a constant."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.table = table
        self.large = tf.range(300.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def __call__(self, words: tf.Tensor) -> tf.Tensor:
        return tf.gather(self.w, self.find(words)) + tf.reduce_sum(self.large)

    @tf.function
    def find(self, words: tf.Tensor) -> tf.Tensor:
        return self.table.lookup(words)


def _static() -> Any:
    pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    return tf.lookup.StaticHashTable(pairs, -1)


def _mutable() -> Any:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a", "b"]), tf.constant([0, 1], tf.int64))
    return table


@pytest.mark.parametrize("table", [_static, _mutable])
def test_a_lookup_table_is_copied_with_what_it_holds(table: Any, tmp_path: Path) -> None:
    words = Words(table())
    given = tf.constant(["b", "a", "b"])
    module = clone(tgw.edit(words.__call__))
    assert "hash table" in {state.kind for state in module.report.new}
    check_same(words, module, given, [words.w])
    expected = module(given).numpy()
    if isinstance(words.table, tf.lookup.experimental.MutableHashTable):
        words.table.insert(tf.constant(["b"]), tf.constant([0], tf.int64))
    np.testing.assert_allclose(module(given), expected)
    tf.saved_model.save(module, str(tmp_path))
    np.testing.assert_allclose(tf.saved_model.load(str(tmp_path))(given), expected)


def test_a_shared_table_is_reported_and_is_the_original_s() -> None:
    words = Words(_mutable())
    module = clone(tgw.edit(words.__call__), variables="shared")
    words.table.insert(tf.constant(["b"]), tf.constant([0], tf.int64))
    assert module(["b"]).numpy().tolist() == words(tf.constant(["b"])).numpy().tolist()
    assert {state.kind for state in module.report.shared} == {"variable", "resource"}


@pytest.mark.parametrize("table", [_static, _mutable])
def test_a_module_that_shares_a_table_is_saved_with_what_it_holds(
    table: Any, tmp_path: Path
) -> None:
    words = Words(table())
    given = tf.constant(["b", "a", "b"])
    editor = tgw.edit(words.__call__)
    other = tgw.edit(bytes(editor))
    for k, module in enumerate(
        (editor.to_module(), clone(editor, variables="shared"), other.to_module())
    ):
        tf.saved_model.save(module, str(tmp_path / f"{k}"))
        np.testing.assert_allclose(tf.saved_model.load(str(tmp_path / f"{k}"))(given), words(given))


def test_a_table_of_a_saved_model_is_read_from_the_file(tmp_path: Path) -> None:
    words = Words(_static())
    tf.saved_model.save(words, str(tmp_path), signatures=words.__call__)
    editor = tgw.edit(str(tmp_path))
    assert not any(n.op == "LookupTableExportV2" for n in editor._core.index.nodes)
    check_same(words, clone(editor), tf.constant(["b", "a"]), [words.w])


class TwoTables(tf.Module):
    """Tables whose values are of two dtypes, and of which one has values of several numbers."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.numbers = kind(tf.int64, -1)
        self.weights = kind(tf.float32, 0.5)
        self.pairs = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
        self.pairs.insert(["a"], [[5.0, 6.0]])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def __call__(self, words: tf.Tensor) -> tf.Tensor:
        once = tf.cast(self.numbers.lookup(words), tf.float32) * self.weights.lookup(words)
        return once[:, None] + self.pairs.lookup(words)


def _filled_static(dtype: Any, default: Any) -> Any:
    pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], dtype))
    return tf.lookup.StaticHashTable(pairs, default)


def _filled_mutable(dtype: Any, default: Any) -> Any:
    table = tf.lookup.experimental.MutableHashTable(tf.string, dtype, default)
    table.insert(["a", "b"], tf.constant([1, 2], dtype))
    return table


@pytest.mark.parametrize("kind", [_filled_static, _filled_mutable])
@pytest.mark.parametrize("is_saved", [False, True])
def test_tables_of_several_dtypes_are_each_copied(
    kind: Any, is_saved: bool, tmp_path: Path
) -> None:
    tables, given = TwoTables(kind), tf.constant(["b", "a", "c"])
    expected = tables(given).numpy().tolist()
    if is_saved:
        tf.saved_model.save(tables, str(tmp_path), signatures=tables.__call__)
    module = tgw.edit(str(tmp_path) if is_saved else tables.__call__).to_module()
    result = module(given)
    assert (
        next(iter(result.values())) if isinstance(result, dict) else result
    ).numpy().tolist() == expected


def test_a_table_in_a_called_function_is_found() -> None:
    words = Words(_static())
    editor = tgw.edit(words.__call__)
    editor.view.enter(
        next(name for name in editor._core.index.names if name.endswith("PartitionedCall"))
    )
    assert clone(editor)(["b", "a"]).numpy().tolist() == [1, 0]


def test_a_function_that_a_live_graph_calls_takes_its_values_from_the_session() -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", [3, 3], use_resource=True)
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        y = tf.function(lambda x: tf.tanh(x @ w))(x)
        initialise = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.view.enter(
            next(name for name in editor._core.index.names if name.endswith("PartitionedCall"))
        )
        with pytest.raises(SessionRefused, match="initialize"):
            clone(editor)
        session.run(initialise)
        ops = len(graph.get_operations())
        module = clone(editor)
        np.testing.assert_allclose(module(X), session.run(y, {x: X}), rtol=1e-5)
        assert clone(editor, init="initial").own[0].shape == (3, 3)
        with pytest.raises(NotClonable, match='clone with variables="own"'):
            clone(editor, variables="shared")
        assert len(graph.get_operations()) == ops


def test_a_custom_gradient_follows_the_clone_s_own_variables() -> None:
    class Custom(tf.Module):
        def __init__(self, w: float) -> None:
            super().__init__()
            self.w = tf.Variable(w, name="w")

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            outside = self.w * x

            @tf.custom_gradient
            def odd(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
                return tf.sin(x), lambda dy: dy * self.w * 7.0 * tf.cos(outside)

            @tf.custom_gradient
            def odder(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
                return x * self.w, lambda dy, variables=(): (
                    dy * 3.0,
                    [tf.reduce_sum(dy) * 11.0 for _ in variables],
                )

            return odder(odd(outside))

    original = Custom(2.0)
    x = tf.constant([0.1, 0.2, 0.3])
    module = clone(tgw.edit(original.__call__))
    check_same(original, module, x, [original.w])
    module["w"].assign(5.0)
    other = Custom(5.0)
    np.testing.assert_allclose(
        gradients(module, x, [module["w"]]), gradients(other, x, [other.w]), rtol=1e-5
    )


def test_a_custom_gradient_in_a_called_function_follows_too() -> None:
    w = tf.Variable(2.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def inner(x: tf.Tensor) -> tf.Tensor:
        scaled = x * w

        @tf.custom_gradient
        def odd(y: tf.Tensor) -> tuple[tf.Tensor, Any]:
            return tf.sin(y), lambda dy: dy * w * 7.0 * tf.cos(scaled)

        return odd(scaled)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def twice(x: tf.Tensor) -> tf.Tensor:
        return inner(tf.nn.silu(inner(x))) * w

    x = tf.constant([0.1, 0.2, 0.3])
    module = clone(tgw.edit(twice))
    check_same(twice, module, x, [w])
    module["w"].assign(3.0)
    given = module(x).numpy(), gradients(module, x, [module["w"]])
    w.assign(3.0)
    np.testing.assert_allclose(given[0], twice(x), rtol=1e-5)
    np.testing.assert_allclose(given[1], gradients(twice, x, [w]), rtol=1e-5)


def test_a_saved_model_that_ends_in_a_called_function_is_cloned_whole(
    net: Net, tmp_path: Path
) -> None:
    tf.saved_model.save(net, str(tmp_path), signatures=net.__call__)
    check_same(net, clone(tgw.edit(str(tmp_path))), X, [net.w])


def test_the_gradient_of_a_custom_gradient_out_of_reach_is_an_error_and_never_the_original_s() -> (
    None
):
    @tf.function(input_signature=[tf.TensorSpec([])])
    def cut(x: tf.Tensor) -> tf.Tensor:
        far = tf.square(x, name="far")

        @tf.custom_gradient
        def odd(y: tf.Tensor) -> tuple[tf.Tensor, Any]:
            return tf.identity(y, name="near"), lambda dy: dy * far

        return odd(tf.exp(x, name="exp"))

    module = clone(tgw.edit(cut), ["exp"])
    assert module(3.0).numpy() == 3.0
    x = tf.Variable(3.0)
    with (
        pytest.raises(NotClonable, match=r"The gradient of 'copy/IdentityN' is that of .*"),
        tf.GradientTape(),
    ):
        module(x)


def test_a_python_function_runs_and_is_reported() -> None:
    w = tf.Variable(2.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([])])
    def python(x: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.py_function(lambda v: v * v, [x * w], tf.float32), [])

    module = clone(tgw.edit(python))
    check_same(python, module, tf.constant(3.0), [w])
    assert "runs nowhere else" in module.report.dropped[0]


def test_what_hangs_on_another_argument_is_refused_with_the_tensor_to_add() -> None:
    @tf.function(input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])
    def scaled(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
        return tf.multiply(tf.exp(x, name="exp"), tf.square(scale, name="squared"), name="out")

    editor = tgw.edit(scaled)
    with pytest.raises(
        NotClonable, match="'squared:0', which hangs on the function's argument 'scale'"
    ) as refused:
        clone(editor, ["exp"], ["out"])
    assert refused.value.ops == ("squared",)
    assert clone(editor, ["exp", "squared:0"], ["out"])(2.0, 3.0).numpy() == 6.0
    assert clone(editor, (), ["exp"]).inputs == ("x:0",)


def test_a_side_effect_on_the_way_stays_with_the_copy_and_one_after_it_does_not(net: Net) -> None:
    @tf.function(input_signature=[tf.TensorSpec([])])
    def counted(x: tf.Tensor) -> tf.Tensor:
        y = tf.exp(x, name="exp")
        net.calls.assign_add(1)
        return tf.identity(y, name="end")

    editor = tgw.edit(counted)
    whole, part = clone(editor), clone(editor, ["x"], ["exp"])
    whole(1.0)
    assert (whole["net/calls"].numpy(), net.calls.numpy()) == (1, 0)
    assert part.own == []
    assert [kind for kind, _ in whole.report.stateful] == ["AssignAddVariableOp"]


def test_a_clone_can_be_made_while_a_graph_is_the_default_one(net: Net) -> None:
    editor = tgw.edit(net.__call__)
    with tf.Graph().as_default(), v1.name_scope("elsewhere"):
        module = clone(editor)
    assert [v.name for v in module.trainable_variables] == ["copy/net/w:0"]
    np.testing.assert_allclose(module(X), net(X), rtol=1e-5)


def test_refusals_name_the_way_out(net: Net) -> None:
    editor = tgw.edit(net.__call__)
    for error, options in (
        (NameTaken, {"into": "no scope"}),
        (GraphEditError, {"init": "none"}),
        (SessionRefused, {"init": "initial"}),
        (GraphEditError, {"init": "random"}),
        (GraphEditError, {"variables": "stolen"}),
    ):
        with pytest.raises(error):
            clone(editor, **options)
    with pytest.raises(NoPath, match="swap"):
        clone(editor, [editor._core.view.body.returns["output_0"]], ["x"])


def test_variables_of_one_name_are_found_by_the_variable_itself() -> None:
    twins = [tf.Variable(value, name="twin") for value in (1.0, 2.0, 3.0)]
    layer = keras.layers.Dense(1)
    layer.build([None, 1])
    function = tf.function(lambda x: layer(x * twins[0] + twins[1]) * twins[2], autograph=False)
    editor = tgw.edit(function, signature=[tf.TensorSpec([None, 1])])
    copy = editor.clone(into="copy", variables={editor.ops(twins[2]).ops[0]: "shared"})
    assert [float(copy[twin]) for twin in twins] == [1.0, 2.0, 3.0]
    assert copy[twins[2]] is twins[2]
    assert len({id(copy[twin]) for twin in twins}) == 3
    assert copy[layer.kernel].shape == layer.kernel.shape
    assert editor.ops(*twins).ops == ("twin", "twin_1", "twin_2")
    with pytest.raises(UnknownName, match="reads no variable"):
        copy[tf.Variable(1.0, name="other")]


@pytest.mark.parametrize(
    "options",
    [{"device": "Const"}, {"device": {"net": "x"}}, {"devices": ["/CPU:0", "x"]}],
    ids=str,
)
def test_a_device_that_is_none_is_refused_before_anything_is_made(options: dict[str, Any]) -> None:
    weights = tf.Variable([[2.0]], name="weights")

    @tf.function
    def network(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("net"):
            return tf.nn.relu(x @ weights, name="out")

    editor = tgw.edit(network.get_concrete_function(tf.TensorSpec([None, 1], tf.float32, name="x")))
    for call in (editor.clone, partial(editor.preview, editor.clone)):
        with pytest.raises(
            GraphEditError, match=r"the device of op '.+', is not written as TensorFlow writes one"
        ):
            call("x", "net/out", into="copy", **options)
    assert editor.history.done == ()
    assert not editor._core.executor.copies


def test_a_variable_that_no_device_takes_is_refused_in_a_sentence() -> None:
    weight = tf.Variable([1.0, 2.0], name="w")
    editor = tgw.edit(tf.function(lambda x: x * weight).get_concrete_function(tf.TensorSpec([2])))
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(
            SessionRefused, match=r"'copy/w' cannot be made on '/gpu:7': .*; give another device"
        ):
            editor.clone("x:0", "Identity:0", into="copy", device="/gpu:7")
    finally:
        tf.config.set_soft_device_placement(True)
        context()._soft_device_placement = None  # as before: sessions would read True
    assert editor.clone("x:0", "Identity:0", into="copy", device="").trainable_variables
