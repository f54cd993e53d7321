"""What drawings and their menus look like in a cell, a portrait panel and a document, light and
dark.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST
from tests.browser.jobs.counted import Hand
from tests.browser.jobs.places import PLACES, Place, check_pictures, open_in
from tests.browser.lab import ARTIFACTS, set_theme, shoot
from tests.browser.server import JupyterServer
from tests.models import NOTEBOOK_MODELS

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("place", PLACES)]

IMPORTS = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
v1.disable_control_flow_v2()
def dense(x, name, units, act):
    with v1.variable_scope(name):
        w, b = v1.get_variable("w", [x.shape[1], units]), v1.get_variable("b", [units])
        x = tf.nn.bias_add(tf.matmul(x, w), b)
        return act(x) if act else x
"""
TOWERS = f"""{IMPORTS}
with tf.Graph().as_default() as graph:
    images = v1.placeholder(tf.float32, [None, 64], name="images")
    labels = v1.placeholder(tf.float32, [None, 10], name="labels")
    optimizer, pairs = v1.train.MomentumOptimizer(0.1, 0.9), []
    parts = zip(tf.split(images, 4, name="split_images"), tf.split(labels, 4, name="split_labels"))
    for gpu, (x, y) in enumerate(parts):
        with (
            tf.device(f"/gpu:{{gpu}}"),
            v1.name_scope(f"tower_{{gpu}}"),
            v1.variable_scope("net", reuse=gpu > 0),
        ):
            logits = dense(dense(x, "hidden", 32, tf.nn.relu), "logits", 10, None)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, logits), name="loss")
            pairs.append(optimizer.compute_gradients(loss))
    means = [
        (tf.reduce_mean(tf.stack([g for g, _ in each]), 0), each[0][1]) for each in zip(*pairs)
    ]
    optimizer.apply_gradients(means, name="train")
file = "towers.meta"
with graph.as_default():
    v1.train.export_meta_graph(file)
editor = tgw.edit(graph)
"""
BORDERS = f"""{IMPORTS}
with tf.Graph().as_default() as graph:
    words = v1.placeholder(tf.float32, [None, 16], name="words")
    labels = v1.placeholder(tf.float32, [None, 10], name="labels")
    with v1.name_scope("recurrence"):
        w = tf.random.normal([16, 16], name="w")
        _, state, _ = v1.while_loop(
            lambda step, state, total: step < 8,
            lambda step, state, total: (
                step + 1,
                tf.tanh(tf.matmul(state, w)) + words,
                total + tf.reduce_sum(state),
            ),
            [tf.constant(0), tf.zeros_like(words, name="start"), tf.constant(0.0)],
        )
    with v1.name_scope("network"):
        logits = dense(state, "logits", 10, None)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits), name="loss")
    tf.nn.softmax(logits, name="predictions")
file = "borders.meta"
with graph.as_default():
    v1.train.export_meta_graph(file)
editor = tgw.edit(graph)
"""
TRAINING = f"""{IMPORTS}
with tf.Graph().as_default() as graph:
    x = v1.placeholder(tf.float32, [None, 64], name="images")
    labels = v1.placeholder(tf.float32, [None, 10], name="labels")
    with v1.name_scope("network"):
        for layer in range(3):
            x = dense(x, f"hidden_{{layer}}", 32, tf.nn.relu)
            x = v1.nn.dropout(x, rate=0.5, name=f"dropout_{{layer}}")
        logits = dense(x, "logits", 10, None)
    with v1.name_scope("loss"):
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits), name="mean")
    with v1.name_scope("not_fetched"):
        v1.placeholder(tf.float32, [2], name="alone")
    v1.train.AdamOptimizer(0.1).minimize(loss, name="train")
file = "training.meta"
with graph.as_default():
    v1.train.export_meta_graph(file)
editor = tgw.edit(graph)
"""
MARKS = f"""{IMPORTS}
with tf.Graph().as_default() as graph:
    x = y = v1.placeholder(tf.float32, [None, 16], name="images")
    with v1.name_scope("net"):
        for layer in range(4):
            with v1.name_scope(f"layer_{{layer}}"):
                y = tf.nn.relu(tf.negative(y, name="minus"), name="act")
    y = dense(y, "dense", 8, tf.nn.relu)
    with graph.control_dependencies([v1.assert_non_negative(y)]):
        out = tf.nn.softmax(y, name="out")
    tf.nn.elu(out, name="lost")
    v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(out), name="step")
    v1.train.Saver()
file = "marks.meta"
with graph.as_default():
    v1.train.export_meta_graph(file)
editor = tgw.edit(graph)
"""


def model(name: str) -> str:
    """A cell that edits a model of the notebooks, and saves it for the document."""
    path = NOTEBOOK_MODELS / f"{name}.meta"
    return (
        f"import shutil, tfgraphwidget as tgw\nfile = shutil.copy({str(path)!r}, '.')\neditor "
        "= "
        "tgw.edit(file)"
    )


def whole(hand: Hand) -> None:
    """All of the drawing in view, and nothing pointed at."""
    hand.root.focus()
    hand.page.keyboard.press("f")
    hand.page.mouse.move(0, 0)
    hand.widget.settled()
    hand.page.wait_for_timeout(500)  # it glides


def expand(hand: Hand, *names: str) -> None:
    """Double-click closed scopes."""
    for name in names:
        hand.widget.click(name, double=True)
        hand.widget.settled()
        hand.page.wait_for_timeout(500)


def is_drawn(hand: Hand, name: str) -> bool:
    """Whether there is a box for an op or scope."""
    place = hand.root.evaluate("(root, name) => root.tfgraphwidget.screenPosition(name)", name)
    return place is not None


def point_at(hand: Hand, name: str) -> None:
    """The pointer on a box."""
    hand.page.mouse.move(*hand.widget.place(name), steps=3)
    hand.page.wait_for_timeout(600)


def point_above(hand: Hand, name: str) -> None:
    """The pointer on the line that ends at an op."""
    box = hand.root.evaluate(AT_REST, name)
    hand.page.mouse.move(box["x"], box["y"] - box["height"] / 2 - 6, steps=3)
    hand.page.wait_for_timeout(300)


def test_towers(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "towers", TOWERS)
    check_pictures(hand, f"21_01_towers_{place}")
    hand.widget.click("tower_1")
    hand.widget.settled()
    check_pictures(hand, f"21_01_towers_picked_{place}")
    expand(hand, "tower_1")
    whole(hand)
    check_pictures(hand, f"21_01_towers_expanded_{place}")


def test_borders(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "borders", BORDERS)
    check_pictures(hand, f"21_02_borders_{place}")
    hand.root.focus()
    page.keyboard.press("Shift+E")
    hand.widget.settled()
    whole(hand)
    check_pictures(hand, f"21_02_borders_expanded_{place}")
    check_pictures(
        hand, f"21_02_borders_line_{place}", state=lambda: point_above(hand, "predictions")
    )


def test_insert(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "insert", TRAINING)
    check_pictures(hand, f"21_03_opened_{place}")
    if not is_drawn(hand, "network/hidden_1"):
        expand(hand, "network")
    whole(hand)
    expand(hand, "network/hidden_1")
    hand.right_click("network/hidden_1/Relu")
    hand.choose("Insert after …")
    name = hand.menu.get_by_role("textbox", name="Name")
    expect(name).to_be_visible()
    check_pictures(hand, f"21_03_form_{place}")
    hand.fill(hand.menu.get_by_role("combobox", name="Op type"), "Tanh")
    hand.fill(name, "squashed")
    hand.menu.get_by_role("button", name="Apply").click()
    expect(hand.widget.status).to_contain_text("Inserted Tanh")
    hand.widget.settled()
    hand.widget.place("network/hidden_1/squashed")
    check_pictures(hand, f"21_03_done_{place}")


def test_unused(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "unused", TRAINING)
    if not is_drawn(hand, "network/dropout_1"):
        expand(hand, "network")
    whole(hand)
    top = hand.root.evaluate(AT_REST, "labels")
    hand.right_click("network/dropout_1")
    hand.choose("Bypass")
    remove = hand.widget.status.get_by_role("button", name="Remove 34 unused ops")
    expect(remove).to_be_visible()
    check_pictures(hand, f"21_04_bypassed_{place}")
    # What was in view is in view, below the name of the graph.
    title = hand.root.locator(".tgw-title").bounding_box()
    assert title
    labels = hand.root.evaluate(AT_REST, "labels")
    assert (
        labels["y"] - labels["height"] / 2 >= title["y"] + title["height"]
        or labels["y"] == top["y"]
    )
    canvas = hand.root.locator("canvas").first.bounding_box()
    assert canvas
    hand.click_at(canvas["x"] + 8, canvas["y"] + canvas["height"] / 2)
    check_pictures(hand, f"21_04_unused_{place}", state=lambda: point_at(hand, "network/dropout_1"))
    remove.click()
    expect(remove).to_have_count(0)
    hand.widget.settled()
    whole(hand)
    check_pictures(hand, f"21_04_removed_{place}")
    hand.widget.click("network/hidden_2")
    hand.widget.settled()
    hand.page.keyboard.press("Delete")
    hand.widget.settled("refused")
    page.wait_for_timeout(500)
    check_pictures(hand, f"21_04_refused_{place}")


@pytest.mark.parametrize("name", ["slim_inception_v3_infer", "seq2seq_v1", "dqn_online_train"])
def test_models(page: Page, jupyter_server: JupyterServer, place: Place, name: str) -> None:
    hand = open_in(page, jupyter_server, place, name, model(name))
    check_pictures(hand, f"21_05_{name}_{place}")
    hand.root.focus()
    page.keyboard.press("Shift+E")
    hand.widget.settled()
    page.wait_for_timeout(700)
    check_pictures(hand, f"21_05_{name}_expanded_{place}")
    page.mouse.move(*hand.widget.center())
    for _ in range(6):
        page.keyboard.press("+")
        page.wait_for_timeout(150)
    hand.widget.settled()
    check_pictures(hand, f"21_05_{name}_near_{place}")


def test_legend(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "legend", MARKS)
    button = hand.root.get_by_role("button", name="Legend")
    button.click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    check_pictures(hand, f"21_06_legend_{place}")
    button.click()
    whole(hand)
    for name in ("save", "Mean/Const", "(training)"):
        if is_drawn(hand, name):
            check_pictures(
                hand,
                f"21_06_{name.strip('()').replace('/', '_')}_{place}",
                state=lambda name=name: point_at(hand, name),
            )


def test_saved_pictures(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "saved", MARKS)
    whole(hand)
    for theme in ("light", "dark"):
        set_theme(page, dark=theme == "dark")
        hand.widget.settled()
        page.wait_for_timeout(500)
        shoot(hand.root, f"21_07_screen_{place}_{theme}")
        for kind in ("PNG", "SVG"):
            hand.root.get_by_role("button", name="Export", exact=True).click()
            hand.root.get_by_role("menuitem", name=f"Picture, {kind}").click()
            if kind == "PNG":
                shoot(page, f"21_07_form_{place}_{theme}")
            hand.press("Enter")
            expect(hand.widget.status).to_contain_text(f".{kind.lower()}")
            hand.widget.settled()
            saved = max(
                jupyter_server.root.glob(f"*.{kind.lower()}"), key=lambda path: path.stat().st_mtime
            )
            shutil.copy(saved, ARTIFACTS / f"21_07_saved_{place}_{theme}.{kind.lower()}")
            saved.unlink()
        drawn = page.context.new_page()
        drawn.goto((ARTIFACTS / f"21_07_saved_{place}_{theme}.svg").as_uri())
        shoot(drawn, f"21_07_svg_{place}_{theme}")
        drawn.close()


def test_menus_of_drawings(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "menus", TRAINING)
    if not is_drawn(hand, "network/hidden_1"):
        expand(hand, "network")
    whole(hand)
    expand(hand, "network/hidden_1")
    hand.widget.place("network/hidden_1/Relu")

    def menu(name: str, open_it: Callable[[], None], title: str) -> None:
        open_it()
        expect(hand.menu).to_be_visible()
        expect(hand.menu).to_have_attribute("aria-busy", "false")
        expect(hand.menu.locator(".tgw-label")).to_contain_text(title)
        check_pictures(hand, f"21_08_{name}_{place}")
        page.keyboard.press("Escape")
        expect(hand.menu).to_be_hidden()

    def line() -> None:
        point_above(hand, "network/hidden_1/Relu")
        page.mouse.down(button="right")
        page.mouse.up(button="right")

    menu("op", lambda: hand.right_click("network/hidden_1/Relu"), "Relu")
    menu("scope", lambda: hand.right_click("network/dropout_1"), "dropout_1")
    menu("open_scope", lambda: hand.right_click("network/hidden_1"), "hidden_1")
    menu("badge", lambda: hand.right_click("network/hidden_1/BiasAdd/ReadVariableOp"), "of BiasAdd")
    menu("line", line, "BiasAdd → Relu")
    canvas = hand.root.locator("canvas").first.bounding_box()
    assert canvas
    middle = canvas["x"] + 8, canvas["y"] + canvas["height"] / 2
    menu("canvas", lambda: hand.click_at(*middle, button="right"), "")
    menu("legend", lambda: hand.root.get_by_role("button", name="Legend").click(button="right"), "")
    for name in ("images", "labels"):
        hand.widget.click(name, "Control")
        hand.widget.settled()
    menu("selection", lambda: hand.right_click("images"), "2 selected ops")
    if place == "panel":
        hand.root.get_by_role("button", name="Panel").click()
    hand.widget.tab("Op")
    row = hand.root.locator(".tgw-panel .tgw-link:visible").first
    menu("row", lambda: row.click(button="right"), "")
