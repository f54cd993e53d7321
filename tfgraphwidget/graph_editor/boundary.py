"""The part of `ge.select` that looks around some ops: what is next to them, at their boundary,
within a boundary.

What concerns a few ops is asked of the live ops themselves, and comes in the caller's order.
"""

from __future__ import annotations

from typing import Any

from tfgraphwidget.graph import traversal
from tfgraphwidget.graph_editor.lists import check_type, make_list_of_op, unique
from tfgraphwidget.graph_editor.live_index import index_of, live_ops, numbers
from tfgraphwidget.graph_editor.util import ControlOutputs
from tfgraphwidget.tf_types import Operation, Tensor


def check_cios(
    control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[bool, ControlOutputs | None]:
    """The three ways to ask for control edges, as two.

    Args:
        control_inputs: Follow control inputs.
        control_outputs: A ControlOutputs to follow control outputs, or None.
        control_ios: A ControlOutputs to follow both, or None.

    Returns:
        Whether to follow control inputs, and the ControlOutputs or None.

    Raises:
        TypeError: `control_outputs` or `control_ios` is neither None nor a ControlOutputs.
        ValueError: Both of them are given.
    """
    for argument in (control_outputs, control_ios):
        if argument is not None:
            check_type(argument, (ControlOutputs,))
    if control_ios is None:
        return control_inputs, control_outputs
    if control_outputs is not None:
        raise ValueError("control_ios represents control_outputs too; give one of them.")
    return True, control_ios


def get_ops_ios(
    ops: object,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """The ops one edge away from any of `ops`, up or down; some of `ops` may be among them.

    Args:
        ops: Ops, one op, or a graph.
        control_inputs: See `check_cios`.
        control_outputs: See `check_cios`.
        control_ios: See `check_cios`.

    Raises:
        TypeError: `ops` is something else, or see `check_cios`.
        ValueError: The ops are of several graphs, or see `check_cios`.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    neighbors: list[Operation] = []
    for op in make_list_of_op(ops):
        neighbors += (t.op for t in op.inputs)
        for t in op.outputs:
            neighbors += t.consumers()
        if control_outputs:
            neighbors += control_outputs.get(op)
        if control_inputs:
            neighbors += op.control_inputs
    return unique(neighbors)


def compute_boundary_ts(ops: object) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The tensors at the boundary of some ops.

    Args:
        ops: Ops, one op, or a graph.

    Returns:
        The tensors read by the ops and made by others, in order of first use; those made by the ops
        and read by others, or by no op, in order of the ops; those made and read by the ops, in
        order of first use. A tensor read inside and outside is in the second list and in the third.

    Raises:
        TypeError: `ops` is something else.
        ValueError: The ops are of several graphs.
    """
    inside_ops = dict.fromkeys(make_list_of_op(ops))
    read = unique(t for op in inside_ops for t in op.inputs)
    inside = [t for t in read if t.op in inside_ops]
    among = frozenset(inside_ops)
    only_inside = {id(t) for t in inside if among.issuperset(t.consumers())}
    outputs = [t for op in inside_ops for t in op.outputs if id(t) not in only_inside]
    return [t for t in read if t.op not in inside_ops], outputs, inside


def get_within_boundary_ops(
    ops: object,
    seed_ops: object,
    boundary_ops: object = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> list[Operation]:
    """The ops that hang together with the seeds, edges taken either way, without crossing the
    boundary.

    Args:
        ops: What the result is restricted to, and in whose order it comes; ops, one op, or a graph.
        seed_ops: Where to start.
        boundary_ops: Ops that are not passed.
        inclusive: Add the boundary ops that were touched.
        control_inputs: See `check_cios`.
        control_outputs: See `check_cios`.
        control_ios: See `check_cios`.

    Raises:
        TypeError: Ops are something else, or see `check_cios`.
        ValueError: A seed is on the boundary, or ops are of several graphs, or see `check_cios`.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    ops = make_list_of_op(ops)
    boundary = set(make_list_of_op(boundary_ops))
    seeds = make_list_of_op(seed_ops, allow_graph=False)
    for seed in seeds:
        if seed in boundary:
            raise ValueError(
                f"Seed {seed.name!r} is on the boundary; take it off the seeds or off the boundary."
            )
    if not seeds:
        return []
    graph = seeds[0].graph
    index = index_of(graph)
    boundary_here = [op for op in boundary if op.graph is graph]
    wall = traversal.mask_of(index, numbers(index, boundary_here))
    waits = control_outputs is not None and control_outputs.graph is graph
    within = traversal.flood(
        index, numbers(index, seeds), wall, controls_in=control_inputs, controls_out=waits
    )
    reached = set(live_ops(graph, within if inclusive else within & ~wall))
    return [op for op in ops if op in reached]
