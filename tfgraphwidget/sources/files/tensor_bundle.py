"""Checkpoints as TensorFlow writes them since 1.0, "tensor bundles", read and written without
TensorFlow.

m.ckpt.index is a table of sorted keys in blocks, each with a checksum, and compressed where
Google's own builds of TensorFlow wrote it: "" has the BundleHeaderProto, and each name of a tensor
its BundleEntryProto, which says where in the shards m.ckpt.data-00000-of-00002 the bytes are. The
slices of a partitioned variable have entries under keys that no name can be. Names as in
tensorflow/core/util/tensor_bundle.
"""

from __future__ import annotations

import contextlib
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from google.protobuf import text_encoding

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.readable import open_file, read_file
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.crc32c import masked_crc32c
from tfgraphwidget.tf_types import BundleEntryProto, CheckpointReader, Message, TensorSliceProto

_FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER = 5  # bytes after a block: how it is compressed, and its checksum
_SNAPPY = 1  # says that a block is compressed
# bytes that one byte of a compressed block gives, at most: a copy has three or five
_MOST_EXPANDED = 64
_LITTLE = 0  # BundleHeaderProto.LITTLE
_VERSION = 1  # of the format, as TensorFlow counts it
# the file in which a Saver lists what it has written, a CheckpointState as text
_STATE = "checkpoint"
_NEWEST = re.compile(r'^\s*model_checkpoint_path:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_MOST_BITS = 64  # of a number that is written in groups of seven
_BLOCK = 1 << 14  # bytes after which a block of the index ends
_LARGE = 1 << 8  # bytes of a value that TensorFlow reads, if it is loaded anyway
_PLAIN = frozenset({"float16", "bfloat16", "float32", "float64", "int32", "int64"})  # so read
_UNCOUNTABLE = 1 << 62  # elements, of which TensorFlow counts with 63 bits
_PIECE = 1 << 24  # bytes that are written at a time
SHARD = ".data-00000-of-00001"


class TensorBundle:
    """The tensors of a checkpoint.

    Args:
        prefix: The path of its files without their suffixes, "m.ckpt".

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is damaged; the message says what is.
        GraphEditError: It is of a kind that only TensorFlow reads.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        entries = dict(_table_entries(read_file(f"{prefix}.index")))
        if b"" not in entries:
            raise ValueError("its index has no header")
        header = _parse_message("BundleHeaderProto", entries.pop(b""))
        if header.endianness != _LITTLE:
            raise GraphEditError(
                f"Checkpoint {prefix!r} was written on a machine with big-endian numbers; save it "
                "again on this one."
            )
        version = header.version
        if version.min_consumer > _VERSION or _VERSION in version.bad_consumers:
            raise GraphEditError(
                f"Checkpoint {prefix!r} is in version {version.producer} of the format, and this "
                f"release reads version {_VERSION}; save it again with an older TensorFlow, or run "
                "pip install --upgrade tfgraphwidget."
            )
        self._shards = header.num_shards
        self._entries = {
            key: _parse_message("BundleEntryProto", value) for key, value in entries.items()
        }
        slices = {
            _slice_key(key, part) for key, entry in self._entries.items() for part in entry.slices
        }
        self._names = {
            key.decode(errors="replace"): key for key in self._entries if key not in slices
        }

    @cached_property
    def shapes(self) -> Mapping[str, list[int]]:
        """Name of each tensor -> its shape."""
        return {
            name: [dim.size for dim in self._entries[key].shape.dim]
            for name, key in self._names.items()
        }

    @cached_property
    def dtypes(self) -> Mapping[str, str]:
        """Name of each tensor -> its dtype, "float32"."""
        dtype_names = tf_protos.dtype_names()
        return {
            name: dtype_names.get(self._entries[key].dtype, "") for name, key in self._names.items()
        }

    def value(self, name: str) -> np.ndarray | bytes:
        """The tensor of a name, a partitioned one whole; of a scalar its value. Raises what the
        class does.
        """
        key = self._names[name]
        entry = self._entries[key]
        if self._can_tensorflow_read(entry):
            with contextlib.suppress(Exception):  # ours says in a sentence what is wrong
                value: np.ndarray = self._tensorflow.get_tensor(name)
                return value
        if not entry.slices:
            return self._read(name, entry, self.shapes[name])[()]
        whole = np.zeros(self.shapes[name], tf_protos.numpy_dtype(self.dtypes[name]))
        for part in entry.slices:
            place = tuple(
                slice(extent.start, extent.start + extent.length)
                if extent.HasField("length")
                else slice(None)
                for extent in part.extent
            )
            slice_entry = self._entries[_slice_key(key, part)]
            whole[place] = self._read(
                name, slice_entry, [dim.size for dim in slice_entry.shape.dim]
            )
        return whole

    @cached_property
    def _has_possible_shapes(self) -> bool:
        """Whether TensorFlow opens a checkpoint of these shapes: a negative size, or more elements
        than it can count, would end the process.
        """
        shapes = ([dim.size for dim in entry.shape.dim] for entry in self._entries.values())
        return all(
            min(sizes, default=0) >= 0 and math.prod(max(size, 1) for size in sizes) < _UNCOUNTABLE
            for sizes in shapes
        )

    def _can_tensorflow_read(self, entry: BundleEntryProto) -> bool:
        """Whether TensorFlow is there to read a value, and its dtype, shape and bytes fit each
        other and the file. TensorFlow takes them as they are, and ends the process where it cannot.
        """
        name = tf_protos.dtype_names().get(entry.dtype, "")
        if entry.size < _LARGE or name not in _PLAIN or not tf_protos.is_tensorflow_loaded():
            return False
        count = math.prod(dim.size for dim in entry.shape.dim)
        if entry.slices or count * tf_protos.numpy_dtype(name).itemsize != entry.size:
            return False
        shard = self._shard(entry)
        end = entry.offset + entry.size
        return (
            self._has_possible_shapes
            and entry.offset >= 0
            and shard.is_file()
            and end <= shard.stat().st_size
        )

    def _shard(self, entry: BundleEntryProto) -> Path:
        """The file that has a value."""
        return Path(f"{self._prefix}.data-{entry.shard_id:05}-of-{self._shards:05}")

    @cached_property
    def _tensorflow(self) -> CheckpointReader:
        """TensorFlow's own reader, whose checksums take a twentieth of the time of ours."""
        return tf_protos.checkpoint_reader(self._prefix)

    def _read(self, name: str, entry: BundleEntryProto, shape: list[int]) -> np.ndarray:
        """The tensor of one entry."""
        dtype = tf_protos.numpy_dtype(tf_protos.dtype_names().get(entry.dtype, ""))
        if dtype.fields:  # of quantized integers TensorFlow gives the integers
            dtype = dtype[0]
        path = self._shard(entry)
        data = np.empty(entry.size, np.uint8)
        if path.is_dir():  # as a file that is missing, and not as what was given in its place
            raise IsADirectoryError(path)
        with open_file(path) as file:
            file.seek(entry.offset)
            size = file.readinto(data.data)
        if size < entry.size:
            raise ValueError(f"{path.name!r} ends within the value of {name[:200]!r}")
        if dtype.hasobject:
            return np.array(
                _strings(data.tobytes(), int(np.prod(shape)), entry.crc32c, name), object
            ).reshape(shape)
        if masked_crc32c(data) != entry.crc32c:
            raise ValueError(f"the value of {name[:200]!r} has another checksum than its bytes")
        return data.view(dtype).reshape(shape)


@dataclass(frozen=True)
class StoredTensor:
    """A tensor to be written.

    Attributes:
        name: Its name in the checkpoint; the slices of a partitioned variable share one.
        read: Returns the value.
        full_shape: Of a slice, the shape of the whole.
        offset: Of a slice, where it begins in each dimension.
    """

    name: str
    read: Callable[[], object]
    full_shape: tuple[int, ...] | None = None
    offset: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, variable: VariableDef, read: Callable[[], object]) -> StoredTensor:
        """The value of a variable, or of a slice of one."""
        part = variable.slice_info
        if part is None:
            return cls(name, read)
        return cls(name, read, tuple(part.full_shape), tuple(part.var_offset))


def write_bundle(prefix: str, tensors: Iterable[StoredTensor]) -> None:
    """Write a checkpoint of one shard; a value is read when it is written, so that there is one in
    memory at a time. The prefix is the path of its files without their suffixes, "m.ckpt". Raises
    as `write_shard`.
    """
    with Path(f"{prefix}{SHARD}").open("wb") as file:
        index = write_shard(file, tensors)
    Path(f"{prefix}.index").write_bytes(index)


def write_shard(file: IO[bytes], tensors: Iterable[StoredTensor]) -> bytes:
    """Write the values of a checkpoint of one shard to an open file, which need not be one that can
    be read or sought in; the content of the index beside it. Raises OSError where it cannot be
    written, and TypeError for a dtype that TensorFlow does not have.
    """
    entries: dict[bytes, BundleEntryProto] = {}
    offset = 0
    for tensor in tensors:
        array = as_array(tensor.read())
        is_text = array.dtype.hasobject
        data = (
            _packed_strings(array)
            if is_text
            else np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        )
        entry = tf_protos.BundleEntryProto(
            dtype=_dtype_number(array), offset=offset, size=len(data)
        )
        entry.crc32c = _strings_checksum(array, bytes(data)) if is_text else masked_crc32c(data)
        _set_shape(entry, array.shape)
        for start in range(0, len(data), _PIECE):
            file.write(data[start : start + _PIECE])
        offset += len(data)
        key = tensor.name.encode()
        if tensor.full_shape is None:
            entries[key] = entry
            continue
        whole = entries.setdefault(key, tf_protos.BundleEntryProto(dtype=entry.dtype))
        _set_shape(whole, tensor.full_shape)
        part = whole.slices.add()
        for begin, length in zip(tensor.offset, array.shape, strict=True):
            part.extent.add(start=begin, length=length)
        entries[_slice_key(key, part)] = entry
    header = tf_protos.BundleHeaderProto(num_shards=1)
    header.version.producer = _VERSION
    return _table({b"": header, **entries})


def as_array(value: object) -> np.ndarray:
    """A value as an array; as one of texts, numpy would drop the zeros that a text ends with."""
    array = np.array(value, dtype=object) if isinstance(value, bytes | str) else np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array


def _dtype_number(array: np.ndarray) -> Any:
    dtype = array.dtype
    if dtype.hasobject:
        name = "string"
    else:
        name = dtype.names[0] if dtype.names else dtype.name
    number = next((number for number, each in tf_protos.dtype_names().items() if each == name), 0)
    if not number:
        raise TypeError(f"TensorFlow has no dtype {name!r}.")
    return number


def _set_shape(entry: BundleEntryProto, shape: Iterable[int]) -> None:
    entry.shape.SetInParent()
    del entry.shape.dim[:]
    for size in shape:
        entry.shape.dim.add(size=size)


def _elements(array: np.ndarray) -> list[bytes]:
    return [
        each if isinstance(each, bytes) else str(each).encode() for each in array.ravel().tolist()
    ]


def _packed_lengths(elements: Iterable[bytes]) -> bytes:
    return b"".join(
        struct.pack("<I" if len(each) < 1 << 32 else "<Q", len(each)) for each in elements
    )


def _packed_strings(array: np.ndarray) -> bytes:
    """The lengths of the elements, the checksum of the lengths, and the elements."""
    elements = _elements(array)
    lengths = b"".join(packed_number(len(each)) for each in elements)
    checksum = struct.pack("<I", masked_crc32c(_packed_lengths(elements)))
    return lengths + checksum + b"".join(elements)


def _strings_checksum(array: np.ndarray, data: bytes) -> int:
    elements = _elements(array)
    extra = sum(len(packed_number(len(each))) for each in elements)
    return masked_crc32c(_packed_lengths(elements) + data[extra:])


def _table(entries: Mapping[bytes, Message]) -> bytes:
    """A table of messages by keys, in blocks, none compressed."""
    table, handles, block = bytearray(), list[tuple[bytes, bytes]](), list[tuple[bytes, bytes]]()

    def end_block(rows: list[tuple[bytes, bytes]]) -> bytes:
        handle = packed_number(len(table))
        content = _block(rows)
        table.extend(content + b"\0" + struct.pack("<I", masked_crc32c(content + b"\0")))
        return handle + packed_number(len(content))

    size = 0
    for key in sorted(entries):
        block.append((key, entries[key].SerializeToString(deterministic=True)))
        size += len(key) + len(block[-1][1])
        if size > _BLOCK:
            handles.append((key, end_block(block)))
            block, size = [], 0
    if block:
        handles.append((block[-1][0], end_block(block)))
    footer = end_block([]) + end_block(handles)
    return bytes(table) + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def latest_checkpoint(folder: Path) -> str | None:
    """The prefix of the newest checkpoint that the list in a directory, its file "checkpoint",
    names, as `tf.train.latest_checkpoint`; None without a list, or when its checkpoint is not
    there. Raises OSError where the list cannot be read.
    """
    if not (folder / _STATE).is_file():
        return None
    match = _NEWEST.search(read_file(folder / _STATE).decode(errors="replace"))
    if match is None:
        return None
    prefix = folder / text_encoding.CUnescape(match[1]).decode(errors="replace")
    return str(prefix) if prefix.is_file() or Path(f"{prefix}.index").is_file() else None


def _strings(data: bytes, count: int, checksum: int, name: str) -> list[bytes]:
    """The elements of a tensor of strings: first lengths, with a checksum, then bytes."""
    lengths, at = [], 0
    for _ in range(count):
        length, at = _varint(data, at)
        lengths.append(length)
    packed_lengths = b"".join(
        struct.pack("<I" if length < 1 << 32 else "<Q", length) for length in lengths
    )
    if len(data) - at - 4 != sum(lengths) or masked_crc32c(packed_lengths + data[at:]) != checksum:
        raise ValueError(f"the value of {name[:200]!r} has another checksum than its bytes")
    stops = np.cumsum([at + 4, *lengths]).tolist()
    return [data[start:end] for start, end in pairwise(stops)]


def _parse_message(message: str, data: bytes) -> Any:
    try:
        return getattr(tf_protos, message).FromString(data)
    except Exception as error:  # protobuf's own exception has no public name
        raise ValueError("an entry of its index is damaged") from error


def _table_entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a table, in order."""
    if len(table) < _FOOTER or struct.unpack("<Q", table[-8:])[0] != _MAGIC:
        raise ValueError("its index is cut off, or not one")
    footer = table[-_FOOTER:]
    at = _handle(footer, 0)[2]  # of the block about the table, which is empty
    for _, handle in _block_entries(table, *_handle(footer, at)[:2]):
        yield from _block_entries(table, *_handle(handle, 0)[:2])


def _block_entries(table: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    end = offset + size
    block, trailer = table[offset:end], table[end : end + _TRAILER]
    if len(trailer) < _TRAILER or size < 4:
        raise ValueError("its index is damaged")
    if masked_crc32c(block + trailer[:1]) != struct.unpack("<I", trailer[1:])[0]:
        raise ValueError("a block of its index has another checksum than its bytes")
    if trailer[0] == _SNAPPY:
        block = _decompress(block)
    elif trailer[0]:
        raise ValueError(
            "a block of its index is compressed in a way that TensorFlow does not know"
        )
    restarts = struct.unpack("<I", block[-4:])[0]
    entries, at, key = block[: max(0, len(block) - 4 - 4 * restarts)], 0, b""
    while at < len(entries):
        shared, at = _varint(entries, at)
        own, at = _varint(entries, at)
        length, at = _varint(entries, at)
        key = key[:shared] + entries[at : at + own]
        yield key, entries[at + own : at + own + length]
        at += own + length


def _decompress(data: bytes) -> bytes:
    """The content of a block that Snappy has compressed.

    It begins with its length, as a number in groups of seven bits. Then come elements, whose first
    byte has the kind in its two lowest bits: a literal, or a copy of what stands some bytes before,
    which it may overlap (github.com/google/snappy/blob/main/format_description.txt).
    """
    length, at = _varint(data, 0)
    if length > _MOST_EXPANDED * len(data):
        raise ValueError("a compressed block of its index is damaged")
    content = bytearray()
    while at < len(data):
        kind, number = data[at] & 3, data[at] >> 2
        at += 1
        if kind == 0:  # the length less one, or after 59 the number of bytes that have it
            extra = max(0, number - 59)
            size = (int.from_bytes(data[at : at + extra], "little") if extra else number) + 1
            at += extra + size
            content += data[at - size : at]
            continue
        extra = (1, 2, 4)[kind - 1]
        back = int.from_bytes(data[at : at + extra], "little")
        size = number + 1
        if kind == 1:  # three bits of the length less four, and three of the distance
            back, size = back | number >> 3 << 8, (number & 7) + 4
        at += extra
        if not 0 < back <= len(content):
            raise ValueError("a compressed block of its index is damaged")
        copied = content[len(content) - back :][:size]
        content += (copied * -(-size // back))[:size]
    if len(content) != length or at != len(data):
        raise ValueError("a compressed block of its index is damaged")
    return bytes(content)


def _block(rows: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Keys and values, each key written whole, so that a reader can begin at each."""
    block, restarts = bytearray(), []
    for key, value in rows:
        restarts.append(len(block))
        block += b"\0" + packed_number(len(key)) + packed_number(len(value)) + key + value
    restarts = restarts or [0]
    return bytes(block) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _handle(data: bytes, at: int) -> tuple[int, int, int]:
    """Offset and size of a block, and where its handle ends."""
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return offset, size, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of groups of seven bits, the lowest first, and where it ends."""
    number = 0
    for bits in range(0, _MOST_BITS, 7):
        if at >= len(data):
            break
        number |= (data[at] & 0x7F) << bits
        at += 1
        if data[at - 1] < 0x80:
            return number, at
    raise ValueError("a number in it is cut off")


def packed_number(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _slice_key(name: bytes, part: TensorSliceProto) -> bytes:
    """The key of a slice of a partitioned variable, as TensorFlow's ordered_code writes it."""
    escaped = re.sub(
        rb"[\0\xff]", lambda match: b"\0\xff" if match[0] == b"\0" else b"\xff\0", name
    )
    key = _sortable_bytes(0) + escaped + b"\0\1" + _sortable_bytes(len(part.extent))
    for extent in part.extent:
        length = extent.length if extent.HasField("length") else -1
        key += _sortable_signed_bytes(extent.start) + _sortable_signed_bytes(length)
    return key


def _sortable_bytes(number: int) -> bytes:
    """A number as bytes that sort as numbers do: how many there are, then these."""
    size = (number.bit_length() + 7) // 8
    return bytes([size]) + number.to_bytes(size, "big")


def _sortable_signed_bytes(number: int) -> bytes:
    """The same for numbers below zero too: as many leading ones as there are bytes."""
    size = (number if number >= 0 else ~number).bit_length() // 7 + 1
    header = ((1 << size) - 1) << (size * 7)  # ones at the top of `size` bytes
    return (number & ((1 << (8 * size)) - 1) ^ header).to_bytes(size, "big")
