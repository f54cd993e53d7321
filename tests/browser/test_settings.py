"""JupyterLab's settings, each by what it changes on the page: colours, direction, animation,
software canvas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_panel import GRAPH, open_panel

pytestmark = pytest.mark.one_page

SET = """async ([key, value]) => {
    const app = window.jupyterapp;
    const token = [...app.pluginRegistry._services.keys()]
        .find((one) => one.name.endsWith(':ISettingRegistry'));
    const registry = await app.resolveRequiredService(token);
    await (value === null ? registry.remove('tfgraphwidget:plugin', key)
                          : registry.set('tfgraphwidget:plugin', key, value));
}"""
# The ground of the drawing, as red, green and blue.
GROUND = """(root, wanted) => {
    const canvas = root.querySelector('.tgw-stage canvas');
    const [red, green, blue] = canvas.getContext('2d')
        .getImageData(3, canvas.height - 3, 1, 1).data;
    return `${red} ${green} ${blue}` === wanted;
}"""
# The colours of what the empty search box says, and of its icon.
HINT = """(root) => [
    getComputedStyle(root.querySelector('.tgw-search-input'), '::placeholder').color,
    getComputedStyle(root.querySelector('.tgw-search-icon')).color]"""
WHITE, BLACK, THEME_DARK = "255 255 255", "17 20 24", "33 33 33"
# Where on the canvas an item is, frame by frame, until SEEN; the notebook around it may scroll
# meanwhile.
WATCH = """(root, name) => {
    root.places = new Set();
    const look = () => {
        const place = root.tfgraphwidget.screenPosition(name);
        const {left, top} = root.querySelector('.tgw-stage canvas').getBoundingClientRect();
        if (place) root.places.add(`${(place.x - left).toFixed(1)} ${(place.y - top).toFixed(1)}`);
        root.watching = requestAnimationFrame(look);
    };
    look();
}"""
SEEN = "(root) => { cancelAnimationFrame(root.watching); return root.places.size; }"
SOFTWARE = """(root) => root.querySelector('.tgw-stage canvas').getContext('2d')
    .getContextAttributes().willReadFrequently"""


class Lab:
    """A notebook whose first cell makes a graph, and whose second shows another."""

    def __init__(self, page: Page, server: JupyterServer) -> None:
        page.set_viewport_size({"width": 1600, "height": 900})
        shown = (
            "import tfgraphwidget as tgw\nother = tf.Graph()\nwith other.as_default():\n"
            + "".join(f"    {line}\n" for line in GRAPH.splitlines()[3:])
        )
        cells = [GRAPH, f"{shown}editor = tgw.edit(other)\neditor", "editor"]
        self.page, self.notebook = (
            page,
            open_notebook(page, server, write_notebook(server, "set.ipynb", cells)),
        )
        self.notebook.run_cell(0)

    def set(self, key: str, value: Any) -> None:
        """What the settings editor does; None is the default."""
        self.page.evaluate(SET, [key, value])

    def show(self, cell: int) -> Widget:
        """The widget of a cell that is run."""
        root = self.notebook.run_cell(cell).locator(".tfgraphwidget")
        root.scroll_into_view_if_needed()
        return Widget(self.notebook, root)


@pytest.fixture
def lab(page: Page, jupyter_server: JupyterServer) -> Iterator[Lab]:
    """JupyterLab with a notebook; the settings are as they were in the end."""
    lab = Lab(page, jupyter_server)
    yield lab
    for key in ("colours", "direction", "animation", "softwareCanvas", "wheel"):
        lab.set(key, None)


def has_ground(widget: Widget, colour: str) -> None:
    """Wait until the drawing's ground has this colour."""
    handle = widget.root.element_handle()
    widget.page.wait_for_function(
        "([root, wanted]) => (" + GROUND + ")(root, wanted)", arg=[handle, colour]
    )
    expect(widget.root.locator("canvas").first).to_be_visible()


@pytest.mark.slow
def test_colours_follow_the_theme_or_stay(lab: Lab) -> None:
    widget = lab.show(1)
    has_ground(widget, WHITE)
    lab.set("colours", "dark")
    has_ground(widget, BLACK)
    hint, icon = widget.root.evaluate(HINT)
    assert hint == icon  # not the theme's, which is dark on dark
    shoot(lab.page, "settings_1_dark")
    lab.set("colours", "theme")
    has_ground(widget, WHITE)
    set_theme(lab.page)
    has_ground(widget, THEME_DARK)
    lab.set("colours", "light")
    has_ground(widget, WHITE)
    shoot(lab.page, "settings_2_light")
    set_theme(lab.page, dark=False)


@pytest.mark.slow
def test_direction_is_for_panels_and_cells_flow_as_their_code_says(lab: Lab) -> None:
    lab.set("direction", "right")
    widget = lab.show(1)
    (x, above), (y, below) = widget.place("x"), widget.place("dense/y")
    assert below > above
    assert abs(y - x) < below - above
    lab.notebook.kernel_eval("0", "del editor, other")
    panel = open_panel(lab.notebook).widget()
    (x, above), (y, below) = panel.place("x"), panel.place("dense/y")
    assert y > x
    assert abs(below - above) < y - x
    shoot(lab.page, "settings_3_direction")


@pytest.mark.slow
def test_the_wheel_zooms_a_cell_that_has_not_the_focus_if_it_is_set_so_and_panels_anyway(
    lab: Lab,
) -> None:
    def turn(widget: Widget) -> None:
        zoom = widget.root.get_attribute("data-zoom") or ""
        lab.page.mouse.move(*widget.center())
        lab.page.mouse.wheel(0, -100)
        expect(widget.root).not_to_have_attribute("data-zoom", zoom)

    lab.set("wheel", "always")
    turn(lab.show(1))
    lab.set("wheel", None)
    lab.notebook.kernel_eval("0", "del editor, other")
    panel = open_panel(lab.notebook).widget()
    lab.notebook.cell(0).locator(".cm-content").click()
    turn(panel)


def places_while_opening(widget: Widget) -> int:
    """In how many places an op is seen while a scope closes or opens."""
    widget.root.evaluate(WATCH, "x")
    widget.click("dense", double=True)
    widget.place("x")  # nothing glides any more
    return int(widget.root.evaluate(SEEN))


@pytest.mark.slow
def test_animation_and_the_software_canvas(lab: Lab) -> None:
    lab.set("animation", False)
    widget = lab.show(1)
    assert widget.root.evaluate(SOFTWARE) is True
    assert max(places_while_opening(widget) for _ in range(2)) == 2  # before and after
    lab.set("animation", True)
    assert max(places_while_opening(widget) for _ in range(4)) > 2
    lab.set("softwareCanvas", False)
    assert widget.root.evaluate(SOFTWARE) is True  # it is for views that are opened from now on
    assert lab.show(2).root.evaluate(SOFTWARE) is False
