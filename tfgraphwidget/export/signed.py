"""Signatures as TensorFlow's protos have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.named import pairs
from tfgraphwidget.sources.body import Signature


def signature_def(index: GraphIndex, signature: Signature, called: Signature) -> Any:
    """The SignatureDef of a signature whose tensors have other names, as in `called`, where it is written."""
    return meta_graph_pb2.SignatureDef(
        inputs=_infos(index, signature.inputs, called.inputs),
        outputs=_infos(index, signature.outputs, called.outputs),
        method_name=tf.compat.v1.saved_model.signature_constants.PREDICT_METHOD_NAME,
    )


def _infos(
    index: GraphIndex, ends: Iterable[tuple[str, str]], called: Iterable[tuple[str, str]]
) -> dict[str, meta_graph_pb2.TensorInfo]:
    found = {}
    for (key, tensor), (_, name) in zip(ends, called, strict=True):
        op, port = pairs(index, [tensor])[0]
        dtype = index.typing.number(index.dtypes(op)[port].removesuffix("_ref"))
        shape = tf.TensorShape(index.shape(op, port)).as_proto()
        found[key] = meta_graph_pb2.TensorInfo(name=name, dtype=dtype, tensor_shape=shape)
    return found
