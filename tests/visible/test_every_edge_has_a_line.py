"""Between two boxes there is a line exactly if an edge is, or the boxes count the edge among those
without a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.checks import graph_of
from tests.layout.drawn_graphs import MODELS
from tests.rounds import ROUNDS
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import (
    OPEN,
    VisibleGraph,
    build_visible_graph,
    default_open,
)

Line = tuple[int, int]


def edges_of(index: GraphIndex) -> Iterator[tuple[int, int, int]]:
    """All edges as (producer, port, consumer), of each tensor and consumer once; control edges have
    the port -1.
    """
    for op in range(len(index)):
        start, stop = index.inputs.start[op : op + 2].tolist()
        producers, ports = (
            index.inputs.values[start:stop].tolist(),
            index.ports[start:stop].tolist(),
        )
        yield from ((producer, port, op) for producer, port in zip(producers, ports, strict=True))
        start, stop = index.controls.start[op : op + 2].tolist()
        yield from ((producer, -1, op) for producer in index.controls.values[start:stop].tolist())


def segments(shown: VisibleGraph, source: int, target: int) -> Iterator[Line]:
    """The lines that an edge between two boxes is cut into at the borders on its way."""
    while shown.parent[source] != shown.parent[target]:
        rises, falls = (
            shown.depth[source] >= shown.depth[target],
            shown.depth[target] >= shown.depth[source],
        )
        up, down = int(shown.parent[source]), int(shown.parent[target])
        if rises:
            yield source, up
        if falls:
            yield down, target
        source, target = up if rises else source, down if falls else target
    yield source, target


def boxes_between(index: GraphIndex, shown: VisibleGraph) -> Counter[Line]:
    """How many edges go from one box to another; an op that is a badge at its consumers needs
    none.
    """
    seen: Counter[Line] = Counter()
    drawn = shown.kind[shown.home_of_op] != OPEN
    drawn[shown.badge_op] = False
    for producer, _, consumer in edges_of(index):
        ends = int(shown.home_of_op[producer]), int(shown.home_of_op[consumer])
        if ends[0] != ends[1] and drawn[producer] and drawn[consumer]:
            seen[ends] += 1
    return seen


def is_apart(shown: VisibleGraph, item: int) -> int:
    """The outermost box drawn apart around an item, or 0."""
    while item > 0 and not shown.aside[item]:
        item = int(shown.parent[item])
    return max(item, 0)


def check_lines(index: GraphIndex, opened: frozenset[str], *, badges: bool) -> None:
    """Check the lines of a view, and what its boxes count as left out."""
    shown = build_visible_graph(index, ViewSpec(opened, badges=badges))
    between = boxes_between(index, shown)
    lines = set(zip(shown.source.tolist(), shown.target.tolist(), strict=True))
    crossing = {
        (a, b)
        for a, b in between
        if shown.part[a] != shown.part[b] or is_apart(shown, a) != is_apart(shown, b)
    }
    for a, b in between.keys() - crossing:
        assert lines.issuperset(segments(shown, a, b)), (
            f"{shown.names[a]} -> {shown.names[b]} has no line"
        )
    backed = {line for a, b in between for line in segments(shown, a, b)}
    assert lines <= backed, [(shown.names[a], shown.names[b]) for a, b in lines - backed]
    for a, b in crossing:
        if not lines.issuperset(segments(shown, a, b)):
            assert shown.omitted[a] > 0, f"{shown.names[a]} hides its edge to {shown.names[b]}"
            assert shown.omitted[b] > 0, f"{shown.names[b]} hides its edge from {shown.names[a]}"
    ends = np.zeros(len(shown), dtype=np.int64)
    for line in crossing:
        ends[list(line)] += between[line]
    assert (shown.omitted <= ends).all()
    assert shown.omitted.sum() % 2 == 0


@st.composite
def graphs(draw: st.DrawFn) -> tuple[GraphIndex, frozenset[str]]:
    """Random ops in random scopes, some of them gradients, variables, savers and NoOps, and random
    scopes open.
    """
    scopes = ("", "a/", "a/b/", "c/", "c/d/e/", "gradients/", "a/gradients/", "save/")
    types = (
        "Placeholder",
        "Relu",
        "Add",
        "Const",
        "VariableV2",
        "Identity",
        "NoOp",
        "SaveV2",
        "ApplyAdam",
    )
    ops: dict[str, str] = {}
    for number in range(draw(st.integers(2, 24))):
        before = st.sampled_from(sorted(ops)) if ops else st.nothing()
        some = draw(st.lists(before, max_size=3)) if ops else []
        control = draw(st.lists(before.map("^{}".format), max_size=1)) if ops else []
        name = f"{draw(st.sampled_from(scopes))}op{number}"
        ops[name] = " ".join([draw(st.sampled_from(types)), *some, *control])
    index = graph_of(ops)
    names = outline_of(index)[0].names
    return index, frozenset(draw(st.lists(st.sampled_from(list(names)))))


@pytest.mark.no_tensorflow
@settings(max_examples=40 * ROUNDS)
@given(graphs(), st.booleans())
def test_of_random_graphs_every_edge_has_a_line_or_is_counted(made, badges):
    check_lines(*made, badges=badges)


@pytest.fixture(
    scope="module", params=["slim_inception_v3_infer", "seq2seq_v1", "dqn_online_train"]
)
def model(request: pytest.FixtureRequest) -> GraphIndex:
    """One of the demo's models."""
    from tensorflow.core.protobuf import meta_graph_pb2

    meta = meta_graph_pb2.MetaGraphDef()
    meta.ParseFromString((MODELS / f"{cast('str', request.param)}.meta").read_bytes())
    return build(meta.graph_def.node)


@pytest.mark.parametrize("opened", ["nothing", "at first", "everything"])
def test_of_the_models_every_edge_has_a_line_or_is_counted(model, opened):
    views = {
        "nothing": frozenset(),
        "at first": default_open(model),
        "everything": outline_of(model)[0].names,
    }
    check_lines(model, frozenset(views[opened]), badges=True)
