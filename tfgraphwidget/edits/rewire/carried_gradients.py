"""The gradient of a function that is put into a path of which gradients were taken.

Inserted after the tensor t: the path reads f(t) now. What arrived as the gradient of t is that of
f(t), for the consumers of t read f(t) alone; multiplied by the derivative of f it is that of t, and
goes on to the gradient ops of the op that gives t, or to the optimizer of the variable that is read
there.

In the place of a part that gives t: what arrived as the gradient of t is that of f(x, y), and the
part's gradient ops made the gradients of x and y of it. These are computed of f now, and what read
the old ones reads the new ones.

Where it is not plain to see which gradient is which, as where only some consumers read f(t),
nothing is carried, and a sentence says so (`rewire.stale_gradients`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.context import TracedFunction
from tfgraphwidget.edits.rewire.execution_frames import may_run_in_frames
from tfgraphwidget.edits.rewire.stale_gradients import BackwardOps, is_differentiable, origin
from tfgraphwidget.graph import (
    APPLIES,
    GRADIENT_SUMS,
    HANDLES,
    GraphIndex,
    are_compatible,
    traversal,
)

Tensor = tuple[int, int]
"""Op and port."""

CARRIED = "The gradients go through it, too."
_TUPLE = re.compile(r"/tuple/control_dependency(?:_(\d+))?$")
"""How the names of the gradients by the inputs of an op that has several end, in their order
(test_tensorflow_facts.py::test_gradients_by_several_inputs_are_numbered).
"""


@dataclass(frozen=True)
class ArrivingGradient:
    """The gradient of a tensor, as it arrives.

    Attributes:
        tensor: The gradient.
        consumers: The ops that read it as that of the tensor.
    """

    tensor: Tensor
    consumers: tuple[int, ...]


@dataclass(frozen=True)
class GradientPath:
    """Where the gradient of a tensor arrives.

    Attributes:
        arriving: The gradients, one for each time that gradients were taken.
        value_consumers: The gradient ops that read the tensor as what its consumers read; others
            read it as what the op gives.
    """

    arriving: tuple[ArrivingGradient, ...]
    value_consumers: frozenset[int]


@dataclass(frozen=True)
class PartGradients:
    """The gradients of a part that gives one tensor, of one time that gradients were taken.

    Attributes:
        arriving: The gradient of what the part gives.
        leaving: The gradients of what it reads, each with the number of the tensor among these.
        ops: The gradient ops of the part, which make the leaving gradients of the arriving one.
    """

    arriving: Tensor
    leaving: tuple[tuple[Tensor, int], ...]
    ops: frozenset[int]


def gradient_path(
    backward: BackwardOps, tensor: Tensor, part: Collection[int] = ()
) -> GradientPath | None:
    """Where the gradient of a tensor arrives; None where that is not plain to see. `part` are the
    ops that give the tensor, where all of them are replaced.
    """
    index, op = backward.index, tensor[0]
    if len(index.dtypes(op)) != 1 or may_run_in_frames(index, [op]) or backward.has_second_order:
        return None
    own = set(backward.by_owner.get(op, ()))
    if own and not part and backward.is_end(op):
        return None  # a loss is minimized itself, whatever is made of it for others
    own_of_part = own.union(*(backward.by_owner.get(each, ()) for each in part))
    all_consumers = set(index.consumer_lists[op])
    gradients_of_consumers = {
        gradient
        for consumer in all_consumers - backward.ops
        for gradient in backward.by_owner.get(consumer, ())
    }
    value_consumers = all_consumers & backward.ops - own_of_part
    if not value_consumers <= gradients_of_consumers:
        return None
    owners = set[int]().union(*(backward.owners[gradient] for gradient in own))
    if not owners <= {op, *part}:
        return None  # what arrives is the gradient of what all of them give
    own = own_of_part if len(owners) > 1 else own
    arriving = _at_ops(backward, own) if own else _at_optimizers(backward, op)
    if not arriving:
        return None
    for gradient in (each.tensor for each in arriving):
        if index.shape(*gradient) != index.shape(*tensor):
            return None
        if may_run_in_frames(index, [gradient[0]]):
            return None
        if own and _is_handed_on(backward, gradient, {op, *part}, own_of_part):
            return None
    return GradientPath(tuple(arriving), frozenset(value_consumers))


def part_gradients(
    backward: BackwardOps, part: Collection[int], output: Tensor, sources: Sequence[Tensor]
) -> tuple[PartGradients, ...] | None:
    """The gradients of a part that reads `sources` and gives `output`, one for each time that
    gradients were taken; None where it is not plain to see which is which.
    """
    index, part = backward.index, frozenset(part)
    path = gradient_path(backward, output, part)
    own = {gradient for op in part for gradient in backward.by_owner.get(op, ())}
    if path is None or not own or may_run_in_frames(index, part):
        return None
    if any(not backward.owners[gradient] <= part for gradient in own):
        return None
    if any(_is_handle(index, op) for each in part for op in (each, *index.input_lists[each])):
        return None  # its own variables have gradients, too
    by_scope: dict[str, set[int]] = {}
    for gradient in own:
        by_scope.setdefault(backward.scope(gradient), set()).add(gradient)
    arriving = {backward.scope(each.consumers[0]): each.tensor for each in path.arriving}
    if arriving.keys() != by_scope.keys():
        return None
    gradients = [
        _gradients_of_one_time(backward, part, sources, arriving[scope], ops)
        for scope, ops in by_scope.items()
    ]
    plain = tuple(each for each in gradients if each is not None)
    return plain if len(plain) == len(gradients) else None


def _gradients_of_one_time(
    backward: BackwardOps,
    part: frozenset[int],
    sources: Sequence[Tensor],
    arriving: Tensor,
    ops: set[int],
) -> PartGradients | None:
    """The gradients of a part of one taking of gradients; None where that is not plain."""
    index, region = backward.index, _with_sums(backward, ops)
    if _entering(backward, region) != {arriving}:
        return None
    if any(op in backward.results and not index.consumer_lists[op] for op in region):
        return None  # it is fetched, and a fetch goes on naming the old one
    leaving = _leaving(backward, region, part, sources)
    if leaving is None:
        return None
    with_gradient = {k for _, k in leaving}
    for k, source in enumerate(sources):
        is_trained = source[0] in backward.dependents and is_differentiable(index, source)
        if is_trained and k not in with_gradient:
            return None  # the part stopped it, and what takes its place may not
    return PartGradients(arriving, leaving, frozenset(region))


def _with_sums(backward: BackwardOps, own: set[int]) -> set[int]:
    """Gradient ops of a part, and the sums of what they alone give."""
    index, region = backward.index, set(own)
    queue = list(own)
    while queue:
        for consumer in index.consumer_lists[queue.pop()]:
            is_sum = consumer in backward.ops and consumer not in backward.owners
            if (
                is_sum
                and consumer not in region
                and index.types[consumer] in GRADIENT_SUMS
                and region.issuperset(index.input_lists[consumer])
            ):
                region.add(consumer)
                queue.append(consumer)
    return region


def _entering(backward: BackwardOps, region: set[int]) -> set[Tensor]:
    """The gradients that gradient ops of a part read of others."""
    index = backward.index
    return {
        tensor
        for op in region
        for tensor in index.input_tensors(op)
        if tensor[0] in backward.ops
        and tensor[0] not in region
        and index.input_lists[tensor[0]]
        and is_differentiable(index, tensor)
    }


def _leaving(
    backward: BackwardOps, region: set[int], part: frozenset[int], sources: Sequence[Tensor]
) -> tuple[tuple[Tensor, int], ...] | None:
    """The gradients that gradient ops of a part give to others, each with the number of the tensor
    that it is the gradient by; None where that is not plain to see.
    """
    index = backward.index
    consumers: dict[Tensor, list[int]] = {}
    for op in sorted(region):
        for consumer in index.consumer_lists[op]:
            if consumer in region:
                continue
            for tensor in index.input_tensors(consumer):
                if tensor[0] == op and is_differentiable(index, tensor):
                    consumers.setdefault(tensor, []).append(consumer)
    pairs = []
    for tensor, reading in consumers.items():
        candidates = [
            k
            for k, source in enumerate(sources)
            if is_differentiable(index, source)
            and are_compatible(index.shape(*source), index.shape(*tensor))
        ]
        candidates = _by_number(backward, region, part, sources, tensor, candidates)
        candidates = _by_consumers(backward, sources, reading, candidates)
        if len(candidates) != 1:
            return None
        pairs.append((tensor, candidates[0]))
    numbers = [k for _, k in pairs]
    return tuple(pairs) if len(set(numbers)) == len(numbers) else None


def _by_number(
    backward: BackwardOps,
    region: set[int],
    part: frozenset[int],
    sources: Sequence[Tensor],
    gradient: Tensor,
    candidates: list[int],
) -> list[int]:
    """Those of the candidates that a gradient is taken by, as the number in its name says."""
    index = backward.index
    numbered = _TUPLE.search(index.names[gradient[0]])
    if numbered is None or len(part) != 1:
        return candidates
    slots = [t for t in index.input_tensors(next(iter(part))) if is_differentiable(index, t)]
    if sum(_TUPLE.search(index.names[op]) is not None for op in region) != len(slots):
        return candidates  # some inputs have no gradient
    slot = slots[int(numbered[1] or 0)]
    return [k for k in candidates if sources[k] == slot]


def _by_consumers(
    backward: BackwardOps, sources: Sequence[Tensor], reading: Sequence[int], candidates: list[int]
) -> list[int]:
    """Those of the candidates that gradients go on to where a gradient is read; all where that
    does not show.
    """
    goes_to = _destinations(backward, reading)
    if not goes_to:
        return candidates
    return [k for k in candidates if not goes_to.isdisjoint(givers(backward.index, sources[k]))]


def _is_handed_on(
    backward: BackwardOps, arriving: Tensor, part: Collection[int], gradient_ops: Collection[int]
) -> bool:
    """Whether the gradient that arrives at the ops of `part` may, as it is, be that of a tensor
    which they read, too, as that of a sum is.
    """
    index = backward.index
    reading = [
        consumer
        for consumer in index.consumer_lists[arriving[0]]
        if consumer not in gradient_ops and arriving in index.input_tensors(consumer)
    ]
    goes_to = _destinations(backward, reading)
    sources = {tensor for op in part for tensor in index.input_tensors(op) if tensor[0] not in part}
    given_by = set[int]().union(*(givers(index, source) for source in sources))
    return bool(reading) and (not goes_to or not goes_to.isdisjoint(given_by))


def _destinations(backward: BackwardOps, reading: Sequence[int]) -> set[int]:
    """The forward ops whose gradients ops that read a gradient are, and the variables that they
    change by it.
    """
    index, queue = backward.index, list(reading)
    goes_to: set[int] = set()
    visited = set(queue)
    while queue:
        op = queue.pop()
        if op in backward.owners:
            goes_to |= backward.owners[op]
        elif "Apply" in index.types[op]:
            goes_to.add(index.input_lists[op][0])
        elif op in backward.ops and index.types[op] in GRADIENT_SUMS:
            further = [consumer for consumer in index.consumer_lists[op] if consumer not in visited]
            visited.update(further)
            queue += further
    return goes_to


def trained_by(index: GraphIndex, reading: Iterable[int]) -> set[int]:
    """The variables that optimizers change by what these ops read, clipped or scaled too."""
    after = traversal.forward(index, reading, controls=False)
    return {
        index.input_lists[op][0]
        for op in np.flatnonzero(after).tolist()
        if APPLIES.fullmatch(index.types[op]) and index.input_lists[op]
    }


def givers(index: GraphIndex, tensor: Tensor) -> set[int]:
    """The op that gives a tensor, those before it that hand it on, and a variable that it reads."""
    ops = {tensor[0], origin(index, tensor)[0]}
    return ops | {each for op in ops for each in index.input_lists[op] if _is_handle(index, each)}


def _is_handle(index: GraphIndex, op: int) -> bool:
    return index.types[op] in HANDLES


def can_be_carried(traced: TracedFunction) -> bool:
    """Whether a function's derivative can stand alone: no state, no drawn numbers in it."""
    typing = traced.index.typing
    definitions = (typing.definition(kind) for kind in traced.index.types)
    is_plain = all(
        definition is not None and not definition.is_stateful for definition in definitions
    )
    return is_plain and not traced.has_state and not traced.captured and traced.graph is None


def _at_ops(backward: BackwardOps, own: set[int]) -> list[ArrivingGradient]:
    """What arrives at an op's gradient ops: one tensor per scope of gradients, or nothing."""
    index = backward.index
    arriving: dict[str, set[Tensor]] = {}
    consumers: dict[Tensor, list[int]] = {}
    for consumer in sorted(own):
        for tensor in index.input_tensors(consumer):
            is_computed = tensor[0] in backward.ops and bool(index.input_lists[tensor[0]])
            if is_computed and tensor[0] not in own and is_differentiable(index, tensor):
                arriving.setdefault(backward.scope(consumer), set()).add(tensor)
                consumers.setdefault(tensor, []).append(consumer)
    if any(len(tensors) != 1 for tensors in arriving.values()):
        return []
    return [
        ArrivingGradient(tensor, tuple(dict.fromkeys(ops))) for tensor, ops in consumers.items()
    ]


def _at_optimizers(backward: BackwardOps, op: int) -> list[ArrivingGradient]:
    """What optimizers are given for the variable that only this op reads on the path."""
    index = backward.index
    sources = index.input_lists[op]
    if len(sources) != 1 or not _is_handle(index, sources[0]):
        return []
    of_variable = index.consumer_lists[sources[0]]
    other_reads = [
        consumer
        for consumer in of_variable
        if consumer != op
        and index.dtypes(consumer) == index.dtypes(op)
        and index.consumer_lists[consumer]
        and not _is_training(index, consumer)
    ]
    if other_reads:
        return []
    consumers: dict[Tensor, list[int]] = {}
    for update in of_variable:
        if "Apply" in index.types[update]:
            for tensor in index.input_tensors(update):
                if tensor[0] in backward.ops:
                    consumers.setdefault(tensor, []).append(update)
    return [
        ArrivingGradient(tensor, tuple(dict.fromkeys(ops))) for tensor, ops in consumers.items()
    ]


def _is_training(index: GraphIndex, op: int) -> bool:
    """Whether an op changes the variable that it is given."""
    return "Apply" in index.types[op] or "Assign" in index.types[op]
