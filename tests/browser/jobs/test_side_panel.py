"""The side panel: tabs that follow what is clicked, a border that is dragged, and a clone by keys
alone.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    h = v1.placeholder(tf.float32, [None, 3], name="x")
    for layer in ("one", "two"):
        with v1.variable_scope(layer):
            w = v1.get_variable("w", [3, 3], initializer=v1.ones_initializer(), use_resource=True)
            h = tf.nn.relu(tf.matmul(h, w, name="product"), name="act")
    y = tf.negative(h, name="y")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600
"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """Two layers in the widget of a notebook's cell."""
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "panel.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def tab(hand: Hand, name: str) -> Locator:
    """A tab of the panel."""
    return hand.root.get_by_role("tab", name=name, exact=True)


def test_the_tab_in_front_follows_what_is_clicked(hand: Hand) -> None:
    expect(tab(hand, "Model")).to_have_attribute("aria-selected", "true")
    hand.click_at(*hand.widget.place("y"))
    expect(tab(hand, "Op")).to_have_attribute("aria-selected", "true")
    expect(hand.root.get_by_role("tabpanel", name="Op")).to_contain_text("Neg")
    shoot(hand.root, "panel_op_light")
    hand.widget.click("x", "Shift")
    expect(tab(hand, "Selection")).to_have_attribute("aria-selected", "true")
    hand.widget.click("y", "Alt")
    hand.widget.settled()
    expect(hand.root.get_by_role("tabpanel", name="Selection")).to_contain_text("Copies")
    shoot(hand.root, "panel_clone_light")
    # Costs are linked with the drawing, and stay.
    hand.click(tab(hand, "Costs"))
    hand.click_at(*hand.widget.place("y"))
    hand.widget.settled()
    expect(tab(hand, "Costs")).to_have_attribute("aria-selected", "true")
    shoot(hand.root, "panel_costs_light")
    # No tab is a long column, and none offers anything twice.
    expect(hand.root.get_by_role("tablist").first.get_by_role("tab")).to_have_text(
        ["Model", "Selection", "Op", "History", "Costs"]
    )
    for name in ("Costs", "History", "Op", "Selection", "Model"):
        hand.click(tab(hand, name))
        hand.widget.settled()
        page = hand.root.get_by_role("tabpanel", name=name)
        if name == "Model":  # its facts come when the page is idle
            expect(page.locator(".tgw-model")).to_have_attribute("data-known", "true")
        assert page.evaluate("page => page.scrollHeight <= 3 * page.clientHeight"), name
        buttons = [each for each in page.get_by_role("button").all() if each.is_visible()]
        offers = [
            (each.get_attribute("title"), each.get_attribute("aria-label"), each.inner_text())
            for each in buttons
        ]
        assert len(set(offers)) == len(offers), name


@pytest.mark.slow
def test_the_border_is_dragged_and_remembered(hand: Hand) -> None:
    panel = hand.root.get_by_role("complementary")
    before = panel.bounding_box()
    assert before
    x, y = before["x"], before["y"] + before["height"] / 2
    hand.page.mouse.move(x, y)
    hand.page.mouse.down()
    hand.page.mouse.move(x - 60, y, steps=4)
    hand.page.mouse.up()
    hand.widget.settled()
    after = panel.bounding_box()
    assert after
    assert abs(after["width"] - before["width"] - 60) <= 4
    canvas = hand.root.locator("canvas").first.bounding_box()
    assert canvas
    assert abs(canvas["x"] + canvas["width"] - after["x"]) <= 2
    hand.widget.notebook.run_cell(1)
    again = hand.root.get_by_role("complementary").bounding_box()
    assert again
    assert again["width"] == after["width"]


def test_in_a_narrow_and_tall_view_the_panel_is_below_the_drawing_and_nothing_is_cut_off(
    hand: Hand,
) -> None:
    root, page = hand.root, hand.page
    set_theme(page, dark=True)
    root.evaluate("root => Object.assign(root.style, { width: '520px', height: '780px' })")
    expect(root).to_have_attribute("data-panel", "below")
    page.set_viewport_size({"width": 1360, "height": 1000})
    root.scroll_into_view_if_needed()
    root.focus()
    page.keyboard.press("f")
    panel, canvas = root.get_by_role("complementary"), root.locator(".tgw-stage canvas").first
    # At first there is no room for it beside a drawing that can be read.
    expect(panel).to_be_hidden()
    root.get_by_role("button", name="Show or hide the side panel").click()
    expect(panel).to_be_visible()
    below, drawing = panel.bounding_box(), canvas.bounding_box()
    assert below
    assert drawing
    assert abs(drawing["y"] + drawing["height"] - below["y"]) <= 2
    assert abs(drawing["width"] - below["width"]) <= 2
    # A menu lies over the panel rather than scrolling above it.
    root.focus()
    page.keyboard.press("f")
    hand.widget.settled()
    hand.right_click("y")
    assert hand.menu.evaluate("menu => menu.scrollHeight <= menu.clientHeight")
    front = "entry => { const {x, y, width, height} = entry.getBoundingClientRect();"
    front += " return entry.contains(document.elementFromPoint(x + width / 2, y + height / 2)); }"
    assert all(entry.evaluate(front) for entry in hand.menu.get_by_role("menuitem").all())
    shoot(root, "panel_below_menu_dark")
    page.keyboard.press("Escape")
    # The whole of a name is in its field.
    hand.right_click("one/product")
    hand.choose("Rename …")
    field = hand.menu.get_by_role("textbox", name="Name")
    assert field.evaluate(
        "field => field.scrollWidth <= field.clientWidth && field.clientWidth > 100"
    )
    shoot(root, "panel_below_rename_dark")
    page.keyboard.press("Escape")
    # Its upper border is dragged.
    x, y = below["x"] + below["width"] / 2, below["y"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 60, steps=4)
    page.mouse.up()
    hand.widget.settled()
    after = panel.bounding_box()
    assert after
    assert abs(after["height"] - below["height"] - 60) <= 4
    separator = root.get_by_role("separator")
    expect(separator).to_have_attribute("aria-orientation", "horizontal")
    separator.focus()
    page.keyboard.press("ArrowDown")
    smaller = panel.bounding_box()
    assert smaller
    assert smaller["height"] == after["height"] - 16
    shoot(root, "panel_below_dark")


@pytest.mark.slow
def test_a_part_is_marked_by_eight_keys_and_the_button_that_clones_is_five_tabs_away(
    hand: Hand,
) -> None:
    hand.root.focus()
    for key in ("/", "x", "Enter", "i", "/", "y", "Enter", "o"):
        hand.page.keyboard.type(key) if len(key) == 1 else hand.page.keyboard.press(key)
        hand.widget.settled()
    boundary = hand.widget.notebook.kernel_eval("[editor.inputs, editor.outputs]")
    assert boundary == [["x"], ["y"]]
    clone = hand.root.get_by_role("button", name="Clone", exact=True)
    expect(clone).to_be_enabled()
    tabs = 0
    while not clone.evaluate("button => button === document.activeElement"):
        hand.page.keyboard.press("Tab")
        tabs += 1
        assert tabs <= 5
    hand.root.focus()
    hand.press("c")
    expect(hand.root.get_by_role("textbox", name="scope")).to_be_focused()
    hand.type("tower")
    hand.press("Enter")
    (line,) = hand.lines(1)
    assert line == 'tower = editor.clone(inputs=["x"], outputs=["y"], into="tower")'


@pytest.mark.slow
def test_the_history_is_sentences_and_shows_what_each_changed(hand: Hand) -> None:
    hand.widget.notebook.kernel_eval(
        "0",
        before="editor.clone('x', 'two/act', into='tower'); editor.bypass('one/act'); "
        "editor.rename('one', 'first')",
    )
    hand.widget.settled()
    hand.click(tab(hand, "History"))
    steps = hand.root.locator(".tgw-step")
    texts = hand.root.locator(".tgw-step-text")
    expect(texts).to_have_text(
        [
            "Original graph",
            "Cloned x … two/act as tower",
            "Bypassed one/act",
            "Renamed one to first",
        ]
    )
    assert "editor." not in hand.root.get_by_role("tabpanel", name="History").inner_text()
    canvas = hand.root.locator("canvas").first
    before = canvas.screenshot()
    steps.nth(1).hover()
    hand.page.wait_for_function(
        "root => root.tfgraphwidget.edited().includes('tower')", arg=hand.root.element_handle()
    )
    hand.widget.settled()
    assert canvas.screenshot() != before
    shoot(hand.root, "panel_history_light")
    hand.click(hand.root.get_by_role("switch", name="Python"))
    expect(steps.nth(1)).to_contain_text(
        'tower = editor.clone(inputs=["x"], outputs=["two/act"], into="tower")'
    )
    set_theme(hand.page, dark=True)
    hand.widget.settled()
    shoot(hand.root, "panel_history_dark")
    hand.click(steps.nth(1))
    hand.widget.settled()
    assert hand.widget.notebook.kernel_eval("len(editor.history.done)") == 1
    redo = hand.root.get_by_role("button", name="Redo")
    expect(redo).to_have_attribute("title", "Redo: Bypassed one/act (Ctrl+Y)")
    hand.click(redo)
    hand.widget.settled()
    expect(hand.widget.status).to_contain_text("Done again: Bypassed one/act.")
    hand.click(hand.root.get_by_role("button", name="Undo"))
    hand.widget.settled()
    assert hand.widget.notebook.kernel_eval("len(editor.history.done)") == 1


@pytest.mark.slow
def test_over_the_drawing_the_history_names_what_a_step_changed(hand: Hand) -> None:
    root, page = hand.root, hand.page
    hand.widget.notebook.kernel_eval(
        "0", before="editor.clone('x', 'two/act', into='tower'); editor.bypass('one/act')"
    )
    hand.widget.settled()
    changed, steps = root.locator(".tgw-changed-names"), root.locator(".tgw-step")
    hand.click(tab(hand, "History"))
    steps.nth(1).hover()
    page.wait_for_function(
        "root => root.tfgraphwidget.edited().includes('tower')", arg=root.element_handle()
    )
    expect(changed).to_be_hidden()  # the frames are in view
    root.evaluate("root => Object.assign(root.style, { width: '420px', height: '420px' })")
    expect(root).to_have_attribute("data-panel", "over")
    root.get_by_role("button", name="Show or hide the side panel").click()
    steps.nth(1).hover()
    expect(changed).to_have_text("Changed: tower/")
    shoot(root, "panel_over_history")
    steps.nth(2).hover()
    expect(changed).to_have_text("Changed: two/product")
    steps.nth(0).hover()
    expect(changed).to_be_hidden()
    # What is suggested is whole, of several words, too.
    suggested = root.get_by_role("group", name="Suggested edits").get_by_role("button")
    for each in suggested.all():
        assert each.evaluate("button => button.scrollHeight <= button.clientHeight"), (
            each.inner_text()
        )


LONG = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    xs = [v1.placeholder(tf.float32, [], name=f"x_{k}") for k in range(40)]
    w = v1.get_variable("w", [], use_resource=True)
    with tf.name_scope("sum"):
        y = tf.add_n([tf.negative(x, name=f"negative_{k}") for k, x in enumerate(xs)], name="all")
    z = tf.multiply(y, w, name="z")
editor = tgw.edit(graph)
editor.view.collapse()
editor.view.widget.height = 600
"""


@pytest.mark.slow
def test_long_lists_are_shown_whole_and_training_is_offered_where_there_is_a_variable(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "long.ipynb", [LONG, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    hand.click_at(*hand.widget.place("sum"))
    panel = root.get_by_role("tabpanel", name="Op")
    inputs = panel.locator(".tgw-field").filter(has=page.get_by_role("heading", name="Inputs (40)"))
    entries = inputs.locator(".tgw-tensors > li")
    expect(entries).to_have_count(31)
    hand.click(inputs.get_by_role("button", name="Show 10 more"))
    expect(entries).to_have_count(40)
    expect(entries.last).to_contain_text("x_39")
    expect(entries.nth(30).get_by_role("button")).to_be_focused()
    # Of its forty tensors one is found by its name.
    hand.right_click("sum")
    hand.choose("Mark as input")
    ticks = root.get_by_role("dialog", name="Which tensors are the input?")
    boxes = ticks.get_by_role("checkbox")
    expect(boxes).to_have_count(40)
    hand.click(ticks.get_by_role("button", name="All or none"))
    expect(ticks.get_by_role("button", name="Mark as input")).to_be_disabled()
    ticks.get_by_role("searchbox", name="Find a tensor").fill("x_39")
    expect(boxes).to_have_count(1)
    boxes.check()
    shoot(root, "panel_ticks_light")
    hand.click(ticks.get_by_role("button", name="Mark as input"))
    expect(root.get_by_role("tabpanel", name="Selection")).to_contain_text("x_39")
    hand.click(root.get_by_role("button", name="Clear"))
    # The scope has no variable to train; the whole graph has one.
    edits = root.get_by_role("group", name="Edit the selection")
    train = edits.get_by_role("button", name="Train only this")
    for names, offered in ((["sum"], False), (["sum", "w"], True)):
        for name in names:
            hand.widget.click(name, "Control")
            hand.widget.settled()
        hand.click(tab(hand, "Selection"))
        expect(edits.get_by_role("button", name="Bypass")).to_be_visible()
        expect(train).to_be_visible(visible=offered)
        hand.root.focus()
        hand.page.keyboard.press("Escape")
        hand.widget.settled()


def test_an_edit_in_code_does_not_scroll_the_notebook_to_the_history(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1360, "height": 700})
    cells = [GRAPH, "editor", *["\n" * 24] * 3]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "far.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    hand = Hand(Widget(notebook, root))
    hand.widget.tab("History")
    notebook.cell(2).locator(".cm-content").click()
    seen = root.bounding_box()
    assert seen
    page.mouse.move(400, 500)
    # The upper part of the widget, with its history, is out of view.
    page.mouse.wheel(0, seen["y"] + 450)
    page.wait_for_function(
        "root => root.getBoundingClientRect().top < -200", arg=root.element_handle()
    )
    page.wait_for_timeout(300)
    before = root.bounding_box()
    notebook.kernel_eval("0", before="editor.rename('y', 'result')")
    expect(root.locator(".tgw-step")).to_have_count(2)
    hand.widget.settled()
    assert root.bounding_box() == before
