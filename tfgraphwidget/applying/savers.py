"""Savers of copied variables, under the names that their originals have in checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfgraphwidget.applying.importing import check_open
from tfgraphwidget.errors import NothingTo


class GraphSaver(tf.compat.v1.train.Saver):  # type: ignore[misc]
    """A Saver that stands in its graph, whatever graph is the default one where it is used."""

    def __init__(self, graph: tf.Graph, variables: Any, **options: Any) -> None:
        check_open(graph)
        self._graph = graph
        with graph.as_default():
            super().__init__(variables, **options)

    def save(self, *arguments: Any, **options: Any) -> Any:
        """As `tf.compat.v1.train.Saver.save`."""
        with self._graph.as_default():
            return super().save(*arguments, **options)

    def restore(self, *arguments: Any, **options: Any) -> Any:
        """As `tf.compat.v1.train.Saver.restore`."""
        with self._graph.as_default():
            return super().restore(*arguments, **options)


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
    return GraphSaver(graph, sliced, **options)
