"""A release of TensorFlow may lose `Graph._add_op`: edits of live graphs then compare the ops
before and after.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.conftest import build_mlp, initialised, v1
from tfgraphwidget.tf_internals import graphs


def grow(editor: tgw.GraphEditor) -> None:
    editor.call(
        "net/two/out:0",
        lambda x: x * v1.get_variable("scale", shape=[], initializer=v1.ones_initializer()),
    )


def fail_to_grow(editor: tgw.GraphEditor) -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        v1.get_variable("lost", shape=[2])
        raise ValueError("not today")

    with pytest.raises(tgw.GraphEditError, match="not today"):
        editor.call("net/two/out:0", function)


def copy_ops(editor: tgw.GraphEditor) -> None:
    ge.copy_with_input_replacements(ge.sgv("net/two", graph=editor.graph), {}, dst_scope="twin")
    editor.source.reload()


def sync(editor: tgw.GraphEditor) -> None:
    tgw.sync(initialised(build_mlp(resource=True)), editor.session)


EDITS: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "clone": lambda editor: editor.clone(["x:0"], ["net/logits:0"], into="copy"),
    "insert": lambda editor: editor.insert("net/two/out:0", tf.math.l2_normalize),
    "bypass": lambda editor: editor.bypass("net/two/out"),
    "call": grow,
    "fail to grow": fail_to_grow,
    "graph_editor": copy_ops,
    "sync": sync,
}


def outcome(edit: Callable[[tgw.GraphEditor], object]) -> tuple[object, ...]:
    """What an edit, its undo and its redo make of a live graph, and the numbers that it then
    computes.
    """
    graph = build_mlp(resource=True)
    session = initialised(graph)
    with graph.as_default():
        for k, variable in enumerate(graph.get_collection("variables")):
            variable.load(np.full(variable.shape, 0.1 * (k + 1)), session)
    editor = tgw.edit(graph, session=session)
    edit(editor)
    seen = [editor._core.index.names]
    if editor.history.done:
        editor.undo()
        seen.append(editor._core.index.names)
        editor.redo()
    fed = {"x:0": np.ones([2, *graph.get_tensor_by_name("x:0").shape[1:]], np.float32)}
    result = editor.session.run("net/logits:0", fed).round(5).tolist()
    return (*seen, editor._core.index.names, editor.source.notices, result)


@pytest.mark.parametrize("name", EDITS)
def test_edits_are_the_same_without_the_hook(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = outcome(EDITS[name])
    monkeypatch.setattr(graphs, "absent_names", lambda: {"_add_op": "Graph._add_op"})
    assert not graphs.can_observe_new_operations()
    assert outcome(EDITS[name]) == usual
