"""An activation is replaced by any op type or a function of the notebook, and ops are inserted, in
three clicks.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.jobs.counted import INSERT, Hand
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
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    with tf.name_scope("net"):
        h = tf.nn.relu(tf.negative(x, name="negative"), name="act")
    y = tf.square(h, name="y")
sess = v1.Session(graph=graph)
def soft_sign(x, scale=2.0):
    "A soft sign, scaled."
    return scale * x / (1.0 + tf.abs(x))
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600
"""


@pytest.mark.slow
def test_an_op_is_replaced_and_ops_are_inserted(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "replace.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))

    # By an op type, with its attributes: three clicks.
    hand.right_click("net/act")
    hand.choose("Replace …")
    field = hand.menu.get_by_role("combobox", name="Op type")
    options = hand.menu.get_by_role("option")
    # Functions of the notebook first, then the usual activations.
    expect(options.first).to_contain_text("soft_sign")
    expect(options.nth(1)).to_contain_text("Elu")  # a Relu in place of a Relu changes nothing
    hand.type("rectified")
    expect(options.filter(has_text="LeakyRelu").first).to_be_visible()  # found by its documentation
    shoot(page, "replace_search_light")
    field.fill("LeakyRelu")
    alpha = hand.menu.get_by_role("textbox", name="alpha")
    expect(alpha).to_have_value("0.2")
    alpha.fill("a lot")
    hand.menu.get_by_role("button", name="Apply").click()
    expect(hand.menu.get_by_role("alert").filter(has_text="alpha must be a number")).to_be_visible()
    expect(alpha).to_have_attribute("aria-invalid", "true")
    shoot(page, "replace_invalid_light")
    alpha.fill("0.1")
    hand.click(hand.menu.get_by_role("button", name="Apply"))
    (line,) = hand.lines(1)
    assert line.endswith(
        'editor.replace(what="net/act", by="LeakyRelu", remove=True, attributes={"alpha": 0.1}, '
        'name="net/LeakyRelu")'
    )
    assert hand.clicks == 3

    # By a function of the notebook, from the editable type in the inspector.
    hand.widget.click("net/LeakyRelu")
    hand.widget.settled()
    panel = root.get_by_role("tabpanel", name="Op")
    panel.get_by_role("button", name="Rename …").click()
    expect(panel.get_by_role("textbox", name="Name")).to_be_visible()
    hand.clicks = 0
    hand.click(root.get_by_role("button", name="Replace by another op type"))
    expect(panel.get_by_role("textbox", name="Name")).to_have_count(0)  # one form at a time
    hand.type("soft_sign")
    expect(panel.get_by_role("textbox", name="scale")).to_have_value("2.0")
    shoot(page, "replace_function_light")
    hand.press("Enter")
    lines = hand.lines(2)
    assert "by=soft_sign" in lines[1]
    assert hand.clicks + hand.keys == 4  # two texts, a click and Enter
    assert notebook.kernel_eval("sess.run('y:0', {'x:0': [[-1.0, 0.0, 1.0]]}).tolist()") == [
        [1.0, 0.0, 1.0]
    ]

    # Inserted on a line, with a name and a scope; what was clicked stays where it was.
    before = hand.widget.place("y")
    hand.begin()
    hand.right_click("y")
    hand.choose("Insert after …")
    name = hand.menu.get_by_role("textbox", name="Name")
    expect(name).to_have_value("Identity")
    expect(hand.menu.get_by_role("textbox", name="Scope")).to_have_value("")
    hand.fill(name, "result")
    hand.click(hand.menu.get_by_role("button", name="Apply"))
    assert 'name="result"' in hand.lines(3)[2]
    hand.done(INSERT)
    assert hand.widget.place("y") == pytest.approx(before, abs=24)


@pytest.mark.slow
def test_an_op_type_is_dragged_from_the_palette_onto_a_line(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "palette.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    set_theme(page, dark=True)
    root.get_by_role("tab", name="Op").click()
    palette = root.get_by_role("group", name="Op types")
    palette.get_by_role("combobox").fill("Tanh")
    option = palette.get_by_role("option").filter(has_text="Computes hyperbolic tangent of").first
    expect(option).to_be_visible()
    expect(option).to_be_in_viewport()
    place = root.evaluate(AT_REST, "net/act")
    target = place["x"], place["y"] - place["height"] / 2 - 9
    box = option.bounding_box()
    assert box
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] - 30, box["y"] + 20)
    page.mouse.move(*target, steps=5)
    expect(root.locator(".tgw-drag-ghost")).to_have_text("Tanh: negative → act")
    expect(root.locator(".tgw-tooltip")).to_be_hidden()
    shoot(page, "palette_drag_dark")
    page.mouse.up()
    (line,) = hand.lines(1)
    assert line.endswith(
        'editor.insert(at="net/negative:0", function="Tanh", only=["net/act"], name="net/Tanh")'
    )
    # What needs more than the tensor shows its form, and says at the field what is missing.
    palette.get_by_role("combobox").fill("Cast")
    option = palette.get_by_role("option").filter(has_text="Cast x of type").first
    option.scroll_into_view_if_needed()
    box = option.bounding_box()
    assert box
    place = root.evaluate(AT_REST, "y")
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(place["x"], place["y"] - place["height"] / 2 - 9, steps=5)
    page.mouse.up()
    dtype = palette.get_by_role("combobox", name="dtype")
    expect(dtype).to_be_visible()
    shoot(page, "palette_form_dark")
    # The tooltip of the line that is below the pointer again is not cut off.
    tooltip, canvas = (
        root.locator(".tgw-tooltip").bounding_box(),
        root.locator("canvas").first.bounding_box(),
    )
    assert tooltip
    assert canvas
    assert tooltip["x"] + tooltip["width"] <= canvas["x"] + canvas["width"]
    # What is true or false is a switch, and a list has the values that its OpDef allows.
    op_type = palette.locator("form").get_by_role("combobox", name="Op type")
    op_type.fill("MatMul")
    expect(palette.get_by_role("switch", name="transpose_a")).not_to_be_checked()
    op_type.fill("AvgPool")
    padding = palette.get_by_role("combobox", name="padding")
    expect(padding.locator("option")).to_have_text(["Choose …", "SAME", "VALID"])
    op_type.fill("Cast")
    expect(dtype).to_be_visible()
    page.keyboard.press("Escape")
    expect(dtype).to_have_count(0)
