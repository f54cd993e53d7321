"""The visible graph: items (open and closed scopes and groups, ops, badges) and the bundled edges
between them.

An edge from one box to another is cut at the container borders on its way into segments, one per
container: child to child in the lowest container of both ends, child to border on the way out,
border to child on the way in. Each tensor has a port of its own at a border that it crosses, as far
as they fit. Equal segments are one edge with a count. So a container can be laid out knowing
nothing of the rest, and an edge never runs far.

Constants, variables and their reads are badges inside the boxes of their consumers (`badges`);
repeated siblings and the parts of training are put together in groups (`hierarchy`). Of the edges
from the forward pass into training only those of its ends are drawn
(`edge_bundles.find_training_lines`).

Auxiliary items are drawn apart (`aside`): weights (`hierarchy.weights`), checkpoint scopes,
summaries, NoOps, stores of several variables, constants or variables without a badge that feed
three or more places or none, and what is computed of the variables of three or more boxes, such as
the terms of a weight decay. Edges that cross the border of an auxiliary item are not drawn, for
they would run everywhere; the inspector lists them. Each item counts its edges that are not drawn
(`omitted`). Inside an auxiliary item nothing is auxiliary again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import DRAWN_AS_LOOPS, LOOP_CONDITION, GraphIndex
from tfgraphwidget.hierarchy import (
    CONSTANT,
    FAMILIES,
    Ints,
    Mask,
    OpFacts,
    Outline,
    Sums,
    default_open,
    find_op_facts,
    of_types,
    outline_of,
)
from tfgraphwidget.visible.badges import (
    Badges,
    assign_badges,
    has_few_values,
    no_badges,
    ops_with_badges,
)
from tfgraphwidget.visible.edge_bundles import (
    EdgeBundles,
    EdgePairs,
    bundle_edges,
    control_pairs,
    data_pairs,
    find_training_lines,
    split_segments,
    tensor_sizes,
)
from tfgraphwidget.visible.items import Items, number_items, select_items
from tfgraphwidget.visible.view_spec import ViewSpec

__all__ = [
    "BADGE",
    "CLOSED",
    "KINDS",
    "OP",
    "OPEN",
    "VisibleGraph",
    "build_visible_graph",
    "default_open",
]

KINDS = ("op", "closed scope", "open scope", "badge")
OP, CLOSED, OPEN, BADGE = range(4)
_MANY_PLACES = 3
_NUMBER = re.compile(r"_\d+$")  # which TensorFlow adds to a name that is taken
OUTPUTS = 1 << 10  # in numbers of tensors: op * OUTPUTS + port
_CONTROL, _VARIABLE = FAMILIES.index("control"), FAMILIES.index("variable")


@dataclass(frozen=True, eq=False)
class VisibleGraph:
    """Items breadth first: item 0 is the graph, children of one item are consecutive and in graph
    order.

    Per item: `names`, `types` ("" for scopes), `parent` (int32, -1 for the root), `kind` (uint8,
    KINDS), `family` (uint8), `aside` (bool), `calls` (uint8: 1 an op that calls a function, 2 a
    closed scope that holds such ops), `count` (ops inside), `variables` (variables inside), `depth`
    (root 0), `members` (siblings that a group represents; 0 for blocks and what is not a group),
    `part` (uint8, as in `Outline`), `labels` (what is written instead of the name's last part, or
    ""), `structure` (uint64: equal for ops of one type and for scopes of equal structure; 0 for
    badges), `loop` (bool: a while loop), `omitted` (edges of the graph to other boxes, with no
    line; 0 for open scopes and badges), `isolated` (bool: its ops have no edge of the graph to
    others; not for open scopes and badges). Per op of the graph: `item_of_op`, the (first) item
    that represents it, or what is around it when it is hidden, and `home_of_op`, the same without
    badges: the box that counts it (int32). Per badge: `badge_op` and `badge_item` (int32): an op
    may have several, and the badge "+5 more" has several ops. Per edge: `source`, `target` (items;
    one may be the parent of the other: its border), `source_port`, `target_port` (the port of the
    border of an open scope that the edge begins or ends at, -1 at a box: a tensor has one where it
    enters a scope, and one where it leaves it), `tensors` (distinct tensors; 0 for control inputs
    only), `edge_tensor_start`, `edge_tensor` (m + 1 offsets, and the tensors of the edges, each as
    op * OUTPUTS + port), `back` (bool: a loop's way back), `shared` (bool: a closed scope that is a
    part of the network hands on nothing but weights), `bytes` (float32: of the largest tensor, 0
    when unknown), `edge_labels` (the shape of a line's only tensor, or ""). Edges are sorted by
    `container`.
    """

    names: Sequence[str]
    types: Sequence[str]
    parent: Ints
    kind: npt.NDArray[np.uint8]
    family: npt.NDArray[np.uint8]
    aside: Mask
    calls: npt.NDArray[np.uint8]
    count: Ints
    variables: Ints
    depth: Ints
    members: Ints
    part: npt.NDArray[np.uint8]
    labels: Sequence[str]
    structure: npt.NDArray[np.uint64]
    loop: Mask
    omitted: Ints
    isolated: Mask
    item_of_op: Ints
    home_of_op: Ints
    badge_op: Ints
    badge_item: Ints
    source: Ints
    target: Ints
    source_port: Ints
    target_port: Ints
    tensors: Ints
    edge_tensor_start: Ints
    edge_tensor: npt.NDArray[np.int64]
    back: Mask
    shared: Mask
    bytes: npt.NDArray[np.float32]
    edge_labels: Sequence[str]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def container(self) -> Ints:
        """The item inside which each edge runs, int32 (m,), ascending."""
        outward = self.target == self.parent[self.source]
        return np.where(outward, self.target, self.parent[self.target]).astype(np.int32)

    @cached_property
    def child_start(self) -> Ints:
        """N + 1 offsets: the children of item i are child_start[i] … child_start[i + 1] - 1."""
        return np.searchsorted(self.parent, np.arange(len(self) + 1)).astype(np.int32)

    @cached_property
    def alike(self) -> Ints:
        """A number per item, equal for siblings of equal structure and in scopes that are alike."""
        result = np.zeros(len(self), dtype=np.int32)
        start = np.searchsorted(self.depth, np.arange(int(self.depth[-1]) + 2)).tolist()
        for first, stop in pairwise(start[1:]):
            kind = np.unique(self.structure[first:stop], return_inverse=True)[1]
            pair = result[self.parent[first:stop]].astype(np.int64) * stop + kind
            result[first:stop] = first + np.unique(pair, return_inverse=True)[1]
        return result


def build_visible_graph(index: GraphIndex, view_spec: ViewSpec) -> VisibleGraph:
    """Return the items and bundled edges of what is to be drawn.

    A scope that is open inside a closed one is not visible. Unknown names are ignored: a scope may
    be gone after an undo, and come back.

    Args:
        view_spec: what is open and hidden; `opened` has names without a trailing slash.

    Returns:
        The items, breadth first, and the edges between them.
    """
    facts, (outline, sums) = find_op_facts(index), outline_of(index, fold=view_spec.fold)
    boxes = select_items(index, outline, view_spec)
    badges = assign_badges(index, facts, outline, sums, boxes) if view_spec.badges else no_badges()
    has_badge = ops_with_badges(badges, len(index))
    is_drawn = boxes.is_drawn & ~has_badge
    part = boxes.per_item(outline.op_part, outline.part).astype(np.uint8)
    data, control = (
        data_pairs(index, boxes.item, is_drawn),
        control_pairs(index, boxes.item, is_drawn),
    )
    has_line = find_training_lines(
        index, data, boxes.parent, boxes.depth, part, facts.depends_on_input
    )
    aside = _find_auxiliary(facts, outline, sums, boxes, data.select(has_line))
    has_line &= ~_are_values_in_closed_scopes(index, facts, boxes, data)
    outer = _outermost_auxiliary(aside, boxes)
    aside &= outer == np.arange(len(outer))
    has_line &= data.are_within(outer)
    is_ordered = control.are_within(outer) & control.are_within(part.astype(np.int32))
    lines = bundle_edges(
        boxes.parent, boxes.depth, boxes.open, data.select(has_line), control.select(is_ordered)
    )
    omitted = _count_omitted(len(boxes), data.select(~has_line), control.select(~is_ordered))
    is_kept = boxes.per_item(has_badge, np.zeros(len(outline))) == 0
    numbers = number_items(boxes, is_kept, badges.reader)
    texts = badges.texts(index, facts)
    columns = _item_columns(index, facts, outline, sums, boxes, aside)
    columns |= {"omitted": omitted, "isolated": _find_isolated(index, boxes)}
    return _assemble(
        index,
        columns,
        _badge_columns(index, facts, badges, texts),
        boxes,
        badges,
        lines,
        numbers,
        _share_weights(facts, sums, boxes, lines, columns["names"]),
    )


def _item_columns(
    index: GraphIndex, facts: OpFacts, outline: Outline, sums: Sums, boxes: Items, aside: Mask
) -> dict[str, Any]:
    """The columns of the boxes, by the field's name in VisibleGraph."""
    ones = np.ones(len(index), dtype=np.int32)
    return {
        "names": boxes.texts(index.names, outline.names),
        "types": boxes.texts(index.types, [""] * len(outline)),
        "labels": _labels(index, outline, boxes),
        "kind": np.where(boxes.op >= 0, OP, np.where(boxes.open, OPEN, CLOSED)).astype(np.uint8),
        "family": boxes.per_item(facts.family, sums.family).astype(np.uint8) * ~boxes.open,
        "aside": aside,
        "calls": (
            boxes.per_item(facts.calls_function, 2 * sums.calls_function) * ~boxes.open
        ).astype(np.uint8),
        "count": boxes.per_item(ones, sums.ops),
        "variables": boxes.per_item(facts.variable, sums.variables),
        "depth": boxes.depth,
        "members": boxes.per_item(0 * ones, outline.members * ~outline.blocks),
        "part": boxes.per_item(outline.op_part, outline.part).astype(np.uint8),
        "structure": sums.structure[np.where(boxes.op >= 0, len(outline) + boxes.op, boxes.node)],
        "loop": _find_loops(index, boxes),
    }


def _labels(index: GraphIndex, outline: Outline, boxes: Items) -> npt.NDArray[np.object_]:
    labels = boxes.texts([""] * len(index), outline.labels)
    items = np.flatnonzero(boxes.op >= 0)
    items = items[outline.is_collapsed[index.scopes.scope_of[boxes.op[items]]]]
    labels[items] = outline.relative(boxes.op[items], index.names)
    return labels


def _badge_columns(
    index: GraphIndex, facts: OpFacts, badges: Badges, texts: Sequence[str]
) -> dict[str, Any]:
    """The same of each badge; its depth and its part are those of its consumer."""
    ops = badges.op.tolist()
    nothing = np.zeros(len(ops), dtype=np.uint8)
    return {
        "names": [index.names[op] for op in ops],
        "types": [index.types[op] for op in ops],
        "labels": texts,
        "kind": np.full(len(ops), BADGE, dtype=np.uint8),
        # The read of a variable is an Identity; what it represents is the variable.
        "family": np.where(
            facts.family[badges.op] == _CONTROL, _VARIABLE, facts.family[badges.op]
        ).astype(np.uint8),
        "aside": nothing.astype(bool),
        "calls": nothing,
        "count": np.maximum(badges.more, 1),
        "variables": facts.variable[badges.op].astype(np.int32),
        "members": nothing.astype(np.int32),
        "structure": nothing.astype(np.uint64),
        "loop": nothing.astype(bool),
        "omitted": nothing.astype(np.int32),
        "isolated": nothing.astype(bool),
    }


def _assemble(
    index: GraphIndex,
    columns: dict[str, Any],
    of_badges: dict[str, object],
    boxes: Items,
    badges: Badges,
    lines: EdgeBundles,
    numbers: tuple[Ints, Ints],
    shared: Mask,
) -> VisibleGraph:
    """Boxes and badges together, in the order of their numbers."""
    number, of_badge = numbers
    of_badges |= {"depth": boxes.depth[badges.reader] + 1, "part": columns["part"][badges.reader]}
    columns["parent"], of_badges["parent"] = boxes.renumber_parents(number), number[badges.reader]
    is_kept = np.flatnonzero(number >= 0)
    order = np.argsort(np.concatenate([number[is_kept], of_badge]), kind="stable")
    rows = _select_rows(
        columns, of_badges, np.concatenate([is_kept, len(boxes) + np.arange(len(of_badge))])[order]
    )
    home, first = _boxes_of_ops(number, boxes, badges, of_badge)
    largest, labels = tensor_sizes(index, lines)
    return VisibleGraph(
        **rows,
        item_of_op=first,
        home_of_op=home,
        badge_op=badges.pair_op,
        badge_item=of_badge[badges.pair_badge],
        source=number[lines.source],
        target=number[lines.target],
        source_port=lines.source_port,
        target_port=lines.target_port,
        tensors=lines.tensors,
        edge_tensor_start=np.concatenate([[0], np.cumsum(lines.tensors)]).astype(np.int32),
        edge_tensor=(lines.op.astype(np.int64) * OUTPUTS + lines.port)[
            np.argsort(lines.line, kind="stable")
        ],
        back=lines.back,
        shared=shared,
        bytes=largest,
        edge_labels=labels,
    )


def _boxes_of_ops(number: Ints, boxes: Items, badges: Badges, of_badge: Ints) -> tuple[Ints, Ints]:
    """Per op of the graph the box that counts it, and the first item that represents it."""
    home = number[np.where(number[boxes.item] < 0, boxes.parent[boxes.item], boxes.item)]
    first = home.copy()
    first[badges.pair_op[::-1]] = of_badge[badges.pair_badge[::-1]]
    return home, first


def _select_rows(
    columns: dict[str, Any], more: dict[str, object], rows: npt.NDArray[np.intp]
) -> dict[str, Any]:
    """Some rows of columns that stand one above the other."""
    result: dict[str, object] = {}
    for name, column in columns.items():
        both = np.concatenate([column, np.asarray(more[name], dtype=column.dtype)])[rows]
        result[name] = both.tolist() if both.dtype == object else both
    return result


def _find_loops(index: GraphIndex, boxes: Items) -> Mask:
    """Which items are while loops: such an op, or the innermost box that holds a LoopCond."""
    loop: Mask = (
        boxes.per_item(of_types(index, DRAWN_AS_LOOPS), np.zeros(int(boxes.node.max()) + 1)) > 0
    )
    item = boxes.item[of_types(index, LOOP_CONDITION)]
    loop[np.where(boxes.op[item] >= 0, boxes.parent[item], item)] = True
    loop[0] = False
    return loop


def _find_isolated(index: GraphIndex, boxes: Items) -> Mask:
    """Which ops and closed scopes have no edges of the graph, drawn or not, to other ops."""
    isolated = ~boxes.open
    for edges in (index.inputs, index.controls):
        reader = np.repeat(boxes.item, np.diff(edges.start))
        producer = boxes.item[edges.values]
        apart = reader != producer
        isolated[reader[apart]] = isolated[producer[apart]] = False
    return isolated


def _count_omitted(items: int, *pairs: EdgePairs) -> Ints:
    """Per item the edges of these pairs, each counted at both of its ends."""
    endpoints = np.concatenate([end for some in pairs for end in (some.source, some.target)])
    edges = np.concatenate([some.edges for some in pairs for _ in range(2)])
    return np.bincount(endpoints, weights=edges, minlength=items).astype(np.int32)


def _are_values_in_closed_scopes(
    index: GraphIndex, facts: OpFacts, boxes: Items, data: EdgePairs
) -> Mask:
    """Which tensors are small constants that a closed scope holds for several other boxes.

    Where equal constants were merged, one layer holds the epsilon of all: lines from it to each of
    them would say that they read that layer.
    """
    result: Mask = (facts.constant_kind[data.op] == CONSTANT) & (boxes.op[data.source] < 0)
    rows = np.flatnonzero(result)
    ops, op_of_row, readers = np.unique(data.op[rows], return_inverse=True, return_counts=True)
    is_small = np.array([has_few_values(index.nodes[op]) for op in ops.tolist()], dtype=bool)
    result[rows] = (is_small & (readers > 1))[op_of_row]
    return result


def _share_weights(
    facts: OpFacts, sums: Sums, boxes: Items, lines: EdgeBundles, names: Sequence[str]
) -> Mask:
    """Which lines say only that a tower reads the weights of one that was made before it with the
    same variables: TensorFlow calls the scope "tower_1" that is entered once more.
    """
    is_value = ~facts.depends_on_input[lines.op]
    values = np.bincount(lines.line, weights=is_value, minlength=len(lines.source))
    is_part = boxes.per_item(facts.depends_on_input, sums.input_dependent_ops) > 0
    is_part &= (boxes.op < 0) & ~boxes.open
    shared: Mask = (values > 0) & (values == lines.tensors)
    shared &= is_part[lines.source] & is_part[lines.target]
    for line in np.flatnonzero(shared).tolist():
        towers = (names[lines.source[line]], names[lines.target[line]])
        shared[line] = len({_NUMBER.sub("", name) for name in towers}) == 1
    return shared


def _find_auxiliary(
    facts: OpFacts, outline: Outline, sums: Sums, boxes: Items, data: EdgePairs
) -> Mask:
    """Which items are pulled aside; see the module's first lines.

    A store of several variables is aside even when it feeds one box only, or it would jump into the
    flow and out of it as boxes are opened.
    """
    source, target = split_segments(boxes.parent, boxes.depth, data.source, data.target)
    inside = source != boxes.parent[target]
    places = np.bincount(source[inside], minlength=len(boxes))
    is_op = boxes.op >= 0
    fed = boxes.per_item(facts.depends_on_input, sums.input_dependent_ops) > 0
    nothing = np.zeros_like(facts.depends_on_input)
    variables = boxes.per_item(nothing, sums.handles)
    feeds_none = (places == 0) & ~np.isin(np.arange(len(is_op)), target)
    origins = np.bincount(target[inside], minlength=len(boxes))
    is_scattered = (places >= _MANY_PLACES) | (origins >= _MANY_PLACES)
    aside: Mask = ~fed & ((places == 0) | is_scattered | (variables > 1))
    # An input that nothing reads is still an input; only what stores and what orders is
    # bookkeeping.
    aside |= is_op & (boxes.per_item(facts.family, sums.family) == _CONTROL) & feeds_none
    aside |= boxes.per_item(nothing, sums.is_saver) > 0
    aside |= boxes.per_item(facts.is_summary, sums.is_summary) > 0
    aside |= boxes.per_item(nothing, outline.holds_weights) > 0
    aside[0] = False
    return aside


def _outermost_auxiliary(aside: Mask, boxes: Items) -> Ints:
    """For each item the outermost item aside around it (or itself), else 0."""
    outer = np.where(aside, np.arange(len(aside)), 0).astype(np.int32)
    for level in range(1, int(boxes.depth[-1]) + 1):
        items = np.flatnonzero(boxes.depth == level)
        around = outer[boxes.parent[items]]
        outer[items] = np.where(around > 0, around, outer[items])
    return outer
