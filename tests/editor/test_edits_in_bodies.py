"""An edit in a function's body is an edit of the graph that calls it: it runs, is saved, undone and
made again.
"""

from __future__ import annotations

import contextlib
import gc
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.python.framework import function

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.pages import unpack_page
from tests.runtime.test_patch_application import failing
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.saving import page_input
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.html.page_data import pack_page
from tfgraphwidget.graph import called_functions
from tfgraphwidget.runtime.live import patch_application
from tfgraphwidget.runtime.session.renewal import Renewal
from tfgraphwidget.widget.inspector import Inspector

FEED = {"x:0": [-1.0, 2.0]}


class Live(NamedTuple):
    """A graph that calls functions, its session, and an editor of it."""

    graph: tf.Graph
    session: v1.Session
    editor: GraphEditor

    def y(self, feed: Any = None) -> list[float]:
        return self.session.run("y:0", FEED if feed is None else feed).tolist()


def live(build: Callable[[tf.Tensor, tf.Variable], tf.Tensor]) -> Live:
    """y = build(x, v), where v is trained from 2 to 3."""
    graph = tf.Graph()
    with graph.as_default():
        x, v = v1.placeholder(tf.float32, [None], name="x"), tf.Variable(2.0, name="v")
        tf.identity(build(x, v), name="y")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
        session.run(v.assign(3.0))
    return Live(graph, session, tgw.edit(graph, session=session))


def opened(path: Path) -> GraphEditor:
    """An editor of a file's graph, with the values beside it; at the graph itself."""
    beside = {"checkpoint": str(path.with_suffix(""))} if path.suffix == ".meta" else {}
    editor = tgw.edit(path, **beside)
    editor.view.leave(0)
    return editor


def found(editor: GraphEditor, kind: str, number: int = 0) -> str:
    """The op of the current graph whose type ends like this."""
    return [
        n
        for n, t in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if t.endswith(kind)
    ][number]


def bypass_relu(editor: GraphEditor) -> Any:
    relu = editor.ops(type="Relu").ops[0]
    return editor.bypass(relu)


def called(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    @tf.function
    def scaled(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x * v) + 1.0

    return scaled(x)


def looped(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    return tf.while_loop(
        lambda i, _: i < 2, lambda i, a: (i + 1, tf.nn.relu(a * v) + a * a * 0.1), [0, x]
    )[1]


def chosen(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x * v), lambda: x)


def switched(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    which = tf.cast(tf.reduce_sum(x) * 0, tf.int32)
    return tf.switch_case(which, [lambda: tf.nn.relu(x * v), lambda: x])


def mapped(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    return tf.map_fn(lambda e: tf.nn.relu(e * v) * e, x)


KINDS = {
    "call": (called, "PartitionedCall", "", [-2, 7]),
    "while": (looped, "While", "body", [-7.859, 23.296]),
    "cond": (chosen, "If", "then_branch", [-3, 6]),
    "case": (switched, "Case", "branches[0]", [-3, 6]),
    "map_fn": (mapped, "While", "body", [3, 12]),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[tuple[Live, str, str, list[float]]]:
    build, op_type, label, wanted = KINDS[request.param]
    built = live(build)
    yield built, found(built.editor, op_type), label, wanted
    built.session.close()


def test_the_session_follows_an_edit_in_a_body_and_keeps_what_was_trained(kind: Any) -> None:
    built, op, label, wanted = kind
    before = built.y()
    built.editor.view.enter(op, label)
    bypass_relu(built.editor)
    assert np.allclose(built.y(), wanted)
    built.editor.view.leave()
    built.editor.undo()
    assert built.y() == before
    built.editor.redo()
    assert np.allclose(built.y(), wanted)
    assert built.editor.view.breadcrumb[-1].partition(":")[0] == op


def test_undo_takes_an_edit_in_a_body_back_exactly_and_redo_makes_the_same(kind: Any) -> None:
    built, op, label, _ = kind
    editor = built.editor
    editor.view.enter(op, label)
    nodes, body = editor._core.target.index.nodes, editor._core.index
    bypass_relu(editor)
    edited = editor._core.target.index, editor._core.index
    editor.undo()
    assert editor._core.target.index.nodes == nodes
    assert editor._core.index is body
    assert not editor._core.target.index.functions - editor._core.target.first.functions
    editor.redo()
    assert editor._core.target.index.nodes == edited[0].nodes
    assert editor._core.target.index.functions == edited[0].functions
    assert editor._core.index.nodes == edited[1].nodes


def test_the_gradient_after_an_edit_is_that_of_the_edited_body(kind: Any) -> None:
    built, op, label, wanted = kind
    built.editor.view.enter(op, label)
    assert not any("gradient" in note for note in bypass_relu(built.editor).notes)
    with built.graph.as_default():
        y, v = built.graph.get_tensor_by_name("y:0"), v1.global_variables()[0]
        gradients = tf.gradients(y, [built.graph.get_tensor_by_name("x:0"), v])
        assign = v.assign(v1.placeholder(tf.float32, [], name="value"))
    tgw.renew(built.session)  # TensorFlow adds outputs to the op, which the session has run already
    of_x, of_v = built.session.run(gradients, FEED)
    assert np.allclose(built.y(), wanted)
    step = 1e-2
    for k in range(2):
        there, back = (np.array(FEED["x:0"]) + sign * step * np.eye(2)[k] for sign in (1, -1))
        slope = (np.array(built.y({"x:0": there})) - built.y({"x:0": back})).sum() / (2 * step)
        assert np.isclose(of_x[k], slope, atol=1e-2)
    totals = []
    for value in (3 + step, 3 - step):
        built.session.run(assign, {"value:0": value})
        totals.append(sum(built.y()))
    assert np.isclose(of_v, (totals[0] - totals[1]) / (2 * step), atol=1e-2)


@tf.custom_gradient
def with_gradient_of_seven(t: tf.Tensor) -> Any:
    return tf.identity(t), lambda gradient: gradient * 7.0


def with_a_table(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    """A call of a loop that gathers rows of a variable."""
    table = tf.Variable(tf.ones([4, 2]), name="table")

    @tf.function
    def summed(x: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, tf.nn.relu(a * v) + tf.reduce_sum(tf.gather(table, [1, 2])) * a * a * 0.01

        return tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]

    return summed(x)


def loop_of(body: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, body(i, a)), [0, x])[1]


CALL, WHILE, IF = ("PartitionedCall", ""), ("While", "body"), ("If", "then_branch")
DEEP: dict[
    str, tuple[Callable[[tf.Tensor, tf.Variable], tf.Tensor], list[tuple[str, str]], float]
] = {
    "a call in a call": (lambda x, v: tf.function(lambda t: called(t, v) + t)(x), [CALL, CALL], 1),
    "a call in a loop in a call": (
        lambda x, v: tf.function(lambda t: loop_of(lambda _, a: called(a, v), t))(x),
        [CALL, WHILE, CALL],
        1,
    ),
    "a conditional in a loop": (
        lambda x, v: loop_of(
            lambda i, a: tf.cond(i > 0, lambda: tf.nn.relu(a * v) + a * a, lambda: a * 2.0), x
        ),
        [WHILE, IF],
        1,
    ),
    "a loop in a loop": (
        lambda x, v: loop_of(
            lambda _, a: loop_of(lambda _, b: tf.nn.relu(b * v) * 0.3 + b * 0.1, a), x
        ),
        [WHILE, WHILE],
        1,
    ),
    "a loop that gathers, in a call": (with_a_table, [CALL, WHILE], 1),
    "a compiled call": (
        lambda x, v: tf.function(lambda t: tf.nn.relu(t * v), jit_compile=True)(x),
        [CALL],
        1,
    ),
    "a custom gradient": (
        lambda x, v: tf.function(lambda t: with_gradient_of_seven(tf.nn.relu(t * v)))(x),
        [CALL],
        7,
    ),
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.sample(2)
def test_gradients_through_an_edited_body_are_those_of_small_steps_however_deep_it_is(
    name: str,
) -> None:
    build, path, factor = DEEP[name]
    built = live(build)
    for kind, label in path:
        built.editor.view.enter(found(built.editor, kind), label)
    built.editor.insert(f"{built.editor.ops(type='Relu').ops[0]}:0", lambda t: t * t * 0.1 + 1.0)
    with built.graph.as_default():
        y, variables = built.graph.get_tensor_by_name("y:0"), v1.global_variables()
        total = tf.reduce_sum(y)
        gradients = tf.gradients(total, [built.graph.get_tensor_by_name("x:0"), *variables])
        scales = v1.placeholder_with_default(np.ones(len(variables), np.float32), [None])
        changes = [variable.assign(variable * scales[k]) for k, variable in enumerate(variables)]
    tgw.renew(built.session)
    at = np.array([0.5, 0.7])
    slopes = built.session.run(gradients, {"x:0": at})
    step = 1e-2
    for k, slope in enumerate(slopes[0]):
        there, back = (
            built.session.run(total, {"x:0": at + sign * step * np.eye(2)[k]}) for sign in (1, -1)
        )
        assert np.isclose(slope, factor * (there - back) / (2 * step), rtol=2e-2)
    for k, (variable, slope) in enumerate(zip(variables, slopes[1:], strict=True)):
        values = built.session.run(variable)
        totals = []
        for scale in (1 + step, (1 - step) / (1 + step), 1 / (1 - step)):
            built.session.run(
                changes, {scales: [scale if n == k else 1.0 for n in range(len(variables))]}
            )
            totals.append(built.session.run(total, {"x:0": at}))
        directional = np.sum(dense(slope, values.shape) * values)
        assert np.isclose(directional, factor * (totals[0] - totals[1]) / (2 * step), rtol=2e-2)


def dense(gradient: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of a variable as an array; that of rows that were gathered comes as the rows and
    their numbers.
    """
    if not hasattr(gradient, "indices"):
        return gradient
    whole = np.zeros(shape)
    np.add.at(whole, gradient.indices, gradient.values)
    return whole


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.sample(2)
def test_the_gradient_after_an_undo_is_that_of_the_body_as_it_was(name: str) -> None:
    build, op_type, label, _ = KINDS[name]
    values = []
    for is_edited in (True, False):
        built = live(build)
        if is_edited:
            built.editor.view.enter(found(built.editor, op_type), label)
            bypass_relu(built.editor)
            built.editor.undo()
        with built.graph.as_default():
            y, x = (built.graph.get_tensor_by_name(name) for name in ("y:0", "x:0"))
            gradients = tf.gradients(y, [x, *v1.global_variables()])
        tgw.renew(built.session)
        values.append(built.session.run([y, *gradients], FEED))
    for one, other in zip(*values, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.sample(2)
def test_gradient_ops_that_were_there_before_an_edit_are_named_by_it_and_new_ones_are_right(
    name: str,
) -> None:
    build, op_type, label, wanted = KINDS[name]
    graph = tf.Graph()
    with graph.as_default():
        x, v = v1.placeholder(tf.float32, [None], name="x"), tf.Variable(3.0, name="v")
        y = tf.identity(build(x, v), name="y")
        old = tf.gradients(y, x)[0]
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    editor.view.enter(found(editor, op_type), label)
    notes = " ".join(bypass_relu(editor).notes)
    assert "gradients/" in notes
    assert "before the edit; add the gradient of the edited function: tf.gradients" in notes
    assert np.allclose(session.run(y, FEED), wanted)
    assert np.isfinite(session.run(old, FEED)).all()
    with graph.as_default():
        new = tf.gradients(y, x)[0]
    tgw.renew(session)
    fresh = live(build)
    fresh.editor.view.enter(found(fresh.editor, op_type), label)
    bypass_relu(fresh.editor)
    with fresh.graph.as_default():
        right = tf.gradients(
            fresh.graph.get_tensor_by_name("y:0"), fresh.graph.get_tensor_by_name("x:0")
        )[0]
    tgw.renew(fresh.session)
    assert np.allclose(session.run(new, FEED), fresh.session.run(right, FEED))


def test_the_gradient_of_a_clone_is_not_said_to_be_that_of_the_edited_call() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        y = tf.identity(tf.function(lambda t: tf.nn.relu(t) * 2.0)(x), name="y")
        tf.identity(tf.gradients(y, x)[0], name="gradient")
    editor = tgw.edit(graph)
    editor.clone("x:0", ["y:0", "gradient:0"], into="copy")
    editor.view.enter("PartitionedCall")
    notes = " ".join(bypass_relu(editor).notes)
    assert "'gradients/PartitionedCall_grad' computes the gradient of 'PartitionedCall'" in notes
    assert "copy/" not in notes


def test_an_op_that_was_differentiated_since_is_not_changed_back_without_a_word() -> None:
    built = live(called)
    built.editor.view.enter(found(built.editor, "PartitionedCall"))
    bypass_relu(built.editor)
    with built.graph.as_default():
        gradient = tf.gradients(
            built.graph.get_tensor_by_name("y:0"), built.graph.get_tensor_by_name("x:0")
        )[0]
    tgw.renew(built.session)
    before = built.y(), built.session.run(gradient, FEED).tolist()
    with pytest.raises(GraphEditError, match=r"tf\.gradients has differentiated"):
        built.editor.undo()
    assert before == (built.y(), built.session.run(gradient, FEED).tolist()) == ([-2, 7], [3, 3])


# What the root says and holds


def test_the_difference_at_the_root_is_that_inside_of_the_function(kind: Any) -> None:
    built, op, label, _ = kind
    built.editor.view.enter(op, label)
    old = built.editor._core.navigator.function
    bypass_relu(built.editor)
    built.editor.view.leave()
    difference = built.editor.diff()
    (inside,) = difference.inside
    assert inside.path[0].partition(":")[0] == op
    assert inside.difference.changed
    assert not difference.changed
    assert any(name.startswith(f"{old}_edited_") for name in built.editor._core.index.functions)
    built.editor.undo()
    built.editor.view.leave(0)
    assert not built.editor.diff()


def edited_functions(editor: GraphEditor) -> set[str]:
    return {name for name in editor._core.target.index.functions if "_edited_" in name}


@pytest.mark.parametrize("file", ["graph.pb", "graph.pbtxt", "frozen.pb", "model.meta", "model/"])
@pytest.mark.sample(6)
def test_what_is_saved_at_the_root_holds_the_edit(kind: Any, file: str, tmp_path: Path) -> None:
    built, op, label, wanted = kind
    built.editor.view.enter(op, label)
    bypass_relu(built.editor)
    built.editor.view.leave()
    options = {"frozen": True} if file.startswith("frozen") else {}
    saved = built.editor.save(f"{tmp_path}/{file}", "x:0", "y:0", **options)
    again = opened(saved)
    with again.session as session:
        if not file.startswith("graph"):
            assert np.allclose(session.run("y:0", FEED), wanted)
        else:
            session.run(
                [o.name for o in again.graph.get_operations() if o.type == "AssignVariableOp"][:1]
            )
            session.run(
                again.graph.get_operation_by_name("v/Assign"),
                {"v/Initializer/initial_value:0": 3.0},
            )
            assert np.allclose(session.run("y:0", FEED), wanted)


@pytest.mark.sample(2)
def test_a_file_is_edited_in_a_body_before_and_after_its_import(kind: Any, tmp_path: Path) -> None:
    built, op, label, wanted = kind
    path = built.editor.save(f"{tmp_path}/model.meta", "x:0", "y:0")
    as_file, imported = opened(path), opened(path)
    assert imported.session is not None
    for editor in (as_file, imported):
        editor.view.enter(op, label)
        bypass_relu(editor)
        editor.view.leave()
    for editor in (as_file, imported):
        assert np.allclose(editor.session.run("y:0", FEED), wanted)
        editor.undo()
        editor.view.leave(0)
        assert np.allclose(editor.session.run("y:0", FEED), built_y(path))


def built_y(path: Path) -> Any:
    with opened(path).session as session:
        return session.run("y:0", FEED)


def test_edits_in_bodies_are_made_again_from_json_and_by_code(kind: Any, tmp_path: Path) -> None:
    built, op, label, wanted = kind
    path = built.editor.save(f"{tmp_path}/model.meta", "x:0", "y:0")
    editor = opened(path)
    editor.view.enter(op, label)
    bypass_relu(editor)
    editor.view.leave()
    written = editor.save(tmp_path / "one.pb").read_bytes()
    other = opened(path)
    assert other.history.replay(json.loads(json.dumps(editor.history.records()))) == 1
    other.view.leave(0)
    assert other.save(tmp_path / "two.pb").read_bytes() == written
    assert np.allclose(other.session.run("y:0", FEED), wanted)
    names: dict[str, Any] = {}
    exec(editor.history.to_script().text, names)
    names["editor"].view.leave(0)
    assert names["editor"].save(tmp_path / "three.pb").read_bytes() == written


# Calls of one function


class Shared(tf.Module):
    """Two calls of one function, and one of a function that calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(2.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def inner(self, t: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(t * self.w)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def middle(self, t: tf.Tensor) -> tf.Tensor:
        return self.inner(t) + 1.0

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def outer(self, t: tf.Tensor) -> tf.Tensor:
        return self.middle(t) * 10.0

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def call(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        one, two = self.inner(x), self.inner(x + 0.0)
        return {
            "one": tf.identity(one),
            "two": tf.identity(two),
            "three": self.middle(x),
            "four": self.outer(x),
        }


@pytest.fixture
def shared() -> Iterator[Live]:
    graph = tf.Graph()
    with graph.as_default():
        module = Shared()
        outputs = module.call.python_function(v1.placeholder(tf.float32, [None], name="x"))
        tf.stack([tf.reduce_sum(outputs[key]) for key in ("one", "two", "three", "four")], name="y")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            yield Live(graph, session, tgw.edit(graph, session=session))


ONE = {"x:0": [-1.0]}


def test_only_the_call_that_was_entered_changes(shared: Live) -> None:
    assert shared.y(ONE) == [0, 0, 1, 10]
    editor = shared.editor
    editor.view.enter(found(editor, "PartitionedCall", 1))
    bypass_relu(editor)
    assert shared.y(ONE) == [0, -2, 1, 10]
    editor.view.leave()
    editor.view.enter(found(editor, "PartitionedCall", 0))
    assert editor.ops(type="Relu").outputs  # this call's body is as it was
    editor.view.leave()
    editor.undo()
    assert shared.y(ONE) == [0, 0, 1, 10]


@pytest.mark.parametrize("is_by_name", [False, True])
def test_everywhere_changes_all_calls_those_in_other_functions_too(
    shared: Live, is_by_name: bool
) -> None:
    editor = shared.editor
    op = found(editor, "PartitionedCall")
    if is_by_name:
        editor.view.enter(editor.view.called_functions(op)[0].function)
    else:
        editor.view.enter(op, everywhere=True)
        assert editor.view.breadcrumb[-1] == f"{op} everywhere"
    bypass_relu(editor)
    assert shared.y(ONE) == [-2, -2, -1, -10]
    editor.insert(found(editor, "Mul"), lambda t: t * 2.0)
    assert shared.y(ONE) == [-4, -4, -3, -30]
    editor.undo()
    assert shared.y(ONE) == [-2, -2, -1, -10]
    editor.undo()
    assert shared.y(ONE) == [0, 0, 1, 10]
    editor.redo()
    assert shared.y(ONE) == [-2, -2, -1, -10]


def test_everywhere_is_in_code_and_json(shared: Live, tmp_path: Path) -> None:
    with shared.graph.as_default():
        path = shared.editor.save(f"{tmp_path}/model.meta", "x:0", "y:0")
    editor = opened(path)
    op = found(editor, "PartitionedCall", 2)
    editor.view.enter(op)
    editor.view.enter(found(editor, "PartitionedCall"), everywhere=True)
    bypass_relu(editor)
    editor.view.leave(0)
    assert "everywhere=True" in editor.history.to_script().text
    other = opened(path)
    other.history.replay(editor.history.records())
    other.view.leave(0)
    written = [one.save(f"{tmp_path}/{k}.pb").read_bytes() for k, one in enumerate((editor, other))]
    names: dict[str, Any] = {}
    exec(editor.history.to_script().text, names)
    names["editor"].view.leave(0)
    assert {*written, names["editor"].save(f"{tmp_path}/3.pb").read_bytes()} == {written[0]}
    assert editor.session.run("y:0", ONE).tolist() == [-2, -2, -1, -10]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_edit_at_any_depth_is_in_the_graph(shared: Live, depth: int) -> None:
    editor = shared.editor
    editor.view.enter(found(editor, "PartitionedCall", (0, 2, 3)[depth - 1]))
    for _ in range(depth - 1):
        editor.view.enter(found(editor, "PartitionedCall"))
    assert len(editor.view.breadcrumb) == depth + 1
    bypass_relu(editor)
    wanted = [[-2, 0, 1, 10], [0, 0, -1, 10], [0, 0, 1, -10]][depth - 1]
    assert shared.y(ONE) == wanted
    for level in reversed(range(depth)):
        editor.view.leave()
        assert len(editor.view.breadcrumb) == level + 1
        assert editor.diff().inside
    editor.undo()
    assert shared.y(ONE) == [0, 0, 1, 10]
    editor.redo()
    assert shared.y(ONE) == wanted


def test_edits_at_several_depths_are_undone_one_by_one(shared: Live) -> None:
    editor, seen = shared.editor, [shared.y(ONE)]
    editor.view.enter(found(editor, "PartitionedCall", 3))
    editor.insert(found(editor, "Mul"), lambda t: t + 100.0)
    seen.append(shared.y(ONE))
    editor.view.enter(found(editor, "PartitionedCall"))
    editor.view.enter(found(editor, "PartitionedCall"))
    bypass_relu(editor)
    seen.append(shared.y(ONE))
    editor.view.leave()
    editor.insert(found(editor, "AddV2"), lambda t: t - 1.0)
    seen.append(shared.y(ONE))
    editor.view.leave(0)
    editor.insert("y", lambda t: t * 2.0, into="doubled")
    seen.append(shared.y(ONE))
    assert [values[3] for values in seen] == [10, 110, 90, 80, 80]
    for number in (3, 2, 1, 0, 1, 2, 3, 4, 0, 4):
        editor.history.goto(number)
        assert shared.y(ONE) == seen[number]


# What Python has traced


class Nested(tf.Module):
    """Functions in functions, with a loop and a conditional."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(2.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def inner(self, t: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(t * self.w)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def middle(self, t: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            t = self.inner(t) + 1.0
        return t

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def call(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": self.middle(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def other(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"z": self.inner(x)}


def enter_inner(editor: GraphEditor) -> None:
    """Into the function that is called in a loop, from wherever in the calls around that."""
    enter_loop(editor)
    editor.view.enter(found(editor, "PartitionedCall"))


def enter_loop(editor: GraphEditor) -> None:
    while not any(kind.endswith("While") for kind in editor._core.index.types):
        editor.view.enter(found(editor, "PartitionedCall"))
    editor.view.enter(found(editor, "While"), "body")


def test_an_edit_four_levels_deep_in_a_tf_function_is_in_its_module_and_its_function() -> None:
    nested = Nested()
    editor = tgw.edit(nested.call)
    enter_inner(editor)
    report = bypass_relu(editor)
    assert any("editor.to_function() is the edited one" in note for note in report.notes)
    editor.view.leave(0)
    assert editor.diff().inside
    module = editor.to_module()
    x = tf.constant([-1.0, 1.0])
    for call in (module, editor.to_function()):
        (result,) = call(x).values()
        assert result.numpy().tolist() == [-1, 7]
    assert nested.call(x)["y"].numpy().tolist() == [3, 7]
    editor.undo()
    editor.view.leave(0)
    (result,) = editor.to_module()(x).values()
    assert result.numpy().tolist() == [3, 7]
    assert not editor.diff()


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_body_of_a_keras_model_is_edited_though_the_model_is_deleted(is_kept: bool) -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input([3, 2]), layers.LSTM(4, activation="relu"), layers.Dense(1)]
    )
    x = tf.constant(np.random.default_rng(0).normal(size=[5, 3, 2]), tf.float32)
    weights = model.get_weights()
    before = model(x).numpy()
    editor = tgw.edit(model)
    if not is_kept:
        del model
    editor.view.enter(found(editor, "While"), "body")
    for relu in editor.ops(type="Relu").ops:
        editor.bypass(relu)
    editor.view.leave()
    module = editor.to_module()
    linear = tf.keras.Sequential(
        [tf.keras.Input([3, 2]), layers.LSTM(4, activation="linear"), layers.Dense(1)]
    )
    linear.set_weights(weights)
    assert np.allclose(module(x), linear(x), atol=1e-5)
    assert not np.allclose(before, linear(x), atol=1e-5)
    while editor._core.executor.history.done:
        editor.undo()
    editor.view.leave(0)
    assert np.allclose(editor.to_module()(x), before, atol=1e-6)


# SavedModels and files


def signature_values(path: Path, name: str, x: list[float]) -> dict[str, list[float]]:
    served = tf.saved_model.load(str(path)).signatures[name]
    return {key: value.numpy().tolist() for key, value in served(x=tf.constant(x)).items()}


def test_an_edit_deep_in_a_saved_model_is_in_the_graph_that_is_saved_and_run(
    tmp_path: Path,
) -> None:
    nested = Nested()
    tf.saved_model.save(
        nested, f"{tmp_path}/left", signatures={"call": nested.call, "other": nested.other}
    )
    editor = tgw.edit(f"{tmp_path}/left", signature="call")
    enter_inner(editor)
    bypass_relu(editor)
    assert len(editor.view.breadcrumb) >= 5
    editor.view.leave(0)
    assert editor.diff().inside
    signatures = {
        s.name: (dict(s.inputs), dict(s.outputs)) for s in tuple(editor.signatures.values())
    }
    path = editor.save(
        f"{tmp_path}/mine/", signatures={name: signatures[name] for name in ("call", "other")}
    )
    assert signature_values(path, "call", [-1.0, 1.0]) == {"y": [-1, 7]}
    assert signature_values(path, "other", [-1.0]) == {"z": [0]}
    assert signature_values(tmp_path / "left", "call", [-1.0]) == {"y": [3]}
    ends = signatures["call"]
    assert editor.session.run(ends[1]["y"], {ends[0]["x"]: [-1.0, 1.0]}).tolist() == [-1, 7]
    editor.undo()
    assert editor.session.run(ends[1]["y"], {ends[0]["x"]: [-1.0, 1.0]}).tolist() == [3, 7]


def test_everywhere_in_a_saved_model_is_for_all_signatures(tmp_path: Path) -> None:
    nested = Nested()
    tf.saved_model.save(
        nested, f"{tmp_path}/left", signatures={"call": nested.call, "other": nested.other}
    )
    editor = tgw.edit(f"{tmp_path}/left", signature="call")
    enter_loop(editor)
    editor.view.enter(found(editor, "PartitionedCall"), everywhere=True)
    bypass_relu(editor)
    editor.view.leave(0)
    signatures = {
        s.name: (dict(s.inputs), dict(s.outputs)) for s in tuple(editor.signatures.values())
    }
    path = editor.save(
        f"{tmp_path}/mine/", signatures={name: signatures[name] for name in ("call", "other")}
    )
    assert signature_values(path, "call", [-1.0, 1.0]) == {"y": [-1, 7]}
    assert signature_values(path, "other", [-1.0]) == {"z": [-2]}


def test_a_keras_export_is_edited_in_the_body_that_it_opens_on(tmp_path: Path) -> None:
    inputs = tf.keras.Input([2])
    hidden = tf.keras.layers.Dense(3, activation="relu", name="hidden")
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, name="head")(hidden(inputs)))
    x = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
    model.export(f"{tmp_path}/left", verbose=False)
    editor = tgw.edit(f"{tmp_path}/left")
    assert len(editor.view.breadcrumb) > 1
    bypass_relu(editor)
    editor.view.leave(0)
    signature = next(s for s in tuple(editor.signatures.values()) if s.name == "serving_default")
    ((_, fed),), ((_, fetched),) = signature.inputs, signature.outputs
    head = model.get_layer("head")
    wanted = (x @ hidden.kernel + hidden.bias) @ head.kernel + head.bias
    assert np.allclose(editor.session.run(fetched, {fed: x}), wanted, atol=1e-5)
    again = tgw.edit(editor.save(f"{tmp_path}/mine/"))
    again.view.leave(0)
    assert [signature.name for signature in tuple(again.signatures.values())] == [
        "serve",
        "serving_default",
    ]
    for signature in again.signatures.values():  # Keras exports one function by both
        ((_, fed),), ((_, fetched),) = signature.inputs, signature.outputs
        assert np.allclose(again.session.run(fetched, {fed: x}), wanted, atol=1e-5)


def test_a_saved_model_of_tensorflow_1_is_edited_in_a_loop(tmp_path: Path) -> None:
    built = live(looped)
    with built.graph.as_default():
        ends = ({name: built.graph.get_tensor_by_name(f"{name}:0")} for name in "xy")
        v1.saved_model.simple_save(built.session, f"{tmp_path}/left", *ends)
    editor = tgw.edit(f"{tmp_path}/left")
    editor.view.leave(0)
    editor.view.enter("while", "body")
    bypass_relu(editor)
    editor.view.leave()
    assert np.allclose(editor.session.run("y:0", FEED), KINDS["while"][3])
    path = editor.save(f"{tmp_path}/mine/")
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], str(path))
        assert np.allclose(session.run("y:0", FEED), KINDS["while"][3])


@pytest.mark.slow
def test_a_script_makes_edits_in_bodies_again_in_another_process(
    tmp_path: Path, warm_python: list[str]
) -> None:
    nested = Nested()
    tf.saved_model.save(nested, f"{tmp_path}/left", signatures=nested.call)
    editor = tgw.edit(f"{tmp_path}/left")
    enter_inner(editor)
    bypass_relu(editor)
    editor.view.leave(0)
    written = editor.save(tmp_path / "here.pb").read_bytes()
    save = f"editor.view.leave(0)\neditor.save({str(tmp_path / 'there.pb')!r})\n"
    script = f"{editor.history.to_script().text}\n{save}"
    subprocess.run([*warm_python, "-c", script], check=True, capture_output=True)
    assert (tmp_path / "there.pb").read_bytes() == written


# Failures


@pytest.mark.parametrize(
    "error", [RuntimeError("injected"), KeyboardInterrupt()], ids=["error", "interrupt"]
)
@pytest.mark.parametrize(
    "step",
    [(patch_application, "rewire"), (patch_application, "set_static_shapes"), (Renewal, "apply")],
    ids=lambda step: step[1],
)
@pytest.mark.sample(2)
def test_an_edit_in_a_body_that_fails_or_is_interrupted_leaves_all_as_it_was(
    shared: Live, step: tuple[Any, str], error: BaseException
) -> None:
    editor = shared.editor
    editor.view.enter(found(editor, "PartitionedCall", 2))
    editor.view.enter(found(editor, "PartitionedCall"))
    before = (
        editor._core.target.index,
        editor._core.index,
        editor.view.breadcrumb,
        editor._core.navigator.function,
    )
    with failing(*step, 1, error), pytest.raises(type(error)):
        bypass_relu(editor)
    assert editor._core.target.index.nodes == before[0].nodes
    assert editor._core.target.index.functions == before[0].functions
    assert (editor._core.index.nodes, editor.view.breadcrumb, editor._core.navigator.function) == (
        before[1].nodes,
        *before[2:],
    )
    assert not editor.history.done
    assert shared.y(ONE) == [0, 0, 1, 10]
    bypass_relu(editor)
    assert shared.y(ONE) == [0, 0, -1, 10]
    editor.undo()
    editor.insert(editor.ops(type="Relu").ops[0], lambda t: t - 1.0)
    assert shared.y(ONE) == [0, 0, 0, 10]


# Functions of all sorts

POLYMORPHIC = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "i" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "a" op: "poly" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "b" op: "poly" input: "i" attr { key: "T" value { type: DT_INT32 } } }
library { function {
  signature {
    name: "poly" input_arg { name: "t" type_attr: "T" } output_arg { name: "r" type_attr: "T" }
    attr { name: "T" type: "type" }
  }
  node_def { name: "relu" op: "Relu" input: "t" attr { key: "T" value { placeholder: "T" } } }
  node_def { name: "neg" op: "Neg" input: "relu:activations:0"
      attr { key: "T" value { placeholder: "T" } } }
  ret { key: "r" value: "neg:y:0" }
} }
versions { producer: 1900 }
"""


def test_a_body_that_two_calls_give_different_dtypes_is_edited_for_one_of_them_or_by_its_name() -> (
    None
):
    graph_def = text_format.Parse(POLYMORPHIC, v1.GraphDef())
    editor = tgw.edit(graph_def)
    editor.view.enter("a", everywhere=True)
    with pytest.raises(
        GraphEditError, match=r"'poly' differ in the attribute 'T'.* without everywhere"
    ):
        editor.bypass("relu")
    assert not editor.history.done
    editor.view.leave()
    editor.view.enter("a")
    editor.bypass("relu")
    editor.view.leave()
    assert [editor._core.index.types[editor._core.index.op(name)] == "poly" for name in "ab"] == [
        False,
        True,
    ]
    editor.undo()
    editor.view.leave(0)
    editor.view.enter("poly")
    editor.bypass("relu")
    editor.view.leave()
    assert (
        len({editor._core.index.types[editor._core.index.op(name)] for name in "ab"} - {"poly"})
        == 1
    )


def test_a_function_that_calls_itself_is_not_edited() -> None:
    graph_def = live(called).graph.as_graph_def()
    (function,) = graph_def.library.function
    again = function.node_def.add(name="again", op="StatefulPartitionedCall")
    again.input.extend(argument.name for argument in function.signature.input_arg)
    again.attr["f"].func.name = function.signature.name
    again.attr["Tin"].list.type.extend(argument.type for argument in function.signature.input_arg)
    again.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
    editor = tgw.edit(graph_def)
    editor.view.enter(found(editor, "PartitionedCall"))
    with pytest.raises(
        GraphEditError, match="calls itself, and an edited one would go on calling it as it was"
    ):
        bypass_relu(editor)
    editor.view.leave()
    assert not editor.diff()
    assert not editor.history.done


def test_a_python_function_in_a_body_goes_on_being_called_and_a_new_one_stays_alive() -> None:
    def scaled(x: tf.Tensor, _: tf.Variable) -> tf.Tensor:
        return tf.function(
            lambda x: tf.nn.relu(tf.py_function(lambda t: t * 3.0, [x], tf.float32))
        )(x)

    built = live(scaled)
    built.editor.view.enter(found(built.editor, "PartitionedCall"))
    bypass_relu(built.editor)
    assert built.y() == [-3, 6]
    built.editor.insert(
        found(built.editor, "PyFunc"), lambda t: tf.py_function(lambda u: u + 1.0, [t], tf.float32)
    )
    gc.collect()
    assert built.y() == [-2, 7]
    built.editor.undo()
    assert built.y() == [-3, 6]


def test_a_captured_placeholder_is_an_argument_that_stays() -> None:
    def scaled(x: tf.Tensor, _: tf.Variable) -> tf.Tensor:
        factor = v1.placeholder_with_default(5.0, [], name="factor")
        return tf.function(lambda x: tf.nn.relu(x * factor))(x)

    built = live(scaled)
    built.editor.view.enter(found(built.editor, "PartitionedCall"))
    bypass_relu(built.editor)
    assert built.y() == [-5, 10]
    assert built.y({**FEED, "factor:0": 2.0}) == [-2, 4]
    argument = next(name for name in built.editor._core.index.names if "factor" in name)
    with pytest.raises(
        GraphEditError, match="is an argument of the function, which its callers give"
    ):
        built.editor.remove(argument, consumers=True)
    assert built.y() == [-5, 10]


def test_a_variable_of_its_own_comes_from_the_graph_that_calls_the_function() -> None:
    built = live(called)
    before = built.y()
    built.editor.view.enter(found(built.editor, "PartitionedCall"))
    built.editor.insert(found(built.editor, "Mul"), lambda t: t * tf.Variable(1.0))
    assert built.y() == before


def test_the_function_of_a_dataset_is_given_no_variable() -> None:
    def element(x: tf.Tensor, _: tf.Variable) -> tf.Tensor:
        numbers = tf.data.Dataset.range(5).map(lambda i: tf.nn.relu(tf.cast(i, tf.float32) - 2.0))
        return x * 0.0 + v1.data.make_initializable_iterator(numbers).get_next()

    editor = live(element).editor
    editor.view.enter(found(editor, "MapDataset"))
    with pytest.raises(GraphEditError, match="cannot give the function the variable"):
        editor.insert(found(editor, "Relu"), lambda t: t * tf.Variable(1.0))


def test_the_function_of_a_dataset_is_edited() -> None:
    def element(x: tf.Tensor, _: tf.Variable) -> tf.Tensor:
        numbers = tf.data.Dataset.range(5).map(lambda i: tf.nn.relu(tf.cast(i, tf.float32) - 2.0))
        iterator = v1.data.make_initializable_iterator(numbers)
        v1.add_to_collection("initializers", iterator.initializer)
        return x * 0.0 + iterator.get_next()

    built = live(element)
    initializers = built.graph.get_collection("initializers")
    built.session.run(initializers)
    assert [built.y()[0] for _ in range(5)] == [0, 0, 0, 1, 2]
    built.editor.view.enter(found(built.editor, "MapDataset"))
    bypass_relu(built.editor)
    built.session.run(initializers)
    assert [built.y()[0] for _ in range(5)] == [-2, -1, 0, 1, 2]
    built.editor.undo()
    built.session.run(initializers)
    assert [built.y()[0] for _ in range(5)] == [0, 0, 0, 1, 2]


def test_an_op_of_a_function_s_own_type_becomes_one_of_the_edited_function_s() -> None:
    def defined(x: tf.Tensor, _: tf.Variable) -> tf.Tensor:
        return function.Defun(tf.float32, func_name="defined")(lambda t: tf.nn.relu(t * 3.0) + 1.0)(
            x
        )

    built = live(defined)
    editor = built.editor
    editor.view.enter("defined")
    bypass_relu(editor)
    editor.insert(found(editor, "Mul"), lambda t: t * 2.0)
    assert built.y() == [-5, 13]
    with built.graph.as_default():
        gradient = tf.gradients(
            built.graph.get_tensor_by_name("y:0"), built.graph.get_tensor_by_name("x:0")
        )
    assert built.session.run(gradient, FEED)[0].tolist() == [6, 6]
    editor.history.goto(0)
    assert built.y() == [1, 7]
    assert editor._core.index is editor._core.view.target.first
    editor.history.goto(2)
    assert built.y() == [-5, 13]


def test_state_in_a_body_makes_its_call_one_that_has_state() -> None:
    built = live(
        lambda x, _: tf.while_loop(
            lambda i, _: i < 2, lambda i, a: (i + 1, tf.nn.relu(a * 2.0)), [0, x]
        )[1]
    )
    loop = found(built.editor, "StatelessWhile")
    built.editor.view.enter(loop, "body")
    built.editor.insert(found(built.editor, "Relu"), lambda t: t + tf.random.uniform([2]))
    assert built.editor._core.target.index.types.count("While") == 1
    assert built.y() != built.y()
    built.editor.undo()
    assert built.y() == [0, 8]
    built.editor.view.leave(0)
    assert found(built.editor, "StatelessWhile") == loop


def test_a_gradient_function_of_the_library_is_said_to_be_of_the_function_as_it_was() -> None:
    def defined(x: tf.Tensor, _: tf.Variable) -> tf.Tensor:
        backward = function.Defun(tf.float32, tf.float32, func_name="backward")(
            lambda t, g: g * 100.0 + t * 0.0
        )
        forward = function.Defun(tf.float32, func_name="forward", grad_func=backward)(
            lambda t: tf.nn.relu(t) * 3.0
        )
        return forward(x)

    built = live(defined)
    built.editor.view.enter("forward")
    assert any(
        "has the gradient function 'backward'" in note for note in bypass_relu(built.editor).notes
    )
    with built.graph.as_default():
        gradient = tf.gradients(
            built.graph.get_tensor_by_name("y:0"), built.graph.get_tensor_by_name("x:0")
        )
    assert built.session.run(gradient, FEED)[0].tolist() == [3, 3]


def test_two_editors_of_one_graph_do_not_take_back_each_other_s_edits_of_a_call() -> None:
    built = live(called)
    other = tgw.edit(built.graph, session=built.session)
    op = found(built.editor, "PartitionedCall")
    built.editor.view.enter(op)
    bypass_relu(built.editor)
    other.view.enter(op)
    other.insert(found(other, "Mul"), lambda t: t * 2.0)
    assert built.y() == [-5, 13]
    with pytest.raises(GraphEditError, match="was changed by another edit meanwhile"):
        built.editor.undo()
    assert built.y() == [-5, 13]
    other.undo()
    built.editor.undo()
    assert built.y() == [1, 7]


def test_a_page_the_inspector_and_the_costs_show_the_edited_function() -> None:
    nested = Nested()
    editor = tgw.edit(nested.call)
    call = found(editor, "PartitionedCall")
    before = editor.table(batch=1).set_index("name").loc[call, "flops"]
    editor.view.enter(call)
    enter_inner(editor)
    editor.insert(
        found(editor, "Mul"), lambda t: tf.linalg.matvec(tf.ones([8, 8]), tf.ones([8]))[:1] * t
    )
    added = set(editor._core.index.names)
    editor.view.leave(0)
    assert editor.table(batch=1).set_index("name").loc[call, "flops"] > before
    (shown,) = Inspector(editor).inspect(call, lambda _: None).called_functions
    assert "_edited_" in shown.function
    _, rooms = unpack_page(pack_page(page_input(editor._core)))
    assert any(set(room.head["names"]) == added for room in rooms)


def test_an_edit_without_a_renewal_says_that_the_session_goes_on_as_it_was() -> None:
    built = live(called)
    op = found(built.editor, "PartitionedCall")
    assert built.y() == [1, 7]
    built.editor.view.enter(op)
    built.editor.renew = False
    report = built.editor.bypass("Relu")
    assert any(
        f"A session that has run {op!r} already goes on running it as it was" in note
        for note in report.notes
    )
    assert built.y() == [1, 7]
    tgw.renew(built.session)
    assert built.y() == [-2, 7]


def test_an_edit_of_a_function_that_nothing_calls_says_so() -> None:
    built = live(called)
    editor = built.editor
    op = found(editor, "PartitionedCall")
    (called_function,) = editor.view.called_functions(op)
    editor.view.enter(op)
    bypass_relu(editor)
    editor.view.leave()
    editor.view.enter(called_function.function)
    report = bypass_relu(editor)
    assert any(
        f"No op of the graph calls {called_function.function!r}" in note for note in report.notes
    )
    assert built.y() == [-2, 7]


def test_the_same_edit_of_two_calls_gives_one_function(shared: Live) -> None:
    editor = shared.editor
    for number in range(2):
        editor.view.enter(found(editor, "PartitionedCall", number))
        bypass_relu(editor)
        editor.view.leave()
    assert shared.y(ONE) == [-2, -2, 1, 10]
    assert len(edited_functions(editor)) == 1
    editor.undo()
    assert shared.y(ONE) == [-2, 0, 1, 10]
    editor.undo()
    assert shared.y(ONE) == [0, 0, 1, 10]
    assert not editor._core.target.index.functions - editor._core.target.first.functions


# Random edits


def wander(choose: random.Random, editor: GraphEditor) -> None:
    """Go into functions at random, now and then for all calls."""
    editor.view.leave(0)
    for _ in range(choose.randrange(5)):
        index = editor._core.index
        nodes = zip(index.names, index.nodes, strict=True)
        calling = [name for name, node in nodes if called_functions(node, index.functions)]
        if not calling:
            return
        op = choose.choice(calling)
        ways = editor.view.called_functions(op)
        label = choose.choice(ways).label if len(ways) > 1 else ""
        editor.view.enter(op, label, everywhere=choose.random() < 0.2)


def edit_at_random(choose: random.Random, editor: GraphEditor) -> None:
    wander(choose, editor)
    index = editor._core.index
    ops = [
        name
        for i, name in enumerate(index.names)
        if index.types[i] in {"Relu", "Mul", "AddV2", "Identity", "Sub"}
    ]
    ops = [name for name in ops if index.dtypes(index.ids[name]) == ("float32",)]
    if ops:
        op, edit = choose.choice(ops), choose.randrange(5)
        if edit < 2:
            editor.insert(f"{op}:0", choose.choice(["Tanh", "Neg", "Relu"]))
        elif edit == 2:
            editor.bypass(op)
        elif edit == 3:
            editor.rename(op, f"renamed_{choose.randrange(10**6)}/op")
        else:
            editor.connect(f"{choose.choice(ops)}:0", op, 0)


def mixed(x: tf.Tensor, v: tf.Variable) -> tf.Tensor:
    """Calls of one function, some in loops and conditionals."""

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def inner(t: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(t * v) + 1.0

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def middle(t: tf.Tensor) -> tf.Tensor:
        return loop_of(lambda _, a: inner(a) - 0.5, t)

    each = tf.map_fn(lambda e: tf.cond(e > 0, lambda: tf.nn.relu(e * 2.0), lambda: e - 1.0), x)
    return inner(x) + inner(x * 0.5) + middle(x) + each


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sample(1)
def test_the_graph_has_what_random_edits_in_bodies_have_made_and_undo_and_redo_lead_back(
    seed: int,
) -> None:
    choose, built = random.Random(seed), live(mixed)
    editor, seen = built.editor, [built.y()]
    for _ in range(12):
        done = len(editor.history.done)
        with contextlib.suppress(GraphEditError):
            edit_at_random(choose, editor)
        if len(editor.history.done) > done:
            seen = [*seen[: done + 1], built.y()]
        elif editor.history.undone or editor.history.done:
            editor.history.goto(
                choose.randrange(len(editor.history.done) + len(editor.history.undone) + 1)
            )
        assert built.y() == seen[len(editor.history.done)]
        fresh, mine = tgw.edit(built.graph)._core.index, editor._core.target.index
        assert fresh.functions == mine.functions
        assert {node.name: node for node in fresh.nodes} == {node.name: node for node in mine.nodes}
    assert len(seen) > 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sample(1)
def test_random_edits_in_bodies_of_a_file_are_replayed_to_the_same_graph(
    seed: int, tmp_path: Path
) -> None:
    path = live(mixed).editor.save(tmp_path / "model.meta", "x:0", "y:0")
    choose, editor = random.Random(seed), opened(path)
    for number in range(10):
        with contextlib.suppress(GraphEditError):
            edit_at_random(choose, editor)
        if editor.history.done and choose.random() < 0.3:
            editor.undo()
        assert number != 5 or editor.session is not None
    editor.view.leave(0)
    other = opened(path)
    other.history.replay(json.loads(json.dumps(editor.history.records())))
    other.view.leave(0)
    assert np.array_equal(other.session.run("y:0", FEED), editor.session.run("y:0", FEED))
    written = [one.save(tmp_path / f"{k}.pb").read_bytes() for k, one in enumerate((editor, other))]
    libraries = [
        {
            function.signature.name: function
            for function in v1.GraphDef.FromString(data).library.function
        }
        for data in written
    ]
    assert libraries[0] == libraries[1]
    nodes = [{node.name: node for node in v1.GraphDef.FromString(data).node} for data in written]
    assert nodes[0] == nodes[1]


def test_the_functions_of_earlier_edits_go_when_nothing_calls_them_any_more(
    shared: Live, tmp_path: Path
) -> None:
    editor = shared.editor
    editor.view.enter(found(editor, "PartitionedCall", 2))
    editor.view.enter(found(editor, "PartitionedCall"))
    made = []
    for factor in (2.0, 3.0, 4.0):
        editor.insert(found(editor, "Mul"), lambda t, factor=factor: t * factor)
        made.append(editor._core.target.index.functions - editor._core.target.first.functions)
    assert [len(names) for names in made] == [2, 2, 2]
    assert len(frozenset().union(*made)) == 6
    editor.view.leave(0)
    assert edited_functions(editor) == made[-1]
    library = v1.GraphDef.FromString(editor.save(tmp_path / "edited.pb").read_bytes()).library
    edited = {
        function.signature.name
        for function in library.function
        if "_edited_" in function.signature.name
    }
    assert edited == made[-1]
    for names in (made[1], made[0], frozenset()):
        editor.undo()
        assert editor._core.target.index.functions - editor._core.target.first.functions == names
    editor.history.goto(3)
    assert editor._core.target.index.functions - editor._core.target.first.functions == made[-1]
    assert shared.y({"x:0": [1.0]}) == [2, 2, 49, 30]


def two_results(x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.nn.relu(x, name="first"), tf.exp(y, name="second")


@pytest.fixture(params=["tf.function", "SavedModel"])
def with_arguments(request: pytest.FixtureRequest, tmp_path: Path) -> GraphEditor:
    """An editor of a function of x and y."""
    specs = [tf.TensorSpec([2], tf.float32, name=name) for name in "xy"]
    module = tf.Module()
    module.f = tf.function(two_results, input_signature=specs)
    if request.param == "tf.function":
        return tgw.edit(module.f)
    tf.saved_model.save(
        module, str(tmp_path / "model"), signatures=module.f.get_concrete_function()
    )
    return tgw.edit(tmp_path / "model")


def test_what_a_function_cannot_hold_of_its_arguments_is_refused(
    with_arguments: GraphEditor,
) -> None:
    editor = with_arguments
    before = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
    with pytest.raises(
        GraphEditError, match=r"'x' is an argument of the function.*place the ops that read it"
    ):
        editor.set_device("x", "/cpu:0")
    with pytest.raises(
        GraphEditError,
        match=r"'x' is an argument of the function.*add the control inputs to the ops",
    ):
        editor.add_control_inputs("x", "second")
    assert [
        node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
    ] == before
    assert editor.history.lines == ()

    report = editor.set_device(editor.ops("x", "y", "first"), "/device:CPU:0")
    assert "Arguments 'x' and 'y' stay where the caller has them." in str(report)
    editor.set_device(editor.ops("x", "first"), "/device:GPU:0")
    device = [editor.inspect(name).device for name in ("x", "first")]
    assert device == ["", "/device:GPU:0"]
    editor.undo()
    assert [editor.inspect(name).device for name in ("x", "first")] == ["", "/device:CPU:0"]
