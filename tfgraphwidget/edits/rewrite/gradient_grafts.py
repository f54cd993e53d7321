"""Gradients of traced functions, moved into the chain of gradients of a graph that trains.

Where a gradient goes in, and what it represents, is found in `rewire.carried_gradients`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tfgraphwidget.edits.context import Function, PlanContext, TracedFunction
from tfgraphwidget.edits.rewire.carried_gradients import PartGradients, can_be_carried
from tfgraphwidget.edits.rewire.gradients import gradient_scope
from tfgraphwidget.edits.rewrite.consumers import Tensor, tensor_name
from tfgraphwidget.edits.rewrite.graft import graft_function
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.naming import (
    as_input,
    colocate,
    colocated_with,
    free_name,
    split_input,
    split_tensor,
)
from tfgraphwidget.tf_types import NodeDef

Options = Iterable[tuple[str, object]]


class GradientGrafts:
    """The gradients that an edit adds to a graph.

    Args:
        context: What the edit is planned in.
        index: The graph.
        names_in_use: Names that its new ops cannot have, in small letters.

    Attributes:
        nodes: The new ops.
        traces: The name scope and the trace of each gradient.
    """

    def __init__(
        self, context: PlanContext, index: GraphIndex, names_in_use: Collection[str]
    ) -> None:
        self._context, self._index = context, index
        self._names_in_use = {*names_in_use, *index.used_names()}
        self._traced: dict[object, TracedFunction | None] = {}
        self.nodes: list[NodeDef] = []
        self.traces: list[tuple[str, TracedFunction]] = []

    @property
    def scopes(self) -> tuple[str, ...]:
        """The name scopes of the gradients."""
        return tuple(scope for scope, _ in self.traces)

    def trace(
        self,
        function: Function,
        sources: Sequence[Tensor],
        arriving: Tensor,
        by: Sequence[int],
        options: Options = (),
    ) -> TracedFunction | None:
        """The gradients of a function, in a graph of their own; None where they cannot be carried.

        Args:
            function: A function of the sources that returns one tensor.
            by: The numbers of the sources that the gradients are taken by.
        """
        index, options = self._index, tuple(options)
        specs = tuple(
            (index.dtypes(op)[port].removesuffix("_ref"), index.shape(op, port))
            for op, port in (*sources, arriving)
        )
        key = id(function), specs, tuple(by), repr(options)
        if key not in self._traced:
            traced = self._context.trace_gradient(function, specs, by, options)
            is_plain = traced is not None and not traced.index.functions and can_be_carried(traced)
            self._traced[key] = traced if is_plain else None
        return self._traced[key]

    def add(
        self, traced: TracedFunction, sources: Sequence[Tensor], arriving: Tensor, after: str
    ) -> tuple[str, ...]:
        """Move gradients into the graph, beside what arrives; the names of their tensors. `after`
        is the op or name scope of the function whose gradients they are.
        """
        index = self._index
        scope = free_name(
            f"{gradient_scope(index.names[arriving[0]])}{after}_grad", self._names_in_use
        )
        self._names_in_use.add(scope.lower())
        names = [tensor_name(index, tensor) for tensor in (*sources, arriving)]
        graft = graft_function(traced, index, names, scope)
        self.nodes += _ancestors(graft.change.nodes, graft.outputs)
        self.traces.append((scope, graft.traced))
        return graft.outputs

    def replace(
        self,
        function: Function,
        sources: Sequence[Tensor],
        gradients: Sequence[PartGradients],
        after: str,
        options: Options = (),
    ) -> dict[Tensor, str] | None:
        """Add the gradients of a function that takes the place of a part.

        Returns:
            The new tensors, by the gradients that they take the place of; None where there are no
            such gradients, and nothing is added.
        """
        traces = []
        for each in gradients:
            by = [k for _, k in each.leaving]
            traced = self.trace(function, sources, each.arriving, by, options) if by else None
            if by and traced is None:
                return None
            traces.append(traced)
        new: dict[Tensor, str] = {}
        for each, traced in zip(gradients, traces, strict=True):
            if traced is not None:
                names = self.add(traced, sources, each.arriving, after)
                new |= {old: name for (old, _), name in zip(each.leaving, names, strict=True)}
        return new

    def follow(self, new: Mapping[Tensor, str]) -> None:
        """Let the gradients read what takes the place of what they read."""
        index = self._index
        by_text = {as_input(index.names[op], port): name for (op, port), name in new.items()}
        for node in self.nodes:
            for k, text in enumerate(node.input):
                if text in by_text:
                    op, port = split_tensor(by_text[text])
                    node.input[k] = as_input(op, port or 0)


def unused_gradient_ops(index: GraphIndex, gradients: Iterable[PartGradients]) -> set[int]:
    """The gradient ops of replaced parts that nothing needs any more."""
    gradients = tuple(gradients)
    unused = {op for each in gradients for op in each.ops}
    leaving: dict[int, set[int]] = {}
    for each in gradients:
        for (op, port), _ in each.leaving:
            leaving.setdefault(op, set()).add(port)
    queue = [op for op in unused if _is_needed(index, op, unused, leaving.get(op, ()))]
    while queue:
        op = queue.pop()
        if op in unused:
            unused.remove(op)
            queue += (*index.input_lists[op], *index.control_lists[op])
    return unused


def _is_needed(
    index: GraphIndex, op: int, unused: Collection[int], redirected: Collection[int]
) -> bool:
    """Whether ops that are not among the unused ones wait for an op, or read it; who reads the
    redirected ports reads others now, and who waits for such an op waits for another.
    """
    if not redirected and any(
        waiting not in unused for waiting in index.control_consumer_lists[op]
    ):
        return True
    return any(
        source == op and port not in redirected
        for consumer in index.consumer_lists[op]
        if consumer not in unused
        for source, port in index.input_tensors(consumer)
    )


def _ancestors(nodes: Sequence[NodeDef], outputs: Sequence[str]) -> list[NodeDef]:
    """The new ops that tensors are computed of, which stand beside none of the others."""
    by_name = {node.name: node for node in nodes}
    needed, stack = set[str](), [split_tensor(output)[0] for output in outputs]
    while stack:
        name = stack.pop()
        if name in by_name and name not in needed:
            needed.add(name)
            stack += [split_input(text)[0] for text in by_name[name].input]
    for name in needed:
        beside = colocated_with(by_name[name])
        left_out = {op for op in beside if op in by_name and op not in needed}
        if left_out:
            colocate(by_name[name], [op for op in beside if op not in left_out])
    return [node for node in nodes if node.name in needed]
