"""A live `tf.Graph`, or a function's FuncGraph, as a Body."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tfgraphwidget.graph import Member, Shape, VariableDef
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import OpTypes, TypingByOpTypes
from tfgraphwidget.sources.live.captures import Captures
from tfgraphwidget.sources.live.shapes import tensor_shape
from tfgraphwidget.sources.node_columns import split_records, stored_nodes
from tfgraphwidget.sources.source import Collections
from tfgraphwidget.sources.tf_errors import wrap_tf_errors
from tfgraphwidget.sources.variables import read_variable_def
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    CondContext,
    WhileContext,
    control_flow_context,
    find_operation,
    function_definition_bytes,
    graph_def_bytes,
    graph_functions,
    is_complete,
    nested_contexts,
)
from tfgraphwidget.tf_types import (
    ContextDef,
    ControlFlowContext,
    FunctionDef,
    LibraryFunction,
    Message,
    NodeDef,
    QueueRunner,
    QueueRunnerDef,
    VersionDef,
)

# Reading a few ops one by one is faster than asking for the whole graph again; 8 is where it turns
# (measured).
_WHOLE_GRAPH_IF_OVER = 1 / 8
_KINDS = (WhileContext, CondContext)


@dataclass(eq=False)
class LiveTyping(TypingByOpTypes):
    """The dtypes and shapes of a live graph's tensors; `captures` have other names here."""

    graph: tf.Graph
    types: OpTypes
    captures: Captures

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output; None when it is unknown."""
        return tensor_shape(self.graph, self.captures.placeholders.get(op, op), port)


class Stamp(NamedTuple):
    """The state of a live graph at some moment; `collections` are the ids of the entries of each.

    `is_complete` says of each variable that was not complete when the collections were read whether
    it is now.
    """

    version: int
    collections: dict[str, tuple[int, ...]]
    functions: int
    is_complete: tuple[bool, ...]


def _is_finished(variable: tf.Variable) -> bool:
    """Whether a variable is complete: it is in its collections before it has a name."""
    return hasattr(variable, "name") and hasattr(variable, "constraint")


@wrap_tf_errors("say what a function of the graph holds")
def function_definition(function: LibraryFunction) -> FunctionDef:
    """The FunctionDef of an entry in a graph's `_functions`.

    Of a TensorFlow 1 function `definition` would be the same, but it enters the function into the
    eager runtime too, where there may be another one of its name: the same SavedModel in another
    graph.
    """
    serialized = function_definition_bytes(function)
    message: FunctionDef = (
        function.cached_definition
        if serialized is None
        else tf_protos.FunctionDef.FromString(serialized)
    )
    return message


@dataclass(eq=False)
class GraphBody:
    """A live graph as a Body; each call reads its present state, ops of other cells included."""

    graph: tf.Graph
    saved_names: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    returns: Mapping[str, str] = field(default_factory=dict)
    captures: Captures = field(default_factory=Captures)
    _definitions: dict[int, tuple[tf.Variable, VariableDef]] = field(
        default_factory=dict, repr=False
    )
    # Those that another thread was making when the collections were read.
    _unfinished: tuple[tf.Variable, ...] = ()

    def __post_init__(self) -> None:
        self.alias: Mapping[str, str] = self.captures.alias
        self.origins: Mapping[str, str] | None = None
        self.constants: Mapping[str, NodeDef] = {}
        self.typing = LiveTyping(self.graph, OpTypes(self.function), self.captures)

    def stamp(self) -> Stamp:
        """Changes whenever ops are added, or entries of collections added, removed or exchanged."""
        graph = self.graph
        members = {
            key: tuple(map(id, graph.get_collection_ref(key)))
            for key in graph.get_all_collection_keys()
        }
        members = {key: items for key, items in members.items() if items}
        return Stamp(
            graph.version,
            members,
            len(graph_functions(graph)),
            tuple(map(_is_finished, self._unfinished)),
        )

    @wrap_tf_errors("say which ops the graph holds")
    def nodes(self, skip: int = 0) -> Sequence[NodeDef]:
        """The NodeDefs of the ops after the first `skip`, in the order of `Graph.get_operations`.

        That list only grows. A GraphDef can have ops, and earlier in it, that another thread is
        just creating (test_tensorflow_facts.py::test_a_graph_def_has_ops_that_are_not_made_yet).
        """
        ops = self.graph.get_operations()
        if len(ops) - skip < len(ops) * _WHOLE_GRAPH_IF_OVER:
            return self.captures.with_shown_names([op.node_def for op in ops[skip:]])
        nodes = stored_nodes(graph_def_bytes(self.graph))
        if skip or len(nodes) != len(ops):
            by_name = {node.name: node for node in nodes}
            return self.captures.with_shown_names([by_name[op.name] for op in ops[skip:]])
        return self.captures.with_shown_names(list(nodes)) if self.captures.alias else nodes

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
                    definition = self._definition(item)
                    definitions[definition.handle] = definition
                if member:
                    members.append(member)
            collections[key] = tuple(members)
        self._unfinished = tuple(unfinished)
        captured, variables = self.captures.collections
        all_members = {
            key: (*collections.get(key, ()), *members) for key, members in captured.items()
        }
        return {**collections, **all_members}, (*definitions.values(), *variables)

    def _member(self, item: object) -> Member | None:
        """The Member of a collection's entry; None for one of no graph, or of the graph around."""
        member = Member.of(item)
        owner = getattr(item, "graph", None)
        if member is None or (owner is None and member.kind == "variable"):
            return None
        return member if owner is None or owner is self.graph else None

    def functions(self) -> frozenset[str]:
        """The names of the functions in the graph's library."""
        return frozenset(graph_functions(self.graph))

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when the library has none."""
        return function_definition(graph_functions(self.graph)[name])

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""
        return getattr(graph_functions(self.graph)[name], "grad_func_name", None) or ""

    def contexts(self) -> tuple[ContextDef, ...]:
        """The outermost v1 control flow contexts, of gradient loops too."""
        return control_flow_contexts(self.graph)

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """(collection key, QueueRunnerDef) of every queue runner."""
        return queue_runners(self.graph)

    @wrap_tf_errors("say which functions the graph holds")
    def envelope(self) -> tf.compat.v1.GraphDef:
        """A GraphDef with the graph's versions and function library and no nodes."""
        _, rest = split_records(graph_def_bytes(self.graph))
        envelope: tf.compat.v1.GraphDef = tf_protos.GraphDef.FromString(rest)
        if not envelope.library.function:
            envelope.ClearField("library")  # as `as_graph_def` does
        return envelope

    def versions(self) -> VersionDef:
        """The versions of the graph."""
        versions: VersionDef = self.graph.graph_def_versions
        return versions

    def _definition(self, variable: tf.Variable) -> VariableDef:
        """The variable's own proto as a VariableDef, cached: creating it takes most of the time."""
        cached = self._definitions.get(id(variable))
        if cached is None:
            with self.graph.as_default():
                proto = variable.to_proto()
            cached = self._definitions[id(variable)] = (
                variable,
                read_variable_def(proto, variable.constraint),
            )
        return cached[1]


def queue_runners(graph: tf.Graph) -> tuple[tuple[str, QueueRunnerDef], ...]:
    """(collection key, QueueRunnerDef) of every queue runner in the collections, in their order."""
    return tuple(
        (key, runner_def(item, graph))
        for key in graph.get_all_collection_keys()
        for item in graph.get_collection_ref(key)
        if isinstance(item, tf.compat.v1.train.QueueRunner) and item.close_op.graph is graph
    )


def runner_def(runner: QueueRunner, graph: tf.Graph) -> QueueRunnerDef:
    """The QueueRunnerDef of a queue runner of `graph`, whatever graph is the default one.

    Outside of every graph TensorFlow takes a queue for an eager one, which has a name without its
    scope (test_tensorflow_facts.py::test_a_queue_has_its_whole_name_in_its_graph_only).
    """
    with graph.as_default():
        result: QueueRunnerDef = runner.to_proto()
        return result


def control_flow_contexts(graph: tf.Graph) -> tuple[ContextDef, ...]:
    """The outermost while loops' and conditionals' contexts, with all that is nested, in the order
    of their first ops.

    TensorFlow's own protos leave things out: they list the ops of a context by the tensors it has
    seen, so an op without outputs is in none, and a tensor that comes in from outside may seem to
    be one of its own. And loops that compute gradients are in no collection. Here the ops
    themselves are asked, and the protos have all of it.

    What an exception left half built is left out.
    """
    own: defaultdict[ControlFlowContext, list[tf.Operation]] = defaultdict(list)
    for op in graph.get_operations():
        if (context := control_flow_context(op)) is not None:
            own[context].append(op)
    roots = dict.fromkeys(root for context in own if (root := _outermost(context)) is not None)
    return tuple(_proto(root, own) for root in roots if _is_built(root))


def _outermost(context: ControlFlowContext | None) -> ControlFlowContext | None:
    outermost = None
    while context is not None:
        outermost = context if isinstance(context, _KINDS) else outermost
        context = context.outer_context
    return outermost


def _nested_contexts(context: ControlFlowContext) -> Iterator[ControlFlowContext]:
    return (inner for inner in nested_contexts(context) if isinstance(inner, _KINDS))


def _is_built(context: ControlFlowContext) -> bool:
    return is_complete(context) and all(_is_built(inner) for inner in _nested_contexts(context))


def _proto(
    context: ControlFlowContext, own: dict[ControlFlowContext, list[tf.Operation]]
) -> ContextDef:
    """The proto of a context: TensorFlow's, but its values name exactly the ops in the context."""
    proto = context.to_proto()
    proto.ClearField("nested_contexts")
    values = proto.values_def
    for value in values.values:
        # TensorFlow takes a value for a tensor of the context's own unless it represents one
        # outside.
        if value not in values.external_values and not _within(
            context, _context_of(context, value)
        ):
            values.external_values[value] = value
    named_ops = {
        value.partition(":")[0] for value in values.values if value not in values.external_values
    }
    values.values.extend(op.name for op in own.get(context, ()) if op.name not in named_ops)
    for inner in _nested_contexts(context):
        nested = tf_protos.ControlFlowContextDef()
        part: Message = nested.while_ctxt if isinstance(inner, WhileContext) else nested.cond_ctxt
        part.CopyFrom(_proto(inner, own))
        proto.nested_contexts.append(nested)
    return proto


def _context_of(context: ControlFlowContext, value: str) -> ControlFlowContext | None:
    """The context of the op that a value of `context` names; None when the op was removed."""
    graph = context.pivot.graph
    try:
        result: ControlFlowContext | None = control_flow_context(
            find_operation(graph, value.partition(":")[0])
        )
        return result
    except KeyError:
        return None


def _within(context: ControlFlowContext | None, inner: ControlFlowContext | None) -> bool:
    while inner is not None and inner is not context:
        inner = inner.outer_context
    return inner is context
