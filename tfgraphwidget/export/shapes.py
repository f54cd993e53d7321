"""Static shapes as TensorFlow's classes have them."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.graph import Shape
from tfgraphwidget.tensorflow_modules import tf


def tensor_shape(shape: Shape) -> tf.TensorShape:
    """The `tf.TensorShape` of a static shape; None is an unknown rank."""
    dimensions: Any = shape  # types-tensorflow does not know that None is an unknown rank
    return tf.TensorShape(dimensions)
