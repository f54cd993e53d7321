"""Calls a user's Python function that adds ops to a live graph; see `edits.Call`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.editor.places import OpenedGraph
from tfgraphwidget.editor.transaction import Transaction
from tfgraphwidget.edits import Call, Change, Patch
from tfgraphwidget.edits.clone import check_own_scope
from tfgraphwidget.errors import GraphEditError, kind_and_reason
from tfgraphwidget.graph import GraphIndex, control_flow, reachable_functions
from tfgraphwidget.naming import count_text, function_name, names_text, split_tensor
from tfgraphwidget.runtime.live import (
    check_not_growing,
    patch_application,
    placement,
    traced_ops,
    track_function_call,
)
from tfgraphwidget.runtime.session import TimedSession, variable_values
from tfgraphwidget.tf_types import FunctionDef, Graph, NodeDef, Variable

_OF_COPIES = frozenset({"sync", "sync_op", "mix_op", "drift"})


@dataclass(frozen=True, eq=False)
class GrowthResult:
    """The result of `grow`: the function's `outputs`, new `tf.Variable`s and names of new ops.

    In a function's body `outputs` is the name of the new tensor there, or a tuple of names.
    """

    scope: str
    outputs: Any
    variables: tuple[Variable, ...]
    ops: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        if name in _OF_COPIES:
            raise AttributeError(
                f"{name}: {self.scope!r} was grown, and has no original to follow; clone ops for a "
                "copy that has one."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        counts = f"{count_text(len(self.ops), 'op')}, {count_text(len(self.variables), 'variable')}"
        return f"<GrowthResult {self.scope!r}: {counts}>"


def grow(target: OpenedGraph, command: Call, steps: Transaction) -> tuple[Patch, object]:
    """Call a Python function that adds ops to a graph, and initialize only what is new; the patch
    of what was added, and what the function returned. When the edit fails, the graph shows none of
    the new ops.

    Raises:
        GraphEditError: The scope is taken, the function raised, or its variables cannot be
            initialized.
    """
    graph, before = target.graph(), target.index
    check_not_growing(graph)
    patch_application.check_open(graph)
    check_own_scope(command, before)
    session = target.source.session
    if session is not None:
        variable_values.check_session(session, graph)
    collections = patch_application.collections_of(graph)
    try:
        with (
            track_function_call(graph, command.into) as added,
            placement.refuse_ops_without_kernel(session, graph),
        ):
            steps.on_failure(_withdraw, target, before, collections, command.into, added)
            result = traced_ops.call_in_graph(graph, command.into, command.function, command.at)
        patch = grown_between(before, target.index, command.into, added)
        placement.check_patch_placement(session, graph, patch)
        if session is not None:
            tables = [member.name for key, member in patch.add.members if key == traced_ops.TABLES]
            traced_ops.initialize(TimedSession(session), patch.add.variables, tables)
    except GraphEditError:
        raise
    except Exception as error:
        name = function_name(command.function, "The function")
        if _lacks_loop_context(error):
            raise _gradient_refusal(name, graph, before) from error
        raise GraphEditError(
            f"{name} raised {kind_and_reason(error)}; nothing of what it made is left in the graph."
        ) from error
    return patch, result


def _lacks_loop_context(error: Exception) -> bool:
    """Whether TensorFlow failed at the gradient of a loop that has no control flow context."""
    return isinstance(error, AttributeError) and error.name == "outer_context" and error.obj is None


def _gradient_refusal(name: str, graph: Graph, index: GraphIndex) -> GraphEditError:
    """The refusal of a gradient through loops without control flow contexts, which it names."""
    exits = [
        (loop.name, index.names[op]) for loop in control_flow.loops(index) for op in loop.exits
    ]
    bare = traced_ops.without_context(graph, [op for _, op in exits])
    names = list(dict.fromkeys(loop for loop, op in exits if op in bare))
    return GraphEditError(
        f"{name} takes a gradient through a while loop of TensorFlow 1, which needs the loop's "
        f"control flow context, and {names_text(names)} came from a GraphDef, which has none; open "
        "the .meta file or SavedModel of the graph, or take the gradient of what does not come "
        "after the loop. Nothing is left in the graph.",
        bare,
    )


def _withdraw(
    target: OpenedGraph,
    before: GraphIndex,
    collections: dict[str, list[object]],
    scope: str,
    added: set[str],
) -> None:
    """Hide the ops that a function added before the edit failed; restore the collections."""
    graph = target.graph()
    patch_application.restore_collections(graph, collections, patch_application.is_entry_of(added))
    traced_ops.forget(graph, scope, added)
    patch_application.hide_failed(graph, *_leftovers(target, before, added))
    patch_application.record_of(graph).ungrown |= added
    target.place.reread()
    placement.keep_running(target.source.session, graph, added)


def grown_between(before: GraphIndex, after: GraphIndex, scope: str, own: Collection[str]) -> Patch:
    """The patch that adds the ops that a graph has gained between two states, without those of
    other threads, with their variables, functions and members of collections; `own` names them.
    """
    variables_before = before.defined_variables

    def is_own(kind: str, name: str) -> bool:
        # What another thread is making may be in the graph before, and in its collections after.
        op = split_tensor(name)[0]
        return op in own or (op in variables_before if kind == "variable" else op in before.ids)

    nodes = tuple(node for node, name in zip(after.nodes, after.names, strict=True) if name in own)
    members = []
    for key, entries in after.collections.items():
        old = set(before.collections.get(key, ()))
        members += [(key, member) for member in entries if member not in old and is_own(*member)]
    variables = tuple(v for v in after.variable_defs if v.handle in own)
    functions = _functions(after, nodes, before)
    return Patch(add=Change(nodes, tuple(members), variables, functions=functions), scopes=(scope,))


def _functions(
    library: GraphIndex, nodes: Iterable[NodeDef], before: GraphIndex
) -> tuple[FunctionDef, ...]:
    """The FunctionDefs that NodeDefs call and that were not there before."""
    reachable = library.reachable_functions(nodes)
    return tuple(function for name, function in reachable.items() if name not in before.functions)


def _leftovers(
    target: OpenedGraph, before: GraphIndex, own: Collection[str]
) -> tuple[list[NodeDef], set[str]]:
    """The NodeDefs that a failed function has left, and the functions that only they call."""
    graph, body = target.graph(), target.source.body
    nodes = [graph.get_operation_by_name(name).node_def for name in own]
    return nodes, reachable_functions(body.functions(), body, nodes).keys() - before.functions
