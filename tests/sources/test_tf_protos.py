"""The one module that hands out TensorFlow's messages, and what is read without TensorFlow's
graph.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow.python.framework import ops

from tests.conftest import v1
from tests.test_import_is_light import modules_after
from tfgraphwidget.sources import tf_protos

# What reads, describes and plans with files; TensorFlow is loaded by the first message that is
# read, not by them.
WITHOUT_TENSORFLOW = (
    "source", "node_body", "variables", "renaming", "paths", "networkx_graph", "tf_protos",
    "files.assets", "files.checkpoint", "files.checkpoint_keys", "files.container",
    "files.file_form", "files.formats", "files.object_graph", "files.obstacles", "files.opening",
    "files.parse", "files.signature_defs", "files.stored_data", "files.summary", "inference.bounds",
    "inference.call_depth", "inference.dtypes", "inference.shapes", "describe.ops",
    "describe.origins", "describe.signatures", "live.devices",
)  # fmt: skip


def test_reading_files_imports_no_tensorflow() -> None:
    code = "\n".join(f"import tfgraphwidget.sources.{name}" for name in WITHOUT_TENSORFLOW)
    assert "tensorflow" not in modules_after(code)


def test_the_messages_are_tensorflows_own() -> None:
    assert tf_protos.message_classes() == (v1.GraphDef, v1.MetaGraphDef, tf_protos.SavedModel)
    assert tf_protos.NodeDef is v1.NodeDef
    for name in tf_protos._NAMES:
        assert getattr(tf_protos, name).DESCRIPTOR.full_name == f"tensorflow.{name}"
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tf_protos.Nothing  # noqa: B018


@pytest.mark.slow
def test_tensorflow_that_is_imported_later_takes_the_same_classes() -> None:
    code = """
import sys
from tfgraphwidget.sources import tf_protos
graph = tf_protos.GraphDef()
graph.node.add(name="a", op="NoOp")
names = [(name, getattr(tf_protos, name)) for name in tf_protos._NAMES]
assert "tensorflow" not in sys.modules
import tensorflow as tf
tf.import_graph_def(graph, name="")
assert (
    tf_protos.GraphDef is tf.compat.v1.GraphDef
    and tf_protos.MetaGraphDef is tf.compat.v1.MetaGraphDef
)
print(len(names))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) == len(tf_protos._NAMES)


def test_a_dtype_that_only_the_installed_release_knows_has_its_name_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = tf_protos.dtype_names()
    monkeypatch.setattr(tf_protos, "DTYPE_NAMES", tf_protos.DTYPE_NAMES[:24])
    assert tf_protos.dtype_names.__wrapped__() == names


@pytest.mark.parametrize(
    "number", [number for number in types_pb2.DataType.values() if 0 < number < 100]
)
def test_arrays_are_those_of_tensorflow(number: int) -> None:
    dtype = tf.dtypes.as_dtype(number)
    assert tf_protos.dtype_names()[number] == dtype.name
    assert tf_protos.dtype_names()[number + 100] == tf.dtypes.as_dtype(number + 100).name
    tensor = (
        tf.make_tensor_proto(np.array([1, 0, 1]).astype(dtype.as_numpy_dtype))
        if dtype in _MADE
        else tensor_pb2.TensorProto(dtype=number)
    )
    protos = [tensor, tensor_pb2.TensorProto(dtype=number, tensor_content=bytes(16))]
    protos[1].tensor_shape.dim.add(size=16 // max(1, _size(dtype)))
    full = tensor_pb2.TensorProto(dtype=number)
    full.tensor_shape.dim.add(size=5)
    for field in (
        "half_val",
        "float_val",
        "double_val",
        "int_val",
        "int64_val",
        "bool_val",
        "uint32_val",
        "uint64_val",
    ):
        getattr(full, field).extend([1, 0, 1])
    full.string_val.extend([b"a", b"b"])
    full.scomplex_val.extend([1, 2, 3, 4])
    full.dcomplex_val.extend([1, 2, 3, 4])
    full.float8_val = b"abc"
    for proto in (*protos, full):
        try:
            expected = tf.make_ndarray(proto)
        except (KeyError, TypeError, ValueError):
            continue  # of which TensorFlow has no array, there may be one
        given = tf_protos.array_of(proto)
        assert given.dtype == expected.dtype
        assert given.tolist() == expected.tolist()


_MADE = (
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64),
    tf.bool,
)


def _size(dtype: tf.DType) -> int:
    try:
        return int(dtype.size)
    except (TypeError, AttributeError):
        return 1


def test_collections_hold_the_messages_that_tensorflow_registers() -> None:
    for key, name in tf_protos._COLLECTIONS.items():
        assert ops.get_collection_proto_type(key).__name__ == name


def test_the_version_of_graphs_is_that_of_the_release() -> None:
    if tf.__version__ == tf_protos._RELEASE:
        assert tf.version.GRAPH_DEF_VERSION == tf_protos._GRAPH_DEF_VERSION


def test_keys_and_numbers_are_tensorflows_own() -> None:
    keys = v1.GraphKeys
    assert tf_protos.GLOBAL_VARIABLES == keys.GLOBAL_VARIABLES
    assert tf_protos.TRAINABLE_VARIABLES == keys.TRAINABLE_VARIABLES
    assert tf_protos.ASSET_FILEPATHS == keys.ASSET_FILEPATHS
    assert tf_protos.TABLE_INITIALIZERS == keys.TABLE_INITIALIZERS
    assert types_pb2.DT_STRING == tf_protos.STRING
    assert (
        tf_protos.dtype_names()[types_pb2.DT_FLOAT_REF]
        == tf.dtypes.as_dtype(types_pb2.DT_FLOAT_REF).name
    )


def test_the_release_of_tensorflow_is_that_of_the_installed_one_before_it_is_imported() -> None:
    code = (
        "import sys; from tfgraphwidget.sources import tf_protos; "
        "print(tf_protos.tensorflow_version())"
    )
    report = f"{code}; print('tensorflow' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [tf.__version__, "False"]
