"""How the drawing is looked at, with a real mouse: colours, boxes put elsewhere, direction,
pictures as files.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import shoot
from tests.browser.server import JupyterServer
from tests.browser.test_widget import shown

pytestmark = pytest.mark.one_page


@pytest.mark.slow
def test_colours_have_a_legend_and_words(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "colours")
    root = widget.root
    ways = root.get_by_role("combobox", name="Color by")
    legend = root.get_by_role("region", name="Colors")
    for way in ("type", "dtype", "parameters", "FLOPs"):
        ways.select_option(way)
        widget.settled()
        assert widget.notebook.kernel_eval(
            "editor._core.paint(editor.view.scene()).tint.any().item()"
        )
        shoot(root, f"colour_{way}")
    expect(legend).to_contain_text("batch = 1")
    ways.select_option("type")
    expect(legend).to_contain_text("MatMul")
    expect(legend).to_contain_text("3 ops")
    ways.select_option("")
    widget.settled()
    expect(legend).to_contain_text("activation")
    assert not widget.notebook.kernel_eval(
        "editor._core.paint(editor.view.scene()).tint.any().item()"
    )


@pytest.mark.slow
def test_a_box_that_is_dragged_stays_there(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "pinning")
    root, mouse = widget.root, page.mouse
    x, y = widget.place("other")
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 60, y + 90, steps=6)
    shoot(root, "dragged")
    mouse.up()
    widget.settled()
    assert widget.notebook.kernel_eval("list(editor._core.view.pinned)") == ["other"]
    shoot(root, "pinned")
    widget_zoom = widget.number("zoom")
    # Where it is relative to what nobody moved stays, over a reload of the page too.
    apart = [
        there - here
        for there, here in zip(widget.place("other"), widget.place("aside"), strict=True)
    ]
    page.keyboard.press("Control+s")
    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)
    page.reload()
    root = page.locator(".tfgraphwidget")
    root.wait_for(timeout=60_000)
    again = Widget(widget.notebook, root)
    zoom = again.number("zoom") / widget_zoom
    now = [
        there - here for there, here in zip(again.place("other"), again.place("aside"), strict=True)
    ]
    assert now == pytest.approx([zoom * part for part in apart], abs=3)


@pytest.mark.slow
def test_the_drawing_turns_and_control_edges_can_be_left_out(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "turning")
    below = widget.place("y")
    assert below[1] > widget.place("x")[1]
    widget.root.focus()
    page.keyboard.press("D")
    widget.settled()
    assert widget.place("y")[0] > widget.place("x")[0]
    assert widget.notebook.kernel_eval("editor.view.direction") == "right"
    shoot(widget.root, "to_the_right")


@pytest.mark.slow
def test_a_picture_is_downloaded(page: Page, jupyter_server: JupyterServer, tmp_path: Path) -> None:
    widget = shown(page, jupyter_server, "picture")
    for kind, start in (("SVG", b"<?xml"), ("PNG", b"\x89PNG"), ("PDF", b"%PDF")):
        widget.root.get_by_role("button", name="Export", exact=True).click()
        widget.root.get_by_role("menuitem", name=f"Picture, {kind}").click()
        with page.expect_download() as download:
            widget.root.get_by_role("form").get_by_role("button", name="Download").click()
        path = tmp_path / "picture"
        download.value.save_as(path)
        assert download.value.suggested_filename.endswith(kind.lower())
        assert path.read_bytes().startswith(start)
