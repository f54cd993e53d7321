"""On random graphs, what `tfgraphwidget.graph_editor` finds is what the plain definition says."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tfgraphwidget.graph_editor as ge
from tests.graph_editor import naive
from tests.graph_editor.corpus import names
from tests.graph_editor.naive import Facts, graphs

examples = settings(deadline=None, max_examples=60)


def some(data: st.DataObject, items: Any, least: int = 0) -> list[Any]:
    """Some of the items, in any order."""
    items = list(items)
    if not items:
        return []
    return data.draw(
        st.lists(st.sampled_from(items), min_size=least, max_size=len(items), unique=True)
    )


def ops(graph: Any, given: Any) -> Any:
    return None if given is None else [graph.get_operation_by_name(name) for name in given]


def ts(graph: Any, given: Any) -> list[Any]:
    return [graph.get_tensor_by_name(name) for name in given]


def limits(data: st.DataObject, facts: Facts) -> tuple[list[str] | None, set[str] | None]:
    """`within_ops`, and what `within_ops_fn` allows."""
    within = some(data, facts.ops) if data.draw(st.booleans()) else None
    return within, set(some(data, facts.ops)) if data.draw(st.booleans()) else None


def graph_order(facts: Facts, found: set[str]) -> list[str]:
    return [name for name in facts.ops if name in found]


@examples
@given(graph=graphs(), data=st.data())
def test_walks_reach_what_the_edges_lead_to(graph, data):
    facts = Facts.of(graph)
    seeds, stop = some(data, facts.ops), some(data, facts.tensors)
    within, allowed = limits(data, facts)
    controls, inclusive = data.draw(st.booleans()), data.draw(st.booleans())
    fn = None if allowed is None else allowed.__contains__
    options = {
        "inclusive": inclusive,
        "within_ops": ops(graph, within),
        "within_ops_fn": None if fn is None else lambda op: fn(op.name),
        "stop_at_ts": ts(graph, stop),
    }
    ahead = ge.get_forward_walk_ops(
        ops(graph, seeds), control_outputs=ge.ControlOutputs(graph) if controls else None, **options
    )
    behind = ge.get_backward_walk_ops(ops(graph, seeds), control_inputs=controls, **options)
    report = (facts, seeds, within, fn, stop, controls, inclusive)
    assert names(ahead) == graph_order(facts, naive.forward(*report))
    assert names(behind) == graph_order(facts, naive.backward(*report))


@examples
@given(graph=graphs(), data=st.data())
def test_tensors_as_seeds_represent_their_consumers_or_their_ops(graph, data):
    facts = Facts.of(graph)
    seeds = some(data, facts.tensors, 1)
    readers = {b for _, t, b in facts.data if t in seeds}
    makers = {t.rpartition(":")[0] for t in seeds}
    report = (None, None, (), False, True)
    assert names(ge.get_forward_walk_ops(ts(graph, seeds))) == graph_order(
        facts, naive.forward(facts, readers, *report)
    )
    assert names(ge.get_backward_walk_ops(ts(graph, seeds))) == graph_order(
        facts, naive.backward(facts, makers, *report)
    )
    assert set(names(ge.util.get_consuming_ops(ts(graph, seeds)))) == readers
    assert set(names(ge.util.get_generating_ops(ts(graph, seeds)))) == makers


@examples
@given(graph=graphs(), data=st.data())
def test_the_two_walks_meet_and_join(graph, data):
    facts = Facts.of(graph)
    first, last = some(data, facts.ops), some(data, facts.ops)
    within, _ = limits(data, facts)
    with_first, with_last, ins, outs = (data.draw(st.booleans()) for _ in range(4))
    args = (ops(graph, first), ops(graph, last), with_first, with_last, ops(graph, within), None)
    flags = {"control_inputs": ins, "control_outputs": ge.ControlOutputs(graph) if outs else None}
    ahead = naive.forward(facts, first, within, None, (), outs, with_first)
    behind = naive.backward(facts, last, within, None, (), ins, with_last)
    assert names(ge.get_walks_intersection_ops(*args, **flags)) == graph_order(
        facts, ahead & behind
    )
    assert names(ge.get_walks_union_ops(*args, **flags)) == graph_order(facts, ahead | behind)


@examples
@given(graph=graphs(), data=st.data())
def test_a_flood_stops_at_the_boundary(graph, data):
    facts = Facts.of(graph)
    seeds, among = some(data, facts.ops), some(data, facts.ops)
    wall = [name for name in some(data, facts.ops) if name not in seeds]
    inclusive, ins, outs = (data.draw(st.booleans()) for _ in range(3))
    found = ge.get_within_boundary_ops(
        ops(graph, among),
        ops(graph, seeds),
        ops(graph, wall),
        inclusive,
        ins,
        ge.ControlOutputs(graph) if outs else None,
    )
    assert names(found) == naive.within_boundary(facts, among, seeds, wall, inclusive, ins, outs)


@examples
@given(graph=graphs(), data=st.data())
def test_neighbours_and_boundary_are_read_off_the_edges(graph, data):
    facts = Facts.of(graph)
    part, ins, outs = some(data, facts.ops), data.draw(st.booleans()), data.draw(st.booleans())
    near = ge.get_ops_ios(ops(graph, part), ins, ge.ControlOutputs(graph) if outs else None)
    assert len(near) == len(set(near))
    assert set(names(near)) == naive.next_to(facts, part, ins, outs)
    assert tuple(map(names, ge.compute_boundary_ts(ops(graph, part)))) == naive.boundary(
        facts, part
    )


@examples
@given(graph=graphs(), data=st.data())
def test_a_view_has_the_boundary_of_its_ops_and_the_tensors_next_to_them(graph, data):
    facts = Facts.of(graph)
    part, beside = some(data, facts.ops), some(data, facts.tensors)
    view = ge.sgv(ops(graph, part), ts(graph, beside))
    inputs, outputs, inside = naive.boundary(facts, part)
    through = [t for t in beside if t not in {*inputs, *outputs, *inside}]
    assert (names(view.ops), names(view.passthroughs)) == (part, through)
    assert (names(view.inputs), names(view.outputs)) == (inputs + through, outputs + through)
    assert (names(view.connected_inputs), names(view.connected_outputs)) == (inputs, outputs)
    readers = {b for _, t, b in facts.data if t in outputs + through}
    assert set(names(view.consumers())) == readers - set(part)
    assert bool(view) == bool(part or beside)


@examples
@given(graph=graphs(), data=st.data())
def test_remaps_choose_and_repeat_and_leave_the_first_view_alone(graph, data):
    facts = Facts.of(graph)
    view = ge.sgv(ops(graph, some(data, facts.ops)), ts(graph, some(data, facts.tensors)))
    before = (names(view.inputs), names(view.outputs))
    ins = some(data, range(len(before[0])))
    outs = data.draw(st.lists(st.integers(0, len(before[1]) - 1), max_size=6)) if before[1] else []
    by_number = view.remap(ins, outs)
    by_tensor = view.remap([view.inputs[i] for i in ins], [view.outputs[i] for i in outs])
    report = ([before[0][i] for i in ins], [before[1][i] for i in outs])
    for made in (by_number, by_tensor, view.remap_inputs(ins).remap_outputs(outs)):
        assert (names(made.inputs), names(made.outputs)) == report
        assert names(made.remap_outputs_make_unique().outputs) == list(dict.fromkeys(report[1]))
        repeated = [t for t in dict.fromkeys(report[1]) for _, u, _ in facts.data if u == t]
        assert names(made.remap_outputs_to_consumers().outputs) == repeated
        assert (names(made.remap_default().inputs), names(made.remap_default().outputs)) == before
        assert names(made.remap_default(False, True).inputs) == report[0]
        assert names(made.remap_default(True, False).outputs) == report[1]
    assert (names(view.inputs), names(view.outputs)) == before


@examples
@given(graph=graphs(), data=st.data())
def test_unused_ops_are_those_on_no_walk_from_an_input_or_to_an_output(graph, data):
    facts = Facts.of(graph)
    part, controls = some(data, facts.ops), data.draw(st.booleans())
    view = ge.sgv(ops(graph, part))
    view = view.remap(some(data, range(len(view.inputs))), some(data, range(len(view.outputs))))
    first = {b for _, t, b in facts.data if t in names(view.connected_inputs)}
    last = {t.rpartition(":")[0] for t in names(view.connected_outputs)}
    used = naive.forward(facts, first, part, None, (), False, True)
    used |= naive.backward(facts, last, part, None, (), controls, True)
    assert names(view.remove_unused_ops(controls).ops) == [name for name in part if name in used]


@examples
@given(graph=graphs(), data=st.data())
def test_edges_changed_in_place_are_seen_at_once(graph, data):
    held = ge.ControlOutputs(graph)
    for _ in range(3):
        change(graph, data)
        facts = Facts.of(graph)
        waits = {(a, b) for a, _, b in facts.control}
        assert {
            (op.name, w.name) for op, ws in held.update().get_all().items() for w in ws
        } == waits
        assert {(op.name, w.name) for op in graph.get_operations() for w in held.get(op)} == waits
        seeds = some(data, facts.ops, 1)
        report = (facts, seeds, None, None, (), True, True)
        ahead = ge.get_forward_walk_ops(ops(graph, seeds), control_outputs=held)
        assert names(ahead) == graph_order(facts, naive.forward(*report))
        behind = ge.get_backward_walk_ops(ops(graph, seeds), control_inputs=True)
        assert names(behind) == graph_order(facts, naive.backward(*report))


def change(graph: Any, data: st.DataObject) -> None:
    """Move an edge, or add an op, or add or take away control edges."""
    every = graph.get_operations()
    op = data.draw(st.sampled_from(every))
    what = data.draw(st.sampled_from(["input", "wait", "free", "add"]))
    if what == "input" and op.inputs:
        tensors = [t for t in ge.util.get_tensors(graph) if t.dtype == op.inputs[0].dtype]
        op._update_input(
            data.draw(st.integers(0, len(op.inputs) - 1)), data.draw(st.sampled_from(tensors))
        )
    elif what == "wait":
        op._add_control_inputs([other for other in some(data, every) if other is not op])
    elif what == "free":
        op._remove_all_control_inputs()
    else:
        with graph.as_default(), graph.control_dependencies([op]):
            ge.ph("float32")


@examples
@given(graph=graphs(), data=st.data())
def test_a_scope_is_a_name_and_no_pattern(graph, data):
    name = data.draw(
        st.sampled_from(["net", "net/", "net/a.b", "net/a_b", "Net", "net_1/", "n", "nothing", ""])
    )
    own = name.rstrip("/")
    report = [op for op in Facts.of(graph).ops if own and (op + "/").startswith(own + "/")]
    assert (
        names(ge.get_name_scope_ops(graph, name)) == report == names(ge.sgv_scope(name, graph).ops)
    )
