"""Names of variables in a TensorFlow 2 SavedModel: one name means one variable, in every room and
at the root.
"""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from tests.sources.conftest import index_of
from tests.sources.files.test_saved_models import handles
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.sources import open_function, open_source
from tfgraphwidget.sources.files.object_graph import _one_to_one


class Twins(tf.Module):
    """Variables of the same name, and functions that capture them in one order and in the other."""

    def __init__(self) -> None:
        super().__init__()
        self.first = tf.Variable(tf.ones([1]), name="w")
        self.second = tf.Variable(tf.ones([2]), name="w")
        self.third = tf.Variable(tf.ones([3]), name="alone")

    @tf.function(input_signature=[])
    def forth(self) -> tf.Tensor:
        """The first, then the second."""
        return (
            tf.reduce_sum(self.first * 2.0) + tf.reduce_sum(self.second) + tf.reduce_sum(self.third)
        )

    @tf.function(input_signature=[])
    def back(self) -> tf.Tensor:
        """The second, then the first."""
        return (
            tf.reduce_sum(self.second * 2.0) + tf.reduce_sum(self.third) + tf.reduce_sum(self.first)
        )


def test_variables_of_one_name_keep_their_own_names_in_every_room(tmp_path: Path) -> None:
    twins = Twins()
    tf.saved_model.save(twins, str(tmp_path), signatures={"forth": twins.forth, "back": twins.back})
    body = open_source(tmp_path, signature="forth").body
    meant: dict[str, set[tuple[int, ...]]] = {}
    rooms = [(body, index_of(body))]
    while rooms:
        room, index = rooms.pop()
        for name in handles(index):
            size = tuple(d.size for d in index.nodes[index.op(name)].attr["shape"].shape.dim)
            meant.setdefault(body.saved_names.get(name, name), set()).add(size)
        for op in range(len(index)):
            called = [d.function for d in called_functions(index.nodes[op], room.functions())]
            opened = [
                open_function(name, room, index, op) for name in called if "restore" not in name
            ]
            rooms += [(inner, index_of(inner)) for inner in opened]
    assert all(len(sizes) == 1 for sizes in meant.values())
    assert meant["alone"] == {(3,)}
    assert len(meant) == 3


def test_a_reported_name_that_means_two_ops_is_not_used() -> None:
    assert _one_to_one({"a": "w", "b": "W", "c": "x"}, ["a", "b", "c"]) == {"c": "x"}
    assert _one_to_one({"a": "table"}, ["a", "table"]) == {}
    # b falls back on its own name, which a is told; both keep theirs.
    assert _one_to_one({"a": "b", "b": "c", "d": "c"}, ["a", "b", "d"]) == {}
    assert _one_to_one({"a": "b", "b": "a"}, ["a", "b"]) == {"a": "b", "b": "a"}
