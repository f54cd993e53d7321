"""Paths and choices that nobody can open: one sentence each, whatever the operating system or
Python says.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.sources.conftest import node
from tests.sources.files.test_damaged import sentence_or
from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.sources import open_source
from tfgraphwidget.sources.files.checkpoint_keys import assign_op, graph_variables
from tfgraphwidget.sources.tf_errors import error_text


def why(make: Callable[[], object]) -> str:
    with pytest.raises(GraphEditError) as refusal:
        make()
    assert "\n" not in refusal.value.why
    assert len(refusal.value.why) < 1200
    return refusal.value.why


class Hostile:
    """Nothing of it can be asked for."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


class BytesPath:
    """A path in bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


@pytest.mark.parametrize(
    "name", ["a\0b", "n" * 5000, "d/" * 3000, "~nobody-there/x", "x" * 255 + "/y"]
)
def test_a_path_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    assert repr(name[:20])[1:-1] in why(lambda: open_source(name))
    assert tmp_path.name in why(lambda: open_source(tmp_path / name))


def refuse(path: Path, *args: object, **kwargs: object) -> object:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("method", ["is_dir", "lstat", "stat", "iterdir", "open"])
def test_what_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    file = tmp_path / "g.pb"
    file.write_bytes(v1.GraphDef(node=[node("a", "NoOp")]).SerializeToString())
    monkeypatch.setattr(os if method == "open" else Path, method, refuse)
    assert "Permission denied" in why(
        lambda: open_source(tmp_path if method == "iterdir" else file)
    )


@pytest.mark.parametrize("method", ["is_file", "iterdir"])
def test_values_that_may_not_be_read_are_a_notice(
    tf2_saved_model: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(Path, method, refuse)
    assert any("missing" in notice for notice in open_source(tf2_saved_model).notices)


@pytest.mark.parametrize(
    "given",
    ["/etc", "", "a\0b", "n" * 5000, 3, Hostile()],
    ids=["folder", "empty", "nul", "long", "number", "hostile"],
)
def test_a_checkpoint_that_cannot_be_is_a_sentence(checkpoint: Path, given: object) -> None:
    meta = f"{checkpoint}.meta"
    source = sentence_or(lambda: open_source(meta, checkpoint=given))  # type: ignore[arg-type]
    assert source is None or source.notices


def test_a_path_in_bytes_and_one_in_the_home_folder_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "g.pb"
    file.write_bytes(v1.GraphDef(node=[node("a", "NoOp")]).SerializeToString())
    assert open_source(BytesPath(file)).title == str(file)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_source("~/g.pb").title == str(file)


def test_what_is_neither_a_file_nor_a_folder_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for given in (tmp_path / "pipe", "/dev/zero"):
        assert ("is a pipe" if "pipe" in str(given) else "is a device") in why(
            lambda given=given: open_source(given)
        )


def test_a_folder_proposes_only_what_opens(tmp_path: Path) -> None:
    for name in ("alpha", "beta.pb"):
        (tmp_path / name).mkdir()
    (tmp_path / "gone.pb").symlink_to(tmp_path / "nowhere")
    assert "did you mean" not in why(lambda: open_source(tmp_path))
    (tmp_path / "beta.pb" / "saved_model.pb").write_bytes(b"x")
    assert "did you mean" in why(lambda: open_source(tmp_path))


@pytest.mark.parametrize(
    "choice", [{"tags": 3}, *({"signature": s} for s in ([], {}, ["serving_default"], 3))]
)
def test_a_choice_that_is_none_is_refused(tf2_saved_model: Path, choice: dict[str, object]) -> None:
    with pytest.raises(UnknownName):
        open_source(tf2_saved_model, **choice)  # type: ignore[arg-type]


def test_an_object_that_cannot_be_asked_is_no_graph() -> None:
    with pytest.raises(NotAGraph):
        open_source(Hostile())


def test_a_trace_by_a_numpy_number_and_a_list_of_many_traces() -> None:
    @tf.function
    def f(x: tf.Tensor, k: int) -> tf.Tensor:
        return x + k

    for k in range(12):
        f.get_concrete_function(tf.TensorSpec([], tf.int32), k)
    assert open_source(f, signature=np.int64(0)).body.arguments
    listed = why(lambda: open_source(f))
    assert listed.count("signature=") == 5
    assert "of 12" in listed


def test_an_assign_of_one_input_assigns_nothing() -> None:
    handle = node("w", "VarHandleOp", dtype=tf.float32)
    body = open_source(
        v1.GraphDef(node=[handle, node("w/Assign", "AssignVariableOp", "w", dtype=tf.float32)])
    ).body
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", [1], use_resource=True)
    for variable in graph_variables(body):
        assert assign_op(graph, variable) is not None


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            ValueError("in user code:\n\n  File 'x', line 1\n\n    ValueError: the real reason\n"),
            "ValueError: the real reason",
        ),
        (
            tf.errors.DataLossError(
                None, None, "Graph execution error:\n\nDetected at node 'a'\nshard is cut"
            ),
            "shard is cut",
        ),
        (
            tf.errors.InvalidArgumentError(
                None,
                None,
                "Graph execution error:\n\nDetected at node a/Add defined at (most recent call "
                "last):\n<stack traces unavailable>\nIncompatible shapes: [9] vs. [2]\n",
            ),
            "Incompatible shapes: [9] vs. [2]",
        ),
        (ValueError("first\nsecond"), "first"),
        (KeyError(), "KeyError"),
    ],
)
def test_the_line_that_says_what_is_the_matter(error: Exception, line: str) -> None:
    assert error_text(error) == line


def test_ops_pinned_inside_functions_are_reported() -> None:
    @tf.function(input_signature=[tf.TensorSpec([])], autograph=False)
    def inner(x: tf.Tensor) -> tf.Tensor:
        with tf.device("/job:ps/task:1"):
            return tf.negative(x, name="far")

    graph = tf.Graph()
    with graph.as_default():
        inner(tf.constant(1.0))
    for thing in (graph, graph.as_graph_def()):
        (notice,) = open_source(thing).notices
        assert "Op 'far' in function '" in notice
