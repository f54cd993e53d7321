"""Bytes of real files, flipped and cut: one sentence, or a graph of which every op can be looked
at.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, build_mlp, v1
from tests.sources.conftest import Affine, facts, index_of
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.sources import Body, open_function, open_source
from tfgraphwidget.sources.files import tensor_bundle

T = TypeVar("T")
Edit = tuple[str, float, int]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["set", "flip", "cut", "drop", "repeat"]),
        st.floats(0, 1),
        st.integers(0, 255),
    ),
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
    """Opens the bytes as a person would; all that may be raised is a sentence. Whether they
    open.
    """
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
        for called in called_functions(index.nodes[op], body.functions()):
            opened = sentence_or(partial(open_function, called.function, body, index, op))
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


def damaged_checkpoint(good: bytes, number: int) -> bytes:
    """The bytes of a checkpoint's file, cut, changed, or with others in between."""
    chance = random.Random(number)
    at, made = chance.randrange(len(good)), bytearray(good)
    match number % 5:
        case 0:
            return good[:at]
        case 1:
            made[at] ^= 1 << chance.randrange(8)
        case 2:
            made[at : at + 8] = b"\xff" * 8
        case 3:
            del made[at : at + chance.randrange(1, 20)]
        case _:
            made[at:at] = chance.randbytes(chance.randrange(1, 20))
    return bytes(made)


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
def test_a_damaged_checkpoint_is_refused_in_a_sentence(suffix: str, tmp_path: Path) -> None:
    original = tgw.example()
    original.save(tmp_path / "net.meta", "x:0", "net/logits:0", verify=False)
    copy = original.clone("x:0", "net/logits:0", into="copy")
    file = tmp_path / f"net{suffix}"
    good = file.read_bytes()
    uses = (
        lambda: tgw.edit(tmp_path / "net.meta", checkpoint=tmp_path / "net").session.run(
            "net/logits/ReadVariableOp:0"
        ),
        lambda: copy.load(tmp_path / "net"),
        lambda: original.clone(
            "x:0",
            "net/logits:0",
            into=original._core.executor.free_scope(),
            init=str(tmp_path / "net"),
        ),
    )
    refusals = 0
    for number in range(60):
        file.write_bytes(damaged_checkpoint(good, number))
        for use in uses:
            with suppress(GraphEditError):  # any other error fails the test
                use()
                continue
            refusals += 1
    assert refusals > 60


def test_values_that_cannot_be_in_a_checkpoint_are_not_made_room_for(tmp_path: Path) -> None:
    original = tgw.example()
    copy = original.clone("x:0", "net/logits:0", into="copy")
    copy.save(tmp_path / "net")
    (tmp_path / "net.data-00000-of-00001").write_bytes(b"few")
    with pytest.raises(
        GraphEditError, match=r"lists 128 bytes for 'net/hidden/w', and its files have 3"
    ):
        copy.load(tmp_path / "net")


def of_sizes(*sizes: int) -> Callable[[Any], None]:
    """Gives an entry of a checkpoint's index another shape."""

    def change(entry: Any) -> None:
        del entry.shape.dim[:]
        for size in sizes:
            entry.shape.dim.add(size=size)

    return change


# TensorFlow's own reader ends the process for those marked so, wherever they stand in the index.
ENTRIES: dict[str, Callable[[Any], None]] = {
    "negative size": of_sizes(-1),  # so
    "more elements than are counted": of_sizes(1 << 40, 1 << 40),  # so
    "dtype of no number": lambda entry: setattr(entry, "dtype", 99),  # so
    "dtype of a reference": lambda entry: setattr(entry, "dtype", 101),  # so
    "more elements than bytes": of_sizes(10**12),
    "elements without bytes": of_sizes(10**12, 0),
    "text": lambda entry: setattr(entry, "dtype", tf.string.as_datatype_enum),
    "variant": lambda entry: setattr(entry, "dtype", tf.variant.as_datatype_enum),
    "shard that there is not": lambda entry: setattr(entry, "shard_id", 7),
    "place beyond the end": lambda entry: setattr(entry, "offset", 10**15),
    "place before the beginning": lambda entry: setattr(entry, "offset", -5),
    "negative number of bytes": lambda entry: setattr(entry, "size", -4_000),
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_entry_that_cannot_be_ends_no_process(kind: str, tmp_path: Path) -> None:
    prefix, numbers = str(tmp_path / "net"), np.arange(1_000, dtype=np.float32)
    tensors = [tensor_bundle.StoredTensor(name, lambda: numbers) for name in "ab"]
    tensor_bundle.write_bundle(prefix, tensors)
    index = tmp_path / "net.index"
    entries = dict(tensor_bundle._table_entries(index.read_bytes()))
    messages: dict[bytes, Any] = {
        key: tensor_bundle._parse_message("BundleEntryProto" if key else "BundleHeaderProto", data)
        for key, data in entries.items()
    }
    ENTRIES[kind](messages[b"a"])
    index.write_bytes(tensor_bundle._table(messages))
    bundle = tensor_bundle.TensorBundle(prefix)
    with suppress(OSError, ValueError, TypeError, MemoryError):
        assert np.size(bundle.value("a")) in (0, 1_000)
    assert np.array_equal(bundle.value("b"), numbers)
