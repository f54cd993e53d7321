"""A file that is not trusted, with a real mouse: what its ops would do is on the drawing, and runs
after a switch.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

MARK = "Triangle with ! on a box: it does more than compute, and runs only if you trust the file."
SENTENCE = "Op 'log/write' is of type WriteFile, which writes a file"


def write_strange_file(path: Path, target: Path) -> None:
    """A graph as a file; its op "y" needs one that writes the target."""
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, 2.0], name="x")
        with tf.name_scope("log"):
            text = tf.strings.lower("HELLO", name="text")
            # As a constant it would be drawn on the box.
            name = tf.identity(str(target), name="name")
            written = tf.io.write_file(name, text, name="write")
        with tf.control_dependencies([written]):
            tf.multiply(x, 3.0, name="y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


def values_of(widget: Widget, name: str) -> None:
    """Click an op, and the button that runs it."""
    widget.click(name)
    inspector = widget.root.locator(".tgw-inspector")
    expect(inspector).to_have_attribute("data-name", name)
    inspector.get_by_role("button", name="Values", exact=True).click()


def points_at_corner(widget: Widget, name: str) -> None:
    """Move the mouse to the lower left corner of an item."""
    spot = widget.root.evaluate(AT_REST, name)
    widget.page.mouse.move(
        spot["x"] - spot["width"] / 2 + 1, spot["y"] + spot["height"] / 2 - 1, steps=3
    )


def test_an_op_that_writes_a_file_is_marked_and_runs_once_the_user_trusts_the_file(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 1600, "height": 1000})
    target = tmp_path / "written"
    write_strange_file(jupyter_server.root / "strange.pb", target)
    cells = [
        "import os, tfgraphwidget as tgw\neditor = tgw.edit(os.path.abspath('strange.pb'))",
        "editor.view.collapse()\neditor.view.widget.height = 640\neditor",
    ]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "trust.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    bar, tooltip = root.locator(".tgw-warnings"), root.locator(".tgw-tooltip")
    # A file is called by its name, so that what is said of it has the width.
    path = root.get_by_role("navigation", name="Current graph")
    expect(path).to_have_text("strange.pb")
    expect(path.locator("[title]")).to_have_attribute(
        "title", str(jupyter_server.root / "strange.pb")
    )
    switch = bar.get_by_role("switch", name="Trust this file")
    box, legend = bar.bounding_box(), root.locator(".tgw-legend").bounding_box()
    assert box
    assert legend
    assert box["width"] > 400
    assert box["y"] + box["height"] <= legend["y"]
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(switch).to_have_accessible_description(
        "Ops of this file may write files (1 op), so they do not run. Turn this on only if you "
        "know where the file comes from; it stays on."
    )

    # The sign is on the closed scope, and on the op once that is open; pointing says what it means.
    points_at_corner(widget, "log")
    expect(tooltip).to_contain_text(MARK)
    expect(tooltip).to_contain_text("writes files")
    shoot(root, "trust_closed")
    widget.click("log", double=True)
    widget.settled()
    points_at_corner(widget, "log/write")
    expect(tooltip).to_contain_text(MARK)
    points_at_corner(widget, "y")
    expect(tooltip).to_contain_text("y")
    expect(tooltip).not_to_contain_text(MARK)
    widget.click("log/write")
    facts = root.locator(".tgw-facts").first
    expect(facts).to_contain_text(f"{SENTENCE}.")
    expect(facts).to_contain_text("only if you trust the file")
    shoot(root, "trust_marked_light")
    set_theme(page, dark=True)
    shoot(root, "trust_marked_dark")

    # The warnings can be put away; a refusal names the switch, and has it beside the sentence.
    bar.get_by_role("button", name="Dismiss the warnings").click()
    expect(switch).not_to_be_attached()
    values_of(widget, "y")
    expect(widget.status).to_contain_text(SENTENCE)
    expect(widget.status).to_contain_text(
        "nothing was run; if you trust it, turn on 'Trust this file'."
    )
    widget.settled("refused")
    shoot(root, "trust_refused_dark")
    set_theme(page, dark=False)
    shoot(root, "trust_refused_light")
    assert not target.exists()

    widget.status.get_by_role("switch", name="Trust this file").click()
    expect(widget.status).to_contain_text(
        "This file is trusted now: its ops run, whatever they do."
    )
    expect(root.get_by_role("switch", name="Trust this file")).not_to_be_attached()
    assert notebook.kernel_eval("editor.source.trusted") is True
    assert not target.exists()  # trust runs nothing by itself
    widget.settled()
    points_at_corner(widget, "log/write")
    expect(tooltip).to_contain_text("log/write")
    expect(tooltip).not_to_contain_text(MARK)

    values_of(widget, "y")
    expect(widget.status).to_contain_text("y:0: float32 2")
    assert target.read_text() == "hello"
    shoot(root, "trust_given_light")


def test_the_check_of_a_graph_lists_what_does_not_run_and_has_the_switch_for_keys(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 1600, "height": 1000})
    write_strange_file(jupyter_server.root / "checked.pb", tmp_path / "written")
    cells = ["import tfgraphwidget as tgw\neditor = tgw.edit('checked.pb')\neditor"]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "trust_check.ipynb", cells)
    )
    root = notebook.run_cell(0).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    Widget(notebook, root)
    root.get_by_role("button", name="Check the graph", exact=True).click()
    findings = root.get_by_role("list", name="Findings")
    expect(findings.locator("[data-code=untrusted]")).to_have_count(1)
    expect(findings).to_contain_text("it is not run: if you trust it, turn on 'Trust this file'.")
    panel_switch = root.locator(".tgw-panel").get_by_role("switch", name="Trust this file")
    shoot(root, "trust_checked_light")
    panel_switch.focus()
    page.keyboard.press("Space")
    expect(findings.locator("[data-code=untrusted]")).to_have_count(0)
    expect(root.get_by_role("switch", name="Trust this file")).not_to_be_attached()
    assert notebook.kernel_eval("editor.source.trusted") is True
