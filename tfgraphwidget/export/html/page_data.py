"""What a page without a kernel knows of a graph: its drawing in pieces, and of each op what the inspector shows.

A JSON document of the page, and of each of its rooms (the graph, and functions that one can go into) a JSON document
and a buffer of numbers, together gzipped. Its reader is `labextension/src/offline/page-data.ts`.

Per op: `op_type`, `op_device` (u4, numbers of texts), `op_home` (i4: the node of the outline around it), `op_variable`
(u1); `input_start`, `input_op`, `input_port`; `control_start`, `control_op`; `output_start`, `output_dtype`,
`output_shape`; `attribute_start`, `attribute_name`, `attribute_value` (u4, numbers of values); `op_is` (u1, a bit for
each of the page's `traits`). Per node of the outline: `node_parent` (i4),
`node_members`, `node_ops`, `node_variables`, `node_label` (u4), `node_part` (u1), `node_least` (f4: how wide it must be
for its name). And all of `export.html.layout_tables`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.export.html import layout_tables
from tfgraphwidget.export.html.function_pages import Opened, opened
from tfgraphwidget.export.html.layout_tables import Arrays, Texts, pieces
from tfgraphwidget.export.html.page_input import Viewed
from tfgraphwidget.graph import TRAITS, GraphIndex, shape_text, value_holds
from tfgraphwidget.hierarchy import Outline, Sums, facts, outline_of
from tfgraphwidget.layout import Frame
from tfgraphwidget.progress import counted, tell
from tfgraphwidget.sources import attribute_text, documentation
from tfgraphwidget.tf_types import NodeDef
from tfgraphwidget.visible import Shown

# Values of attributes by number, each with its text and with what a query compares it by.

_MOST = 4_000  # letters that a value is compared by: a query has no more
_SMALL = 200  # bytes


class Values:
    """(text, what it is compared by, ...) of attributes' values by number, each once."""

    def __init__(self) -> None:
        self._number: dict[tuple[str, ...], int] = {}
        self._known: dict[bytes, int] = {}

    def code(self, value: Any) -> int:
        """The number of an AttrValue."""
        # The same few values stand at nearly all ops; large ones are weights, which are shown by their shape.
        if value.ByteSize() > _SMALL:
            return self._read(value)
        key = value.SerializeToString()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._read(value)
        return found

    def _read(self, value: Any) -> int:
        return self._number.setdefault((attribute_text(value), *told_by(value)), len(self._number))

    @property
    def all(self) -> list[tuple[str, ...]]:
        """All of them, in the order of their numbers."""
        return list(self._number)


def told_by(value: Any) -> list[str]:
    """The texts of which a query must say one to mean an AttrValue: the whole, and each thing in a list.

    Nothing of what is longer than any query, or damaged.
    """
    told = list[str]()
    try:
        value_holds(told.append)(value)
    except Exception:  # a damaged value fails anywhere in TensorFlow or numpy, and is only looked for
        return []
    return told if sum(map(len, told)) <= _MOST else []


_MOST_COLOURED, _MOST_INFERRED, _MOST_WITH_ATTRIBUTES = 20_000, 8_000, 200_000
_TOLD = "_output_shapes"
_LEVEL = 6  # of compression: more takes four times as long and saves a fiftieth
_LETTER_TYPES = {"uint8": "u1", "uint32": "u4", "int32": "i4", "float32": "f4"}


def packed(viewed: Viewed) -> bytes:
    """The gzipped data of a page: the length of the page's JSON in bytes (u4) and that JSON, then its rooms.

    Each room is a JSON document and a buffer of numbers; the page's `rooms` has the lengths of both. All lengths are
    multiples of 4.
    """
    found, way = opened(viewed)
    rooms = [_room(one) for one in counted(found, "Packing the page", every=1)]
    kinds = {kind: one.viewed.index for one in found for kind in one.viewed.index.kinds[0]}
    titles = titles_of(viewed) if len(way) == len(viewed.path) else (" / ".join(titles_of(viewed)),)
    head = _text(
        {
            "rooms": [[len(text), len(buffer)] for text, buffer in rooms],
            "way": [[title, room] for title, room in zip(titles, way, strict=True)],
            "docs": _documentation(kinds),
            "defined": {kind: list(_defined(index, kind)) for kind, index in kinds.items() if _is_known(index, kind)},
            "traits": list(TRAITS),
            "colour": viewed.colour,
        }
    )
    parts = [len(head).to_bytes(4, "little"), head, *(part for room in rooms for part in room)]
    tell("Compressing the page")
    return gzip.compress(b"".join(parts), _LEVEL, mtime=0)


def titles_of(viewed: Viewed) -> tuple[str, ...]:
    """The names of the rooms to where one stands; of a file its name, since who reads the page has not its folder."""
    first, *inner = viewed.path
    return PurePath(first).name if PurePath(first).is_absolute() else first, *inner


def _room(held: Opened) -> tuple[bytes, bytes]:
    """The JSON and the numbers of one room."""
    viewed = held.viewed
    index, shown = viewed.index, viewed.shown
    outline, sums = outline_of(index, fold=shown.fold)
    texts, told = Texts(), list[str]()
    few = len(index) <= _MOST_COLOURED
    ways = {by: way for by, way in viewed.colours.items() if few or by == viewed.colour}
    drawn = [layout_tables.drawn(index, shown, viewed.layout, viewed.memo)]
    drawn += layout_tables.levels(index, shown, viewed.layout)
    values = Values()
    arrays = pieces(index, outline, drawn, texts, [known for known, _ in ways.values()])
    arrays |= _nodes(outline, sums, drawn, texts) | _ops(index, outline, texts, values, told)
    fields, buffer = _buffer(arrays)
    signature, ends = held.signature
    head = {
        **{name: getattr(viewed, name) for name in ("selected", "inputs", "outputs")},
        "fields": fields,
        "names": list(index.names),
        "nodes": list(outline.names),
        "texts": texts.all,
        "values": values.all,
        **_seen(shown, drawn[0].frame),
        "notices": [*viewed.notices, *told],
        "legends": [asdict(legend) for _, legend in ways.values()],
        "doors": held.ways,
        "signature": signature,
        "ends": ends,
    }
    return _text(head), buffer


def _seen(shown: Shown, frame: Frame) -> dict[str, Any]:
    return {
        "opened": sorted(shown.opened),
        "hidden": len(shown.hidden),
        "right": frame.right,
        "frame": [Frame.header, Frame.padding, Frame.margin],
    }


def _text(head: dict[str, Any]) -> bytes:
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return text + b" " * (-len(text) % 4)


def _nodes(outline: Outline, sums: Sums, drawn: list[layout_tables.Drawn], texts: Texts) -> Arrays:
    least = np.zeros(len(outline))
    for one in drawn:
        numbers = [outline.ids[one.visible.names[item]] if item else 0 for item in one.items]
        least[numbers] = one.frame.least[one.items]
    return {
        "node_parent": outline.parent.astype(np.int32),
        "node_members": (outline.members * ~outline.blocks).astype(np.uint32),
        "node_part": outline.part.astype(np.uint8),
        "node_ops": sums.ops.astype(np.uint32),
        "node_variables": sums.variables.astype(np.uint32),
        "node_label": texts.codes(outline.labels),
        "node_least": least.astype(np.float32),
    }


def _ops(index: GraphIndex, outline: Outline, texts: Texts, values: Values, told: list[str]) -> Arrays:
    inputs, controls = index.inputs, index.controls
    return {
        "op_type": texts.codes(index.types),
        "op_device": texts.codes(str(node.device) for node in index.nodes),
        "op_home": outline.home.astype(np.int32),
        "op_variable": facts(index).handle.astype(np.uint8),
        "op_is": np.bitwise_or.reduce([of(index).astype(np.uint8) << k for k, of in enumerate(TRAITS.values())]),
        "input_start": inputs.start.astype(np.uint32),
        "input_op": inputs.values.astype(np.int32),
        "input_port": index.ports.astype(np.uint32),
        "control_start": controls.start.astype(np.uint32),
        "control_op": controls.values.astype(np.int32),
        **_outputs(index, texts, told),
        **_attributes(index, texts, values, told),
    }


def _outputs(index: GraphIndex, texts: Texts, told: list[str]) -> Arrays:
    """The dtype and the shape of each output."""
    per_op, dtypes, shapes, missing = [0], list[int](), list[int](), 0
    shape, few = index.typing.shape, len(index) <= _MOST_INFERRED
    for op, name in enumerate(counted(index.names, "Packing the outputs")):
        node, held = index.nodes[op], index.dtypes(op)
        per_op.append(per_op[-1] + len(held))
        dtypes += [texts.code(dtype or "unknown") for dtype in held]
        # Where a large file does not say them, TensorFlow would have to read all of it to infer the first.
        missing += not few and bool(held) and _TOLD not in node.attr
        known = [few or _is_told(node, port) for port in range(len(held))]
        shapes += [texts.code(shape_text(shape(name, port) if told else None)) for port, told in enumerate(known)]
    if missing:
        told.append(f"This page does not have the shapes of {missing:,} ops: the file does not say them.")
    return {
        "output_start": np.array(per_op, dtype=np.uint32),
        "output_dtype": np.array(dtypes, dtype=np.uint32),
        "output_shape": np.array(shapes, dtype=np.uint32),
    }


def _is_told(node: NodeDef, port: int) -> bool:
    """Whether a NodeDef says the shape of an output."""
    shapes = node.attr[_TOLD].list.shape if _TOLD in node.attr else ()
    return port < len(shapes) and not shapes[port].unknown_rank


def _attributes(index: GraphIndex, texts: Texts, values: Values, told: list[str]) -> Arrays:
    if len(index) > _MOST_WITH_ATTRIBUTES:
        told.append(f"This page has no attributes: the graph has {len(index):,} ops.")
    nodes = index.nodes if len(index) <= _MOST_WITH_ATTRIBUTES else []
    start, names, held = np.zeros(len(index) + 1, dtype=np.uint32), list[int](), list[int]()
    for op, node in enumerate(counted(nodes, "Packing the attributes")):
        for name in sorted(node.attr):
            names.append(texts.code(name))
            held.append(values.code(node.attr[name]))
        start[op + 1] = len(names)
    return {
        "attribute_start": start,
        "attribute_name": np.array(names, dtype=np.uint32),
        "attribute_value": np.array(held, dtype=np.uint32),
    }


def _is_known(index: GraphIndex, kind: str) -> bool:
    return index.typing.definition(kind) is not None


def _defined(index: GraphIndex, kind: str) -> Iterator[tuple[str, list[str] | None]]:
    """The attributes of an op type, each with what its default says to a query; None where it has none."""
    for each in index.typing.definition(kind).attr:
        yield each.name, told_by(each.default_value) if each.HasField("default_value") else None


def _documentation(kinds: dict[str, GraphIndex]) -> dict[str, dict[str, Any]]:
    """What TensorFlow says of each type of op that is there, by a graph that has it."""
    found = {kind: documentation(kind, index.typing.definition(kind)) for kind, index in kinds.items()}
    return {kind: asdict(told) for kind, told in found.items() if told.summary or told.arguments}


def _buffer(arrays: Arrays) -> tuple[list[tuple[str, str, int, int]], bytes]:
    """(name, dtype, numbers, offset) of each array and one little-endian buffer of all; offsets are multiples of 4."""
    fields, parts = [], []
    offset = 0
    for name, array in sorted(arrays.items()):
        data, dtype = _little(array)
        fields.append((name, dtype, int(array.size), offset))
        parts.append(data)
        offset += len(data)
    return fields, b"".join(parts)


def _little(array: npt.NDArray[Any]) -> tuple[bytes, str]:
    dtype = _LETTER_TYPES[str(array.dtype)]
    data = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()
    return data + bytes(-len(data) % 4), dtype


class Unpacked(NamedTuple):
    """One room of a page: its document, and its numbers by name."""

    head: dict[str, Any]
    numbers: dict[str, npt.NDArray[Any]]


def unpacked(data: bytes) -> tuple[dict[str, Any], list[Unpacked]]:
    """The document and the rooms of what `packed` gave; for tests and tools."""
    whole = gzip.decompress(data)
    at = 4 + int.from_bytes(whole[:4], "little")
    page = json.loads(whole[4:at])
    rooms = []
    for text, size in page["rooms"]:
        head = json.loads(whole[at : at + text])
        at += text
        arrays = {
            name: np.frombuffer(whole, np.dtype(dtype).newbyteorder("<"), count, at + offset)
            for name, dtype, count, offset in head["fields"]
        }
        rooms.append(Unpacked(head, arrays))
        at += size
    return page, rooms
