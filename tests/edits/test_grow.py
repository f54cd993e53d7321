"""Growing: what a Python function makes at a tensor, initialised alone; and what an optimiser is to
train.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import ops as tensorflow_ops

import tfgraphwidget as tgw
from tests.commands import trainable_after
from tests.conftest import fill, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, GraphFinalized, NameTaken, UnknownName

ONES = np.ones((2, 3), np.float32)


def head(features: tf.Tensor) -> tf.Tensor:
    """Two classes."""
    kernel = v1.get_variable("kernel", [features.shape[1], 2], initializer=v1.ones_initializer())
    return tf.nn.softmax(features @ kernel, name="probabilities")


def test_a_head_grows_at_a_tensor_and_only_its_variables_are_initialised(
    editor: GraphEditor, session: v1.Session
) -> None:
    first = editor.graph.get_collection("variables")[0]
    fill(first, 0.5, session)
    grown = editor.call("net/one/out:0", head, into="head")
    assert grown.outputs.name == "head/probabilities:0"
    assert [v.name for v in grown.variables] == ["head/kernel:0"]
    assert (read([first], session)[0] == 0.5).all()
    assert session.run(grown.outputs, {"x:0": ONES}).sum() == pytest.approx(2)
    assert editor["head"] is grown
    assert editor.history.lines == (
        'head = editor.call(at=["net/one/out:0"], function=head, into="head")',
    )


def test_a_head_on_a_copy_trains_alone(editor: GraphEditor, session: v1.Session) -> None:
    copy = editor.clone("x:0", "net/one/out:0", "copy")
    grown = editor.call(copy["net/one/out:0"], head, into="head")
    assert trainable_after(editor, "head") == ("head/kernel",)
    with editor.graph.as_default():
        loss = -tf.reduce_sum(tf.math.log(grown.outputs[:, 0]))
        step = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
    frozen = read(copy.variables, session)
    losses = [session.run([loss, step], {"x:0": ONES})[0] for _ in range(3)]
    assert losses[-1] < losses[0]
    assert all(
        np.array_equal(*pair) for pair in zip(frozen, read(copy.variables, session), strict=True)
    )


def test_undo_hides_what_grew_and_redo_brings_it_back(
    editor: GraphEditor, session: v1.Session
) -> None:
    before, held = list(editor._core.index.names), editor.graph.get_collection("variables")
    editor.call("net/one/out:0", head, into="head")
    editor.undo()
    assert list(editor._core.index.names) == before
    assert editor.graph.get_collection("variables") == held
    assert editor._core.executor.copies == {}
    editor.redo()
    assert "head/probabilities" in editor._core.index.ids
    assert len(editor.graph.get_collection("variables")) == len(held) + 1


def half(features: tf.Tensor) -> tf.Tensor:
    """Makes a variable, and fails."""
    v1.get_variable("kernel", [2])
    raise ValueError(f"no head for {features.name}")


def not_initialisable(features: tf.Tensor) -> tf.Tensor:
    """Its variable needs a value that nobody feeds."""
    shape = v1.placeholder(tf.float32, [2])
    return features[:, :2] * v1.get_variable("kernel", initializer=shape, use_resource=True)


@pytest.mark.parametrize("function", [half, not_initialisable])
def test_a_function_that_fails_leaves_nothing(
    editor: GraphEditor, session: v1.Session, function: object
) -> None:
    names = list(editor._core.index.names)
    held = {key: editor.graph.get_collection(key) for key in editor.graph.get_all_collection_keys()}
    with pytest.raises(GraphEditError):
        editor.call("net/one/out:0", function, into="head")  # type: ignore[arg-type]
    assert list(editor._core.index.names) == names
    assert {key: editor.graph.get_collection(key) for key in held} == held
    assert not editor.graph.get_collection("variables")[len(held["variables"]) :]
    assert editor.history.done == ()
    editor.call("net/one/out:0", head, into="other")


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.sample(6)
def test_an_op_of_which_tensorflow_has_no_python_side_is_no_op_of_the_graph(
    number: int, error: type[BaseException], editor: GraphEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, create, made = editor._core.index.names, tensorflow_ops._create_c_op, []

    def half_made(*given: Any, **options: Any) -> Any:
        op = create(*given, **options)
        made.append(op)
        if len(made) == number:
            raise error
        return op

    with monkeypatch.context() as patched:
        patched.setattr(tensorflow_ops, "_create_c_op", half_made)
        with pytest.raises((error, GraphEditError)):
            editor.call("net/one/out:0", head, into="head")
    assert len(made) == number
    # Makes the Python sides of all that is new.
    editor.insert("net/one/out:0", "Identity", into="same")
    editor.undo()
    assert editor._core.index.names == names
    editor.call("net/one/out:0", head, into="head")
    editor.undo()
    assert editor._core.index.names == names
    assert {node.name for node in editor.graph.as_graph_def(add_shapes=True).node} > set(names)


@pytest.mark.parametrize(
    "nested",
    [
        lambda editor: editor.clone("x:0", "net/one/out:0", "copy"),
        lambda editor: editor.call("net/one/out:0", head, into="other"),
        lambda editor: editor.set_trainable("net/one"),
        lambda editor: editor.undo(),
        lambda editor: tgw.edit(editor.graph, session=editor.session).clone(
            "x:0", "net/one/out:0", "copy"
        ),
    ],
)
def test_the_function_cannot_edit_the_graph_by_an_editor_and_undo_goes_on(
    editor: GraphEditor, nested: Callable[[GraphEditor], object]
) -> None:
    editor.clone("x:0", "net/logits:0", "first")
    names = list(editor._core.index.names)

    def function(features: tf.Tensor) -> tf.Tensor:
        made = head(features)
        nested(editor)
        return made

    with pytest.raises(
        GraphEditError, match=r"A function is making 'head' .* before or after editor\.call"
    ):
        editor.call("net/one/out:0", function, into="head")
    assert list(editor._core.index.names) == names
    assert list(editor._core.executor.copies) == ["first"]
    editor.call("net/one/out:0", head, into="head2")
    editor.undo()
    editor.undo()
    assert not editor.history.done


def test_the_function_may_ask_for_a_preview(editor: GraphEditor) -> None:
    def function(features: tf.Tensor) -> tf.Tensor:
        assert editor.preview(editor.clone, "x:0", "net/one/out:0", "copy").ops
        return head(features)

    assert editor.call("net/one/out:0", function, into="head").scope == "head"


def test_what_cannot_grow_is_refused(editor: GraphEditor) -> None:
    with pytest.raises(NameTaken):
        editor.call("net/one/out:0", head, into="net")
    with pytest.raises(UnknownName):
        editor.call("net/nothing:0", head, into="head")
    editor.graph.finalize()
    with pytest.raises(GraphFinalized):
        editor.call("net/one/out:0", head, into="head")


@pytest.mark.parametrize("is_grown", [True, False])
def test_of_what_a_function_raised_a_refusal_quotes_the_first_sentence(
    editor: GraphEditor, is_grown: bool
) -> None:
    def branches(x: tf.Tensor) -> tf.Tensor:
        # TensorFlow says in many lines what to do instead.
        return x + 1 if tf.reduce_sum(x) > 0 else x

    with pytest.raises(
        GraphEditError, match=r"OperatorNotAllowedInGraphError.* is not allowed; [^.]*\.$"
    ):
        editor.call("x:0", branches, into="head") if is_grown else editor.insert("x:0", branches)


def test_trainable_chooses_and_can_be_taken_back(editor: GraphEditor) -> None:
    before = [v.name for v in editor.graph.get_collection("trainable_variables")]
    editor.set_trainable("net/two/w", editor.ops(scope="net/one"))
    now = ["net/one/w:0", "net/one/b:0", "net/two/w:0"]
    assert [v.name for v in editor.graph.get_collection("trainable_variables")] == now
    assert editor.history.lines == ('editor.set_trainable("net/one/w", "net/one/b", "net/two/w")',)
    assert [f"{name}:0" for name in editor.find("is:trainable").ops] == now
    editor.undo()
    assert [v.name for v in editor.graph.get_collection("trainable_variables")] == before
    editor.redo()
    assert [v.name for v in editor.graph.get_collection("trainable_variables")] == now


def test_a_variable_can_be_named_by_itself(editor: GraphEditor) -> None:
    variable = editor.graph.get_collection("variables")[1]
    assert trainable_after(editor, variable) == (variable.op.name,)


def test_nothing_that_is_no_variable_can_be_trained(editor: GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="net/logits"):
        editor.set_trainable("net/logits")


def test_a_function_that_failed_leaves_its_scope_s_name_free(
    editor: GraphEditor, session: v1.Session
) -> None:
    def fails(features: tf.Tensor) -> tf.Tensor:
        with v1.variable_scope(None, default_name="inner"):
            head(features)
        raise ValueError("no use")

    names = list(editor._core.index.names)
    for _ in range(2):
        with pytest.raises(GraphEditError, match="no use"):
            editor.call("net/one/out:0", fails, into="head")
        with pytest.raises(GraphEditError):  # what cannot be initialised fails later
            editor.call(
                "net/one/out:0",
                lambda x: x + tf.Variable(v1.placeholder(tf.float32, [])),
                into="head",
            )
    assert list(editor._core.index.names) == names
    assert editor._core.executor.free_scope("head") == "head"
    grown = editor.call("net/one/out:0", head, into="head")
    assert grown.scope == "head"
    assert {name.partition("/")[0] for name in grown.ops} == {"head"}
    assert grown.variables[0].name.startswith("head/kernel")
    assert session.run(grown.outputs, {"x:0": ONES}).sum() == pytest.approx(2)
    with editor.graph.as_default(), tf.name_scope("head") as scope:
        assert scope == "head_1/"
    editor.undo()
    assert list(editor._core.index.names) == names
    editor.redo()
    assert set(editor._core.index.names) == {*names, *grown.ops}


def test_a_scope_that_somebody_only_entered_is_the_one_that_is_asked_for(
    editor: GraphEditor,
) -> None:
    with editor.graph.as_default(), tf.name_scope("head"):
        pass
    assert editor.call("net/one/out:0", tf.identity, into="head").ops == ("head/Identity",)


def test_what_grew_says_that_it_follows_no_original(editor: GraphEditor) -> None:
    editor.call("net/one/out:0", head, into="head")
    with pytest.raises(
        AttributeError, match="sync: 'head' was grown, and has no original to follow; clone ops"
    ):
        editor["head"].sync()
    assert not hasattr(editor["head"], "nothing")
