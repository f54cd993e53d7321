"""The five models that the drawing is judged by, in a real JupyterLab: legible at first, all of it
once opened.

The pictures are left in artifacts/: look at each one after a change to the layout, the colours or
the canvas.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import OpenNotebook, open_notebook, set_theme, shoot, write_notebook
from tests.browser.letters import check_texts, record_texts
from tests.browser.server import JupyterServer
from tests.models import NAMES, written
from tests.odd import GRAPHS, IMAGE

pytestmark = pytest.mark.one_page

WINDOW = {"width": 1600, "height": 900}
LEGIBLE = 0.7  # of the nominal size: letters of 8 pixels
NEAREST = 1.3


def opened(page: Page, server: JupyterServer, name: str, path: Path) -> Widget:
    """The widget of a file, as wide as the window."""
    page.set_viewport_size(WINDOW)
    show = f"editor = tgw.edit({str(path)!r})\neditor.view.widget.height = 790\neditor"
    cells = ["import tfgraphwidget as tgw", show]
    notebook: OpenNotebook = open_notebook(
        page, server, write_notebook(server, f"{name}.ipynb", cells)
    )
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    expect(root).to_be_visible()
    widget = Widget(notebook, root)
    root.scroll_into_view_if_needed()
    return widget


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_legible_at_first_and_can_be_opened(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path, name: str
) -> None:
    widget = opened(page, jupyter_server, f"model_{name}", written(name, tmp_path))
    width, height = widget.notebook.kernel_eval(
        "[float(v) for drawing in editor.view.widget._pane._handler._drawings.values() for v in "
        "drawing.scene.box[0, 2:]]"
    )
    canvas = widget.root.locator("canvas").first.bounding_box()
    assert canvas
    zoom = widget.number("zoom")
    assert zoom >= LEGIBLE
    assert width * zoom <= canvas["width"]
    assert height * zoom <= canvas["height"]
    shoot(widget.root, f"model_{name}_1_default")
    set_theme(page)
    widget.settled()
    shoot(widget.root, f"model_{name}_2_default_dark")
    widget.root.focus()
    page.keyboard.press("Shift+E")
    expect(widget.root).not_to_have_attribute(
        "data-items", widget.root.get_attribute("data-items") or ""
    )
    widget.settled()
    page.keyboard.press("f")
    widget.settled()
    shoot(widget.root, f"model_{name}_3_opened_dark")
    record_texts(page)
    set_theme(page, dark=False)
    widget.settled()
    shoot(widget.root, f"model_{name}_4_opened")
    assert widget.number("items") > widget.notebook.kernel_eval("len(editor._core.index)") / 2
    check_letters(widget)


def check_letters(widget: Widget) -> None:
    """At every zoom no text is below 9 pixels, names have one size each, and no line runs through a
    text.
    """
    page, steps, count = widget.page, 0, 0
    page.emulate_media(reduced_motion="reduce")  # one step of the zoom is one drawing
    while widget.number("zoom") < NEAREST:
        before = widget.root.get_attribute("data-zoom") or ""
        widget.root.focus()
        page.keyboard.press("+")
        expect(widget.root).not_to_have_attribute("data-zoom", before)
        widget.settled()
        steps, count = steps + 1, count + len(check_texts(widget.root, widget.number("zoom")))
    assert steps >= 5
    assert count > 50


@pytest.mark.slow
def test_what_no_viewer_likes_is_drawn_and_runs_nothing(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path
) -> None:
    said: list[str] = []

    def refuse(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    cells = ["import tfgraphwidget as tgw"]
    # A file without a graph is refused.
    graphs = {name: make for name, make in GRAPHS.items() if name != "nothing"}
    for number, make in enumerate(graphs.values()):
        path = tmp_path / f"odd_{number}.pb"
        path.write_bytes(make().SerializeToString())
        cells.append(f"editor = tgw.edit({str(path)!r})\neditor.view.expand()\neditor")
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "odd.ipynb", cells)
    )
    notebook.run_cell(0)
    for number, name in enumerate(graphs, 1):
        root = notebook.run_cell(number).locator(".tfgraphwidget")
        root.scroll_into_view_if_needed()
        Widget(notebook, root)
        shoot(root, f"odd_{number:02}_{name.replace(' ', '_')}")
        if name == "markup":
            expect(root.locator(f'[role=treeitem][data-name="{IMAGE}"]').first).to_contain_text(
                IMAGE
            )
            assert root.locator("img, script").count() == 0
    assert said == []
