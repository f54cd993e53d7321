"""The data of a page: the layout of each graph in parts, and what the inspector shows of each op.

It is a JSON document of the page, and for each graph (the outermost graph, and functions
that can be entered) a JSON document and a buffer of numbers, gzipped together.
`labextension/src/offline/page-data.ts` reads it.

Per op: `op_type`, `op_device` (u4, numbers of texts), `op_home` (i4: the node of the outline around
it), `op_variable` (u1); `input_start`, `input_op`, `input_port`; `control_start`, `control_op`;
`output_start`, `output_dtype`, `output_shape`; `attribute_start`, `attribute_name`,
`attribute_value` (u4, numbers of values); `op_is` (u1, a bit for each of the page's `traits`);
`op_boundary` (u1, a bit for each of `_boundary_facts`). Per
node of the outline: `node_parent` (i4), `node_members`, `node_ops`, `node_variables`, `node_label`
(u4), `node_part` (u1), `node_least` (f4: the width that its name needs). Of a graph that is
compared, per op `op_differs` (u1). And all of `export.html.layout_tables`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from tfgraphwidget.export.html import layout_tables
from tfgraphwidget.export.html.function_pages import PageGraph, find_page_graphs
from tfgraphwidget.export.html.layout_tables import Arrays, Texts, container_tables
from tfgraphwidget.export.html.page_input import PageInput
from tfgraphwidget.graph import (
    STATE_FORWARDING,
    TRAITS,
    GraphIndex,
    control_flow_ops,
    from_outside,
    is_placeholder,
    of_type,
    persistent_state,
    shape_text,
    state_holders,
    untrusted_ops,
    value_holds,
)
from tfgraphwidget.hierarchy import TRAINS, Outline, Sums, find_op_facts, outline_of
from tfgraphwidget.layout import Frame
from tfgraphwidget.naming import count_text
from tfgraphwidget.progress import report_each, tell
from tfgraphwidget.scene import EFFECTS
from tfgraphwidget.sources import attribute_text, documentation
from tfgraphwidget.tf_types import AttrValue, NodeDef
from tfgraphwidget.visible import ViewSpec

_MOST = 4_000  # characters that a value is compared by: a query is not longer
_SMALL = 200  # bytes of an attribute that is looked up by its serialization


class Values:
    """Numbers of distinct attribute values, each with its text and those that queries compare."""

    def __init__(self) -> None:
        self._number: dict[tuple[str, ...], int] = {}
        self._codes: dict[bytes, int] = {}

    def code(self, value: AttrValue) -> int:
        """The number of an AttrValue."""
        # Most ops share a few small values; large ones are weights, which are shown by their shape.
        if value.ByteSize() > _SMALL:
            return self._read(value)
        key = value.SerializeToString()
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = self._read(value)
        return code

    def _read(self, value: AttrValue) -> int:
        return self._number.setdefault(
            (attribute_text(value), *comparison_texts(value)), len(self._number)
        )

    @property
    def all(self) -> list[tuple[str, ...]]:
        """All values in the order of their numbers."""
        return list(self._number)


def comparison_texts(value: AttrValue) -> list[str]:
    """The texts that a query may compare an AttrValue with: the whole value, and each element of a
    list.

    Empty for a value that is longer than any query, or damaged.
    """
    texts = list[str]()
    try:
        value_holds(texts.append)(value)
    except Exception:
        # A damaged value can fail anywhere in TensorFlow or numpy; a query does not find it.
        return []
    return texts if sum(map(len, texts)) <= _MOST else []


# Ops of a graph
_MOST_COLORED = 20_000  # with all colorings; a page of a larger one has that which is shown
_MOST_INFERRED = 8_000  # with static shapes that TensorFlow infers
_MOST_WITH_ATTRIBUTES = 200_000
_STORED_SHAPES = "_output_shapes"
_LEVEL = 6  # of compression: more takes four times as long and saves a fiftieth
_DTYPE_CODES = {"uint8": "u1", "uint32": "u4", "int32": "i4", "float32": "f4"}


def pack_page(page_input: PageInput) -> bytes:
    """The gzipped data of a page: the length of the page's JSON in bytes (u4), that JSON, then its
    graphs.

    Each graph is a JSON document and a buffer of numbers; the page's `graphs` has the lengths of
    both. All lengths are multiples of 4.
    """
    page_graphs, numbers = find_page_graphs(page_input)
    packed = [_pack_graph(one) for one in report_each(page_graphs, "Packing the page", every=1)]
    kinds = {
        kind: one.page_input.index for one in page_graphs for kind in one.page_input.index.kinds[0]
    }
    if len(numbers) == len(page_input.path):
        titles = titles_of(page_input)
    else:
        titles = (" / ".join(titles_of(page_input)),)
    head = _encode_json(
        {
            "graphs": [[len(text), len(buffer)] for text, buffer in packed],
            "path": [[title, graph] for title, graph in zip(titles, numbers, strict=True)],
            "docs": _documentation(kinds),
            "defined": {
                kind: list(_attribute_defaults(index, kind))
                for kind, index in kinds.items()
                if _is_known(index, kind)
            },
            "traits": list(TRAITS),
            "color": page_input.color_by,
        }
    )
    parts = [len(head).to_bytes(4, "little"), head, *(part for graph in packed for part in graph)]
    tell("Compressing the page")
    return gzip.compress(b"".join(parts), _LEVEL, mtime=0)


def titles_of(page_input: PageInput) -> tuple[str, ...]:
    """The titles of the graphs from the outermost to the current; a file's name alone."""
    first, *inner = page_input.path
    return PurePath(first).name if PurePath(first).is_absolute() else first, *inner


def _pack_graph(page_graph: PageGraph) -> tuple[bytes, bytes]:
    """The JSON and the numbers of one graph."""
    page_input = page_graph.page_input
    index, view_spec = page_input.index, page_input.view_spec
    outline, sums = outline_of(index, fold=view_spec.fold)
    texts, notices = Texts(), list[str]()
    few = len(index) <= _MOST_COLORED
    encodings = {
        by: way for by, way in page_input.encodings.items() if few or by == page_input.color_by
    }
    layouts = [layout_tables.lay_out_view(index, view_spec, page_input.layout, page_input.memo)]
    layouts += layout_tables.lay_out_levels(index, view_spec, page_input.layout)
    values = Values()
    arrays = container_tables(
        index, outline, layouts, texts, [op_values for op_values, _ in encodings.values()]
    )
    arrays |= _nodes(outline, sums, layouts, texts) | _ops(index, outline, texts, values, notices)
    if page_input.marks is not None:
        arrays["op_differs"] = np.array(
            [page_input.marks.get(name, 0) for name in index.names], np.uint8
        )
    fields, buffer = _buffer(arrays)
    signature, boundary = page_graph.signature
    head = {
        **{name: getattr(page_input, name) for name in ("selected", "inputs", "outputs")},
        "fields": fields,
        "names": list(index.names),
        "nodes": list(outline.names),
        "texts": texts.all,
        "values": values.all,
        **_view_fields(view_spec, layouts[0].frame),
        "notices": [*page_input.notices, *notices],
        "legends": [asdict(legend) for _, legend in encodings.values()],
        "called_functions": page_graph.references,
        "signature": signature,
        "boundary": boundary,
        "effects": list(_effects(page_input)),
    }
    return _encode_json(head), buffer


def _effects(page_input: PageInput) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The ops of an untrusted graph that do more than compute: bits in a Paint, and sentences."""
    index = page_input.index
    untrusted = untrusted_ops(index, page_input.trust)
    bits = np.zeros(len(index), dtype=np.uint8)
    for k, effect in enumerate(EFFECTS):
        bits[list(untrusted.effects.get(effect, ()))] |= 1 << k
    for name in untrusted.by_op:
        yield index.ids[name], int(bits[index.ids[name]]), untrusted.sentences([name])


def _view_fields(view_spec: ViewSpec, frame: Frame) -> dict[str, object]:
    return {
        "opened": sorted(view_spec.opened),
        "hidden": len(view_spec.hidden),
        "right": frame.right,
        "frame": [Frame.header, Frame.padding, Frame.margin],
    }


def _encode_json(head: dict[str, object]) -> bytes:
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    return text + b" " * (-len(text) % 4)


def _nodes(
    outline: Outline, sums: Sums, layouts: list[layout_tables.ContainerLayouts], texts: Texts
) -> Arrays:
    least = np.zeros(len(outline))
    for one in layouts:
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


def _ops(
    index: GraphIndex, outline: Outline, texts: Texts, values: Values, notices: list[str]
) -> Arrays:
    inputs, controls = index.inputs, index.controls
    return {
        "op_type": texts.codes(index.types),
        "op_device": texts.codes(str(node.device) for node in index.nodes),
        "op_home": outline.home.astype(np.int32),
        "op_variable": find_op_facts(index).variable.astype(np.uint8),
        "op_boundary": _boundary_facts(index, outline),
        "op_is": np.bitwise_or.reduce(
            [of(index).astype(np.uint8) << k for k, of in enumerate(TRAITS.values())]
        ),
        "input_start": inputs.start.astype(np.uint32),
        "input_op": inputs.values.astype(np.int32),
        "input_port": index.ports.astype(np.uint32),
        "control_start": controls.start.astype(np.uint32),
        "control_op": controls.values.astype(np.int32),
        **_outputs(index, texts, notices),
        **_attributes(index, texts, values, notices),
    }


def _boundary_facts(index: GraphIndex, outline: Outline) -> npt.NDArray[np.uint8]:
    """What decides which ops lie between boundaries, a bit each; `offline/boundary.ts` reads it."""
    in_control_flow = np.zeros(len(index), dtype=bool)
    in_control_flow[list(control_flow_ops(index))] = True
    facts = (
        from_outside(index),
        of_type(index, is_placeholder),
        persistent_state(index),
        state_holders(index),
        of_type(index, STATE_FORWARDING.__contains__),
        in_control_flow,
        outline.op_part == TRAINS,
    )
    bits: npt.NDArray[np.uint8] = np.bitwise_or.reduce(
        [fact.astype(np.uint8) << k for k, fact in enumerate(facts)]
    )
    return bits


def _outputs(index: GraphIndex, texts: Texts, notices: list[str]) -> Arrays:
    """The dtype and shape of each output."""
    per_op, dtypes, shapes, missing = [0], list[int](), list[int](), 0
    shape, few = index.typing.shape, len(index) <= _MOST_INFERRED
    for op, name in enumerate(report_each(index.names, "Packing the outputs")):
        node, page_graph = index.nodes[op], index.dtypes(op)
        per_op.append(per_op[-1] + len(page_graph))
        dtypes += [texts.code(dtype or "unknown") for dtype in page_graph]
        # Inferring the shape of one op would make TensorFlow read the whole of a large file.
        missing += not few and bool(page_graph) and _STORED_SHAPES not in node.attr
        has_shape = [few or _has_stored_shape(node, port) for port in range(len(page_graph))]
        shapes += [
            texts.code(shape_text(shape(name, port) if notices else None))
            for port, notices in enumerate(has_shape)
        ]
    if missing:
        notices.append(
            f"This page does not have the shapes of {count_text(missing, 'op')}: the file does not "
            "say them."
        )
    return {
        "output_start": np.array(per_op, dtype=np.uint32),
        "output_dtype": np.array(dtypes, dtype=np.uint32),
        "output_shape": np.array(shapes, dtype=np.uint32),
    }


def _has_stored_shape(node: NodeDef, port: int) -> bool:
    """Whether a NodeDef has the shape of an output."""
    shapes = node.attr[_STORED_SHAPES].list.shape if _STORED_SHAPES in node.attr else ()
    return port < len(shapes) and not shapes[port].unknown_rank


def _attributes(index: GraphIndex, texts: Texts, values: Values, notices: list[str]) -> Arrays:
    if len(index) > _MOST_WITH_ATTRIBUTES:
        notices.append(f"This page has no attributes: the graph has {len(index):,} ops.")
    nodes = index.nodes if len(index) <= _MOST_WITH_ATTRIBUTES else []
    start, names, page_graph = np.zeros(len(index) + 1, dtype=np.uint32), list[int](), list[int]()
    for op, node in enumerate(report_each(nodes, "Packing the attributes")):
        for name in sorted(node.attr):
            names.append(texts.code(name))
            page_graph.append(values.code(node.attr[name]))
        start[op + 1] = len(names)
    return {
        "attribute_start": start,
        "attribute_name": np.array(names, dtype=np.uint32),
        "attribute_value": np.array(page_graph, dtype=np.uint32),
    }


def _is_known(index: GraphIndex, kind: str) -> bool:
    return index.typing.definition(kind) is not None


def _attribute_defaults(index: GraphIndex, kind: str) -> Iterator[tuple[str, list[str] | None]]:
    """The attributes of an op type, each with its default's comparison texts, or None."""
    definition = index.typing.definition(kind)
    for each in () if definition is None else definition.attr:
        yield (
            each.name,
            comparison_texts(each.default_value) if each.HasField("default_value") else None,
        )


def _documentation(kinds: dict[str, GraphIndex]) -> dict[str, dict[str, object]]:
    """TensorFlow's documentation of each op type, from a graph that has it."""
    docs = {
        kind: documentation(kind, index.typing.definition(kind)) for kind, index in kinds.items()
    }
    return {
        kind: asdict(notices)
        for kind, notices in docs.items()
        if notices.summary or notices.arguments
    }


def _buffer(arrays: Arrays) -> tuple[list[tuple[str, str, int, int]], bytes]:
    """(name, dtype, size, offset) of each array, and one little-endian buffer of all; offsets are
    multiples of 4.
    """
    fields, parts = [], []
    offset = 0
    for name, array in sorted(arrays.items()):
        data, dtype = _little_endian(array)
        fields.append((name, dtype, int(array.size), offset))
        parts.append(data)
        offset += len(data)
    return fields, b"".join(parts)


def _little_endian(array: np.ndarray) -> tuple[bytes, str]:
    dtype = _DTYPE_CODES[str(array.dtype)]
    data = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()
    return data + bytes(-len(data) % 4), dtype
