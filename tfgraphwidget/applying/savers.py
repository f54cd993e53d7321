"""Savers of copied variables, under the names that their originals have in checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import NothingTo


def saver(graph: tf.Graph, keyed: Iterable[tuple[str, Any]], **options: Any) -> tf.compat.v1.train.Saver:
    """A Saver of (name in the checkpoint, variable); slices of one partitioned variable have one name.

    Raises NothingTo without variables.
    """
    held: dict[str, list[Any]] = {}
    for key, variable in keyed:
        held.setdefault(key, []).append(variable)
    if not held:
        raise NothingTo("The copy has no variables of its own, so there is nothing to save or restore.")
    sliced = {
        key: variables if variables[0]._save_slice_info is not None else variables[0] for key, variables in held.items()
    }
    with graph.as_default():
        return tf.compat.v1.train.Saver(sliced, **options)
