"""A dropout in a graph that trains is bypassed with one click, and the graph goes on training."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import BYPASS, Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
def trained(rate, penalty=False):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", initializer=np.float32(np.eye(4)), use_resource=True)
        h = tf.nn.relu(tf.matmul(x, w), name="relu")
        if rate:
            h = v1.nn.dropout(h, rate=rate, seed=1, name="dropout")
        loss = tf.reduce_mean(tf.square(h), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
        if penalty:  # a gradient of a gradient, as of a gradient penalty
            tf.gradients(tf.gradients(loss, x), graph.get_tensor_by_name("relu:0"))
    sess = v1.Session(graph=graph)
    with graph.as_default():
        sess.run(v1.global_variables_initializer())
    return graph, sess
def step(sess):
    sess.run("step", {"x:0": np.ones((1, 4), np.float32)})
    return sess.run("w/Read/ReadVariableOp:0").tolist()
wanted = step(trained(None)[1])
graph, sess = trained(0.5)
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 560
penalized = tgw.edit(trained(0.5, penalty=True)[0])
penalized.view.widget.height = 560
"""


def test_a_dropout_that_trains_is_bypassed_with_one_click(
    page: Page, jupyter_server: JupyterServer
) -> None:
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "dropout.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    hand.click_at(*hand.widget.place("dropout"))
    hand.begin()  # it is in the inspector: one more does it
    hand.click(
        root.get_by_role("group", name="Edit this scope").get_by_role("button", name="Bypass")
    )
    assert hand.lines(1) == ['editor.bypass(what="dropout/", gradients=True)']
    expect(hand.widget.status).to_contain_text("Its gradients are bypassed")
    hand.done(BYPASS)
    shoot(page, "bypass_dropout")
    assert notebook.kernel_eval("np.allclose(step(sess), wanted)") is True


@pytest.mark.slow  # test_edit_by_clicking.py follows the buttons of a refusal
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_gradient_of_a_gradient_is_refused_with_the_button_that_helps(
    page: Page, jupyter_server: JupyterServer, theme: str
) -> None:
    cells = [GRAPH, "penalized"]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "penalty.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    set_theme(page, dark=theme == "dark")
    hand.widget.settled()
    hand.click_at(*hand.widget.place("dropout"))
    bypass = root.get_by_role("group", name="Edit this scope").get_by_role("button", name="Bypass")
    hand.click(bypass)
    status = hand.widget.status
    expect(status).to_contain_text("is a gradient of a gradient of these ops")
    said = status.inner_text()
    assert not re.search(r"\w+=|editor\.|\(\)", said), said  # no Python
    shoot(page, f"bypass_refused_{theme}")
    assert notebook.kernel_eval("list(penalized.history.lines)") == []
    strip = status.get_by_role("group", name="Suggested fixes").get_by_role("button").first
    assert strip.inner_text().strip().lower() in said.lower()
    hand.click(strip)
    expect(root.locator(".tgw-step")).to_have_count(2)
    hand.widget.settled()
    shoot(page, f"bypass_stripped_{theme}")
    hand.click_at(*hand.widget.place("dropout"))
    hand.click(bypass)
    expect(root.locator(".tgw-step")).to_have_count(3)
    hand.widget.settled()
    assert notebook.kernel_eval("list(penalized.history.lines)")[1].startswith(
        'editor.bypass(what="dropout/"'
    )
    shoot(page, f"bypass_then_done_{theme}")
