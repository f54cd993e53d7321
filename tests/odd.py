"""Graphs that no viewer likes, as GraphDefs: what files may hold, and what large models come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from tests.conftest import v1

IMAGE = "<img src=x onerror=alert(1)>"


def graph_def(ops: Iterable[tuple[str, str, Iterable[str]]]) -> Any:
    """A GraphDef of (name, type, inputs)."""
    made = v1.GraphDef()
    for name, kind, inputs in ops:
        node = made.node.add(name=name, op=kind)
        node.input.extend(inputs)
        if kind in {"Placeholder", "Const"}:
            node.attr["dtype"].type = 1
        elif kind != "NoOp":
            node.attr["T"].type = 1
        if kind == "AddN":
            node.attr["N"].i = len(node.input)
    return made


def _chain(names: Iterable[str]) -> Any:
    known = list(names)
    return graph_def(
        [(known[0], "Placeholder", ()), *((b, "Relu", (a,)) for a, b in pairwise(known))]
    )


GRAPHS: dict[str, Callable[[], Any]] = {
    "names of a thousand characters": lambda: _chain(
        [f"{letter * 1000}/{letter * 999}" for letter in "abc"]
    ),
    "unicode": lambda: _chain(
        ["größe", "层/卷积", "🙂/🙃", "مرحبا", "a\u202eb", "e\u0301", "\u00e9"]
    ),
    "names that differ in case only": lambda: _chain(["net/A", "net/a", "Net/a", "NET/A"]),
    "markup": lambda: _chain(
        [IMAGE, f"{IMAGE}/{IMAGE}", "<script>alert(2)</script>", "&amp;", '"\'`${1}', "%s {0}"]
    ),
    "ten thousand siblings": lambda: graph_def(
        [("x", "Placeholder", ())]
        + [(f"all/a{i}", ("Relu", "Tanh")[i % 2], ("x",)) for i in range(10_000)]
    ),
    "ten thousand in a row": lambda: _chain([f"row/r{i}" for i in range(10_000)]),
    "an op with 5,000 inputs": lambda: graph_def(
        [
            *((f"in/p{i}", ("Placeholder", "Const")[i % 2], ()) for i in range(5_000)),
            ("sum", "AddN", [f"in/p{i}" for i in range(5_000)]),
        ]
    ),
    "self-loops and cycles": lambda: graph_def(
        [
            ("a", "Relu", ("a",)),
            ("b", "AddV2", ("c", "a")),
            ("c", "Relu", ("b",)),
            ("s/d", "AddV2", ("s/d", "t/e")),
            ("t/e", "Relu", ("s/d",)),
        ]
    ),
    "parts that nothing joins": lambda: graph_def(
        (f"s{i}/a/{j}", "Placeholder", ()) for i in range(60) for j in range(3)
    ),
    "scopes in scopes in scopes": lambda: _chain(
        ["/".join(["deep"] * depth) + "/op" for depth in range(1, 120)]
    ),
    "nothing": v1.GraphDef,
}  # fmt: skip
