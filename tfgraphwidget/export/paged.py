"""What a page without a kernel knows of a graph: its drawing in pieces, and of each op what the inspector shows.

One JSON document and one buffer of numbers, together gzipped. Its reader is `labextension/src/page/data.ts`.

Per op: `op_type`, `op_device` (u4, numbers of texts), `op_home` (i4: the node of the outline around it), `op_variable`
(u1); `input_start`, `input_op`, `input_port`; `control_start`, `control_op`; `output_start`, `output_dtype`,
`output_shape`; `attribute_start`, `attribute_name`, `attribute_text`. Per node of the outline: `node_parent` (i4),
`node_members`, `node_ops`, `node_variables`, `node_label` (u4), `node_part` (u1), `node_least` (f4: how wide it must be
for its name). And all of `view.pieces`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import shape_text
from tfgraphwidget.sources import docs
from tfgraphwidget.sources.describe import attribute_text
from tfgraphwidget.view import insides
from tfgraphwidget.view.absolute import Frame
from tfgraphwidget.view.facts import facts
from tfgraphwidget.view.groups import outline_of
from tfgraphwidget.view.outline import Outline, Sums
from tfgraphwidget.view.pieces import Arrays, Texts, pieces
from tfgraphwidget.view.shown import Shown
from tfgraphwidget.view.tints import Known, Legend

_MOST_COLOURED, _MOST_INFERRED, _MOST_WITH_ATTRIBUTES = 20_000, 8_000, 200_000
_LEVEL = 6  # of compression: more takes four times as long and saves a fiftieth
_LETTER_TYPES = {"uint8": "u1", "uint32": "u4", "int32": "i4", "float32": "f4"}


@dataclass(frozen=True)
class Viewed:
    """What of an editor a page shows.

    `path` are the names of the rooms to where one stands, `shown` what is to be seen there; `memo` and `layout` are
    those of its layout. `selected` are op numbers, `inputs` and `outputs` the boundary. `colours` are the ways to
    colour, each with what it says of ops and its legend; `colour` is the present one, or "".
    """

    index: GraphIndex
    shown: Shown
    path: tuple[str, ...]
    memo: dict[Any, Any] = field(default_factory=dict)
    layout: Any = None
    selected: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    colours: Mapping[str, tuple[Known, Legend]] = field(default_factory=dict)
    colour: str = ""


def packed(viewed: Viewed) -> bytes:
    """The gzipped data of a page: the length of the JSON in bytes (u4), the JSON, and the numbers."""
    index, shown = viewed.index, viewed.shown
    outline, sums = outline_of(index, fold=shown.fold)
    texts, told = Texts(), list[str]()
    few = len(index) <= _MOST_COLOURED
    ways = {by: way for by, way in viewed.colours.items() if few or by == viewed.colour}
    drawn = [insides.drawn(index, shown, viewed.layout, viewed.memo)]
    drawn += insides.levels(index, shown, viewed.layout)
    arrays = pieces(index, outline, drawn, texts, [known for known, _ in ways.values()])
    arrays |= _nodes(outline, sums, drawn, texts)
    arrays |= _ops(index, outline, texts, told)
    fields, buffer = _buffer(arrays)
    head = {
        **{name: getattr(viewed, name) for name in ("path", "selected", "inputs", "outputs")},
        "fields": fields,
        "names": list(index.names),
        "nodes": list(outline.names),
        "texts": texts.all,
        "docs": _documentation(index),
        "opened": sorted(shown.opened),
        "hidden": len(shown.hidden),
        "right": drawn[0].frame.right,
        "frame": [Frame.header, Frame.padding, Frame.margin],
        "notices": [*viewed.notices, *told],
        "legends": [asdict(legend) for _, legend in ways.values()],
        "colour": viewed.colour if viewed.colour in ways else "",
    }
    return _squeezed(head, buffer)


def _squeezed(head: dict[str, Any], buffer: bytes) -> bytes:
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 4)
    return gzip.compress(len(text).to_bytes(4, "little") + text + buffer, _LEVEL, mtime=0)


def _nodes(outline: Outline, sums: Sums, drawn: list[insides.Drawn], texts: Texts) -> Arrays:
    least = np.zeros(len(outline))
    for one in drawn:
        numbers = [outline.ids[one.visible.names[item]] if item else 0 for item in one.items]
        least[numbers] = one.frame.least[one.items]
    return {
        "node_parent": outline.parent.astype(np.int32),
        "node_members": outline.members.astype(np.uint32),
        "node_part": outline.part.astype(np.uint8),
        "node_ops": sums.ops.astype(np.uint32),
        "node_variables": sums.variables.astype(np.uint32),
        "node_label": texts.codes(outline.labels),
        "node_least": least.astype(np.float32),
    }


def _ops(index: GraphIndex, outline: Outline, texts: Texts, told: list[str]) -> Arrays:
    inputs, controls = index.inputs, index.controls
    return {
        "op_type": texts.codes(index.types),
        "op_device": texts.codes(str(node.device) for node in index.nodes),
        "op_home": outline.home.astype(np.int32),
        "op_variable": facts(index).handle.astype(np.uint8),
        "input_start": inputs.start.astype(np.uint32),
        "input_op": inputs.values.astype(np.int32),
        "input_port": index.ports.astype(np.uint32),
        "control_start": controls.start.astype(np.uint32),
        "control_op": controls.values.astype(np.int32),
        **_outputs(index, texts, told),
        **_attributes(index, texts, told),
    }


def _outputs(index: GraphIndex, texts: Texts, told: list[str]) -> Arrays:
    """The dtype and the shape of each output."""
    per_op, dtypes, shapes, missing = [0], list[int](), list[int](), 0
    shape = index.typing.shape
    for op, (name, node) in enumerate(zip(index.names, index.nodes, strict=True)):
        held = index.dtypes(op)
        per_op.append(per_op[-1] + len(held))
        dtypes += [texts.code(dtype or "unknown") for dtype in held]
        # Where a large file does not say them, TensorFlow would have to read all of it to infer the first.
        known = len(index) <= _MOST_INFERRED or "_output_shapes" in node.attr
        missing += not known and bool(held)
        shapes += [texts.code(shape_text(shape(name, port) if known else None)) for port in range(len(held))]
    if missing:
        told.append(f"This page does not have the shapes of {missing:,} ops: the file does not say them.")
    return {
        "output_start": np.array(per_op, dtype=np.uint32),
        "output_dtype": np.array(dtypes, dtype=np.uint32),
        "output_shape": np.array(shapes, dtype=np.uint32),
    }


def _attributes(index: GraphIndex, texts: Texts, told: list[str]) -> Arrays:
    if len(index) > _MOST_WITH_ATTRIBUTES:
        told.append(f"This page has no attributes: the graph has {len(index):,} ops.")
    nodes = index.nodes if len(index) <= _MOST_WITH_ATTRIBUTES else []
    known: dict[bytes, int] = {}

    def code(value: Any) -> int:
        # The same few values stand at nearly all ops; large ones are weights, which are shown by their shape.
        if value.ByteSize() > 200:
            return texts.code(attribute_text(value))
        key = value.SerializeToString()
        found = known.get(key)
        if found is None:
            found = known[key] = texts.code(attribute_text(value))
        return found

    start, names, values = np.zeros(len(index) + 1, dtype=np.uint32), list[int](), list[int]()
    for op, node in enumerate(nodes):
        for name in sorted(node.attr):
            names.append(texts.code(name))
            values.append(code(node.attr[name]))
        start[op + 1] = len(names)
    return {
        "attribute_start": start,
        "attribute_name": np.array(names, dtype=np.uint32),
        "attribute_text": np.array(values, dtype=np.uint32),
    }


def _documentation(index: GraphIndex) -> dict[str, dict[str, Any]]:
    """What TensorFlow says of each type of op that is there."""
    found = {kind: docs.documentation(kind, index.typing.definition(kind)) for kind in index.kinds[0]}
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


def numbers(data: bytes) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The arrays of what `packed` gave, by name; for tests and tools."""
    whole = gzip.decompress(data)
    size = int.from_bytes(whole[:4], "little")
    for name, dtype, count, offset in json.loads(whole[4 : 4 + size])["fields"]:
        yield name, np.frombuffer(whole, np.dtype(dtype).newbyteorder("<"), count, 4 + size + offset)
