"""`ge.reroute`: other ops read a tensor, which is to say that edges move.

What is asked for is checked as a whole before any edge moves: dtypes, static shapes, lengths, and
that no cycle comes about (a loop's own way round is none); so a call that raises has changed
nothing. (The original checked no cycles.)

A session that has run before does not see it (see `tfgraphwidget.graph_editor`), nor does a
`tf.function` see edits of its graph.
"""

from __future__ import annotations

from collections.abc import Collection

from tfgraphwidget.graph_editor.lists import (
    as_op,
    check_graphs,
    check_type,
    get_unique_graph,
    make_list_of_op,
    make_list_of_t,
    unique,
)
from tfgraphwidget.graph_editor.rewiring import Rewiring
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Operation

__all__ = [
    "add_control_inputs",
    "remove_control_inputs",
    "reroute_inputs",
    "reroute_ios",
    "reroute_outputs",
    "reroute_ts",
    "swap_inputs",
    "swap_ios",
    "swap_outputs",
    "swap_ts",
]


def swap_ts(
    ts0: object, ts1: object, can_modify: object = None, cannot_modify: object = None
) -> int:
    """Let those that read a tensor of `ts0` read that of `ts1`, and the other way round; how many
    edges were moved.

    As in the original, an op that reads both tensors of a pair reads the second one alone after
    that.

    Args:
        ts0: Tensors, or one tensor.
        ts1: As many tensors; the first goes with the first, and so on. A tensor that goes with
            itself is left alone.
        can_modify: Ops that may be changed; None for all.
        cannot_modify: Ops that may not be changed.

    Raises:
        TypeError: Tensors or ops are something else.
        ValueError: The lists are of unequal lengths, of several graphs, a pair has dtypes or static
            shapes that do not fit, or a cycle would come about.
        GraphFinalized: The graph is finalized.
    """
    return _reroute_ts(ts0, ts1, can_modify, cannot_modify, swap=True)


def reroute_ts(
    ts0: object, ts1: object, can_modify: object = None, cannot_modify: object = None
) -> int:
    """Let those that read a tensor of `ts1` read that of `ts0`; how many edges were moved.

    To put an op after a tensor, make it, then `reroute_ts(op.outputs[0], t, cannot_modify=op)`.

    The arguments and errors are those of `swap_ts`.

    Args:
        ts0: Tensors, as for `swap_ts`.
        ts1: Tensors, as many.
        can_modify: Ops; no others change what they read.
        cannot_modify: Ops that do not change what they read.
    """
    return _reroute_ts(ts0, ts1, can_modify, cannot_modify, swap=False)


def swap_inputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Let the ops of each view read the inputs of the other; the views, which have each other's
    inputs now.

    Changed are ops of either view, and those that read a passthrough. Views that are given are
    changed themselves.

    Args:
        sgv0: What `make_view` takes.
        sgv1: What `make_view` takes, with as many inputs.

    Raises:
        TypeError: `sgv0` or `sgv1` is something else.
        ValueError: As `swap_ts` does.
        GraphFinalized: The graph is finalized.
    """
    return _reroute_views(sgv0, sgv1, swap=True, inputs=True)


def reroute_inputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Let the ops of `sgv1` read the inputs of `sgv0`; the views, of which `sgv1` has the inputs of
    `sgv0` now.

    The arguments and errors are those of `swap_inputs`.
    """
    return _reroute_views(sgv0, sgv1, swap=False, inputs=True)


def swap_outputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Let those that read the outputs of each view read the outputs of the other; the views.

    Ops of the views are not changed. The arguments and errors are those of `swap_inputs`, with as
    many outputs.

    Args:
        sgv0: A view, or what makes one.
        sgv1: Another view, or what makes one.
    """
    return _reroute_views(sgv0, sgv1, swap=True, outputs=True)


def reroute_outputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Let those that read the outputs of `sgv1` read the outputs of `sgv0`; the views.

    Ops of the views are not changed. The arguments and errors are those of `swap_inputs`, with as
    many outputs.
    """
    return _reroute_views(sgv0, sgv1, swap=False, outputs=True)


def swap_ios(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Both `swap_outputs` and `swap_inputs`.

    Args:
        sgv0: A view, or what makes one.
        sgv1: Another view, or what makes one.
    """
    return _reroute_views(sgv0, sgv1, swap=True, inputs=True, outputs=True)


def reroute_ios(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Both `reroute_outputs` and `reroute_inputs`.

    Args:
        sgv0: A view, or what makes one.
        sgv1: Another view, or what makes one.
    """
    return _reroute_views(sgv0, sgv1, swap=False, inputs=True, outputs=True)


def add_control_inputs(op: Operation, cops: object) -> None:
    """Let an op wait for others.

    Args:
        op: The op.
        cops: Ops, or one op.

    Raises:
        TypeError: `op` or `cops` is something else.
        ValueError: The op waits for one of them already, they are of several graphs, or a cycle
            would come about.
        GraphFinalized: The graph is finalized.
    """
    op = as_op(op)
    added, control_inputs = _control_inputs(op, cops)
    for control_input in added:
        if control_input in control_inputs:
            raise ValueError(
                f"{control_input.name} is already a control_input of {op.name}; leave it out."
            )
    _wait(op, [*control_inputs, *added])


def remove_control_inputs(op: Operation, cops: object) -> None:
    """Let an op no longer wait for others.

    Args:
        op: The op.
        cops: Ops, or one op.

    Raises:
        TypeError: `op` or `cops` is something else.
        ValueError: The op does not wait for one of them, or they are of several graphs.
        GraphFinalized: The graph is finalized.
    """
    op = as_op(op)
    removed, control_inputs = _control_inputs(op, cops)
    for control_input in removed:
        if control_input not in control_inputs:
            raise ValueError(
                f"{control_input.name} is not a control_input of {op.name}; leave it out."
            )
    _wait(op, [control_input for control_input in control_inputs if control_input not in removed])


def plan_inputs(plan: Rewiring, sgv0: SubGraphView, sgv1: SubGraphView, *, swap: bool) -> None:
    """Plan that `sgv1` reads the inputs of `sgv0`, and with `swap` the other way round.

    Args:
        plan: The plan that is added to.
        sgv0: A view.
        sgv1: A view with as many inputs.
        swap: Whether `sgv0` reads the inputs of `sgv1` too.
    """
    can_modify = {*sgv0.ops, *sgv1.ops}
    for t in (*sgv0.passthroughs, *sgv1.passthroughs):
        can_modify.update(plan.consumers(t))
    plan.reroute(sgv0.inputs, sgv1.inputs, swap=swap, can_modify=can_modify)


def take_inputs(sgv0: SubGraphView, sgv1: SubGraphView, *, swap: bool) -> None:
    """Let `sgv1` have the inputs and passthroughs of `sgv0`, and with `swap` the other way round;
    in place.

    Args:
        sgv0: A view.
        sgv1: A view, which is changed.
        swap: Whether `sgv0` is changed too.
    """
    new0, new1 = sgv0.copy(), sgv1.copy()
    new1._input_ts, new1._passthrough_ts = list(sgv0._input_ts), list(sgv0._passthrough_ts)
    if swap:
        new0._input_ts, new0._passthrough_ts = list(sgv1._input_ts), list(sgv1._passthrough_ts)
    _pass_through(new0, new1)
    if swap:
        _pass_through(new1, new0)
    sgv0._assign_from(new0)
    sgv1._assign_from(new1)


def _pass_through(of: SubGraphView, view: SubGraphView) -> None:
    """Replace an output of `view` that is a passthrough of `of` by `view`'s input for it."""
    pairs = zip(of._input_ts, view._input_ts, strict=True)
    instead = {id(t): t_ for t, t_ in pairs if of.is_passthrough(t)}
    view._output_ts = [instead.get(id(t), t) for t in view._output_ts]


def _reroute_ts(
    ts0: object, ts1: object, can_modify: object, cannot_modify: object, *, swap: bool
) -> int:
    ts0, ts1 = make_list_of_t(ts0), make_list_of_t(ts1)
    can: Collection[Operation] | None = (
        None if can_modify is None else frozenset(make_list_of_op(can_modify))
    )
    cannot = frozenset() if cannot_modify is None else frozenset(make_list_of_op(cannot_modify))
    plan = Rewiring(get_unique_graph([*ts0, *ts1], none_if_empty=True))
    moved = plan.reroute(ts0, ts1, swap=swap, can_modify=can, cannot_modify=cannot)
    plan.carry_out()
    return moved


def _reroute_views(
    sgv0: object, sgv1: object, *, swap: bool, inputs: bool = False, outputs: bool = False
) -> tuple[SubGraphView, SubGraphView]:
    sgv0, sgv1 = make_view(sgv0), make_view(sgv1)
    check_graphs(sgv0, sgv1)
    plan = Rewiring(sgv0.graph or sgv1.graph)
    if outputs:
        plan.reroute(sgv0.outputs, sgv1.outputs, swap=swap, cannot_modify={*sgv0.ops, *sgv1.ops})
    if inputs:
        plan_inputs(plan, sgv0, sgv1, swap=swap)
    plan.carry_out()
    if inputs:
        take_inputs(sgv0, sgv1, swap=swap)
    return sgv0, sgv1


def _control_inputs(op: Operation, cops: object) -> tuple[list[Operation], list[Operation]]:
    """The ops that were given, each once, and those that the op waits for."""
    check_type(op, (tf.Operation,))
    control_inputs = unique(make_list_of_op(cops, allow_graph=False))
    get_unique_graph([op, *control_inputs])
    return control_inputs, list(op.control_inputs)


def _wait(op: Operation, for_ops: list[Operation]) -> None:
    plan = Rewiring(op.graph)
    plan.wait(op, for_ops)
    plan.carry_out()
