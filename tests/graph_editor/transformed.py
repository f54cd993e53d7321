"""Transform cases of the corpus: how they are run, and what they leave, told as the corpus
tells it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import Asked, add_setup, fresh_graph, names

v1 = tf.compat.v1
Node = dict[str, Any]


class Transformed:
    """A case that has been run on a graph of its own; with `at_once=False` one to be run by
    `do`.
    """

    def __init__(self, case: dict[str, Any], *, at_once: bool = True) -> None:
        self.case = case
        source = fresh_graph(case["graph_file"], case.get("setup", []))
        self.asked = Asked(case, source)
        self.source = source
        self.target = tf.Graph() if case["args"].get("dst_graph") == "new" else source
        add_setup(self.target, case["args"].get("dst_setup", []))
        self.before = {op.name: canonical(op) for op in self.target.get_operations()}
        self.collections_before = collected(self.target)
        self.report: dict[str, Any] = {}
        self.view: Any = None
        self.info: Any = None
        if at_once:
            self.do()

    def do(self) -> None:
        """Run the case."""
        getattr(self, self.case["kind"])(self.asked)

    def copy_of(self, op: tf.Operation) -> tf.Operation | None:
        """The copy of an op, as the case has named it."""
        name = self.case["expected"].get("op_map", {}).get(op.name)
        return None if name is None else self.target.get_operation_by_name(name)

    def _scopes(self) -> dict[str, Any]:
        return {
            k: v
            for k, v in self.case["args"].items()
            if k in {"dst_scope", "src_scope", "reuse_dst_scope"}
        }

    def _take(self, result: tuple[Any, Any]) -> None:
        self.view, self.info = result
        self.report["sgv"] = {
            "ops": sorted(names(self.view.ops)),
            "inputs": names(self.view.inputs),
            "outputs": names(self.view.outputs),
            "passthroughs": names(self.view.passthroughs),
        }
        copies = {op.name: self.info.transformed(op) for op in self.source.get_operations()}
        self.report["op_map"] = {
            name: copy.name for name, copy in copies.items() if copy is not None
        }

    def copy(self, asked: Asked) -> None:
        self._take(ge.copy(asked.view(), dst_graph=self.target, **self._scopes()))

    def copy_with_input_replacements(self, asked: Asked) -> None:
        self._take(
            ge.copy_with_input_replacements(
                asked.view(), self._replacements(), self.target, **self._scopes()
            )
        )

    def _replacements(self) -> dict[Any, Any]:
        given = self.case["args"]["replacement_ts"].items()
        of, to = self.source.get_tensor_by_name, self.target.get_tensor_by_name
        return {of(old): to(new) for old, new in given}

    def graph_replace(self, asked: Asked) -> None:
        targets = ge.util.transform_tree(
            self.case["args"]["target_ts"], self.source.get_tensor_by_name
        )
        returned = ge.graph_replace(targets, self._replacements(), **self._scopes())
        self.report["returned"] = ge.util.transform_tree(returned, lambda t: t.name)

    @property
    def nodes(self) -> dict[str, Node]:
        """The target graph's ops as they are now."""
        return {op.name: canonical(op) for op in self.target.get_operations()}

    @property
    def collections_added(self) -> dict[str, list[str]]:
        """What the target graph's collections have gained."""
        now = collected(self.target)
        gained = {
            key: sorted(set(held) - set(self.collections_before.get(key, [])))
            for key, held in now.items()
        }
        return {key: held for key, held in gained.items() if held}


def collected(graph: tf.Graph) -> dict[str, list[str]]:
    """The names of what is in the collections of a graph."""
    return {key: names(graph.get_collection(key)) for key in graph.get_all_collection_keys()}


def canonical(op: tf.Operation) -> Node:
    """An op as the corpus writes nodes."""
    node = op.node_def
    return {
        "name": op.name,
        "op": op.type,
        "inputs": names(op.inputs),
        "control": sorted(f"^{other.name}" for other in op.control_inputs),
        "device": node.device,
        "attrs": {
            key: _value(value) for key, value in node.attr.items() if key != "_output_shapes"
        },
    }


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind != "list":
        return {kind: _plain(kind, getattr(value, kind))}
    for field, items in value.list.ListFields():
        return {f"list_{field.name}": [_plain(field.name, item) for item in items]}
    return {"list_empty": True}


def _plain(kind: str, item: Any) -> Any:
    if kind == "s":
        return item.decode("utf-8", "backslashreplace")
    if kind == "type":
        return types_pb2.DataType.Name(item)
    if kind == "shape":
        return None if item.unknown_rank else [d.size for d in item.dim]
    if kind == "func":
        return item.name
    return _tensor(item) if kind == "tensor" else item


def _tensor(proto: Any) -> dict[str, Any]:
    array = tf.make_ndarray(proto)
    data = (
        b"\0".join(np.ravel(array).tolist())
        if array.dtype == object
        else np.ascontiguousarray(array).tobytes()
    )
    dtype = types_pb2.DataType.Name(proto.dtype)
    return {"dtype": dtype, "shape": list(array.shape), "sha1": hashlib.sha1(data).hexdigest()}


def recorded(done: Transformed) -> dict[str, Node]:
    """The ops that the case says are new, less the original's known defects, and with the
    attributes it lists only.
    """
    case, expected = done.case, done.case["expected"]
    nodes = {node["name"]: {**node, "attrs": dict(node["attrs"])} for node in expected["added"]}
    doubles = placeholders_for_one(done)
    for node in nodes.values():
        node["inputs"] = [renamed(text, doubles) for text in node["inputs"]]
        if node["op"] == "Merge":
            # The original exchanged what enters a loop and what comes round: the gradient through
            # such a loop is wrong.
            node["inputs"].sort(key=lambda text: "NextIteration" in text)
    for bug in case.get("known_bugs", []):
        if bug["bug"] == "colocation_not_remapped":
            nodes[bug["node"]]["attrs"]["_class"] = {"list_s": bug["want"]}
        elif "attr" in bug:
            del nodes[bug["node"]]["attrs"][bug["attr"]]
    return {name: node for name, node in nodes.items() if name not in doubles}


def placeholders_for_one(done: Transformed) -> dict[str, str]:
    """Recorded placeholders that represent a tensor for which there is one before -> that one."""
    bugs = done.case.get("known_bugs", [])
    several = {
        name for bug in bugs if bug["bug"].startswith("external_input") for name in bug["got"]
    }
    expected = done.case["expected"]
    nodes = {node["name"]: node for node in expected["added"]}
    first: dict[str, str] = {}
    doubles = {}
    for op in done.source.get_operations():
        copy = nodes.get(expected.get("op_map", {}).get(op.name, ""))
        for t, text in zip(op.inputs, copy["inputs"], strict=True) if copy else ():
            name = text.rpartition(":")[0]
            if name in several and first.setdefault(t.name, name) != name:
                doubles[name] = first[t.name]
    return doubles


def renamed(text: str, names: dict[str, str]) -> str:
    """A tensor's name, its op being renamed."""
    op, _, port = text.rpartition(":")
    return f"{names.get(op, op)}:{port}"


def run(done: Transformed) -> list[str]:
    """Run the case's steps in one session; gives what came out otherwise than recorded."""
    case, wrong = done.case, []
    with v1.Session(graph=done.target) as session:
        for step in case["numeric"]["steps"]:
            if "run" in step:
                session.run(step["run"], step.get("feeds"))
            elif "error" not in step:
                got = session.run(step["fetch"], step.get("feeds"))
                pairs = zip(step["fetch"], got, strict=True)
                wrong += [
                    name
                    for name, value in pairs
                    if not _same(value, step["expect"][name], case["numeric"])
                ]
    return wrong


def _same(value: Any, report: dict[str, Any], within: dict[str, Any]) -> bool:
    flat = np.ravel(value)
    if flat.dtype == object:
        return [text.decode() for text in flat] == report["data"]
    same = np.allclose(flat, np.array(report["data"]), within["rtol"], within["atol"])
    return bool(same) and list(np.shape(value)) == report["shape"]
