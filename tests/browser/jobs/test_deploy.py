"""From a graph to what runs elsewhere: check it, fix it, give it a signature, export it with
options.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from playwright.sync_api import Locator, Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [2, 3], name="x")
    shift = v1.placeholder(tf.float32, [2, 2], name="shift")
    w = v1.get_variable("w", [3, 2], initializer=v1.ones_initializer(), use_resource=True)
    gamma = tf.math.igamma(tf.abs(tf.matmul(x, w, name="product"), name="size"), 2.0, name="gamma")
    y = tf.add(gamma, shift, name="y")
    loss = tf.reduce_mean(tf.square(y), name="loss")
    v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w), var_list=[w])
session = v1.Session(graph=graph)
with graph.as_default():
    session.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=session)
editor.view.widget.height = 600
"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """A small network that trains, with an op that converters do not know, in the widget of a
    notebook's cell.
    """
    for file in jupyter_server.root.glob("graph*"):
        file.unlink()
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "deploy.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def finding(hand: Hand, code: str) -> Locator:
    """A row of the list of findings."""
    return hand.root.get_by_role("list", name="Findings").locator(f"[data-code='{code}']")


def canvas(hand: Hand) -> bytes:
    """The drawing, with nothing under the pointer."""
    hand.page.mouse.move(0, 0)
    hand.widget.settled()
    return hand.root.locator("canvas").first.screenshot()


def test_a_graph_is_checked_fixed_and_given_a_signature_whose_inputs_are_ordered(
    hand: Hand,
) -> None:
    root, whole = hand.root, hand.root.get_by_role("tabpanel", name="Model")
    expect(root.locator(".tgw-model")).to_have_attribute("data-known", "true")
    hand.click(root.get_by_role("tab", name="Model"))
    hand.click(whole.get_by_role("button", name="Check the graph"))
    training = finding(hand, "training-ops")
    expect(training).to_be_visible()
    assert hand.clicks == 2

    # A finding is lit in the drawing, and its sentence is below it.
    before = canvas(hand)
    hand.click(training.locator(".tgw-finding"))
    expect(hand.widget.status).to_contain_text(training.locator(".tgw-finding").inner_text())
    assert canvas(hand) != before
    shoot(root, "deploy_lit_light")

    # For another target there are others.
    expect(finding(hand, "no-kernel")).to_have_count(0)
    whole.get_by_role("combobox", name="Where the graph is to run").select_option("tflite")
    hand.click(whole.get_by_role("button", name="Check the graph"))
    expect(finding(hand, "no-kernel")).to_contain_text("Igamma")

    # Its button fixes it, and the list is that of the graph as it is then.
    hand.click(training.locator(".tgw-button"))
    assert hand.lines(1)[0].startswith("editor.passes.strip_training(")
    expect(training).to_have_count(0)
    expect(finding(hand, "no-kernel")).to_have_count(1)

    # A graph without signatures has a likely one.
    signatures = root.get_by_role("list", name="Signatures")
    expect(signatures).to_contain_text("No signature yet; likely x, shift → ")
    hand.click(signatures.get_by_role("button", name="Add"))
    hand.lines(2)
    expect(signatures).to_contain_text("serving_default: ")

    clicks = hand.clicks
    hand.click(whole.get_by_role("button", name="Order signature …"))
    inputs = whole.get_by_role("list", name="Inputs")
    keys = inputs.get_by_role("textbox")
    expect(keys).to_have_count(2)
    order = [keys.nth(k).input_value() for k in range(2)]
    hand.click(inputs.get_by_role("button", name=f"Move down: {order[0]}"))
    expect(keys.first).to_have_value(order[1])
    for dark in (False, True):
        set_theme(hand.page, dark=dark)
        hand.widget.settled()
        shoot(root, f"deploy_signature_{'dark' if dark else 'light'}")
    hand.click(whole.get_by_role("button", name="Apply"))
    assert hand.clicks - clicks == 3
    assert (
        hand.lines(3)[2]
        == f'editor.signatures.reorder(name="serving_default", inputs=["{order[1]}", "{order[0]}"])'
    )

    # Keys are edited at the same place; two alike are refused in the form.
    hand.click(whole.get_by_role("button", name="Order signature …"))
    expect(keys.first).to_have_value(order[1])
    keys.first.fill(order[0])
    hand.press("Enter")
    refused = whole.get_by_role("alert").filter(has_text="Two inputs have the key")
    expect(refused).to_be_visible()
    keys.first.fill("offset")
    hand.press("Enter")
    hand.lines(4)
    signature = hand.widget.notebook.kernel_eval("list(editor.signatures.values())[0].inputs")
    assert [key for key, _ in signature] == ["offset", order[0]]

    # A signature is renamed, and removed, by one that is chosen.
    hand.click(whole.get_by_role("button", name="Rename signature …"))
    chosen = whole.get_by_role("combobox", name="Signature")
    expect(chosen).to_have_value("serving_default")
    expect(whole.get_by_role("textbox", name="New name")).to_be_focused()
    # Selected: it is replaced.
    expect(whole.get_by_role("textbox", name="New name")).to_have_value("serving_default")
    hand.type("scores")
    hand.press("Enter")
    assert hand.lines(5)[4] == 'editor.signatures.rename(name="serving_default", new="scores")'
    hand.click(whole.get_by_role("button", name="Remove signature …"))
    expect(chosen).to_have_value("scores")
    expect(chosen).to_be_focused()
    hand.click(whole.get_by_role("button", name="Apply"))
    assert hand.lines(6)[5] == 'editor.signatures.remove(name="scores")'
    hand.click(whole.get_by_role("button", name="Remove signature …"))
    expect(whole.get_by_role("alert").filter(has_text="The graph has no signature")).to_be_visible()
    expect(whole.get_by_role("button", name="Apply")).to_be_disabled()


@pytest.mark.slow
def test_what_a_converter_refuses_is_lit_and_its_options_are_in_the_form(
    hand: Hand, jupyter_server: JupyterServer
) -> None:
    root = hand.root
    hand.widget.notebook.kernel_eval("0", before="editor.mark(['x', 'shift'], ['y'])")
    hand.widget.settled()
    before = canvas(hand)
    hand.click(root.get_by_role("button", name="Export", exact=True))
    hand.click(root.get_by_role("menuitem", name="TFLite"))
    form = root.get_by_role("form", name="Save TFLite")
    weights = form.get_by_role("combobox", name="Weights")
    assert weights.locator("option").all_inner_texts() == ["as it is", "float16", "dynamic"]
    hand.press("Enter")
    expect(form.get_by_role("alert")).to_contain_text("Igamma", timeout=120_000)
    shoot(root, "deploy_refused_light")
    assert hand.widget.notebook.kernel_eval("editor.history.lines") == []
    assert not (jupyter_server.root / "graph.tflite").exists()
    expect(form.get_by_role("alert")).to_contain_text(
        "choose a boundary without it, or put another op in its place"
    )
    hand.press("Escape")
    assert canvas(hand) != before
    for dark in (True, False):
        set_theme(hand.page, dark=dark)
        shoot(root, f"deploy_refused_lit_{'dark' if dark else 'light'}")

    hand.widget.notebook.kernel_eval("0", before="editor.bypass('gamma')")
    sizes = []
    for choice in ("", "float16"):
        hand.click(root.get_by_role("button", name="Export", exact=True))
        hand.click(root.get_by_role("menuitem", name="TFLite"))
        weights.select_option(label=choice or "as it is")
        shoot(root, "deploy_options_light")
        form.get_by_role("textbox", name="Path").fill(f"graph_{choice}.tflite")
        hand.press("Enter")
        expect(hand.widget.status).to_contain_text(
            f"Saved as graph_{choice}.tflite", timeout=120_000
        )
        expect(hand.widget.status).to_contain_text("largest")
        sizes.append((jupyter_server.root / f"graph_{choice}.tflite").read_bytes())
    assert sizes[0] != sizes[1]
    hand.click(root.get_by_role("button", name="Export", exact=True))
    hand.click(root.get_by_role("menuitem", name="ONNX"))
    form = root.get_by_role("form", name="Save ONNX")
    opset = form.get_by_role("combobox", name="Opset")
    assert opset.locator("option").all_inner_texts() == ["as it is", *map(str, range(13, 19))]
    form.get_by_role("textbox", name="Path").fill("graph_.onnx")
    hand.press("Enter")
    expect(hand.widget.status).to_contain_text("Saved as graph_.onnx", timeout=120_000)
    shoot(root, "deploy_saved_onnx_light")
    inputs = onnxruntime.InferenceSession(jupyter_server.root / "graph_.onnx").get_inputs()
    assert [each.name for each in inputs] == ["x", "shift"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # what the saves have to say
def test_save_as_of_a_document_has_the_options_of_the_format(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2, 3], name="x")
        tf.matmul(x, tf.constant([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), name="y")
    (jupyter_server.root / "options.pb").write_bytes(graph.as_graph_def().SerializeToString())
    page.goto(jupyter_server.page_url("options.pb"))
    root = page.locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    root.click(position={"x": 200, "y": 300})
    page.keyboard.press("Control+s")
    dialog = page.locator(".tgw-save")
    kind = dialog.get_by_label("Kind")
    expect(kind).to_be_visible()
    assert dialog.locator(".tgw-save-options select").count() == 0
    kind.select_option(label="TFLite (.tflite)")
    dialog.get_by_label("Weights").select_option("float16")
    name = dialog.get_by_label("Name")
    name.fill("chosen.tflite")  # the kind is the same: so are its options
    expect(dialog.get_by_label("Weights")).to_have_value("float16")
    shoot(page, "deploy_save_as_light")
    page.locator(".jp-Dialog-button.jp-mod-accept").click()
    expect(page.get_by_text("Saved as chosen.tflite")).to_be_visible(timeout=120_000)
    expect(page.get_by_text("The largest difference from the graph is")).to_be_visible()
    plain = tgw.edit(graph).save(tmp_path / "plain.tflite")
    optimized = tgw.edit(graph).save(tmp_path / "optimized.tflite", optimize="float16")
    size = (jupyter_server.root / "chosen.tflite").stat().st_size
    assert size == optimized.stat().st_size != plain.stat().st_size

    # The button Export of the document saves both.
    for kind_of_file, suffix in (("TFLite", "tflite"), ("ONNX", "onnx")):
        root.get_by_role("button", name="Export", exact=True).click()
        root.get_by_role("menuitem", name=kind_of_file).click()
        form = root.get_by_role("form", name=f"Save {kind_of_file}")
        form.get_by_role("textbox", name="Path").fill(f"exported.{suffix}")
        page.keyboard.press("Enter")
        expect(root.locator(".tgw-status")).to_contain_text(
            f"Saved as exported.{suffix}", timeout=120_000
        )
        shoot(page, f"deploy_document_{suffix}_light")
    assert (jupyter_server.root / "exported.tflite").read_bytes() == plain.read_bytes()
    fed = {"x": np.ones([2, 3], np.float32)}
    (y,) = onnxruntime.InferenceSession(jupyter_server.root / "exported.onnx").run(None, fed)
    np.testing.assert_allclose(y, [[0.9, 1.2]] * 2, rtol=1e-5)

    # The file has other ops now, and what the converter does not take of them is lit in a document
    # too.
    with graph.as_default():
        tf.math.igamma(
            tf.nn.dropout(graph.get_tensor_by_name("y:0"), 0.5, name="dropout"), 2.0, name="gamma"
        )
    (jupyter_server.root / "options.pb").write_bytes(graph.as_graph_def().SerializeToString())
    expect(root.locator(".tgw-status")).to_contain_text(
        f"{len(graph.get_operations())} ops", timeout=60_000
    )
    before = root.locator("canvas").first.screenshot()
    root.click(position={"x": 200, "y": 300})
    page.keyboard.press("Control+s")
    kind.select_option(label="TFLite (.tflite)")
    name.fill("refused.tflite")
    page.locator(".jp-Dialog-button.jp-mod-accept").click()
    why = page.get_by_text("(Igamma): TFLite has no builtin op")
    expect(why.first).to_contain_text(
        "choose a boundary without it, or put another op in its place: Replace", timeout=120_000
    )
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    root.get_by_role("button", name="Export", exact=True).click()
    root.get_by_role("menuitem", name="TFLite").click()
    page.keyboard.press("Enter")
    form = root.get_by_role("form", name="Save TFLite")
    expect(form.get_by_role("alert")).to_contain_text(
        "(Igamma): TFLite has no builtin op", timeout=120_000
    )
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    assert root.locator("canvas").first.screenshot() != before
    shoot(page, "deploy_document_refused_light")
    set_theme(page)
    shoot(page, "deploy_document_refused_dark")
    assert not list(jupyter_server.root.glob("refused*"))
