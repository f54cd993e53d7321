"""A line is selected if it leads from a selected op to a selected op, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from tests.layout.checks import graph_of
from tfgraphwidget.scene.scene import Scene, build, paint
from tfgraphwidget.visible import CLOSED, OP, OUTPUTS
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow
TOWERS = {
    "x": "Placeholder",
    "a/one": "Relu x",
    "a/two": "Elu x",
    "a/other": "Tanh x",
    "b/deep/in": "Relu a/one",
    "b/deep/out": "Tanh b/deep/in",
    "b/side": "Elu a/two",
    "end": "AddN b/deep/out b/side ^a/other",
}


def mask(scene: Scene, *names: str) -> np.ndarray:
    """These ops of the graph of a scene."""
    return np.isin(np.array(scene.index.names), names)


def selected(scene: Scene, *names: str) -> set[tuple[str, str]]:
    """The ends of the selected lines while these ops are selected."""
    lines = np.flatnonzero(paint(scene, mask(scene, *names)).selected_line)
    return {(scene.names[scene.source[k]], scene.names[scene.target[k]]) for k in lines.tolist()}


def test_a_line_between_parts_of_closed_scopes_is_selected_if_what_it_carries_is():
    scene = build(graph_of(TOWERS), ViewSpec(frozenset()))
    assert selected(scene, "a/one", "b/deep/in") == {("a", "b")}
    # both are selected in part, and nothing leads from the one part to the other
    assert selected(scene, "a/other", "b/deep/in") == set()
    assert selected(scene, "a/one") == set()
    assert selected(scene, "x", "a/two", "b/side", "end") == {("x", "a"), ("a", "b"), ("b", "end")}


def test_a_piece_inside_an_open_scope_is_selected_as_its_outside_is():
    scene = build(graph_of(TOWERS), ViewSpec(frozenset({"a", "b", "b/deep"})))
    # `a` is selected in part, and its border is where a line begins that comes from no selected op
    assert selected(scene, "a/one", "b/deep/in") == {
        ("a/one", "a"), ("a", "b"), ("b", "b/deep"), ("b/deep", "b/deep/in"),
    }  # fmt: skip
    assert selected(scene, "b/side", "end") == {("b/side", "b"), ("b", "end")}


def test_a_control_edge_is_selected_too():
    scene = build(graph_of(TOWERS), ViewSpec(frozenset({"a"})))
    assert selected(scene, "a/other", "end") == {("a/other", "a"), ("a", "end")}
    assert selected(scene, "a/one", "end") == set()


def reference(scene: Scene, chosen: np.ndarray) -> np.ndarray:
    """Which lines are selected, from the edges of the graph one by one."""
    index, lines = scene.index, np.zeros(len(scene.source), dtype=np.uint8)
    inside: list[set[int]] = []
    for home in scene.home_of_op.tolist():
        around = [home]
        while around[-1] > 0:
            around.append(int(scene.parent[around[-1]]))
        inside.append({*around})
    badges = set(scene.badge_op.tolist())
    readers: dict[int, list[int]] = {}
    for reader in range(len(index)):
        for k in range(index.inputs.start[reader], index.inputs.start[reader + 1]):
            tensor = int(index.inputs.values[k]) * OUTPUTS + int(index.ports[k])
            readers.setdefault(tensor, []).append(reader)
    for line in range(len(lines)):
        source, target = int(scene.source[line]), int(scene.target[line])
        leaves = scene.parent[source] == target
        for k in range(
            scene.visible.edge_tensor_start[line], scene.visible.edge_tensor_start[line + 1]
        ):
            tensor = int(scene.visible.edge_tensor[k])
            for reader in readers[tensor]:
                if reader in badges or scene.kind[scene.home_of_op[reader]] not in (OP, CLOSED):
                    continue
                if (target in inside[reader]) != leaves:
                    lines[line] |= chosen[tensor // OUTPUTS] and chosen[reader]
    return lines


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_selected_as_the_edges_of_the_graph_are(network, inception, seed):
    random = np.random.default_rng(seed)
    for index in (network, inception):
        scopes = {"/".join(name.split("/")[:k]) for name in index.names for k in (1, 2, 3)}
        opened = frozenset(scope for scope in sorted(scopes) if random.random() < 0.8)
        scene = build(index, ViewSpec(opened))
        for share in (0.2, 0.7, 1.0):
            chosen = random.random(len(index)) < share
            found = paint(scene, chosen).selected_line
            has_tensor = scene.tensors > 0
            assert np.array_equal(found[has_tensor], reference(scene, chosen)[has_tensor])
            if share == 1.0:
                assert found.all()
