"""The work with the hand, in pictures: toolbar, panel, marks, forms, values and costs, in each
place and theme.

Each test does a job with a real mouse on a convolutional network that trains, and takes a picture
of each state on the way; `check_pictures` checks them for texts that are cut off, pale or covered.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import AT_REST
from tests.browser.jobs.counted import Hand
from tests.browser.jobs.places import PLACES, WAIT, Place, check_pictures, open_in
from tests.browser.server import JupyterServer

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("place", PLACES)]

NETWORK = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    images = v1.placeholder(tf.float32, [None, 28, 28, 1], name="images")
    labels = v1.placeholder(tf.int64, [None], name="labels")
    h = images
    for k, channels in enumerate((16, 32), 1):
        with v1.variable_scope(f"conv{k}"):
            kernel = v1.get_variable("kernel", [3, 3, h.shape[3], channels], use_resource=True)
            bias = v1.get_variable("bias", [channels], use_resource=True)
            h = tf.nn.relu(
                tf.nn.bias_add(tf.nn.conv2d(h, kernel, 1, "SAME", name="Conv2D"), bias), name="Relu"
            )
            h = tf.nn.max_pool2d(h, 2, 2, "SAME", name="MaxPool")
    with v1.variable_scope("dense"):
        flat = tf.reshape(h, [-1, 7 * 7 * 32], name="flat")
        kernel = v1.get_variable("kernel", [7 * 7 * 32, 64], use_resource=True)
        h = tf.nn.relu(tf.matmul(flat, kernel, name="MatMul"), name="Relu")
    h = v1.nn.dropout(h, rate=0.5, seed=1, name="dropout")
    with v1.variable_scope("logits"):
        kernel = v1.get_variable("kernel", [64, 10], use_resource=True)
        logits = tf.matmul(h, kernel, name="MatMul")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name="losses"
    )
    loss = tf.reduce_mean(losses, name="loss")
    v1.train.AdamOptimizer(0.01).minimize(loss, name="train")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
def soft_sign(x, scale=2.0):
    "A soft sign, scaled."
    return scale * x / (1.0 + tf.abs(x))
editor = tgw.edit(graph, session=sess)
file = "network.meta"
editor.save(file)
"""
PENALTY = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    x = v1.placeholder(tf.float32, [None, 4], name="x")
    w = v1.get_variable("w", [4, 4], use_resource=True)
    h = v1.nn.dropout(tf.nn.relu(tf.matmul(x, w), name="relu"), rate=0.5, seed=1, name="dropout")
    loss = tf.reduce_mean(tf.square(h), name="loss")
    v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
    tf.gradients(tf.gradients(loss, x), graph.get_tensor_by_name("relu:0"))
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
file = "penalty.meta"
editor.save(file)
"""


def show_panel(hand: Hand) -> None:
    """Show the side panel, which is hidden at first where a view is narrow."""
    panel = hand.root.get_by_role("complementary")
    if not panel.is_visible():
        hand.root.get_by_role("button", name="Show or hide the side panel").click()
    expect(panel).to_be_visible()


def find(hand: Hand, name: str) -> None:
    """Find an op by its name, so that it is in view, and looked at."""
    hand.root.focus()
    hand.page.keyboard.press("/")
    hand.page.keyboard.type(name)
    expect(hand.root.locator(".tgw-hit").first).to_have_attribute("data-name", name)
    hand.page.keyboard.press("Enter")
    hand.page.keyboard.press("Escape")
    hand.widget.settled()


def fit(hand: Hand) -> None:
    """Bring the whole drawing into view, with the pointer on nothing."""
    hand.root.focus()
    hand.page.keyboard.press("f")
    hand.page.mouse.move(0, 0)
    hand.widget.settled()


def panel_of(hand: Hand, name: str) -> Locator:
    """Bring a tab of the panel to the front; its page."""
    hand.root.get_by_role("tab", name=name, exact=True).click()
    hand.widget.settled()
    return hand.root.get_by_role("tabpanel", name=name)


def mark(hand: Hand, first: str, last: str) -> None:
    """Mark an op as input and another one as output."""
    find(hand, first)
    hand.widget.click(first, "Shift")
    hand.widget.settled()
    find(hand, last)
    hand.widget.click(last, "Alt")
    hand.widget.settled()


def test_toolbar_and_export(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "toolbar", NETWORK)
    root = hand.root
    check_pictures(hand, f"21_09_toolbar_{place}")
    export = root.get_by_role("button", name="Export", exact=True)
    export.click()
    menu = root.get_by_role("menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    check_pictures(hand, f"21_09_menu_{place}")
    menu.get_by_role("menuitem", name="Frozen graph").click()
    form = root.get_by_role("form", name="Save Frozen graph")
    expect(form.get_by_role("textbox", name="Path")).to_be_focused()
    check_pictures(hand, f"21_09_form_{place}")
    form.get_by_role("textbox", name="Path").fill(
        "a_folder/with_a_long_name/graph_frozen_for_the_serving_machine.pb"
    )
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("does not exist")
    check_pictures(hand, f"21_09_refused_{place}")
    form.get_by_role("textbox", name="Path").fill(f"frozen_{place}.pb")
    form.get_by_role("button", name="Save").click()
    expect(hand.widget.status).to_contain_text("Saved as frozen", timeout=WAIT)
    check_pictures(hand, f"21_09_saved_{place}")
    export.click()
    menu.get_by_role("menuitem", name="Frozen graph").click()
    form.get_by_role("textbox", name="Path").fill(f"frozen_{place}.pb")
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("is there already")
    check_pictures(hand, f"21_09_replace_{place}")
    page.keyboard.press("Escape")
    export.click()
    menu.get_by_role("menuitem", name="Picture, SVG").click()
    check_pictures(hand, f"21_09_picture_{place}")
    page.keyboard.press("Escape")


def test_panel_and_history(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "tabs", NETWORK)
    root = hand.root
    show_panel(hand)
    panel_of(hand, "Selection")
    check_pictures(hand, f"21_10_clone_empty_{place}")
    panel_of(hand, "History")
    check_pictures(hand, f"21_10_history_empty_{place}")
    panel_of(hand, "Op")
    check_pictures(hand, f"21_10_op_empty_{place}")
    mark(hand, "images", "dense/Relu")
    fit(hand)
    expect(root.get_by_role("tabpanel", name="Selection")).to_contain_text("Copies")
    check_pictures(hand, f"21_10_clone_{place}")
    root.get_by_role("textbox", name="scope").fill("tower")
    root.get_by_role("button", name="Clone", exact=True).click()
    expect(hand.widget.status).to_contain_text("into 'tower'", timeout=WAIT)
    hand.widget.settled()
    check_pictures(hand, f"21_10_cloned_{place}")
    find(hand, "conv1/Relu")
    hand.right_click("conv1/Relu")
    hand.choose("Rename …")
    hand.page.keyboard.type("activation")
    hand.page.keyboard.press("Enter")
    hand.widget.settled()
    find(hand, "conv2/Conv2D")
    panel_of(hand, "Op")
    check_pictures(hand, f"21_10_op_{place}")
    panel = panel_of(hand, "History")
    check_pictures(hand, f"21_10_history_{place}")
    panel.get_by_role("switch", name="Python").check()
    # A document has no cells to insert into.
    expect(panel.get_by_role("button", name="Insert as cell")).to_be_visible(
        visible=place != "document"
    )
    check_pictures(hand, f"21_10_python_{place}")
    root.locator(".tgw-step").nth(1).hover()
    hand.page.wait_for_function(
        "root => root.tfgraphwidget.edited().includes('tower')", arg=root.element_handle()
    )
    hand.widget.settled()
    check_pictures(hand, f"21_10_hover_{place}")
    root.locator(".tgw-step").nth(1).click()
    hand.widget.settled()
    check_pictures(hand, f"21_10_back_{place}")
    panel_of(hand, "Costs")
    check_pictures(hand, f"21_10_costs_{place}")
    # Narrow, then wide.
    handle = root.get_by_role("separator", name="Resize the side panel")
    for width, key in (("narrow", "Home"), ("wide", "End")):
        handle.focus()
        page.keyboard.press(key)
        hand.widget.settled()
        for name in ("Model", "Op", "History", "Costs", "Selection"):
            panel_of(hand, name)
            check_pictures(hand, f"21_10_{width}_{name}_{place}")
    handle.dblclick()


def test_marks(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "marks", NETWORK)
    root = hand.root
    toolbar = root.get_by_role("toolbar").first
    find(hand, "conv2/Conv2D")
    toolbar.get_by_role("button", name="Input", exact=True).click()
    check_pictures(hand, f"21_11_mode_{place}")
    hand.click_at(*hand.widget.place("conv2/Conv2D"))
    hand.widget.settled()
    check_pictures(hand, f"21_11_input_{place}")
    fit(hand)
    hand.right_click("dense")
    hand.choose("Mark as output")
    hand.widget.settled()
    expect(root).to_have_attribute("data-mode", "look")
    fit(hand)
    check_pictures(hand, f"21_11_both_{place}")
    hand.right_click("losses")
    check_pictures(hand, f"21_11_menu_{place}")
    hand.choose("Mark as input")
    expect(root.get_by_role("dialog", name="Which tensors are the input?")).to_be_visible()
    check_pictures(hand, f"21_11_scope_input_{place}")
    page.keyboard.press("Escape")
    show_panel(hand)
    panel_of(hand, "Selection")
    check_pictures(hand, f"21_11_panel_{place}")


def test_replace_and_insert(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "replace", NETWORK)
    root = hand.root
    find(hand, "conv2/Relu")
    hand.right_click("conv2/Relu")
    hand.choose("Replace …")
    field = hand.menu.get_by_role("combobox", name="Op type")
    expect(hand.menu.get_by_role("option").first).to_be_visible()
    check_pictures(hand, f"21_12_replace_{place}")
    hand.type("rectified")
    expect(hand.menu.get_by_role("option").first).not_to_contain_text("soft_sign")
    check_pictures(hand, f"21_12_search_{place}")
    field.fill("LeakyRelu")
    alpha = hand.menu.get_by_role("textbox", name="alpha")
    expect(alpha).to_have_value("0.2")
    check_pictures(hand, f"21_12_attributes_{place}")
    alpha.fill("a lot")
    hand.menu.get_by_role("button", name="Apply").click()
    expect(hand.menu.get_by_role("alert").filter(has_text="alpha must be a number")).to_be_visible()
    check_pictures(hand, f"21_12_invalid_{place}")
    field.fill("AvgPool")
    expect(hand.menu.get_by_role("combobox", name="padding")).to_be_visible()
    check_pictures(hand, f"21_12_many_{place}")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()
    find(hand, "dense/Relu")
    hand.right_click("dense/Relu")
    hand.choose("Insert after …")
    expect(hand.menu.get_by_role("textbox", name="Name")).to_have_value("Identity")
    check_pictures(hand, f"21_12_insert_{place}")
    hand.menu.get_by_role("button", name="Apply").click()
    expect(hand.menu).to_be_hidden()
    hand.widget.settled()
    check_pictures(hand, f"21_12_inserted_{place}")
    # An op type is dragged from the palette onto a line.
    show_panel(hand)
    panel_of(hand, "Op")
    find(hand, "conv1/Relu")
    check_pictures(hand, f"21_12_op_{place}")
    palette = root.get_by_role("group", name="Op types")
    palette.get_by_role("combobox").scroll_into_view_if_needed()
    palette.get_by_role("combobox").fill("Tanh")
    option = palette.get_by_role("option").filter(has_text="Computes hyperbolic tangent of").first
    expect(option).to_be_visible()
    option.scroll_into_view_if_needed()
    check_pictures(hand, f"21_12_palette_{place}")
    spot = root.evaluate(AT_REST, "conv1/Relu")
    box = option.bounding_box()
    assert box
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] - 5, box["y"] + 12)
    page.mouse.move(spot["x"], spot["y"] - spot["height"] / 2 - 9, steps=5)
    expect(root.locator(".tgw-drag-ghost")).to_be_visible()
    check_pictures(hand, f"21_12_drag_{place}")
    page.mouse.up()
    hand.widget.settled()
    check_pictures(hand, f"21_12_dropped_{place}")


def click_dropout(hand: Hand) -> Hand:
    """Click the scope of a dropout, with all of the drawing and the panel in view."""
    show_panel(hand)
    fit(hand)
    hand.click_at(*hand.widget.place("dropout"))
    hand.widget.settled()
    return hand


def test_bypass_dropout(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = click_dropout(open_in(page, jupyter_server, place, "dropout", NETWORK))
    check_pictures(hand, f"21_13_dropout_{place}")
    hand.root.get_by_role("group", name="Edit this scope").get_by_role(
        "button", name="Bypass"
    ).click()
    expect(hand.widget.status).to_contain_text("gradients are bypassed", timeout=WAIT)
    hand.widget.settled()
    check_pictures(hand, f"21_13_done_{place}")
    fit(hand)
    check_pictures(hand, f"21_13_whole_{place}")


def test_refusal_of_a_bypass(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = click_dropout(open_in(page, jupyter_server, place, "penalty", PENALTY))
    hand.root.get_by_role("group", name="Edit this scope").get_by_role(
        "button", name="Bypass"
    ).click()
    expect(hand.widget.status).to_contain_text("is a gradient of a gradient", timeout=WAIT)
    check_pictures(hand, f"21_13_refused_{place}")
    hand.widget.status.get_by_role("group", name="Suggested fixes").get_by_role(
        "button"
    ).first.click()
    expect(hand.widget.status).to_contain_text("Stripped training", timeout=WAIT)
    hand.widget.settled()
    check_pictures(hand, f"21_13_stripped_{place}")


def test_rename(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "rename", NETWORK)
    find(hand, "conv2/Conv2D")
    hand.right_click("conv2/Conv2D")
    check_pictures(hand, f"21_14_menu_{place}")
    hand.choose("Rename …")
    check_pictures(hand, f"21_14_form_{place}")
    hand.menu.get_by_role("textbox", name="Name").fill("Relu")
    page.keyboard.press("Enter")
    expect(hand.widget.status).to_contain_text("is taken", timeout=WAIT)
    check_pictures(hand, f"21_14_taken_{place}")
    page.keyboard.press("Escape")
    hand.root.focus()
    hand.right_click("conv2/Conv2D")
    hand.choose("Move to scope …")
    check_pictures(hand, f"21_14_move_{place}")
    hand.type("encoder/first")
    hand.press("Enter")
    expect(hand.widget.status).to_contain_text("encoder/first", timeout=WAIT)
    hand.widget.settled()
    check_pictures(hand, f"21_14_moved_{place}")


def test_values(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "values", NETWORK)
    find(hand, "logits/MatMul")
    hand.right_click("logits/MatMul")
    hand.choose("Values")
    expect(hand.menu.get_by_role("group", name="images:0")).to_be_visible(timeout=WAIT)
    check_pictures(hand, f"21_15_feeds_{place}")
    row = hand.menu.get_by_role("group", name="images:0")
    row.get_by_role("combobox", name="Value", exact=True).select_option("Random")
    check_pictures(hand, f"21_15_random_{place}")
    row.get_by_role("textbox", name="Shape").fill("[2, 3]")
    hand.menu.get_by_role("button", name="Run").click()
    expect(row.get_by_role("alert")).to_be_visible()
    check_pictures(hand, f"21_15_refused_{place}")
    row.get_by_role("textbox", name="Shape").fill("[8, 28, 28, 1]")
    hand.menu.get_by_role("button", name="Run").click()
    expect(hand.menu).to_be_hidden(timeout=WAIT)
    hand.widget.settled()
    check_pictures(hand, f"21_15_values_{place}")
    show_panel(hand)
    panel = panel_of(hand, "Op")
    check_pictures(hand, f"21_15_inspector_{place}")
    panel.get_by_role("button", name="Feeds …").click()
    expect(panel.get_by_role("group", name="images:0")).to_be_visible()
    check_pictures(hand, f"21_15_panel_feeds_{place}")
    page.keyboard.press("Escape")
    find(hand, "conv2/kernel")
    expect(panel.get_by_role("button", name="As variable …").first).to_be_visible()
    check_pictures(hand, f"21_15_weights_{place}")
    panel.get_by_role("button", name="As variable …").first.click()
    expect(panel.get_by_role("textbox", name="Variable")).to_be_focused()
    check_pictures(hand, f"21_15_variable_{place}")
    page.keyboard.press("Enter")
    expect(hand.widget.status).to_contain_text("is a numpy array", timeout=WAIT)
    check_pictures(hand, f"21_15_assigned_{place}")


def test_costs(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "costs", NETWORK)
    root = hand.root
    show_panel(hand)
    panel = panel_of(hand, "Costs")
    table = root.get_by_role("table", name="Costs")
    rows = table.locator("tbody tr")
    expect(rows.first).to_be_visible(timeout=WAIT)
    check_pictures(hand, f"21_16_table_{place}")
    root.get_by_role("group", name="Color by cost").get_by_role("button", name="FLOPs").click()
    hand.widget.settled()
    fit(hand)
    check_pictures(hand, f"21_16_colored_{place}")
    rows.nth(1).click()
    hand.widget.settled()
    check_pictures(hand, f"21_16_row_{place}")
    root.get_by_role("button", name="Scopes").click()
    hand.widget.settled()
    fit(hand)
    check_pictures(hand, f"21_16_scopes_{place}")
    panel.get_by_role("button", name="Measure time").click()
    expect(panel.get_by_role("button", name="Run")).to_be_visible()
    check_pictures(hand, f"21_16_feeds_{place}")
    panel.get_by_role("button", name="Run").click()
    expect(table.locator("tfoot td").last).to_contain_text("s", timeout=WAIT)
    expect(panel.get_by_role("button", name="Run")).to_be_hidden()
    hand.widget.settled()
    check_pictures(hand, f"21_16_measured_{place}")
