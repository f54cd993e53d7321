"""`ge.edit`: views are cut off, connected and gone round.

Each call is checked as a whole before anything changes, as those of `ge.reroute` are, and the same
holds for sessions that have run. Where the original was wrong this is right: `connect` and `bypass`
change nothing when they raise, the placeholders of `detach_inputs` keep the static shapes, and
those of `detach_outputs` stand each for its own tensor.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from tfgraphwidget.graph_editor.lists import check_graphs, check_type, unique
from tfgraphwidget.graph_editor.reroute import plan_inputs, take_inputs
from tfgraphwidget.graph_editor.rewiring import End, Hole, Rewiring, live
from tfgraphwidget.graph_editor.select import check_cios
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view
from tfgraphwidget.graph_editor.util import ControlOutputs
from tfgraphwidget.tf_types import Tensor

__all__ = [
    "bypass",
    "connect",
    "detach",
    "detach_control_inputs",
    "detach_control_outputs",
    "detach_inputs",
    "detach_outputs",
]


def detach_control_inputs(sgv: object) -> None:
    """Let no op of a view wait for an op outside.

    Args:
        sgv: What `make_view` takes.

    Raises:
        TypeError: `sgv` is something else.
        GraphFinalized: The graph is finalized.
    """
    view = make_view(sgv)
    plan = Rewiring(view.graph)
    _cut_control_inputs(plan, view)
    plan.carry_out()


def detach_control_outputs(sgv: object, control_outputs: object) -> None:
    """Let no op outside a view wait for an op of it.

    Args:
        sgv: What `make_view` takes.
        control_outputs: A ControlOutputs of the graph.

    Raises:
        TypeError: `sgv` or `control_outputs` is something else.
        GraphFinalized: The graph is finalized.
    """
    check_type(control_outputs, (ControlOutputs,))
    view = make_view(sgv)
    plan = Rewiring(view.graph)
    _cut_control_outputs(plan, view, control_outputs)
    plan.carry_out()


def detach_inputs(sgv: object, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """Let a view read placeholders in the place of its inputs.

    The placeholders have the dtypes and static shapes of the inputs. They are the inputs and the
    passthroughs of the view from now on, which is changed itself if one is given. Those that read a
    passthrough read the placeholder too.

    Args:
        sgv: What `make_view` takes.
        control_inputs: Cut off control inputs from outside too.

    Returns:
        The view, and the placeholders in the order of its inputs.

    Raises:
        TypeError: `sgv` is something else, or an op of the view changes a variable outside
            (`float32_ref`), which no placeholder can replace.
        GraphFinalized: The graph is finalized.
    """
    view = make_view(sgv)
    plan = Rewiring(view.graph)
    holes = _cut_inputs(plan, view)
    if control_inputs:
        _cut_control_inputs(plan, view)
    plan.carry_out()
    return view, _take(view, holes)


def detach_outputs(sgv: object, control_outputs: Any = None) -> tuple[SubGraphView, list[Tensor]]:
    """Let those outside that read an output of a view read a placeholder.

    Args:
        sgv: What `make_view` takes.
        control_outputs: A ControlOutputs of the graph, to cut off also the ops outside that wait
            for the view; or None.

    Returns:
        A view with those of the outputs that were read, and the placeholders in their order: one
        for each that was read outside.

    Raises:
        TypeError: `sgv` or `control_outputs` is something else, or a variable (`float32_ref`) is
            among the outputs that an op outside changes.
        GraphFinalized: The graph is finalized.
    """
    _, control_outputs = check_cios(False, control_outputs)
    view = make_view(sgv)
    read = view.remap_outputs([i for i, t in enumerate(view.outputs) if t.consumers()])
    plan = Rewiring(view.graph)
    holes = _cut_outputs(plan, view, read.outputs)
    _cut_control_outputs(plan, view, control_outputs)
    plan.carry_out()
    return read, list(map(live, holes))


def detach(
    sgv: object,
    control_inputs: bool = False,
    control_outputs: object = None,
    control_ios: object = None,
) -> tuple[SubGraphView, list[Tensor], list[Tensor]]:
    """Both `detach_inputs` and `detach_outputs`.

    Args:
        sgv: What `make_view` takes.
        control_inputs: See `check_cios`.
        control_outputs: See `check_cios`.
        control_ios: See `check_cios`.

    Returns:
        The view, the placeholders in the place of inputs, and those in the place of outputs.

    Raises:
        TypeError: As `detach_inputs` and `detach_outputs` do, or see `check_cios`.
        ValueError: See `check_cios`.
        GraphFinalized: The graph is finalized.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    view = make_view(sgv)
    plan = Rewiring(view.graph)
    before = _cut_inputs(plan, view)
    after = _cut_outputs(plan, view, _outputs_after(view, before))
    if control_inputs:
        _cut_control_inputs(plan, view)
    _cut_control_outputs(plan, view, control_outputs)
    plan.carry_out()
    return view, _take(view, before), list(map(live, after))


def connect(
    sgv0: object, sgv1: object, disconnect_first: bool = False
) -> tuple[SubGraphView, SubGraphView]:
    """Let `sgv1` read the outputs of `sgv0`; the views, of which `sgv1` has those outputs for
    inputs now.

    Args:
        sgv0: What `make_view` takes.
        sgv1: What `make_view` takes, with as many inputs as `sgv0` has outputs; changed itself if
            it is a view.
        disconnect_first: `detach_outputs(sgv0)` before that.

    Raises:
        TypeError: `sgv0` or `sgv1` is something else.
        ValueError: As `swap_ts` does.
        GraphFinalized: The graph is finalized.
    """
    sgv0, sgv1 = make_view(sgv0), make_view(sgv1)
    check_graphs(sgv0, sgv1)
    plan = Rewiring(sgv0.graph or sgv1.graph)
    if disconnect_first:
        _cut_outputs(plan, sgv0, sgv0.outputs)
    source_view = SubGraphView(passthrough_ts=sgv0.outputs)
    plan_inputs(plan, source_view, sgv1, swap=False)
    plan.carry_out()
    take_inputs(source_view, sgv1, swap=False)
    return sgv0, sgv1


def bypass(sgv: object) -> tuple[SubGraphView, list[Tensor]]:
    """Let those that read the outputs of a view read its inputs, and the view placeholders as by
    `detach_inputs`.

    Args:
        sgv: What `make_view` takes, with as many inputs as outputs.

    Returns:
        The view, and the placeholders in the order of its inputs.

    Raises:
        TypeError: As `detach_inputs` does.
        ValueError: As `swap_ts` does.
        GraphFinalized: The graph is finalized.
    """
    view = make_view(sgv)
    plan = Rewiring(view.graph)
    inputs, holes = list(view.inputs), _cut_inputs(plan, view)
    plan.reroute(inputs, _outputs_after(view, holes))
    plan.carry_out()
    return view, _take(view, holes)


def _cut_inputs(plan: Rewiring, view: SubGraphView) -> list[Hole]:
    """Plan that a view reads a placeholder for each of its inputs."""
    may = set(view.ops)
    for t in view.passthroughs:
        may.update(plan.consumers(t))
    holes = [plan.hole(t) for t in view.inputs]
    for hole, t in zip(holes, view.inputs, strict=True):
        plan.move(hole, t, [op for op in plan.consumers(t) if op in may])
    return holes


def _cut_outputs(plan: Rewiring, view: SubGraphView, outputs: Iterable[End]) -> list[Hole]:
    """Plan that who reads an output outside a view reads a placeholder; outputs may be holes."""
    inside, holes = set(view.ops), []
    for t in unique(outputs):
        consumers = [op for op in plan.consumers(t) if op not in inside]
        if consumers:
            holes.append(plan.hole(t))
            plan.move(holes[-1], t, consumers)
    return holes


def _cut_control_inputs(plan: Rewiring, view: SubGraphView) -> None:
    inside = set(view.ops)
    for op in view.ops:
        control_inputs = plan.control_inputs(op)
        if not inside.issuperset(control_inputs):
            plan.wait(op, [other for other in control_inputs if other in inside])


def _cut_control_outputs(plan: Rewiring, view: SubGraphView, control_outputs: Any) -> None:
    if control_outputs is None:
        return
    inside = set(view.ops)
    for waiting in unique(chain.from_iterable(map(control_outputs.get, view.ops))):
        if waiting not in inside:
            plan.wait(waiting, [op for op in plan.control_inputs(waiting) if op not in inside])


def _outputs_after(view: SubGraphView, new_inputs: Iterable[End]) -> list[End]:
    """The outputs of a view with other inputs: a passthrough becomes what represents it."""
    pairs = zip(view.inputs, new_inputs, strict=True)
    through = {id(t): new for t, new in pairs if view.is_passthrough(t)}
    return [through.get(id(t), t) for t in view.outputs]


def _take(view: SubGraphView, holes: list[Hole]) -> list[Tensor]:
    """Give a view the placeholders that have been made for its inputs, in place."""
    placeholders = list(map(live, holes))
    view._output_ts = list(map(live, _outputs_after(view, placeholders)))
    view._input_ts, view._passthrough_ts = list(placeholders), list(placeholders)
    return placeholders
