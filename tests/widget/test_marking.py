"""A click marks an op or a scope so that it is taken into the part, and says where the part is
cut.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import NoPath
from tfgraphwidget.scene.scene import INPUT_MARK, OUTPUT_MARK, SOURCE_MARK
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler


@pytest.fixture
def editor() -> GraphEditor:
    """x, two convolutions with variables, and two heads in the scope `heads`; trained."""
    with tf.Graph().as_default() as graph:
        h = v1.placeholder(tf.float32, [None, 4], name="x")
        for name in ("one", "two"):
            with v1.variable_scope(name):
                w = v1.get_variable("w", [4, 4], use_resource=True)
                h = tf.nn.relu(tf.matmul(h, w, name="product"), name="act")
        with tf.name_scope("heads"):
            a, b = tf.nn.softmax(h, name="a"), tf.tanh(h, name="b")
        loss = tf.reduce_mean(tf.square(tf.add(a, b, name="sum")), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
    editor = tgw.edit(graph)
    editor.view.expand()
    return editor


@pytest.fixture
def requests(editor: GraphEditor) -> RequestHandler:
    """What answers the page."""
    handler = RequestHandler(editor)
    handler.handle(p.Open())
    return handler


def marks(editor: GraphEditor) -> dict[str, int]:
    """The marks of ops and closed scopes in the drawing, by name."""
    scene = editor.view.scene()
    return {
        name: int(mark)
        for name, kind, mark in zip(
            scene.names, scene.kind, editor._core.paint(scene).mark, strict=True
        )
        if mark and kind != 2
    }


def test_an_op_marked_as_input_is_taken_in_and_cut_above(
    editor: GraphEditor, requests: RequestHandler
) -> None:
    requests.handle(p.Mark("inputs", "two/product"))
    assert editor.inputs == ("one/act:0",)  # and not the variable's
    assert marks(editor) == {"two/product": INPUT_MARK}
    requests.handle(p.Mark("outputs", "two/act"))
    assert editor.selection is not None
    assert {"two/product", "two/w", "two/act"} <= set(editor.selection.ops)
    assert "one/act" not in editor.selection.ops
    assert editor.selection.expression == "editor.between(['one/act:0'], ['two/act'])"
    assert marks(editor) == {"two/product": INPUT_MARK, "two/act": OUTPUT_MARK}


def test_a_source_marked_as_input_is_cut_below(
    editor: GraphEditor, requests: RequestHandler
) -> None:
    requests.handle(p.Mark("inputs", "x"))
    assert editor.inputs == ("x",)
    assert marks(editor) == {"x": SOURCE_MARK}
    editor.mark("one/act:0", "two/act")  # Python names tensors: each is cut below its op
    assert marks(editor) == {"one/act": SOURCE_MARK, "two/act": OUTPUT_MARK}


def test_a_second_click_unmarks_and_one_further_up_extends(
    editor: GraphEditor, requests: RequestHandler
) -> None:
    for name in ("two/product", "two/product"):
        requests.handle(p.Mark("inputs", name))
    assert editor._core.view.boundary[0] == ()
    requests.handle(p.Mark("inputs", "two/product"))
    # Of which the mark is a tensor, drawn at two/product.
    requests.handle(p.Mark("inputs", "one/act"))
    assert editor.inputs == ("one/product:0",)
    editor.mark("one/act:0")
    requests.handle(p.Mark("inputs", "one/act"))  # here it is drawn at one/act
    assert editor._core.view.boundary[0] == ()


def test_a_scope_is_marked_by_the_tensors_at_its_border(
    editor: GraphEditor, requests: RequestHandler
) -> None:
    reply, _ = requests.handle(p.Crossings("outputs", "two/"))
    assert isinstance(reply, p.BoundaryTensors)
    # Gradients read the product as well; what the forward computation reads is proposed.
    assert {each.tensor: each.proposed for each in reply.tensors}["two/act:0"]
    assert [each.tensor for each in reply.tensors if each.proposed] == ["two/act:0"]
    reply, _ = requests.handle(p.Crossings("outputs", "heads/"))
    assert isinstance(reply, p.BoundaryTensors)
    assert [each.tensor for each in reply.tensors if each.proposed] == ["heads/a:0", "heads/b:0"]
    assert reply.tensors[0].about == "float32 ?×4"
    requests.handle(p.Mark("outputs", "heads/", ("heads/b:0",)))
    reply, _ = requests.handle(p.Crossings("outputs", "heads/"))
    assert isinstance(reply, p.BoundaryTensors)
    assert [each.tensor for each in reply.tensors if each.marked] == ["heads/b:0"]
    requests.handle(p.Mark("inputs", "two/"))
    assert (editor.inputs, editor.outputs) == (("one/act:0",), ("heads/b:0",))
    editor.view.collapse("two")
    assert marks(editor)["two"] == INPUT_MARK
    assert "two/w" in (editor.selection or editor.ops()).ops
    requests.handle(p.Mark("inputs", "two/"))
    assert editor._core.view.boundary[0] == ()


def test_a_tensor_that_summaries_read_is_not_proposed_and_comes_last() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        with tf.name_scope("net"):
            inner = tf.square(x, name="inner")
            out = tf.tanh(inner, name="out")
        v1.summary.scalar("sparsity", tf.nn.zero_fraction(inner, name="zeros"))
        tf.identity(out, name="y")
    reply, _ = RequestHandler(tgw.edit(graph)).handle(p.Crossings("outputs", "net/"))
    assert isinstance(reply, p.BoundaryTensors)
    assert [(each.tensor, each.proposed) for each in reply.tensors] == [
        ("net/out:0", True),
        ("net/inner:0", False),
    ]


def test_a_scope_without_values_from_outside_is_refused(
    editor: GraphEditor, requests: RequestHandler
) -> None:
    with editor.graph.as_default(), tf.name_scope("alone"):  # type: ignore[union-attr]
        tf.constant(np.ones(2), name="one") + 1
    with pytest.raises(NoPath, match="No value enters 'alone'; mark an op inside it"):
        requests.handle(p.Crossings("inputs", "alone/"))
    requests.handle(p.Mark("outputs", "two/act"))
    with pytest.raises(NoPath):
        requests.handle(p.Mark("inputs", "heads/a"))  # it lies after
    assert marks(editor) == {"two/act": OUTPUT_MARK}


def test_a_rename_keeps_marks_in_place(editor: GraphEditor, requests: RequestHandler) -> None:
    requests.handle(p.Mark("inputs", "two/product"))
    editor.rename("two/product", "two/matmul")
    assert marks(editor) == {"two/matmul": INPUT_MARK}
