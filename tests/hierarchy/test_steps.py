"""What a loop of Python has made again and again is one box for each round."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tests.hierarchy.test_repeats import boxes
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.hierarchy.steps import find_steps
from tfgraphwidget.hierarchy.tree import UP_TO
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph

pytestmark = pytest.mark.no_tensorflow
Graph = Callable[[Mapping[str, str]], GraphIndex]


def lstm(rounds: int) -> dict[str, str]:
    """An LSTM that is unrolled, with all of its states stacked at the end. The names have the
    number of the round.
    """
    ops = {"x": "Placeholder", "w": "VariableV2", "axis": "Const", "zero": "Const"}
    h = c = "zero"
    for t in range(rounds):
        ops |= {
            f"slice_{t}": "StridedSlice x axis",
            f"concat_{t}": f"ConcatV2 slice_{t} {h} axis",
            f"matmul_{t}": f"MatMul concat_{t} w",
            f"split_{t}": f"Split axis matmul_{t}",
            f"forget_{t}": f"Sigmoid split_{t}",
            f"kept_{t}": f"Mul forget_{t} {c}",
            f"gate_{t}": f"Sigmoid split_{t}",
            f"new_{t}": f"Tanh split_{t}",
            f"written_{t}": f"Mul gate_{t} new_{t}",
            f"cell_{t}": f"AddV2 kept_{t} written_{t}",
            f"squashed_{t}": f"Tanh cell_{t}",
            f"out_{t}": f"Sigmoid split_{t}",
            f"state_{t}": f"Mul out_{t} squashed_{t}",
        }
        h, c = f"state_{t}", f"cell_{t}"
    states = " ".join(f"state_{t}" for t in range(rounds))
    return ops | {"stack": f"Pack {states}", "y": "Softmax stack"}


def rounds_of(graph: Graph, ops: Mapping[str, str]) -> dict[str, set[str]]:
    """Of each step the rounds whose ops it has."""
    index = graph(ops)
    outline = outline_of(index)[0]
    steps = [name for name in outline.ids if name.startswith(UP_TO)]
    numbers = {step: [index.names[op] for op in outline.ops(outline.ids[step])] for step in steps}
    return {step: {*re.findall(r"_\d+", " ".join(names))} for step, names in numbers.items()}


def test_an_unrolled_loop_is_cut_where_only_the_state_passes(graph: Graph) -> None:
    steps = rounds_of(graph, lstm(12))
    assert steps == {f"… state_{t}": {f"_{t}"} for t in range(12)}


def test_few_steps_are_seen_one_by_one_and_many_as_one(graph: Graph) -> None:
    few, many = (build_visible_graph(graph(lstm(rounds)), ViewSpec()) for rounds in (12, 20))
    assert {f"… state_{t}" for t in range(12)} <= {*boxes(few)}
    shown = {*boxes(many)}
    assert "state_1 … state_19" in shown
    assert len(shown) < 10


def test_two_loops_after_each_other_have_steps_of_their_own(graph: Graph) -> None:
    ops = lstm(6)
    h = "y"
    for t in range(9):
        ops |= {
            f"mixed_{t}": f"MatMul {h} w",
            f"scale_{t}": f"Mul mixed_{t} stack",
            f"gated_{t}": f"Sigmoid mixed_{t} {h}",
            f"next_{t}": f"AddV2 scale_{t} gated_{t}",
        }
        h = f"next_{t}"
    steps = rounds_of(graph, ops)
    assert [len(rounds) for rounds in steps.values()] == [1] * 15
    assert {step.partition("_")[0] for step in steps} == {"… state", "… next"}


@pytest.mark.parametrize("seed", range(3))
def test_what_does_not_come_again_has_no_steps(seed: int) -> None:
    things = [*range(200)]
    color = np.random.default_rng(seed).integers(5, size=200).astype(np.uint64)
    lines = np.arange(199), np.arange(1, 200)
    assert find_steps(things, color, lines) == []


def test_three_times_is_not_often() -> None:
    color = np.array([1, 2, 3, 4] * 3 + [9] * 2, dtype=np.uint64)
    lines = np.arange(13), np.arange(1, 14)
    assert find_steps([*range(14)], color, lines) == []
    color = np.array([9, 8] + [1, 2, 3, 4] * 4, dtype=np.uint64)
    lines = np.arange(17), np.arange(1, 18)
    assert [len(step) for step in find_steps([*range(18)], color, lines)] == [4, 4, 4, 4]


def test_ops_of_one_type_in_a_row_are_no_steps_and_three_of_four_are() -> None:
    lines = np.arange(39), np.arange(1, 40)
    assert find_steps([*range(40)], np.ones(40, dtype=np.uint64), lines) == []
    color = np.array([1, 1, 1, 2] * 10, dtype=np.uint64)
    assert [len(step) for step in find_steps([*range(40)], color, lines)] == [4] * 10


def test_what_lies_side_by_side_has_no_steps() -> None:
    """Towers that a loop has made are folded place by place (`repeats`)."""
    color = np.array([1, 2, 3, 4] * 8, dtype=np.uint64)
    boxes = np.arange(32).reshape(8, 4)
    lines = boxes[:, :-1].ravel(), boxes[:, 1:].ravel()
    assert find_steps([*range(32)], color, lines) == []


def test_steps_in_which_ops_come_again_are_whole() -> None:
    """Of a step of four equal gates the step counts, and not each gate."""
    step = [1, 2, 3] * 4 + [7, 8]
    color = np.array(step * 5, dtype=np.uint64)
    lines = np.arange(69), np.arange(1, 70)
    found = find_steps([*range(70)], color, lines)
    assert [len(each) for each in found] == [14] * len(found)
    assert len(found) >= 4


def test_the_gradients_inside_of_a_step_belong_to_it(graph: Graph) -> None:
    """Steps of gradient descent that the network goes on with, as in meta-learning."""
    ops = {"x": "Placeholder", "t": "Placeholder", "w": "VariableV2", "rate": "Const"}
    w = "w"
    for k in range(10):
        at = f"gradients_{k}" if k else "gradients"
        ops |= {
            f"matmul_{k}": f"MatMul x {w}",
            f"relu_{k}": f"Relu matmul_{k}",
            f"off_{k}": f"Sub relu_{k} t",
            f"loss_{k}": f"SquaredDifference off_{k} t",
            f"{at}/Shape": f"Shape off_{k}",
            f"{at}/relu_grad": f"ReluGrad loss_{k} relu_{k}",
            f"{at}/matmul_grad": f"MatMul x {at}/relu_grad",
            f"scaled_{k}": f"Mul {at}/matmul_grad rate",
            f"moved_{k}": f"Sub {w} scaled_{k}",
        }
        w = f"moved_{k}"
    ops |= {f"more_{k}": f"Tanh {f'more_{k - 1}' if k else w} {w}" for k in range(3)}
    steps = rounds_of(graph, ops)
    assert steps == {f"… moved_{k}": {f"_{k}"} for k in range(10)}


@pytest.mark.parametrize("name", ["… state_3", "… state_3/x"])
def test_a_name_that_the_graph_has_is_that_of_no_step(graph: Graph, name: str) -> None:
    index = graph(lstm(12) | {name: "Relu x"})
    shown = build_visible_graph(index, ViewSpec())
    states = [shown_name for shown_name in shown.names if "state" in shown_name]
    assert len({*states}) == len(states)
    assert [state for state in states if state.startswith("… state_3")] == [name]
    assert "… state_4" in states
