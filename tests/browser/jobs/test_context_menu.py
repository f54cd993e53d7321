"""The context menu: right-click an op, a scope, an edge, the selection or the canvas, and choose
what applies to it.
"""

from __future__ import annotations

import pytest
import tensorflow as tf
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.jobs.counted import CLONE, REPLACE, Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.slow import slow

pytestmark = pytest.mark.one_page

GRAPH = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    h = x
    for layer in ("one", "two"):
        with v1.variable_scope(layer):
            w = v1.get_variable("w", [3, 3], initializer=v1.ones_initializer(), use_resource=True)
            h = tf.nn.relu(tf.matmul(h, w, name="product"), name="act")
    y = tf.negative(h, name="y")
    z = tf.identity(y, name="z")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.expand("one")
editor.view.widget.height = 600

def start(source, target):
    "How far to the right of the middle of a box the line to another one begins."
    (drawing,) = editor.view.widget._pane._handler._drawings.values()  # it may be narrow
    scene = drawing.scene
    names = list(scene.names)
    ends = names.index(source), names.index(target)
    line = list(zip(scene.source.tolist(), scene.target.tolist())).index(ends)
    x, _, width, _ = scene.box[ends[0]].tolist()
    return float(scene.route[scene.route_start[line]][0]) - x - width / 2
"""

ALIKE = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for k in range(6):
        with v1.name_scope(f"layer_{k}"):
            h = tf.nn.relu(tf.tanh(h, name="tanh"), name="act")
    tf.negative(h, name="y")
editor = tgw.edit(graph)
editor.view.collapse()
editor.view.widget.height = 600
"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """Two layers in the widget of a notebook's cell, the first of them open."""
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "menu.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def entries(hand: Hand) -> list[str]:
    """What the menu says, without keys."""
    expect(hand.menu).to_have_attribute("aria-busy", "false")
    return hand.menu.locator("[role=menuitem] > span").all_inner_texts()


def test_an_activation_is_replaced_in_three_clicks(hand: Hand) -> None:
    hand.right_click("one/act")
    assert entries(hand) == [
        "Clone …", "Mark as input", "Mark as output", "Bypass", "Replace …", "Insert after …",
        "Rename …", "Move to scope …", "Remove", "Upstream", "Downstream", "Hide", "Copy name",
        "Copy tensor name", "Values", "Find more like this",
    ]  # fmt: skip
    shoot(hand.page, "menu_op_light")
    hand.choose("Replace …")
    field = hand.menu.get_by_role("combobox", name="Op type")
    expect(field).to_be_focused()
    likely = hand.menu.get_by_role("group", name="Likely").get_by_role(
        "button", name="Elu", exact=True
    )
    expect(likely).to_be_visible()
    shoot(hand.page, "menu_form_light")
    hand.click(likely)
    (line,) = hand.lines(1)
    assert line.endswith('editor.replace(what="one/act", by="Elu", remove=True, name="one/Elu")')
    expect(hand.menu).to_be_hidden()
    hand.done(REPLACE)


def test_a_scope_is_cloned_in_two_clicks_and_a_key(hand: Hand) -> None:
    hand.widget.click("two", double=True)  # a small graph is drawn with all scopes open
    hand.widget.settled()
    hand.begin()
    hand.right_click("two")
    assert entries(hand)[:3] == ["Expand", "Expand all inside", "Clone …"]
    assert "Copy tensor name" not in entries(hand)
    hand.choose("Clone …")
    name = hand.root.get_by_role("textbox", name="scope")
    expect(name).to_be_focused()
    hand.press("Enter")
    (line,) = hand.lines(1)
    assert "editor.ops(scope='two')" in line
    assert ".clone(" in line
    hand.done(CLONE)


def test_ops_are_bypassed_marked_and_renamed(hand: Hand) -> None:
    hand.right_click("y")
    hand.choose("Bypass")
    assert hand.lines(1) == ['editor.bypass(what="y")']
    assert hand.clicks == 2

    # Only the last part of a name is edited.
    hand.right_click("one/act")
    hand.choose("Rename …")
    field = hand.menu.get_by_role("textbox", name="Name")
    expect(field).to_have_value("act")
    expect(hand.menu.locator(".tgw-prefix")).to_have_text("one/")
    hand.type("relu")
    hand.press("Enter")
    assert hand.lines(2)[1] == 'editor.rename(old="one/act", new="one/relu")'

    # To another scope it is moved; it is shown there, though the scope was closed.
    hand.widget.click("two", double=True)
    hand.widget.settled()
    assert "two" not in hand.widget.notebook.kernel_eval("list(editor.view.expanded)")
    hand.right_click("z")
    hand.choose("Move to scope …")
    expect(hand.menu.get_by_role("textbox", name="Scope")).to_have_value("")
    hand.type("two")
    hand.press("Enter")
    assert hand.lines(3)[2] == 'editor.rename(old="z", new="two/z")'
    shown, canvas = hand.widget.place("two/z"), hand.root.locator("canvas").first.bounding_box()
    assert canvas
    assert canvas["x"] < shown[0] < canvas["x"] + canvas["width"]
    assert canvas["y"] < shown[1] < canvas["y"] + canvas["height"]
    shoot(hand.page, "menu_moved_light")

    hand.right_click("x")
    assert "Bypass" not in entries(hand)  # nothing comes in
    hand.choose("Mark as input")
    hand.widget.settled()
    hand.right_click("x")
    hand.choose("Unmark as input")
    hand.widget.settled()
    hand.right_click("x")
    hand.choose("Mark as input")
    hand.widget.settled()
    hand.right_click("one/relu")
    hand.choose("Mark as output")
    hand.widget.settled()
    assert hand.widget.notebook.kernel_eval("[editor.inputs, editor.outputs]") == [
        ["x"],
        ["one/relu"],
    ]
    hand.right_click("one/product")
    assert entries(hand)[:2] == ["Clone the selection …", "Clone …"]


@pytest.mark.slow
def test_a_scope_is_moved_and_a_name_that_is_taken_has_a_button_with_a_free_one(hand: Hand) -> None:
    hand.right_click("one/act")
    hand.choose("Move to scope …")
    hand.type("two")
    hand.press("Enter")
    expect(hand.widget.status).to_contain_text("'two/act' is taken in this graph")
    hand.click(hand.widget.status.get_by_role("button", name="Name it 'two/act_1'"))
    assert hand.lines(1) == ['editor.rename(old="one/act", new="two/act_1")']
    # A scope is moved with all in it, to one that comes to be.
    hand.right_click("one")
    hand.choose("Move to scope …")
    hand.type("net")
    hand.press("Enter")
    assert hand.lines(2)[1] == 'editor.rename(old="one/", new="net/one")'
    assert hand.widget.notebook.kernel_eval("'net/one/product' in editor._core.index.ids") is True


@pytest.mark.slow
def test_names_are_copied_and_values_are_shown(hand: Hand) -> None:
    hand.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for entry, text in (("Copy name", "one/act"), ("Copy tensor name", "one/act:0")):
        hand.right_click("one/act")
        hand.choose(entry)
        expect(hand.widget.status).to_contain_text(f"Copied {text}")
        assert hand.page.evaluate("navigator.clipboard.readText()") == text
    # A badge is the op that it represents.
    hand.right_click("one/product/ReadVariableOp")
    expect(hand.menu.locator(".tgw-label")).to_have_text("w 3×3 · ReadVariableOp of product")
    assert {"Clone …", "Rename …", "Upstream", "Downstream", "Copy name", "Values"} <= set(
        entries(hand)
    )
    hand.page.keyboard.press("Escape")
    hand.right_click("one/act")
    hand.choose("Upstream")
    hand.widget.settled()
    assert "x" in hand.widget.notebook.kernel_eval("list(editor.selection.ops)")


@pytest.mark.slow
def test_an_edge_has_a_menu_with_its_tensor(hand: Hand) -> None:
    place = hand.root.evaluate(AT_REST, "one/act")
    edge, tooltip = (
        (place["x"], place["y"] - place["height"] / 2 - 9),
        hand.root.locator(".tgw-tooltip"),
    )
    hand.page.mouse.move(*edge)
    expect(tooltip).to_be_visible()
    hand.click_at(*edge, button="right")
    expect(hand.menu).to_be_visible()
    # The menu is what the user looks at: no tooltip is below it, nor is there one for what the
    # pointer passes.
    expect(tooltip).to_be_hidden()
    hand.page.mouse.move(place["x"] - place["width"] / 2 + 4, place["y"])
    hand.page.mouse.move(place["x"] - place["width"] / 2 + 6, place["y"])
    hand.widget.settled()
    expect(tooltip).to_be_hidden()
    expect(hand.root.locator(".tgw-port")).to_be_hidden()
    assert entries(hand) == [
        "Go to product", "Go to act", "Insert on this edge …", "Copy tensor name", "Values",
    ]  # fmt: skip
    shoot(hand.page, "menu_edge_light")
    hand.choose("Insert on this edge …")
    hand.press("Enter")  # Identity
    (line,) = hand.lines(1)
    assert 'editor.insert(at="one/product:0"' in line
    assert 'only=["one/act"]' in line or 'only="one/act"' in line
    assert hand.clicks == 2

    # Also where it begins, on the stack below a closed scope.
    hand.widget.click("two", double=True)
    hand.widget.settled()
    place = hand.root.evaluate(AT_REST, "two")
    aside = hand.widget.notebook.kernel_eval("start('two', 'y')") * hand.widget.number("zoom")
    hand.click_at(place["x"] + aside, place["y"] + place["height"] / 2 + 3, button="right")
    expect(hand.menu).to_contain_text("Go to y")


@pytest.mark.slow
def test_a_right_click_on_the_port_means_the_line_below_it_and_one_entry_is_the_current_one(
    hand: Hand,
) -> None:
    # The port is where the line begins.
    hand.page.mouse.move(*hand.widget.place("one/product"))
    port = hand.root.locator(".tgw-port")
    expect(port).to_be_visible()
    box = port.bounding_box()
    assert box
    hand.click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, button="right")
    expect(hand.menu.locator(".tgw-label")).to_have_text("product → act")
    items = hand.menu.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    # The pointer and the keys go on from each other.
    items.nth(2).hover()
    expect(items.nth(2)).to_be_focused()
    colors = items.evaluate_all("all => all.map((item) => getComputedStyle(item).backgroundColor)")
    assert colors.count(colors[2]) == 1
    hand.page.keyboard.press("ArrowDown")
    expect(items.nth(3)).to_be_focused()


@pytest.mark.slow
def test_the_selection_and_the_canvas_have_menus(hand: Hand) -> None:
    hand.widget.click("y", "Control")
    hand.widget.settled()
    hand.widget.click("z", "Control")
    hand.widget.settled()
    hand.right_click("y")
    expect(hand.menu.locator(".tgw-label")).to_have_text("2 selected ops")
    assert {"Clone …", "Remove", "Values", "Clear the selection", "Path between the two"} <= set(
        entries(hand)
    )
    hand.choose("Remove")
    assert len(hand.lines(1)) == 1
    assert (
        hand.widget.notebook.kernel_eval("{'y', 'z'} & set(editor._core.index.names) == set()")
        is True
    )

    box = hand.root.locator("canvas").first.bounding_box()
    assert box
    corner = box["x"] + 6, box["y"] + box["height"] / 2
    hand.click_at(*corner, button="right")
    expect(hand.menu).to_be_visible()
    assert entries(hand)[:4] == [
        "Undo",
        "Show the whole graph",
        "Expand all scopes",
        "Collapse all scopes",
    ]
    hand.choose("Undo")
    expect(hand.root.locator(".tgw-step:not(.tgw-ahead)")).to_have_count(1)
    hand.widget.settled()
    set_theme(hand.page, dark=True)
    hand.widget.settled()
    hand.right_click("two")
    shoot(hand.page, "menu_scope_dark")


@pytest.mark.slow
def test_shift_gives_the_menu_of_jupyterlab_and_without_it_ours_replaces_it(hand: Hand) -> None:
    theirs = hand.page.locator(".lm-Menu")
    hand.right_click("y")
    expect(theirs).to_have_count(0)
    hand.page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()
    hand.page.keyboard.down("Shift")
    hand.click_at(*hand.widget.place("y"), button="right")
    hand.page.keyboard.up("Shift")
    expect(theirs.first).to_be_visible()
    expect(theirs).to_contain_text("Delete Cell")
    expect(hand.menu).to_be_hidden()


@pytest.mark.slow
def test_all_parts_of_the_widget_have_its_menu_and_text_has_that_of_the_browser(hand: Hand) -> None:
    page, root = hand.page, hand.root
    page.set_viewport_size({"width": 1440, "height": 860})  # there is room for the minimap
    theirs = page.locator(".lm-Menu")
    # What the page's own menu would be is seen by what has become of the event.
    page.evaluate(
        "addEventListener('contextmenu', (event) => { window.rightClick = event; }, true)"
    )
    page.evaluate(
        "document.body.addEventListener('contextmenu', () => { window.reachedJupyter = true; })"
    )

    def right_click(what: Locator, ours: bool = True) -> None:
        page.evaluate("window.reachedJupyter = false")
        what.click(button="right")
        expect(hand.menu).to_be_visible() if ours else expect(hand.menu).to_be_hidden()
        expect(theirs).to_have_count(0)
        assert page.evaluate("window.reachedJupyter") is False

    def title() -> str:
        expect(hand.menu).to_have_attribute("aria-busy", "false")
        return hand.menu.locator(".tgw-label").inner_text()

    # A row of the panel has the menu of its op, and stays what it is.
    hand.widget.click("one/act")
    hand.widget.settled()
    hand.widget.tab("Op")
    link = root.locator(".tgw-panel .tgw-link", has_text="product").first
    right_click(link)
    assert title().startswith("product")
    assert "Replace …" in entries(hand)
    shoot(page, "menu_row_light")
    page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()
    inspector = root.get_by_role("tabpanel", name="Op")
    expect(inspector).to_contain_text("one/act")
    # By keys, with the focus back on the row.
    link.focus()
    page.keyboard.press("Shift+F10")
    expect(hand.menu).to_be_visible()
    expect(theirs).to_have_count(0)
    assert title().startswith("product")
    page.keyboard.press("Escape")
    expect(link).to_be_focused()

    # An op in a closed scope.
    hand.widget.click("two", double=True)
    hand.widget.settled()
    root.get_by_role("tab", name="Op").click()
    hand.widget.click("y")
    hand.widget.settled()
    right_click(root.locator(".tgw-panel .tgw-link", has_text="act").first)
    assert title() == "two/act"
    assert entries(hand)[0] == "Show in the drawing"
    hand.choose("Show in the drawing")
    hand.widget.settled()
    hand.widget.place("two/act")

    # What names no op has the menu of the canvas.
    toolbar = root.get_by_role("toolbar", name="Graph editor")
    for part in (
        root.get_by_role("button", name="Legend"),
        toolbar.get_by_role("button", name="Help"),
        hand.widget.status,
    ):
        right_click(part)
        assert "Show the whole graph" in entries(hand)
        page.keyboard.press("Escape")
        expect(hand.menu).to_be_hidden()
    root.focus()
    for _ in range(6):
        page.keyboard.press("+")
    hand.widget.settled()
    right_click(root.locator(".tgw-minimap"))
    hand.choose("Toggle minimap")
    expect(root.locator(".tgw-minimap")).to_be_hidden()

    # Text is copied and pasted with the browser's menu, in the menu's own forms too.
    right_click(root.locator(".tgw-search-input"), ours=False)
    hand.widget.click("one/act")
    root.focus()
    page.keyboard.press("f")
    hand.widget.settled()
    hand.right_click("one/act")
    hand.choose("Rename …")
    field = hand.menu.get_by_role("textbox", name="Name")
    right_click(field)
    assert page.evaluate("window.rightClick.defaultPrevented") is False
    expect(field).to_be_visible()
    page.keyboard.press("Escape")
    text = inspector.get_by_text("Computes rectified linear")
    text.dblclick()
    right_click(text, ours=False)

    # With Shift it is JupyterLab's.
    page.keyboard.down("Shift")
    root.locator(".tgw-toolbar").click(button="right", position={"x": 4, "y": 4})
    page.keyboard.up("Shift")
    expect(theirs).to_contain_text("Delete Cell")
    page.keyboard.press("Escape")


@pytest.mark.parametrize("key", ["Shift+F10", slow("ContextMenu")])
def test_keys_open_the_menu_move_in_it_and_give_the_focus_back(hand: Hand, key: str) -> None:
    hand.widget.click("one/act")
    hand.widget.settled()
    hand.page.keyboard.press(key)
    menu = hand.menu.get_by_role("menu")
    expect(menu).to_be_visible()
    expect(hand.page.locator(".lm-Menu")).to_have_count(0)
    items = menu.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    # Beside the op, which is seen.
    op, box = hand.root.evaluate(AT_REST, "one/act"), hand.menu.bounding_box()
    assert box
    assert box["x"] >= op["x"] + op["width"] / 2
    hand.page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    hand.page.keyboard.press("ArrowUp")
    hand.page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    hand.page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()
    expect(hand.root).to_be_focused()
    hand.page.keyboard.press(key)
    expect(items.first).to_be_focused()
    hand.page.keyboard.press("b")
    expect(items.filter(has_text="Bypass")).to_be_focused()
    hand.page.keyboard.press("Enter")
    assert hand.lines(1) == ['editor.bypass(what="one/act")']
    expect(hand.root).to_be_focused()


def test_the_event_of_the_menu_key_opens_the_menu_that_the_key_opens(hand: Hand) -> None:
    """On Windows it comes behind the key, when that is released: here it comes alone."""
    hand.widget.click("one/act")
    hand.widget.settled()
    hand.page.evaluate(
        "() => { window.ignoreKey = (event) => event.stopImmediatePropagation();"
        " addEventListener('keydown', window.ignoreKey, true); }"
    )
    hand.page.keyboard.press("Shift+F10")
    # Other tests use the page.
    hand.page.evaluate("removeEventListener('keydown', window.ignoreKey, true)")
    expect(hand.menu).to_be_visible()
    expect(hand.menu.locator(".tgw-label")).to_contain_text("act")
    assert "Replace …" in entries(hand)
    expect(hand.menu.get_by_role("menuitem").first).to_be_focused()


def test_vs_code_has_its_own_menu_for_text_and_none_elsewhere(hand: Hand) -> None:
    page, field = hand.page, hand.root.locator(".tgw-search-input")
    page.evaluate(
        "() => { window.hosts = 0; window.count = () => { window.hosts += 1; };"
        " document.body.addEventListener('contextmenu', window.count); }"
    )
    field.click(button="right")
    hand.right_click("y")
    page.keyboard.press("Escape")
    assert page.evaluate("window.hosts") == 0
    page.evaluate("document.body.setAttribute('data-vscode-theme-kind', 'vscode-light')")
    field.click(button="right")
    assert page.evaluate("window.hosts") == 1
    page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()
    hand.right_click("y")
    assert page.evaluate("window.hosts") == 1
    # Other tests use the page.
    page.evaluate("document.body.removeAttribute('data-vscode-theme-kind')")
    page.evaluate("document.body.removeEventListener('contextmenu', window.count)")


@pytest.mark.parametrize("key", ["Shift+F10", slow("ContextMenu")])
def test_keys_open_the_menu_of_scopes_that_are_drawn_as_one(
    page: Page, jupyter_server: JupyterServer, key: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "fold.ipynb", [ALIKE, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    group = notebook.kernel_eval(
        "next(n for n, m in zip(editor.view.scene().names, editor.view.scene().members) if m == 6)"
    )
    # From the op before it, with the keys alone.
    hand.widget.click("x")
    hand.widget.settled()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(key)
    expect(hand.menu).to_be_visible()
    expect(page.locator(".lm-Menu")).to_have_count(0)
    assert "Expand" in entries(hand)
    group_place, menu = root.evaluate(AT_REST, group), hand.menu.bounding_box()
    assert menu
    assert abs(menu["x"] - group_place["x"]) < 500
    assert abs(menu["y"] - group_place["y"]) < 400
    expect(hand.menu.get_by_role("menuitem").first).to_be_focused()
    shoot(page, "menu_fold_light")
    page.keyboard.press("Escape")
    expect(root).to_be_focused()
    set_theme(page, dark=True)
    hand.widget.settled()
    page.keyboard.press(key)
    shoot(page, "menu_fold_dark")
    page.keyboard.press("Enter")  # Expand
    hand.widget.settled()
    assert group in notebook.kernel_eval("list(editor.view.expanded)")


@pytest.mark.slow
def test_a_document_has_the_menu_too(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.relu(tf.negative(x, name="net/negative"), name="net/act")
    (jupyter_server.root / "menu.pb").write_bytes(graph.as_graph_def().SerializeToString())
    page.goto(jupyter_server.page_url("menu.pb"))
    root = page.locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    menu = root.locator(".tgw-context")
    for dark in (False, True):
        set_theme(page, dark=dark)
        place = root.evaluate(AT_REST, "net/act")
        page.mouse.click(place["x"], place["y"], button="right")
        expect(menu.get_by_role("menuitem", name="Replace …")).to_be_visible()
        expect(page.locator(".lm-Menu-content")).to_have_count(0)
        shoot(page, f"menu_document_{'dark' if dark else 'light'}")
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
