"""What the page says is right: sizes are the same everywhere, a preview lists what is shared, and
names are names.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import OpenNotebook, open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_panel import open_panel

pytestmark = pytest.mark.one_page

WINDOW = {"width": 1600, "height": 900}
DEEP = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
deep = tf.Graph()
with deep.as_default():
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for k in range(14):
        with v1.variable_scope(f"dense_{k}"):
            kernel, bias = (
                v1.get_variable(name, shape) for name, shape in (("kernel", [4, 4]), ("bias", [4]))
            )
            h = tf.nn.relu(h @ kernel + bias)
    h = v1.nn.dropout(h, rate=0.5, seed=1, name="dropout")
    loss = tf.reduce_mean(tf.square(h), name="loss")
    v1.train.AdamOptimizer(0.1).minimize(loss, name="step")
editor = tgw.edit(deep)
editor.remove("step")  # TensorFlow's graph keeps what is removed
size = len(editor._core.index)
editor.view.widget.height = 600
"""
CALLS = """
import tensorflow as tf
import tfgraphwidget as tgw

weights = tf.Variable(tf.ones([4, 4]), name="weights")
@tf.function
def layer(x):
    return tf.nn.relu(x @ weights)
@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
def model(x):
    return tf.identity(layer(layer(x)), name="y")
editor = tgw.edit(model)
calls = [op.name for op in editor.graph.get_operations() if "PartitionedCall" in op.type]
editor.view.widget.height = 600
"""


def shown(notebook: OpenNotebook, cell: int) -> Hand:
    """The widget of a cell."""
    root = notebook.run_cell(cell).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def test_a_graph_has_one_size_and_a_dropout_shares_no_variables(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size(WINDOW)
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "words.ipynb", [DEEP, "editor"])
    )
    notebook.run_cell(0)
    hand = shown(notebook, 1)
    size = f"{notebook.kernel_eval('size'):,} ops"
    expect(hand.root.locator(".tgw-size")).to_contain_text(size)

    # All its inputs depend on 28 variables, of which a copy of it reads none.
    hand.right_click("dropout")
    hand.choose("Clone …")
    preview = hand.root.get_by_role("group", name="Preview of the clone")
    expect(preview).to_contain_text("Copies")
    expect(preview).not_to_contain_text("variable")
    expect(preview).not_to_contain_text("shared")
    shoot(page, "right_words_dropout_light")
    set_theme(page, dark=True)
    hand.widget.settled()
    shoot(page, "right_words_dropout_dark")

    # What the chooser says is what the editor says.
    panel = open_panel(notebook)
    row = panel.says("Which graph?").locator(".tgw-pane-row", has_text=re.compile("^deep"))
    expect(row).to_contain_text(size)
    shoot(page, "right_words_chooser_dark")
    hand.click(row)
    expect(panel.widget().root.locator(".tgw-size")).to_contain_text(size)


def test_functions_have_their_names_wherever_they_are_shown(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size(WINDOW)
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "calls.ipynb", [CALLS, "editor"])
    )
    notebook.run_cell(0)
    hand = shown(notebook, 1)
    root, seen = hand.root, []
    for call in notebook.kernel_eval("calls"):
        x, y = hand.widget.place(call)
        page.mouse.move(x, y)
        expect(root.locator(".tgw-tooltip")).to_be_visible()
        seen.append(root.inner_text())
        hand.click_at(x, y)
        hand.widget.settled()
        panel = root.get_by_role("tabpanel", name="Op")
        expect(panel).to_contain_text("PartitionedCall")
        root.evaluate(
            "root => { for (const part of root.querySelectorAll('details')) part.open = true; }"
        )
        seen.append(root.inner_text())
        shoot(page, f"right_words_calls_{len(seen)}_light")
        hand.right_click(call)
        seen.append(root.inner_text())
        page.keyboard.press("Escape")
    assert len(seen) > 2
    for name in ("Model", "Selection", "History", "Costs"):
        hand.widget.tab(name)
        hand.widget.settled()
        seen.append(root.inner_text())
    set_theme(page, dark=True)
    hand.widget.settled()
    shoot(page, "right_words_calls_dark")
    titles = root.evaluate(
        "root => [...root.querySelectorAll('[title]')].map((part) => part.title)"
    )
    # Bytes that are no text, as a serialized config_proto, are as Python writes them, so that they
    # can be set.
    found = [re.findall(r".*\bb['\"]\w.*", text) for text in (*seen, *titles)]
    assert found == [[]] * len(found)
    assert "layer" in "".join(seen)
