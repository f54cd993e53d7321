"""Without a mouse: walking, marking and cloning by keyboard; the help sheet; narrow views; views
that stay in step.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

# Three scopes one after another, none like another: nothing is folded, nothing pulled aside.
GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw
v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 4], name="x")
    other = v1.placeholder(tf.float32, [], name="other")
    with tf.name_scope("one"):
        h = tf.nn.relu(tf.identity(x, name="in"), name="out")
    with tf.name_scope("two"):
        h = tf.tanh(tf.square(tf.identity(h, name="in"), name="mid"), name="out")
    with tf.name_scope("three"):
        h = tf.sigmoid(tf.negative(tf.exp(h, name="in"), name="mid"), name="out")
    y = tf.identity(h, name="y")
    aside = tf.square(other, name="aside")
"""
SHOW = "editor = tgw.edit(graph)\neditor"

OVERFLOWING = """root => [...root.querySelectorAll('*')].filter(
    each => each.clientWidth > 0 && !each.closest('.tgw-outline, .tgw-spoken, svg')
        && each.getBoundingClientRect().right > root.getBoundingClientRect().right + 1
).map(each => each.className || each.tagName)"""


def shown(page: Page, server: JupyterServer, name: str, *cells: str) -> Widget:
    """A new notebook with the small graph, all of its scopes closed."""
    notebook = open_notebook(
        page, server, write_notebook(server, f"{name}.ipynb", [GRAPH, SHOW, *cells])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    notebook.kernel_eval("0", before="editor.view.collapse('one', 'two', 'three')")
    expect(root.locator("[role=treeitem][data-name='two/out']")).to_have_count(0)
    widget.settled()
    return widget


def spoken(widget: Widget) -> Locator:
    """What a screen reader is told of a walk."""
    return widget.root.locator(".tgw-spoken")


def walk(widget: Widget, *keys: str) -> None:
    """Press keys on the drawing, one after another."""
    for key in keys:
        widget.page.keyboard.press(key)


def wide(widget: Widget, width: int) -> None:
    """Make the widget this wide."""
    widget.root.evaluate("(root, width) => { root.style.width = `${width}px`; }", width)
    widget.settled()


@pytest.mark.slow
def test_walk_mark_and_clone_without_a_mouse(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "keyboard")
    notebook, root = widget.notebook, widget.root
    root.focus()
    page.keyboard.press("/")
    page.keyboard.type("x")
    expect(root.get_by_role("option").first).to_have_attribute("data-name", "x")
    page.keyboard.press("Enter")
    widget.settled()
    expect(spoken(widget)).to_contain_text("x, Placeholder")
    page.keyboard.press("i")
    widget.settled()
    assert notebook.kernel_eval("editor.inputs") == ["x"]

    # Along the lines, in and out of scopes.
    walk(widget, "ArrowDown")
    expect(spoken(widget)).to_contain_text("one, ")
    walk(widget, "ArrowDown")
    expect(spoken(widget)).to_contain_text("two, ")
    walk(widget, "Enter")
    widget.settled()
    assert "two" in notebook.kernel_eval("sorted(editor.view.expanded)")
    walk(widget, "PageDown")
    expect(spoken(widget)).to_contain_text("in two")
    walk(widget, "PageUp", "ArrowDown")
    expect(spoken(widget)).to_contain_text(re.compile(r"in, Identity, .*in two"))
    walk(widget, "ArrowDown", "ArrowDown", "ArrowDown")
    expect(spoken(widget)).to_contain_text("three, ")
    walk(widget, "ArrowUp")
    expect(spoken(widget)).to_contain_text(re.compile(r"out, Tanh, .*in two"))
    walk(widget, "o")
    widget.settled()
    assert notebook.kernel_eval("editor.outputs") == ["two/out"]
    x, y = widget.place("two/out")
    box = root.locator("canvas").first.bounding_box()
    assert box
    assert box["x"] < x < box["x"] + box["width"]
    assert box["y"] < y < box["y"] + box["height"]
    shoot(page, "keyboard-walked")

    # Tab goes on to the toolbar or the panel; the form is filled in and sent by keys alone.
    ops = widget.number("ops")
    scope = root.get_by_role("textbox", name="scope")
    for _ in range(60):
        page.keyboard.press("Tab")
        if scope.evaluate("field => field === document.activeElement"):
            break
    page.keyboard.press("Control+a")
    page.keyboard.type("typed")
    page.keyboard.press("Enter")
    expect(root).not_to_have_attribute("data-ops", f"{ops:.0f}")
    widget.settled()
    assert "typed/two/out" in notebook.kernel_eval("list(editor._core.index.names)")
    root.focus()
    page.keyboard.press("Control+z")
    expect(root).to_have_attribute("data-ops", f"{ops:.0f}")


def test_the_help_sheet_holds_the_focus_and_gives_it_back(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "help")
    root = widget.root
    root.focus()
    page.keyboard.press("?")
    sheet = root.get_by_role("dialog", name="Keys and gestures")
    expect(sheet).to_be_visible()
    expect(sheet).to_contain_text("Go to a consumer")
    expect(sheet.get_by_role("button", name="Close")).to_be_focused()
    shoot(root, "help")
    for _ in range(3):
        page.keyboard.press("Tab")
        assert sheet.evaluate("sheet => sheet.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(root).to_be_focused()


@pytest.mark.slow
def test_the_toolbar_is_one_stop_and_its_menu_says_what_is_on(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "bar")
    notebook, root = widget.notebook, widget.root
    bar = root.get_by_role("toolbar", name="Graph editor")
    stops = """bar => [...bar.querySelectorAll("button")].filter(
        each => each.tabIndex === 0 && !each.closest(".tgw-search")
    ).length"""
    assert bar.evaluate(stops) == 1
    bar.get_by_role("button", name="Look").focus()
    page.keyboard.press("ArrowRight")
    expect(bar.get_by_role("button", name="Input", exact=True)).to_be_focused()
    assert bar.evaluate(stops) == 1
    bar.get_by_role("button", name="View", exact=True).focus()
    page.keyboard.press("Enter")
    menu = root.get_by_role("menu", name=re.compile("View options"))
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    expect(menu.get_by_role("menuitemcheckbox", name="Control edges")).to_have_attribute(
        "aria-checked", "true"
    )
    shoot(page, "view-menu")
    page.keyboard.press("f")
    expect(menu.get_by_role("menuitemcheckbox", name="Flow to the right")).to_be_focused()
    page.keyboard.press("Enter")
    expect(menu).to_be_hidden()
    widget.settled()
    assert notebook.kernel_eval("editor.view.direction") == "right"
    root.focus()
    page.keyboard.press("Shift+E")
    expect(root.locator("[role=treeitem][data-name='one/out']")).to_have_count(1)
    page.keyboard.press("Shift+C")
    expect(root.locator("[role=treeitem][data-name='one/out']")).to_have_count(0)
    assert notebook.kernel_eval("sorted(editor.view.expanded)") == []
    page.keyboard.press("Shift+D")
    expect(root).to_have_attribute("data-status", "ready")
    assert notebook.kernel_eval("editor.view.direction") == "down"


def test_the_outline_is_typed_into_and_shows_all(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "typed")
    tree = widget.root.get_by_role("tree")
    tree.locator("[role=treeitem]").first.focus()
    page.keyboard.type("tw")
    entry = tree.locator("[role=treeitem][data-name='two']")
    expect(entry).to_be_focused()
    for attribute in (
        "aria-level",
        "aria-posinset",
        "aria-setsize",
        "aria-expanded",
        "aria-selected",
    ):
        expect(entry).to_have_attribute(attribute, re.compile(r"\w+"))
    shoot(widget.root, "outline")
    # As a screen reader gets them; and nothing lies over the first of them.
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    names = [node["name"]["value"] for node in nodes if node["role"].get("value") == "treeitem"]
    assert {"x Placeholder, 1 edge", "two 3 ops, 2 edges"} <= {*names}
    assert not any(sign in name for name in names for sign in "▸▾")
    assert tree.evaluate("""tree => {
        const { left, top } = tree.getBoundingClientRect();
        return tree.contains(document.elementFromPoint(left + 4, top + 4));
    }""")
    page.keyboard.press("Space")
    widget.settled()
    assert widget.notebook.kernel_eval("len(editor.selection)") > 0


INTERACTIVE = {
    *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "option", "radio"),
    *("searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "tree", "treeitem"),
}
"""Roles of what a screen reader stops at."""


def test_a_screen_reader_is_told_what_each_control_is(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "screen-reader")
    widget.click("two")
    session = page.context.new_cdp_session(page)
    nameless: set[str] = set()
    for tab in ("Model", "Selection", "Op", "History", "Costs"):
        widget.tab(tab)
        widget.settled()
        session.send("DOM.getDocument", {"depth": -1, "pierce": True})
        for node in session.send("Accessibility.getFullAXTree")["nodes"]:
            role = node.get("role", {}).get("value")
            if role not in INTERACTIVE or node.get("name", {}).get("value"):
                continue
            found = session.send("DOM.describeNode", {"backendNodeId": node["backendDOMNodeId"]})
            nameless.add(f"{tab}: {found['node']['attributes']}")
    assert not {each for each in nameless if "cm-content" not in each}  # JupyterLab's own cells


def test_the_first_arrow_key_the_ground_of_a_scope_and_escape(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "ground")
    root = widget.root
    camera = root.evaluate("root => root.tfgraphwidget.screenPosition('x')")
    root.focus()
    page.keyboard.press("ArrowDown")
    expect(spoken(widget)).to_have_text("other, Placeholder, 1 edge")
    assert root.evaluate("root => root.tfgraphwidget.screenPosition('x')") == camera

    # Beside the line between two ops of an open scope, a double click closes nothing.
    widget.click("two", double=True)
    expect(root.locator("[role=treeitem][data-name='two/out']")).to_have_count(1)
    widget.settled()
    (x, above), (_, below) = widget.place("two/in"), widget.place("two/mid")
    page.mouse.dblclick(x + 20, (above + below) / 2)
    widget.settled()
    assert widget.notebook.kernel_eval("sorted(editor.view.expanded)") == ["two"]

    # What Upstream selects is counted, and Escape clears it.
    widget.click("two/out", "Control")
    page.keyboard.press("u")
    expect(widget.status).to_contain_text("6 ops selected · ")
    shoot(root, "upstream-counted")
    page.keyboard.press("Escape")
    expect(root).to_have_attribute("data-selected-ops", "0")
    expect(widget.status).not_to_contain_text("selected")
    assert widget.notebook.kernel_eval("editor.selection") is None


@pytest.mark.slow
def test_a_narrow_view_has_a_drawer_and_overflows_nowhere(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "narrow")
    root = widget.root
    panel = root.get_by_role("complementary")
    expect(panel).to_be_visible()
    for width in (320, 480, 800):
        wide(widget, width)
        expect(panel).to_be_visible() if width >= 640 else expect(panel).to_be_hidden()
        assert root.evaluate(OVERFLOWING) == [], width
        shoot(root, f"wide-{width}")
    wide(widget, 320)
    root.get_by_role("button", name="Show or hide the side panel").click()
    expect(panel).to_be_visible()
    assert root.evaluate(OVERFLOWING) == []
    shoot(root, "wide-320-drawer")
    root.get_by_role("button", name="Show or hide the side panel").click()
    root.get_by_role("button", name="View", exact=True).click()
    menu = root.get_by_role("menu", name=re.compile("View options"))
    expect(menu.get_by_role("menuitemcheckbox", name="Lasso")).to_be_visible()
    assert root.evaluate(OVERFLOWING) == []
    shoot(root, "wide-320-menu")
    page.keyboard.press("Escape")
    expect(root.get_by_role("button", name="View", exact=True)).to_be_focused()


@pytest.mark.slow
def test_the_clone_button_is_in_view_at_1280_by_800(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    widget = shown(page, jupyter_server, "fold")
    root = widget.root
    widget.click("x", "Shift")
    widget.click("y", "Alt")
    widget.settled()
    clone = root.get_by_role("button", name="Clone", exact=True)
    expect(clone).to_be_in_viewport()
    inside = clone.bounding_box()
    around = root.locator(".tgw-panel").bounding_box()
    assert inside
    assert around
    assert inside["y"] + inside["height"] <= around["y"] + around["height"]
    shoot(page, "clone-in-view")
    heading = root.get_by_role("button", name="Selection section")
    heading.click()
    expect(heading).to_have_attribute("aria-expanded", "false")
    expect(root.locator(".tgw-selection > .tgw-count")).to_be_hidden()


@pytest.mark.slow
def test_two_views_stay_in_step_each_with_its_camera(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "two_views", "editor")
    notebook, first = widget.notebook, widget.root
    second = Widget(notebook, notebook.run_cell(2).locator(".tfgraphwidget"))
    second.root.scroll_into_view_if_needed()
    second.settled()
    inner = "[role=treeitem][data-name='two/out']"
    expect(first.locator(inner)).to_have_count(0)

    second.click("two")
    page.keyboard.press("Enter")
    expect(second.root.locator(inner)).to_have_count(1)
    first.scroll_into_view_if_needed()
    expect(first.locator(inner)).to_have_count(1)
    zoom = widget.number("zoom")
    second.root.scroll_into_view_if_needed()
    second.root.focus()
    for _ in range(3):
        page.keyboard.press("+")
    assert second.number("zoom") > widget.number("zoom") == zoom

    # What is hidden and the direction come through as well.
    page.keyboard.press("f")
    second.settled()
    second.click("other")
    page.keyboard.press("h")
    for each in (second.root, first):
        each.scroll_into_view_if_needed()
        expect(each.locator("[role=treeitem][data-name='other']")).to_have_count(0)
    first.focus()
    page.keyboard.press("Shift+D")
    widget.settled()
    assert notebook.kernel_eval("editor.view.direction") == "right"
    second.root.scroll_into_view_if_needed()
    expect(second.root).to_have_attribute(
        "data-revision", first.get_attribute("data-revision") or ""
    )
    second.root.get_by_role("button", name="View", exact=True).click()
    turned = second.root.get_by_role("menuitemcheckbox", name="Flow to the right")
    expect(turned).to_have_attribute("aria-checked", "true")


@pytest.mark.slow
def test_high_contrast_and_dark(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "contrast")
    widget.click("x", "Shift")
    widget.click("y", "Alt")
    widget.settled()
    shoot(page, "theme-light")
    set_theme(page, dark=True)
    widget.settled()
    shoot(page, "theme-dark")
    name = "JupyterLab Dark High Contrast"
    page.evaluate(
        "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name
    )
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", name)
    expect(page.locator("#jupyterlab-splash")).not_to_be_attached()
    widget.settled()
    shoot(page, "theme-high-contrast")
    page.emulate_media(forced_colors="active")
    widget.settled()
    shoot(page, "theme-forced-colours")
