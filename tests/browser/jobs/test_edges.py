"""The lines tell who feeds whom: towers into training, and the pointer follows a tensor across all
borders.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import OpenNotebook, open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    images = v1.placeholder(tf.float32, [None, 8], name="images")
    optimizer, gradients = v1.train.GradientDescentOptimizer(0.1), []
    for gpu in range(4):
        with (
            tf.device(f"/gpu:{gpu}"),
            v1.name_scope(f"tower_{gpu}"),
            v1.variable_scope("net", reuse=gpu > 0),
        ):
            loss = tf.reduce_mean(
                tf.nn.relu(tf.matmul(images, v1.get_variable("w", [8, 16]))), name="loss"
            )
            gradients.append(optimizer.compute_gradients(loss))
    averaged = [(tf.add_n([g for g, _ in pairs]), pairs[0][1]) for pairs in zip(*gradients)]
    optimizer.apply_gradients(averaged, name="train")
towers = tgw.edit(graph)
towers.view.widget.height = 600

with tf.Graph().as_default() as graph:
    images, labels = (
        v1.placeholder(tf.float32, [None, 8], name=name) for name in ("images", "labels")
    )
    more = [v1.placeholder(tf.float32, [None, 8], name=f"part_{k}") for k in range(12)]
    with tf.name_scope("net"):
        with tf.name_scope("dense"):
            hidden = tf.nn.relu(images, name="hidden")
            hidden = tf.tanh(hidden, name="act")
        loss = tf.math.squared_difference(hidden, labels, name="loss")
        total = tf.add_n(more, name="total")
    tf.identity(loss, name="mean")
    tf.identity(loss, name="reported")
    tf.identity(total, name="sum")
borders = tgw.edit(graph)
borders.view.expand("net")
borders.view.expand("net/dense")
borders.view.widget.height = 600

def places(editor, source, target):
    "The middle of the first straight piece of each line between two boxes."
    (drawing,) = editor.view.widget._pane._handler._drawings.values()
    scene = drawing.scene
    names = list(scene.names)
    found = []
    for line, ends in enumerate(zip(scene.source.tolist(), scene.target.tolist())):
        if [names[end] for end in ends] == [source, target]:
            route = scene.route[scene.route_start[line] : scene.route_start[line + 1]]
            found.append(((route[0] + route[1]) / 2).tolist())
    return found

def box(editor, name):
    (drawing,) = editor.view.widget._pane._handler._drawings.values()
    scene = drawing.scene
    x, y, width, height = scene.box[list(scene.names).index(name)].tolist()
    return [x + width / 2, y + height / 2]
"""


def shown(notebook: OpenNotebook, cell: int) -> Hand:
    """The widget of a cell, all of its drawing in view."""
    root = notebook.run_cell(cell).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    root.focus()
    notebook.page.keyboard.press("f")
    hand.widget.settled()
    return hand


class Lines:
    """The lines of a widget, which the pointer is moved to."""

    def __init__(self, hand: Hand, editor: str, near: str) -> None:
        self.hand, self.editor, self.near = hand, editor, near

    def texts(self, source: str, target: str) -> list[str]:
        """What the tooltips of the lines between two boxes say."""
        evaluate = self.hand.widget.notebook.kernel_eval
        found = evaluate(f"places({self.editor}, {source!r}, {target!r})")
        at, zoom = evaluate(f"box({self.editor}, {self.near!r})"), self.hand.widget.number("zoom")
        x, y = self.hand.widget.place(self.near)
        tooltip, texts = self.hand.root.locator(".tgw-tooltip"), []
        for place in found:
            self.hand.page.mouse.move(0, 0)
            expect(tooltip).to_be_hidden()
            self.hand.page.mouse.move(
                x + (place[0] - at[0]) * zoom, y + (place[1] - at[1]) * zoom, steps=2
            )
            expect(tooltip).to_be_visible()
            texts.append(tooltip.inner_text())
        return texts


@pytest.mark.slow
def test_the_pointer_on_a_line_says_who_feeds_whom(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1360, "height": 860})
    cells = [GRAPH, "towers", "borders"]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "edges.ipynb", cells)
    )
    notebook.run_cell(0)

    # Each of four towers has a line into training.
    lines = Lines(shown(notebook, 1), "towers", "images")
    group = "tower_0 … tower_3"
    for gpu in range(4):
        (text,) = lines.texts(f"tower_{gpu}", group)
        assert text.startswith(f"tower_{gpu}/net/gradients")
        assert "→ (training)" in text
    shoot(lines.hand.root, "edges_towers_light")
    # What is to be said of the four GPUs is one sentence, at the upper edge of the drawing.
    warning = lines.hand.root.locator(".tgw-warnings")
    expect(warning.get_by_role("listitem")).to_have_count(1)
    expect(warning).to_contain_text("pinned to devices that are not available on this machine")
    said, drawn = warning.bounding_box(), lines.hand.root.locator(".tgw-stage").bounding_box()
    assert said
    assert drawn
    assert said["y"] == drawn["y"]
    assert said["height"] < 40
    warning.get_by_role("button", name="Details").click()
    expect(warning.get_by_role("button", name="Less")).to_be_visible()
    box = warning.bounding_box()
    assert box
    assert box["height"] > said["height"]
    assert lines.hand.root.locator(".tgw-stage").bounding_box() == drawn

    # Of two tensors that enter a scope the pointer follows one through all borders, from its
    # producer and back to it.
    lines = Lines(shown(notebook, 2), "borders", "images")
    for source, target, text in (
        ("images", "net", "images → net/dense/hidden"),
        ("net", "net/dense", "images → net/dense/hidden"),
        ("net/dense", "net/dense/hidden", "images → net/dense/hidden"),
        ("labels", "net", "labels → net/loss"),
        ("net", "net/loss", "labels → net/loss"),
        ("net/loss", "net", "net/loss → mean, reported"),
    ):
        assert [found.splitlines()[0] for found in lines.texts(source, target)] == [text]
    # What has no room of its own is one bundle with its count, which the pointer opens.
    *single, bundle = lines.texts("net", "net/total")
    assert [text.splitlines()[0] for text in single] == [f"part_{k} → net/total" for k in range(5)]
    assert bundle.splitlines()[:2] == [
        "part_5, part_6, part_7, part_8, part_9, part_10, part_11 → net/total",
        "7 tensors",
    ]
    shoot(lines.hand.root, "edges_bundle_light")
    set_theme(page, dark=True)
    lines.hand.widget.settled()
    assert lines.texts("labels", "net")
    shoot(lines.hand.root, "edges_borders_dark")
