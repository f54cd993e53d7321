"""The part of `ge.select` that walks through the graph: what depends on some ops, what they need.

The walks are those of `graph.traversal` on the graph's index; they come back in graph order. (The
original's came in any.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget.graph import GraphIndex, Mask, traversal
from tfgraphwidget.graph_editor.boundary import check_cios
from tfgraphwidget.graph_editor.lists import (
    as_list,
    get_consuming_ops,
    get_generating_ops,
    make_list_of_op,
    make_list_of_t,
)
from tfgraphwidget.graph_editor.live_index import index_of, live_ops, numbers
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import PartitionedVariable, operation_number, registered_gradient
from tfgraphwidget.tf_types import Operation

Asked = Callable[[Operation], object]


def get_forward_walk_ops(
    seed_ops: object,
    inclusive: bool = True,
    within_ops: object = None,
    within_ops_fn: Callable[[Operation], object] | None = None,
    stop_at_ts: object = (),
    control_outputs: object = None,
) -> list[Operation]:
    """All that depends on the seeds, in graph order.

    Args:
        seed_ops: Ops to start from; or tensors and variables, which represent the ops that read
            them.
        inclusive: With the seeds.
        within_ops: What may be reached; seeds that are not among them are dropped, unless it is
            empty: then nothing but the seeds is found. None for all.
        within_ops_fn: Says of an op that is not a seed whether it may be reached; it may be asked
            about any op that the walk would reach without it.
        stop_at_ts: Tensors that are not followed; control edges are, all the same.
        control_outputs: A ControlOutputs to follow control outputs, or None.

    Raises:
        TypeError: Ops or tensors are something else.
        ValueError: Ops or tensors are of several graphs.
    """
    _, control_outputs = check_cios(False, control_outputs)
    limits = _Limits(within_ops, within_ops_fn, stop_at_ts)
    waits = None if control_outputs is None else control_outputs.graph
    return _walk(traversal.forward, _seeds(seed_ops, get_consuming_ops), inclusive, limits, waits)


def get_backward_walk_ops(
    seed_ops: object,
    inclusive: bool = True,
    within_ops: object = None,
    within_ops_fn: Callable[[Operation], object] | None = None,
    stop_at_ts: object = (),
    control_inputs: bool = False,
    only_differentiable: bool = False,
) -> list[Operation]:
    """All that the seeds need, in graph order.

    Args:
        seed_ops: Ops to start from; or tensors and variables, which represent their own ops.
        inclusive: With the seeds.
        within_ops: As in `get_forward_walk_ops`.
        within_ops_fn: As in `get_forward_walk_ops`.
        stop_at_ts: As in `get_forward_walk_ops`.
        control_inputs: Follow control inputs.
        only_differentiable: Do not go on from ops without a gradient, nor along control inputs.

    Raises:
        TypeError: Ops or tensors are something else.
        ValueError: Ops or tensors are of several graphs.
    """
    seeds = _seeds(seed_ops, get_generating_ops)
    limits = _Limits(within_ops, within_ops_fn, stop_at_ts)
    if only_differentiable:
        return _walk(_backward_by_gradients, seeds, inclusive, limits, None)
    waits = seeds[0].graph if seeds and control_inputs else None
    return _walk(traversal.backward, seeds, inclusive, limits, waits)


def _both_walks(
    seeds: tuple[object, object],
    inclusive: tuple[bool, bool],
    within: tuple[Any, Any],
    controls: tuple[Any, Any, Any],
) -> tuple[list[Operation], list[Operation]]:
    """The ops that depend on the first seeds and are needed by the second; (forward, backward)."""
    control_inputs, control_outputs = check_cios(*controls)
    ahead = get_forward_walk_ops(seeds[0], inclusive[0], *within, control_outputs=control_outputs)
    back = get_backward_walk_ops(seeds[1], inclusive[1], *within, control_inputs=control_inputs)
    return ahead, back


def get_walks_intersection_ops(
    forward_seed_ops: object,
    backward_seed_ops: object,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: object = None,
    within_ops_fn: Callable[[Operation], object] | None = None,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """The ops that depend on the forward seeds and that the backward seeds need, in graph order.

    Args:
        forward_seed_ops: The seeds of `get_forward_walk_ops`.
        backward_seed_ops: The seeds of `get_backward_walk_ops`.
        forward_inclusive: With the forward seeds.
        backward_inclusive: With the backward seeds.
        within_ops: As in `get_forward_walk_ops`.
        within_ops_fn: As in `get_forward_walk_ops`.
        control_inputs: Follow them backward; see `check_cios`.
        control_outputs: Follow them forward; see `check_cios`.
        control_ios: See `check_cios`.

    Raises:
        TypeError: Ops or tensors are something else, or see `check_cios`.
        ValueError: Ops or tensors are of several graphs, or see `check_cios`.
    """
    seeds = (forward_seed_ops, backward_seed_ops)
    inclusive = (forward_inclusive, backward_inclusive)
    controls = control_inputs, control_outputs, control_ios
    ahead, backward = _both_walks(seeds, inclusive, (_as_list(within_ops), within_ops_fn), controls)
    both = set(backward)
    return [op for op in ahead if op in both]


def get_walks_union_ops(
    forward_seed_ops: object,
    backward_seed_ops: object,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: object = None,
    within_ops_fn: Callable[[Operation], object] | None = None,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """The ops that depend on the forward seeds or that the backward seeds need, in graph order.

    The arguments and errors are those of `get_walks_intersection_ops`.

    Args:
        forward_seed_ops: Ops that the walk forward starts from.
        backward_seed_ops: Ops that the walk backward starts from.
        forward_inclusive: Whether the forward seeds are among the result.
        backward_inclusive: Whether the backward seeds are.
        within_ops: Ops that are not left; None for all.
        within_ops_fn: What says of an op whether the walk goes through it.
        control_inputs: Whether control edges are followed.
        control_outputs: Who runs after whom, a `ControlOutputs`, for walks forward.
        control_ios: As `control_outputs`, and `control_inputs` with it.
    """
    seeds = (forward_seed_ops, backward_seed_ops)
    inclusive = (forward_inclusive, backward_inclusive)
    controls = control_inputs, control_outputs, control_ios
    ahead, backward = _both_walks(seeds, inclusive, (_as_list(within_ops), within_ops_fn), controls)
    return sorted(set(ahead) | set(backward), key=operation_number)


class _Limits(NamedTuple):
    within_ops: object
    within_ops_fn: Asked | None
    stop_at_ts: object


def _walk(
    walk: Callable[..., Mask],
    seeds: list[Operation],
    inclusive: bool,
    limits: _Limits,
    waits: object,
) -> list[Operation]:
    """A walk between live ops; `waits` is the graph whose control edges count, or None."""
    within = (
        None if limits.within_ops is None else make_list_of_op(limits.within_ops, allow_graph=False)
    )
    if within:
        allowed = set(within)
        seeds = [op for op in seeds if op in allowed]
    if not seeds:
        return []
    graph = seeds[0].graph
    index = index_of(graph)
    first = numbers(index, seeds)
    stops = [t for t in make_list_of_t(limits.stop_at_ts) if t.graph is graph]
    stop = {(index.ids[t.op.name], t.value_index) for t in stops}
    go = partial(walk, index, first, stop=stop, controls=waits is graph)
    mask = None if within is None else traversal.mask_of(index, numbers(index, within))
    if limits.within_ops_fn is not None:
        mask = _filter_ops(go, mask, limits.within_ops_fn, graph.get_operations(), set(first))
    reachable = go(within=mask)
    reachable[first] = inclusive
    return live_ops(graph, reachable)


def _filter_ops(
    go: Callable[..., Mask], within: Mask | None, fn: Asked, ops: list[Operation], seeds: set[int]
) -> Mask:
    """The ops that `fn` allows, among those that the walk would reach without it.

    The original asked only on its way, and so not about ops beyond one that was refused: what `fn`
    raises about those is not raised here either.
    """
    reached = go(within=within)
    allowed, raised = np.zeros_like(reached), {}
    for i in np.flatnonzero(reached).tolist():
        if i not in seeds:
            try:
                allowed[i] = bool(fn(ops[i]))
            except Exception as error:  # raised below, if the walk comes there
                raised[i] = error
    if raised:
        doubtful = allowed.copy()
        doubtful[list(raised)] = True
        for i in np.flatnonzero(go(within=doubtful)).tolist():
            if i in raised:
                raise raised[i]
    return allowed


def _backward_by_gradients(
    index: GraphIndex,
    seeds: list[int],
    *,
    stop: set[tuple[int, int]],
    within: Mask | None,
    controls: bool,
) -> Mask:
    """`walks.backward` that reaches, but does not leave, ops without a gradient."""
    kinds, kind_of = index.kinds
    passing = np.array([_has_gradient(kind) for kind in kinds], dtype=bool)[kind_of]
    allowed = np.ones(len(index), dtype=bool) if within is None else within
    first = [i for i in seeds if passing[i]]
    passed = traversal.backward(
        index, first, stop=stop, within=passing & allowed, controls=controls
    )
    reachable = passed | traversal.mask_of(index, seeds)
    for consumer in np.flatnonzero(passed).tolist():
        row = slice(index.inputs.start[consumer], index.inputs.start[consumer + 1])
        read = zip(index.inputs.values[row].tolist(), index.ports[row].tolist(), strict=True)
        reachable[[op for op, port in read if allowed[op] and (op, port) not in stop]] = True
    return reachable


def _has_gradient(kind: str) -> bool:
    """Whether TensorFlow has a gradient function for ops of this type."""
    try:
        return registered_gradient(kind) is not None
    except LookupError:
        return False


def _seeds(seed_ops: object, of_tensors: Callable[[object], list[Operation]]) -> list[Operation]:
    listed = _as_list(seed_ops)
    if listed and isinstance(listed[0], tf.Tensor | tf.Variable | PartitionedVariable):
        return of_tensors(listed)
    return make_list_of_op(listed)


def _as_list(items: object) -> list[object] | None:
    """Convert to a list, so that a generator is read once; None stays None."""
    if items is None:
        return None
    return as_list(items)
