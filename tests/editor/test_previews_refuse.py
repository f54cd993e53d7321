"""A preview refuses what the edit would refuse, in the same sentence; nothing is changed or run."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError


def _finalized() -> GraphEditor:
    editor = tgw.example()
    editor.graph.finalize()
    return editor


def _closed() -> GraphEditor:
    editor = tgw.example()
    editor.session.close()
    return editor


def _meta_graph() -> Any:
    graph = tgw.example().graph
    with graph.as_default():
        return v1.train.export_meta_graph(graph=graph)


def _without_session() -> GraphEditor:
    meta = _meta_graph()
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(meta)
    return tgw.edit(graph)


def _without_values(tmp_path: Path) -> GraphEditor:
    path = tmp_path / "a.meta"
    path.write_bytes(_meta_graph().SerializeToString())
    return tgw.edit(path)


class _Scaled(tf.Module):
    def __init__(self) -> None:
        super().__init__("scaled")
        self.w = tf.Variable([2.0], name="w")

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def scale(self, x: tf.Tensor) -> tf.Tensor:
        return tf.identity(x * self.w, name="y")


def _refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(GraphEditError) as refusal:
        call()
    return str(refusal.value.why)


def _check(editor: GraphEditor, verb: str, *args: Any, **options: Any) -> str:
    """The sentence by which both the preview and the edit refuse."""
    method, edits = attrgetter(verb)(editor), len(editor.history.done)
    previewed = _refusal(lambda: editor.preview(method, *args, **options))
    assert previewed == _refusal(lambda: method(*args, **options))
    assert len(editor.history.done) == edits
    return previewed


CALLS = (
    ("bypass", "net/hidden/Relu"),
    ("insert", "net/hidden/Relu:0", "Tanh"),
    ("set_device", "net/hidden/Relu", "/cpu:0"),
    ("set_constant", "labels", [2]),
    ("add_control_inputs", "loss", ["net/hidden/Relu"]),
    ("passes.change_batch_size", 4),
    ("clone", "x:0", "net/logits:0", "copy"),
)


def test_what_a_finalized_graph_or_a_closed_session_refuses_its_preview_refuses_too() -> None:
    finalized, closed = _finalized(), _closed()
    for verb, *args in CALLS:
        assert "is finalized" in _check(finalized, verb, *args)
        assert "is closed" in _check(closed, verb, *args)


def test_a_preview_refuses_a_device_that_the_session_does_not_have() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.relu(v1.placeholder(tf.float32, [2], name="x"), name="y")
    with v1.Session(graph=graph) as session:
        session.run("y:0", {"x:0": [1.0, 2.0]})
        editor = tgw.edit(graph, session=session)
        why = _check(editor, "set_device", "y", "/job:ps/task:1")
    assert 'device="" in clone and set_device' in why


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "no session to initialize"),
        ({"init": {"net/w": 1.0}}, "no session"),
    ],
)
def test_a_preview_refuses_a_clone_that_no_session_can_initialize(
    options: dict[str, Any], says: str
) -> None:
    assert says in _check(_without_session(), "clone", "x:0", "net/logits:0", "copy", **options)


@pytest.mark.parametrize(
    ("init", "says"),
    [
        ("/nowhere/model", "'/nowhere/model.index' of the checkpoint is not there"),
        ({"x": 1.0}, "init names 'x'"),
        ({"net/w": np.ones([1])}, "has shape (1,)"),
        ({"net/w": "text"}, "cannot be converted to float32"),
    ],
)
def test_a_preview_refuses_values_that_a_clone_cannot_begin_with(
    init: Any, says: str, tmp_path: Path
) -> None:
    for editor in (tgw.example(), _without_values(tmp_path)):
        assert says in _check(editor, "clone", "x:0", "net/logits:0", "copy", init=init)


def test_a_preview_refuses_a_clone_of_variables_that_have_no_value_in_the_file(
    tmp_path: Path,
) -> None:
    editor = _without_values(tmp_path)
    assert "has no value for variable" in _check(
        editor, "clone", "x:0", "net/logits:0", "copy", init="current"
    )
    assert editor.preview(editor.clone, "x:0", "net/logits:0", "copy", init="initial").new


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"init": "none"}, "a tf.Variable cannot be without a value"),
        ({"init": "initial"}, "keeps no initial value"),
        ({"init": "/nowhere/model"}, "is not there"),
        ({"init": {"x": 1.0}}, "init names 'x'"),
        ({"src_scope": "net"}, "does not lie in src_scope 'net'"),
        ({"times": 0}, "times=0 is not a number of copies"),
        ({"into": "taken"}, "is taken by another clone"),
    ],
)
def test_a_preview_refuses_a_module_that_a_function_cannot_become(
    options: dict[str, Any], says: str
) -> None:
    module = _Scaled()
    editor = tgw.edit(module.scale)
    editor.clone(into="taken")
    assert says in _check(editor, "clone", **options)


def test_a_preview_says_which_signatures_an_edit_takes_away() -> None:
    editor = tgw.example()
    outputs = {"logits": "net/logits:0", "loss": "loss:0"}
    editor.signatures.add("serving_default", {"x": "x:0"}, outputs)
    preview = editor.preview(editor.remove, "net/logits", consumers=True)
    report = editor.remove("net/logits", consumers=True)
    assert preview.notes == report.notes[: len(preview.notes)]
    assert "'net/logits:0' and 'loss:0' are no longer inputs or outputs" in preview.notes[0]
    assert any("Signatures that lost inputs or outputs" in note for note in preview.notes)
    assert list(editor.signatures) == []


def test_the_preview_of_a_clone_runs_nothing_in_the_session() -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", [2], use_resource=True)
        tf.multiply(v1.placeholder(tf.float32, [2], name="x"), w, name="y")
        session = v1.Session(graph=graph)
    editor = tgw.edit(graph, session=session)
    assert editor.preview(editor.clone, "x:0", "y:0", "copy").new
    assert "has no value in this session" in _refusal(lambda: editor.clone("x:0", "y:0", "copy"))
    session.close()
