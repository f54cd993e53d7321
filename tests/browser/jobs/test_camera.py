"""The viewport shows what was expanded, cloned or laid out, and no control covers it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import tensorflow as tf
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    acts = tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.elu, tf.nn.selu, tf.square, tf.exp, tf.sin, tf.abs
    for layer, act in enumerate(acts):
        with v1.variable_scope(f"layer_{layer}"):
            w = v1.get_variable("w", [4, 4], use_resource=True)
            h = act(tf.matmul(h, w, name="product"), name="act")
            for _ in range(layer):
                h = tf.identity(h)
    tf.nn.softmax(h, name="y")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.collapse()
editor.view.widget.height = 600
"""
RECTANGLES = """(root, name) => {
    const place = root.tfgraphwidget.screenPosition(name);
    const canvas = root.querySelector(".tgw-stage canvas").getBoundingClientRect();
    return {place, left: canvas.left, top: canvas.top, right: canvas.right, bottom: canvas.bottom};
}"""


def is_in_frame(widget: Widget, name: str) -> bool:
    """Whether all of a closed box is on the canvas."""
    widget.place(name)
    seen = widget.root.evaluate(RECTANGLES, name)
    place = seen["place"]
    dx, dy = place["width"] / 2, place["height"] / 2
    across = seen["left"] <= place["x"] - dx and place["x"] + dx <= seen["right"]
    return across and seen["top"] <= place["y"] - dy and place["y"] + dy <= seen["bottom"]


def covered(widget: Widget, name: str, control: Locator) -> bool:
    """Whether a control lies over the middle of a box."""
    x, y = widget.place(name)
    box = control.bounding_box() if control.is_visible() else None
    if box is None:
        return False
    return box["x"] <= x <= box["x"] + box["width"] and box["y"] <= y <= box["y"] + box["height"]


@pytest.mark.slow
def test_what_is_cloned_opened_and_laid_out_is_in_view(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "camera.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))

    hand.right_click("layer_1")
    hand.choose("Clone …")
    expect(root.get_by_role("textbox", name="scope")).to_be_focused()
    hand.press("Enter")
    hand.lines(1)
    assert (hand.clicks, hand.keys) == (2, 1)
    assert is_in_frame(hand.widget, "copy")
    assert is_in_frame(hand.widget, "layer_1")
    shoot(page, "camera_cloned_light")

    # The whole layout, when it is another one; the pointer was at another place before.
    for key in ("E", "D", "D", "C"):
        root.focus()
        for _ in range(3):
            page.keyboard.press("+")
        hand.widget.settled()
        page.keyboard.press(key)
        hand.widget.settled()
        assert is_in_frame(hand.widget, "x"), key
        assert is_in_frame(hand.widget, "y"), key
        shoot(page, f"camera_{key}_light")

    # An opened scope is in view as a whole.
    hand.widget.click("layer_8", double=True)
    hand.widget.settled()
    for inside in ("layer_8/product", "layer_8/act"):
        assert is_in_frame(hand.widget, inside)

    # Nothing lies over what was clicked last, also when the drawing is moved so that it is in a
    # corner.
    legend, minimap = root.locator(".tgw-legend"), root.locator(".tgw-minimap")
    canvas = root.locator(".tgw-stage canvas").first.bounding_box()
    assert canvas
    page.keyboard.press("f")
    for name, x, y in (
        ("y", canvas["x"] + canvas["width"] - 110, canvas["y"] + canvas["height"] - 60),
        ("x", canvas["x"] + 60, canvas["y"] + canvas["height"] - 60),
    ):
        hand.widget.click(name)
        hand.widget.settled()
        start = hand.widget.place(name)
        empty = canvas["x"] + canvas["width"] / 2, canvas["y"] + 8
        page.mouse.move(*empty)
        page.mouse.down()
        page.mouse.move(empty[0] + x - start[0], empty[1] + y - start[1], steps=4)
        page.mouse.up()
        hand.widget.settled()
        assert not covered(hand.widget, name, legend)
        assert not covered(hand.widget, name, minimap)
    set_theme(page, dark=True)
    hand.widget.settled()
    shoot(page, "camera_corner_dark")


COLUMN = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for step in range(16):
        h = (tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.elu, tf.sin)[step % 5](h, name=f"step_{step}")
editor = tgw.edit(graph)
editor.view.widget.height = 560
"""
# The ops that lie below a control, by a corner or the middle of their boxes.
BELOW = """(root, [control, names]) => {
    const {left, right, top, bottom} = control.getBoundingClientRect();
    const over = (x, y) => left <= x && x <= right && top <= y && y <= bottom;
    const corners = ({x, y, width, height}) => [-1, 0, 1].flatMap((i) => [-1, 0, 1].map((j) =>
        [x + i * width / 2, y + j * height / 2]));
    return names.filter((name) =>
        corners(root.tfgraphwidget.screenPosition(name)).some(([x, y]) => over(x, y)));
}"""


def test_minimap_and_legend_are_in_corners_where_they_cover_no_box(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1800, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "corners.ipynb", [COLUMN, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    legend, minimap = root.locator(".tgw-legend"), root.locator(".tgw-minimap")
    names = ["x", *(f"step_{step}" for step in range(16))]
    canvas = root.locator(".tgw-stage canvas").first.bounding_box()
    assert canvas
    root.focus()
    for _ in range(2):
        page.keyboard.press("+")
    for side, to in (("left", 60.0), ("right", canvas["width"] - 60)):
        # Boxes are in both corners of that side.
        places = [widget.place(name) for name in names]
        across = to - ((min if side == "left" else max)(x for x, _ in places) - canvas["x"])
        down = canvas["height"] / 2 - (sum(y for _, y in places) / len(places) - canvas["y"])
        # There is no box.
        grip = (
            canvas["x"] + canvas["width"] - 90,
            canvas["y"] + canvas["height"] / 2,
        )
        page.mouse.move(*grip)
        page.mouse.down()
        page.mouse.move(grip[0] + across, grip[1] + down, steps=4)
        page.mouse.up()
        widget.place("x")
        expect(minimap).to_be_visible()
        for control in (legend, minimap):
            wait_until(page, partial(is_clear_of, root, control, names))
        shoot(root, f"corners_{side}")


def is_clear_of(root: Locator, control: Locator, names: list[str]) -> bool:
    """Whether a control lies over none of the boxes."""
    return bool(root.evaluate(BELOW, [control.element_handle(), names]) == [])


BRANCHES = [f"branch_{k}" for k in range(12)]


def is_wide(root: Locator) -> bool:
    """Whether the branches lie side by side rather than one below the other."""
    places = [root.evaluate(AT_REST, name) for name in BRANCHES]
    wide, high = (max(at[side] for at in places) - min(at[side] for at in places) for side in "xy")
    return bool(wide > high)


def is_all_in_frame(root: Locator) -> bool:
    """Whether the middles of all boxes are on the canvas."""
    canvas = root.locator(".tgw-stage canvas").first.bounding_box()
    assert canvas
    places = [root.evaluate(AT_REST, name) for name in ("x", *BRANCHES)]
    across = all(0 < at["x"] - canvas["x"] < canvas["width"] for at in places)
    return across and all(0 < at["y"] - canvas["y"] < canvas["height"] for at in places)


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Look again and again until something holds, for half a minute at most."""
    for _ in range(60):
        if holds():
            return
        page.wait_for_timeout(500)
    raise AssertionError("It does not hold after half a minute.")


@pytest.mark.slow
@pytest.mark.parametrize("width", [840, 1440])
def test_the_first_drawing_has_the_shape_of_the_pane(
    page: Page, jupyter_server: JupyterServer, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900 if width == 1440 else 1200})
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        for branch in BRANCHES:
            tf.nn.relu(tf.negative(x, name=f"{branch}/negative"), name=f"{branch}/act")
    (jupyter_server.root / f"shape_{width}.pb").write_bytes(
        graph.as_graph_def().SerializeToString()
    )
    page.goto(jupyter_server.page_url(f"shape_{width}.pb"))
    root = page.locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    root.evaluate(AT_REST, "x")
    shoot(page, f"camera_pane_{width}")
    # JupyterLab may make the pane narrower once its side panel is there.
    wait_until(page, lambda: is_wide(root) == (width == 1440))
    if width == 1440:
        # The drawing wraps in a view that becomes narrow or is opened again in a narrow pane,
        # unless it was moved.
        page.set_viewport_size({"width": 840, "height": 1200})
        wait_until(page, lambda: not is_wide(root))
        assert is_all_in_frame(root)
        shoot(page, "camera_pane_dragged")
        page.set_viewport_size({"width": 1440, "height": 900})
        wait_until(page, lambda: is_wide(root))
        page.set_viewport_size({"width": 840, "height": 1200})
        page.reload()
        expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
        wait_until(page, lambda: not is_wide(root))
        assert is_all_in_frame(root)
        page.locator(".tgw-stage").hover()
        page.mouse.wheel(0, -300)
        page.set_viewport_size({"width": 1440, "height": 900})
        page.wait_for_timeout(600)  # longer than a view needs to follow its size
        assert not is_wide(root)
    if width == 840:
        # In a view that is too small for both, the panel is above the drawing, and a menu above
        # that.
        expect(root).to_have_attribute("data-panel", "below")
        page.set_viewport_size({"width": width, "height": 600})
        expect(root).to_have_attribute("data-panel", "over")
        page.get_by_role("button", name="Show or hide the side panel").click()
        # Nor does a tooltip lie below it, of what is beside the panel once the drawing is moved
        # there.
        canvas = root.locator(".tgw-stage canvas").first.bounding_box()
        assert canvas
        root.evaluate(AT_REST, "x")
        page.mouse.move(canvas["x"] + 110, canvas["y"] + 100)
        page.mouse.down()
        page.mouse.move(canvas["x"] + 10, canvas["y"] + 100, steps=4)
        page.mouse.up()
        places = [root.evaluate(AT_REST, name) for name in BRANCHES]
        panel = root.get_by_role("complementary").bounding_box()
        assert panel
        seen = [place for place in places if place["x"] < panel["x"]]
        for place in seen:
            page.mouse.move(place["x"], place["y"])
            tooltip = root.locator(".tgw-tooltip").bounding_box()
            assert tooltip
            assert tooltip["x"] + tooltip["width"] <= panel["x"]
        assert len(seen) > 1
        page.mouse.click(places[0]["x"], places[0]["y"], button="right")
        menu = root.locator(".tgw-context")
        expect(menu).to_be_visible()
        front = "menu => { const {x, y, width, height} = menu.getBoundingClientRect();"
        front += (
            " return menu.contains(document.elementFromPoint(x + width / 2, y + height / 2)); }"
        )
        assert menu.evaluate(front)
        shoot(page, "camera_menu_above_panel")
