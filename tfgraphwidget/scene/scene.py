"""Scene: everything the renderer needs, as named typed arrays.

Items are boxes: item 0 is the whole graph (an open scope named ""), parents come before their
children. Coordinates are pixels at zoom 1, x to the right, y down, absolute (not relative to the
parent). The twin of these lists is `labextension/src/protocol/scene.ts`; `tests/golden/` holds
buffers that both read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import DIFFERS, Effect, GraphIndex, distinct
from tfgraphwidget.hierarchy import FAMILIES, Ints
from tfgraphwidget.layout import Layout, LayoutCache, place
from tfgraphwidget.layout.free_form import keys, meant_key, pinned_items
from tfgraphwidget.naming import count_text
from tfgraphwidget.scene.coloring.legend import Legend
from tfgraphwidget.scene.selected_lines import find_selected_lines
from tfgraphwidget.visible import (
    BADGE,
    CLOSED,
    KINDS,
    OPEN,
    ViewSpec,
    VisibleGraph,
    build_visible_graph,
    sum_inside,
)

if TYPE_CHECKING:
    from tfgraphwidget.hierarchy import Mask

__all__ = [
    "EDGE_FIELDS", "FAMILIES", "ITEM_FIELDS", "KINDS", "PAINT_FIELDS",
    "Paint", "Scene", "build", "from_bytes", "paint", "to_bytes",
]  # fmt: skip

# name, dtype, width (0: flat). n items.
ITEM_FIELDS = (
    ("box", "f4", 4),  # left, top, width, height
    ("parent", "i4", 0),  # item number, -1 for the root
    ("kind", "u1", 0),  # KINDS
    ("family", "u1", 0),  # FAMILIES: decides the color
    ("aside", "u1", 0),  # 1: bookkeeping, drawn apart and quieter
    # 1: an op that calls a function one can enter, 2: a closed scope that holds such ops.
    ("calls", "u1", 0),
    ("count", "u4", 0),  # ops inside; 1 for an op
    ("variables", "u4", 0),  # variables inside
    ("name_start", "u4", 0),  # n + 1 offsets into name_bytes
    ("name_bytes", "u1", 0),  # UTF-8 of the full names
    ("type_start", "u4", 0),  # n + 1 offsets into type_bytes
    ("type_bytes", "u1", 0),  # UTF-8 of the op types; empty for scopes
    ("members", "u4", 0),  # siblings that a group represents; 0 for real ops and scopes
    ("part", "u1", 0),  # 1: gradients, optimizer and what serves only them
    ("loop", "u1", 0),  # 1: a while loop
    ("pinned", "u1", 0),  # 1: put where it is by hand
    ("omitted", "u4", 0),  # edges to other boxes that have no line; 0 for open scopes and badges
    ("isolated", "u1", 0),  # 1: an op or closed scope without edges to others
    ("label_start", "u4", 0),  # n + 1 offsets into label_bytes
    # UTF-8 of what is written instead of the name's last part; empty for the usual.
    ("label_bytes", "u1", 0),
)
# m edges. An end that is a container of the other end (or of both) is that container's border.
EDGE_FIELDS = (
    ("source", "i4", 0),
    ("target", "i4", 0),
    # 1 more than the port of the border that it begins at; 0 for the end at a box.
    ("source_port", "u1", 0),
    ("target_port", "u1", 0),  # the same of the border that it ends at
    ("tensors", "u4", 0),  # how many tensors the line represents; 0 when it is control inputs only
    ("route_start", "u4", 0),  # m + 1 offsets into route
    ("route", "f4", 2),  # points of a polyline from source to target; drawn with rounded corners
    ("back", "u1", 0),  # 1: a loop's way back
    ("bytes", "f4", 0),  # of the largest tensor; 0 when unknown
    ("edge_label_start", "u4", 0),  # m + 1 offsets into edge_label_bytes
    # UTF-8 of the shape and dtype of a line's only tensor; empty when unknown.
    ("edge_label_bytes", "u1", 0),
)
# n items again, but for `selected_line`; may come alone, when only the selection has changed.
PAINT_FIELDS = (
    ("coverage", "u1", 0),  # 0 not selected, 1 partly, 2 wholly
    # Bit 0: an input is cut before it, bit 1: an output after it, bit 2: an input after it.
    ("mark", "u1", 0),
    ("fresh", "u1", 0),  # 1: made by the last edit; 2: a closed scope that holds such ops
    # While comparing: 1 added, 2 changed, 3 removed, 4 renamed. A scope is what all in it is, or
    # else changed.
    ("differs", "u1", 0),
    ("probed", "u1", 0),  # looked at in a run: 1 all finite, 2 with NaN or infinity
    ("unused", "u1", 0),  # 1: edits have left it without consumers
    # Of a file that is not trusted, what its ops do beside computing: a bit for each of EFFECTS.
    ("effects", "u1", 0),
    # While coloring: 1 … 12 categories, 128 … 255 a ramp from low to high; 0 none.
    ("tint", "u1", 0),
    ("note_start", "u4", 0),  # n + 1 offsets into note_bytes
    ("note_bytes", "u1", 0),  # UTF-8 of what is written below the label while coloring
    ("value_start", "u4", 0),  # n + 1 offsets into value_bytes
    ("value_bytes", "u1", 0),  # UTF-8 of what a run found of an op's only output
    ("selected_line", "u1", 0),  # m: 1 for a line that leads from a selected op to a selected one
)
Arrays = Mapping[str, np.ndarray]
Layouts = tuple[tuple[str, str, tuple[int, ...], int], ...]
INPUT_MARK, OUTPUT_MARK, SOURCE_MARK = 1, 2, 4
EFFECTS = tuple(effect for effect in Effect if effect.is_dangerous)


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """One array per field of ITEM_FIELDS and EDGE_FIELDS, in little-endian; and what `paint` needs.

    `item_of_op`, `home_of_op` int32 (ops of the graph): the first item that represents an op, and
    the box that counts it; `badge_op`, `badge_item`: the badges, of which an op may have several.
    `names`, `types`, `labels` and `edge_labels` are the texts again. `index` is the state of the
    graph of which `visible` is drawn.
    """

    box: npt.NDArray[np.float32]
    parent: Ints
    kind: npt.NDArray[np.uint8]
    family: npt.NDArray[np.uint8]
    aside: npt.NDArray[np.uint8]
    calls: npt.NDArray[np.uint8]
    count: npt.NDArray[np.uint32]
    variables: npt.NDArray[np.uint32]
    name_start: npt.NDArray[np.uint32]
    name_bytes: npt.NDArray[np.uint8]
    type_start: npt.NDArray[np.uint32]
    type_bytes: npt.NDArray[np.uint8]
    members: npt.NDArray[np.uint32]
    part: npt.NDArray[np.uint8]
    loop: npt.NDArray[np.uint8]
    pinned: npt.NDArray[np.uint8]
    omitted: npt.NDArray[np.uint32]
    isolated: npt.NDArray[np.uint8]
    label_start: npt.NDArray[np.uint32]
    label_bytes: npt.NDArray[np.uint8]
    source: Ints
    target: Ints
    source_port: npt.NDArray[np.uint8]
    target_port: npt.NDArray[np.uint8]
    tensors: npt.NDArray[np.uint32]
    route_start: npt.NDArray[np.uint32]
    route: npt.NDArray[np.float32]
    back: npt.NDArray[np.uint8]
    bytes: npt.NDArray[np.float32]
    edge_label_start: npt.NDArray[np.uint32]
    edge_label_bytes: npt.NDArray[np.uint8]
    item_of_op: Ints
    home_of_op: Ints
    badge_op: Ints
    badge_item: Ints
    names: Sequence[str]
    types: Sequence[str]
    labels: Sequence[str]
    edge_labels: Sequence[str]
    index: GraphIndex
    visible: VisibleGraph

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Scene: {count_text(len(self), 'item')}, {count_text(len(self.source), 'line')}>"

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to send, by field name, in the order of the field lists."""
        return {name: getattr(self, name) for name, _, _ in (*ITEM_FIELDS, *EDGE_FIELDS)}


@dataclass(frozen=True, eq=False)
class Paint:
    """One array per field of PAINT_FIELDS, and what the colors mean where they are chosen ones."""

    coverage: npt.NDArray[np.uint8]
    mark: npt.NDArray[np.uint8]
    fresh: npt.NDArray[np.uint8]
    differs: npt.NDArray[np.uint8]
    probed: npt.NDArray[np.uint8]
    unused: npt.NDArray[np.uint8]
    effects: npt.NDArray[np.uint8]
    tint: npt.NDArray[np.uint8]
    note_start: npt.NDArray[np.uint32]
    note_bytes: npt.NDArray[np.uint8]
    value_start: npt.NDArray[np.uint32]
    value_bytes: npt.NDArray[np.uint8]
    selected_line: npt.NDArray[np.uint8]
    legend: Legend | None = None

    @property
    def notes(self) -> list[str]:
        """The text below each item's label, or ""."""
        return _decode_texts(self.note_start, self.note_bytes)

    @property
    def values(self) -> list[str]:
        """The value of each op's only output in the last run, or ""."""
        return _decode_texts(self.value_start, self.value_bytes)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to send, by field name."""
        return {name: getattr(self, name) for name, _, _ in PAINT_FIELDS}


def build(
    index: GraphIndex,
    view_spec: ViewSpec,
    *,
    layout: Layout | None = None,
    cache: LayoutCache | None = None,
) -> Scene:
    """Build the scene of a graph.

    Args:
        layout: a callable like those of networkx, or None for the layered layout.
        cache: the layout cache of the earlier scene, see `layout.compound.place`.
    """
    visible_graph = build_visible_graph(index, view_spec)
    positions = place(
        visible_graph,
        direction=view_spec.direction,
        pinned=view_spec.pinned,
        layout=layout,
        cache=cache,
        aspect=view_spec.aspect,
    )
    texts = {
        "name": visible_graph.names,
        "type": visible_graph.types,
        "label": visible_graph.labels,
        "edge_label": visible_graph.edge_labels,
    }
    encoded: dict[str, np.ndarray] = {}
    for kind, its_texts in texts.items():
        encoded |= {f"{kind}_{part}": array for part, array in _encode_texts(its_texts).items()}
    pinned = np.zeros(len(visible_graph), dtype=np.uint8)
    pinned[[*pinned_items(visible_graph, view_spec.pinned)]] = 1
    same = ["parent", "kind", "family", "source", "target", "bytes"]
    same += ["item_of_op", "home_of_op", "badge_op", "badge_item"]
    counts = ("count", "variables", "members", "omitted", "tensors")
    bits = ("aside", "calls", "part", "loop", "isolated", "back")
    return Scene(
        box=positions.box,
        **{name: getattr(visible_graph, name) for name in same},
        **{name: getattr(visible_graph, name).astype(np.uint8) for name in bits},
        **{name: getattr(visible_graph, name).astype(np.uint32) for name in counts},
        **encoded,
        source_port=(visible_graph.source_port + 1).astype(np.uint8),
        target_port=(visible_graph.target_port + 1).astype(np.uint8),
        pinned=pinned,
        route_start=positions.route_start,
        route=positions.route,
        names=visible_graph.names,
        types=visible_graph.types,
        labels=visible_graph.labels,
        edge_labels=visible_graph.edge_labels,
        index=index,
        visible=visible_graph,
    )


def paint(
    scene: Scene,
    selected: Mask,
    inputs: Iterable[int] = (),
    outputs: Iterable[int] = (),
    fresh: Mask | None = None,
    unused: Mask | None = None,
    sources: Iterable[int] = (),
    effects: Mapping[Effect, Iterable[int]] = MappingProxyType({}),
) -> Paint:
    """Compute the colors of a selection.

    Args:
        inputs: The op numbers before which inputs of the boundary are cut.
        outputs: The op numbers after which outputs are cut.
        fresh: Which ops are new; an item is new if all its ops are, and a closed scope shows that
            some are.
        unused: Which ops edits have left without consumers; an item is unused if all its ops are.
        sources: The op numbers after which inputs are cut.
        effects: The op numbers of what does not run unasked, by what it does beside computing.
    """
    coverage = _coverage(scene, selected)
    mark = _bits(scene, ((inputs, INPUT_MARK), (outputs, OUTPUT_MARK), (sources, SOURCE_MARK)))
    none = np.zeros(len(scene), dtype=np.uint8)
    of_new = none if fresh is None else _coverage(scene, fresh)
    of_idle = none if unused is None else _coverage(scene, unused)
    new = (of_new == 2).astype(np.uint8)
    new[(of_new == 1) & (scene.kind == CLOSED)] = 2
    idle = (of_idle == 2).astype(np.uint8)
    note = _encode_texts([""] * len(scene))
    texts = note["start"], note["bytes"]
    ops_and_bits = ((effects.get(effect, ()), 1 << k) for k, effect in enumerate(EFFECTS))
    untrusted = _bits(scene, ops_and_bits)
    lines = find_selected_lines(scene.visible, scene.index, selected).astype(np.uint8)
    return Paint(coverage, mark, new, none, none, idle, untrusted, none, *texts, *texts, lines)


def _bits(scene: Scene, groups: Iterable[tuple[Iterable[int], int]]) -> npt.NDArray[np.uint8]:
    """Uint8 per item: the bit of each group of ops of which it is or holds one."""
    bits = np.zeros(len(scene), dtype=np.uint8)
    for ops, bit in groups:
        op_array = distinct(np.fromiter(ops, dtype=np.int64))
        bits[scene.badge_item[np.isin(scene.badge_op, op_array)]] |= bit
        items = distinct(scene.home_of_op[op_array])
        while len(items):
            bits[items] |= bit
            items = distinct(scene.parent[items[items > 0]])
    return bits


def box_of(scene: Scene, name: str) -> int | None:
    """The op, else the scope or group, of that name in a scene; with a slash, the scope."""
    items = keys(scene.names, scene.kind).items()
    item_of_key = {key: item for key, item in items if scene.kind[item] != BADGE}
    return item_of_key.get(meant_key(name, item_of_key))


def key_of(scene: Scene, item: int) -> str:
    """The name that an item is pinned by: a scope's has a slash where an op has it too."""
    name = scene.names[item]
    return f"{name}/" if name in scene.index.ids and scene.kind[item] in (CLOSED, OPEN) else name


def mark_differences(scene: Scene, marks: Mapping[str, int]) -> npt.NDArray[np.uint8]:
    """Mark the items whose ops differ.

    Args:
        marks: The place in `DIFFERS` of how an op differs, by its name.

    Returns:
        uint8 per item: the mark that all its ops have; 2, changed, if some differ, else 0.
    """
    ids = scene.index.ids
    of_op = np.zeros(len(scene.index), np.uint8)
    for name, mark in marks.items():
        if name in ids:
            of_op[ids[name]] = mark
    marked = np.where(_coverage(scene, of_op > 0) > 0, DIFFERS.index("changed"), 0)
    for mark in set(marks.values()):
        marked[_coverage(scene, of_op == mark) == 2] = mark
    return marked.astype(np.uint8)


def mark_probed(scene: Scene, fine: Mask, bad: Mask) -> npt.NDArray[np.uint8]:
    """Mark the items whose ops were probed.

    Args:
        fine: Which ops were probed without a finding.

    Returns:
        uint8 per item: 2 if it has a broken op, 1 if it has an op that was probed, else 0.
    """
    return np.where(_coverage(scene, bad) > 0, 2, _coverage(scene, fine) > 0).astype(np.uint8)


def value_texts(scene: Scene, texts: Mapping[str, str]) -> Arrays:
    """The fields of a Paint that say what a run found.

    Args:
        texts: A text for each op of which something is known.
    """
    value = _encode_texts([texts.get(name, "") for name in scene.names])
    return {"value_start": value["start"], "value_bytes": value["bytes"]}


def with_colors(paint: Paint, tint: npt.NDArray[np.uint8], notes: Sequence[str]) -> Paint:
    """Add a color encoding to a paint.

    Args:
        tint: The color number of each item, see `scene.coloring.scales`.
    """
    note = _encode_texts(notes)
    return replace(paint, tint=tint, note_start=note["start"], note_bytes=note["bytes"])


def _coverage(scene: Scene, op_mask: Mask) -> npt.NDArray[np.uint8]:
    """0, 1 or 2 per item: none, some or all of its ops are chosen.

    An op is counted where it belongs: one that is a badge at its consumers counts in the scope of
    its name.
    """
    n = len(scene)
    at_home = np.bincount(scene.home_of_op, weights=op_mask, minlength=n)
    at_badge = np.bincount(scene.badge_item, weights=op_mask[scene.badge_op], minlength=n)
    ops_of_badge = np.bincount(scene.badge_item, minlength=n)
    chosen = np.where(ops_of_badge > 0, at_badge, sum_inside(scene.parent, at_home))
    count = np.where(ops_of_badge > 0, ops_of_badge, scene.count)
    return np.where(chosen == 0, 0, np.where(chosen == count, 2, 1)).astype(np.uint8)


def to_bytes(arrays: Arrays) -> tuple[Layouts, bytes]:
    """(name, dtype, shape, offset) of some arrays, and one little-endian buffer of them; offsets
    are multiples of 4.
    """
    fields, parts, offset = [], [], 0
    for name, array in arrays.items():
        dtype = _DTYPES[name]
        data = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()
        fields.append((name, dtype, tuple(array.shape), offset))
        parts.append(data + bytes(-len(data) % 4))
        offset += len(parts[-1])
    return tuple(fields), b"".join(parts)


def from_bytes(
    fields: Iterable[tuple[str, str, tuple[int, ...], int]], buffer: bytes
) -> dict[str, np.ndarray]:
    """The arrays of a buffer that `to_bytes` made, by name; they are views.

    Args:
        fields: The name, dtype, shape and offset (bytes) of each array.
        buffer: The bytes of all arrays.
    """
    arrays = {}
    for name, dtype, shape, offset in fields:
        little_endian = np.dtype(dtype).newbyteorder("<")
        array = np.frombuffer(buffer, little_endian, int(np.prod(shape)), offset)
        arrays[name] = array.reshape(shape)
    return arrays


def _encode_texts(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """N + 1 offsets ("start") into one run of UTF-8 ("bytes")."""
    encoded = [text.encode() for text in texts]
    start = np.concatenate([[0], np.cumsum([len(text) for text in encoded])]).astype(np.uint32)
    return {"start": start, "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8)}


def _decode_texts(start: npt.NDArray[np.uint32], data: npt.NDArray[np.uint8]) -> list[str]:
    encoded = data.tobytes()
    return [encoded[a:b].decode() for a, b in pairwise(start.tolist())]


_DTYPES = {name: dtype for name, dtype, _ in (*ITEM_FIELDS, *EDGE_FIELDS, *PAINT_FIELDS)}
