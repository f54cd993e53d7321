"""Gradients that an edit makes stale: those of the forward path that was there before it.

`tf.gradients` and a tape write down the derivative of each op of a path once. An edit that changes
what the path computes leaves these ops as they are, and who trains with them trains something else.
This is found out from the patch, whichever command has planned it. An edge that is another one
leaves wrong gradients if something that they are taken by lies before it, for they are a product of
its derivative; or if they read the value that it had. Others are right, as those of a weight whose
input is scaled. Checked against TensorFlow's own gradients of each edited graph:
tests/edits/test_stale_gradients.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from tfgraphwidget.edits.command import subject_text
from tfgraphwidget.edits.patch import NodeChange, Patch, apply_patch
from tfgraphwidget.edits.rewire.gradients import (
    gradient_mask,
    gradient_owners,
    gradient_scope,
    is_second_order,
)
from tfgraphwidget.graph import (
    GRADIENT_SUMS,
    HANDLES,
    HANDS_GRADIENT_ON,
    IDENTITY,
    SAME_GRADIENT,
    TRAINABLE,
    WITHOUT_GRADIENT,
    GraphIndex,
    Shape,
    walk_from,
)
from tfgraphwidget.naming import names_text, split_input, split_tensor
from tfgraphwidget.tf_types import NodeDef

_STALE = "stay as they were; compute them again before you train."
Tensor = tuple[int, int]
"""Op and port."""

_DIFFERENTIABLE = ("float", "bfloat", "half", "complex", "resource", "variant")
"""What the dtypes begin with that gradients go through."""
_OF_TAPE = "gradient_tape/"
_NO_VALUE = frozenset(
    {"T", "dtype", "shared_name", "container", "message", "summarize", "parallel_iterations"}
)
"""Attributes that do not change what an op computes of the values that it reads."""


def stale_gradient_notes(
    index: GraphIndex,
    patch: Patch,
    renamed: Mapping[str, str],
    what: str = "",
    *,
    carried: Collection[Tensor] = (),
    left_over: Sequence[int] = (),
) -> tuple[str, ...]:
    """A sentence about gradient ops that are wrong after a patch; none if there are none.

    Args:
        renamed: The names of the ops that edits have renamed, by those before: gradient ops are
            named after these.
        what: What the gradients are of, in words; "" for the ops themselves.
        carried: Tensors that others take the place of, with their gradients.
        left_over: Ops that others take the place of, whose gradients stay, and that only such
            others read: no edge that is left shows that they are wrong.
    """
    if (
        not patch.changed
        or patch.carries_gradients
        or any(note.endswith(_STALE) for note in patch.report.notes)
    ):
        return ()
    backward = BackwardOps(index, renamed)
    if not backward.ops:
        return ()
    ops = list(dict.fromkeys([*_ChangedEdges(backward, patch).stale(carried), *left_over]))
    if not ops:
        return ()
    subject = what or subject_text(tuple(index.names[op] for op in ops))
    gradients = sorted({gradient for op in ops for gradient in backward.by_owner.get(op, ())})
    names = f" ({names_text([index.names[op] for op in gradients])})" if gradients else ""
    return (f"The gradients of {subject}{names} {_STALE}",)


class BackwardOps:
    """The gradient ops of a graph, and the forward ops that they belong to.

    Args:
        index: The graph.
        renamed: The names of the ops that edits have renamed, by those before.
    """

    def __init__(self, index: GraphIndex, renamed: Mapping[str, str]) -> None:
        self.index, self._renamed = index, renamed
        self.ops = set(np.flatnonzero(gradient_mask(index, renamed)).tolist())

    @cached_property
    def by_owner(self) -> dict[int, list[int]]:
        """Forward op -> its gradient ops."""
        return gradient_owners(self.index, self.ops, self._renamed)

    @cached_property
    def owner(self) -> dict[int, int]:
        """Gradient op -> the forward op that it belongs to."""
        return {gradient: op for op, gradients in self.by_owner.items() for gradient in gradients}

    @cached_property
    def owners(self) -> dict[int, set[int]]:
        """Gradient op -> the forward ops that it belongs to; several, where a tape names it."""
        owners: dict[int, set[int]] = {}
        for op, gradients in self.by_owner.items():
            for gradient in gradients:
                owners.setdefault(gradient, set()).add(op)
        return owners

    @cached_property
    def has_second_order(self) -> bool:
        """Whether there are gradients of gradients."""
        return any(is_second_order(self.index.names[op]) for op in self.ops)

    @cached_property
    def results(self) -> frozenset[int]:
        """The gradient ops that others than gradient ops read, or that are fetched."""
        return frozenset(self._results())

    @cached_property
    def descendants(self) -> frozenset[int]:
        """The gradient ops, and what is computed of them without being differentiated itself: what
        optimizers read, such as clipped gradients.
        """
        consumers = self.index.consumer_lists
        return frozenset(
            walk_from(
                self.ops, lambda op: (each for each in consumers[op] if each not in self.by_owner)
            )
        )

    @cached_property
    def sources(self) -> frozenset[Tensor]:
        """The tensors that gradients are taken by, as far as the results show."""
        return frozenset(tensor for op in self.results for tensor in self._taken_by(op))

    @cached_property
    def dependents(self) -> frozenset[int]:
        """The ops that give, or compute of, what gradients are taken by and go back through."""
        index = self.index
        trainable = {split_tensor(each.name)[0] for each in index.collections.get(TRAINABLE, ())}
        trainable = {self._renamed.get(name, name) for name in trainable}
        variables = [
            op
            for op, kind in enumerate(index.types)
            if kind in HANDLES and (not trainable or index.names[op] in trainable)
        ]
        first = [*variables, *(op for op, _ in self.sources)]
        return frozenset(walk_from(first, self._differentiable_consumers))

    def is_differentiated(self, op: int, tensors: Iterable[Tensor]) -> bool:
        """Whether gradients are taken of what an op gives, or of what is computed of that.

        Args:
            tensors: Some of the tensors that it reads.
        """
        tensors = list(tensors)
        if any(self._has_gradient_by(op, tensor) for tensor in tensors):
            return True
        if self._hands_on(op) and any(self._is_at_end(tensor) for tensor in tensors):
            return True
        queue, reached = deque([op]), {op}
        while queue:
            at = queue.popleft()
            if at in self.by_owner or not self.ops.isdisjoint(self.index.consumer_lists[at]):
                return True
            for consumer in self._differentiable_consumers(at):
                if consumer not in reached:
                    reached.add(consumer)
                    queue.append(consumer)
        return False

    def _has_gradient_by(self, op: int, tensor: Tensor) -> bool:
        """Whether the gradient of a tensor can come from one op only, and is there: what is
        differentiated has none. A tape gives many gradient ops no name that says whose they are, so
        the same is asked of what the tensor is made of.
        """
        index, queue, visited = self.index, [(tensor[0], op)], set[int]()
        while queue:
            source, reader = queue.pop()
            if source in visited or list(self._differentiable_consumers(source)) != [reader]:
                continue
            visited.add(source)
            if source not in self.by_owner:
                read = [of[0] for of in index.input_tensors(source) if is_differentiable(index, of)]
                queue += () if has_no_gradient(index, source) else [(of, source) for of in read]
            elif self._hands_on(reader) or not self.is_end(source):
                return not self._is_result_of_a_function(op)
        return False

    def _is_result_of_a_function(self, op: int) -> bool:
        """Whether an op only gives callers a value, in a function that a tape differentiates in."""
        index = self.index
        return (
            index.types[op] in IDENTITY
            and not index.consumer_lists[op]
            and any(_OF_TAPE in index.names[each] for each in self.ops)
        )

    def _hands_on(self, op: int) -> bool:
        """Whether the gradient by an input can be that of the op itself, which leaves no trace."""
        return self.index.types[op] in HANDS_GRADIENT_ON

    def _is_at_end(self, tensor: Tensor) -> bool:
        """Whether what is differentiated, such as a sum of losses, is a tensor or is made of it by
        ops that hand gradients on: those that it was begun with arrive there.
        """
        index, queue, visited = self.index, [tensor[0]], set[int]()
        while queue:
            op = queue.pop()
            if op in visited:
                continue
            visited.add(op)
            if op in self.by_owner:
                if self.is_end(op):
                    return True
            elif self._hands_on(op):
                queue += [of[0] for of in index.input_tensors(op) if is_differentiable(index, of)]
        return False

    def is_end(self, op: int) -> bool:
        """Whether gradients are taken of what an op gives, or of a sum of that with others."""
        return any(self._is_first(source) for source in self._arriving_at(op))

    def _arriving_at(self, op: int) -> Iterator[int]:
        """The gradient ops that the gradient ops of an op read, and what sums of them are of."""
        index, own = self.index, self.by_owner[op]
        queue, visited = list(own), set(own)
        while queue:
            for source in index.input_lists[queue.pop()]:
                if source in self.ops and source not in visited:
                    visited.add(source)
                    if index.types[source] in GRADIENT_SUMS and source not in self.owner:
                        queue.append(source)
                    else:
                        yield source

    def _is_first(self, gradient: int) -> bool:
        """Whether gradients were begun with an op: ones in the shape of what is differentiated."""
        if gradient in self.owner or _OF_TAPE in self.index.names[gradient]:
            return False  # a tape names few of its ops after those that they belong to
        return bool(self.index.input_lists[gradient])

    def _differentiable_consumers(self, op: int) -> Iterator[int]:
        """The forward ops that the derivative of an op goes on to."""
        index = self.index
        for consumer in index.consumer_lists[op]:
            if consumer in self.ops or has_no_gradient(index, consumer):
                continue
            outputs = ((consumer, port) for port in range(len(index.dtypes(consumer))))
            if not any(is_differentiable(index, tensor) for tensor in outputs):
                continue  # a summary, a comparison
            read = (tensor for tensor in index.input_tensors(consumer) if tensor[0] == op)
            if any(is_differentiable(index, tensor) for tensor in read):
                yield consumer

    def _results(self) -> list[int]:
        """The gradient ops that others than gradient ops read.

        Those without consumers, too, where only gradient ops read those of their forward op: they
        are fetched.
        """
        consumers, owner = self.index.consumer_lists, self.owner
        read = [op for op in self.ops if not self.ops.issuperset(consumers[op])]
        with_read_gradients = {
            op
            for gradient, op in owner.items()
            if any(owner.get(consumer) != op for consumer in consumers[gradient])
        }
        unread = [
            gradient
            for gradient in self.ops
            if not consumers[gradient] and owner.get(gradient) not in with_read_gradients
        ]
        # An optimizer takes all that it has asked for; what else is there has come of it on the
        # way.
        trained = {self.scope(op) for op in read if self._is_for_optimizer(op)}
        return read + [op for op in unread if self.scope(op) not in trained]

    def _is_for_optimizer(self, op: int) -> bool:
        return any(
            "Apply" in self.index.types[consumer] for consumer in self.index.consumer_lists[op]
        )

    def scope(self, op: int) -> str:
        """The name scope of all gradients that were taken with one."""
        name = self.index.names[op]
        return gradient_scope(name) or name

    def _taken_by(self, result: int) -> Iterator[Tensor]:
        """The inputs of the forward op that a result is the gradient by, judged by shapes."""
        index, stack, visited = self.index, [result], set()
        while stack:
            op = stack.pop()
            if op in visited:
                continue
            visited.add(op)
            if op in self.owner:
                shape = index.shape(op, 0) if index.dtypes(op) else None
                yield from self._inputs_like(self.owner[op], shape, result)
            elif index.types[op] in GRADIENT_SUMS:
                stack += [source for source in index.input_lists[op] if source in self.ops]

    def _inputs_like(self, op: int, shape: Shape, result: int) -> list[Tensor]:
        """The inputs of a forward op that have a shape; for optimizers reads of variables."""
        index = self.index
        inputs = [tensor for tensor in index.input_tensors(op) if is_differentiable(index, tensor)]
        if shape is not None:
            inputs = [t for t in inputs if index.shape(*t) == shape] or inputs
        if self._is_for_optimizer(result):
            inputs = [t for t in inputs if _reads_variable(index, t)] or inputs
        return inputs


class _ChangedEdges:
    """The edges of a graph that a patch changes, where gradients are taken through them."""

    def __init__(self, backward: BackwardOps, patch: Patch) -> None:
        self._backward, self._index, self._patch = backward, backward.index, patch
        self._after = apply_patch(self._index, patch)
        self._new_names = dict(patch.renamed)
        variables = {
            split_tensor(member.name)[0] for member in self._index.collections.get(TRAINABLE, ())
        }
        self._trainable = frozenset(self._new_names.get(name, name) for name in variables)
        self._sources = {(self._name(op), port) for op, port in backward.sources}

    def stale(self, carried: Collection[Tensor]) -> list[int]:
        """The ops whose gradients are wrong now: those that give what another op does not read any
        more, as a rule.
        """
        ops = []
        for change in self._patch.changed:
            op = self._index.ids.get(change.name)
            if op is None or op in self._backward.ops:
                continue
            edges = [edge for edge in self._edges(op, change) if edge[0] not in carried]
            if edges and self._backward.is_differentiated(op, [old for old, _ in edges]):
                ops += [
                    self._owner(op, old, new) for old, new in edges if self._is_stale(op, old, new)
                ]
        return ops

    def _is_stale(self, op: int, old: Tensor, new: Tensor | None) -> bool:
        if self._depends_on_source(self._index, old) or self._value_is_read(op, old, new):
            return True
        return new is not None and self._depends_on_source(self._after, new)

    def _owner(self, op: int, old: Tensor, new: Tensor | None) -> int:
        """The op whose gradient an edge makes wrong; the consumer if the other has none."""
        return old[0] if new is not None and old[0] in self._backward.by_owner else op

    def _name(self, op: int) -> str:
        """The name that an op has after the patch."""
        name = self._index.names[op]
        return self._new_names.get(name, name)

    def _edges(self, op: int, change: NodeChange) -> list[tuple[Tensor, Tensor | None]]:
        """The inputs of an op whose derivative changed: what it read, and reads now."""
        if has_no_gradient(self._index, op):
            return []
        old = self._index.input_tensors(op)
        at = self._after.ids.get(self._name(op))
        new = [] if at is None else self._after.input_tensors(at)
        if len(old) != len(new) or _computes_otherwise(change.before, change.after):
            return [(tensor, None) for tensor in old if is_differentiable(self._index, tensor)]
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if is_differentiable(self._index, a)]
        return [(a, b) for a, b in pairs if self._is_another(a, b)]

    def _is_another(self, old: Tensor, new: Tensor) -> bool:
        """Whether a tensor of the graph before has another value than one of the graph after."""
        (op, port), (now, now_port) = origin(self._index, old), origin(self._after, new)
        return (self._name(op), port) != (self._after.names[now], now_port)

    def _depends_on_source(self, index: GraphIndex, tensor: Tensor) -> bool:
        """Whether a tensor is, or is computed of, what gradients are taken by."""
        queue, reached = deque([tensor]), {tensor}
        while queue:
            op, port = queue.popleft()
            name = self._new_names.get(index.names[op], index.names[op])
            is_trained = index.types[op] in HANDLES and (
                not self._trainable or name in self._trainable
            )
            if is_trained or (name, port) in self._sources:
                return True
            for source in () if has_no_gradient(index, op) else index.input_tensors(op):
                if source not in reached and is_differentiable(index, source):
                    reached.add(source)
                    queue.append(source)
        return False

    def _value_is_read(self, op: int, old: Tensor, new: Tensor | None) -> bool:
        """Whether a gradient op of an op still reads the value that the op no longer reads."""
        value = self._name(old[0]), old[1]
        if new is None:
            return False
        for gradient in self._backward.by_owner.get(op, ()):
            at = self._after.ids.get(self._name(gradient))
            if at is not None and value in map(split_input, self._after.nodes[at].input):
                return True
        return False


def has_no_gradient(index: GraphIndex, op: int) -> bool:
    """Whether gradients end at an op by its type, and none of its own is named in its place."""
    return index.types[op] in WITHOUT_GRADIENT and "_gradient_op_type" not in index.nodes[op].attr


def is_differentiable(index: GraphIndex, tensor: Tensor) -> bool:
    """Whether gradients go through a tensor, by its dtype."""
    op, port = tensor
    dtypes = index.dtypes(op)
    is_unknown = port >= len(dtypes) or not dtypes[port]
    return is_unknown or dtypes[port].startswith(_DIFFERENTIABLE)


def _reads_variable(index: GraphIndex, tensor: Tensor) -> bool:
    """Whether a tensor is the value of a variable."""
    op, _ = origin(index, tensor)
    return index.types[op] in HANDLES or any(
        index.types[source] in HANDLES for source in index.input_lists[op]
    )


def origin(index: GraphIndex, tensor: Tensor) -> Tensor:
    """The tensor that ops hand on until it is this one."""
    while (
        index.types[tensor[0]] in SAME_GRADIENT
        and "_gradient_op_type" not in index.nodes[tensor[0]].attr
    ):
        tensor = index.input_tensors(tensor[0])[0]
    return tensor


def _computes_otherwise(before: NodeDef, after: NodeDef) -> bool:
    """Whether an op computes something else of the values that it reads."""
    if before.op != after.op:
        return True
    names = {
        name for name in (*before.attr, *after.attr) if name[:1] != "_" and name not in _NO_VALUE
    }
    return any(
        (name in before.attr) != (name in after.attr) or before.attr[name] != after.attr[name]
        for name in names
    )
