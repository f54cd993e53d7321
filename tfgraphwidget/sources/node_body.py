"""NodeBody: a Body of NodeDefs, from a file or from a function of a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from tfgraphwidget.graph import NodeDefs, Typing
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import OpTypes
from tfgraphwidget.sources.inference.shapes import NodeTyping
from tfgraphwidget.sources.source import Collections
from tfgraphwidget.sources.unknown_fields import copy_unknown_fields
from tfgraphwidget.tf_types import (
    ContextDef,
    FunctionDef,
    GraphDef,
    NodeDef,
    QueueRunnerDef,
    VersionDef,
)


class Library(Protocol):
    """Functions by name."""

    def functions(self) -> frozenset[str]:
        """The names."""

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when there is none."""

    def envelope(self) -> GraphDef:
        """A GraphDef with versions and library of the graph of the functions, and no nodes."""

    def versions(self) -> VersionDef:
        """The versions of that graph."""


@dataclass(frozen=True, eq=False)
class GraphDefLibrary:
    """The functions of a GraphDef that does not change."""

    graph_def: GraphDef
    by_name: Mapping[str, FunctionDef]

    @classmethod
    def of(cls, graph_def: GraphDef) -> GraphDefLibrary:
        """The library of a GraphDef."""
        return cls(
            graph_def,
            {function.signature.name: function for function in graph_def.library.function},
        )

    def functions(self) -> frozenset[str]:
        """The names."""
        return frozenset(self.by_name)

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when there is none."""
        return self.by_name[name]

    def envelope(self) -> GraphDef:
        """A GraphDef with the graph's versions and function library and no nodes."""
        envelope = tf_protos.GraphDef()
        for field_descriptor, value in self.graph_def.ListFields():
            if field_descriptor.message_type is None:
                setattr(envelope, field_descriptor.name, value)
            elif field_descriptor.name != "node":
                getattr(envelope, field_descriptor.name).CopyFrom(value)
        copy_unknown_fields(self.graph_def, envelope)
        graph_def: GraphDef = envelope
        return graph_def

    def versions(self) -> VersionDef:
        """The versions of the GraphDef."""
        return self.graph_def.versions


@dataclass(frozen=True, eq=False)
class NodeBody:
    """A Body of NodeDefs that do not change; `Body` describes the fields."""

    protos: Sequence[NodeDef]
    library: Library
    graph_collections: Collections = ({}, ())
    arguments: tuple[str, ...] = ()
    returns: Mapping[str, str] = field(default_factory=dict)
    alias: Mapping[str, str] = field(default_factory=dict)
    saved_names: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] | None = None
    constants: Mapping[str, NodeDef] = field(default_factory=dict)
    saved_contexts: tuple[ContextDef, ...] = ()
    saved_runners: tuple[tuple[str, QueueRunnerDef], ...] = ()

    @cached_property
    def typing(self) -> Typing:
        """Dtypes from OpDefs and attributes; shapes from attributes, or TensorFlow's inference."""
        return NodeTyping(
            self.protos, OpTypes(self.function), self._all_functions, self.library.versions
        )

    def _all_functions(self) -> dict[str, FunctionDef]:
        return {name: self.function(name) for name in sorted(self.functions())}

    def stamp(self) -> int:
        """Always the same."""
        return 0

    def nodes(self, skip: int = 0) -> Sequence[NodeDef]:
        """The NodeDefs after the first `skip` ones."""
        if skip or not isinstance(self.protos, NodeDefs):
            return list(self.protos[skip:])
        return self.protos

    def collections(self) -> Collections:
        """The collections of the file."""
        return self.graph_collections

    def functions(self) -> frozenset[str]:
        """The names of the library's functions."""
        return self.library.functions()

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when the library has none."""
        return self.library.function(name)

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""
        return self._gradients.get(name, "")

    @cached_property
    def _gradients(self) -> dict[str, str]:
        """The names of gradient functions by those of their functions."""
        pairs = self.library.envelope().library.gradient
        return {str(pair.function_name): str(pair.gradient_func) for pair in reversed(pairs)}

    def contexts(self) -> tuple[ContextDef, ...]:
        """Those that the file has, which are none of gradient loops."""
        return self.saved_contexts

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """Those that the file has."""
        return self.saved_runners

    def envelope(self) -> GraphDef:
        """A GraphDef with versions and function library of the graph it is of, and no nodes."""
        return self.library.envelope()

    def versions(self) -> VersionDef:
        """The versions of the graph it came with."""
        return self.library.versions()
