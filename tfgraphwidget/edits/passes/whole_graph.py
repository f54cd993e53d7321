"""Pass: a command on a whole graph and on the functions that it calls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.control_flow_contexts import (
    contexts_around,
    nested_contexts,
    structural_tensors,
)
from tfgraphwidget.edits.function_bodies import plan_everywhere
from tfgraphwidget.edits.patch import Change, NodeChange, Patch, Report, nothing_to_do, removal_of
from tfgraphwidget.edits.queue_runners import op_names
from tfgraphwidget.edits.rewrite.remove import unprunable_ops
from tfgraphwidget.graph import (
    EXIT,
    V1_CONTROL_FLOW,
    GraphIndex,
    Mask,
    all_variables,
    collection_ops,
    mask_of,
)
from tfgraphwidget.naming import colocated_with, split_input, split_tensor, take_free_name
from tfgraphwidget.tf_types import ContextDef, NodeDef


class Pass(Command):
    """A command on a whole graph and, if its field `functions` is true, on the functions that it
    calls.
    """

    functions: bool

    @abstractmethod
    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of the pass for a graph or a function's body; None for nothing to do."""

    @abstractmethod
    def nothing(self, context: PlanContext) -> str:
        """Why there is nothing to do, in a sentence."""

    def enters(self, context: PlanContext, op: int) -> bool:  # noqa: ARG002
        """Whether the functions that op `op` of `context`, the graph or a body, calls are changed
        too.
        """
        return True

    def plan(self, context: PlanContext) -> Patch:
        """The patch of the graph of `context` and of the functions that it calls.

        One that does nothing if there is nothing to do.
        """
        rewrite = self.rewrite
        if self.functions:
            patch = plan_everywhere(context, rewrite, self.command_name(), enters=self.enters)
        else:
            patch = rewrite(context)
        return nothing_to_do(self.nothing(context)) if patch is None else patch


# What a pass leaves


def named_ops(context: PlanContext, keep: Iterable[int] = ()) -> Mask:
    """Find the ops that something beside edges names, so that no pass removes them.

    These are inputs and outputs of signatures and functions, members of collections, the ops of
    variables, control flow contexts and queue runners, ops that others are placed beside, and ops
    without consumers, which people fetch by name.
    """
    index = context.index
    names = {split_tensor(name)[0] for name in context.external_tensors}
    names |= collection_ops(index)
    names |= {
        name for node in index.nodes if "_class" in node.attr for name in colocated_with(node)
    }
    if not V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        hangs = (
            structural_tensors(inner)
            for outer in index.extras.contexts()
            for inner in _with_inner(outer)
        )
        names |= {split_tensor(name)[0] for tensors in hangs for name in tensors}
    names |= {name for _, runner in index.extras.runners() for name in op_names(runner)}
    for variable in all_variables(index):
        names |= {variable.handle, *variable.ops}
    mask = mask_of(index, [*(index.ids[name] for name in names if name in index.ids), *keep])
    return mask | without_consumers(index)


def _with_inner(context: ContextDef) -> Iterator[ContextDef]:
    """A control flow context with those inside it."""
    yield context
    for inner in nested_contexts(context):
        yield from _with_inner(inner)


def without_consumers(index: GraphIndex) -> Mask:
    """Find the ops of `index` that no op reads or waits for."""
    used = np.zeros(len(index), bool)
    used[index.inputs.values] = True
    used[index.controls.values] = True
    return ~used


class GraphRewrite:
    """What a pass changes of one graph or body, from which the patch is made.

    Args:
        context: The graph.
        keep: Ops that stay.
    """

    def __init__(self, context: PlanContext, keep: Iterable[int] = ()) -> None:
        self.context, self.index = context, context.index
        self.named = named_ops(context, keep)
        self.removed: set[int] = set()
        self.notes: list[str] = []
        self.renamed_outputs: list[tuple[str, str]] = []
        self._changed: dict[int, NodeDef] = {}
        self._new: list[NodeDef] = []
        self._used_names: set[str] = set()

    def node(self, op: int) -> NodeDef:
        """The NodeDef of an op, to be changed."""
        if op not in self._changed:
            node = self.index.nodes[op]
            self._changed[op] = type(node)()
            self._changed[op].CopyFrom(node)
        return self._changed[op]

    def current(self, op: int) -> NodeDef:
        """The NodeDef of an op as it is by now, to be read."""
        return self._changed.get(op, self.index.nodes[op])

    def add(self, name: str, op_type: str, inputs: Iterable[str] = (), device: str = "") -> NodeDef:
        """Add an op of that name, with a number where it is taken; attributes are to be set."""
        if not self._used_names:
            self._used_names = self.index.used_names()
        free = take_free_name(name, self._used_names)
        self._new.append(
            type(self.index.nodes[0])(name=free, op=op_type, input=list(inputs), device=device)
        )
        return self._new[-1]

    def redirect(
        self, op: int, new: str, port: int = 0, only: Collection[int] | None = None
    ) -> None:
        """Let the consumers of an op's output, or `only` these, read another tensor: "a:1"."""
        name = self.index.names[op]
        for consumer in dict.fromkeys(self.index.consumer_lists[op]):
            if only is not None and consumer not in only:
                continue
            node = self.node(consumer)
            for k, text in enumerate(node.input):
                if split_input(text) == (name, port):
                    node.input[k] = new

    def wait_instead(self, op: int, before: Collection[str]) -> None:
        """Let the ops that wait for the op `before` wait for others, by name, instead."""
        for waiting in self.index.control_consumer_lists[op]:
            if waiting not in self.removed:
                add_control_inputs(self.node(waiting), before, without=self.index.names[op])

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed."""
        changes = (self._changed[op] != self.index.nodes[op] for op in self._changed)
        return not (self.removed or self._new or any(changes))

    def patch(self, *, prune: bool = True) -> Patch | None:
        """The patch, None if nothing is changed. With `prune`, ops are removed too that only
        removed ops, or changed ops as they were, needed.
        """
        if self.is_empty:
            return None
        if prune:
            self.removed |= self._unused_ops()
        pairs = ((op, self._changed[op]) for op in sorted(self._changed.keys() - self.removed))
        changed = tuple(
            NodeChange(self.index.nodes[op], sorted_controls(after))
            for op, after in pairs
            if after != self.index.nodes[op]
        )
        return Patch(
            add=Change(nodes=tuple(self._new), contexts=self._contexts_of_new()),
            remove=removal_of(self.index, self.removed),
            changed=changed,
            report=Report(tuple(self.notes)),
            output_renames=tuple(self.renamed_outputs),
        )

    def _contexts_of_new(self) -> tuple[ContextDef, ...]:
        """The control flow contexts around new ops: those of what they read."""
        index = self.index
        outermost = () if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]) else index.extras.contexts()
        contexts = [inner for outer in outermost for inner in _with_inner(outer)]
        inside = {
            name
            for each in contexts
            for name in set(each.values_def.values) - each.values_def.external_values.keys()
        }
        members: list[ContextDef] = []
        for node in self._new if outermost else ():
            name, port = split_input(node.input[0]) if node.input else ("", 0)
            op = index.ids.get(name)
            if op is not None and f"{name}:{port}" in inside:
                leaves = index.types[op] in EXIT
                members += contexts_around(
                    outermost, f"{name}:{port}", [f"{node.name}:0"], leaves=leaves
                )
        return tuple(members)

    def _unused_ops(self) -> set[int]:
        """The ops that lose their last consumer by what is removed and changed."""
        index, ids = self.index, self.index.ids
        uses = np.bincount(index.inputs.values, minlength=len(index))
        uses += np.bincount(index.controls.values, minlength=len(index))
        stack: list[int] = []

        def count(node: NodeDef, by: int) -> None:
            for text in node.input:
                source = ids.get(split_input(text)[0])
                if source is not None:
                    uses[source] += by
                    if by < 0:
                        stack.append(source)

        for node in (
            *self._new,
            *(after for op, after in self._changed.items() if op not in self.removed),
        ):
            count(node, 1)
        for op in {*self._changed, *self.removed}:
            count(index.nodes[op], -1)
        named = {split_tensor(name)[0] for name in self.context.external_tensors}
        protected = unprunable_ops(index, named) | self.named
        unused: set[int] = set()
        while stack:
            op = stack.pop()
            if uses[op] == 0 and not protected[op] and op not in unused and op not in self.removed:
                unused.add(op)
                count(self.current(op), -1)
        return unused


def add_control_inputs(node: NodeDef, names: Iterable[str], without: str = "") -> None:
    """Let an op wait for others, and no longer for the op `without`."""
    inputs = [text for text in node.input if not without or text != f"^{without}"]
    inputs += [f"^{name}" for name in names if f"^{name}" not in inputs and name != node.name]
    node.input[:] = inputs


def sorted_controls(node: NodeDef) -> NodeDef:
    """The NodeDef `node` with control inputs in TensorFlow's order, after other inputs."""
    data = [text for text in node.input if text[:1] != "^"]
    node.input[:] = [*data, *sorted({text for text in node.input if text[:1] == "^"})]
    return node


def control_inputs(node: NodeDef) -> list[str]:
    """The names of the ops that the NodeDef `node` waits for."""
    return [text[1:] for text in node.input if text[:1] == "^"]
