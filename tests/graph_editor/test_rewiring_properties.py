"""On random graphs, edges move as the original's words say, or nothing changes and a cycle is
named.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import names
from tests.graph_editor.naive import graphs
from tests.graph_editor.test_properties import ops, some, ts
from tfgraphwidget.graph_editor import cycles

examples = settings(deadline=None, max_examples=40)
Read = dict[str, list[str]]
"""Op -> what it reads, by name."""


@pytest.fixture(autouse=True, scope="module", params=["by the edges", "by the order too"])
def _search(request):
    """Cycles are searched in either way, whatever the size of the graph."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "_AT_ONCE", 1 if request.param == "by the order too" else 10**6)
        yield


def read_in(graph: tf.Graph) -> Read:
    return {op.name: names(op.inputs) for op in graph.get_operations()}


def waits_in(graph: tf.Graph) -> Read:
    return {op.name: sorted(names(op.control_inputs)) for op in graph.get_operations()}


def moved(
    read: Read, ts0: list[str], ts1: list[str], *, swap: bool, can: Any = None, cannot: Any = ()
) -> int:
    """Move edges, one after the other, as the original does; how many."""

    def readers(t: str) -> set[str]:
        return {
            op
            for op, held in read.items()
            if t in held and op not in cannot and (can is None or op in can)
        }

    def move(new: str, old: str, ops: set[str]) -> int:
        count = sum(read[op].count(old) for op in ops)
        read.update({op: [new if t == old else t for t in read[op]] for op in ops})
        return count

    found = [(readers(t0), readers(t1)) for t0, t1 in zip(ts0, ts1, strict=True)]
    total = 0
    for t0, t1, (of_t0, of_t1) in zip(ts0, ts1, found, strict=True):
        if t0 != t1:
            total += move(t0, t1, of_t1)
            total += move(t1, t0, of_t0) if swap else 0
    return total


def is_cyclic(read: Read, waits: Read) -> bool:
    """Whether some op comes before itself; a loop's way round, which ends in an op named "back...",
    does not count.
    """
    left = {
        op: {
            n
            for n in (t.rpartition(":")[0] for t in held)
            if not (n.startswith("back") and "Merge" in op)
        }
        | set(waits.get(op, ()))
        for op, held in read.items()
    }
    while free := [op for op, before in left.items() if before.isdisjoint(left)]:
        for op in free:
            del left[op]
    return bool(left)


def check(graph: tf.Graph, wanted: Read, waits: Read, call: Any) -> Any:
    """Make the call; the graph is as wanted then. Where that has a cycle, nothing changes and
    `None` comes back.
    """
    before = graph.as_graph_def()
    if is_cyclic(wanted, waits):
        with pytest.raises(ValueError, match=r"A cycle would come about, '\S+' -> .*, and no op"):
            call()
        assert graph.as_graph_def() == before
        return None
    given = call()
    assert {op: held for op, held in read_in(graph).items() if op in wanted} == wanted
    assert waits_in(graph) == waits | {op: [] for op in read_in(graph) if op not in wanted}
    return given


@examples
@given(graph=graphs(), data=st.data())
def test_tensors_are_rerouted_and_swapped(graph, data):
    for _ in range(data.draw(st.integers(1, 4))):
        tensors = [
            t for t in names(ge.get_tensors(graph)) if not (t.endswith("1") and "Merge" in t)
        ]
        ts0 = data.draw(st.lists(st.sampled_from(tensors), max_size=3))
        ts1 = data.draw(st.lists(st.sampled_from(tensors), min_size=len(ts0), max_size=len(ts0)))
        swap = data.draw(st.booleans())
        can = some(data, read_in(graph)) if data.draw(st.booleans()) else None
        cannot = some(data, read_in(graph)) if data.draw(st.booleans()) else []
        wanted = read_in(graph)
        count = moved(wanted, ts0, ts1, swap=swap, can=can, cannot=cannot)
        call = partial(ge.swap_ts if swap else ge.reroute_ts, ts(graph, ts0), ts(graph, ts1))
        given = check(
            graph, wanted, waits_in(graph), partial(call, ops(graph, can), ops(graph, cannot))
        )
        assert given in (None, count)


@examples
@given(graph=graphs(), data=st.data())
def test_views_are_rerouted_and_swapped(graph, data):
    first, second = (ge.sgv(ops(graph, some(data, read_in(graph)))) for _ in range(2))
    n = data.draw(st.integers(0, min(len(first.inputs), len(second.inputs))))
    m = data.draw(st.integers(0, min(len(first.outputs), len(second.outputs))))
    first, second = (
        view.remap(range(n), range(len(view.outputs))[-m:] if m else []) for view in (first, second)
    )
    swap, which = data.draw(st.booleans()), data.draw(st.sampled_from(["inputs", "outputs", "ios"]))
    assume(not any("Merge" in t.name and t.value_index for t in [*first.outputs, *second.outputs]))
    own = names([*first.ops, *second.ops])
    wanted = read_in(graph)
    if which != "inputs":
        moved(wanted, names(first.outputs), names(second.outputs), swap=swap, cannot=own)
    if which != "outputs":
        moved(wanted, names(first.inputs), names(second.inputs), swap=swap, can=own)
    report = [names(view.inputs) for view in (first, second)]
    call = getattr(ge, f"{'swap' if swap else 'reroute'}_{which}")
    given = check(graph, wanted, waits_in(graph), lambda: call(first, second))
    if given and which != "outputs":
        report = report[::-1] if swap else [report[0], report[0]]
    assert [names(view.inputs) for view in (first, second)] == report


@examples
@given(graph=graphs(), data=st.data())
def test_a_detached_view_hangs_on_placeholders_alone(graph, data):
    view = ge.sgv(ops(graph, some(data, read_in(graph), 1)))
    own, inputs, outputs = set(names(view.ops)), names(view.inputs), names(view.outputs)
    controls = data.draw(st.booleans())
    read, waits = read_in(graph), waits_in(graph)
    shapes = [t.shape for t in view.inputs]
    given, before, after = ge.detach(
        view, control_ios=ge.ControlOutputs(graph) if controls else None
    )
    assert given is view
    stands = dict(zip(inputs, names(before), strict=True))
    there = [t for t in outputs if any(t in held for op, held in read.items() if op not in own)]
    behind = dict(zip(there, names(after), strict=True))
    wanted = {
        op: [(stands if op in own else behind).get(t, t) for t in held] for op, held in read.items()
    }
    assert {op: held for op, held in read_in(graph).items() if op in read} == wanted
    assert [t.shape.as_proto() for t in before] == [shape.as_proto() for shape in shapes]
    cut = {op: [w for w in held if (w in own) == (op in own)] for op, held in waits.items()}
    assert {op: held for op, held in waits_in(graph).items() if op in waits} == (
        cut if controls else waits
    )
    assert names(view.inputs) == names(view.passthroughs) == names(before)


@examples
@given(graph=graphs(), data=st.data())
def test_a_view_is_bypassed(graph, data):
    view = ge.sgv(ops(graph, some(data, read_in(graph), 1)))
    n = data.draw(st.integers(0, min(len(view.inputs), len(view.outputs))))
    view = view.remap(range(n), data.draw(st.permutations(range(len(view.outputs))))[:n])
    assume(not any("Merge" in t.name and t.value_index for t in view.outputs))
    inputs, own = names(view.inputs), names(view.ops)
    wanted = read_in(graph)
    holes = [f"hole of {t}:0" for t in inputs]
    moved(wanted, holes, inputs, swap=False, can=own)
    moved(wanted, inputs, names(view.outputs), swap=False)
    before, waits = graph.as_graph_def(), waits_in(graph)
    if is_cyclic(wanted, waits):
        with pytest.raises(ValueError, match="A cycle would come about"):
            ge.bypass(view)
        assert graph.as_graph_def() == before
        assert names(view.inputs) == inputs
        return
    _, made = ge.bypass(view)
    stands = dict(zip(holes, names(made), strict=True))
    wanted = {op: [stands.get(t, t) for t in held] for op, held in wanted.items()}
    assert {op: held for op, held in read_in(graph).items() if op in wanted} == wanted


@examples
@given(graph=graphs(), data=st.data())
def test_views_are_connected(graph, data):
    first, second = (ge.sgv(ops(graph, some(data, read_in(graph)))) for _ in range(2))
    n = data.draw(st.integers(0, min(len(first.outputs), len(second.inputs))))
    first, second = first.remap_outputs(range(n)), second.remap_inputs(range(n))
    assume(not any("Merge" in t.name and t.value_index for t in first.outputs))
    cut = data.draw(st.booleans())
    outputs, own = names(first.outputs), set(names(first.ops))
    wanted, waits = read_in(graph), waits_in(graph)
    if cut:
        outside = {op for op in wanted if op not in own}
        moved(wanted, [f"hole of {t}" for t in outputs], outputs, swap=False, can=outside)
    through = {op for op, held in wanted.items() if not set(outputs).isdisjoint(held)}
    moved(wanted, outputs, names(second.inputs), swap=False, can={*names(second.ops), *through})
    before = graph.as_graph_def()
    if is_cyclic(wanted, waits):
        with pytest.raises(ValueError, match="A cycle would come about"):
            ge.connect(first, second, disconnect_first=cut)
        assert graph.as_graph_def() == before
        return
    ge.connect(first, second, disconnect_first=cut)
    read = {op: held for op, held in read_in(graph).items() if op in wanted}
    assert {op: [t for t in held if "geph" not in t] for op, held in read.items()} == {
        op: [t for t in held if not t.startswith("hole")] for op, held in wanted.items()
    }
    assert names(second.inputs) == outputs


@examples
@given(graph=graphs(), data=st.data())
def test_control_inputs_are_added_and_removed(graph, data):
    op = graph.get_operation_by_name(data.draw(st.sampled_from(list(read_in(graph)))))
    held = names(op.control_inputs)
    given = some(data, held) if held and data.draw(st.booleans()) else some(data, read_in(graph))
    waits, before = waits_in(graph), graph.as_graph_def()
    call, new, wrong = data.draw(
        st.sampled_from(
            [
                (ge.add_control_inputs, {*held, *given}, not set(held).isdisjoint(given)),
                (
                    ge.remove_control_inputs,
                    set(held).difference(given),
                    not set(held).issuperset(given),
                ),
            ]
        )
    )
    waits[op.name] = sorted(new)
    if wrong or is_cyclic(read_in(graph), waits):
        with pytest.raises(ValueError, match=r"is already a|is not a|A cycle would come about"):
            call(op, ops(graph, given))
        assert graph.as_graph_def() == before
    else:
        call(op, ops(graph, given))
        assert waits_in(graph) == waits
