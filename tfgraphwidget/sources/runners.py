"""Queue runners of a live graph: Python objects in its collections, which run enqueue ops in threads of their own."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def runners(graph: tf.Graph) -> tuple[tuple[str, Any], ...]:
    """(collection key, QueueRunnerDef) of every queue runner in the collections, in their order."""
    return tuple(
        (key, item.to_proto())
        for key in graph.get_all_collection_keys()
        for item in graph.get_collection_ref(key)
        if isinstance(item, tf.compat.v1.train.QueueRunner) and item.close_op.graph is graph
    )
