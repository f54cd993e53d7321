"""Gradients of modules and clones are those of the function, for loops in loops and all else that
TensorFlow makes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.slow import slow_if
from tfgraphwidget.errors import NotClonable

layers = keras.layers
X = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)

Body = Callable[[Any, Any], Any]
CASES: dict[str, Body] = {}


def case(body: Body) -> Body:
    """A function of a tensor [4, 5, 3] and a variable [3, 3]."""
    CASES[body.__name__.strip("_")] = body
    return body


@case
def loop_in_a_loop(x: Any, w: Any) -> Any:
    def outer(i: Any, a: Any) -> Any:
        inner = tf.while_loop(
            lambda j, *_: j < 2, lambda j, b: (j + 1, tf.tanh(b @ w) * 0.5), (0, a)
        )
        return i + 1, inner[1] + a

    return tf.while_loop(lambda i, *_: i < 3, outer, (0, x))[1]


@case
def loop_of_a_fixed_count(x: Any, w: Any) -> Any:
    return tf.while_loop(
        lambda i, *_: i < 5, lambda i, a: (i + 1, tf.tanh(a @ w)), (0, x), maximum_iterations=3
    )[1]


@case
def loop_of_numbers_alone(x: Any, w: Any) -> Any:
    def outer(i: Any, a: Any) -> Any:
        return i + 1, tf.while_loop(lambda j, *_: j < 1, lambda j, b: (j + 1, b * 0.5), (0, a))[1]

    return tf.while_loop(lambda i, *_: i < 1, outer, (0, x @ w))[1]


@case
def conditional_in_a_loop(x: Any, w: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(tf.reduce_sum(a) > 0, lambda: a @ w, lambda: a * tf.reduce_sum(w))

    return tf.while_loop(lambda i, *_: i < 3, body, (0, x * 0.1))[1]


@case
def loop_in_a_conditional(x: Any, w: Any) -> Any:
    def loop() -> Any:
        return tf.while_loop(lambda i, *_: i < 3, lambda i, a: (i + 1, tf.tanh(a @ w)), (0, x))[1]

    return tf.cond(tf.reduce_sum(x) > -1e9, loop, lambda: x)


@case
def conditional_in_a_conditional(x: Any, w: Any) -> Any:
    def inner() -> Any:
        return tf.cond(tf.reduce_max(x) > 1e9, lambda: x, lambda: tf.exp(x @ w * 0.1))

    return tf.cond(tf.reduce_sum(x) < 1e9, inner, lambda: x * 0.0)


@case
def cases_of_a_switch(x: Any, w: Any) -> Any:
    return tf.switch_case(tf.constant(1), [lambda: x, lambda: x @ w @ w, lambda: x * 2])


@case
def loop_in_a_switch_in_a_loop(x: Any, w: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        def loop() -> Any:
            return tf.while_loop(lambda j, *_: j < 2, lambda j, b: (j + 1, tf.tanh(b @ w)), (0, a))[
                1
            ]

        return i + 1, tf.switch_case(i % 2, [loop, lambda: a * 0.5])

    return tf.while_loop(lambda i, *_: i < 4, body, (0, x))[1]


@case
def map_fn(x: Any, w: Any) -> Any:
    return tf.map_fn(lambda row: tf.tanh(row @ w), x)


@case
def map_fn_in_map_fn(x: Any, w: Any) -> Any:
    return tf.map_fn(lambda rows: tf.map_fn(lambda row: tf.linalg.matvec(w, row) ** 2, rows), x)


@case
def scan(x: Any, w: Any) -> Any:
    return tf.scan(lambda state, row: tf.tanh(state @ w + row), x)


@case
def foldl(x: Any, w: Any) -> Any:
    return tf.foldl(lambda state, row: tf.tanh(state @ w) + row, x)


@case
def vectorized_map(x: Any, w: Any) -> Any:
    return tf.vectorized_map(lambda row: tf.tanh(row @ w), x)


@case
def tensor_array(x: Any, w: Any) -> Any:
    array = tf.TensorArray(tf.float32, 4)
    for k in tf.range(4):
        array = array.write(k, tf.tanh(x[k] @ w))
    return array.stack()


@case
def tensor_list_that_grows(x: Any, w: Any) -> Any:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    state = x[0]
    for k in tf.range(3):
        state = tf.tanh(state @ w)
        array = array.write(k, state)
    return array.concat()


@case
def break_and_continue(x: Any, w: Any) -> Any:
    y = x
    for k in tf.range(10):
        if k == 1:
            continue
        if k > 3:
            break
        y = tf.tanh(y @ w)
    return y


@case
def recompute_grad(x: Any, w: Any) -> Any:
    return tf.recompute_grad(lambda a: tf.tanh(a @ w))(x)


@case
def custom_gradient(x: Any, w: Any) -> Any:
    @tf.custom_gradient
    def doubled(a: Any) -> Any:
        return a * 1.0, lambda upstream: upstream * 2.0

    return doubled(x @ w)


@case
def custom_gradient_that_reads_a_variable(x: Any, w: Any) -> Any:
    @tf.custom_gradient
    def halved(a: Any) -> Any:
        def gradient(upstream: Any, variables: Any = None) -> Any:
            by_variable = [tf.reduce_sum(tf.matmul(a, upstream, transpose_a=True), 0)]
            return tf.matmul(upstream, w, transpose_b=True) * 0.5, by_variable[
                : len(variables or ())
            ]

        return a @ w, gradient

    return halved(x)


@case
def custom_gradient_of_a_called_function(x: Any, w: Any) -> Any:
    @tf.custom_gradient
    def clipped(a: Any) -> Any:
        b = a @ a
        return b, lambda upstream: tf.clip_by_value(upstream @ tf.transpose(a), -1.0, 1.0)

    return tf.function(clipped)(w) + tf.reduce_sum(x)


def odd(a: Any) -> Any:
    """tanh with a gradient that is not its own."""
    return tf.custom_gradient(lambda a: (tf.tanh(a), lambda upstream: upstream * 7.0 * a))(a)


@case
def custom_gradient_in_a_loop(x: Any, w: Any) -> Any:
    return tf.while_loop(lambda i, *_: i < 3, lambda i, a: (i + 1, odd(a @ w)), (0, x * 0.1))[1]


@case
def custom_gradient_in_a_conditional(x: Any, w: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > -1e9, lambda: odd(x @ w), lambda: x)


@case
def custom_gradient_in_a_call_in_a_conditional_in_a_loop(x: Any, w: Any) -> Any:
    layer = tf.function(lambda a: odd(a @ w), autograph=False)

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i < 2, lambda: layer(a), lambda: a)

    return tf.while_loop(lambda i, *_: i < 3, body, (0, x * 0.1))[1]


@case
def custom_gradient_that_reads_what_no_result_needs(x: Any, w: Any) -> Any:
    far = tf.sin(x @ w)
    return tf.custom_gradient(lambda a: (a * 1.0, lambda upstream: upstream * far))(x)


@case
def custom_gradient_of_a_call_that_alone_reads_a_variable(x: Any, w: Any) -> Any:
    rule = tf.custom_gradient(lambda a: (a * 1.0, lambda upstream: upstream * tf.reduce_sum(w)))
    return tf.function(rule, autograph=False)(x @ w)


@case
def call_in_a_loop(x: Any, w: Any) -> Any:
    layer = tf.function(lambda a: tf.tanh(a @ w), autograph=False)
    return tf.while_loop(lambda i, *_: i < 3, lambda i, a: (i + 1, layer(a)), (0, x))[1]


@case
def loop_in_a_call_in_a_loop(x: Any, w: Any) -> Any:
    @tf.function
    def layer(a: Any) -> Any:
        for _ in tf.range(2):
            a = tf.tanh(a @ w)
        return a

    return tf.while_loop(lambda i, *_: i < 2, lambda i, a: (i + 1, layer(a)), (0, x))[1]


@case
def compiled_call(x: Any, w: Any) -> Any:
    return tf.function(lambda a: tf.tanh(a @ w), autograph=False, jit_compile=True)(x)


@case
def variable_changed_in_a_loop(x: Any, w: Any) -> Any:
    y = x
    for _ in tf.range(2):
        y = tf.tanh(y @ w)
        y = tf.ensure_shape(y, [4, 5, 3])
    return y


@case
def gather_and_scatter(x: Any, w: Any) -> Any:
    rows = tf.gather(w, [0, 2, 2])
    return x @ tf.tensor_scatter_nd_add(w, [[1]], tf.reduce_sum(rows, 0, keepdims=True))


@case
def sparse_reads_of_a_variable(x: Any, w: Any) -> Any:
    return x * tf.reduce_sum(tf.nn.embedding_lookup(w, [0, 1, 1]))


@case
def ragged_rows(x: Any, w: Any) -> Any:
    flat = tf.reshape(x @ w, [-1])
    return tf.reduce_sum(tf.RaggedTensor.from_row_lengths(flat, [10, 0, 50]) ** 2, axis=1)


@case
def einsum_and_linear_algebra(x: Any, w: Any) -> Any:
    symmetric = w @ tf.transpose(w) + tf.eye(3)
    return tf.einsum("btc,cd->btd", x, tf.linalg.inv(symmetric)) + tf.linalg.logdet(symmetric)


@case
def attention_with_masks(x: Any, w: Any) -> Any:
    scores = tf.matmul(x @ w, x, transpose_b=True)
    mask = tf.linalg.band_part(tf.ones([5, 5]), -1, 0)
    return tf.nn.softmax(tf.where(mask > 0, scores, -1e9)) @ x


@case
def gradient_inside_the_function(x: Any, w: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.tanh(x @ w))
    return tape.gradient(y, x) * x


@case
def stopped_gradient_in_a_loop(x: Any, w: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.stop_gradient(a) * 0.5 + tf.tanh(a @ w)

    return tf.while_loop(lambda i, *_: i < 3, body, (0, x))[1]


def gradients(function: Any, x: Any, variables: Any) -> list[Any]:
    """The gradients of a squared sum on the input and variables, as arrays."""
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(function(x) ** 2)
    found = tape.gradient(loss, [x, *variables])
    return [None if g is None else tf.convert_to_tensor(g).numpy() for g in found]


def check_same(function: Any, made: Any, x: Any, pairs: Any) -> None:
    """Values and gradients of two functions; `pairs` are their variables."""
    np.testing.assert_allclose(made(x), function(x), rtol=1e-4, atol=1e-5)
    expected = gradients(function, x, [a for a, _ in pairs])
    found = gradients(made, x, [b for _, b in pairs])
    assert any(g is not None and np.abs(g).sum() > 0 for g in expected)
    for a, b in zip(expected, found, strict=True):
        if a is None:
            assert b is None or not b.any()  # 0, where a gradient alone reads the variable
        else:
            np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("taken_before", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(3)
def test_gradients_of_the_module_and_of_a_clone_are_the_function_s(
    name: str, taken_before: bool
) -> None:
    w = tf.Variable(W, name="w")
    body = CASES[name]
    function = tf.function(
        lambda x: body(x, w), input_signature=[tf.TensorSpec([4, 5, 3], name="x")]
    )
    if (
        taken_before
    ):  # TensorFlow adds what it needs for them to the function's loops and conditionals
        gradients(function, X, [w])
    editor = tgw.edit(function)
    module, copy = editor.to_module(), editor.clone(into="copy")
    check_same(function, module, X, [(w, w)])
    check_same(function, copy, X, [(w, copy["w"])])


def rnn(cell: Any, **options: Any) -> keras.Model:
    inputs = keras.Input([5, 3])
    return keras.Model(inputs, cell(4, **options)(inputs))


def masked() -> keras.Model:
    inputs = keras.Input([5, 3])
    hidden = layers.Masking(0.0)(inputs)
    return keras.Model(inputs, layers.Bidirectional(layers.LSTM(4, return_sequences=True))(hidden))


def transformer() -> keras.Model:
    inputs = keras.Input([5, 3])
    attended = layers.MultiHeadAttention(2, 4)(inputs, inputs, use_causal_mask=True)
    hidden = layers.LayerNormalization()(inputs + attended)
    return keras.Model(inputs, layers.Dense(3, activation="gelu")(hidden))


def convolution() -> keras.Model:
    inputs = keras.Input([5, 3])
    hidden = layers.BatchNormalization()(layers.Conv1D(4, 3, padding="same")(inputs))
    return keras.Model(inputs, layers.GlobalAveragePooling1D()(layers.ReLU()(hidden)))


MODELS: dict[str, Callable[[], keras.Model]] = {
    "lstm": lambda: rnn(layers.LSTM),
    "lstm_unrolled": lambda: rnn(layers.LSTM, unroll=True),
    "gru": lambda: rnn(layers.GRU, return_sequences=True),
    "gru_backwards": lambda: rnn(layers.GRU, go_backwards=True, reset_after=False),
    "simple": lambda: rnn(layers.SimpleRNN),
    "masked bidirectional": masked,
    "transformer": transformer,
    "convolution": convolution,
}


@pytest.mark.parametrize(
    "name", slow_if({"gru_backwards", "masked bidirectional"}.__contains__, MODELS)
)
@pytest.mark.sample(2)
def test_gradients_of_recurrent_and_attention_models_are_the_model_s(name: str) -> None:
    keras.utils.set_random_seed(0)
    model = MODELS[name]()
    x = X.copy()
    x[1, 3:] = 0
    editor = tgw.edit(model)
    variables = [v.value for v in model.trainable_variables]
    module, copy = editor.to_module(), editor.clone(into="copy")
    check_same(model, module, x, [(v, v) for v in variables])
    check_same(model, copy, x, [(v.value, copy[v.path]) for v in model.trainable_variables])


def test_a_compiled_function_is_one_in_the_module() -> None:
    w = tf.Variable(W, name="w")
    spec = [tf.TensorSpec([4, 5, 3], name="x")]
    function = tf.function(lambda x: tf.tanh(x @ w), input_signature=spec, jit_compile=True)
    module = tgw.edit(function).to_module()
    check_same(function, module, X, [(w, w)])


def test_gradients_of_an_edited_loop_in_a_loop_are_those_of_the_loop_written_so() -> None:
    w = tf.Variable(W, name="w")

    def nested(x: Any, factor: float) -> Any:
        def outer(i: Any, a: Any) -> Any:
            return i + 1, tf.while_loop(
                lambda j, *_: j < 2, lambda j, b: (j + 1, tf.tanh(b @ w) * factor), (0, a)
            )[1]

        return tf.while_loop(lambda i, *_: i < 2, outer, (0, x))[1]

    spec = [tf.TensorSpec([4, 5, 3], name="x")]
    function = tf.function(lambda x: nested(x, 0.5), input_signature=spec)
    editor = tgw.edit(function)
    for _ in range(2):
        index = editor._core.index
        (loop,) = [
            name
            for name, kind in zip(index.names, index.types, strict=True)
            if kind.endswith("While")
        ]
        editor.view.enter(loop, "body")
    index = editor._core.index
    (scale,) = editor.ops(type="Mul").ops
    (factor,) = [
        index.names[i] for i in index.input_lists[index.ids[scale]] if index.types[i] == "Const"
    ]
    editor.set_constant(f"{factor}:0", 0.25)
    editor.view.leave(0)
    check_same(lambda x: nested(x, 0.25), editor.to_module(), X, [(w, w)])


def numeric_gradient(function: Any, x: Any) -> Any:
    """The gradient of a squared sum on the input by central differences, in float64."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = x.copy()
            moved[place] += step
            ends.append(float(tf.reduce_sum(function(tf.constant(moved)) ** 2)))
        found[place] = (ends[0] - ends[1]) / 2e-5
    return found


def test_a_conditional_around_a_loop_with_gradients_is_edited_and_has_its_own_gradient() -> None:
    w = tf.Variable(W.astype(np.float64), name="w")

    def compute(x: Any) -> Any:
        def loop() -> Any:
            return tf.while_loop(lambda i, *_: i < 3, lambda i, a: (i + 1, tf.tanh(a @ w)), (0, x))[
                1
            ]

        return tf.cond(tf.reduce_sum(x) > -1e9, loop, lambda: x)

    x = X[0].astype(np.float64)
    inner = tf.function(compute)
    function = tf.function(
        lambda x: inner(x) * 1.0, input_signature=[tf.TensorSpec([5, 3], tf.float64, name="x")]
    )
    gradients(function, x, [w])
    editor = tgw.edit(function)
    editor.view.enter(
        next(name for name in editor._core.index.names if editor.view.called_functions(name))
    )
    editor.view.enter(
        next(name for name in editor._core.index.names if editor.view.called_functions(name)),
        "then_branch",
    )
    editor.view.enter(
        next(name for name in editor._core.index.names if editor.view.called_functions(name)),
        "body",
    )
    editor.insert(editor.ops(type="Tanh").ops[0], lambda t: t * 0.5)
    editor.view.leave(0)
    module = editor.to_module()
    np.testing.assert_allclose(
        gradients(module, x, [])[0], numeric_gradient(module, x), rtol=1e-6, atol=1e-8
    )


def test_the_gradient_of_a_loop_that_reads_what_is_outside_of_it_alone_is_refused(
    tmp_path: Path,
) -> None:
    def compute(x: Any) -> Any:
        far = tf.sin(x)
        rule = tf.custom_gradient(lambda a: (a * 2.0, lambda upstream: upstream * far))
        return tf.while_loop(lambda i, *_: i < 3, lambda i, a: (i + 1, rule(a)), (0, x))[1]

    function = tf.function(compute, input_signature=[tf.TensorSpec([4, 5, 3], name="x")])
    module = tgw.edit(function).to_module()
    with pytest.raises(
        NotClonable, match=r"The gradient of 'while/IdentityN' of the function .*tf\.stop_gradient"
    ):
        gradients(module, X, [])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.run(X), function(X), rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.stop_gradient"):
        gradients(loaded.run, X, [])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("custom_gradient")])
def test_a_module_with_a_custom_gradient_is_saved(name: str, tmp_path: Path) -> None:
    w = tf.Variable(W, name="w")
    body = CASES[name]
    function = tf.function(
        lambda x: body(x, w), input_signature=[tf.TensorSpec([4, 5, 3], name="x")]
    )
    tf.saved_model.save(tgw.edit(function).to_module(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.run(X), function(X), rtol=1e-4, atol=1e-5)
    if name in (
        "custom_gradient",
        "custom_gradient_that_reads_a_variable",
        "custom_gradient_of_a_called_function",
    ):  # TensorFlow loads none in loops
        np.testing.assert_allclose(
            gradients(loaded.run, X, [])[0], gradients(function, X, [])[0], rtol=1e-4
        )


def test_second_derivatives_are_those_of_the_function() -> None:
    function = tf.function(
        lambda x: tf.reduce_sum(tf.tanh(x) ** 3), input_signature=[tf.TensorSpec([3])]
    )
    module = tgw.edit(function).to_module()
    x = tf.constant([0.1, 0.5, -0.3])

    def hessian(f: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        return outer.jacobian(first, x)

    np.testing.assert_allclose(hessian(module), hessian(function), rtol=1e-4, atol=1e-6)


def test_a_copy_of_a_loop_in_a_loop_in_a_graph_has_the_gradient_of_the_original() -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = tf.compat.v1.get_variable("w", initializer=W, use_resource=True)
        x = tf.compat.v1.placeholder(tf.float32, [4, 5, 3], name="x")
        y = tf.identity(tf.function(CASES["loop_in_a_loop"])(x, w), name="y")
    with tf.compat.v1.Session(graph=graph) as session:
        session.run(w.initializer)
        editor = tgw.edit(graph, session=session)
        copy = editor.clone("x:0", "y:0", into="copy")
        with graph.as_default():
            expected = tf.gradients(tf.reduce_sum(y**2), [w])
            found = tf.gradients(tf.reduce_sum(copy["y:0"] ** 2), [copy["w:0"]])
    with tf.compat.v1.Session(graph=graph) as session:
        session.run(w.initializer)
        session.run([v.initializer for v in copy.variables])
        a, b = session.run([expected, found], {x: X})
    np.testing.assert_allclose(b[0], a[0], rtol=1e-4)


@pytest.mark.parametrize(
    "name", ["loop_in_a_loop", "conditional_in_a_loop", "map_fn_in_map_fn", "call_in_a_loop"]
)
def test_a_function_s_loops_in_a_graph_have_its_gradients(name: str) -> None:
    w, body = tf.Variable(W, name="w"), CASES[name]
    function = tf.function(
        lambda x: body(x, w), input_signature=[tf.TensorSpec([4, 5, 3], name="x")]
    )
    expected = gradients(function, X, [w])
    graph = tf.Graph()
    with tf.compat.v1.Session(graph=graph) as session:
        copy = tgw.edit(function).clone(into="copy", graph=graph, session=session)
        with graph.as_default():
            loss = tf.reduce_sum(copy["output_0"] ** 2)
            made = tf.gradients(loss, [copy["x:0"], copy["w:0"]])
    with tf.compat.v1.Session(graph=graph) as session:
        copy.sync(session=session)
        found = session.run(made, {copy["x:0"]: X})
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_custom_gradient_in_a_called_function_stays_when_the_function_is_edited(
    jit_compile: bool,
) -> None:
    w, x = tf.Variable(W), tf.constant(X)

    def edited(factor: float, offset: float) -> Callable[[Any], Any]:
        rule = tf.custom_gradient(
            lambda a: (tf.nn.relu(a) * factor, lambda upstream: upstream * tf.abs(a))
        )
        return tf.function(lambda a: rule(a @ w + offset), autograph=False, jit_compile=jit_compile)

    inner = edited(1.0, 0.0)
    outer = tf.function(
        lambda a: tf.tanh(inner(a)), input_signature=[tf.TensorSpec([4, 5, 3])], autograph=False
    )
    editor = tgw.edit(outer)
    call = next(name for name in editor._core.index.names if editor.view.called_functions(name))
    editor.view.enter(call)
    editor.insert(editor.ops(type="Relu").ops[0], lambda t: t * 2.0)
    for offset in (0.0, 1.0):
        if offset:
            editor.view.enter(call)
            editor.insert(editor.ops(type="BatchMatMulV2").ops[0], lambda t: t + 1.0)
        editor.view.leave(0)
        expected = edited(2.0, offset)
        found = [
            gradients(made, x, [w])
            for made in (editor.to_module(), lambda a, then=expected: tf.tanh(then(a)))
        ]
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_saved_custom_gradient_is_that_of_a_clone_of_its_saved_model(tmp_path: Path) -> None:
    @tf.custom_gradient
    def seventh(x: Any) -> Any:
        return x * x, lambda upstream: 7.0 * upstream * x  # not that of x * x

    module = tf.Module()
    module.w = tf.Variable([2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")])
    def compute(x: Any) -> Any:
        return {"y": seventh(tf.identity(module.w * x, name="product"))}

    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=compute)
    editor, x = tgw.edit(tmp_path / "saved"), tf.constant([1.0, 2.0])

    def gradient(copy: Any) -> list[float]:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(copy(x=x))
        return [float(number) for number in tape.gradient(y, copy.trainable_variables[0])]

    assert gradient(editor.clone(into="copy")) == [14.0, 84.0]  # 7 w x x
    product = next(name for name in editor._core.index.names if name.endswith("product"))
    editor.insert(f"{product}:0", lambda t: t * 0.5)
    assert gradient(editor.clone(into="half")) == [3.5, 21.0]  # of what the op reads now


def test_a_function_keeps_its_arguments_and_results_when_a_gradient_was_taken_of_it() -> None:
    w = tf.Variable(2.0)

    @tf.function
    def compute(pair: Any) -> Any:
        return {"y": tf.tanh(pair["a"] * w) * pair["b"]}

    pair = {"a": tf.constant(1.0), "b": tf.constant(3.0)}
    with tf.GradientTape() as tape:  # adds what the gradient needs to the outputs of the graph
        expected = compute(pair)["y"]
    tape.gradient(expected, w)
    editor = tgw.edit(compute)
    for copy in (editor.to_module(), editor.to_function(), editor.clone(into="copy")):
        found = copy(pair)
        assert list(found) == ["y"]
        assert float(found["y"]) == float(expected)


@pytest.mark.parametrize("saved", [False, True])
def test_a_custom_gradient_stays_when_its_ops_are_renamed(saved: bool, tmp_path: Path) -> None:
    @tf.custom_gradient
    def doubled(x: Any) -> Any:
        middle = tf.tanh(x, name="middle")
        return middle * 2.0, lambda upstream: 7.0 * upstream * middle  # not that of tanh(x) * 2

    module = tf.Module()
    compute = tf.function(
        lambda x: doubled(tf.identity(x, name="given")),
        input_signature=[tf.TensorSpec([2], name="x")],
    )
    module.compute = compute
    if saved:
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
        tf.saved_model.save(
            module,
            str(tmp_path / "saved"),
            signatures=compute.get_concrete_function(),
            options=options,
        )
    editor = tgw.edit(tmp_path / "saved" if saved else compute)
    ops = [
        name
        for name in editor._core.index.names
        if name.split("/")[-1] in ("middle", "given", "IdentityN")
    ]
    assert len(ops) == 3
    for k, op in enumerate(ops):
        editor.rename(op, f"other/{k}")
        editor.rename(f"other/{k}", f"another/{k}")
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nest.flatten(editor.to_module()(x))[0]
    np.testing.assert_allclose(tape.gradient(y, x), 7.0 * np.tanh([1.0, 2.0]), rtol=1e-6)


def test_a_custom_gradient_in_a_called_function_stays_when_its_op_is_renamed() -> None:
    # Not that of x * x.
    rule = tf.custom_gradient(lambda x: (x * x, lambda upstream: 7.0 * upstream * x))
    inner = tf.function(lambda x: rule(tf.identity(x)), autograph=False)
    outer = tf.function(
        lambda x: inner(x) + 1.0, input_signature=[tf.TensorSpec([2])], autograph=False
    )
    editor, x = tgw.edit(outer), tf.constant([1.0, 2.0])
    editor.view.enter(
        next(name for name in editor._core.index.names if editor.view.called_functions(name))
    )
    editor.rename(editor.ops(type="IdentityN").ops[0], "renamed")
    editor.view.leave(0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = editor.to_module()(x)
    assert tape.gradient(y, x).numpy().tolist() == [7.0, 14.0]
