"""A live `tf.Graph`, or a function's FuncGraph, as a Body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import c_api_util
from tensorflow.python.framework.function import _DefinedFunction

from tfgraphwidget.graph.index import Member, VariableDef
from tfgraphwidget.graph.tensors import Reshaped, Shape, Shapes, Typing
from tfgraphwidget.sources.body import Collections
from tfgraphwidget.sources.captures import Captures
from tfgraphwidget.sources.contexts import contexts
from tfgraphwidget.sources.dtypes import OpTypes, dtype_number
from tfgraphwidget.sources.runners import runners
from tfgraphwidget.sources.shapes import tensor_shape
from tfgraphwidget.sources.variables import definition

# Reading a few ops one by one is faster than asking for the whole graph again; 8 is where it turns (measured).
_WHOLE_GRAPH_IF_OVER = 1 / 8


@dataclass(eq=False)
class LiveTyping:
    """What a live graph knows of its tensors; `captures` are the ops shown under other names."""

    graph: tf.Graph
    types: OpTypes
    captures: Captures

    def dtypes(self, node: Any) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef."""
        return self.types.dtypes(node)

    def definition(self, op_type: str) -> Any:
        """The OpDef of an op type, or of the function of that name; None when nobody has told."""
        return self.types.definition(op_type)

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output; None when it is not known."""
        return tensor_shape(self.graph, self.captures.placeholders.get(op, op), port)

    def number(self, dtype: str) -> int:
        """TensorFlow's number of a dtype."""
        return dtype_number(dtype)

    def reshaped(self, shapes: Shapes) -> Typing:
        """The same with the static shapes that edits have made."""
        return Reshaped(self, shapes)


def definition_of(function: Any) -> Any:
    """The FunctionDef of what a graph holds as a function.

    Of a TensorFlow 1 function `definition` would be the same, but it enters the function into the eager runtime too,
    where there may be another one of its name: the same SavedModel in another graph.
    """
    held = getattr(function, "_c_func", None) if isinstance(function, _DefinedFunction) else None
    if held is None:
        return function.cached_definition
    with c_api_util.tf_buffer() as buffer, held.get() as c_function:
        c_api.TF_FunctionToFunctionDef(c_function, buffer)
        return function_pb2.FunctionDef.FromString(c_api.TF_GetBuffer(buffer))


@dataclass(eq=False)
class GraphBody:
    """What a live graph holds now; ops that other cells add are there at the next reading."""

    graph: tf.Graph
    called: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    returns: Mapping[str, str] = field(default_factory=dict)
    captures: Captures = field(default_factory=Captures)
    _definitions: dict[int, tuple[tf.Variable, VariableDef]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.alias: Mapping[str, str] = self.captures.alias
        self.origins: Mapping[str, str] | None = None
        self.constants: Mapping[str, Any] = {}
        self.typing = LiveTyping(self.graph, OpTypes(self.function), self.captures)

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever ops are added, or entries of collections added, removed or exchanged."""
        graph = self.graph
        held = (graph.get_collection_ref(key) for key in graph.get_all_collection_keys())
        return graph.version, hash(tuple(tuple(map(id, items)) for items in held)), len(graph._functions)

    def nodes(self, known: int = 0) -> list[Any]:
        """The NodeDefs after the first `known` ones, in graph order."""
        ops = self.graph.get_operations() if known else []
        if len(ops) - known >= len(ops) * _WHOLE_GRAPH_IF_OVER:
            nodes = list(self.graph.as_graph_def().node)[known:]
        else:
            nodes = [op.node_def for op in ops[known:]]
        return self.captures.shown(nodes)

    def collections(self) -> Collections:
        """Ops, tensors and variables in the graph's collections, and each variable once."""
        collections: dict[str, tuple[Member, ...]] = {}
        definitions: dict[str, VariableDef] = {}
        for key in self.graph.get_all_collection_keys():
            members = []
            for item in self.graph.get_collection_ref(key):
                member = self._member(item)
                if member and member.kind == "variable":
                    told = self._definition(item)
                    definitions[told.handle] = told
                if member:
                    members.append(member)
            collections[key] = tuple(members)
        captured, variables = self.captures.collections
        joined = {key: (*collections.get(key, ()), *members) for key, members in captured.items()}
        return {**collections, **joined}, (*definitions.values(), *variables)

    def _member(self, item: Any) -> Member | None:
        """What an entry of a collection is; None for what belongs to no graph, or to the graph around a FuncGraph."""
        member = Member.of(item)
        owner = getattr(item, "graph", None)
        if member is None or (owner is None and member.kind == "variable"):
            return None
        return member if owner is None or owner is self.graph else None

    def functions(self) -> frozenset[str]:
        """The names of the functions in the graph's library."""
        return frozenset(self.graph._functions)

    def function(self, name: str) -> Any:
        """The FunctionDef of that name; KeyError when the library has none."""
        return definition_of(self.graph._functions[name])

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""
        return getattr(self.graph._functions[name], "grad_func_name", None) or ""

    def contexts(self) -> tuple[Any, ...]:
        """The outermost v1 control flow contexts, of gradient loops too."""
        return contexts(self.graph)

    def runners(self) -> tuple[tuple[str, Any], ...]:
        """(collection key, QueueRunnerDef) of every queue runner."""
        return runners(self.graph)

    def envelope(self) -> tf.compat.v1.GraphDef:
        """A GraphDef with the graph's versions and function library and no nodes."""
        whole = self.graph.as_graph_def()
        return tf.compat.v1.GraphDef(versions=whole.versions, library=whole.library)

    def _definition(self, variable: tf.Variable) -> VariableDef:
        """What the variable's own proto says; kept, since making protos takes most of the time."""
        known = self._definitions.get(id(variable))
        if known is None:
            with self.graph.as_default():
                proto = variable.to_proto()
            known = self._definitions[id(variable)] = (variable, definition(proto, variable.constraint))
        return known[1]
