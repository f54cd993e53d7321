"""A live `tf.Graph`, or a function's FuncGraph, as a Body; and the session that runs it, out of what wraps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.client.session import BaseSession, SessionInterface
from tensorflow.python.framework import c_api_util
from tensorflow.python.framework.function import _DefinedFunction
from tensorflow.python.training import monitored_session

from tfgraphwidget.errors import GraphEditError, SessionRefused
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
# How the lines begin in which TensorFlow and Python say where an error comes from, before what it is.
_WHERE = ("File ", "in user code", "Traceback", "Graph execution error", "Detected at node", "Node:", "[[{{")

_MONITORED = monitored_session._MonitoredSession
_WRAPPERS = (monitored_session._WrappedSession, SessionInterface)  # the latter are TensorFlow's debuggers


def first_line(error: BaseException) -> str:
    """What is the matter, in one line, out of the many that an error of TensorFlow or Python has."""
    try:
        text = str(error.message if isinstance(error, tf.errors.OpError) else error)
    except Exception:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    in_user_code = any(line.startswith("in user code") for line in lines)
    told = [line for line in lines if not line.startswith(_WHERE)]
    if not told:
        return type(error).__name__
    return told[-1 if in_user_code else 0].rstrip(".;: ")[:300]


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise GraphEditError for an error of TensorFlow; `what` cannot be done then, as "open a session".

    For what TensorFlow refuses as a rule there are sentences that know more. This is for the rest: no memory on a
    device, a server that is gone, a full disk.

    >>> with refusing("open a session"):
    ...     raise tf.errors.ResourceExhaustedError(None, None, "no memory")
    Traceback (most recent call last):
    tfgraphwidget.errors.GraphEditError: TensorFlow cannot open a session: no memory; mend that, and try again.
    """
    try:
        yield
    except tf.errors.OpError as error:
        raise GraphEditError(f"TensorFlow cannot {what}: {first_line(error)}; mend that, and try again.") from error


def is_session(thing: object) -> bool:
    """Whether a thing is a session, or one of TensorFlow's objects that wrap one."""
    return isinstance(thing, (BaseSession, _MONITORED, *_WRAPPERS))


def session_of(thing: Any) -> Any:
    """The `tf.compat.v1.Session` in a MonitoredSession, in what its hooks are given, or in a debugger; else the thing.

    What runs in that session runs without the hooks. Raises SessionRefused for a MonitoredSession that is closed.
    """
    inner = thing
    while inner is not None and not isinstance(inner, BaseSession):
        if isinstance(inner, _MONITORED):
            inner = inner._tf_sess()
        elif isinstance(inner, _WRAPPERS) and hasattr(inner, "_sess"):
            inner = inner._sess
        else:
            return thing
    if inner is None and thing is not None:
        raise SessionRefused(f"The {type(thing).__name__} is closed; open a new one and give that.")
    return inner


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


class Stamp(NamedTuple):
    """What a live graph is at some moment; `collections` are the identities of what each of them holds.

    `finished` tells of each variable that was not made wholly when the collections were read whether it is now.
    """

    version: int
    collections: dict[str, tuple[int, ...]]
    functions: int
    finished: tuple[bool, ...]


def _is_finished(variable: tf.Variable) -> bool:
    """Whether a variable is made wholly: it stands in its collections before it has a name."""
    return hasattr(variable, "name") and hasattr(variable, "constraint")


@refusing("say what a function of the graph holds")
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
    _unfinished: tuple[tf.Variable, ...] = ()  # those that another thread was making when the collections were read

    def __post_init__(self) -> None:
        self.alias: Mapping[str, str] = self.captures.alias
        self.origins: Mapping[str, str] | None = None
        self.constants: Mapping[str, Any] = {}
        self.typing = LiveTyping(self.graph, OpTypes(self.function), self.captures)

    def stamp(self) -> Stamp:
        """Changes whenever ops are added, or entries of collections added, removed or exchanged."""
        graph = self.graph
        held = {key: tuple(map(id, graph.get_collection_ref(key))) for key in graph.get_all_collection_keys()}
        held = {key: items for key, items in held.items() if items}
        return Stamp(graph.version, held, len(graph._functions), tuple(map(_is_finished, self._unfinished)))

    @refusing("say which ops the graph holds")
    def nodes(self, known: int = 0) -> list[Any]:
        """The NodeDefs of the first `known` ops left out, of all that `Graph.get_operations` tells, in its order.

        Its list only grows. A GraphDef is no such list: it has ops, and before others, that another thread is just
        making (test_tensorflow_facts.py::test_a_graph_def_has_ops_that_are_not_made_yet).
        """
        ops = self.graph.get_operations()
        if len(ops) - known < len(ops) * _WHOLE_GRAPH_IF_OVER:
            return self.captures.shown([op.node_def for op in ops[known:]])
        nodes = list(self.graph.as_graph_def().node)
        if known or len(nodes) != len(ops):
            by_name = {node.name: node for node in nodes}
            nodes = [by_name[op.name] for op in ops[known:]]
        return self.captures.shown(nodes)

    def collections(self) -> Collections:
        """Ops, tensors and variables in the graph's collections, and each variable once."""
        collections: dict[str, tuple[Member, ...]] = {}
        definitions: dict[str, VariableDef] = {}
        unfinished = []
        for key in self.graph.get_all_collection_keys():
            members = []
            for item in self.graph.get_collection_ref(key):
                if isinstance(item, tf.Variable) and not _is_finished(item):
                    unfinished.append(item)
                    continue
                member = self._member(item)
                if member and member.kind == "variable":
                    told = self._definition(item)
                    definitions[told.handle] = told
                if member:
                    members.append(member)
            collections[key] = tuple(members)
        self._unfinished = tuple(unfinished)
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

    @refusing("say which functions the graph holds")
    def envelope(self) -> tf.compat.v1.GraphDef:
        """A GraphDef with the graph's versions and function library and no nodes."""
        whole = self.graph.as_graph_def()
        del whole.node[:]
        return whole

    def _definition(self, variable: tf.Variable) -> VariableDef:
        """What the variable's own proto says; kept, since making protos takes most of the time."""
        known = self._definitions.get(id(variable))
        if known is None:
            with self.graph.as_default():
                proto = variable.to_proto()
            known = self._definitions[id(variable)] = (variable, definition(proto, variable.constraint))
        return known[1]
