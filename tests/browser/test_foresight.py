"""A scope that the pointer rests on is known before it is opened; what is shown at once is what the
kernel draws.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import shoot
from tests.browser.server import JupyterServer
from tests.browser.test_widget import shown

pytestmark = pytest.mark.one_page

NOTED = """
said = []
send = editor.view.widget.send
def noted(content, buffers=None):
    said.append(content["type"])
    send(content, buffers)
editor.view.widget.send = noted
"""
ALIKE = "editor.view.collapse(); editor.view.expand('one … three')"
INSIDE = ("two/product", "two/out")


def apart(widget: Widget) -> tuple[float, float]:
    """How far two ops inside are from each other on the page, in pixels at zoom 1."""
    (x, y), (to_x, to_y) = map(widget.place, INSIDE)
    zoom = widget.number("zoom")
    return (to_x - x) / zoom, (to_y - y) / zoom


def caught_up(widget: Widget) -> None:
    """Wait until the view shows all that the kernel knows."""
    expect(widget.root).to_have_attribute(
        "data-revision", str(widget.notebook.kernel_eval("editor.view.widget.revision"))
    )
    widget.settled()


def resting(page: Page, server: JupyterServer, name: str) -> Widget:
    """The pointer is on the closed scope "two"; the kernel has said what opening it shows, the page
    has heard it.
    """
    widget = shown(page, server, name)
    notebook = widget.notebook
    notebook.kernel_eval("0", before=ALIKE)
    caught_up(widget)
    notebook.kernel_eval("0", before=NOTED)
    page.mouse.move(*widget.place("two"))
    for _ in range(300):
        if "next_scene" in notebook.kernel_eval("said"):
            break
        page.wait_for_timeout(100)
    # The page has heard it when it has heard what was said after that.
    notebook.kernel_eval("0", before="editor.view.widget.height += 1")
    expect(widget.root).to_have_css("height", "481px")
    # A kernel on a loaded machine says meanwhile that it works.
    assert [kind for kind in notebook.kernel_eval("said") if kind != "working"] == ["next_scene"]
    return widget


@pytest.mark.slow
def test_what_the_pointer_rests_on_is_opened_at_once_and_as_the_kernel_draws_it(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = resting(page, jupyter_server, "foresight")
    notebook = widget.notebook
    assert notebook.kernel_eval("sorted(editor.view.expanded)") == ["one … three"]

    widget.click("two", double=True)
    widget.settled()
    assert notebook.kernel_eval("sorted(editor.view.expanded)") == ["one … three", "two"]
    said = notebook.kernel_eval("said")
    assert "selection_reply" in said
    assert "scene_reply" not in said
    assert widget.number("items") == notebook.kernel_eval("len(editor.view.scene())")
    for name in INSIDE:  # the tree for screen readers, too
        expect(widget.root.locator(f"[role=treeitem][data-name='{name}']")).to_have_count(1)
    seen = apart(widget)
    shoot(widget.root, "foresight")
    # What a view that has it from the kernel shows.
    notebook.kernel_eval("0", before=f"{ALIKE}; editor.view.expand('two')")
    caught_up(widget)
    assert apart(widget) == pytest.approx(seen, abs=2)


@pytest.mark.slow
def test_what_another_cell_hid_meanwhile_is_not_shown(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = resting(page, jupyter_server, "foresight_changed")
    notebook = widget.notebook
    # No revision is told: as if the word of it were still on its way.
    notebook.kernel_eval("0", before="editor._core.view.hide(('two/product',))")
    widget.click("two", double=True)
    widget.settled()
    assert widget.root.evaluate("root => root.tfgraphwidget.screenPosition('two/product')") is None
    assert widget.root.evaluate("root => root.tfgraphwidget.screenPosition('two/out')")
    assert widget.number("items") == notebook.kernel_eval("len(editor.view.scene())")
