"""ProtoBody: a graph that is known as NodeDefs only, from a file or out of a function library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.core.framework import function_pb2

from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph.tensors import Typing
from tfgraphwidget.names import did_you_mean, split_input
from tfgraphwidget.sources.body import Body, Collections
from tfgraphwidget.sources.dtypes import MOST_OUTPUTS, OpTypes
from tfgraphwidget.sources.shapes import ProtoTyping


class Library(Protocol):
    """Functions by name."""

    def functions(self) -> frozenset[str]:
        """The names."""

    def function(self, name: str) -> Any:
        """The FunctionDef of that name; KeyError when there is none."""

    def envelope(self) -> tf.compat.v1.GraphDef:
        """A GraphDef with the versions and the library of the graph that the functions came with, and no nodes."""


@dataclass(frozen=True, eq=False)
class ProtoLibrary:
    """The functions of a GraphDef, which is not changed."""

    graph_def: Any
    by_name: Mapping[str, Any]

    @classmethod
    def of(cls, graph_def: Any) -> ProtoLibrary:
        """The library of a GraphDef."""
        return cls(graph_def, {function.signature.name: function for function in graph_def.library.function})

    def functions(self) -> frozenset[str]:
        """The names."""
        return frozenset(self.by_name)

    def function(self, name: str) -> Any:
        """The FunctionDef of that name; KeyError when there is none."""
        return self.by_name[name]

    def envelope(self) -> tf.compat.v1.GraphDef:
        """A GraphDef with the graph's versions and function library and no nodes."""
        made = tf.compat.v1.GraphDef()
        for told, value in self.graph_def.ListFields():
            if told.message_type is None:
                setattr(made, told.name, value)
            elif told.name != "node":
                getattr(made, told.name).CopyFrom(value)
        return made


@dataclass(frozen=True, eq=False)
class ProtoBody:
    """NodeDefs that do not change any more; see `Body` for what the fields are."""

    protos: Sequence[Any]
    library: Library
    held: Collections = ({}, ())
    arguments: tuple[str, ...] = ()
    returns: Mapping[str, str] = field(default_factory=dict)
    alias: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def typing(self) -> Typing:
        """Dtypes from OpDefs and attributes; shapes from attributes, else as TensorFlow infers them."""
        return ProtoTyping(self.protos, OpTypes(self.function), self._all_functions)

    def _all_functions(self) -> dict[str, Any]:
        return {name: self.function(name) for name in sorted(self.functions())}

    def stamp(self) -> int:
        """Always the same."""
        return 0

    def nodes(self, known: int = 0) -> list[Any]:
        """The NodeDefs after the first `known` ones."""
        return list(self.protos[known:])

    def collections(self) -> Collections:
        """What the file's collections hold."""
        return self.held

    def functions(self) -> frozenset[str]:
        """The names of the library's functions."""
        return self.library.functions()

    def function(self, name: str) -> Any:
        """The FunctionDef of that name; KeyError when the library has none."""
        return self.library.function(name)

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""
        told = self.library.envelope().library.gradient
        return next((str(pair.gradient_func) for pair in told if pair.function_name == name), "")

    def contexts(self) -> tuple[Any, ...]:
        """None: a file is imported before it is edited."""
        return ()

    def runners(self) -> tuple[tuple[str, Any], ...]:
        """None: a file is imported before it is edited."""
        return ()

    def envelope(self) -> tf.compat.v1.GraphDef:
        """A GraphDef with the versions and the function library of the graph it came with, and no nodes."""
        return self.library.envelope()


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

    def envelope(self, imported: tf.compat.v1.GraphDef) -> tf.compat.v1.GraphDef:
        """The versions and the library of the imported graph in the file's form: functions keep name and body."""
        made = self._body.envelope()
        live = {function.signature.name: function for function in imported.library.function}
        kept = [function for function in made.library.function if function.signature.name in live]
        new = live.keys() - {function.signature.name for function in kept}
        if new or len(kept) < len(made.library.function):
            functions = [*kept, *(function for name, function in live.items() if name in new)]
            made.library.CopyFrom(
                function_pb2.FunctionDefLibrary(function=functions, gradient=imported.library.gradient)
            )
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


def checked(protos: Iterable[Any], where: str) -> list[Any]:
    """The NodeDefs, when they make a graph: ops with names of their own that read each other.

    Raises GraphEditError, and UnknownName for an input that names nothing; `where` names the file.
    """
    nodes = list(protos)
    names: set[str] = set()
    for number, node in enumerate(nodes):
        name = node.name
        if not name or ":" in name or name[0] == "^":
            raise GraphEditError(f"{where} is damaged: op number {number}, of type {node.op!r}, is named {name!r}.")
        if name in names:
            raise GraphEditError(f"{where} is damaged: two of its ops are named {name!r}.", [name])
        names.add(name)
    for node in nodes:
        for text in node.input:
            if text not in names and not _reads(text, names):
                op = text.removeprefix("^").rpartition(":")[0] or text.removeprefix("^")
                hint = did_you_mean(op, names)
                raise UnknownName(
                    f"{where} is damaged: op {node.name!r} reads {text[:80]!r}, which it does not hold.{hint}",
                    [node.name],
                )
    return nodes


def _reads(text: str, names: set[str]) -> bool:
    """Whether an input that is more than an op's name reads an op of the graph, at a port that an op can have."""
    if len(text) - text.rfind(":") > len(str(MOST_OUTPUTS)) + 1 and text[:1] != "^":
        return False
    op, port = split_input(text)
    return op in names and port < MOST_OUTPUTS
