"""FileForm: the NodeDefs of an imported graph as its file has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.source import Body


class FileForm:
    """The form in which a file holds its graph: TensorFlow adds default attributes when it imports it.

    What nobody has changed since is written as the file has it, what was changed without the attributes that it lacks.
    """

    def __init__(self, body: Body, imported: Iterable[Any]) -> None:
        self._body = body
        self._nodes = {node.name: node for node in body.nodes()}
        self._imported = {node.name: _digest(node) for node in imported}

    def nodes(self, nodes: Iterable[Any]) -> list[Any]:
        """The NodeDefs of the imported graph in the file's form."""
        return [self._node(node, self._nodes.get(node.name)) for node in nodes]

    def envelope(self, imported: Any) -> Any:
        """The versions and the library of the imported graph in the file's form: functions keep name and body."""
        made = self._body.envelope()
        live = {function.signature.name: function for function in imported.library.function}
        kept = [function for function in made.library.function if function.signature.name in live]
        new = live.keys() - {function.signature.name for function in kept}
        if new or len(kept) < len(made.library.function):
            functions = [*kept, *(function for name, function in live.items() if name in new)]
            made.library.CopyFrom(tf_protos.FunctionDefLibrary(function=functions, gradient=imported.library.gradient))
        if any(node.name not in self._nodes for node in imported.node):
            made.versions.CopyFrom(imported.versions)
        return made

    def _node(self, node: Any, own: Any) -> Any:
        if own is None or own.op != node.op:
            return node
        if self._imported.get(node.name) == _digest(node):
            return own
        definition = self._body.typing.definition(node.op)
        known = {} if definition is None else {attr.name: attr for attr in definition.attr}
        added = [
            key for key, value in node.attr.items()
            if key not in own.attr and key in known and known[key].HasField("default_value")
            and value == known[key].default_value
        ]  # fmt: skip
        copy = type(node)()
        copy.CopyFrom(node)
        for key in added:
            del copy.attr[key]
        return copy


def _digest(node: Any) -> bytes:
    return hashlib.blake2b(node.SerializeToString(deterministic=True), digest_size=16).digest()
