"""Edits in v1 loops and conditionals, of files and of live graphs: TensorFlow differentiates what
they made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError

FEED = np.array([0.1, 0.2, 0.3], np.float32)


def softened(t: tf.Tensor) -> tf.Tensor:
    """What replaces an op, with a constant of its own."""
    return tf.nn.softplus(t) * tf.constant(0.5)


@pytest.fixture(autouse=True)
def v1_control_flow() -> Iterator[None]:
    """Loops and conditionals of TensorFlow 1."""
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def loop_graph() -> tf.Graph:
    """A while loop with a variable and a constant from outside, and a conditional after it."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [3], name="x")
        w = v1.get_variable("w", [3], initializer=v1.constant_initializer(1.5))
        k = tf.constant(np.eye(3) * 0.5, tf.float32)

        def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.name_scope("in"):
                r = tf.nn.relu(tf.multiply(a, w, name="mul"), name="relu")
                q = tf.squeeze(tf.matmul(r[None], k, name="product"), 0)
                q *= tf.constant(2.0, name="two") * tf.constant(1.0, name="one")
                return i + 1, tf.add(tf.identity(q, name="same"), a, name="out")

        _, y = v1.while_loop(lambda i, _: i < 3, body, [0, x], name="loop")
        z = v1.cond(
            tf.reduce_sum(y) > 0,
            lambda: tf.tanh(tf.identity(y, name="inc"), name="tanh"),
            lambda: y * 2.0,
        )
        tf.identity(z, name="z")
    return graph


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Its MetaGraphDef, which has the contexts, with a checkpoint."""
    with v1.Session(graph=loop_graph()) as session, session.graph.as_default():
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(tmp_path / "model"))
    return tmp_path / "model.meta"


def check_gradient(
    editor: GraphEditor, tolerance: float = 0.02, x: str = "x:0", z: str = "z:0"
) -> None:
    """What tf.gradients computes is what z changes by."""
    session = editor.session
    assert session is not None
    with session.graph.as_default():
        gradient = tf.gradients(
            session.graph.get_tensor_by_name(z), session.graph.get_tensor_by_name(x)
        )[0]
    step = 1e-2
    steps = [
        session.run(z, {x: FEED + step * row}).sum()
        for row in np.concatenate([np.eye(3), -np.eye(3)])
    ]
    expected = (np.array(steps[:3], np.float64) - steps[3:]) / (2 * step)
    assert session.run(gradient, {x: FEED}) == pytest.approx(expected, rel=0.05, abs=tolerance)


def several(editor: GraphEditor) -> None:
    """Edits that build on each other, in the loop, of the loop and in the conditional."""
    editor.insert("loop/in/mul", "Tanh")
    editor.insert("loop/in/relu", "Sigmoid")
    editor.rename("loop", "again")
    editor.replace("cond/tanh", "Elu")
    editor.insert("again/in/mul", "Tanh")
    editor.undo()


EDITS: dict[str, Callable[[GraphEditor], object]] = {
    "none": lambda editor: editor,
    "insert": lambda editor: editor.insert("loop/in/mul", "Tanh"),
    "insert in the conditional": lambda editor: editor.insert("cond/tanh", "Sigmoid"),
    "replace": lambda editor: editor.replace("loop/in/relu", "Tanh"),
    "replace by a function": lambda editor: editor.replace("loop/in/relu", softened),
    "replace_all": lambda editor: editor.replace_all("Relu(a)", "Elu(a)"),
    "cast": lambda editor: editor.passes.cast("float16"),
    "quantize_weights": lambda editor: editor.passes.quantize_weights(minimum=4),
    "fold_constants": lambda editor: editor.passes.fold_constants(),
    "remove_identities": lambda editor: editor.passes.remove_identities(),
    "merge_duplicates": lambda editor: editor.passes.merge_duplicates(),
    "obfuscate_names": lambda editor: editor.passes.obfuscate_names(),
    "rename": lambda editor: editor.rename("loop", "again"),
    "rename in the loop": lambda editor: editor.rename("loop/in", "inside/of"),
    "rename the conditional": lambda editor: editor.rename("cond", "choice"),
    "bypass": lambda editor: editor.bypass("loop/in/relu"),
    "freeze": lambda editor: editor.freeze(),
    "clone in the loop": lambda editor: editor.clone(["loop/in/mul"], ["loop/in/relu"], "copy"),
    "clone": lambda editor: editor.clone(["x"], ["z"], "copy"),
    "several": several,
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.sample(5)
def test_a_loop_is_differentiated_after_an_edit_of_its_file(edit: str, path: Path) -> None:
    editor = tgw.edit(path, checkpoint=path.with_suffix(""))
    EDITS[edit](editor)
    names = editor._core.executor.new_names()  # TensorFlow imports the graph as it is now
    check_gradient(editor, x=f"{names.get('x', 'x')}:0", z=f"{names.get('z', 'z')}:0")
    if edit == "clone":
        with editor.graph.as_default():
            check_gradient(editor, z="copy/z:0")


def test_a_file_of_edits_in_a_loop_has_its_contexts(path: Path, tmp_path: Path) -> None:
    editor = tgw.edit(path, checkpoint=path.with_suffix(""))
    several(editor)
    editor.save(tmp_path / "edited.meta")
    check_gradient(tgw.edit(tmp_path / "edited.meta", checkpoint=tmp_path / "edited"))


def test_a_loop_of_a_live_graph_keeps_its_gradient_without_identities() -> None:
    session = v1.Session(graph=loop_graph())
    with session, session.graph.as_default():
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(session.graph, session=session)
        assert "loop/in/same" in editor.passes.remove_identities().removed
        check_gradient(editor)


@pytest.mark.parametrize(
    "edit",
    [
        lambda editor: editor.bypass("loop/Identity_1"),
        lambda editor: editor.reroute("loop/Identity_1", "loop/Switch_1:1"),
        lambda editor: editor.connect("loop/Switch_1:1", "loop/in/mul", 0),
    ],
)
def test_a_second_consumer_of_a_loops_switch_is_refused(
    edit: Callable[[GraphEditor], object],
) -> None:
    with pytest.raises(
        GraphEditError,
        match=r"'loop/Switch_1:1' is read by 'loop/Identity_1', and .* is wrong if two",
    ):
        edit(tgw.edit(loop_graph()))


LIVE_EDITS = {
    name: edit
    for name, edit in EDITS.items()
    if name not in ("none", "quantize_weights", "several")
}
# its ops go without others in their places, which the gradient could read
REFUSED = "remove_identities"


@pytest.mark.parametrize("edit", LIVE_EDITS)
@pytest.mark.sample(3)
def test_gradients_between_undo_and_redo_stand_in_the_way_of_neither(edit: str) -> None:
    """Those of a loop wait for ops after them: redo hides them with what they are built on."""
    session = v1.Session(graph=loop_graph())
    with session, session.graph.as_default():
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(session.graph, session=session)
        LIVE_EDITS[edit](editor)
        editor.undo()
        check_gradient(editor)
        if edit == REFUSED:
            with pytest.raises(
                GraphEditError, match=r"reads .*, which the edit removes; connect .* to another op"
            ):
                editor.redo()
            check_gradient(editor)
            return
        editor.redo()
        check_gradient(editor)
        editor.undo()
        check_gradient(editor)


@pytest.mark.parametrize(
    "tensor", ["loop/Enter_1:0", "loop/Merge_1:0", "loop/Switch_1:0", "loop/NextIteration_1:0"]
)
def test_nothing_goes_between_the_ops_that_hold_a_loop_together(tensor: str) -> None:
    """It ran, except for the last, and its gradient did not."""
    with pytest.raises(
        GraphEditError,
        match="hold a while loop together, and nothing can go between them; edit what",
    ):
        tgw.edit(loop_graph()).insert(tensor, "Tanh")


@pytest.mark.parametrize(("op", "way"), [("loop/Enter_1", "into"), ("loop/Exit_1", "out of")])
def test_no_other_op_represents_the_way_into_a_loop_or_out_of_it(op: str, way: str) -> None:
    editor = tgw.edit(loop_graph())
    with pytest.raises(
        GraphEditError,
        match=f"'{op}' is the way {way} a while loop, for which no other op can stand",
    ):
        editor.replace(op, "Tanh")


def powers() -> tf.Graph:
    """x → a while loop, twice → y."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        for name in ("first", "second"):
            x = v1.while_loop(
                lambda i, _: i < 3, lambda i, v, x=x: (i + 1, v * x), [0, x], name=name
            )[1]
        tf.identity(x, name="y")
    return graph


def slope(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.gradients(y, x)[0]


def test_a_gradient_through_loops_of_a_graph_def_is_refused_in_a_sentence(tmp_path: Path) -> None:
    editor = tgw.edit(powers().as_graph_def())
    editor.clone("x:0", "y:0", into="copy", placeholders=True)
    before = list(editor._core.index.names)
    for at in (["y:0", "x:0"], ["copy/y:0", "copy/x:0"]):
        with pytest.raises(
            GraphEditError, match="takes a gradient through a while loop"
        ) as refusal:
            editor.call(at, slope, into="slope")
        assert "first/while_context" in str(refusal.value)
        assert "first/Exit_1" in refusal.value.ops
        assert list(editor._core.index.names) == before
    with powers().as_default():
        v1.train.export_meta_graph(str(tmp_path / "loop.meta"))
    editor = tgw.edit(tmp_path / "loop.meta")
    made = editor.call(["y:0", "x:0"], slope, into="slope")
    value = editor.probe([made.outputs.name], {"x:0": 2.0})[made.outputs.name].value
    assert value == 16 * 2.0**15  # of x ** 16


def test_a_functions_own_attribute_error_is_reported_as_it_is() -> None:
    editor = tgw.edit(powers().as_graph_def())
    with pytest.raises(GraphEditError, match=r"raised AttributeError: .*'outer_contxt'"):
        editor.call(["y:0"], lambda y: y.outer_contxt, into="slope")
