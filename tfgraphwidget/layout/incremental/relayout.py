"""A part drawn again with other lines, or with a node more or less.

Rows and columns stay where all lines still run down; a node that a new line leads to moves down as many rows as it
must, and takes along only what follows it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from tfgraphwidget.layout.incremental.previous_layout import Like
from tfgraphwidget.layout.incremental.stretch import Was
from tfgraphwidget.layout.layered.components import BORDER, Part, Structure, is_firm, part_of
from tfgraphwidget.layout.layered.layered_graph import Cut, Flow, Net, Plan, nets_of, planned, ups
from tfgraphwidget.layout.layered.layering import topological

Group = tuple[list[int], list[int]]


def rejoined(structure: Structure, like: Like) -> tuple[Structure, list[int]]:
    """The structure with what was one part in one part still, even if no line joins it any more.

    Also, per part, the number of the part that it was; -1 for a new one.
    """
    old = like.drawing.structure
    if like.drawing.asked is structure and all(was == node for node, was in enumerate(like.number)):
        return old, list(range(len(old.parts)))
    was = {node: i for i, part in enumerate(old.parts) for node in part.nodes}
    before = [was.get(number, -1) for number in like.number]
    groups: dict[int, Group] = {}
    whole: dict[int, Part] = {}
    for i, part in enumerate(structure.parts):
        votes = Counter(before[node] for node in part.nodes if before[node] >= 0)
        base = max(votes, key=lambda one: (votes[one], -one)) if votes else -1 - i
        nodes, lines = groups.setdefault(base, ([], []))
        whole[base] = part
        nodes += part.nodes
        lines += part.lines
    quiet = []
    for node in structure.quiet:
        if before[node] >= 0:
            groups.setdefault(before[node], ([], []))[0].append(node)
        else:
            quiet.append(node)
    parts = []
    for base, (nodes, lines) in sorted(groups.items(), key=lambda group: min(group[1][0])):
        same = whole.get(base)
        if same is None or len(same.nodes) < len(nodes):
            same = part_of(sorted(nodes), sorted(lines), structure.lines)
        parts.append((same, max(base, -1)))
    joined = Structure(structure.count, structure.lines, [part for part, _ in parts], quiet)
    return joined, [base for _, base in parts]


def replanned(before: Plan, flow: Flow, number: Sequence[int]) -> tuple[Plan, Was] | None:
    """The plan with other lines, and which vertices were which; `number` is the same per node, -1 for a new one.

    None where lines with new nodes run in a circle.
    """
    starts = list(accumulate((len(layers) - 2 for layers in before.layers[:-1]), initial=0))
    old = [starts[column] + level - 1 for column, level in zip(before.column, before.level, strict=True)]
    own = [old[was] if was >= 0 else None for was in number]
    turned = _turned(before, flow, number)
    rank = _pushed(flow, turned, own)
    if rank is None:  # a new line closes a circle with one that was turned: it goes up where it would else move much
        turned = _as_they_stand(flow, turned, own)
        rank = _pushed(flow, turned, own)
    if rank is None:
        return None
    turned = ups(flow.lines, rank, turned)
    used = sorted(set(rank))
    begins = [0, *(bisect_left(used, start) for start in starts[1:])]
    row = {at: i for i, at in enumerate(used)}
    plan = planned(flow, Cut([row[at] for at in rank], begins, turned, nets_of(flow, turned)))
    levels = _levels(before, plan, used, starts, begins)
    known = {node: was for node, was in enumerate(number) if was >= 0}
    same = {node: was for node, was in known.items() if rank[node] == old[was]}
    moved = {node: was for node, was in known.items() if node not in same}
    for (net, column, level), vertex in plan.lanes.items():
        was = before.lanes.get((_was(net, number), column, levels[column].get(level, -1)))
        if was is not None:
            same[vertex] = was
    return plan, Was(same, moved)


def _was(net: Net, number: Sequence[int]) -> Net:
    kind, node = net
    return (kind, node if kind == "far" or node == BORDER else number[node])


def _levels(
    before: Plan, plan: Plan, used: Sequence[int], starts: Sequence[int], begins: Sequence[int]
) -> list[dict[int, int]]:
    """Per column, which level each level was."""
    made = []
    for column, (start, begin) in enumerate(zip(starts, begins, strict=True)):
        last, was = plan.last(column), before.last(column)
        levels = {level: used[begin + level - 1] - start + 1 for level in range(1, last)}
        made.append({0: 0, last: was} | {level: at for level, at in levels.items() if 0 < at < was})
    return made


def _turned(before: Plan, flow: Flow, number: Sequence[int]) -> list[bool]:
    """Per line whether it goes up: as it did before; a new one as its part has it."""
    went = {line[:2]: up for line, up in zip(before.flow.lines, before.turned, strict=True) if is_firm(line)}
    return [
        went.get((number[line.source], number[line.target]), up) if is_firm(line) else up
        for line, up in zip(flow.lines, flow.part.turned, strict=True)
    ]


def _as_they_stand(flow: Flow, turned: Sequence[bool], own: Sequence[int | None]) -> list[bool]:
    """Per line whether it goes up, with all that join rows of the plan before as these were."""
    made = []
    for line, up in zip(flow.lines, turned, strict=True):
        a, b = (own[line.source], own[line.target]) if is_firm(line) else (None, None)
        made.append(up if a is None or b is None or a == b else a > b)
    return made


def _pushed(flow: Flow, turned: Sequence[bool], own: Sequence[int | None]) -> list[int] | None:
    """The rank of each node: its own, or further down where a line asks for it; None where lines run in a circle."""
    count = len(flow.sizes)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for line, turn in zip(flow.lines, turned, strict=True):
        if not is_firm(line):
            continue
        upper, lower = (line.target, line.source) if turn else (line.source, line.target)
        above[lower].append(upper)
        below[upper].append(lower)
    order = topological(above, below)
    if len(order) < count:
        return None
    rank = _guessed(own, order[::-1], below)
    for node in order:
        rank[node] = max([rank[node], *(rank[a] + 1 for a in above[node])])
    return rank


def _guessed(own: Sequence[int | None], upwards: Sequence[int], below: Sequence[Sequence[int]]) -> list[int]:
    """Ranks, and for new nodes the row above the first that reads them: it may be above all others."""
    rank = [0 if at is None else at for at in own]
    lowest = max(rank, default=0)
    for node in upwards:
        if own[node] is None:
            rank[node] = min((rank[b] - 1 for b in below[node]), default=lowest)
    return rank
