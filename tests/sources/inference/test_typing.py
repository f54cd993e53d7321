"""Dtypes and shapes that a file tells, and those that it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import INCEPTION, v1
from tests.sources.conftest import index_of, node
from tfgraphwidget.graph import with_output_shape
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.sources import open_source
from tfgraphwidget.sources.inference import shapes as file_shapes
from tfgraphwidget.sources.live import shapes as live_shapes


def opened(*nodes: v1.NodeDef) -> GraphIndex:
    return index_of(open_source(v1.GraphDef(node=nodes)).body)


def types(*dtypes: tf.DType) -> v1.AttrValue:
    return v1.AttrValue(list={"type": [d.as_datatype_enum for d in dtypes]})


def shapes(*shape: list[int | None]) -> v1.AttrValue:
    return v1.AttrValue(list={"shape": [tf.TensorShape(s).as_proto() for s in shape]})


def shape(value: list[int | None]) -> v1.AttrValue:
    return v1.AttrValue(shape=tf.TensorShape(value).as_proto())


@pytest.mark.parametrize(
    ("made", "dtypes"),
    [
        (node("n", "Shape", T=tf.float32, out_type=tf.int64), ("int64",)),
        (node("n", "Shape", T=tf.float32), ("int32",)),  # the default of out_type
        (node("n", "LoopCond"), ("bool",)),
        (node("n", "NoOp"), ()),
        (node("n", "VariableV2", dtype=tf.float32), ("float32_ref",)),
        (node("n", "VarHandleOp", dtype=tf.float32), ("resource",)),
        (node("n", "Split", T=tf.int32, num_split=3), ("int32",) * 3),
        (node("n", "IdentityN", T=types(tf.int32, tf.string)), ("int32", "string")),
        (node("n", "RefSwitch", T=tf.float32), ("float32_ref", "float32_ref")),
        (node("n", "Relu"), ("",)),
        (node("n", "Relu", T=v1.AttrValue(type=999)), ("",)),
        (node("n", "Identity", T=v1.AttrValue(s=b"float")), ("",)),
        (node("n", "VariableV2", dtype=v1.AttrValue(type=999)), ("",)),
        (node("n", "Split", T=tf.int32, num_split=-1), ()),
        (node("n", "Split", T=tf.int32, num_split=1 << 60), ()),
        (node("n", "MyOp"), ()),
        (node("n", "MyOp", T=tf.int32), ("int32",)),
        (node("n", "MyOp", Tout=types(tf.int32, tf.bool)), ("int32", "bool")),
        (node("n", "MyOp", T=tf.int32, _output_shapes=shapes([1], [2])), ("", "")),
        (node("n", "MyOp", T=tf.int32, _output_shapes=shapes([1])), ("int32",)),
    ],
)
def test_dtypes_come_from_the_op_and_its_attributes(
    made: v1.NodeDef, dtypes: tuple[str, ...]
) -> None:
    typing = opened(made).typing
    assert typing.dtypes(made) == dtypes
    assert typing.dtypes(made) == dtypes  # what is remembered says the same


def test_outputs_that_are_read_and_not_named_are_there_unnamed() -> None:
    index = opened(node("n", "MyOp"), node("r", "Relu", "n:2"))
    assert index.dtypes(0) == ("", "", "")


def test_every_tensor_of_a_real_file_is_typed_as_tensorflow_types_it() -> None:
    index = index_of(open_source(INCEPTION).body)
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(str(INCEPTION))
    for i, op in enumerate(graph.get_operations()):
        assert index.names[i] == op.name
        assert list(index.dtypes(i)) == [t.dtype.name for t in op.outputs]
        for k, tensor in enumerate(op.outputs):
            report = index.shape(i, k)
            # An _output_shapes attribute of the release that wrote the file may say less than is
            # inferred now.
            assert report is None or tf.TensorShape(report).is_compatible_with(tensor.shape)
            assert report is not None or tensor.shape.rank is None


@pytest.mark.parametrize(
    ("made", "report"),
    [
        (node("n", "MyOp", _output_shapes=shapes([2, None])), (2, None)),
        (node("n", "Placeholder", dtype=tf.int32, shape=shape([3])), (3,)),
        (node("n", "Placeholder", dtype=tf.int32, shape=shape(None)), None),  # type: ignore[arg-type]
        (
            node(
                "n",
                "Const",
                dtype=tf.int32,
                value=v1.AttrValue(tensor=tf.make_tensor_proto([1, 2])),
            ),
            (2,),
        ),
        (node("n", "VariableV2", dtype=tf.int32, shape=shape([4])), (4,)),
        (node("n", "VarHandleOp", dtype=tf.int32, shape=shape([4])), ()),
        (node("n", "MyOp"), None),
    ],
)
def test_shapes_come_from_attributes(
    made: v1.NodeDef, report: tuple[int | None, ...] | None
) -> None:
    # An op that TensorFlow does not know: nothing can be inferred.
    assert opened(made, node("unknown", "MyOp")).shape(0, 0) == report


def test_other_shapes_are_inferred_once_without_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a session was opened")

    monkeypatch.setattr(v1.Session, "__init__", refuse)
    x = node("x", "Placeholder", dtype=tf.float32, shape=shape([None, 3]))
    handle = node("w", "VarHandleOp", dtype=tf.float32, shape=shape([3, 5]))
    read = node("r", "ReadVariableOp", "w", dtype=tf.float32)
    product = node("y", "MatMul", "x", "r", T=tf.float32)
    index = opened(product, read, handle, x)
    assert [index.shape(index.op(name), 0) for name in ("r", "y")] == [(3, 5), (None, 5)]
    assert index.typing.shape("y", 1) is None
    assert index.typing.shape("gone", 0) is None


def test_inferring_shapes_does_not_run_what_computes_them(tmp_path: Path) -> None:
    file = tmp_path / "shape"
    file.write_bytes(np.array([2, 3], np.int32).tobytes())
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        y = tf.reshape(x, tf.io.decode_raw(tf.io.read_file(str(file)), tf.int32), name="y")
    assert y.shape.as_list() == [2, 3]  # TensorFlow has read the file to know this
    index = index_of(open_source(graph.as_graph_def()).body)
    assert index.shape(index.op("y"), 0) is None


def test_where_tensorflow_refuses_a_graph_its_shapes_are_unknown() -> None:
    index = opened(
        node("x", "Placeholder", dtype=tf.float32), node("y", "MatMul", "x", T=tf.float32)
    )
    assert index.shape(1, 0) is None


def batch_norms(*, add_shapes: bool) -> v1.GraphDef:
    """Ops whose last output is of no rank that TensorFlow knows."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 4, 4, 3], name="x")
        zeros = [tf.zeros([3])] * 4
        tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=zeros[0],
            offset=zeros[1],
            mean=zeros[2],
            variance=zeros[3],
            is_training=False,
            name="norm",
        )
    return graph.as_graph_def(add_shapes=add_shapes)


def test_a_file_that_says_that_a_rank_is_unknown_is_not_imported_to_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        live_shapes, "infer_shapes", lambda _: pytest.fail("all of the file was imported")
    )
    index = index_of(open_source(batch_norms(add_shapes=True)).body)
    norm = index.ids["norm"]
    assert index.shape(norm, 0) == (2, 4, 4, 3)
    assert index.shape(norm, 5) is None


@pytest.mark.parametrize("most", [2, 1000])
def test_a_file_of_very_many_ops_is_not_imported_for_a_shape(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = []
    infer = live_shapes.infer_shapes
    monkeypatch.setattr(
        live_shapes, "infer_shapes", lambda graph_def: imported.append(1) or infer(graph_def)
    )
    monkeypatch.setattr(file_shapes, "MAX_IMPORTED_OPS", most)
    index = index_of(open_source(batch_norms(add_shapes=False)).body)
    assert index.shape(index.ids["norm"], 0) == ((2, 4, 4, 3) if most == 1000 else None)
    assert len(imported) == (most == 1000)


def test_a_node_that_lists_a_shape_is_not_copied_to_list_it_again() -> None:
    lists = v1.NodeDef(name="a", op="Relu")
    lists.attr["_output_shapes"].list.shape.add().dim.add(size=-1)
    assert with_output_shape(lists, 0, (None,)) is lists
    for shape in ((2,), (), None, (None, 3)):
        other = with_output_shape(lists, 0, shape)
        assert other is not lists
        assert with_output_shape(other, 0, shape) is other
        assert other.attr["_output_shapes"].list.shape[0].unknown_rank == (shape is None)
