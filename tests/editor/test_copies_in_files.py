"""Copies in a file: the file is not imported for them, and they begin with the right values when it
is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError

INIT = np.array([3.0, 4.0], np.float32)
TRAINED = np.array([7.0, 8.0], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """y = x * w, in model.meta, with a checkpoint in which w is trained."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("net/w", initializer=INIT)
        tf.multiply(x, w, name="net/y")
        session.run(v1.global_variables_initializer())
        session.run(w.assign(TRAINED) if hasattr(w, "assign") else v1.assign(w, TRAINED))
        v1.train.Saver().save(session, str(tmp_path / "model"))
    return tmp_path


def product(editor: tgw.GraphEditor, tensor: str) -> list[float]:
    """What a tensor is for x = 1."""
    return editor.session.run(tensor, {"x:0": np.ones([1, 2], np.float32)})[0].tolist()


@pytest.mark.parametrize(("init", "expected"), [("current", TRAINED), ("initial", INIT)])
@pytest.mark.parametrize("then", ["nothing", "rename", "undo and redo"])
def test_a_copy_begins_with_its_values_when_the_file_is_imported(
    folder: Path, init: str, expected: np.ndarray, then: str
) -> None:
    editor = tgw.edit(folder / "model.meta", checkpoint=folder / "model")
    editor.clone("x:0", "net/y:0", into="copy", init=init)
    assert editor._core.source.graph is None, "no session is needed for a copy"
    name = "copy"
    if then == "rename":
        editor.rename("copy", "twin")
        name = "twin"
    if then == "undo and redo":
        editor.undo()
        editor.redo()
    assert product(editor, f"{name}/net/y:0") == expected.tolist()
    assert product(editor, "net/y:0") == TRAINED.tolist()
    variables = {variable.op.name for variable in editor.graph.get_collection("variables")}
    assert variables == {"net/w", f"{name}/net/w"}


def test_a_copy_without_values_has_none(folder: Path) -> None:
    editor = tgw.edit(folder / "model.meta", checkpoint=folder / "model")
    editor.clone("x:0", "net/y:0", into="copy", init="none")
    with pytest.raises(tf.errors.FailedPreconditionError):
        product(editor, "copy/net/y:0")


def test_a_file_without_a_checkpoint_initializes_the_copy_alone(folder: Path) -> None:
    editor = tgw.edit(folder / "model.meta")
    editor.clone("x:0", "net/y:0", into="copy", init="initial")
    assert product(editor, "copy/net/y:0") == INIT.tolist()
    with pytest.raises(tf.errors.FailedPreconditionError):
        product(editor, "net/y:0")


def test_a_copy_made_in_a_file_is_synchronized_once_it_runs(folder: Path) -> None:
    editor = tgw.edit(folder / "model.meta", checkpoint=folder / "model")
    copy = editor.clone("x:0", "net/y:0", into="copy", init="initial")
    copy.sync()
    assert product(editor, "copy/net/y:0") == TRAINED.tolist()


def test_an_undo_after_the_import_keeps_what_the_session_holds(folder: Path) -> None:
    editor = tgw.edit(folder / "model.meta", checkpoint=folder / "model")
    editor.clone("x:0", "net/y:0", into="copy", init="initial")
    session = editor.session
    assign = next(op for op in editor.graph.get_operations() if op.name == "net/w/Assign")
    session.run(assign, {assign.inputs[1]: [1.0, 2.0]})
    editor.undo()
    assert editor.session is session, "taking a copy away needs no other graph"
    assert product(editor, "net/y:0") == [1.0, 2.0]
    editor.redo()
    assert product(editor, "copy/net/y:0") == INIT.tolist()


STEPS: dict[
    str, tuple[Callable[[tgw.GraphEditor], object], Callable[[tgw.GraphEditor], object]]
] = {
    "an undo in TensorFlow's graph": (lambda e: e.insert("net/y", "Relu"), lambda e: e.undo()),
    "an undo that makes a file of it": (lambda e: e.passes.cast("float16"), lambda e: e.undo()),
    "a redo that makes a file of it": (
        lambda e: (e.rename("net/", "net/a"), e.undo()),
        lambda e: e.redo(),
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_step_that_fails_leaves_the_session_of_an_imported_file_alive(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit, step = STEPS[case]
    editor = tgw.edit(folder / "model.meta", checkpoint=folder / "model")
    edit(editor)
    session, names, lines = editor.session, editor._core.index.names, editor.history.lines
    value = product(editor, "net/y:0")

    def fail(*_: object) -> None:
        raise RuntimeError("what comes after the graph")

    with monkeypatch.context() as context:
        context.setattr(type(editor._core.executor), "_set_latest", fail)
        with pytest.raises(RuntimeError):
            step(editor)
    assert editor.session is session
    assert (editor._core.index.names, editor.history.lines) == (names, lines)
    assert product(editor, "net/y:0") == value
    step(editor)
    assert editor.history.lines != lines


@pytest.mark.parametrize("how", ["added", "changed"])
def test_an_undo_does_not_lose_what_other_code_has_made_since_the_import(
    folder: Path, how: str
) -> None:
    editor = tgw.edit(folder / "model.meta", checkpoint=folder / "model")
    editor.passes.cast("float16")
    graph = editor.graph
    if how == "added":
        with graph.as_default():
            tf.identity(graph.get_tensor_by_name("net/y:0"), name="theirs")
    else:
        other = tgw.edit(graph, session=editor.session)
        name = next(n.name for n in other._core.index.nodes if n.op == "Mul")
        other.connect(other._core.index.nodes[other._core.index.op(name)].input[1], name, 0)
    session = editor.session
    with pytest.raises(GraphEditError, match=f"was {how} since by other code"):
        editor.undo()
    assert editor.session is session
    assert len(editor.history.lines) == 1
