"""The one module that hands out TensorFlow's messages, and what is read without TensorFlow's graph."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from tests.conftest import v1
from tests.test_import_is_light import modules_after
from tfgraphwidget.sources import tf_protos

# What reads, describes and plans with files; TensorFlow is loaded by the first message that is read, not by them.
WITHOUT_TENSORFLOW = (
    "source", "node_body", "variables", "renaming", "paths", "networkx_graph", "tf_protos",
    "files.assets", "files.checkpoint", "files.checkpoint_keys", "files.container", "files.file_form", "files.formats",
    "files.object_graph", "files.obstacles", "files.opening", "files.output_ops", "files.parse",
    "files.signature_defs", "files.stored_data", "files.summary", "files.unsupported_inputs",
    "inference.bounds", "inference.call_depth", "inference.dtypes", "inference.shapes",
    "describe.ops", "describe.origins", "describe.signatures", "live.devices",
)  # fmt: skip


def test_reading_files_imports_no_tensorflow() -> None:
    code = "\n".join(f"import tfgraphwidget.sources.{name}" for name in WITHOUT_TENSORFLOW)
    assert "tensorflow" not in modules_after(code)


def test_the_messages_are_tensorflows_own() -> None:
    assert tf_protos.message_classes() == (v1.GraphDef, v1.MetaGraphDef, tf_protos.SavedModel)
    assert tf_protos.NodeDef is v1.NodeDef
    for name in tf_protos._MODULES:
        assert getattr(tf_protos, name).DESCRIPTOR.full_name == f"tensorflow.{name}"
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tf_protos.Nothing  # noqa: B018


def test_keys_and_numbers_are_tensorflows_own() -> None:
    keys = v1.GraphKeys
    assert tf_protos.GLOBAL_VARIABLES == keys.GLOBAL_VARIABLES
    assert tf_protos.TRAINABLE_VARIABLES == keys.TRAINABLE_VARIABLES
    assert tf_protos.ASSET_FILEPATHS == keys.ASSET_FILEPATHS
    assert tf_protos.TABLE_INITIALIZERS == keys.TABLE_INITIALIZERS
    assert types_pb2.DT_STRING == tf_protos.STRING
    assert tf_protos.dtype_names()[types_pb2.DT_FLOAT_REF] == tf.dtypes.as_dtype(types_pb2.DT_FLOAT_REF).name
