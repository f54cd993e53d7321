"""Copying an op into another graph with everything that it depends on, as a script of 2015 did for
genetic programming.

Its three functions, with their names and arguments. What depends on nothing else than names is
reused: an op that the other graph has already under its new name is not copied again, so that one
may copy bit by bit. Beyond the script, loops, library functions, tables and resource variables
follow too, and a variable keeps its initialiser instead of what that gave once. Variables are new
and have no values yet: run their initialisers in the other graph.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLES,
    Member,
    StateWriters,
    definitions,
    enclosing_ops,
    own_ops,
    persistent_state,
)
from tfgraphwidget.graph_editor.lists import check_type, get_unique_graph
from tfgraphwidget.graph_editor.live_ops import read
from tfgraphwidget.graph_editor.placeholders import check_scope, scope_finalize
from tfgraphwidget.graph_editor.transformer import InformedTransformer
from tfgraphwidget.graph_editor.transforming import CopySettings
from tfgraphwidget.graph_editor.trees import flatten_tree, transform_tree
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.live import record_of
from tfgraphwidget.sources import variable_definition
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Graph, Operation, Tensor, Variable

Copied = MutableMapping[str, Variable]
"""Name of a variable in the other graph -> the variable, for example "ns/w:0"."""


def copy_variable_to_graph(
    variable: object, to_graph: Graph, namespace: str, copied_variables: Copied | None = None
) -> Variable:
    """The copy of a variable in another graph, with its initialiser and what that depends on.

    It is in TensorFlow's own collections as the original is, and in others under the namespace
    ("ns/endpoints").

    Args:
        variable: The variable.
        to_graph: The other graph.
        namespace: The name scope to put it into; "" keeps the name.
        copied_variables: The variables of `to_graph` to use under their names; those that are
            copied are added.

    Raises:
        TypeError: `variable` is not a tf.Variable of a graph, or `to_graph` no graph.
        ValueError: `to_graph` has another op of a name that is needed, or TensorFlow refuses the
            copy.
    """
    graph = getattr(variable, "graph", None)
    if not isinstance(variable, tf.Variable) or not isinstance(graph, tf.Graph):
        raise TypeError(
            f"{value_text(variable)} is not a Variable of a graph; copy_to_graph copies ops and "
            "tensors."
        )
    check_scope(namespace)
    copies = {} if copied_variables is None else copied_variables
    name = scope_finalize(namespace) + variable.name
    if name not in copies:
        existing = _variable_named(name, to_graph)
        if existing is None:
            copying = _Copying(variable.graph, to_graph, namespace, copies)
            copies[name] = copying.variable(variable)
        else:
            copies[name] = existing
    copied: Variable = copies[name]
    return copied


def copy_to_graph(
    op_or_tensor: Any, to_graph: Graph, copied_variables: Copied | None = None, namespace: str = ""
) -> Any:
    """The copy of an op or tensor in another graph, with everything that it depends on.

    Of a list, tuple or dict of ops and tensors, also of nested ones, all are copied at once, and
    the result is alike.

    Args:
        op_or_tensor: The op or tensor, or several; a variable gives its tensor.
        to_graph: The other graph.
        copied_variables: The variables of `to_graph` to use under their names; those that are
            copied are added.
        namespace: The name scope to put all into; "" keeps the names.

    Raises:
        TypeError: `op_or_tensor` is something else, or `to_graph` no graph.
        ValueError: `to_graph` has another op of a name that is needed, TensorFlow refuses the copy,
            or the ops and tensors are of several graphs.
    """
    check_type(to_graph, (tf.Graph,))
    check_scope(namespace)
    copies = {} if copied_variables is None else copied_variables
    scope, there = scope_finalize(namespace), dict(copies)
    tree = transform_tree(op_or_tensor, lambda leaf: leaf)  # a generator can be read once
    elements: list[Any] = [leaf for leaf in flatten_tree(tree) if not isinstance(leaf, tf.Variable)]
    copying = _Copying(_graph_of(elements), to_graph, namespace, copies) if elements else None
    if copying is not None:
        copying.copy(
            [split_tensor(each.name)[0] for each in elements if scope + each.name not in there]
        )

    def copy_of(leaf: Any) -> Any:
        if isinstance(leaf, tf.Variable):
            return to_graph.get_tensor_by_name(
                copy_variable_to_graph(leaf, to_graph, namespace, copies).name
            )
        if scope + leaf.name in there:
            return to_graph.get_tensor_by_name(there[scope + leaf.name].name)
        return cast("_Copying", copying).element(leaf)

    return transform_tree(tree, copy_of)


def _graph_of(elements: Sequence[Any]) -> Graph:
    """The graph of ops and tensors; TypeError for other things, ValueError for several graphs."""
    for element in elements:
        check_type(element, (tf.Operation, tf.Tensor))
    return cast("Graph", get_unique_graph(elements))


def get_copied(
    original: Any, graph: Graph, copied_variables: Copied | None = None, namespace: str = ""
) -> Any:
    """The copy that `copy_to_graph` or `copy_variable_to_graph` has made of an op, a tensor or a
    variable.

    Args:
        original: The op, tensor or variable.
        graph: The other graph.
        copied_variables: The variables of `graph` under their names.
        namespace: The name scope that it was put into.

    Raises:
        KeyError: It has not been copied there.
    """
    check_type(original, (tf.Operation, tf.Tensor, tf.Variable))
    check_type(graph, (tf.Graph,))
    check_scope(namespace)
    name = scope_finalize(namespace) + original.name
    if name in (copied_variables or {}):
        return copied_variables[name]  # type: ignore[index]
    existing = _variable_named(name, graph) if isinstance(original, tf.Variable) else None
    try:
        if split_tensor(name)[0] in record_of(graph).hidden:
            raise KeyError(name)
        return graph.as_graph_element(name) if existing is None else existing
    except KeyError as error:
        raise KeyError(
            f"The graph has no {name!r}; copy {original.name!r} there with copy_to_graph first."
        ) from error


def _variable_named(name: str, graph: Graph) -> Variable | None:
    """The variable of that name in a graph, copied there or made there; None if there is none."""
    check_type(graph, (tf.Graph,))
    record = record_of(graph)
    variables = {} if split_tensor(name)[0] in record.hidden else record.variables
    if name in variables:
        return variables[name]
    for key in graph.get_all_collection_keys():
        for item in graph.get_collection_ref(key):
            if Member.of(item) == Member("variable", name):
                variable: Variable = item
                return variable
    return None


class _Copying:
    """From one graph into the namespace of another."""

    def __init__(self, source: Graph, to_graph: Graph, namespace: str, copies: Copied) -> None:
        check_type(to_graph, (tf.Graph,))
        self.source, self.to_graph, self.copies = source, to_graph, copies
        self.scope = scope_finalize(namespace)
        self.index = read(source)
        self.variables = {v.removeprefix(self.scope): variable for v, variable in copies.items()}

    def variable(self, variable: Variable) -> Variable:
        """The copy of a variable, whether or not it is in a collection."""
        definition = variable_definition(variable)
        if definition.handle not in self.index.defined_variables:
            self.index = replace(self.index, variable_defs=(*self.index.variable_defs, definition))
        self.copy([definition.handle])
        return record_of(self.to_graph).variables[self.scope + definition.name]

    def element(self, top: Operation | Tensor) -> Operation | Tensor:
        """The op or tensor that has been copied from another."""
        op, port = split_tensor(top.name)
        copy = self.to_graph.get_operation_by_name(self._there(op) or self.scope + op)
        return copy if port is None else copy.outputs[port]

    def copy(self, names: Iterable[str]) -> None:
        """Copy ops and what they need, if not there already; report new variables to the caller."""
        ops_to_copy, already = self._ops_to_copy([self.index.ids[name] for name in names])
        if not ops_to_copy:
            return
        copier = InformedTransformer(CopySettings(exact=True, already=already, index=self.index))
        copied, there = frozenset(ops_to_copy), self.to_graph.get_operation_by_name
        for kind in ("transform_external_input_handler", "transform_external_hidden_input_handler"):
            setattr(copier, kind, lambda _, t: there(already[t.op.name]).outputs[t.value_index])
        ops = self.source.get_operations()
        copier([ops[i] for i in ops_to_copy], self.to_graph, self.scope, reuse_dst_scope=True)
        variables = record_of(self.to_graph).variables
        for variable in self.index.variable_defs:
            if (
                self.index.ids[variable.handle] in copied
                and (new := self.scope + variable.name) in variables
            ):
                self.copies[new] = variables[new]

    def _ops_to_copy(self, first: list[int]) -> tuple[list[int], dict[str, str]]:
        """The ops to copy, in graph order, and those already there, by names here and there."""
        index, filling = self.index, StateWriters(self.index)
        states = persistent_state(index)
        ops, already = set[int](), dict[str, str]()
        stack = list(first)
        while stack:
            while stack:
                at = stack.pop()
                name = index.names[at]
                if at in ops or name in already:
                    continue
                if there := self._there(name):
                    already[name] = there
                    continue
                ops.add(at)
                stack += index.input_lists[at] + index.control_lists[at]
                if index.types[at] in HANDLES:
                    stack += self._makes_whole(at)
                elif states[at]:
                    stack += filling.ops(at)
            # Of a loop all that is in it: another output of it may be copied later, and would need
            # a loop of its own.
            stack += [
                op for op in enclosing_ops(index, ops) - ops if index.names[op] not in already
            ]
        return sorted(ops), already

    def _makes_whole(self, handle: int) -> set[int]:
        """The ops that a variable needs to be initialized and read."""
        (variable,) = definitions(self.index, [handle]).values()
        first = (
            split_tensor(variable.initial_value)[0] if variable.initial_value else variable.handle
        )
        return own_ops(self.index, variable) | {self.index.ids[first]}

    def _there(self, name: str) -> str | None:
        """The name of the op that represents an op in the other graph; None while there is none.

        What a copy left that failed is no such op: TensorFlow cannot remove it, but the next try
        shows it again.
        """
        variable = self.variables.get(f"{name}:0")
        new = self.scope + name if variable is None else str(variable.op.name)
        record = record_of(self.to_graph)
        if new in record.hidden and new not in record.failed:
            raise ValueError(
                f"The name {new!r} is taken in the other graph by an edit that was undone, since "
                "TensorFlow cannot remove ops; redo that edit, or give another namespace."
            )
        if variable is not None:
            return new
        if new in record.hidden:
            return None
        try:
            op = self.to_graph.get_operation_by_name(new)
        except KeyError:
            return None
        original = self.source.get_operation_by_name(name)
        same = op.type == original.type
        if same and op.type in CONSTANTS:
            same = op.node_def.attr["value"] == original.node_def.attr["value"]
        if not same:
            raise ValueError(
                f"The other graph has another op {op.name!r}, a {op.type}, which is not a copy of "
                f"{name!r}; give a namespace of your own."
            )
        return str(op.name)
