"""Layer groups: layers that are flat in one scope, grouped by their names, or by bottlenecks.

Keras gives the layers of a network no scopes: DenseNet has 430 of them side by side,
"conv2_block1_0_bn", "conv2_block1_1_conv". Only their names, up to an underscore, say that they
belong together. Where a container would show too many boxes, those whose names have the same prefix
are drawn as one box, "conv2_block1_*"; groups of equal structure are then repeats, as scopes are:
"conv2_block1 … conv2_block6 ×6".

The shortest prefix is taken that no more than two dozen boxes have. Boxes of one prefix that are
not connected (all the "add_7" of a network) are no group. What lies between members of one block
only ("activation_11") is a part of it; a block with anything else between its members is none.
Where it groups far more of the boxes, the graph decides: what lies between two bottlenecks, boxes
through which all data flows, is a group. So the branches of an Inception block,
which begin at one box and end at the concatenation, are "… mixed3". What is fed lies beside the
flow: labels go to the loss, and a flag of training to each layer. Where there are no bottlenecks
either, what a loop of Python has made again and again is grouped step by step (`steps`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import chain, groupby, pairwise, takewhile

import numpy as np

from tfgraphwidget.graph import GraphIndex, distinct, runs_of
from tfgraphwidget.hierarchy.op_facts import FAMILIES, NONE, Ints, Mask, OpFacts
from tfgraphwidget.hierarchy.quotient import Lines, contract, data_flow, keep_acyclic
from tfgraphwidget.hierarchy.steps import find_steps
from tfgraphwidget.hierarchy.structural_hash import (
    SiblingEdges,
    sibling_edges,
    structural_hashes,
)
from tfgraphwidget.hierarchy.tree import BEGUN, TRAINS, UP_TO, Outline, SiblingGroup, is_free

_ROUNDS = 3  # of adding what feeds a group, and what feeds that


def split_at_bottlenecks(
    boxes: list[int], lines: Lines, activation: Mask, least: int, most: int
) -> list[list[int]]:
    """Split the boxes of a container at its bottlenecks.

    Args:
        boxes: the siblings that are drawn as boxes.
        lines: (source, target) of the data edges between siblings.
        activation: whether each sibling is an activation; one right after a bottleneck belongs to
            its group.
        least: the least number of boxes of a group.
        most: the greatest number of boxes of a group.

    Returns:
        The groups, each with the bottleneck at its end last; none if there is a cycle.
    """
    order = topological_order(boxes, lines)
    if len(order) < len(boxes):
        return []
    place = np.full(len(activation), -1)
    place[order] = np.arange(len(order))
    source, target = place[lines[0]], place[lines[1]]
    inner = (source >= 0) & (target >= 0)
    reach = np.arange(len(order))
    np.maximum.at(reach, source[inner], target[inner])
    furthest = np.maximum.accumulate(reach)  # that anything up to here goes
    narrow = np.r_[True, furthest[:-1] <= np.arange(1, len(order))]
    bottlenecks = np.flatnonzero(narrow).tolist()
    begins = np.ones(len(order), dtype=bool)
    begins[target[inner]] = False
    if begins[: bottlenecks[1] if len(bottlenecks) > 1 else None].sum() > 1:
        bottlenecks[0] = -1  # the first box is one of several that the network begins with
    parts = []
    for before, last in pairwise(bottlenecks):
        stop = last + 1
        if _has_trailing_activation(order, last, narrow, activation):
            stop += 1
        if last - before >= least and stop - before - 1 <= most:
            parts.append(order[before + 1 : stop])
    return parts


def _has_trailing_activation(order: list[int], at: int, narrow: Mask, activation: Mask) -> bool:
    """Whether an activation, and nothing beside it, comes right after."""
    return at + 1 < len(order) and bool(narrow[at + 1]) and bool(activation[order[at + 1]])


def topological_order(boxes: list[int], lines: Lines) -> list[int]:
    """The boxes so that each follows what it reads, else as they are; without cycles' boxes."""
    waits = dict.fromkeys(boxes, 0)
    after: dict[int, list[int]] = {}
    for a, b in zip(*(endpoint.tolist() for endpoint in lines), strict=True):
        if a in waits and b in waits:
            waits[b] += 1
            after.setdefault(a, []).append(b)
    rank = {box: at for at, box in enumerate(boxes)}
    ready = [rank[box] for box in boxes if not waits[box]]
    heapify(ready)
    order = []
    while ready:
        order.append(boxes[heappop(ready)])
        for box in after.get(order[-1], ()):
            waits[box] -= 1
            if not waits[box]:
                heappush(ready, rank[box])
    return order


def add_feeders(parts: list[list[int]], edges: SiblingEdges, may: Mask) -> list[list[int]]:
    """Add constants and variable reads to the parts that they feed, if they feed one part only."""
    owner = np.full(len(edges.around), -1, dtype=np.int32)
    sizes = [len(part) for part in parts]
    owner[list(chain.from_iterable(parts))] = np.arange(len(parts)).repeat(sizes)
    feeds = (may & (owner < 0))[edges.source]
    source, target = edges.source[feeds], edges.target[feeds]
    for _ in range(_ROUNDS):
        low = np.full(len(owner), len(parts), dtype=np.int32)
        high = np.full(len(owner), -1, dtype=np.int32)
        np.minimum.at(low, source, owner[target])
        np.maximum.at(high, source, owner[target])
        joins = (owner < 0) & (low == high) & (high >= 0)
        owner[joins] = high[joins]
    things = np.flatnonzero(owner >= 0)
    things = things[np.argsort(owner[things], kind="stable")]
    return runs_of(things, owner[things])


MANY = 60  # boxes of a container; more than an eye can take in
HOPELESS = 5_000  # boxes of a container, of which groups are too many as well
_LEAST = 3  # boxes of a group
_MOST = 24  # boxes of a group with one prefix
_MOST_BETWEEN = 48  # boxes of a group, with what lies between its members or two bottlenecks
_FAR_MORE = 1.5  # times the boxes that names group: so many are worth that the graph decides
_ACTIVATION, _INPUT = FAMILIES.index("activation"), FAMILIES.index("input")


@dataclass(frozen=True)
class _Block:
    """Things of one container, the boxes among them, and what they are called together."""

    container: int
    name: str
    things: list[int]
    boxes: list[int]


def find_boxes(facts: OpFacts, outline: Outline) -> Mask:
    """Which nodes and ops are boxes of the network, and no constants, variables or weights."""
    nodes = (outline.count(facts.depends_on_input) > 0) & ~outline.is_collapsed
    nodes[0] = False
    ops = facts.depends_on_input & (facts.constant_kind == NONE)
    return np.concatenate([nodes, ops])


def find_layer_groups(index: GraphIndex, facts: OpFacts, outline: Outline) -> list[SiblingGroup]:
    """Find groups of siblings that are layers by their names."""
    # Things are the nodes of the outline, and after them the ops.
    boxes = find_boxes(facts, outline)
    around = np.concatenate([outline.parent, outline.home])[boxes]
    count = np.bincount(around, minlength=len(outline)).astype(np.int32)
    crowded = np.flatnonzero((count > MANY) & (count <= HOPELESS)).tolist()
    if not crowded:
        return []
    edges = sibling_edges(index, outline)
    is_fed = np.concatenate([outline.count(facts.depends_on_input) > 0, facts.depends_on_input])
    lines = data_flow(index, is_fed, edges)
    words = {container: _name_words(index, outline, container) for container in crowded}

    # By names; where that groups too little, by bottlenecks, then by steps.
    candidates: list[_Block] = []
    for container in crowded:
        candidates += _group_by_prefix(container, words[container], boxes)
    wired = _with_things_between(_select_wired(candidates, edges), words, boxes, lines)
    # All sums of a network with what lies between them are most of it, and no block.
    wired = [block for block in wired if len(block.boxes) <= _MOST_BETWEEN]
    network_edges = edges.without_training(outline)
    whole = add_feeders([block.things for block in wired], network_edges, ~boxes)
    wired = [replace(block, things=each) for block, each in zip(wired, whole, strict=True)]
    blocks = _select_acyclic(wired, edges, lines, count)

    network = _Network(index, facts, outline, edges, lines, boxes)
    for container in crowded:
        grouped = sum(len(block.boxes) for block in blocks if block.container == container)
        for find in (network.stretches, network.steps):
            if grouped * _FAR_MORE > count[container]:
                break
            parts = network.blocks(container, find(container, words[container]), words[container])
            others = _select_acyclic(parts, edges, lines, count)
            in_others = sum(len(block.boxes) for block in others)
            if in_others > _FAR_MORE * grouped:
                blocks = [block for block in blocks if block.container != container] + others
                grouped = in_others
    groups = [_group(block, outline) for block in blocks]
    return [group for group in groups if is_free(group.name, index, outline)]


class _Network:
    """The boxes of a network and the lines between them, without training, which reads all again,
    and without what is fed.
    """

    def __init__(
        self,
        index: GraphIndex,
        facts: OpFacts,
        outline: Outline,
        edges: SiblingEdges,
        lines: Lines,
        boxes: Mask,
    ) -> None:
        no_node = np.zeros(len(outline), dtype=bool)
        is_input = np.concatenate([no_node, facts.family == _INPUT])
        part = np.concatenate([outline.part, outline.op_part])
        self._is_activation = np.concatenate([no_node, facts.family == _ACTIVATION])
        self._boxes, self._trains = boxes, outline.trains
        self._may_step = boxes & ~is_input & (part != TRAINS)
        self._may_flow = boxes & ~is_input & ~self._trains
        self._first_op = np.concatenate([outline.first, np.arange(len(index))])
        self._color = structural_hashes(index, outline, edges)
        self._edges = edges.without_training(outline)
        is_flow = ~is_input[lines[0]] & (self._trains[lines[0]] | ~self._trains[lines[1]])
        source, target = lines[0][is_flow], lines[1][is_flow]
        by_container = np.argsort(edges.around[source], kind="stable")
        self._lines = source[by_container], target[by_container]
        self._containers = edges.around[self._lines[0]]

    def stretches(self, container: int, things: Iterable[int]) -> list[list[int]]:
        """What lies between bottlenecks."""
        boxes = [thing for thing in sorted(things) if self._may_flow[thing]]
        lines = self._lines_in(container)
        return split_at_bottlenecks(boxes, lines, self._is_activation, _LEAST, _MOST_BETWEEN)

    def steps(self, container: int, things: Iterable[int]) -> list[list[int]]:
        """What comes again and again in the order of the graph."""
        boxes = [thing for thing in things if self._may_step[thing]]
        boxes.sort(key=self._first_op.__getitem__)
        return find_steps(boxes, self._color, self._lines_in(container))

    def blocks(
        self, container: int, parts: list[list[int]], words: dict[int, tuple[str, ...]]
    ) -> list[_Block]:
        """Parts with what feeds them, called after the box at their end."""
        if not parts:
            return []
        may = ~self._boxes & (self._edges.around == container)
        wholes = add_feeders(parts, self._edges, may)
        blocks = []
        for part, whole in zip(parts, wholes, strict=True):
            name = UP_TO + "_".join(words[part[-1]])
            blocks.append(_Block(container, name, things=whole, boxes=part))
        return blocks

    def _lines_in(self, container: int) -> Lines:
        first, stop = np.searchsorted(self._containers, (container, container + 1))
        return self._lines[0][first:stop], self._lines[1][first:stop]


def _select_acyclic(
    blocks: list[_Block], edges: SiblingEdges, lines: Lines, count: Ints
) -> list[_Block]:
    """The blocks without cycles, where half of each container's boxes are in blocks."""
    acyclic = _without_cycles(blocks, lines, len(edges.around))
    if len(acyclic) < len(blocks):
        # One that is a cycle by itself, as all sums of a network are, takes others with it.
        good = {block.things[0] for block in acyclic}
        blocks = [
            each for each in blocks if each.things[0] in good or _is_whole(each, edges, lines)
        ]
        acyclic = _without_cycles(blocks, lines, len(edges.around))
    grouped = np.zeros_like(count)
    for block in acyclic:
        grouped[block.container] += len(block.boxes)
    return [block for block in acyclic if 2 * grouped[block.container] >= count[block.container]]


def _without_cycles(blocks: list[_Block], lines: Lines, things: int) -> list[_Block]:
    acyclic = {part[0] for part in keep_acyclic([block.things for block in blocks], lines, things)}
    return [block for block in blocks if block.things[0] in acyclic]


def _is_whole(block: _Block, edges: SiblingEdges, lines: Lines) -> bool:
    """Whether nothing lies between members of a block."""
    beside = edges.around[lines[0]] == block.container
    a, b = lines[0][beside], lines[1][beside]
    local = distinct(np.concatenate([a, b, block.things]))
    members = np.searchsorted(local, block.things).tolist()
    local_lines = np.searchsorted(local, a), np.searchsorted(local, b)
    return bool(keep_acyclic([members], local_lines, len(local)))


def _name_words(index: GraphIndex, outline: Outline, container: int) -> dict[int, tuple[str, ...]]:
    """The items of a container, as numbered in Siblings, with the words of their names."""
    prefix = outline.prefix(container)
    names: dict[int, str] = {}
    for node in outline.children[container]:
        if not outline.members[node]:
            names[node] = outline.names[node]
    for op in np.flatnonzero(outline.home == container).tolist():
        names[len(outline) + op] = index.names[op]
    words = {}
    for thing, name in names.items():
        if name.startswith(prefix):
            first_part = name.removeprefix(prefix).partition("/")[0]
            words[thing] = tuple(first_part.split("_"))
    return words


def _group_by_prefix(
    container: int, words: dict[int, tuple[str, ...]], boxes: Mask, depth: int = 0
) -> Iterator[_Block]:
    """Group by the shortest prefix common to few boxes that has at most `depth` words."""
    longer = [(name_words, thing) for thing, name_words in words.items() if len(name_words) > depth]
    for _, some in groupby(sorted(longer), key=lambda pair: pair[0][depth]):
        part = {thing: name_words for name_words, thing in some}
        members = [thing for thing in part if boxes[thing]]
        if len(members) > _MOST:
            yield from _group_by_prefix(container, part, boxes, depth + 1)
        elif len(members) >= _LEAST:
            # Of tuples, the least and the greatest have in common what all have.
            word_pairs = zip(min(part.values()), max(part.values()), strict=False)
            common = [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], word_pairs)]
            yield _Block(container, "_".join(common) + BEGUN, [*part], members)


def _with_things_between(
    blocks: list[_Block], words: dict[int, dict[int, tuple[str, ...]]], boxes: Mask, lines: Lines
) -> list[_Block]:
    """The blocks with what lies between their members and is in no block: "activation_11", which
    Keras has named.
    """
    block_of = {thing: number for number, block in enumerate(blocks) for thing in block.things}
    things = []
    for container in {block.container for block in blocks}:
        things += [thing for thing in sorted(words[container]) if boxes[thing]]
    order = topological_order(things, lines)
    sources: dict[int, list[int]] = {thing: [] for thing in order}
    targets: dict[int, list[int]] = {thing: [] for thing in order}
    is_ordered = np.isin(lines[0], order) & np.isin(lines[1], order)
    for a, b in zip(lines[0][is_ordered].tolist(), lines[1][is_ordered].tolist(), strict=True):
        sources[b].append(a)
        targets[a].append(b)
    come_from = _only_blocks(order, sources, block_of)
    lead_to = _only_blocks(order[::-1], targets, block_of)
    between: dict[int, list[int]] = {}
    for thing, number in come_from.items():
        if number is not None and lead_to[thing] == number:
            between.setdefault(number, []).append(thing)
    complete = []
    for number, block in enumerate(blocks):
        more = between.get(number, [])
        complete.append(replace(block, things=[*block.things, *more], boxes=[*block.boxes, *more]))
    return complete


def _only_blocks(
    order: list[int], neighbors: dict[int, list[int]], block_of: dict[int, int]
) -> dict[int, int | None]:
    """For what is in no block the only block that its neighbors are in, over others in none."""
    only: dict[int, int | None] = {}
    for thing in order:
        if thing not in block_of:
            near = {block_of.get(each, only.get(each)) for each in neighbors[thing]}
            only[thing] = near.pop() if len(near) == 1 else None
    return only


def _select_wired(blocks: list[_Block], edges: SiblingEdges) -> list[_Block]:
    """The blocks of whose boxes half are wired to another thing of the same block."""
    if not blocks:
        return []
    count = len(edges.around)
    block_of = contract([block.things for block in blocks], count)
    within = block_of[edges.source] == block_of[edges.target]
    wired = np.zeros(count, dtype=bool)
    wired[edges.source[within]] = wired[edges.target[within]] = True
    return [block for block in blocks if 2 * wired[block.boxes].sum() >= len(block.boxes)]


def _group(block: _Block, outline: Outline) -> SiblingGroup:
    """A block as nodes of the outline and ops."""
    count, name = len(outline), f"{outline.prefix(block.container)}{block.name}"
    nodes = [thing for thing in block.things if thing < count]
    ops = [thing - count for thing in block.things if thing >= count]
    return SiblingGroup(name, block.container, nodes, ops)
