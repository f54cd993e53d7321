"""FileForm: the NodeDefs of an imported graph as its file has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from tfgraphwidget.messages import copy_of
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.source import Body
from tfgraphwidget.tf_types import GraphDef, NodeDef


class FileForm:
    """The NodeDefs and functions as a file has them: TensorFlow adds default attributes when it
    imports the file.

    Unchanged ops are written as the file has them, changed ops without the default attributes that
    the file omits. Where TensorFlow does not import an op as the file has it, `repaired` has the
    NodeDef that it took.
    """

    def __init__(
        self, body: Body, nodes: Iterable[NodeDef], repaired: Mapping[str, NodeDef] | None = None
    ) -> None:
        self._body = body
        in_file = {node.name: node for node in body.nodes()}
        self._repairs = {
            name: (in_file[name], node)
            for name, node in (repaired or {}).items()
            if name in in_file
        }
        self._nodes = in_file | {name: node for name, (_, node) in self._repairs.items()}
        self._imported = {node.name: _digest(node) for node in nodes}

    def nodes(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        """The NodeDefs of the imported graph in the file's form."""
        return [self._node(self._repair(node), self._nodes.get(node.name)) for node in nodes]

    def envelope(self, imported: GraphDef) -> GraphDef:
        """Versions and library of the imported graph in the file's form: names and bodies stay."""
        graph_def = self._body.envelope()
        live = {function.signature.name: function for function in imported.library.function}
        unchanged = [
            function for function in graph_def.library.function if function.signature.name in live
        ]
        new = live.keys() - {function.signature.name for function in unchanged}
        if new or len(unchanged) < len(graph_def.library.function):
            functions = [*unchanged, *(function for name, function in live.items() if name in new)]
            graph_def.library.CopyFrom(
                tf_protos.FunctionDefLibrary(function=functions, gradient=imported.library.gradient)
            )
        return graph_def

    def _repair(self, node: NodeDef) -> NodeDef:
        """A NodeDef without the file's attributes that TensorFlow does not import."""
        if node.name not in self._repairs:
            return node
        original, repaired = self._repairs[node.name]
        if node == original:
            return repaired
        copy = copy_of(node)
        for key, value in original.attr.items():
            if key not in copy.attr or copy.attr[key] != value:
                continue
            if key not in repaired.attr:
                del copy.attr[key]
            else:
                copy.attr[key].CopyFrom(repaired.attr[key])
        return copy

    def _node(self, node: NodeDef, own: NodeDef | None) -> NodeDef:
        if own is None or own.op != node.op:
            return node
        if self._imported.get(node.name) == _digest(node):
            return own
        definition = self._body.typing.definition(node.op)
        defaults = {
            attr.name: attr.default_value
            for attr in (() if definition is None else definition.attr)
            if attr.HasField("default_value")
        }
        added = [
            key
            for key, value in node.attr.items()
            if key not in own.attr and key in defaults and value == defaults[key]
        ]
        copy = copy_of(node)
        for key in added:
            del copy.attr[key]
        return copy


def _digest(node: NodeDef) -> bytes:
    return hashlib.blake2b(node.SerializeToString(deterministic=True), digest_size=16).digest()
