"""Live queue runners: what `tf.train.start_queue_runners` starts threads for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfgraphwidget.sources.runners import runner_def


def add_runners(graph: tf.Graph, runners: Iterable[tuple[str, Any]]) -> None:
    """Put a `tf.train.QueueRunner` for each (collection key, QueueRunnerDef) into its collection.

    The ops must be in the graph. One that stands in several collections is one object.
    """
    made: dict[bytes, Any] = {}
    with graph.as_default():  # not eager, where queue runners are refused
        for key, proto in runners:
            told = proto.SerializeToString(deterministic=True)
            if told not in made:
                made[told] = tf.compat.v1.train.QueueRunner.from_proto(proto)
            graph.get_collection_ref(key).append(made[told])


def remove_runners(graph: tf.Graph, runners: Iterable[tuple[str, Any]]) -> None:
    """Take what `add_runners` has put there out of the collections; what is not there is passed over."""
    gone = Counter((key, proto.SerializeToString(deterministic=True)) for key, proto in runners)
    for key in {key for key, _ in gone}:
        held = graph.get_collection_ref(key)
        for item in reversed(held[:]):
            if isinstance(item, tf.compat.v1.train.QueueRunner):
                told = key, runner_def(item, graph).SerializeToString(deterministic=True)
                if gone[told]:
                    gone[told] -= 1
                    held.remove(item)
