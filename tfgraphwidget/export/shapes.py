"""Static shapes as TensorFlow's classes have them."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.graph import Shape
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import TensorShapeProto


def tensor_shape(shape: Shape) -> tf.TensorShape:
    """The `tf.TensorShape` of a static shape; None is an unknown rank."""
    dimensions: Any = shape  # types-tensorflow does not know that None is an unknown rank
    return tf.TensorShape(dimensions)


def shape_proto(shape: Shape) -> TensorShapeProto:
    """The message of a static shape, as attributes of NodeDefs have it."""
    message: TensorShapeProto = tf_protos.AttrValue().shape
    if shape is None:
        message.unknown_rank = True
    else:
        message.SetInParent()
        message.dim.extend(type(message).Dim(size=-1 if size is None else size) for size in shape)
    return message
