"""An op keeps the outputs that are read or named: another type or attribute that takes one away is
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError, UnknownName


@pytest.fixture
def several() -> tf.Graph:
    """Ops with several outputs, of which some are read, and some are in a collection."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4, 2], "x")
        split = tf.split(x, 2, name="split")
        tf.identity(split[1], "read")
        graph.add_to_collection("ends", tf.unstack(x, name="unstack")[3])
        tf.unstack(x, name="unread")
        queue = v1.FIFOQueue(2, [tf.float32], name="queue")
        tf.negative(queue.dequeue(name="dequeue"), name="y")
        tf.stack(split, name="stack")
        tf.add(x, x, name="sum")
        tf.add(tf.add(x, x, name="inner"), x, name="outer")
    return graph


def opened(graph: tf.Graph, kind: str, folder: Path) -> tgw.GraphEditor:
    if kind == "live":
        return tgw.edit(graph)
    path = folder / f"graph{kind}"
    with graph.as_default():
        meta = v1.train.export_meta_graph(graph=graph)
    path.write_bytes((meta if kind == ".meta" else meta.graph_def).SerializeToString())
    return tgw.edit(path)


CASES: dict[str, tuple[Callable[[tgw.GraphEditor], Any], str]] = {
    "a type without outputs": (
        lambda editor: editor.passes.rename_type("QueueDequeueV2", "QueueCloseV2"),
        "rename_type.*'dequeue:0' is float32 and would be gone, and op 'y' reads it",
    ),
    "a type of another dtype": (
        lambda editor: editor.passes.rename_type("AddV2", "Equal"),
        (
            "rename_type.*('inner:0' is float32 and would be bool, and op 'outer' reads it|input 0 "
            "of 'outer' is)"
        ),
    ),
    "a type with more inputs": (
        lambda editor: editor.passes.rename_type("Neg", "AddV2"),
        "rename_type.*op 'y' has 1 input, and AddV2 takes 2",
    ),
    "fewer outputs": (
        lambda editor: editor.set_attr("split", "num_split", 1),
        "set_attr.*'split:1' is float32 and would be gone, and op 'read' reads it",
    ),
    "more inputs": (
        lambda editor: editor.set_attr("stack", "N", 3),
        "would take 3 tensors, and reads 2",
    ),
    "other outputs": (
        lambda editor: editor.set_attr("dequeue", "component_types", ["int32"]),
        "'dequeue:0' is float32 and would be int32, and op 'y' reads it",
    ),
}


@pytest.mark.parametrize("kind", ["live", ".pb", ".meta"])
@pytest.mark.parametrize("case", CASES)
def test_an_output_that_is_read_stays(
    several: tf.Graph, tmp_path: Path, kind: str, case: str
) -> None:
    editor = opened(several, kind, tmp_path)
    call, sentence = CASES[case]
    before = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
    for _ in range(2):
        with pytest.raises(GraphEditError, match=sentence):
            call(editor)
    assert [
        node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
    ] == before
    assert not editor.history.done


@pytest.mark.parametrize("kind", ["live", ".meta"])
def test_an_output_that_a_collection_or_signature_names_stays(
    several: tf.Graph, tmp_path: Path, kind: str
) -> None:
    editor = opened(several, kind, tmp_path)
    with pytest.raises(
        GraphEditError,
        match="'unstack' would have 1 output, and collection 'ends' names 'unstack:3'",
    ):
        editor.set_attr("unstack", "num", 1)
    editor.signatures.add("rows", ["x:0"], {"y": "unread:1"})
    with pytest.raises(
        GraphEditError,
        match=r"signature 'rows' names 'unread:1'; editor.signatures.remove\('rows'\)",
    ):
        editor.set_attr("unread", "num", 1)
    with pytest.raises(
        UnknownName, match="There is no tensor 'unread:7': op 'unread' has 4 outputs"
    ):
        editor.clone([], ["unread:7"])


def test_an_output_of_a_function_stays() -> None:
    @tf.function(input_signature=[tf.TensorSpec([4, 2], name="x")])
    def halves(x: Any) -> Any:
        return tf.split(x, 2, name="split")[1]

    editor = tgw.edit(halves)
    with pytest.raises(
        GraphEditError, match="'split:1' is float32 and would be gone, and op 'Identity' reads it"
    ):
        editor.set_attr("split", "num_split", 1)
    assert editor.to_function()(tf.zeros([4, 2])).shape == (2, 2)


def test_what_no_one_reads_may_go_and_is_marked_no_more(several: tf.Graph, tmp_path: Path) -> None:
    editor = opened(several, ".pb", tmp_path)
    editor.remove("y")
    editor.mark([], ["dequeue:0"])
    editor.passes.rename_type("QueueDequeueV2", "QueueCloseV2")
    assert editor._core.view.boundary == ((), ())
    with pytest.raises(UnknownName, match="op 'dequeue' has no output"):
        editor.extract([], ["dequeue:0"])
    editor.undo()
    assert editor.outputs == ("dequeue:0",)
