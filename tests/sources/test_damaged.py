"""Bytes of real files, flipped and cut: one sentence, or a graph of which every op can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import INCEPTION, build_mlp, v1
from tests.sources.conftest import Affine, facts, index_of
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.doors import doors
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.sources import Body, open_function, open_source

T = TypeVar("T")
Edit = tuple[str, float, int]
EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "flip", "cut", "drop", "repeat"]), st.floats(0, 1), st.integers(0, 255)),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, edits: list[Edit]) -> bytes:
    """The bytes with each edit made at its place."""
    made = bytearray(data)
    for kind, where, value in edits:
        at = min(int(where * len(made)), len(made) - 1)
        if at < 0:
            break
        if kind == "set":
            made[at] = value
        elif kind == "flip":
            made[at] ^= 1 << value % 8
        elif kind == "cut":
            del made[at:]
        elif kind == "drop":
            del made[at : at + value % 32]
        else:
            made[at:at] = made[max(at - value, 0) : at]
    return bytes(made)


def sentence_or(make: Callable[[], T]) -> T | None:
    """What is made, or None when it is refused in one sentence."""
    try:
        return make()
    except GraphEditError as refusal:
        why = refusal.why
    assert "\n" not in why
    return None


def looked_at(data: bytes, describe: bool = True) -> bool:
    """Opens the bytes as a person would; all that may be raised is a sentence. Whether they open."""
    source = sentence_or(lambda: open_source(data))
    if source is None:
        return False
    index = index_of(source.body)
    if describe:
        assert len(facts(index)) == len(index)
        rooms(source.body, index)
    else:
        assert all(isinstance(index.dtypes(i), tuple) for i in range(len(index)))
    return True


def rooms(body: Body, index: GraphIndex) -> None:
    """The functions that the ops of a graph call."""
    for op in range(len(index)):
        for door in doors(index.nodes[op], body.functions()):
            opened = sentence_or(partial(open_function, door.function, body, index, op))
            if opened is not None:
                inner = index_of(opened)
                assert len(facts(inner)) == len(inner)


def graph_def() -> bytes:
    return build_mlp(resource=True).as_graph_def().SerializeToString()


def text() -> bytes:
    return str(build_mlp(resource=False).as_graph_def()).encode()


def meta_graph() -> bytes:
    with build_mlp(resource=False).as_default():
        return v1.train.export_meta_graph().SerializeToString()


def functions() -> bytes:
    affine = Affine()
    graph = affine.__call__.get_concrete_function().graph
    return graph.as_graph_def().SerializeToString()


@pytest.mark.parametrize("make", [graph_def, text, meta_graph, functions])
def test_a_damaged_proto_is_refused_or_can_be_looked_at(make: Callable[[], bytes]) -> None:
    data = make()
    looked_at(data)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(EDITS)
    def check(edits: list[Edit]) -> None:
        looked_at(damaged(data, edits))

    check()


def test_a_damaged_saved_model_is_refused_or_can_be_looked_at(tf2_saved_model: Path) -> None:
    data = (tf2_saved_model / "saved_model.pb").read_bytes()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(EDITS)
    def check(edits: list[Edit]) -> None:
        looked_at(damaged(data, edits))

    check()


def test_a_damaged_real_meta_graph_is_refused_or_can_be_looked_at() -> None:
    data = INCEPTION.read_bytes()

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(EDITS)
    def check(edits: list[Edit]) -> None:
        looked_at(damaged(data, edits), describe=False)

    check()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_can_be_looked_at(data: bytes) -> None:
    if looked_at(data):
        body = open_source(data).body
        assert body.nodes() or body.functions(), "what opens holds something"


def test_every_beginning_of_a_file_is_refused_or_can_be_looked_at() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.add(tf.constant([1.0, 2.0]), 1.0, name="sum")
    data = graph.as_graph_def().SerializeToString()
    assert looked_at(data)
    opened = [end for end in range(len(data)) if looked_at(data[:end])]
    assert len(opened) < 10, "only where one op ends and the next begins is a beginning whole"
