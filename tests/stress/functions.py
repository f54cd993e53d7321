"""What a person gives to insert, replace and grow: functions of tensors, good ones and bad ones."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def unchanged(x: Any, *_: Any) -> Any:
    """The tensor itself, in an op of its own."""
    return tf.identity(x)


def halved(x: Any, *_: Any) -> Any:
    """Half of it, whatever it is made of."""
    return tf.cast(tf.cast(x, tf.float32) * 0.5, x.dtype)


def shifted(x: Any, *_: Any) -> Any:
    """Plus a new variable."""
    offset = tf.compat.v1.get_variable(
        "offset", [], tf.float32, tf.compat.v1.constant_initializer(0.25)
    )
    return x + tf.cast(offset, x.dtype)


def looked_up(x: Any, *_: Any) -> Any:
    """Plus what a new table says."""
    keys, values = tf.constant(["a"]), tf.constant([1.0])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1.0)
    return x + tf.cast(table.lookup(tf.constant("a")), x.dtype)


def failing(x: Any, *_: Any) -> Any:
    """Makes an op and a variable, and raises."""
    tf.compat.v1.get_variable("never", [2], initializer=tf.compat.v1.zeros_initializer())
    tf.identity(x)
    raise ValueError("this function\nfails")


def of_another_shape(x: Any, *_: Any) -> Any:
    """One dimension more."""
    return tf.expand_dims(x, 0)


FUNCTIONS = (unchanged, halved, shifted, looked_up, failing, of_another_shape)
