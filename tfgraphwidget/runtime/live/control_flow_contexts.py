"""Live control flow contexts for copied ops, so that TensorFlow can differentiate copied loops and
conditionals.

Made from the protos of a change, never by TensorFlow's own reading of them: that gives every op a
proto names to the new context, though some are the original's. Here only ops of the change are
given one. A context that the graph has already is joined: a copy in the body of a loop that was not
copied, or one that comes back after an undo.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard

from tfgraphwidget.edits import Change
from tfgraphwidget.graph import EXIT, IDENTITY, MADE_OUTSIDE_CONTEXTS, SWITCH
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    CondContext,
    WhileContext,
    collections_lock,
    context_external_values,
    context_values,
    control_flow_context,
    find_operation,
    gradient_loop_state,
    is_gradient_loop_state,
    nested_contexts,
    operation_finder,
    set_control_flow_context,
    set_gradient_loop_state,
)
from tfgraphwidget.tf_types import CondContextDef, ContextDef, ControlFlowContext

# tf.compat.v1.GraphKeys.
COLLECTIONS = {"WhileContextDef": "while_context", "CondContextDef": "cond_context"}
"""The collection that each kind of outermost contexts is kept in."""


def rebuild_contexts(
    graph: tf.Graph,
    change: Change,
    source: tf.Graph | None = None,
    *,
    returning: Collection[str] = (),
) -> None:
    """Build the control flow contexts of a change's ops, which are in the graph.

    Args:
        returning: The ops that were hidden and are shown again: they can be fetched and fed as
            before.
    """
    if not change.contexts:
        return
    rebuilding = _ContextBuilder(graph, change)
    with graph.as_default(), tf.compat.v1.name_scope(None), _outside(graph):
        for context in change.contexts:
            rebuilding.add(context, None)
    rebuilding.mark(source or graph, returning)
    rebuilding.link_gradient_loops(source or graph)


def remove_contexts(graph: tf.Graph, change: Change) -> None:
    """Remove the change's contexts from collections and from the contexts around them."""
    new = {node.name for node in change.nodes}
    for context in change.contexts:
        _remove(graph, context, new)


def _remove(graph: tf.Graph, proto: ContextDef, new: set[str]) -> None:
    live = _live_context(graph, proto)
    if live is None:  # it was none for the copies; what is nested may be there
        for inner in _nested_protos(proto):
            _remove(graph, inner, new)
        return
    if _op_name(proto.pivot_name) in new:
        if live.outer_context is None:
            entries = graph.get_collection_ref(_key(proto))
        else:
            entries = nested_contexts(live.outer_context)
        with collections_lock(graph):
            entries[:] = [context for context in entries if context is not live]
        return
    context_values(live).difference_update(proto.values_def.values)
    for name in proto.values_def.external_values:
        context_external_values(live).pop(name, None)
    for inner in _nested_protos(proto):
        _remove(graph, inner, new)


class _ContextBuilder:
    """Builds the contexts of one change."""

    def __init__(self, graph: tf.Graph, change: Change) -> None:
        self.graph = graph
        self.new = {node.name for node in change.nodes}
        self.copies = {
            original: new_name for original, new_name in change.copies if new_name in self.new
        }
        self.contexts: list[ControlFlowContext] = []
        # New ops beside others that can be fetched, as in a graph that was imported.
        self.fetchable: set[str] = set()

    def add(self, proto: ContextDef, outer: ControlFlowContext | None) -> None:
        """Make or join a context, and all contexts nested in it."""
        context = _live_context(self.graph, proto)
        if context is None and _is_undecided(self.graph, proto):
            for inner in _nested_protos(proto):
                self.add(inner, outer)
            return
        if context is None:
            context = self._make(proto, outer)
        elif outer is not None and not _holds(nested_contexts(outer), context):
            nested_contexts(outer).append(context)
        if _op_name(proto.pivot_name) in self.new:
            self.contexts.append(context)
            if outer is None and not _is_gradient_loop(context):
                # add_to_collection refuses redo on a finalized graph
                entries = self.graph.get_collection_ref(_key(proto))
                entries += [] if _holds(entries, context) else [context]
        self._fill(proto, context)
        for inner in _nested_protos(proto):
            self.add(inner, context)

    def _make(self, proto: ContextDef, outer: ControlFlowContext | None) -> ControlFlowContext:
        bare = copy.deepcopy(proto)
        bare.ClearField("values_def")
        bare.ClearField("nested_contexts")
        set_control_flow_context(self.graph, outer)
        context: ControlFlowContext
        try:
            if _is_conditional(bare):
                bare.pred_name = _predicate(self.graph, proto) or bare.pred_name
                context = CondContext(context_def=bare, name=proto.context_name)
            else:
                # A loop that is built later under this scope gets another frame name.
                self.graph.unique_name(proto.context_name)
                context = WhileContext(context_def=bare)
            return context
        finally:
            set_control_flow_context(self.graph, None)

    def _fill(self, proto: ContextDef, context: ControlFlowContext) -> None:
        """Set the values of a context, and the context of the ops among them."""
        values = proto.values_def
        beside = {_op_name(name) for name in context_values(context)} - self.new
        context_values(context).update(values.values)
        for name, replacement in values.external_values.items():
            context_external_values(context)[name] = self.graph.as_graph_element(replacement)
        if hasattr(proto, "loop_enter_names") and hasattr(proto, "loop_exit_names"):
            self._set_tensors(context.loop_enters, proto.loop_enter_names)
            self._set_tensors(context.loop_exits, proto.loop_exit_names)
        new = {
            _op_name(value) for value in values.values if value not in values.external_values
        } & self.new
        for name in new:
            set_control_flow_context(find_operation(self.graph, name), context)
        if new and self._can_be_fetched(beside, context):
            self.fetchable |= new

    def _set_tensors(self, tensors: list[tf.Tensor], names: Sequence[str]) -> None:
        """Let a loop that is joined begin or end with the ops that stand there now."""
        if [tensor.name for tensor in tensors] != list(names):
            tensors[:] = [self.graph.as_graph_element(name) for name in names]

    def _can_be_fetched(self, names: Collection[str], context: ControlFlowContext) -> bool:
        """Whether those of some ops that are in a context can be fetched, and there is one."""
        inside = [
            find_operation(self.graph, name)
            for name in names
            if _context_of(self.graph, name) is context
        ]
        return bool(inside) and all(map(self.graph.is_fetchable, inside))

    def mark(self, source: tf.Graph, returning: Collection[str]) -> None:
        """Make ops unfetchable and unfeedable that run once for each iteration, or not always, as
        TensorFlow does.

        It does not do so in graphs that it imports: there a copy can be fetched where its original
        can.
        """
        graph = self.graph
        find, find_original = operation_finder(graph), operation_finder(source)
        for original, name in self.copies.items():
            like, op = find_original(original), find(name)
            was_left_out = (
                control_flow_context(op) is None and control_flow_context(like) is not None
            )
            if not source.is_fetchable(like) and not was_left_out:
                # A copy without the loop or conditional runs as any op.
                graph.prevent_fetching(op)
            for tensor, other in zip(op.outputs, like.outputs, strict=True):
                if not source.is_feedable(other):
                    graph.prevent_feeding(tensor)
        fetchable = self._copies_of_fetchable(source) | (self.fetchable - set(self.copies.values()))
        for op in map(find, self.new.difference(returning)):
            context = control_flow_context(op)
            if context is None or (context.outer_context is None and op.type in EXIT):
                continue
            if op.type not in MADE_OUTSIDE_CONTEXTS and op.name not in fetchable:
                graph.prevent_fetching(op)
            if context.IsWhileContext() or context.pivot.op is not op:
                around = context
            else:
                around = context.outer_context
            for tensor in op.outputs if around is not None and around.IsWhileContext() else ():
                graph.prevent_feeding(tensor)

    def _copies_of_fetchable(self, source: tf.Graph) -> set[str]:
        """The copies of ops in a loop or conditional that can be fetched, as in an import."""
        fetchable: set[str] = set()
        for original, name in self.copies.items():
            like = find_operation(source, original)
            if control_flow_context(like) is not None and source.is_fetchable(like):
                fetchable.add(name)
        return fetchable

    def link_gradient_loops(self, source: tf.Graph) -> None:
        """Copied gradient loops belong to their forward loops: TensorFlow then refuses second
        gradients, as it must.

        Without, it would differentiate them like any loop, and leave out what they read from
        stacks.
        """
        originals = {new_name: original for original, new_name in self.copies.items()}
        pairs = []
        for context in self.contexts:
            name = originals.get(context.pivot.op.name, "")
            original = _context_of(source, name) if context.IsWhileContext() else None
            if original is not None:
                pairs.append((original, context))
        copies = _GradientLoopCopies(
            self.graph, self.copies, {id(original): copy for original, copy in pairs}
        )
        for original, context in pairs:
            set_gradient_loop_state(context, copies.copy_of(gradient_loop_state(original)))


class _GradientLoopCopies:
    """Copies the state that connects gradient loops to their forward loops."""

    def __init__(
        self, graph: tf.Graph, copies: dict[str, str], contexts: dict[int, object]
    ) -> None:
        self.graph, self.copies = graph, copies
        self.copies_by_id = contexts

    def copy_of(self, thing: object) -> Any:
        """Return the copy of a part of the original's state; uncopied parts come unchanged."""
        if id(thing) in self.copies_by_id:
            return self.copies_by_id[id(thing)]
        if is_gradient_loop_state(thing):
            duplicate = self.copies_by_id[id(thing)] = copy.copy(thing)
            vars(duplicate).update(
                {name: self.copy_of(value) for name, value in vars(thing).items()}
            )
            return duplicate
        if isinstance(thing, dict):
            return {self.copy_of(key): self.copy_of(value) for key, value in thing.items()}
        if isinstance(thing, list):
            return [self.copy_of(item) for item in thing]
        is_named = isinstance(thing, str | tf.Tensor | tf.Operation)
        name = str(getattr(thing, "name", thing)) if is_named else ""
        if _op_name(name) not in self.copies:
            return thing
        op, colon, port = name.partition(":")
        new = self.copies[op] + colon + port
        return new if isinstance(thing, str) else self.graph.as_graph_element(new)


@contextmanager
def _outside(graph: tf.Graph) -> Iterator[None]:
    """Leave all contexts, whatever is being built around."""
    before = control_flow_context(graph)
    set_control_flow_context(graph, None)
    try:
        yield
    finally:
        set_control_flow_context(graph, before)


def _live_context(graph: tf.Graph, proto: ContextDef) -> ControlFlowContext | None:
    """Return the context of this name that the graph has already."""
    context = _context_of(graph, _op_name(proto.pivot_name))
    return context if context is not None and context.name == proto.context_name else None


def _context_of(graph: tf.Graph, op: str) -> ControlFlowContext | None:
    try:
        context: ControlFlowContext | None = control_flow_context(find_operation(graph, op))
    except KeyError:
        return None
    return context


def _predicate(graph: tf.Graph, proto: ContextDef) -> str:
    """Return the tensor that the pivot's Switch reads, which may differ or have no copy."""
    switches = graph.as_graph_element(proto.pivot_name).op.inputs
    is_switch = len(switches) > 0 and switches[0].op.type in SWITCH
    return str(switches[0].op.inputs[1].name) if is_switch else ""


def _is_undecided(graph: tf.Graph, proto: ContextDef) -> bool:
    """Return whether a placeholder replaces a copied conditional's Switch: its ops always run."""
    return _is_conditional(proto) and not (proto.pred_name or _predicate(graph, proto))


def _is_conditional(proto: ContextDef) -> TypeGuard[CondContextDef]:
    return _key(proto) == COLLECTIONS["CondContextDef"]


def _is_gradient_loop(context: ControlFlowContext) -> bool:
    """Return whether this is a gradient's loop, counting down, which no collection has."""
    return context.IsWhileContext() and context.GetControlPivot().op.type not in IDENTITY


def _holds(contexts: list[ControlFlowContext], context: ControlFlowContext) -> bool:
    return any(other is context for other in contexts)


def _key(proto: ContextDef) -> str:
    return str(COLLECTIONS[type(proto).__name__])


def _nested_protos(proto: ContextDef) -> Iterator[ContextDef]:
    for nested in proto.nested_contexts:
        yield nested.cond_ctxt if nested.HasField("cond_ctxt") else nested.while_ctxt


def _op_name(name: str) -> str:
    return name.partition(":")[0]
