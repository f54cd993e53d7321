"""What is open in the first drawing of a graph, and where it is shown."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tfgraphwidget.hierarchy import default_open, opening_steps
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.scene import first_drawing
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.visible import ViewSpec

pytestmark = pytest.mark.no_tensorflow

TYPES = ("Relu", "Tanh", "Sqrt", "Neg", "Abs", "Exp")


@pytest.fixture
def branches(graph):
    """Four scopes side by side, each with six scopes of three ops, and what follows them."""
    ops = {"x": "Placeholder"}
    for branch in range(4):
        last = "x"
        for block in range(6):
            for k in range(3):
                name = f"branch_{branch}/block_{block}/n{k}"
                ops[name] = f"{TYPES[(branch + block + k) % 6]} {last}"
                last = name
        ops[f"end_{branch}"] = f"Softmax {last}"
    return graph(ops)


def zoom(scene, width, height):
    drawn_width, drawn_height = scene.box[0, 2:].tolist()
    return min((width - 48) / drawn_width, (height - 48) / drawn_height)


def test_the_steps_lead_from_nothing_to_what_is_open_by_default(branches):
    steps = opening_steps(branches)
    assert steps[0] == frozenset()
    assert steps[-1] == default_open(branches)
    assert all(less < more for less, more in pairwise(steps))


@pytest.mark.parametrize(("width", "height"), [(620, 460), (520, 700), (320, 300), (1600, 900)])
def test_as_much_is_open_as_can_be_read_at_once(branches, width, height):
    opened, scene = first_drawing(branches, ViewSpec(), width, height, LayoutCache())
    steps = opening_steps(branches)
    assert zoom(scene, width, height) >= 0.55
    assert (opened != steps[-1]) == (width == 320)
    for more in steps[steps.index(opened) + 1 :]:
        assert zoom(scenes.build(branches, ViewSpec(more)), width, height) < 0.55


def test_a_large_pane_shows_all_that_is_open_by_default_and_a_tiny_one_more_than_a_few_boxes(
    branches,
):
    steps = opening_steps(branches)
    assert first_drawing(branches, ViewSpec(), 1600, 900, LayoutCache())[0] == steps[-1]
    opened, scene = first_drawing(branches, ViewSpec(), 60, 60, LayoutCache())
    assert len(scene) > 6
    assert opened in steps


def test_the_same_pane_gives_the_same_drawing_and_the_next_one_is_similar_to_it(branches):
    drawings = []
    for _ in range(2):
        cache = LayoutCache()
        opened, scene = first_drawing(branches, ViewSpec(), 520, 700, cache)
        drawings.append((opened, scene.box.tobytes()))
        assert cache.previous
    assert drawings[0] == drawings[1]
