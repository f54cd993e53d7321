"""`editor.split`: the parts give what the whole gives; what cannot be cut is refused by name, and
nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, UnknownName


@pytest.fixture(scope="module")
def session() -> Iterator[v1.Session]:
    """x → a → loop of two values → b → skip, which reads a too → h → updated, with a variable that
    is updated.
    """
    v1.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        a = tf.nn.relu(x @ np.full([4, 4], 0.5, np.float32), name="a")
        again = np.eye(4, dtype=np.float32)
        ends = v1.while_loop(
            lambda i, *_: i < 3,
            lambda i, p, q: (i + 1, p @ again + 1, q * 2),
            [0, a, x],
            name="loop",
        )
        b = tf.add(ends[1], ends[2], name="b")
        skip = tf.add(b, a, name="skip")
        w = v1.get_variable("w", [4, 4], use_resource=True, initializer=v1.ones_initializer())
        h = tf.matmul(skip, w, name="h")
        with tf.control_dependencies([v1.assign_add(w, tf.ones([4, 4]))]):
            later = tf.identity(h, name="later")
        tf.matmul(later, w, name="updated")
        tf.matmul(h, w, name="twice")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    v1.enable_control_flow_v2()
    yield session
    session.close()


@pytest.fixture
def editor(session: v1.Session) -> GraphEditor:
    return tgw.edit(session.graph, session=session)


def test_a_tensor_that_goes_past_the_cut_is_cut_too(
    editor: GraphEditor, session: v1.Session
) -> None:
    before = len(session.graph.get_operations())
    halves = editor.split(at="b:0", outputs=["skip:0"])
    assert [part.outputs for part in halves.boundaries] == [("b:0", "a:0"), ("skip:0",)]
    assert halves.added == ("a:0",)
    assert halves.check() == 0.0
    assert "a" not in {
        op
        for op, kind in zip(halves[1]._core.index.names, halves[1]._core.index.types, strict=True)
        if kind == "Relu"
    }
    assert len(session.graph.get_operations()) == before
    assert not editor.history.done


def test_the_results_of_a_loop_can_be_cut_and_all_of_them_are(editor: GraphEditor) -> None:
    halves = editor.split(at="loop/Exit_1:0", outputs=["b:0"])
    assert halves.boundaries[0].outputs == ("loop/Exit_1:0", "loop/Exit_2:0")
    assert halves.check({"x:0": np.ones([3, 4])}) < 1e-6


def test_several_cuts_make_several_parts_and_an_early_output_is_that_of_its_part(
    editor: GraphEditor,
) -> None:
    parts = editor.split(at=[["a:0"], ["b:0"]], outputs=["skip:0", "a:0"])
    assert [part.outputs for part in parts.boundaries] == [("a:0",), ("b:0",), ("skip:0",)]
    assert parts.check() == 0.0
    assert parts.run({"x:0": np.ones([1, 4], np.float32)})["a:0"].shape == (1, 4)


def test_a_variable_of_two_parts_that_nothing_updates_is_in_both(editor: GraphEditor) -> None:
    parts = editor.split(at="h:0", outputs=["twice:0"])
    assert all("w" in part._core.index.ids for part in parts)
    assert parts.check() == 0.0


@pytest.mark.parametrize(
    ("at", "output", "code", "words"),
    [
        ("loop/matmul:0", "b:0", "cut-in-loop", "is in while loop 'loop/while_context'"),
        ("later:0", "updated:0", "cut-at-update", "updates 'w' in one part"),
        ("w:0", "twice:0", "cut-at-handle", "is a handle"),
        ("x:0", "b:0", "refused", "not between the inputs and the outputs"),
        ("twice:0", "b:0", "refused", "not between the inputs and the outputs"),
    ],
)
def test_what_cannot_be_cut_is_refused_by_name(
    editor: GraphEditor, at: str, output: str, code: str, words: str
) -> None:
    for _ in range(2):
        with pytest.raises(GraphEditError, match=words) as refusal:
            editor.split(at=at, outputs=[output])
        assert refusal.value.code == code
        assert refusal.value.ops
    with pytest.raises(UnknownName):
        editor.split(at="none:0", outputs=[output])


def test_each_part_is_saved_with_its_own_signature_and_they_chain(
    editor: GraphEditor, session: v1.Session, tmp_path: Path
) -> None:
    halves = editor.split(at="b:0", outputs=["skip:0"])
    for name, part in zip(("one", "two"), halves, strict=True):
        part.save(f"{tmp_path}/{name}/")
    one, two = (
        tf.saved_model.load(tmp_path / name).signatures["serving_default"]
        for name in ("one", "two")
    )
    x = np.random.default_rng(0).normal(size=[2, 4]).astype(np.float32)
    (result,) = two(**one(x=tf.constant(x))).values()
    assert np.allclose(result, session.run("skip:0", {"x:0": x}))


def dense_block() -> Any:
    x = keras.Input((4,))
    a = keras.layers.Dense(3, activation="relu")(x)
    return keras.Model(x, keras.layers.Add()([a, keras.layers.Dense(3)(a)]))


@tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
def looping(x: Any) -> Any:
    a = tf.nn.relu(x, name="a")
    return {
        "z": tf.while_loop(lambda i, _: i < 3, lambda i, p: (i + 1, p * 2), [0, a])[1] + a,
        "a": a,
    }


@pytest.mark.parametrize("make", [dense_block, lambda: looping], ids=["keras", "function"])
def test_functions_and_keras_models_split(make: Any) -> None:
    editor = tgw.edit(make())
    relu = next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Relu"
    )
    parts = editor.split(at=f"{relu}:0")
    assert len(parts) == 2
    assert parts.check() == 0.0


def test_an_input_that_is_an_output_too_is_given_as_it_was_fed(editor: GraphEditor) -> None:
    halves = editor.split("a:0", ["x:0", "h:0"], ["skip:0", "h:0"])
    assert halves.check() == 0.0
    h = np.full([1, 4], 7.0)
    assert halves.run({"x": np.ones([1, 4]), "h:0": h})["h:0"] is h


@pytest.mark.parametrize(
    ("feeds", "why"),
    [
        (
            {},
            r"(run\(feeds=…\): the input 'x:0' is|Placeholder 'x' is needed and) not fed; give",
        ),
        ({"nowhere:0": 1}, "no op 'nowhere'"),
        (3, r"\(feeds=3\): feeds are {input: value}, a dict."),
    ],
)
def test_what_the_parts_are_not_fed_is_reported_by_name(
    editor: GraphEditor, feeds: Any, why: str
) -> None:
    halves = editor.split("a:0", ["x:0"], ["skip:0"])
    for call in (halves.run, halves.check):
        with pytest.raises(GraphEditError, match=why):
            call(feeds)
    assert halves.check({"x": np.ones([1, 4])}) == 0.0


@pytest.mark.parametrize("dtype", [tf.resource, tf.variant])
def test_parts_that_a_handle_goes_into_are_not_checked_on_values_that_it_cannot_have(
    dtype: tf.DType,
) -> None:
    with tf.Graph().as_default() as graph:
        handle = v1.placeholder(dtype, [], name="handle")
        if dtype == tf.resource:
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="read")
        else:
            read = tf.raw_ops.TensorListStack(
                input_handle=handle, element_shape=[2], element_dtype=tf.float32, name="read"
            )
        tf.reduce_sum(read, name="sum")
    parts = tgw.edit(graph).split("read:0", ["handle:0"], ["sum:0"])
    with pytest.raises(
        GraphEditError, match=f"'handle:0' is a handle, of dtype {dtype.name}, and has no value"
    ):
        parts.check()
