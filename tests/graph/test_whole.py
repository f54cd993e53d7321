"""Whole loops and conditionals: what is taken along, what stays, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.graph.test_frames import NATIVE, built, frozen, given, times
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph.boundary import between
from tfgraphwidget.graph.control_flow import control_flow, loops
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.loop_closure import complete_blocks, copied_frames
from tfgraphwidget.graph.selection import Selection


@pytest.fixture(autouse=True)
def old_control_flow() -> Iterator[None]:
    """tf.cond and tf.while_loop as TensorFlow 1 built them; afterwards as before."""
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def names(index: GraphIndex, ops: frozenset[int]) -> set[str]:
    return {index.names[i] for i in ops}


def numbers(index: GraphIndex, *names: str) -> frozenset[int]:
    return frozenset(index.ids[name] for name in names)


def doubled() -> None:
    """y = x · 2⁵ in a loop, and what comes before and after."""
    x, _ = given()
    tf.identity(
        times(5, lambda a: tf.multiply(a, 2.0, name="twice"), tf.square(x, name="before")), name="y"
    )


def nested() -> None:
    x, _ = given()
    tf.identity(
        times(3, lambda a: times(2, lambda b: tf.multiply(b, a, name="inner"), a) + x, x), name="y"
    )


def branches() -> None:
    x, p = given()
    tf.identity(
        v1.cond(p, lambda: tf.multiply(x, 2.0, name="yes"), lambda: tf.negative(x, name="no")),
        name="y",
    )


def differentiated() -> None:
    x, _ = given()
    tf.identity(tf.gradients(times(3, lambda a: a * a, x), [x])[0], name="dx")


def read_from_an_array() -> None:
    rows = v1.placeholder(tf.float32, [4], name="rows")
    array = tf.TensorArray(tf.float32, 4, name="array").unstack(rows)
    tf.identity(
        v1.while_loop(lambda i, _: i < 4, lambda i, s: (i + 1, s + array.read(i)), [0, 0.0])[1],
        name="y",
    )


@pytest.mark.parametrize("write", NATIVE, ids=lambda write: write.__name__)
def test_no_loop_and_no_conditional_is_left_in_half(write: Callable[[], None]) -> None:
    _, index = built(write)
    for op in range(0, len(index), 7):
        taken = Selection.of(index, [op], "").whole().ids
        blocks = control_flow(index)
        assert op in taken
        assert all(block.ops <= taken or block.ops.isdisjoint(taken) for block in blocks)
        assert complete_blocks(index, taken, grow=False) == taken


def test_a_graph_without_control_flow_is_taken_as_it_is(line: tf.Graph) -> None:
    index = build(line.as_graph_def().node)
    assert complete_blocks(index, [1, 2]) == {1, 2}


def test_a_path_through_a_loop_takes_the_whole_loop_and_nothing_after() -> None:
    _, index = built(doubled)
    [loop] = loops(index)
    taken = complete_blocks(
        index, between(index, ["before:0"], ["y"]).ids, [(index.ids["before"], 0)]
    )
    assert loop.ops < taken
    assert "before" not in names(index, taken)
    assert copied_frames(index, taken) == (loop.name,)


def test_what_only_the_rest_of_a_loop_reads_comes_along() -> None:
    def write() -> None:
        x, _ = given()
        n = v1.placeholder(tf.int32, [], name="n")
        step = v1.get_variable("step", [], tf.int32, v1.ones_initializer(), use_resource=False)
        tf.identity(
            v1.while_loop(lambda i, _: i < n, lambda i, a: (i + step, a * 2), [0, x])[1], name="y"
        )

    _, index = built(write)
    taken = names(
        index, complete_blocks(index, between(index, ["x:0"], ["y"]).ids, [(index.ids["x"], 0)])
    )
    assert {"step", "step/read", "while/LoopCond"} <= taken
    assert taken.isdisjoint({"x", "n"})


def test_a_gradient_loop_brings_its_forward_loop_and_its_stacks() -> None:
    _, index = built(differentiated)
    forward, backward = loops(index)
    taken = complete_blocks(index, backward.ops)
    assert forward.ops | backward.ops < taken
    assert {i for i, kind in enumerate(index.types) if kind == "StackV2"} <= taken
    assert set(copied_frames(index, taken)) == {forward.name, backward.name}


def test_a_forward_loop_does_not_bring_its_gradient() -> None:
    _, index = built(differentiated)
    forward, backward = loops(index)
    taken = complete_blocks(index, forward.ops)
    assert backward.ops.isdisjoint(taken)
    assert {i for i, kind in enumerate(index.types) if kind == "StackV2"} <= taken


def test_who_reads_a_tensor_array_brings_what_fills_it() -> None:
    _, index = built(read_from_an_array)
    [loop] = loops(index)
    taken = complete_blocks(index, loop.ops)
    assert {index.types[i] for i in taken - loop.ops} >= {"TensorArrayV3", "TensorArrayScatterV3"}
    assert index.ids["rows"] not in taken


def test_ops_of_one_body_stay_there() -> None:
    _, index = built(nested)
    outer, inner = loops(index)
    body = numbers(index, *(name for name in index.names if name.endswith("inner")))
    assert body < inner.ops
    assert complete_blocks(index, body) == complete_blocks(index, body, grow=False) == body
    assert complete_blocks(index, inner.ops) == inner.ops < outer.ops  # in the outer loop's body
    assert copied_frames(index, inner.ops) == (inner.name,)


def test_an_invariant_may_enter_the_body_that_a_copy_stays_in() -> None:
    def write() -> None:
        x, _ = given()
        w = v1.get_variable("w", [], use_resource=False)
        times(3, lambda a: tf.multiply(a, w, name="scaled"), x)

    _, index = built(write)
    part = numbers(index, "while/scaled", "while/scaled/Enter", "w/read", "w")
    assert complete_blocks(index, part, grow=False) == part
    assert copied_frames(index, part) == ()


def test_both_branches_are_more_than_one_body() -> None:
    _, index = built(branches)
    [block] = control_flow(index)
    assert complete_blocks(index, numbers(index, "cond/yes")) == numbers(index, "cond/yes")
    assert block.ops <= complete_blocks(index, numbers(index, "cond/yes", "cond/no"))


@pytest.mark.parametrize(
    "part", [["while/Merge"], ["while/twice", "y"], ["while/Exit", "while/Exit_1"]]
)
def test_a_selection_of_half_a_loop_is_refused_by_name(part: list[str]) -> None:
    _, index = built(doubled)
    with pytest.raises(NotClonable, match="'while/while_context'") as refused:
        complete_blocks(index, numbers(index, *part), grow=False)
    assert ".whole()" in refused.value.why
    assert "'before:0'" in refused.value.why
    assert "'while/Exit_1:0'" in refused.value.why
    assert set(refused.value.ops) <= names(index, loops(index)[0].ops)
    assert complete_blocks(index, numbers(index, *part)) >= loops(index)[0].ops


def test_half_a_conditional_is_refused_by_name() -> None:
    _, index = built(branches)
    with pytest.raises(NotClonable, match="conditional 'cond'"):
        complete_blocks(index, numbers(index, "cond/yes", "y"), grow=False)


def test_a_gradient_loop_without_what_it_empties_is_refused() -> None:
    _, index = built(differentiated)
    forward, backward = loops(index)
    with pytest.raises(NotClonable, match=forward.name):
        complete_blocks(index, backward.ops, grow=False)


def test_an_input_inside_a_loop_that_must_be_whole_is_refused() -> None:
    _, index = built(doubled)
    cut = [(index.ids["while/twice"], 0)]
    with pytest.raises(
        NotClonable, match="'while/twice:0' lies inside while loop 'while/while_context'"
    ):
        complete_blocks(index, between(index, ["while/twice:0"], ["y"]).ids, cut)


def test_an_input_inside_a_nested_loop_names_the_outermost_one() -> None:
    _, index = built(nested)
    outer, _ = loops(index)
    [inner] = [name for name in index.names if name.endswith("/inner")]
    with pytest.raises(NotClonable, match=f"while loop {outer.name!r}"):
        complete_blocks(index, between(index, [f"{inner}:0"], ["y"]).ids, [(index.ids[inner], 0)])


def test_an_exit_may_be_an_input() -> None:
    _, index = built(doubled)
    inputs = [(index.ids["while/Exit_1"], 0)]
    assert names(
        index, complete_blocks(index, between(index, ["while/Exit_1:0"], ["y"]).ids, inputs)
    ) == {"y"}


def test_what_shows_that_an_array_is_full_cannot_be_an_input() -> None:
    _, index = built(read_from_an_array)
    [filled] = [i for i, kind in enumerate(index.types) if kind == "TensorArrayScatterV3"]
    inside = between(index, [f"{index.names[filled]}:0"], ["y"]).ids
    with pytest.raises(NotClonable, match="TensorArray is full"):
        complete_blocks(index, inside, [(filled, 0)])


def test_loops_of_a_frozen_function_are_taken_whole() -> None:
    index = frozen()
    for block in control_flow(index):
        some = frozenset(sorted(block.switches)[:1])
        assert some <= block.ops <= complete_blocks(index, some)


def test_a_selection_made_whole_says_so() -> None:
    _, index = built(doubled)
    made = Selection.of(index, numbers(index, "while/twice"), "ops(['while/twice'])").whole()
    assert str(made) == "ops(['while/twice']).whole()"
    assert loops(index)[0].ops == made.ids
