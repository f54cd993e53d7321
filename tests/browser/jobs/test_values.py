"""Values are fed by a form, shown on the lines and in the inspector, and become variables of the
notebook.
"""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.jobs.counted import WEIGHTS, Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

# A form that feeds: test_values_in_view.py; what stays over a reload: test_files.py. These tests
# leave a page whose canvases record, so they share none.
pytestmark = pytest.mark.slow

GRAPH = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 64], name="x")
    w = v1.get_variable(
        "w", initializer=np.arange(192, dtype=np.float32).reshape(64, 3), use_resource=True
    )
    h = tf.matmul(x, w, name="product")
    y = tf.square(tf.nn.relu(h, name="act"), name="y")
    for _ in range(6):
        y = tf.negative(y)
    tf.add(h, y, name="far")  # one line of it is short, one long
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
batch = np.full([2, 64], 0.5, np.float32)
taken = "mine"
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600

def arrow(source, target):
    "How far to the right of the middle of a box the line from another one comes in."
    (drawing,) = editor.view.widget._pane._handler._drawings.values()  # it may be narrow
    scene = drawing.scene
    names = list(scene.names)
    ends = names.index(source), names.index(target)
    line = list(zip(scene.source.tolist(), scene.target.tolist())).index(ends)
    x, _, width, _ = scene.box[ends[1]].tolist()
    return float(scene.route[scene.route_start[line + 1] - 1][0]) - x - width / 2
"""


# What is written from now on, and how many dots of the size of a value's are filled.
RECORD = """() => {
    Object.assign(window, { drawnTexts: [], drawnDots: 0 });
    for (const { prototype } of [CanvasRenderingContext2D, OffscreenCanvasRenderingContext2D]) {
        const { arc, fill, fillText, beginPath } = prototype;
        let radius = 0;
        prototype.beginPath = function () { radius = 0; return beginPath.call(this); };
        prototype.arc = function (x, y, r, ...more) {
            radius = r;
            return arc.call(this, x, y, r, ...more);
        };
        prototype.fill = function (...path) {
            if (2.5 < radius && radius < 6) window.drawnDots++;
            return fill.call(this, ...path);
        };
        prototype.fillText = function (text, ...place) {
            window.drawnTexts.push(text);
            return fillText.call(this, text, ...place);
        };
    }
}"""


def values_are_on_the_lines(hand: Hand) -> None:
    """The value of a line is written on it, or is a dot; pointing at it says the rest."""
    root, page = hand.root, hand.page
    hand.right_click("product")
    hand.choose("Values")
    expect(hand.widget.status).to_contain_text("product:0: float32 4×3, mean ")
    text = (hand.widget.status.inner_text().split("4×3, ")[1]).split(".\n")[0]
    page.mouse.move(0, 0)
    root.focus()
    page.evaluate(RECORD)
    page.keyboard.press("f")
    page.keyboard.press("+")
    # The mean, and the range where there is room for it.
    says = "mean => window.drawnTexts.some((drawn) => drawn.startsWith(mean))"
    page.wait_for_function(says, arg=text.split(",")[0])
    hand.widget.place("far")
    shoot(root, "values_on_lines_light")
    while (zoom := hand.widget.number("zoom")) >= 0.7:  # no text there is legible
        page.keyboard.press("-")
        hand.widget.place("far")
        assert hand.widget.number("zoom") < zoom
    page.wait_for_function("window.drawnDots >= 2")
    shoot(root, "values_dots_light")
    place = root.evaluate(AT_REST, "act")
    aside = hand.widget.notebook.kernel_eval("arrow('product', 'act')") * hand.widget.number("zoom")
    page.mouse.move(place["x"] + aside, place["y"] - place["height"] / 2 - 3)
    expect(root.locator(".tgw-tooltip")).to_contain_text(text)
    page.keyboard.press("f")
    hand.widget.place("far")


def shown(page: Page, server: JupyterServer, name: str) -> Hand:
    """The widget of a notebook's cell, with the inspector in front."""
    page.set_viewport_size({"width": 1440, "height": 860})
    notebook = open_notebook(page, server, write_notebook(server, name, [GRAPH, "editor"]))
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    root.get_by_role("tab", name="Op").click()
    return Hand(Widget(notebook, root))


def test_zeros_and_random_values_are_chosen_and_stay_over_a_reload(
    page: Page, jupyter_server: JupyterServer
) -> None:
    hand = shown(page, jupyter_server, "chosen.ipynb")
    root, notebook = hand.root, hand.widget.notebook

    # Zeros.
    hand.right_click("product")
    hand.choose("Values")
    row = hand.menu.get_by_role("group", name="x:0")
    kind = row.get_by_role("combobox", name="Value", exact=True)
    kind.select_option("Zeros")
    row.get_by_role("textbox", name="Shape").fill("[2, 64]")
    hand.click(hand.menu.get_by_role("button", name="Run"))
    expect(hand.menu).to_be_hidden()
    hand.widget.settled()
    panel = root.get_by_role("tabpanel", name="Op")
    seen = panel.get_by_role("group", name="Value in the last run")
    expect(hand.widget.status).to_contain_text("product:0: float32 2×3, ")
    assert (
        notebook.kernel_eval(
            "float(np.abs(editor._core.evaluator.probed['product'][0].value).max())"
        )
        == 0
    )
    shoot(page, "feeds_zeros_light")

    # Random values in a range that is typed: first one that cannot be.
    hand.click(panel.get_by_role("button", name="Feeds …"))
    row = panel.get_by_role("group", name="x:0")
    expect(row.get_by_role("combobox", name="Value", exact=True)).to_have_value("zeros")
    row.get_by_role("combobox", name="Value", exact=True).select_option("Random")
    low, high = (row.get_by_role("textbox", name=name) for name in ("From", "To"))
    hand.fill(low, "3")
    hand.fill(high, "2")
    hand.click(panel.get_by_role("button", name="Run"))
    expect(row.get_by_role("alert")).to_contain_text("3 is more than 2; swap the two.")
    expect(low).to_have_attribute("aria-invalid", "true")
    expect(row.get_by_role("textbox", name="Shape")).not_to_have_attribute("aria-invalid", "true")
    shoot(page, "feeds_random_refused_light")
    hand.fill(low, "2")
    hand.fill(high, "3")
    hand.click(panel.get_by_role("button", name="Run"))
    expect(seen).not_to_contain_text("mean 0")
    hand.widget.settled()
    # Each column of the product is a sum of x times 0 to 191, so it tells the mean of x.
    mean = notebook.kernel_eval(
        "float((editor._core.evaluator.probed['product'][0].value / sess.run(w).sum(0)).mean())"
    )
    assert 2 < mean < 3
    assert mean != 2.5
    # The result is in the inspector, and on the line as it is there.
    text = hand.widget.status.inner_text().split("2×3, ")[1].split(".\n")[0]
    expect(seen).to_contain_text(text.split(",")[0].removeprefix("mean "))
    page.mouse.move(0, 0)
    page.evaluate(RECORD)
    root.focus()
    page.keyboard.press("f")
    page.keyboard.press("+")
    says = "mean => window.drawnTexts.some((drawn) => drawn.startsWith(mean))"
    page.wait_for_function(says, arg=text.split(",")[0])
    set_theme(page, dark=True)
    hand.widget.settled()
    shoot(page, "feeds_random_dark")

    # The page is loaded again: the kernel has what was chosen last.
    page.keyboard.press("Control+s")
    expect(
        page.locator(".jp-NotebookPanel .jp-mod-dirty, .lm-TabBar-tab.jp-mod-dirty")
    ).to_have_count(0)
    page.reload()
    root = notebook.output(1).locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    root.get_by_role("tab", name="Op").click()
    hand.click_at(*hand.widget.place("product"))
    hand.widget.settled()
    panel = root.get_by_role("tabpanel", name="Op")
    expect(panel.get_by_role("group", name="Value in the last run")).to_contain_text("2×3")
    hand.click(panel.get_by_role("button", name="Feeds …"))
    row = panel.get_by_role("group", name="x:0")
    expect(row.get_by_role("combobox", name="Value", exact=True)).to_have_value("random")
    for name, value in (("Shape", "[2, 64]"), ("From", "2"), ("To", "3")):
        expect(row.get_by_role("textbox", name=name)).to_have_value(value)
    shoot(page, "feeds_reloaded_dark")
    # Another op runs with them at once.
    page.keyboard.press("Escape")
    hand.right_click("act")
    hand.choose("Values")
    expect(hand.menu).to_be_hidden()
    # Asked what to feed first, then run.
    expect(hand.widget.status).to_contain_text("act:0: float32 2×3, ")
    assert notebook.kernel_eval("editor._core.evaluator.probed['act'][0].shape") == [2, 3]

    # The cell is run again: another widget of the same editor.
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    hand.right_click("y")
    hand.choose("Values")
    expect(hand.menu).to_be_hidden()
    # Asked what to feed first, then run.
    expect(hand.widget.status).to_contain_text("y:0: float32 2×3, ")
    assert notebook.kernel_eval("editor._core.evaluator.probed['y'][0].shape") == [2, 3]


def test_values_are_fed_shown_and_taken(page: Page, jupyter_server: JupyterServer) -> None:
    np.save(jupyter_server.root / "x.npy", np.ones([3, 64], np.float32))
    hand = shown(page, jupyter_server, "values.ipynb")
    root, notebook = hand.root, hand.widget.notebook
    panel = root.get_by_role("tabpanel", name="Op")

    # The placeholder is asked for, with its shape.
    hand.right_click("y")
    hand.choose("Values")
    row = hand.menu.get_by_role("group", name="x:0")
    expect(row).to_contain_text("float32 ?×64")
    shape = row.get_by_role("textbox", name="Shape")
    expect(shape).to_have_value("[1, 64]")
    shape.fill("[4, 5]")
    run = hand.menu.get_by_role("button", name="Run")
    run.click()
    expect(row.get_by_role("alert")).to_contain_text("shape 4×5 does not fit ?×64")
    shape.fill("[4, 64]")
    shoot(page, "feeds_light")
    hand.click(run)
    expect(hand.menu).to_be_hidden()
    hand.widget.settled()
    assert notebook.kernel_eval("editor._core.evaluator.probed['y'][0].shape") == [4, 3]
    assert hand.clicks == 3
    expect(hand.widget.status).to_contain_text("y:0: float32 4×3, ")
    values_are_on_the_lines(hand)

    # It is remembered: the next op needs two clicks. Other values are one form away.
    root.get_by_role("tab", name="Costs").click()  # the result comes to the front
    hand.clicks = 0
    hand.right_click("act")
    hand.choose("Values")
    seen = panel.get_by_role("group", name="Value in the last run")
    expect(seen).to_contain_text("4×3")
    assert notebook.kernel_eval("editor._core.evaluator.probed['act'][0].shape") == [4, 3]
    assert hand.clicks == 2
    panel.get_by_role("button", name="Feeds …").click()
    row = panel.get_by_role("group", name="x:0")
    row.get_by_role("combobox", name="Value", exact=True).select_option("variable")
    row.get_by_role("combobox", name="Name").fill("batch")
    panel.get_by_role("button", name="Run").click()
    expect(seen).to_contain_text("3024")
    assert notebook.kernel_eval("editor._core.evaluator.probed['act'][0].value.tolist()[0]") == [
        3024.0,
        3056.0,
        3088.0,
    ]
    shoot(page, "values_light")
    panel.get_by_role("button", name="Feeds …").click()
    row.get_by_role("combobox", name="Value", exact=True).select_option("file")
    row.get_by_role("textbox", name="Path").fill("x.npy")
    panel.get_by_role("button", name="Run").click()
    expect(seen).to_contain_text("3×3")
    assert notebook.kernel_eval("editor._core.evaluator.probed['act'][0].shape") == [3, 3]

    # The result, as a variable of the notebook.
    panel.locator(".tgw-tensors").get_by_role("button", name="As variable …").click()
    expect(panel.get_by_role("textbox", name="Variable")).to_have_value("act")
    page.keyboard.press("Enter")
    expect(hand.widget.status).to_contain_text("act is a numpy array float32 3×3 in the notebook.")
    assert (
        notebook.kernel_eval(
            "act.tolist() == editor._core.evaluator.probed['act'][0].value.tolist()"
        )
        is True
    )

    # Weights, whole: two clicks. A name that is taken is not overwritten silently.
    set_theme(page, dark=True)
    hand.widget.click("w")
    hand.widget.settled()
    hand.begin()
    hand.click(panel.get_by_role("button", name="As variable …"))
    name = panel.get_by_role("textbox", name="Variable")
    expect(name).to_be_focused()
    shoot(page, "weights_dark")
    name.fill("taken")
    panel.get_by_role("button", name="Assign").click()
    expect(panel.get_by_role("alert")).to_contain_text("The notebook has a variable 'taken'")
    assert notebook.kernel_eval("taken") == "mine"
    name.fill("weights")
    hand.click(panel.get_by_role("button", name="Assign"))
    expect(hand.widget.status).to_contain_text("weights is a numpy array float32 64×3")
    assert notebook.kernel_eval("[type(weights).__name__, float(weights.sum())]") == [
        "ndarray",
        18336.0,
    ]
    hand.done(WEIGHTS)
