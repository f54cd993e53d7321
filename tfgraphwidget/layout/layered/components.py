"""What the inside of a container is made of, whatever the sizes: connected parts, lines, ranks, quiet nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tfgraphwidget.layout.layered.layering import Arc, flipped, ranks

BORDER = -1


class Line(NamedTuple):
    """One line; an end that is BORDER is the container's. `loose` (control) lines do not decide the ranks."""

    source: int
    target: int
    loose: bool = False
    loop: bool = False


@dataclass(frozen=True, eq=False)
class Part:
    """A connected part: its `nodes` and the numbers of its `lines`, both ascending.

    `inner` are the lines with the part's own numbers of nodes. `rank` is per node, `turned` per line whether it goes
    up; `arcs` are the firm lines between nodes, all downwards.
    """

    nodes: Sequence[int]
    lines: Sequence[int]
    inner: Sequence[Line]
    rank: list[int]
    turned: list[bool]
    arcs: Sequence[Arc]


@dataclass(frozen=True, eq=False)
class Structure:
    """`count` nodes and `lines` as connected parts; `quiet` nodes stand apart, without lines."""

    count: int
    lines: Sequence[Line]
    parts: Sequence[Part]
    quiet: Sequence[int]


def structured(aside: Sequence[int], lines: Sequence[Line]) -> Structure:
    """The structure of a container's inside; `aside` says which nodes are bookkeeping.

    What stands alone beside a network is best out of its way, too.
    """
    parts = _parts(lines, aside)
    quiet = [node for node, apart in enumerate(aside) if apart]
    if any(own for _, own in parts):
        quiet = sorted(quiet + [nodes[0] for nodes, own in parts if not own])
        parts = [part for part in parts if part[1]]
    return Structure(len(aside), lines, [part_of(nodes, own, lines) for nodes, own in parts], quiet)


def is_firm(line: Line) -> bool:
    """Whether it joins two nodes, and decides their ranks."""
    return not line.loose and BORDER not in line[:2]


def connected(lines: Sequence[Line], count: int) -> Structure:
    """The structure of nodes of which none is bookkeeping."""
    return structured([0] * count, lines)


def _parts(lines: Sequence[Line], aside: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Connected parts as (nodes, lines), ascending; the border joins what touches it. The first node's comes first."""
    root = list(range(len(aside) + 1))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for line in lines:
        a, b = find(line.source), find(line.target)
        root[max(a, b)] = min(a, b)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for node, apart in enumerate(aside):
        if not apart:
            groups.setdefault(find(node), ([], []))[0].append(node)
    for number, line in enumerate(lines):
        groups[find(max(line.source, line.target))][1].append(number)
    return list(groups.values())


def part_of(nodes: list[int], own: list[int], lines: Sequence[Line]) -> Part:
    """A part of these nodes and of the lines of these numbers, both ascending."""
    number = {node: i for i, node in enumerate(nodes)}
    number[BORDER] = BORDER
    inner = [Line(number[lines[i].source], number[lines[i].target], lines[i].loose, lines[i].loop) for i in own]
    turned = [False] * len(inner)
    firm = [i for i, line in enumerate(inner) if is_firm(line)]
    ends = [(inner[i].source, inner[i].target) for i in firm]
    loops = {k for k, i in enumerate(firm) if inner[i].loop}
    for i, turn in zip(firm, flipped(len(nodes), ends, loops), strict=True):
        turned[i] = turn
    arcs = [(b, a) if turned[i] else (a, b) for i, (a, b) in zip(firm, ends, strict=True)]
    heads = {line.target for line in inner if line.source == BORDER and not line.loose}
    tails = {line.source for line in inner if line.target == BORDER and not line.loose}
    return Part(nodes, own, inner, ranks(len(nodes), arcs, heads, tails), turned, arcs)
