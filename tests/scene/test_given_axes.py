"""Drawing on axes that somebody else has made, of whatever size and sort, and names that are no
plain letters.
"""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.scene.rendering.matplotlib_axes import draw
from tfgraphwidget.scene.scene import build
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow


@pytest.fixture
def drawing(network):
    return build(network, ViewSpec(frozenset({"net"})))


@pytest.mark.parametrize("size", [(12, 1), (1, 12), (4, 4)])
def test_letters_keep_to_their_boxes_whatever_the_proportions_of_the_axes(drawing, size):
    axes = Figure(figsize=size, dpi=100).add_axes((0.0, 0.0, 1.0, 1.0))
    draw(drawing, axes)
    axes.apply_aspect()
    # A point of text is a pixel of the scene, in the proportions that the drawing has in the end.
    pixel = axes.transData.transform([(1, 0), (0, 0)])
    least = min(text.get_fontsize() for text in axes.texts) * 100 / 72 / (pixel[0, 0] - pixel[1, 0])
    assert 8 < least < 14


@pytest.mark.parametrize("projection", ["3d", "polar"])
def test_axes_that_are_no_plane_are_refused(drawing, projection):
    with pytest.raises(GraphEditError, match=r"cannot be drawn on; give Axes as plt\.subplots"):
        draw(drawing, Figure().add_subplot(projection=projection))


@pytest.mark.parametrize("given", [Figure(), "graph.png"])
def test_what_is_no_axes_is_refused(drawing, given):
    with pytest.raises(GraphEditError, match=r"A (Figure|str) cannot be drawn on"):
        draw(drawing, given)


def test_a_line_break_in_a_name_is_a_gap(graph):
    ax = draw(
        build(
            graph({"line\nbreak": "Placeholder", "tab\tin\x01it": "Placeholder"}),
            ViewSpec(frozenset()),
        )
    )
    assert {text.get_text() for text in ax.texts} == {"line break", "tab in it"}
