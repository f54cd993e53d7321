"""What the original's walks and boundaries mean, said as plainly as can be, on names; and random
graphs to try it on.

Nothing here shares code with the package: edges are read from NodeDefs, and a walk adds one op at a
time until no edge adds another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from hypothesis import strategies as st

Edge = tuple[str, str, str]
"""(op, tensor, reader); for a control edge the tensor is "^"."""


@dataclass(frozen=True)
class Facts:
    """A graph as names."""

    ops: tuple[str, ...]
    data: tuple[Edge, ...]
    control: tuple[Edge, ...]
    tensors: tuple[str, ...]

    @classmethod
    def of(cls, graph: tf.Graph) -> Facts:
        data, control = [], []
        ops = graph.get_operations()
        for op in ops:
            for text in op.node_def.input:
                if text.startswith("^"):
                    control.append((text[1:], "^", op.name))
                else:
                    name, _, port = text.partition(":")
                    data.append((name, f"{name}:{port or 0}", op.name))
        tensors = tuple(f"{op.name}:{port}" for op in ops for port in range(len(op.outputs)))
        return cls(tuple(op.name for op in ops), tuple(data), tuple(control), tensors)


def walked(
    steps: Iterable[tuple[str, str]],
    seeds: Collection[str],
    allowed: Callable[[str], bool],
    inclusive: bool,
) -> set[str]:
    """What is reached by (from, to) steps."""
    steps, found = list(steps), set(seeds)
    grown = True
    while grown:
        grown = False
        for start, end in steps:
            if start in found and end not in found and allowed(end):
                found.add(end)
                grown = True
    return found if inclusive else found - set(seeds)


def forward(
    facts: Facts, seeds: Any, within: Any, fn: Any, stop: Any, controls: bool, inclusive: bool
) -> set[str]:
    steps = [(a, b) for a, t, b in facts.data if t not in stop] + [
        (a, b) for a, _, b in facts.control if controls
    ]
    return limited(steps, seeds, within, fn, inclusive)


def backward(
    facts: Facts, seeds: Any, within: Any, fn: Any, stop: Any, controls: bool, inclusive: bool
) -> set[str]:
    steps = [(b, a) for a, t, b in facts.data if t not in stop] + [
        (b, a) for a, _, b in facts.control if controls
    ]
    return limited(steps, seeds, within, fn, inclusive)


def limited(steps: Any, seeds: Any, within: Any, fn: Any, inclusive: bool) -> set[str]:
    """Seeds outside a `within` that is not empty are dropped; `fn` is not asked about seeds."""
    if within:
        seeds = [s for s in seeds if s in within]
    return walked(
        steps,
        seeds,
        lambda op: (within is None or op in within) and (fn is None or fn(op)),
        inclusive,
    )


def next_to(facts: Facts, ops: Collection[str], ins: bool, outs: bool) -> set[str]:
    found = {a for a, _, b in facts.data if b in ops} | {b for a, _, b in facts.data if a in ops}
    found |= {a for a, _, b in facts.control if ins and b in ops}
    return found | {b for a, _, b in facts.control if outs and a in ops}


def within_boundary(
    facts: Facts, ops: Any, seeds: Any, wall: Any, inclusive: bool, ins: bool, outs: bool
) -> list[str]:
    steps = [(a, b) for a, _, b in facts.data] + [(b, a) for a, _, b in facts.data]
    steps += [(b, a) for a, _, b in facts.control if ins] + [
        (a, b) for a, _, b in facts.control if outs
    ]
    found = walked([(a, b) for a, b in steps if a not in wall], seeds, lambda _: True, True)
    return [op for op in ops if op in found and (inclusive or op not in wall)]


def boundary(facts: Facts, ops: list[str]) -> tuple[list[str], list[str], list[str]]:
    read = list(dict.fromkeys(t for op in ops for _, t, b in facts.data if b == op))
    made = [t for op in ops for t in facts.tensors if t.rpartition(":")[0] == op]
    inputs = [t for t in read if t not in made]
    inside = [t for t in read if t in made]
    readers = {t: {b for _, u, b in facts.data if u == t} for t in made}
    return inputs, [t for t in made if not readers[t] or readers[t] - set(ops)], inside


SCOPES = ["", "net/", "net/a.b/", "net/a_b/", "net_1/", "Net/"]


@st.composite
def graphs(draw: st.DrawFn) -> tf.Graph:
    """Up to 14 ops with several outputs, control edges and perhaps a loop."""
    made = tf.compat.v1.GraphDef(versions={"producer": 1087})
    tensors: list[str] = []
    for i in range(draw(st.integers(1, 14))):
        kind = draw(
            st.sampled_from(
                ["Placeholder", "NoOp", "Identity", "AddN", "IdentityN", "Merge"]
                if tensors
                else ["Placeholder"]
            )
        )
        node = made.node.add(name=f"{draw(st.sampled_from(SCOPES))}{kind}{i}", op=kind)
        count = {"Identity": 1, "AddN": draw(st.integers(1, 3)), "IdentityN": 2, "Merge": 2}.get(
            kind, 0
        )
        node.input.extend(draw(st.sampled_from(tensors)) for _ in range(count))
        waits = (
            draw(
                st.lists(st.sampled_from([n.name for n in made.node][:-1]), max_size=2, unique=True)
            )
            if i
            else []
        )
        node.input.extend(f"^{name}" for name in waits)
        fill(node, kind, count)
        # A Merge's second output is not a float.
        outputs = {"NoOp": 0, "IdentityN": 2, "Merge": 1}.get(kind, 1)
        tensors += [f"{node.name}:{port}" for port in range(outputs)]
    add_loops(draw, made, tensors)
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(made, name="")
    return graph


def fill(node: Any, kind: str, count: int) -> None:
    """The attributes that an op of this kind needs."""
    if kind in {"AddN", "Merge"}:
        node.attr["N"].i = count
    if kind == "IdentityN":
        node.attr["T"].list.type.extend([tf.float32.as_datatype_enum] * count)
    elif kind != "NoOp":
        node.attr["dtype" if kind == "Placeholder" else "T"].type = tf.float32.as_datatype_enum


def add_loops(draw: st.DrawFn, made: Any, tensors: list[str]) -> None:
    """Let some Merge ops read what comes later, by way of a NextIteration, as in a while loop."""
    for i, merge in enumerate([node for node in made.node if node.op == "Merge"]):
        if draw(st.booleans()):
            node = made.node.add(
                name=f"back{i}", op="NextIteration", input=[draw(st.sampled_from(tensors))]
            )
            node.attr["T"].type = tf.float32.as_datatype_enum
            merge.input[1] = node.name
