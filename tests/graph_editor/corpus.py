"""The corpus recorded from TensorFlow 1.15's graph_editor: its cases, its graphs, and how a case's
words are meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.python.framework import meta_graph

import tfgraphwidget.graph_editor as ge

v1 = tf.compat.v1
CORPUS = Path(__file__).parents[1] / "corpus" / "graph_editor"
INDEX: list[dict[str, Any]] = json.loads((CORPUS / "index.json").read_text())
SELECTION = [entry for entry in INDEX if entry["class"] == "selection"]
COPIES = [
    e for e in INDEX if e["kind"] in {"copy", "copy_with_input_replacements", "graph_replace"}
]
EDITS = [e for e in INDEX if e["class"] == "transform" and e not in COPIES]

RIGHT = {
    # The original took the scope for a pattern: "a.b" held "a-b" and "a_b" too (PARITY 20, and the
    # case's own note).
    "tricky_names__get_name_scope_ops__05": {"ops_in_order": ["net-1/a.b"]},
}
"""What is right where the recorded value is a defect of the original, by case."""


def case_of(entry: dict[str, Any]) -> dict[str, Any]:
    """A case, with what is right in place of what is recorded."""
    case: dict[str, Any] = json.loads((CORPUS / entry["case_file"]).read_text())
    case["expected"] = RIGHT.get(case["id"], case["expected"])
    return case


@cache
def graph_of(file: str, setup: str = "[]") -> tf.Graph:
    """A graph of the corpus with the ops of `setup` (JSON) added; shared, since selecting changes
    nothing.
    """
    return fresh_graph(file, json.loads(setup))


def fresh_graph(file: str, setup: list[dict[str, Any]]) -> tf.Graph:
    """A graph of the corpus with the ops of `setup` added."""
    path = CORPUS / file
    if path.suffix == ".pbtxt":
        meta = text_format.Parse(path.read_text(), v1.MetaGraphDef())
    else:
        meta = v1.MetaGraphDef.FromString(path.read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        meta_graph.import_scoped_meta_graph(meta)
    add_setup(graph, setup)
    return graph


def add_setup(graph: tf.Graph, setup: list[dict[str, Any]]) -> None:
    """Make the ops that a case wants made first."""
    with graph.as_default():
        for made in setup:
            if made["op"] == "placeholder":
                shape = made["shape"] and [None if n == -1 else n for n in made["shape"]]
                v1.placeholder(made["dtype"], shape, name=made["name"])
            else:
                tf.constant(made["value"], made["dtype"], name=made["name"])


def graph_for(case: dict[str, Any]) -> tf.Graph:
    """The graph of a case."""
    return graph_of(case["graph_file"], json.dumps(case.get("setup", [])))


def predicate(words: Any) -> Callable[[Any], bool] | None:
    """A filter on ops, from its words in the corpus."""
    if words is None:
        return None
    if "type_in" in words:
        return lambda op: op.type in words["type_in"]
    if "type_not_in" in words:
        return lambda op: op.type not in words["type_not_in"]
    return lambda op: re.search(words["name_regex"], op.name) is not None


class Asked:
    """The arguments of a case on its graph."""

    def __init__(self, case: dict[str, Any], graph: tf.Graph | None = None) -> None:
        self.graph = graph_for(case) if graph is None else graph
        self.args = dict(case["args"])

    def ops(self, names: Any) -> Any:
        """Live ops; "<graph>" is the graph."""
        return (
            self.graph
            if names == "<graph>"
            else [self.graph.get_operation_by_name(name) for name in names]
        )

    def ts(self, names: list[str]) -> list[Any]:
        """Live tensors."""
        return [self.graph.get_tensor_by_name(name) for name in names]

    def keywords(self) -> dict[str, Any]:
        """The arguments as keyword arguments of the original's functions."""
        return dict(self._keyword(key, value) for key, value in self.args.items())

    def _keyword(self, key: str, value: Any) -> tuple[str, Any]:
        if key in {"control_outputs", "control_ios"}:
            return key, ge.ControlOutputs(self.graph) if value else None
        if key in {"positive_filter", "within_ops_fn"}:
            return key, predicate(value)
        if key.endswith("seed_ts"):
            return key.removesuffix("ts") + "ops", self.ts(value)
        if key.endswith(("_ts", "ts")) and isinstance(value, list):
            return key, self.ts(value)
        return key, self.ops(value) if key.endswith("ops") else value

    def view(self, key: str = "view") -> ge.SubGraphView:
        """A view of a case."""
        words = self.args[key]
        if "scope" in words:
            made = ge.make_view_from_scope(words["scope"], self.graph)
        else:
            given = [self.graph] if words.get("graph") else []
            held = [self.ops(words.get("ops", [])), self.ts(words.get("ts", []))]
            made = ge.make_view(*words.get("regex", []), *given, *held, graph=self.graph)
        for method, *args in words.get("then", []):
            made = getattr(made, method)(*map(self._positions, args))
        return made

    def _positions(self, arg: Any) -> Any:
        return (
            [self.ts([i])[0] if isinstance(i, str) else i for i in arg]
            if isinstance(arg, list)
            else arg
        )


def names(items: Any) -> list[str]:
    """The names of ops or tensors, in order."""
    return [item.name for item in items]
