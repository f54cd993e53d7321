"""Checkpoints are read as TensorFlow reads them, and damaged ones are refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.crc32c import crc32c, masked_crc32c
from tfgraphwidget.sources.files.tensor_bundle import (
    StoredTensor,
    TensorBundle,
    _block,
    _block_entries,
    _decompress,
    _handle,
    _table,
    _table_entries,
    packed_number,
    write_bundle,
)

DTYPES = (
    *(
        tf.float16,
        tf.bfloat16,
        tf.float32,
        tf.float64,
        tf.int8,
        tf.int16,
        tf.int32,
        tf.int64,
        tf.uint8,
        tf.uint16,
    ),
    *(tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128),
)


def save(path: Path, tensors: dict[str, tf.Tensor], slices: dict[str, str] | None = None) -> Path:
    """Write a checkpoint of tensors, of some of which slices."""
    tf.raw_ops.SaveV2(
        prefix=str(path),
        tensor_names=list(tensors),
        shape_and_slices=[(slices or {}).get(name, "") for name in tensors],
        tensors=list(tensors.values()),
    )
    return path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of all dtypes and of many names, so that its index has many blocks."""
    folder = tmp_path_factory.mktemp("checkpoint")
    tensors = {
        f"of/{dtype.name}": tf.cast(tf.reshape(tf.range(6), (2, 3)), dtype) for dtype in DTYPES
    }
    tensors |= {
        f"scope_{k}/some/longer/name/of_a_variable/{k % 7}": tf.fill([k % 3], float(k))
        for k in range(3000)
    }
    tensors |= {
        "strings": tf.constant([["", "a"], ["b" * 300, "\0c"]]),
        "text": tf.constant("one"),
        "scalar": tf.constant(2.5),
        "empty": tf.zeros([0, 4]),
        "large": tf.random.stateless_normal([700, 900], [1, 2]),
        "näme\0": tf.constant(1),
    }
    return save(folder / "m.ckpt", tensors)


def test_names_shapes_dtypes_and_values_are_those_that_tensorflow_reads(checkpoint: Path) -> None:
    expected, bundle = tf.train.load_checkpoint(str(checkpoint)), TensorBundle(str(checkpoint))
    assert bundle.shapes == expected.get_variable_to_shape_map()
    assert bundle.dtypes == {
        name: dtype.name for name, dtype in expected.get_variable_to_dtype_map().items()
    }
    for name in bundle.shapes:
        value, tensor = bundle.value(name), expected.get_tensor(name)
        assert np.asarray(value).dtype == np.asarray(tensor).dtype, name
        assert np.shape(value) == np.shape(tensor)
        assert np.array_equal(value, tensor)


def test_tensorflow_reads_what_is_written_as_it_reads_its_own(
    checkpoint: Path, tmp_path: Path
) -> None:
    bundle, expected = TensorBundle(str(checkpoint)), tf.train.load_checkpoint(str(checkpoint))
    write_bundle(
        str(tmp_path / "m"),
        [StoredTensor(name, partial(bundle.value, name)) for name in bundle.shapes],
    )
    actual = tf.train.load_checkpoint(str(tmp_path / "m"))
    assert actual.get_variable_to_shape_map() == expected.get_variable_to_shape_map()
    assert actual.get_variable_to_dtype_map() == expected.get_variable_to_dtype_map()
    names = bundle.shapes
    assert all(np.array_equal(actual.get_tensor(name), expected.get_tensor(name)) for name in names)
    restored = tf.raw_ops.RestoreV2(
        prefix=str(tmp_path / "m"),
        tensor_names=list(names),
        shape_and_slices=[""] * len(names),
        dtypes=[bundle.dtypes[name] for name in names],
    )
    for name, value in zip(names, restored, strict=True):
        assert np.array_equal(value, bundle.value(name)), name


def test_slices_that_are_written_are_read_as_one_variable_and_as_slices(tmp_path: Path) -> None:
    whole = np.arange(12, dtype=np.float32).reshape(6, 2)
    parts = [
        StoredTensor("a/w\0", partial(whole.__getitem__, slice(start, end)), (6, 2), (start, 0))
        for start, end in ((0, 2), (2, 6))
    ]
    write_bundle(str(tmp_path / "m"), parts)
    assert np.array_equal(TensorBundle(str(tmp_path / "m")).value("a/w\0"), whole)
    assert np.array_equal(tf.train.load_checkpoint(str(tmp_path / "m")).get_tensor("a/w\0"), whole)
    (read,) = tf.raw_ops.RestoreV2(
        prefix=str(tmp_path / "m"),
        tensor_names=["a/w\0"],
        shape_and_slices=["6 2 2,4:0,2"],
        dtypes=[tf.float32],
    )
    assert np.array_equal(read, whole[2:])


@pytest.mark.parametrize("sizes", [(3, 4), (70, 130), (9000, 20_000)])
def test_a_partitioned_variable_is_read_whole(tmp_path: Path, sizes: tuple[int, int]) -> None:
    total, rows = sum(sizes), [tf.random.stateless_normal([size, 2], [size, 2]) for size in sizes]
    merged, starts = [], (0, sizes[0])
    for number, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        shard = tmp_path / f"part{number}"
        save(
            shard,
            {"a\0/w": rows[number], f"n{number}": tf.constant(1)},
            {"a\0/w": f"{total} 2 {start},{size}:0,2"},
        )
        merged.append(str(shard))
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=merged, destination_prefix=str(tmp_path / "m")
    )
    bundle = TensorBundle(str(tmp_path / "m"))
    assert bundle.shapes == {"a\0/w": [total, 2], "n0": [], "n1": []}
    assert np.array_equal(bundle.value("a\0/w"), np.concatenate(rows))


def test_an_object_graph_is_read(tmp_path: Path) -> None:
    prefix = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(str(tmp_path / "objects"))
    objects = Checkpoint(prefix).value("_CHECKPOINTABLE_OBJECT_GRAPH")
    assert len(trackable_object_graph_pb2.TrackableObjectGraph.FromString(objects).nodes) == 2


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip(at: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

    return change


def call_compressed(kind: int) -> Callable[[Path], None]:
    """Say of the first block that it is compressed, though it is not."""

    def change(path: Path) -> None:
        data = bytearray(path.read_bytes())
        size = next(k for k in range(len(data)) if masked(data[:k] + b"\0") == data[k + 1 : k + 5])
        data[size : size + 5] = bytes([kind]) + masked(data[:size] + bytes([kind]))
        path.write_bytes(data)

    return change


def compressed(content: bytes, least: int, wide: int) -> bytes:
    """A block as Snappy compresses it: what occurred at least `least` bytes long before is copied
    from there.

    Args:
        content: The block.
        least: The shortest copy.
        wide: How many bytes the distance of a copy has: 1, 2 or 4.
    """
    result, literal, at = bytearray(packed_number(len(content))), bytearray(), 0
    most = 11 if wide == 1 else 64

    def end_literal() -> None:
        for start in range(0, len(literal), 70):  # lengths above 60 have a byte of their own
            piece = literal[start : start + 70]
            head = (
                bytes([(len(piece) - 1) << 2])
                if len(piece) <= 60
                else bytes([60 << 2, len(piece) - 1])
            )
            result.extend(head + piece)
        literal.clear()

    while at < len(content):
        repeats = (
            n
            for n in range(most, least - 1, -1)
            if at + n <= len(content) and content.find(content[at : at + n], 0, at + n - 1) >= 0
        )
        size = next(repeats, 0)
        back = at - content.rfind(content[at : at + size], 0, at + size - 1) if size else 0
        if size and back < 1 << min(8 * wide + 3 * (wide == 1), 16):
            end_literal()
            if wide == 1:
                result += bytes([1 | (size - 4) << 2 | back >> 8 << 5, back & 0xFF])
            else:
                result += bytes([(2 if wide == 2 else 3) | (size - 1) << 2]) + back.to_bytes(
                    wide, "little"
                )
            at += size
        else:
            literal.append(content[at])
            at += 1
    end_literal()
    return bytes(result)


def compress(path: Path, wide: int) -> int:
    """Compress the blocks of an index as Google's builds of TensorFlow do; return how many bytes
    that saved.
    """
    table = path.read_bytes()
    footer = table[-48:]
    _, _, at = _handle(footer, 0)
    offset, size, _ = _handle(footer, at)
    new, handles = bytearray(), []

    def add(block: bytes, kind: int) -> bytes:
        handle = packed_number(len(new)) + packed_number(len(block))
        new.extend(block + bytes([kind]) + masked(block + bytes([kind])))
        return handle

    saved = 0
    for key, handle in _block_entries(table, offset, size):
        start, length, _ = _handle(handle, 0)
        block = compressed(table[start : start + length], 4, wide)
        saved += length - len(block)
        handles.append((key, add(block, 1)))
    end = add(_block([]), 0) + add(compressed(_block(handles), 4, wide), 1)
    path.write_bytes(bytes(new) + end.ljust(40, b"\0") + table[-8:])
    return saved


@pytest.mark.parametrize("wide", [1, 2, 4])
def test_a_compressed_index_is_read_as_tensorflow_reads_it(wide: int, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    values = {f"layer_{k}/kernel/Adam": np.full((k % 3 + 1, 2), k, np.float32) for k in range(40)}
    write_bundle(
        prefix, [StoredTensor(name, lambda value=value: value) for name, value in values.items()]
    )
    assert compress(tmp_path / "m.index", wide) > 500
    reader, bundle = tf.train.load_checkpoint(prefix), TensorBundle(prefix)
    assert bundle.shapes == reader.get_variable_to_shape_map()
    for name, value in values.items():
        assert np.array_equal(bundle.value(name), reader.get_tensor(name))
        assert np.array_equal(bundle.value(name), value)


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"\0", b""),
        (b"\x05\x10hello", b"hello"),
        (b"\x08\x00a\x0d\x01", b"a" * 8),
        (b"\x06\x04ab\x0e\x02\x00", b"ababab"),
    ],
)
def test_copies_may_overlap(data: bytes, content: bytes) -> None:
    assert _decompress(data) == content


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x05\x10hell",
        b"\x04\x10hello",
        b"\x08\x00a\x0d\x02",
        b"\x08\x00a\x0d\x00",
        b"\xff\xff\xff\xff\x0f\x00a",
    ],
    ids=[
        "empty",
        "cut off",
        "too long",
        "copied from before the start",
        "copied from itself",
        "huge",
    ],
)
def test_a_damaged_block_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"is damaged|is cut off"):
        _decompress(data)


def with_header(**fields: Any) -> Callable[[Path], None]:
    """Say so in the version of the index."""

    def change(path: Path) -> None:
        entries = dict(_table_entries(path.read_bytes()))
        header = tf_protos.BundleHeaderProto.FromString(entries.pop(b""))
        header.version.MergeFrom(type(header.version)(**fields))
        messages = {
            key: tf_protos.BundleEntryProto.FromString(value) for key, value in entries.items()
        }
        path.write_bytes(_table({b"": header, **messages}))

    return change


def masked(data: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(bytes(data)))


@pytest.mark.parametrize(
    ("suffix", "damage", "sentence"),
    [
        ("index", cut, "cut off, or not one; copy it again"),
        (
            "index",
            flip(30),
            "a block of its index has another checksum than its bytes; copy it again",
        ),
        (
            "index",
            call_compressed(1),
            "is damaged; copy it again",
        ),
        (
            "index",
            call_compressed(7),
            "compressed in a way that TensorFlow does not know; copy it again",
        ),
        (
            "index",
            with_header(producer=7, min_consumer=3),
            "is in version 7 of the format, and this release reads version",
        ),
        (
            "index",
            with_header(producer=7, bad_consumers=[1]),
            "is in version 7 of the format, and this release reads",
        ),
        ("index", lambda path: path.write_bytes(b""), "cut off, or not one; copy it again"),
        (
            "data-00000-of-00001",
            flip(5),
            "the value of 'w' has another checksum than its bytes; copy it again",
        ),
        (
            "data-00000-of-00001",
            flip(-1),
            "the value of 'z' has another checksum than its bytes; copy it again",
        ),
        ("data-00000-of-00001", cut, "lists 20 bytes for 'w', and its files have 9; copy it again"),
        (
            "data-00000-of-00001",
            Path.unlink,
            "File .*data-00000-of-00001' of the checkpoint is missing",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused_in_one_sentence(
    tmp_path: Path, suffix: str, damage: Callable[[Path], None], sentence: str
) -> None:
    prefix = save(tmp_path / "m", {"w": tf.range(5), "z": tf.constant(["text"])})
    damage(Path(f"{prefix}.{suffix}"))
    checkpoint = Checkpoint(str(prefix))
    with pytest.raises(GraphEditError, match=sentence):
        _ = [checkpoint.value(name) for name in checkpoint.shapes]


def test_a_newer_version_that_readers_of_this_one_may_read_is_read(tmp_path: Path) -> None:
    prefix = save(tmp_path / "m", {"w": tf.range(5)})
    with_header(producer=7)(Path(f"{prefix}.index"))
    assert np.array_equal(Checkpoint(str(prefix)).value("w"), range(5))


def test_a_value_of_a_dtype_that_numpy_does_not_have_is_refused_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    some = tf.raw_ops.TensorListReserve(element_shape=[2], num_elements=3, element_dtype=tf.float32)
    checkpoint = Checkpoint(str(save(tmp_path / "m", {"list": some, "w": tf.range(5)})))
    assert checkpoint.dtypes["list"] == "variant"
    with pytest.raises(
        GraphEditError,
        match=r"the value of 'list' is of variant dtype, which numpy has no arrays for; ",
    ):
        checkpoint.value("list")
    assert np.array_equal(checkpoint.value("w"), range(5))


def test_a_missing_index_is_said_without_asking_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = save(tmp_path / "m", {"w": tf.range(5)})
    Path(f"{prefix}.index").unlink()
    asked: list[str] = []
    monkeypatch.setattr("tfgraphwidget.sources.tf_protos.OldCheckpoint", asked.append)
    with pytest.raises(
        GraphEditError, match=r"m\.index' of the checkpoint is missing, .*; put it back\."
    ):
        _ = Checkpoint(str(prefix)).shapes
    assert not asked


@pytest.mark.parametrize("length", [0, 1, 9, 4095, 4096, 4097, 100_003])
@pytest.mark.parametrize(("short", "block"), [(1 << 14, 1 << 24), (0, 1 << 24), (0, 1000)])
def test_the_checksum_is_that_of_a_loop_over_the_bytes(
    length: int, short: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfgraphwidget.sources.files.crc32c._SHORT", short)
    monkeypatch.setattr("tfgraphwidget.sources.files.crc32c._BLOCK", block)
    data = np.random.default_rng(1).integers(0, 256, length, np.uint8).tobytes()
    table = [int(register) for register in _registers()]
    register = 0xFFFFFFFF
    for byte in data:
        register = table[(register ^ byte) & 0xFF] ^ register >> 8
    assert crc32c(data) == register ^ 0xFFFFFFFF


def _registers() -> list[int]:
    registers = list(range(256))
    for _ in range(8):
        registers = [value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1 for value in registers]
    return registers


def test_the_newest_checkpoint_of_a_folder_is_that_which_tensorflow_names(tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        saver = v1.train.Saver()
        for step in (1, 2):
            saver.save(session, str(tmp_path / 'a "model"'), global_step=step)
    assert Checkpoint.of(tmp_path).prefix == tf.train.latest_checkpoint(str(tmp_path))
