"""Graphs of old releases are run, verified and written by the rules of their time, and keep their
versions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.graphs import old_graph
from tfgraphwidget.editor import GraphEditor

v1, raw = tf.compat.v1, tf.raw_ops
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def network(producer: int) -> v1.GraphDef:
    """A layer after a placeholder of unknown shape, `shape {}`, and sums over matrices of axes,
    which ended at 21.
    """
    axes = [[1]] if producer < 21 else [1]

    def build() -> None:
        x = v1.placeholder(tf.float32, (), name="x")
        product = raw.MatMul(a=x, b=[[1.0, 2.0], [0.5, 1.0]], name="MatMul")
        raw.Sum(input=product, axis=axes, name="y")
        constant = raw.Sum(input=[[1.0, 2.0], [3.0, 4.0]], axis=axes, name="constant")
        raw.AddV2(x=product, y=constant, name="shifted")

    return old_graph(producer, build)[0]


def run(graph_def: v1.GraphDef, feed: str = "x:0", fetch: str = "y:0") -> np.ndarray:
    """What plain TensorFlow computes."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            return session.run(fetch, {feed: X})


def saved_model(producer: int, folder: Path) -> Path:
    """A SavedModel of that time with a variable."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(network(producer), name="")
        assert graph.graph_def_versions.producer == producer
        scale = v1.Variable(2.0, name="scale", use_resource=False)
        y = tf.multiply(graph.get_tensor_by_name("y:0"), scale, name="scaled")
        session.run(scale.initializer)
        v1.saved_model.simple_save(
            session, str(folder), {"x": graph.get_tensor_by_name("x:0")}, {"y": y}
        )
    return folder


def load(folder: Path) -> tuple[np.ndarray, int]:
    """What plain TensorFlow computes with a SavedModel, and its version."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        meta = v1.saved_model.load(session, ["serve"], str(folder))
        ends = meta.signature_def["serving_default"]
        return session.run(
            ends.outputs["y"].name, {ends.inputs["x"].name: X}
        ), meta.graph_def.versions.producer


WRITTEN: dict[str, Callable[[GraphEditor, Path], object]] = {
    "a GraphDef": lambda editor, folder: editor.save(folder / "g.pb"),
    "a text": lambda editor, folder: editor.save(folder / "g.pbtxt"),
    "a frozen graph": lambda editor, folder: editor.save(
        folder / "f.pb", frozen=True, outputs=["y:0"], verify=False
    ),
    "a MetaGraphDef": lambda editor, folder: editor.save(folder / "g.meta", verify=False),
    "a SavedModel": lambda editor, folder: editor.save(
        folder / "sm/", ["x:0"], ["y:0"], verify=False
    ),
    "bytes": lambda editor, _: bytes(editor),
    "a networkx graph": lambda editor, _: editor.to_networkx(),
    "a part": lambda editor, _: editor.extract(["x:0"], ["y:0"]),
}


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.sample(6)
def test_all_that_a_graph_is_written_to_has_its_versions(
    kind: str, is_live: bool, tmp_path: Path
) -> None:
    for producer in (0, 9, 21):
        original = network(producer)
        original.versions.min_consumer = 5
        original.versions.bad_consumers.append(7)
        editor = tgw.edit(original)
        if is_live:
            assert editor.graph.graph_def_versions == original.versions
        editor.rename("constant", "sum")
        written = WRITTEN[kind](editor, tmp_path)
        again = written if isinstance(written, GraphEditor) else tgw.edit(written)
        assert again._core.index.extras.versions() == original.versions
        with v1.Session(graph=again.graph) as session:
            assert np.array_equal(session.run("y:0", {"x:0": X}), run(original))


@pytest.mark.parametrize("producer", [0, 9, 20, 21])
def test_constants_are_folded_by_the_rules_of_the_time(producer: int) -> None:
    original = network(producer)
    editor = tgw.edit(original)
    editor.passes.fold_constants()
    assert editor._core.index.types[editor._core.index.ids["constant"]] == "Const"
    assert np.array_equal(
        editor.session.run("shifted:0", {"x:0": X}), run(original, fetch="shifted:0")
    )


@pytest.mark.parametrize("producer", [0, 8, 20])
def test_the_shapes_are_those_of_the_time(producer: int) -> None:
    editor = tgw.edit(network(producer))
    assert editor._core.index.shape(editor._core.index.ids["x"], 0) is None
    assert editor.session.graph.get_tensor_by_name("x:0").shape.rank is None
    assert editor._core.index.shape(editor._core.index.ids["MatMul"], 0) == (None, 2)


@pytest.mark.parametrize("producer", [0, 8, 20])
def test_an_edited_graph_is_saved_frozen_as_one_of_its_time(producer: int, tmp_path: Path) -> None:
    original = network(producer)
    editor = tgw.edit(original)
    editor.rename("y", "z")
    editor.save(tmp_path / "frozen.pb", frozen=True, outputs=["z:0"], feeds={"x": X})
    written = v1.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    assert written.versions == original.versions
    assert np.array_equal(run(written, fetch="z:0"), run(original))


# That loader builds the ops again in a function, which is of today.
@pytest.mark.filterwarnings(
    "ignore:tf.saved_model.load cannot run what was written, nor the SavedModel"
)
@pytest.mark.parametrize("producer", [0, 20])
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_saved_model_is_saved_as_one_of_its_time(
    producer: int, is_edited: bool, tmp_path: Path
) -> None:
    folder = saved_model(producer, tmp_path / "old")
    editor = tgw.edit(folder)
    if is_edited:
        editor.rename("scaled", "result")
    editor.save(tmp_path / "new", feeds={"x": X})
    value, version = load(tmp_path / "new")
    assert version == producer
    assert np.array_equal(value, load(folder)[0])


def test_a_part_and_a_meta_graph_keep_the_versions(tmp_path: Path) -> None:
    original = network(20)
    editor = tgw.edit(original)
    editor.save(tmp_path / "whole.meta")
    meta = v1.MetaGraphDef.FromString((tmp_path / "whole.meta").read_bytes())
    assert meta.graph_def.versions == original.versions
    part = editor.extract(["x:0"], ["y:0"])
    assert part._core.index.extras.versions().producer == 20
    assert np.array_equal(part.session.run("y:0", {"x:0": X}), run(original))


def test_a_copy_in_the_graph_itself_is_tried_by_its_rules() -> None:
    editor = tgw.edit(network(20))
    assert editor.session is not None
    editor.clone(["x:0"], ["y:0"], into="copy")
    assert np.array_equal(editor.session.run("copy/y:0", {"x:0": X}), run(network(20)))
    assert editor.graph.graph_def_versions.producer == 20


@pytest.mark.filterwarnings("ignore:.*largest difference")
def test_an_ended_op_converts_to_tensorflow_lite(tmp_path: Path) -> None:
    def build() -> None:
        x = v1.placeholder(tf.float32, [1, 2, 2, 3], name="x")
        rest = {"m": [0.0, 1, 2], "v": [1.0, 1, 1], "beta": [0.0, 0, 0], "gamma": [1.0, 1, 1]}
        raw.BatchNormWithGlobalNormalization(
            t=x, variance_epsilon=0.1, scale_after_normalization=True, **rest, name="y"
        )

    editor = tgw.edit(old_graph(8, build)[0])
    editor.save(tmp_path / "model.tflite", outputs=["y:0"])
    assert (tmp_path / "model.tflite").stat().st_size > 0
