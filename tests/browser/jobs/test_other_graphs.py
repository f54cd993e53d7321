"""Two models are compared, and joined, with four clicks each at most; a copy is trained alone with
one more.
"""

from __future__ import annotations

import base64

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import COMPARE, JOIN, Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
def model(act):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        with v1.variable_scope("net"):
            w = v1.get_variable("w", [4, 4], use_resource=True)
            act(tf.matmul(x, w, name="product"), name="act")
    sess = v1.Session(graph=graph)
    with graph.as_default():
        sess.run(v1.global_variables_initializer())
    return graph, sess
graph, sess = model(tf.nn.relu)
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600
other_graph, other_sess = model(tf.tanh)
"""

DROPPED = """(data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const files = new DataTransfer();
    files.items.add(new File([bytes], "desktop.pb"));
    return files;
}"""


@pytest.mark.slow
def test_models_are_compared_joined_and_trained(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.softmax(
            tf.compat.v1.placeholder(tf.float32, [None, 4], name="scores"), name="classes"
        )
    (jupyter_server.root / "head.pb").write_bytes(graph.as_graph_def().SerializeToString())
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "join.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    box = root.locator(".tgw-stage canvas").first.bounding_box()
    assert box
    corner = box["x"] + 12, box["y"] + box["height"] / 2

    # Compare with a graph of the notebook.
    hand.click_at(*corner, button="right")
    hand.choose("Compare with …")
    field = hand.menu.get_by_role("combobox", name="Graph")
    hand.fill(field, "other_graph")
    shoot(page, "other_compare_light")
    hand.click(hand.menu.get_by_role("button", name="Compare"))
    expect(hand.menu).to_be_hidden()
    expect(root.locator(".tgw-changes")).to_contain_text("1 op changed")
    hand.widget.settled()
    shoot(page, "other_difference_light")
    hand.done(COMPARE)

    # Join the model of a file.
    hand.begin()
    set_theme(page, dark=True)
    hand.widget.settled()
    hand.click_at(*corner, button="right")
    hand.choose("Add a model …")
    hand.fill(hand.menu.get_by_role("combobox", name="Graph"), "head.pb")
    # The press on Next takes the focus from the field, as in a browser where it does: both ask for
    # the inputs at once. By hand the second one may come when they are there, and the button has
    # moved and says Add.
    both = "(button) => { document.activeElement.blur(); button.click(); }"
    hand.menu.get_by_role("button", name="Next").evaluate(both)
    hand.clicks += 1
    expect(hand.menu.get_by_role("combobox", name="Graph")).to_have_value("head.pb")
    joint = hand.menu.get_by_role("combobox", name="scores:0")
    expect(joint).to_be_visible()
    hand.fill(joint, "net/act:0")
    shoot(page, "other_add_dark")
    hand.click(hand.menu.get_by_role("button", name="Add"))
    expect(hand.widget.status).to_contain_text("1 of its inputs joined")
    hand.widget.settled()
    hand.done(JOIN)
    assert len(hand.lines(1)) == 1
    assert notebook.kernel_eval("list(editor.ops('head/classes').inputs)") == ["net/act:0"]

    # A copy, and nothing else, is trained.
    hand.right_click("net")
    hand.choose("Clone …")
    expect(root.get_by_role("textbox", name="scope")).to_be_focused()
    hand.press("Enter")
    hand.lines(2)
    before = notebook.kernel_eval("list(editor.find('is:trainable').ops)")
    switch = root.locator(".tgw-status").get_by_role("switch", name="Train only copy")
    expect(switch).to_have_attribute("aria-checked", "false")
    shoot(page, "train_only_off_dark")
    hand.click(switch)
    hand.lines(3)
    assert notebook.kernel_eval("list(editor.find('is:trainable').ops)") == ["copy/net/w"]
    expect(switch).to_have_attribute("aria-checked", "true")
    shoot(page, "train_only_on_dark")
    hand.click(switch)  # off: what was trainable before is so again
    hand.lines(4)
    assert sorted(notebook.kernel_eval("list(editor.find('is:trainable').ops)")) == sorted(before)
    expect(switch).to_have_attribute("aria-checked", "false")
    hand.widget.click("net")
    hand.widget.settled()
    hand.click(
        root.get_by_role("group", name="Edit this scope").get_by_role(
            "button", name="Train only this"
        )
    )
    hand.lines(5)
    assert notebook.kernel_eval("list(editor.find('is:trainable').ops)") == ["net/w"]

    # A file of the file browser is dropped on the drawing.
    entry = page.locator(".jp-DirListing-item", has_text="head.pb")
    start = entry.bounding_box()
    assert start
    page.mouse.move(start["x"] + 40, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(start["x"] + 80, start["y"] + 40, steps=4)
    page.mouse.move(*corner, steps=8)
    page.mouse.up()
    expect(hand.menu).to_contain_text("head.pb")
    shoot(page, "other_dropped_dark")
    hand.choose("Add a model …")
    expect(hand.menu.get_by_role("combobox", name="Graph")).to_have_value("head.pb")
    expect(hand.menu.get_by_role("combobox", name="scores:0")).to_be_visible()

    # A file of the desktop: the browser gives its bytes, which the page sends to the kernel; no
    # file is written.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()
    data = base64.b64encode((jupyter_server.root / "head.pb").read_bytes()).decode()
    files = page.evaluate_handle(DROPPED, data)
    event = {"dataTransfer": files, "clientX": corner[0], "clientY": corner[1]}
    root.locator(".tgw-stage").dispatch_event("drop", event)
    expect(hand.menu).to_contain_text("desktop.pb")
    hand.choose("Compare with …")
    expect(hand.menu.get_by_role("combobox", name="Graph")).to_have_value("desktop.pb")
    hand.click(hand.menu.get_by_role("button", name="Compare"))
    expect(root.locator(".tgw-changes")).to_contain_text("removed")
    shoot(page, "other_desktop_dark")
    assert not (jupyter_server.root / "desktop.pb").exists()
