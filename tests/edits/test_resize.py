"""SetInput: a placeholder of another shape or dtype, and the constants that still hold the old
size.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.function import Defun

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tests.edits.drafts import ran, saved, written
from tfgraphwidget.errors import GraphEditError


def graph_of(build: Callable[[tf.Tensor], tf.Tensor], shape: list[int | None]) -> tf.Graph:
    """x -> whatever is built -> y."""
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(build(v1.placeholder(tf.float32, shape, name="x")), name="y")
    return graph


ROWS = np.arange(16, dtype=np.float32).reshape(4, 4)


def zero_state(x: tf.Tensor, n: int) -> tf.Tensor:
    state = tf.fill([n, 3], 1.0)
    for _ in range(2):
        state = tf.tanh(tf.concat([x, state], 1) @ tf.ones([5, 3]))
    return state


def constant_state(x: tf.Tensor, n: int) -> tf.Tensor:
    state = tf.zeros([n, 3])
    for _ in range(2):
        state = tf.tanh(tf.concat([x, state], 1) @ tf.ones([5, 3]))
    return state


# Each as people write it with a batch of n.
CASES: dict[str, tuple[Callable[[tf.Tensor, int], tf.Tensor], list[int]]] = {
    "reshape": (lambda x, n: tf.reshape(x, [n, 1, 2]), [2]),
    "reshape, two after each other": (
        lambda x, n: tf.reshape(tf.reshape(x, [n, 6]), [n, 2, 3]),
        [3, 2],
    ),
    "reshape, merged": (lambda x, n: tf.reshape(x, [n * 3, 2]), [3, 2]),
    "reshape with -1 elsewhere": (lambda x, n: tf.reshape(x, [n, -1]), [3, 2]),
    "reshape, put together": (lambda x, n: tf.reshape(x, tf.stack([n, tf.shape(x)[1]])), [2]),
    "slice": (lambda x, n: tf.slice(x, [0, 0], [n, 1]), [2]),
    "slice from": (lambda x, n: tf.slice(x, [1, 0], [n - 1, 1]), [2]),
    "strided slice": (lambda x, n: x[1:n, 0], [2]),
    "random": (lambda x, n: x + tf.random.uniform([n, 2]), [2]),
    "random, on its way": (lambda x, n: x * tf.floor(0.5 + tf.random.uniform([n, 2])), [2]),
    "transposed convolution": (
        lambda x, n: tf.nn.conv2d_transpose(x, tf.ones([2, 2, 5, 3]), [n, 4, 4, 5], 2),
        [2, 2, 3],
    ),
    "state": (zero_state, [2]),
    "broadcast": (lambda x, n: tf.broadcast_to(x, [5, n, 2]), [2]),
    "range": (
        lambda x, n: x + tf.cast(tf.raw_ops.Range(start=0, limit=n, delta=1), tf.float32)[:, None],
        [2],
    ),
    "tile beside it": (lambda x, n: tf.concat([x, tf.tile([[1.0, 2.0]], [n, 1])], 1), [2]),
    "reshape to a part of the shape": (lambda x, _: tf.reshape(x, [tf.shape(x)[0], -1]), [2, 3]),
    "reshape to parts of the shape": (
        lambda x, _: tf.reshape(x, tf.stack([tf.shape(x)[0], 6])),
        [2, 3],
    ),
    "tile": (lambda x, n: x + tf.tile(tf.ones([1, 2]), [n, 1]), [2]),
    "gather": (lambda x, n: tf.gather(x, tf.range(n)), [2]),
    "scatter": (lambda x, n: x + tf.scatter_nd([[0, 1], [2, 0]], [1.0, 2.0], [n, 2]), [2]),
    "cond": (
        lambda x, n: tf.cond(
            tf.reduce_sum(x) > 0, lambda: tf.reshape(x, [n, 1, 2]), lambda: x[:, None]
        ),
        [2],
    ),
    "loop": (
        lambda x, n: tf.while_loop(
            lambda _: True,
            lambda y: tf.reshape(tf.reshape(y, [-1]), [n, 2]),
            [x],
            maximum_iterations=3,
        ),
        [2],
    ),
    "scan": (
        lambda x, n: tf.scan(lambda a, r: a + tf.reshape(r, [n, 2]), tf.transpose(x, [1, 0, 2])),
        [3, 2],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.sample(5)
def test_constants_that_hold_the_old_size_are_found_and_rewritten(
    name: str, size: int | None, tmp_path: Path
) -> None:
    build, rest = CASES[name]
    editor = tgw.edit(written(graph_of(lambda x: build(x, 4), [4, *rest]), tmp_path))
    before = saved(editor, tmp_path)
    done = editor.passes.set_input("x:0", [size, *rest], fix=True)
    assert done.constants
    given = ran(editor, tmp_path, "y:0", {"x:0": np.ones((6, *rest), np.float32)})
    wanted = graph_of(lambda x: build(x, 6), [6, *rest]).get_tensor_by_name("y:0").shape
    assert given.shape == tuple(wanted.as_list())
    editor.undo()
    assert saved(editor, tmp_path) == before


@pytest.mark.parametrize("size", [6, 1, None])
@pytest.mark.parametrize(
    "build",
    [
        lambda x, n: tf.concat([x, tf.zeros([n, 1])], 1),
        lambda x, n: tf.stack([x, tf.ones([n, 2])]),
        lambda x, n: x + tf.ones([n, 1]),
        lambda x, n: tf.where(x > 0.5, x, tf.ones([n, 2])),
        constant_state,
    ],
    ids=["concatenated", "stacked", "added", "chosen", "state"],
)
@pytest.mark.sample(5)
def test_a_constant_of_one_number_beside_the_input_has_the_new_size(
    build: Callable[[tf.Tensor, int], tf.Tensor], size: int | None, tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(lambda x: build(x, 4), [4, 2]), tmp_path))
    n = size or 7
    rows = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    done = editor.passes.change_batch_size(size)
    assert not [note for note in done.notes if "still holds" in note]
    with v1.Session(graph=graph_of(lambda x: build(x, n), [n, 2])) as session:
        wanted = session.run("y:0", {"x:0": rows})
    assert np.array_equal(ran(editor, tmp_path, "y:0", {"x:0": rows}), wanted)


def test_a_constant_of_other_numbers_beside_the_input_is_fed_first(tmp_path: Path) -> None:
    graph = graph_of(lambda x: tf.concat([x, [[1.0], [2.0]]], 1), [2, 3])
    name = tgw.edit(graph).find("type:Const shape:2x1").ops[0]
    editor = tgw.edit(written(graph, tmp_path))
    with pytest.raises(GraphEditError, match=rf"make it an input first: editor.detach\('{name}'\)"):
        editor.passes.change_batch_size(3)
    (placeholder,) = editor.detach(name).added
    editor.passes.change_batch_size(3)
    editor.set_constant(placeholder, [[5.0], [6.0], [7.0]])
    given = ran(editor, tmp_path, "y:0", {"x:0": np.ones((3, 3))})
    assert given[:, 3].tolist() == [5, 6, 7]


def nested(build: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor], tf.Tensor]:
    """What is built, in a function that a function calls."""
    inner = tf.function(build, autograph=False)
    return tf.function(lambda x: tf.nn.relu(inner(x)), autograph=False)


class Nested(tf.Module):
    """A batch of 4 in each of the functions that call each other."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones([8, 3]))

    @tf.function
    def inner(self, x: Any, n: Any) -> Any:
        return tf.reshape(tf.nn.relu(x), [n, 2, 4])

    @tf.function
    def outer(self, x: Any) -> Any:
        return tf.matmul(tf.reshape(self.inner(x, tf.constant(4)), [tf.shape(x)[0], 8]), self.w)

    @tf.function(input_signature=[tf.TensorSpec([4, 8])])
    def scores(self, x: Any) -> Any:
        return {"y": tf.reshape(self.outer(x) + 1.0, [4, 3])}


@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.parametrize("depth", [None, 0, 1])
@pytest.mark.sample(2)
def test_functions_of_saved_models_that_call_each_other_take_the_new_size(
    depth: int | None, size: int | None, tmp_path: Path
) -> None:
    module = Nested()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.scores)
    editor = tgw.edit(tmp_path / "model")
    if depth is not None:
        editor.view.leave(depth)
    done = editor.passes.change_batch_size(size)
    assert len({one.function for one in done.constants} - {""}) >= 2
    assert any(note.startswith("In function '__inference_inner") for note in done.notes)
    editor.save(tmp_path / "other")
    function = tf.saved_model.load(tmp_path / "other").signatures["serving_default"]
    x = tf.random.stateless_normal([6, 8], [1, 2])
    np.testing.assert_allclose(function(x=x)["y"], tf.nn.relu(x) @ module.w + 1.0, rtol=1e-6)
    editor.undo()
    assert not editor.diff()
    editor.redo()
    editor.undo()
    assert not editor.diff()


def calls_by_type() -> tf.Graph:
    """x -> functions of TensorFlow 1, called as op types, which say no shape of their arguments ->
    y.
    """
    with tf.Graph().as_default() as graph:

        @Defun(tf.float32, tf.float32, func_name="back")
        def back(x: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
            return gradient * tf.reshape(x, [4, 2])

        @Defun(tf.float32, func_name="inner", grad_func=back)
        def inner(x: tf.Tensor) -> tf.Tensor:
            return tf.square(tf.reshape(x, [4, 2]))

        @Defun(tf.float32, func_name="outer")
        def outer(x: tf.Tensor) -> tf.Tensor:
            return inner(tf.reshape(x, [4, 2]) + 1.0)

        tf.identity(outer(v1.placeholder(tf.float32, [4, 2], name="x")), name="y")
    return graph


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("is_file", [True, False])
def test_functions_that_say_no_shape_of_their_arguments_take_the_new_size(
    is_file: bool, size: int | None, tmp_path: Path
) -> None:
    graph = calls_by_type()
    editor = (
        tgw.edit(written(graph, tmp_path))
        if is_file
        else tgw.edit(graph, session=v1.Session(graph=graph))
    )
    before = {
        name: editor._core.index.extras.function(name) for name in editor._core.index.functions
    }
    done = editor.passes.change_batch_size(size)
    assert {one.function for one in done.constants} == {"outer", "inner"}
    assert (
        "In function 'inner': its gradient function 'back', made for the old size, stays as it is; "
        in str(done)
    )
    assert (
        ran(editor, tmp_path, "y:0", {"x:0": np.ones((3, 2), np.float32)}).tolist() == [[4, 4]] * 3
    )
    editor.undo()
    assert {name: editor._core.index.extras.function(name) for name in before} == before
    assert (
        ran(editor, tmp_path, "y:0", {"x:0": np.ones((4, 2), np.float32)}).tolist() == [[4, 4]] * 4
    )


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_constant_after_an_op_whose_type_is_a_function_takes_the_new_size(
    is_file: bool, size: int | None, tmp_path: Path
) -> None:
    """TensorFlow knows no static shape of what such an op gives."""

    @Defun(tf.float32)
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x)

    @Defun(tf.float32)
    def outer(x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.raw_ops.LRN(input=inner(x)[..., None, None]), [4, 1, 2])

    graph = graph_of(
        lambda x: tf.reshape(tf.raw_ops.LRN(input=outer(x)[..., None]), [4, 2, 1]), [4, 2]
    )
    editor = tgw.edit(written(graph, tmp_path) if is_file else graph)
    assert editor._core.index.shape(editor._core.index.op("LRN"), 0) == (None,) * 4
    editor.passes.change_batch_size(size)
    assert editor._core.index.shape(editor._core.index.op("y"), 0) == (size, 2, 1)
    (call,) = (
        op
        for op, kind in enumerate(editor._core.index.types)
        if kind in editor._core.index.functions
    )
    assert editor._core.index.dtypes(call) == ("float32",)
    assert editor._core.index.shape(call, 0) == (size, 1, 2)
    assert ran(editor, tmp_path, "y:0", {"x:0": np.ones((3, 2), np.float32)}).shape == (3, 2, 1)


@pytest.mark.parametrize("is_file", [True, False])
def test_a_constant_after_an_op_of_no_known_shape_is_reported(
    is_file: bool, tmp_path: Path
) -> None:
    def build(x: tf.Tensor) -> tf.Tensor:
        unknown = tf.numpy_function(lambda rows: rows, [x], tf.float32)
        return tf.reduce_sum(tf.reshape(unknown, [2, -1])) + tf.reshape(
            unknown, [4, 1], name="rows"
        )

    graph = graph_of(build, [4, 1])
    editor = tgw.edit(written(graph, tmp_path) if is_file else graph)
    done = editor.passes.change_batch_size(8)
    report = (
        "'rows/shape' still holds the old size, [4, 1], for 'rows'; it is not known what it "
        "should hold."
    )
    assert [note for note in done.notes if "old size" in note] == [report]


def test_a_tf_function_and_its_callees_take_the_new_size() -> None:
    module = Nested()
    editor = tgw.edit(module.scores)
    editor.passes.change_batch_size(None)
    x = tf.random.stateless_normal([6, 8], [1, 2])
    np.testing.assert_allclose(
        editor.to_function()(x)["y"], tf.nn.relu(x) @ tf.ones([8, 3]) + 1.0, rtol=1e-6
    )


@pytest.mark.parametrize("source", ["live", "pb"])
def test_functions_that_a_graph_calls_take_the_new_size_outside_of_the_graph(
    source: str, tmp_path: Path
) -> None:
    graph = graph_of(nested(lambda x: tf.reshape(x, [4, 1, 2])), [4, 2])
    session = v1.Session(graph=graph)
    editor = (
        tgw.edit(graph, session=session) if source == "live" else tgw.edit(written(graph, tmp_path))
    )
    with pytest.raises(
        GraphEditError,
        match=r"Function '.*', which 'PartitionedCall' calls: .*'Reshape/shape' still hold",
    ):
        editor.passes.set_input("x:0", [6, 2])
    assert not editor.history.done
    for _ in range(2):
        editor.passes.set_input("x:0", [6, 2], fix=True)
        x = np.ones((6, 2), np.float32)
        assert editor.session.run("y:0", {"x:0": x}).shape == (6, 1, 2)
        editor.undo()
        assert editor.session.run("y:0", {"x:0": x[:4]}).shape == (4, 1, 2)


def test_a_function_that_cannot_take_the_size_is_named_and_nothing_changes(tmp_path: Path) -> None:
    graph = graph_of(nested(lambda x: tf.eye(4) @ tf.reshape(x, [4, 2])), [4, 2])
    editor = tgw.edit(written(graph, tmp_path))
    before = saved(editor, tmp_path)
    with pytest.raises(
        GraphEditError, match=r"which 'PartitionedCall' calls: Op 'matmul' cannot take"
    ):
        editor.passes.change_batch_size(6)
    assert saved(editor, tmp_path) == before


def sum_of_rows(x: tf.Tensor, bound: object = 4, **options: Any) -> tf.Tensor:
    """The sum of the first rows of a matrix, in a loop."""
    start = [0, tf.zeros([2])]
    return tf.while_loop(lambda k, _: k < bound, lambda k, y: [k + 1, y + x[k]], start, **options)[
        1
    ]


def in_control_flow_of_tensorflow_1(build: Callable[[], tf.Tensor]) -> tf.Tensor:
    v1.disable_control_flow_v2()
    try:
        return build()
    finally:
        v1.enable_control_flow_v2()


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.map_fn(lambda row: row * 2.0, x),
        lambda x: tf.stack(tf.unstack(x)),
        lambda x: tf.concat(tf.split(x, 4), 0),
        sum_of_rows,
        lambda x: sum_of_rows(x, tf.constant(4)),
        lambda x: in_control_flow_of_tensorflow_1(lambda: sum_of_rows(x)),
        lambda x: in_control_flow_of_tensorflow_1(
            lambda: sum_of_rows(x, tf.constant(4), maximum_iterations=9)
        ),
        lambda x: tf.gather_nd(x, tf.stack([tf.range(4), tf.zeros([4], tf.int32)], 1)),
        lambda x: tf.math.segment_sum(x, [0, 0, 1, 1]),
        lambda x: tf.math.unsorted_segment_max(x, tf.argmax(x, 1), 4),
    ],
    ids=[
        *("map_fn", "unstack", "split", "loop", "loop to a tensor", "loop of TensorFlow 1"),
        *("loop of TensorFlow 1 to a tensor", "gather_nd", "segments", "unsorted segments"),
    ],
)
def test_a_number_of_rows_that_a_loop_or_an_op_has_fixed_is_reported(
    build: Callable[[tf.Tensor], tf.Tensor], tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(build, [4, 2]), tmp_path))
    done = editor.passes.change_batch_size(None)
    assert any(re.search(r"still holds the old size, \[?4\]?, for", note) for note in done.notes)


def recurrent_network(folder: Path) -> Path:
    """A recurrent network over three steps of batches of two, in a while loop of TensorFlow 1, with
    its values.
    """
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2, 3, 5], name="x")
        steps = tf.TensorArray(tf.float32, 3, element_shape=[2, 5]).unstack(
            tf.transpose(x, [1, 0, 2])
        )
        w = v1.get_variable("w", [5, 4], initializer=v1.glorot_uniform_initializer(seed=1))
        states = tf.TensorArray(tf.float32, 3, element_shape=[2, 4])

        def step(k: Any, states: Any, state: Any) -> Any:
            state = tf.tanh(tf.matmul(steps.read(k), w) + state)
            return k + 1, states.write(k, state), state

        states = tf.while_loop(lambda k, *_: k < 3, step, [0, states, tf.fill([2, 4], 0.0)])[1]
        tf.identity(states.stack(), name="y")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(folder / "recurrent"))
    v1.enable_control_flow_v2()
    return folder / "recurrent.meta"


@pytest.mark.parametrize("is_imported", [False, True], ids=["file", "session"])
@pytest.mark.parametrize("size", [1, 4, None])
@pytest.mark.sample(2)
def test_tensor_arrays_take_the_elements_of_the_new_size(
    size: int | None, is_imported: bool, tmp_path: Path
) -> None:
    path = recurrent_network(tmp_path)
    values = np.random.default_rng(0).normal(size=[2, 3, 5]).astype(np.float32)
    original = tgw.edit(path, checkpoint=path.with_suffix(""))
    assert original.session is not None
    expected = original.session.run("y:0", {"x:0": values})[:, :1]
    editor = tgw.edit(path, checkpoint=path.with_suffix(""))
    if is_imported:
        assert editor.session is not None
    editor.passes.change_batch_size(size)
    shapes = [
        node.attr["element_shape"].shape
        for node in editor._core.index.nodes
        if "element_shape" in node.attr
    ]
    assert len(shapes) == 3
    assert 2 not in [shape.dim[0].size for shape in shapes]
    rows = np.repeat(values[:1], size or 3, axis=0)
    saved = editor.save(f"{tmp_path}/saved/", "x:0", {"y": "y:0"})
    (found,) = (
        tf.saved_model.load(saved).signatures["serving_default"](x=tf.constant(rows)).values()
    )
    np.testing.assert_allclose(found, np.repeat(expected, size or 3, axis=1), rtol=1e-5)


def zero_state_in_a_loop(x: tf.Tensor, n: int) -> tf.Tensor:
    """A recurrent network as `dynamic_rnn` builds it: its state begins with zeros."""
    steps = tf.TensorArray(tf.float32, 3).unstack(tf.transpose(x, [1, 0, 2]))
    states = tf.TensorArray(tf.float32, 3)

    def step(k: Any, state: Any, states: Any) -> Any:
        state = tf.tanh(tf.concat([steps.read(k), state], 1) @ WEIGHTS)
        return k + 1, state, states.write(k, state)

    states = tf.while_loop(lambda k, *_: k < 3, step, [0, tf.zeros([n, 4]), states])[2]
    return tf.transpose(states.stack(), [1, 0, 2])


def attention(x: tf.Tensor, n: int) -> tf.Tensor:
    """One head over three tokens, with the projection as one product of all rows."""
    rows = tf.reshape(tf.reshape(x, [n * 3, 2]) @ WEIGHTS[:2, :2], [n, 3, 1, 2])[:, :, 0]
    return tf.nn.softmax(rows @ tf.transpose(rows, [0, 2, 1])) @ x


def time_major(x: tf.Tensor, n: int) -> tf.Tensor:
    """Rows with the steps first, merged and taken apart again."""
    merged = tf.reshape(tf.transpose(x, [1, 0, 2]), [3 * n, 2]) @ WEIGHTS[:2, :2]
    return tf.reduce_sum(tf.reshape(merged, [3, n, 2]), 0)


WEIGHTS = np.random.default_rng(0).normal(size=[6, 4]).astype(np.float32)
OF_ANY_BATCH: dict[str, Callable[[tf.Tensor, int], tf.Tensor]] = {
    "state": lambda x, n: constant_state(x[:, 0], n),
    "loop": lambda x, n: in_control_flow_of_tensorflow_1(lambda: zero_state_in_a_loop(x, n)),
    "attention": attention,
    "time first": time_major,
    "flat": lambda x, n: tf.reshape(x, [n, -1]),
    "rows": lambda x, n: tf.reshape(tf.reshape(x, [n, 6]), [n, 1, 3, 2]),
    "broadcast": lambda x, _: x + tf.ones([1, 3, 1]),
}


@pytest.mark.parametrize("has_shapes", [False, True], ids=["without shapes", "with shapes"])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("name", OF_ANY_BATCH)
@pytest.mark.sample(8)
def test_a_graph_of_another_batch_size_computes_for_each_row_what_it_computed(
    name: str, batch: int, has_shapes: bool, tmp_path: Path
) -> None:
    graph = graph_of(lambda x: OF_ANY_BATCH[name](x, batch), [batch, 3, 2])
    rows = np.random.default_rng(1).normal(size=[8, 3, 2]).astype(np.float32)
    with v1.Session(graph=graph) as session:
        parts = [session.run("y:0", {"x:0": rows[k : k + batch]}) for k in range(0, 8, batch)]
    graph_def = graph.as_graph_def(add_shapes=has_shapes)
    for size in (8, 2, None):
        editor = tgw.edit(graph_def)
        editor.passes.change_batch_size(size)
        found = ran(editor, tmp_path, "y:0", {"x:0": rows[: size or 8]})
        np.testing.assert_allclose(found, np.concatenate(parts)[: size or 8], rtol=1e-4, atol=1e-5)


def test_where_a_slice_begins_is_not_taken_for_rows(tmp_path: Path) -> None:
    graph = graph_of(lambda x: x + tf.reduce_sum(tf.eye(2), 1)[:, None], [2, 3])
    editor = tgw.edit(written(graph, tmp_path))
    with pytest.raises(GraphEditError, match="cannot take 'x:0' of shape"):
        editor.passes.change_batch_size(4)
    assert not editor.passes.change_batch_size(None).constants


def test_rows_that_are_put_after_the_input_stay_as_many(tmp_path: Path) -> None:
    graph = graph_of(lambda x: tf.concat([x, tf.ones([4, 2])], 0), [4, 2])
    editor = tgw.edit(written(graph, tmp_path))
    editor.passes.change_batch_size(3)
    assert ran(editor, tmp_path, "y:0", {"x:0": np.zeros([3, 2], np.float32)}).shape == (7, 2)


def test_attributes_that_a_file_leaves_out_stay_out(tmp_path: Path) -> None:
    graph = graph_of(lambda x: tf.reshape(x[1:, 0], [3, 1]), [4, 2]).as_graph_def()
    for node in graph.node:  # as SavedModels do, with masks that are 0
        for key in [
            key for key, value in node.attr.items() if key.endswith("_mask") and not value.i
        ]:
            del node.attr[key]
    (tmp_path / "g.pb").write_bytes(graph.SerializeToString())
    editor = tgw.edit(tmp_path / "g.pb")
    editor.passes.set_input("x:0", [None, 2], fix=True)
    assert not [
        key
        for node in editor._core.index.nodes
        for key, value in node.attr.items()
        if not value.WhichOneof("value")
    ]


def test_without_fix_they_are_reported(tmp_path: Path) -> None:
    graph = graph_of(lambda x: tf.reshape(x, [4, 1, 2], name="r"), [4, 2])
    editor = tgw.edit(written(graph, tmp_path))
    done = editor.passes.set_input("x:0", tf.TensorSpec([None, 2]))
    (found,) = done.constants
    assert (found.op, found.value, found.proposed, found.consumer) == (
        "r/shape",
        (4, 1, 2),
        (-1, 1, 2),
        "r",
    )
    assert (
        done.notes[0]
        == "'r/shape' still holds the old size, [4, 1, 2], for 'r'; make it [-1, 1, 2]."
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="requested shape has 8"):
        ran(editor, tmp_path, "y:0", {"x:0": np.ones((6, 2))})


def test_a_shape_that_does_not_go_through_is_refused_and_the_fix_offered(tmp_path: Path) -> None:
    graph = graph_of(lambda x: tf.reshape(x, [4, 1, 2], name="r"), [4, 2])
    editor = tgw.edit(written(graph, tmp_path))
    before = saved(editor, tmp_path)
    with pytest.raises(
        GraphEditError, match=r"Op 'r' cannot take.*'r/shape' still holds the old size"
    ) as refused:
        editor.passes.set_input("x:0", [6, 2])
    assert saved(editor, tmp_path) == before
    editor.apply(refused.value.fixes[0])
    assert ran(editor, tmp_path, "y:0", {"x:0": np.ones((6, 2))}).shape == (6, 1, 2)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.reshape(x, [-1, 4]) @ tf.ones([4, 4]),
        lambda x: tf.reshape(x, tf.concat([tf.shape(x, out_type=tf.int32)[1:], [-1]], 0)),
        lambda x: x @ tf.ones([4, 4]),
        lambda x: tf.slice(x, [0, 0], [2, 4]),
        lambda x: x + tf.fill([4], 1.0),
    ],
)
def test_other_numbers_that_are_the_same_are_left_alone(
    build: Callable[[tf.Tensor], tf.Tensor], tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(build, [4, 4]), tmp_path))
    done = editor.passes.set_input("x:0", [None, 4], fix=True)
    assert done.constants == ()
    assert done.changed == ("x",)


def test_a_constant_that_others_read_too_is_left_for_them(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> tf.Tensor:
        shape = tf.constant([4, 2], name="shape")
        return tf.reshape(x, shape, name="r") + tf.cast(
            tf.reduce_sum(shape, name="sum"), tf.float32
        )

    editor = tgw.edit(written(graph_of(build, [4, 2]), tmp_path))
    editor.passes.set_input("x:0", [None, 2], fix=True)
    assert ran(editor, tmp_path, ["sum:0", "y:0"], {"x:0": np.ones((6, 2))})[0] == 6


def test_a_constant_as_large_as_the_input_is_reported(tmp_path: Path) -> None:
    editor = tgw.edit(
        written(graph_of(lambda x: x + tf.constant(ROWS[:, :2], name="rows"), [4, 2]), tmp_path)
    )
    done = editor.passes.set_input("x:0", [None, 2], fix=True)
    assert (
        done.notes[0]
        == "'rows' still holds the old size, [4, 2], for 'add'; it is not known what it should "
        "hold."
    )


@pytest.mark.parametrize("size", [6, None])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda x: tf.gather_nd(x, [[0, 1], [1, 0], [2, 1], [3, 0]]), "GatherNd/indices"),
        (
            lambda x: tf.gather_nd(x, [[[k, 0], [k, 1]] for k in range(4)]),
            "GatherNd/indices",
        ),
        (
            lambda x: tf.tensor_scatter_nd_add(x, [[0, 1], [1, 0], [2, 1], [3, 0]], tf.ones([4])),
            "TensorScatterAdd/indices",
        ),
        (lambda x: tf.tile(x[:, None], [1, 4, 1]), "Tile/multiples"),
    ],
    ids=["gathered", "several gathered", "scattered", "pairs"],
)
def test_a_constant_with_something_for_each_row_is_reported(
    build: Callable[[tf.Tensor], tf.Tensor], name: str, size: int | None, tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(build, [4, 2]), tmp_path))
    done = editor.passes.change_batch_size(size)
    assert [(one.op, one.value, one.proposed) for one in done.constants] == [(name, 4, None)]


@pytest.mark.parametrize(
    "build",
    [lambda x: tf.constant(ROWS) @ x, lambda x: tf.matmul(x, tf.constant(ROWS), transpose_a=True)],
    ids=["first", "second"],
)
def test_a_matrix_that_rows_are_multiplied_by_is_named(
    build: Callable[[tf.Tensor], tf.Tensor], tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(build, [4, 2]), tmp_path))
    done = editor.passes.change_batch_size(None)
    assert [(one.op, one.value, one.proposed) for one in done.constants] == [("Const", 4, None)]
    editor.undo()
    with pytest.raises(GraphEditError, match="'Const' still holds the old size"):
        editor.passes.change_batch_size(6)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x + tf.reshape(tf.range(8.0), [4, 2]),
        tf.function(lambda x: x + tf.reshape(tf.range(8.0), [4, 2])),
        lambda x: tf.math.in_top_k([0, 1, 1, 0], x, 1),
        lambda x: tf.reverse_sequence(x, [1, 2, 2, 1], 1),
    ],
    ids=["computed", "in a function", "labels", "lengths"],
)
def test_of_any_size_it_is_said_that_only_the_old_one_runs(
    build: Callable[[tf.Tensor], tf.Tensor], tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(build, [4, 2]), tmp_path))
    done = editor.passes.change_batch_size(None)
    assert [note.partition(": ")[0] for note in done.notes if "fails" in note] == [
        "A batch of 8 fails when it runs"
    ]
    with pytest.raises(tf.errors.OpError):
        ran(editor, tmp_path, "y:0", {"x:0": np.ones((8, 2))})


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.tile(x, [1, 4]),
        lambda x: tf.while_loop(lambda k, _: k < 4, lambda k, y: [k + 1, y * 2.0], [0, x])[1],
        lambda x: tf.gather_nd(x, [[0, 1], [1, 0], [1, 1], [3, 0]]),
        lambda x: x @ tf.ones([2, 4]) @ tf.constant(ROWS),
    ],
    ids=["copies of columns", "rounds", "chosen places", "weights"],
)
def test_a_number_that_equals_the_old_size_by_accident_is_not_reported(
    build: Callable[[tf.Tensor], tf.Tensor], tmp_path: Path
) -> None:
    editor = tgw.edit(written(graph_of(build, [4, 2]), tmp_path))
    done = editor.passes.change_batch_size(None)
    assert not done.constants
    assert not any("fails" in note for note in done.notes)


def test_the_session_takes_the_new_size_under_the_old_name() -> None:
    graph = graph_of(lambda x: tf.reshape(x, [4, 1, 2]), [4, 2])
    with v1.Session(graph=graph) as session:
        session.run("y:0", {"x:0": np.ones((4, 2))})
        editor = tgw.edit(graph, session=session)
        editor.passes.set_input("x:0", shape=[None, 2], fix=True)
        assert session.run("y:0", {"x:0": np.ones((6, 2))}).shape == (6, 1, 2)
        assert graph.get_tensor_by_name("y:0").shape.as_list() == [None, 1, 2]
        editor.undo()
        with pytest.raises(ValueError, match="Cannot feed"):
            session.run("y:0", {"x:0": np.ones((6, 2))})


def test_another_dtype_is_cast_back_for_the_consumers(line: tf.Graph, tmp_path: Path) -> None:
    editor = tgw.edit(written(line, tmp_path))
    with pytest.raises(
        GraphEditError, match=r"Op 'a' reads 'x' as float32, and it is to be uint8"
    ) as refused:
        editor.passes.set_input("x:0", tf.uint8)
    editor.apply(refused.value.fixes[0])
    given = ran(editor, tmp_path, "c:0", {"x:0": np.ones((1, 2), np.uint8)})
    assert (given.tolist(), given.dtype) == ([[8, 8]], np.float32)
    assert (
        'editor.passes.set_input(tensor="x:0", dtype="uint8", adapter="Cast")'
        in editor.history.to_script().text
    )


def test_in_a_live_graph_another_dtype_takes_a_new_placeholder(line: tf.Graph) -> None:
    with v1.Session(graph=line) as session:
        editor = tgw.edit(line, session=session)
        done = editor.passes.set_input("x", dtype=tf.uint8, adapter="Cast")
        assert any("'x' is 'x_1' now" in note for note in done.notes)
        assert session.run("c:0", {"x_1:0": np.ones((1, 2), np.uint8)}).tolist() == [[8, 8]]


def test_the_inputs_and_outputs_of_signatures_stay(signed: Path, tmp_path: Path) -> None:
    editor = tgw.edit(signed)
    editor.passes.set_input("x:0", [7, 3])
    assert next(iter(editor.signatures.values())).inputs == (("x", "x:0"),)
    editor.undo()
    editor.session.run("net/logits:0", {"x:0": np.ones((2, 3))})
    editor.passes.set_input("x:0", dtype=tf.int32, adapter="Cast")
    assert next(iter(editor.signatures.values())).inputs == (("x", "x_1:0"),)


@pytest.mark.parametrize(
    ("tensor", "spec", "why"),
    [
        ("a:0", [1, 2], "Op 'a' is a Mul, and no placeholder that is fed"),
        ("x:0", "float33", "'float33' is not a shape, a dtype or a tf.TensorSpec"),
        ("x:0", object(), "is not a shape, a dtype or a tf.TensorSpec"),
        ("x:0", [-1, 4], "write None for any size"),
    ],
)
def test_what_is_no_input_or_no_spec_is_refused(
    line: tf.Graph, tensor: str, spec: Any, why: str
) -> None:
    editor = tgw.edit(line)
    with pytest.raises(GraphEditError, match=why):
        editor.passes.set_input(tensor, spec)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"shape": "foo", "dtype": "float32"}, r"'foo' is not a shape such as \(None, 3\)"),
        ({"shape": [2, 3], "dtype": "foo"}, "'foo' is not a dtype; give one"),
    ],
)
def test_of_a_shape_and_a_dtype_that_which_is_none_is_named(
    line: tf.Graph, given: dict[str, Any], why: str
) -> None:
    with pytest.raises(GraphEditError, match=why):
        tgw.edit(line).passes.set_input("x:0", **given)


def test_a_real_frozen_model_takes_any_batch(tmp_path: Path) -> None:
    def model(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, tf.ones([3, 3, 1, 4]), 2, "SAME"))
        h = tf.reshape(h, [2, 4 * 4 * 4])
        h = h * tf.floor(0.9 + tf.random.uniform([2, 64]))
        return tf.reshape(h @ tf.ones([64, 10]), [2, 5, 2])

    editor = tgw.edit(written(graph_of(model, [2, 8, 8, 1]), tmp_path))
    editor.passes.set_input("x:0", [None, 8, 8, 1], fix=True)
    for batch in (1, 3):
        assert ran(editor, tmp_path, "y:0", {"x:0": np.ones((batch, 8, 8, 1))}).shape == (
            batch,
            5,
            2,
        )


@pytest.mark.parametrize("resource", [False, True])
def test_a_state_with_a_row_for_each_of_the_old_batch_is_named(*, resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.variable_scope("", use_resource=resource):
        x = v1.placeholder(tf.float32, [4, 3], name="x")
        state = v1.get_variable("state", [4, 3], trainable=False)
        now = tf.tanh(x @ v1.get_variable("kernel", [3, 3]) + state @ tf.ones([3, 3]), name="now")
        with tf.control_dependencies([state.assign(now)]):
            tf.identity(now, name="y")
    editor = tgw.edit(graph)
    why = "'state' has the old size, [4, 3], for 'add', and keeps it; build the model with the new"
    with pytest.raises(GraphEditError, match=re.escape(why)):
        editor.passes.change_batch_size(8)
    note = editor.passes.change_batch_size(1).notes[0]
    assert "'add', which computes 4 rows of the one that it is given, and keeps it" in note
    editor.undo()
    notes = editor.passes.change_batch_size(None).notes
    assert sum("Variable 'state' has the old size" in note for note in notes) == 1


def test_the_state_of_a_stateful_layer_is_named() -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((5, 3), 4), layers.GRU(2, stateful=True)])
    notes = tgw.edit(model).passes.change_batch_size(1).notes
    assert any(re.search(r"Variable '.*state' has the old size, \[4, 2\]", note) for note in notes)


def mean_loss(x: tf.Tensor, n: int) -> tf.Tensor:
    return tf.reduce_mean(tf.square(x))


def mean_of_means(x: tf.Tensor, n: int) -> tf.Tensor:
    return tf.reduce_mean(tf.reduce_mean(tf.square(x), 1) + tf.math.reduce_variance(x, 1))


def means_of_halves(x: tf.Tensor, n: int) -> tf.Tensor:
    first, second = tf.split(x, 2)
    return tf.reduce_mean(tf.square(first)) + tf.reduce_mean(tf.abs(second))


def softmax_loss(x: tf.Tensor, n: int) -> tf.Tensor:
    classes = tf.argmax(x, 1)
    return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=x))


def first_column(x: tf.Tensor, n: int) -> tf.Tensor:
    return tf.reduce_mean(tf.exp(x[:, 0]))


def pooled(x: tf.Tensor, n: int) -> tf.Tensor:
    images = tf.nn.relu(tf.reshape(x, [n, 2, 2, 1]))
    return tf.reduce_sum(tf.square(tf.nn.avg_pool(images, 2, 2, "SAME")))


def normalized(x: tf.Tensor, n: int) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [0])
    return tf.reduce_mean(tf.tanh((x - mean) / tf.sqrt(variance + 0.1))[:, 1])


def weighted(x: tf.Tensor, n: int) -> tf.Tensor:
    return v1.losses.mean_squared_error(tf.zeros([n, 4]), x) + v1.losses.huber_loss(x * 0.5, x)


LOSSES = [
    mean_loss,
    mean_of_means,
    means_of_halves,
    softmax_loss,
    first_column,
    pooled,
    normalized,
    weighted,
]


def with_gradient(loss: Callable[[tf.Tensor, int], tf.Tensor], n: int) -> tf.Graph:
    """x -> x @ w -> loss, and the gradient of w."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [n, 4], name="x")
        w = v1.get_variable("w", [4, 4], initializer=v1.constant_initializer(np.eye(4) * 0.5))
        value = tf.identity(loss(tf.matmul(x, w), n), name="loss")
        tf.identity(tf.gradients(value, [w])[0], name="gradient")
    return graph


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("is_file", [False, True], ids=["live", "file"])
def test_the_gradients_of_fixed_sizes_take_the_new_size(
    loss: Callable[[tf.Tensor, int], tf.Tensor], is_file: bool, tmp_path: Path
) -> None:
    rows = np.random.default_rng(0).random((4, 4), np.float32)
    with initialised(with_gradient(loss, 4)) as session:
        expected = session.run(["loss:0", "gradient:0"], {"x:0": rows})
    with initialised(with_gradient(loss, 8)) as session:
        editor = tgw.edit(session.graph, session=session)
        if is_file:
            editor.save(tmp_path / "m.meta")
            editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
        report = editor.passes.change_batch_size(4)
        assert "still holds" not in str(report)
        found = editor.session.run(["loss:0", "gradient:0"], {"x:0": rows})
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_the_divisor_of_a_mean_is_rewritten_in_each_dtype(dtype: tf.DType) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(dtype, [8, 3], name="x")
        tf.identity(tf.gradients(tf.reduce_mean(x * x), [x])[0], name="gradient")
    editor = tgw.edit(graph)
    editor.passes.change_batch_size(2)
    with v1.Session(graph=editor.graph) as session:
        gradient = session.run("gradient:0", {"x:0": np.full([2, 3], 3)})
    assert np.allclose(gradient.astype(np.float32), np.ones([2, 3]), atol=0.01)


@pytest.mark.parametrize("loss", [mean_loss, normalized], ids=lambda loss: loss.__name__)
def test_a_batch_of_1_in_gradients_is_refused_with_the_way_out(
    loss: Callable[[tf.Tensor, int], tf.Tensor],
) -> None:
    """Whether a 1 in them is the old size cannot be known, and a wrong gradient has the right
    shape.
    """
    with initialised(with_gradient(loss, 1)) as session:
        editor = tgw.edit(session.graph, session=session)
        before = editor.graph.as_graph_def()
        with pytest.raises(GraphEditError, match="strip training first"):
            editor.passes.change_batch_size(2)
        assert editor.graph.as_graph_def() == before
        editor.passes.strip_training("loss")
        editor.passes.change_batch_size(2)
        rows = np.ones([2, 4], np.float32)
        found = editor.session.run("loss:0", {"x:0": rows})
    with initialised(with_gradient(loss, 2)) as session:
        assert np.allclose(found, session.run("loss:0", {"x:0": rows}))


def test_where_gradients_cannot_take_a_size_the_way_out_is_named() -> None:
    """Rows that are put one after another: how many are of which is a constant."""
    loss = "loss"
    with initialised(
        with_gradient(lambda x, _: tf.reduce_mean(tf.concat([x, x], 0)), 8)
    ) as session:
        editor = tgw.edit(session.graph, session=session)
        with pytest.raises(GraphEditError, match="; strip training first, or choose a tensor"):
            editor.passes.change_batch_size(2)
        editor.passes.strip_training(loss)
        assert editor.passes.change_batch_size(2)


@pytest.mark.parametrize(("old", "new"), [(8, 4), (4, 6), (8, None)])
def test_a_sum_that_is_divided_by_the_batch_alone_is_named(old: int, new: int | None) -> None:
    graph = graph_of(lambda x: tf.reduce_sum(x * x) / old, [old, 4])
    report = tgw.edit(graph).passes.change_batch_size(new)
    assert f"'truediv/y' still holds the old size, {old}" in str(report)


@pytest.mark.parametrize("is_file", [False, True], ids=["live", "file"])
def test_a_map_over_the_rows_goes_over_the_new_ones(is_file: bool, tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        try:
            x = v1.placeholder(tf.float32, [8, 4], name="x")
            tf.reduce_mean(tf.map_fn(lambda row: row * row, x), name="y")
        finally:
            v1.enable_control_flow_v2()
    editor = tgw.edit(graph)
    if is_file:
        (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
        editor = tgw.edit(tmp_path / "g.pb")
    for rows in (4, 6):
        editor.passes.change_batch_size(rows)
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        with v1.Session(graph=editor.graph) as session:
            assert session.run("y:0", {"x:0": x}) == pytest.approx((x * x).mean())


@pytest.mark.parametrize("divide", [True, False], ids=["division", "product"])
def test_copies_that_are_no_gradient_keep_their_factor(*, divide: bool) -> None:
    """It may be their number by accident; of a division it is said that it was."""

    def build(x: tf.Tensor) -> tf.Tensor:
        copies = tf.tile(x[:1], [8, 1], name="copies")
        return (copies / 8.0 if divide else copies * 8.0) + x

    editor = tgw.edit(graph_of(build, [8, 3]))
    report = str(editor.passes.change_batch_size(2))
    assert ("'truediv/y' still holds the old size, 8" in report) == divide
    factor = 0.125 if divide else 8.0
    with v1.Session(graph=editor.graph) as session:
        y = session.run("y:0", {"x:0": np.ones([2, 3], np.float32)})
    assert np.array_equal(y, np.full([2, 3], 1.0 + factor, np.float32))


def test_the_divisor_of_a_mean_keeps_its_shape() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [8, 3], name="x")
        with tf.name_scope("gradients/mean_grad"):
            copies = tf.tile(x[:1], [8, 1])
            tf.divide(copies, tf.constant([8.0]), name="truediv")
        tf.add(graph.get_tensor_by_name("gradients/mean_grad/truediv:0"), x, name="y")
    editor = tgw.edit(graph)
    editor.passes.change_batch_size(2)
    with v1.Session(graph=editor.graph) as session:
        y = session.run("y:0", {"x:0": np.ones([2, 3], np.float32)})
    assert np.array_equal(y, np.full([2, 3], 1.5, np.float32))
