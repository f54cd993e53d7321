"""The recorded selection cases through the package's own selections, wherever those have words for
them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.graph_editor.corpus import SELECTION, case_of, graph_for, graph_of, predicate
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import selectors, traversal
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.selection import Selection, pairs
from tfgraphwidget.sources.live.graph_body import GraphBody

NO_NATIVE_WORDS = {"filter_ts_from_regex", "placeholder_name", "select_ops_and_ts", "select_ts"}
"""Tensors by pattern, and names of placeholders."""


@cache
def index_of(file: str, setup: str = "[]") -> GraphIndex:
    body = GraphBody(graph_of(file, setup))
    return build(body.nodes(), typing=body.typing)


def index_for(case: dict[str, Any]) -> GraphIndex:
    graph_for(case)
    assert not case.get("setup")
    return index_of(case["graph_file"])


def seeds_of(args: dict[str, Any], which: str) -> list[str]:
    return args.get(f"{which}seed_ops", args.get(f"{which}seed_ts", []))


def room(index: GraphIndex, args: dict[str, Any], seeds: list[str]) -> Selection | None:
    """`within`; the original keeps seeds whatever `within_ops_fn` says, and when `within_ops` is
    empty.
    """
    within, holds = args.get("within_ops"), predicate(args.get("within_ops_fn"))
    if within is None and holds is None:
        return None
    held = selectors.ops(index, *(index.names if within is None else within or seeds))
    return (
        held
        if holds is None
        else held & (selectors.ops(index, where=holds) | selectors.ops(index, *seeds))
    )


def walk(index: GraphIndex, args: dict[str, Any], way: str, which: str = "") -> Selection:
    seeds = seeds_of(args, which)
    flag = "control_inputs" if way == "upstream" else "control_outputs"
    first = (
        [index.names[index.op(n)] for n in seeds] if way == "upstream" else readers(index, seeds)
    )
    return getattr(selectors, way)(
        index,
        *seeds,
        stop_at=args.get("stop_at_ts", ()),
        within=room(index, args, first),
        controls=bool(args.get(flag) or args.get("control_ios")),
        inclusive=args.get(f"{which}inclusive", True),
    )


def readers(index: GraphIndex, given: list[str]) -> list[str]:
    """Ops as they are, tensors as the ops that read them."""
    found = [
        traversal.consumers_of(index, [t]) if t[1] >= 0 else [t[0]] for t in pairs(index, given)
    ]
    return [index.names[i] for group in found for i in group]


def forward(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    return {"ops": sorted(walk(index, args, "downstream"))}


def backward(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    return {"ops": sorted(walk(index, args, "upstream"))}


def intersection(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "ops": sorted(
            walk(index, args, "downstream", "forward_") & walk(index, args, "upstream", "backward_")
        )
    }


def union(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "ops": sorted(
            walk(index, args, "downstream", "forward_") | walk(index, args, "upstream", "backward_")
        )
    }


def flags(args: dict[str, Any]) -> tuple[bool, bool]:
    """Whether control inputs are followed, and control outputs."""
    both = bool(args.get("control_ios"))
    return both or bool(args.get("control_inputs")), both or bool(args.get("control_outputs"))


def within_boundary(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    seeds, by, inclusive = (
        args["seed_ops"],
        args.get("boundary_ops", []),
        args.get("inclusive", True),
    )
    ins, outs = flags(args)
    if ins == outs:
        found = selectors.ops(index, *seeds).connected(until=by, inclusive=inclusive, controls=ins)
    else:
        wall = traversal.mask_of(index, map(index.op, by))
        reached = traversal.flood(
            index, map(index.op, seeds), wall, controls_in=ins, controls_out=outs
        )
        found = Selection(index, reached if inclusive else reached & ~wall, "")
    given = args.get("ops", "<graph>")
    held = found if given == "<graph>" else found & selectors.ops(index, *given)
    return {
        "ops": sorted(held),
        "ops_in_order": list(held) if given == "<graph>" else [n for n in given if n in held],
    }


def next_to(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    ins, outs = flags(args)
    held = selectors.ops(index, *args["ops"])
    near = Selection(
        index, traversal.neighbors(index, held.mask, controls_in=ins, controls_out=outs), ""
    )
    if ins == outs:
        assert held.grow(controls=ins) == held | near
    return {"ops": sorted(near)}


def boundary(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    held = selectors.ops(index, *args["ops"])
    return {key: list(getattr(held, key)) for key in ("inputs", "outputs", "inside")}


def scope(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    """In the original an op that is named as the scope counts too."""
    name = args["scope"].removesuffix("/")
    own = selectors.ops(index, *([name] if name in index.ids else []))
    try:
        return {"ops_in_order": list(own | selectors.scope(index, name))}
    except UnknownName:
        return {"ops_in_order": list(own)}


def by_pattern(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    found = selectors.ops(index, *args.get("ops", []))
    for pattern in args.get("regex", [args.get("pattern")]):
        if not pattern.startswith("(?#ts)") and (
            pattern.startswith("(?#ops)") or not args.get("restrict_ops_regex")
        ):
            found |= selectors.ops(index, matching=pattern)
    if holds := predicate(args.get("positive_filter")):
        found &= selectors.ops(index, where=holds)
    return {"ops_in_order": list(found)}


def view(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    words = args["view"]
    if "scope" in words:
        held = selectors.ops(
            index, matching=f"^{re.escape(words['scope'].removesuffix('/'))}(/.*)?$"
        )
    elif words.get("graph"):
        held = ~selectors.ops(index)
    else:
        held = selectors.ops(index, *words.get("ops", []), *words.get("ts", []))
        for pattern in words.get("regex", []):
            held |= selectors.ops(index, matching=pattern)
    through = len(held.passthroughs)
    given = {key: list(getattr(held, key)) for key in ("ops", "inputs", "outputs", "passthroughs")}
    given |= {
        f"connected_{key}": given[key][: len(given[key]) - through] for key in ("inputs", "outputs")
    }
    outside = set(readers(index, given["outputs"])) - set(held)
    return given | {"consumers": sorted(outside)}


def consuming(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    return {"ops": sorted(set(readers(index, args["ts"])))}


def generating(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    return {"ops_in_order": [index.names[index.op(t)] for t in args["ts"]]}


def control_outputs(index: GraphIndex, args: dict[str, Any]) -> dict[str, Any]:
    waiting = {name: index.control_consumers.row(i) for name, i in index.ids.items()}
    return {
        "map": {
            name: sorted(index.names[i] for i in rows)
            for name, rows in waiting.items()
            if np.size(rows)
        }
    }


RUN = {
    "compute_boundary_ts": boundary,
    "control_outputs": control_outputs,
    "filter_ops_from_regex": by_pattern,
    "get_backward_walk_ops": backward,
    "get_consuming_ops": consuming,
    "get_forward_walk_ops": forward,
    "get_generating_ops": generating,
    "get_name_scope_ops": scope,
    "get_ops_ios": next_to,
    "get_walks_intersection_ops": intersection,
    "get_walks_union_ops": union,
    "get_within_boundary_ops": within_boundary,
    "make_view": view,
    "select_ops": by_pattern,
}


def in_graph_order(index: GraphIndex, given: Any) -> bool:
    numbers = [] if given == "<graph>" else [index.ids[name] for name in given]
    return numbers == sorted(numbers)


def has_native_words(case: dict[str, Any]) -> bool:
    """A Selection has no inputs and outputs of one's own choice, as `remap` gives."""
    if case["kind"] == "make_view":
        return "then" not in case["args"]["view"] and not any(
            pattern.startswith("(?#ts)") for pattern in case["args"]["view"].get("regex", [])
        )
    return case["kind"] in RUN


NATIVE = [entry for entry in SELECTION if has_native_words(case_of(entry))]


@pytest.mark.parametrize("entry", NATIVE, ids=lambda entry: entry["id"])
def test_a_selection_is_what_the_original_gave(entry):
    case = case_of(entry)
    index, expected = index_for(case), case["expected"]
    if "raises" in expected:
        with pytest.raises(GraphEditError):
            RUN[case["kind"]](index, case["args"])
        return
    given = RUN[case["kind"]](index, case["args"])
    if not in_graph_order(index, case["args"].get("ops", [])) or case["kind"] in {
        "select_ops",
        "filter_ops_from_regex",
    }:
        # The original's order is that of the arguments, a Selection's always that of the graph.
        expected = {key: sorted(value) for key, value in expected.items()}
        given = {key: sorted(value) for key, value in given.items()}
    assert {key: given[key] for key in expected} == expected


def test_what_has_no_native_words_is_known():
    left = [entry for entry in SELECTION if entry not in NATIVE]
    assert {entry["kind"] for entry in left} == NO_NATIVE_WORDS | {"make_view"}
    assert set(RUN) | NO_NATIVE_WORDS == {entry["kind"] for entry in SELECTION}
    assert (len(NATIVE), len(left)) == (164, 33)
