"""Queue runners of a live graph: Python objects in its collections, which run enqueue ops in threads of their own."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def runners(graph: tf.Graph) -> tuple[tuple[str, Any], ...]:
    """(collection key, QueueRunnerDef) of every queue runner in the collections, in their order."""
    return tuple(
        (key, runner_def(item, graph))
        for key in graph.get_all_collection_keys()
        for item in graph.get_collection_ref(key)
        if isinstance(item, tf.compat.v1.train.QueueRunner) and item.close_op.graph is graph
    )


def runner_def(runner: Any, graph: tf.Graph) -> Any:
    """The QueueRunnerDef of a queue runner of `graph`, wherever it is asked for.

    Outside of every graph TensorFlow takes a queue for an eager one, which has a name without its scope
    (test_tensorflow_facts.py::test_a_queue_has_its_whole_name_in_its_graph_only).
    """
    with graph.as_default():
        return runner.to_proto()
