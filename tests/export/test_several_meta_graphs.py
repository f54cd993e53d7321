"""A SavedModel with several graphs: saving edits the one that was opened, and keeps the others and
their values.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget import GraphEditor
from tfgraphwidget.cli import main
from tfgraphwidget.errors import GraphEditError

X = np.array([[1.0, -2.0, 3.0], [-1.0, 2.0, -4.0]], np.float32)
TAGS = (("serve",), ("train",), ("serve", "gpu"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def constants(tags: Sequence[str]) -> tuple[Any, Any]:
    """A weight and a bias that are constants; of the training graph the weight is another."""
    return tf.constant(0.25 if "train" in tags else -0.5, shape=[3, 2], name="w"), tf.ones([2])


def variables(tags: Sequence[str]) -> tuple[Any, Any]:
    """A weight and a bias that all graphs share."""
    del tags
    weight = v1.get_variable(
        "w", [3, 2], initializer=v1.constant_initializer(-0.5), use_resource=True
    )
    return weight, v1.get_variable("b", [2], initializer=v1.ones_initializer(), use_resource=True)


def write(folder: Path, state: Callable[[Sequence[str]], tuple[Any, Any]] = variables) -> Path:
    """Write a SavedModel with a graph for each of TAGS, each of which computes something else."""
    builder = v1.saved_model.Builder(str(folder))
    for place, tags in enumerate(TAGS):
        with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            x = v1.placeholder(tf.float32, [None, 3], name="x")
            weight, bias = state(tags)
            total = tf.add(tf.matmul(x, weight), bias * (place + 1), name="sum")
            y = tf.nn.relu(total, name="y")
            session.run(v1.global_variables_initializer())
            signatures = {
                "serving_default": v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            }
            if place == 0:
                builder.add_meta_graph_and_variables(session, tags, signatures)
            else:
                builder.add_meta_graph(tags, signatures)
    builder.save()
    return folder


def graphs_of(folder: Path) -> list[Any]:
    """The MetaGraphDefs of a SavedModel."""
    return list(
        saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs
    )


def call(folder: Path, tags: Sequence[str], x: np.ndarray = X) -> np.ndarray:
    """What the graph of those tags gives through both of TensorFlow's loaders."""
    with v1.Session(graph=tf.Graph()) as session:
        report = v1.saved_model.load(session, list(tags), str(folder)).signature_def[
            "serving_default"
        ]
        value = session.run(report.outputs["y"].name, {report.inputs["x"].name: x})
    loaded = tf.saved_model.load(str(folder), tags=list(tags))
    assert np.array_equal(loaded.signatures["serving_default"](x=tf.constant(x))["y"], value)
    return np.asarray(value)


def expected(place: int) -> np.ndarray:
    """What a graph gives before its activation."""
    return np.asarray(X @ np.full((3, 2), -0.5, np.float32) + (place + 1))


def relu(values: np.ndarray) -> np.ndarray:
    """The activation that each graph was written with."""
    return np.maximum(values, 0)


EDITS: dict[str, Callable[[GraphEditor], object]] = {
    "kept": lambda editor: editor.bypass("y"),
    "built again": lambda editor: (editor.bypass("y"), editor.clone("x:0", "sum:0", into="copy")),
}


@pytest.mark.parametrize("over", [False, True], ids=["elsewhere", "over its own folder"])
@pytest.mark.parametrize("imported", [False, True], ids=["as a file", "imported"])
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.sample(5)
def test_an_edit_is_in_the_graph_that_was_opened_and_all_others_are_kept(
    place: int, edit: str, imported: bool, over: bool, tmp_path: Path
) -> None:
    old = write(tmp_path / "old")
    before = graphs_of(old)
    editor = tgw.edit(old, tags=list(TAGS[place]))
    if imported:
        assert editor.session is not None
    EDITS[edit](editor)
    new = old if over else tmp_path / "new"
    signature: dict[str, Any] = (
        {"inputs": {"x": "x:0"}, "outputs": {"y": "sum:0"}} if edit == "built again" else {}
    )
    editor.save(f"{new}/", **signature)
    assert [tuple(meta.meta_info_def.tags) for meta in graphs_of(new)] == list(TAGS)
    for at, meta in enumerate(graphs_of(new)):
        if at == place:
            assert np.allclose(call(new, TAGS[at]), expected(at))
        else:
            assert meta == before[at]
            assert np.allclose(call(new, TAGS[at]), relu(expected(at)))


def test_what_was_not_edited_is_the_same_files(tmp_path: Path) -> None:
    old = write(tmp_path / "old")
    tgw.edit(old).save(tmp_path / "new/")
    files = [file.relative_to(old) for file in old.rglob("*") if file.is_file()]
    assert all(
        (tmp_path / "new" / file).read_bytes() == (old / file).read_bytes() for file in files
    )


@pytest.mark.parametrize("over", [False, True], ids=["elsewhere", "over its own folder"])
def test_two_graphs_without_a_folder_of_variables_are_saved(over: bool, tmp_path: Path) -> None:
    old = write(tmp_path / "old", constants)
    shutil.rmtree(old / "variables")
    editor = tgw.edit(old)
    editor.bypass("y")
    new = old if over else tmp_path / "new"
    editor.save(f"{new}/")
    assert np.allclose(call(new, ["serve"]), expected(0))
    assert np.allclose(call(new, ["train"]), relu(X @ np.full((3, 2), 0.25, np.float32) + 2))
    assert np.allclose(call(new, ["serve", "gpu"]), relu(expected(2)))


@pytest.mark.parametrize("edited", [False, True])
def test_tags_are_chosen_on_saving(edited: bool, tmp_path: Path) -> None:
    editor = tgw.edit(write(tmp_path / "old"), tags="train")
    if edited:
        editor.bypass("y")
    editor.save(tmp_path / "new/", tags=["train", "tpu"])
    tags = [tuple(meta.meta_info_def.tags) for meta in graphs_of(tmp_path / "new")]
    assert tags == [("serve",), ("train", "tpu"), ("serve", "gpu")]
    assert np.allclose(
        call(tmp_path / "new", ["train", "tpu"]), expected(1) if edited else relu(expected(1))
    )


def test_tags_of_a_graph_and_of_a_function_are_chosen_on_saving(tmp_path: Path) -> None:
    tgw.example().save(tmp_path / "graph/", "x:0", "net/logits:0", tags="gpu")
    function = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None], tf.float32)])
    tgw.edit(function).save(tmp_path / "function/", tags=("serve", "gpu"))
    assert tf.saved_model.load(str(tmp_path / "graph"), tags=["gpu"]).signatures
    assert tf.saved_model.load(str(tmp_path / "function"), tags=["serve", "gpu"]).signatures


def test_tags_that_cannot_be_are_refused_in_one_sentence(tmp_path: Path) -> None:
    old = write(tmp_path / "old")
    editor = tgw.edit(old)
    with pytest.raises(
        GraphEditError, match=r"another graph of .*open that graph to edit it: tgw.edit"
    ):
        editor.save(tmp_path / "new/", tags=["gpu", "serve"])
    editor.bypass("y")
    with pytest.raises(GraphEditError, match="another graph of "):
        editor.save(tmp_path / "new/", tags="train")
    for tags in ([], [""]):
        with pytest.raises(GraphEditError, match=r"are not tags of a graph; give one or several"):
            editor.save(tmp_path / "new/", tags=tags)
    with pytest.raises(GraphEditError, match="no such option; it is one of a SavedModel"):
        editor.save(tmp_path / "new.pb", tags="train")
    assert not (tmp_path / "new").exists()


def test_a_new_value_is_that_of_all_graphs_that_read_it(tmp_path: Path) -> None:
    editor = tgw.edit(write(tmp_path / "old"))
    assert editor.session is not None
    graph = editor.graph
    with graph.as_default():
        assign = tf.raw_ops.AssignVariableOp(
            resource=graph.get_tensor_by_name("b:0"), value=tf.constant([3.0, 4.0])
        )
    editor.session.run(assign)
    editor.bypass("y")
    editor.save(tmp_path / "new/")
    product = X @ np.full((3, 2), -0.5, np.float32)
    assert np.allclose(call(tmp_path / "new", ["serve"]), np.add(product, [3, 4]))
    assert np.allclose(call(tmp_path / "new", ["train"]), relu(np.add(product, [6, 8])))


def averages(folder: Path) -> Path:
    """A graph that reads the averages of the training graph under the names of its own
    variables.
    """
    builder = v1.saved_model.Builder(str(folder))
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        weight = v1.get_variable("w", initializer=[2.0], use_resource=True)
        average = v1.get_variable("w/Average", initializer=[5.0], use_resource=True)
        x = v1.placeholder(tf.float32, [1], name="x")
        y = tf.add(x * weight, 0 * average, name="y")
        session.run(v1.global_variables_initializer())
        signatures = {"serving_default": v1.saved_model.predict_signature_def({"x": x}, {"y": y})}
        builder.add_meta_graph_and_variables(session, ["train"], signatures)
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        weight = v1.get_variable("w", initializer=[0.0], use_resource=True)
        x = v1.placeholder(tf.float32, [1], name="x")
        y = tf.abs(x * weight, name="y")
        signatures = {"serving_default": v1.saved_model.predict_signature_def({"x": x}, {"y": y})}
        builder.add_meta_graph(["serve"], signatures, saver=v1.train.Saver({"w/Average": weight}))
    builder.save()
    return folder


def test_a_graph_that_is_built_again_leaves_the_values_of_the_others_alone(tmp_path: Path) -> None:
    editor = tgw.edit(averages(tmp_path / "old"))
    editor.insert("y", "Neg")
    editor.clone("x:0", "y:0", into="copy")
    editor.save(tmp_path / "new/", inputs={"x": "x:0"}, outputs={"y": "y:0", "copy": "copy/y:0"})
    assert call(tmp_path / "new", ["train"], np.ones(1, np.float32)) == 2.0
    assert call(tmp_path / "new", ["serve"], np.ones(1, np.float32)) in (5.0, -5.0)
    names = dict(tf.train.list_variables(str(tmp_path / "new/variables/variables")))
    assert sorted(names) == ["copy/w", "w", "w/Average"]


def rows(shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
    """The rows of a matrix of 0, 1, ... that a slice has."""
    first = partition_info.var_offset[0]
    return tf.reshape(tf.range(2 * first, 2 * (first + shape[0]), dtype=dtype), shape)


def test_the_slices_of_a_partitioned_variable_are_one_value(tmp_path: Path) -> None:
    def partitioned(tags: Sequence[str]) -> tuple[Any, Any]:
        del tags
        split = v1.fixed_size_partitioner(3)
        weight = v1.get_variable("w", [3, 2], initializer=rows, partitioner=split)
        return tf.convert_to_tensor(weight), tf.ones([2])

    editor = tgw.edit(write(tmp_path / "old", partitioned))
    was = call(tmp_path / "old", ["train"])
    editor.bypass("y")
    editor.save(tmp_path / "new/", inputs={"x": "x:0"}, outputs={"y": "sum:0"})
    assert np.allclose(call(tmp_path / "new", ["serve"]), X @ np.arange(6.0).reshape(3, 2) + 1)
    assert np.array_equal(call(tmp_path / "new", ["train"]), was)
    assert dict(tf.train.list_variables(str(tmp_path / "new/variables/variables"))) == {"w": [3, 2]}


def test_the_command_line_exports_with_other_tags(tmp_path: Path) -> None:
    old = write(tmp_path / "old")
    assert (
        main(["export", str(old), f"{tmp_path}/new/", "--tags", "train", "--new-tags", "train,tpu"])
        == 0
    )
    tags = [tuple(meta.meta_info_def.tags) for meta in graphs_of(tmp_path / "new")]
    assert tags == [("serve",), ("train", "tpu"), ("serve", "gpu")]
