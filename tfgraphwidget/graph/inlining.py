"""Inlining: the ops of functions in place of calls that only one of two graphs has.

A function that is called is its body: so a graph beside itself with all calls inlined, or with a
part made a function, differs by the calls alone. The same holds for a loop of TensorFlow 2 beside
the Enter, Switch and Merge ops that it becomes. Calls that both graphs have stay calls, and their
functions are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.attributes import AttributeDigests
from tfgraphwidget.graph.axis_orders import Axes
from tfgraphwidget.graph.boundary import needed_ops
from tfgraphwidget.graph.contraction import handed_on
from tfgraphwidget.graph.edges import Ids
from tfgraphwidget.graph.flattening import flatten
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.op_matching import find_matches
from tfgraphwidget.graph.op_types import CASTS, FUNCTION_CALLS, FUNCTIONAL_CONTROL_FLOW, PASSED_ON
from tfgraphwidget.naming import split_tensor, take_free_name
from tfgraphwidget.tf_types import NodeDef

MOST_TURNS = 4  # of matching and inlining: calls that lose their partner by it come next


@dataclass(frozen=True)
class InlinedGraph:
    """A graph of which some calls are inlined.

    Attributes:
        index: The graph with the ops of functions in place of calls.
        calls: The calls that were inlined, those in bodies of others included.
        loops: How many loops and conditionals became those of TensorFlow 1.
        helpers: The ops that are in no function and took the place of calls, such as those that
            give what the calls gave.
        bodies: The ops that are from functions.
        results: The tensors that the function returns of which the graph is the body, where the
            other graph is none.
    """

    index: GraphIndex
    calls: tuple[NodeDef, ...] = ()
    loops: int = 0
    helpers: frozenset[str] = frozenset()
    bodies: frozenset[str] = frozenset()
    results: tuple[str, ...] = ()

    @classmethod
    def of_body(cls, index: GraphIndex, results: Iterable[str]) -> InlinedGraph:
        """The body of a function that became a graph."""
        return cls(index, bodies=frozenset(index.names), results=tuple(results))

    @property
    def has_bodies(self) -> bool:
        """Whether something of it was in a function, or a loop was one of TensorFlow 2."""
        return bool(self.calls or self.loops or self.results)


@dataclass(frozen=True)
class MatchedGraphs:
    """Two graphs, and which op of the one is which of the other.

    Attributes:
        before: The first graph, with calls inlined that the second one does not have.
        after: The second one, in the same way.
        attributes: The digests of both.
        pair: For each op of `before` the number of the op of `after` that it is; -1 for none.
        evidence: For each op of `before` the place in EVIDENCE of what shows that.
        axes: Of a converted model's tensors, the order of their axes where it is not the model's.
    """

    before: InlinedGraph
    after: InlinedGraph
    attributes: tuple[AttributeDigests, AttributeDigests]
    pair: list[int]
    evidence: list[int]
    axes: Mapping[str, Axes]


def match_graphs(
    before: GraphIndex | InlinedGraph,
    after: GraphIndex | InlinedGraph,
    renamed: Mapping[str, str],
    outputs: tuple[Collection[str], Collection[str]] = ((), ()),
    *,
    inline: bool = True,
) -> MatchedGraphs:
    """Match the ops of two graphs, and inline the calls that only one of them has.

    Args:
        renamed: Names in `before` -> names in `after` that are known.
        outputs: The tensors that each graph is there for: calls that these do not need stay. ()
            for all.
        inline: Whether calls are inlined; else the graphs stay as they are.
    """
    one = before if isinstance(before, InlinedGraph) else InlinedGraph(before)
    other = after if isinstance(after, InlinedGraph) else InlinedGraph(after)
    is_one_graph = one.index.origin is other.index.origin
    may_inline = inline and bool(one.index.functions or other.index.functions)
    for turn in range(MOST_TURNS + 1):
        attributes = (
            AttributeDigests(one.index, gradient_numbers=is_one_graph),
            AttributeDigests(other.index, gradient_numbers=is_one_graph),
        )
        pair, evidence, axes = find_matches(one.index, other.index, attributes, renamed)
        if turn == MOST_TURNS or not may_inline:
            break
        back = np.full(len(other.index), -1, np.int32)
        back[pair[pair >= 0]] = np.flatnonzero(pair >= 0)
        pairs = pair.tolist(), back.tolist()
        calls, lower = _calls_to_inline(one.index, other.index, pairs[0], outputs[0])
        their_calls, their_lower = _calls_to_inline(other.index, one.index, pairs[1], outputs[1])
        now = (
            _with_inlined_calls(one, calls, lower=lower),
            _with_inlined_calls(other, their_calls, lower=their_lower),
        )
        if now == (one, other):
            break
        one, other = now
    if one.has_bodies or other.has_bodies:
        _unpair_other_identities(one.index, other.index, pair)
    return MatchedGraphs(one, other, attributes, pair.tolist(), evidence.tolist(), axes)


def _unpair_other_identities(before: GraphIndex, after: GraphIndex, pair: Ids) -> None:
    """Let ops with other names that hand on a tensor be no pair where it is another tensor: there
    may be any number of them where a call took its arguments and gave its results.
    """
    one = handed_on(before, PASSED_ON | CASTS, np.ones(len(before), bool))
    other = handed_on(after, PASSED_ON | CASTS, np.ones(len(after), bool))
    for i in np.flatnonzero(one.passed & (pair >= 0)).tolist():
        j = int(pair[i])
        root, port = one.root((i, 0))
        if before.names[i] != after.names[j] and (pair[root], port) != other.root((j, 0)):
            pair[i] = -1


def _with_inlined_calls(
    inlined: InlinedGraph, calls: Collection[str], *, lower: bool
) -> InlinedGraph:
    """The graph with further calls inlined, `lower` for loops and conditionals too, as those of
    TensorFlow 1; itself where a function calls itself.
    """
    index = inlined.index
    if not calls:
        return inlined
    used = index.used_names()

    def free(base: str) -> str:
        return take_free_name(base, used)

    try:
        flat = flatten(
            index, index.nodes, (), free, index.names, lower_control_flow=lower, only=calls
        )
    except (GraphEditError, KeyError, ValueError):  # a damaged function stays a call
        return inlined
    now = build(
        flat.nodes,
        index.collections,
        index.variable_defs,
        index.reserved,
        typing=index.typing,
        functions=index.functions,
        extras=index.extras,
        origin=index.origin,
    )
    new = now.ids.keys() - index.ids.keys()
    return InlinedGraph(
        now,
        inlined.calls + flat.calls,
        inlined.loops + flat.loops,
        inlined.helpers | flat.helpers,
        inlined.bodies | new - flat.helpers,
        inlined.results,
    )


def _calls_to_inline(
    index: GraphIndex, other: GraphIndex, pair: Sequence[int], outputs: Collection[str]
) -> tuple[list[str], bool]:
    """The calls of a graph that the other one does not have, and whether loops are to be those of
    TensorFlow 1. Calls that `outputs`, () for all, do not need stay.
    """
    if not index.functions:
        return [], False
    partners = set(pair)
    merges = [i for i, kind in enumerate(index.types) if kind == "Merge"]
    other_merges = [j for j, kind in enumerate(other.types) if kind == "Merge"]
    # Only the other graph has loops or conditionals of TensorFlow 1 that this one lacks.
    lower = not partners.issuperset(other_merges) and all(pair[i] >= 0 for i in merges)
    ops = [i for i in range(len(index)) if _is_alone(index, other, i, pair[i], lower=lower)]
    there = [name for name in outputs if split_tensor(name)[0] in index.ids]
    if there and ops:
        needed = needed_ops(index, (), there)
        ops = [i for i in ops if needed[i]]
    return [index.names[i] for i in ops], lower


def _is_alone(index: GraphIndex, other: GraphIndex, op: int, partner: int, *, lower: bool) -> bool:
    """Whether an op is a call, or where loops are lowered one of these, and its partner is none
    that takes and gives the same.
    """
    if _is_call(index, op):
        if partner < 0 or not _is_call(other, partner):
            return True
        return _arguments(index, op) != _arguments(other, partner)
    is_loop = lower and index.types[op] in FUNCTIONAL_CONTROL_FLOW
    return is_loop and (partner < 0 or other.types[partner] not in FUNCTIONAL_CONTROL_FLOW)


def _is_call(index: GraphIndex, op: int) -> bool:
    """Whether an op calls a function that is in the library of the graph."""
    node = index.nodes[op]
    if node.op in index.functions:
        return True
    return node.op in FUNCTION_CALLS and bool(called_functions(node, index.functions))


def _arguments(index: GraphIndex, call: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dtypes of what a call takes and gives."""
    read = tuple(index.dtypes(op)[port] for op, port in index.input_tensors(call))
    return read, index.dtypes(call)
