"""The gradient of a function that is inserted into a path of which gradients were taken.

Behind the tensor t the path reads f(t) now. What arrived as the gradient of t is that of f(t), for
the consumers of t read f(t) alone; multiplied by the derivative of f it is that of t, and goes on
to the gradient ops of the op that gives t, or to the optimizer of the variable that is read there.
Where the arriving gradient is not plain to see, as where only some consumers read f(t), nothing is
carried, and a sentence says so (`rewire.stale_gradients`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tfgraphwidget.edits.context import TracedFunction
from tfgraphwidget.edits.rewire.execution_frames import may_run_in_frames
from tfgraphwidget.edits.rewire.gradients import is_second_order
from tfgraphwidget.edits.rewire.stale_gradients import BackwardOps, inputs_of, is_differentiable
from tfgraphwidget.graph import HANDLES, GraphIndex

Tensor = tuple[int, int]
"""Op and port."""

CARRIED = "The gradients go through it, too."


@dataclass(frozen=True)
class ArrivingGradient:
    """The gradient of a tensor, as it arrives.

    Attributes:
        tensor: The gradient.
        readers: The ops that read it as that of the tensor.
    """

    tensor: Tensor
    readers: tuple[int, ...]


@dataclass(frozen=True)
class GradientPath:
    """Where the gradient of a tensor arrives.

    Attributes:
        arriving: The gradients, one for each time that gradients were taken.
        value_readers: The gradient ops that read the tensor as what its consumers read; others read
            it as what the op gives.
    """

    arriving: tuple[ArrivingGradient, ...]
    value_readers: frozenset[int]


def gradient_path(
    index: GraphIndex, tensor: Tensor, renamed: Mapping[str, str]
) -> GradientPath | None:
    """Find where the gradient of a tensor arrives; None where that is not plain to see."""
    backward = BackwardOps(index, renamed)
    op = tensor[0]
    if (
        len(index.dtypes(op)) != 1
        or may_run_in_frames(index, [op])
        or any(map(is_second_order, _names(backward)))
    ):
        return None
    own = set(backward.by_owner.get(op, ()))
    consumers = {reader for reader in index.consumer_lists[op] if reader not in backward.ops}
    value_readers = {reader for reader in index.consumer_lists[op] if reader in backward.ops} - own
    if not value_readers <= {
        gradient for each in consumers for gradient in backward.by_owner.get(each, ())
    }:
        return None
    if any(own & set(gradients) for other, gradients in backward.by_owner.items() if other != op):
        return None  # what arrives is the gradient of what all of them give
    arriving = _at_ops(backward, own) if own else _at_optimizers(backward, op)
    alike = [each for each in arriving if index.shape(*each.tensor) == index.shape(*tensor)]
    if (
        not arriving
        or len(alike) != len(arriving)
        or any(may_run_in_frames(index, [a.tensor[0]]) for a in arriving)
    ):
        return None
    return GradientPath(tuple(arriving), frozenset(value_readers))


def can_be_carried(traced: TracedFunction) -> bool:
    """Whether the derivative of a function can stand in a graph of its own: it holds no state, and
    draws no numbers.
    """
    typing = traced.index.typing
    definitions = (typing.definition(kind) for kind in traced.index.types)
    is_plain = all(
        definition is not None and not definition.is_stateful for definition in definitions
    )
    return is_plain and not traced.has_state and not traced.captured and traced.graph is None


def _names(backward: BackwardOps) -> Iterable[str]:
    """The names of the gradient ops."""
    return (backward.index.names[op] for op in backward.ops)


def _at_ops(backward: BackwardOps, own: set[int]) -> list[ArrivingGradient]:
    """What arrives at the gradient ops of an op: one tensor in each scope of gradients, else
    nothing is plain.
    """
    index = backward.index
    arriving: dict[str, set[Tensor]] = {}
    readers: dict[Tensor, list[int]] = {}
    for reader in sorted(own):
        for tensor in inputs_of(index, reader):
            is_computed = tensor[0] in backward.ops and bool(index.input_lists[tensor[0]])
            if is_computed and tensor[0] not in own and is_differentiable(index, tensor):
                arriving.setdefault(backward.scope(reader), set()).add(tensor)
                readers.setdefault(tensor, []).append(reader)
    if any(len(tensors) != 1 for tensors in arriving.values()):
        return []
    return [ArrivingGradient(tensor, tuple(dict.fromkeys(ops))) for tensor, ops in readers.items()]


def _at_optimizers(backward: BackwardOps, op: int) -> list[ArrivingGradient]:
    """What optimizers are given for the variable that an op, and no other one, reads on the
    path.
    """
    index = backward.index
    handles = [source for source in index.input_lists[op] if index.types[source] in HANDLES]
    if len(handles) != 1 or len(index.input_lists[op]) != 1:
        return []
    reads = [
        reader
        for reader in index.consumer_lists[handles[0]]
        if reader != op
        and index.dtypes(reader) == index.dtypes(op)
        and index.consumer_lists[reader]
        if not _is_training(index, reader)
    ]
    if reads:
        return []
    readers: dict[Tensor, list[int]] = {}
    for update in (
        reader for reader in index.consumer_lists[handles[0]] if "Apply" in index.types[reader]
    ):
        for tensor in inputs_of(index, update):
            if tensor[0] in backward.ops:
                readers.setdefault(tensor, []).append(update)
    return [ArrivingGradient(tensor, tuple(dict.fromkeys(ops))) for tensor, ops in readers.items()]


def _is_training(index: GraphIndex, op: int) -> bool:
    """Whether an op changes the variable that it is given."""
    return "Apply" in index.types[op] or "Assign" in index.types[op]
