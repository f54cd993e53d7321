"""Export from a notebook and a document: save a frozen graph, download, replace, open what was
saved.
"""

from __future__ import annotations

import re
import shutil
import struct
from xml.etree import ElementTree as ET

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import Widget
from tests.browser.jobs.counted import SAVE, Hand
from tests.browser.lab import (
    expecting,
    open_document,
    open_notebook,
    set_theme,
    shoot,
    write_notebook,
)
from tests.browser.server import JupyterServer
from tfgraphwidget.widget.save_formats import list_save_formats

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    with v1.variable_scope("net"):
        w = v1.get_variable("w", [3, 3], initializer=v1.ones_initializer(), use_resource=True)
        y = tf.nn.relu(tf.matmul(x, w), name="act")
    loss = tf.reduce_mean(tf.square(y), name="loss")
    v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600
"""

LABELS = {each.label for each in list_save_formats(tgw.edit(tf.Graph()))}
EDGE_LABEL = re.compile(r"[?\d]+×|×\d")
# What is drawn from now on: texts with their colors, and the colors of boxes.
RECORD = """() => {
    const hex = (style) => {
        const parts = /^rgba?\\((\\d+), ?(\\d+), ?(\\d+)/.exec(style);
        if (!parts) return style;
        return "#" + parts.slice(1, 4).map((n) => (+n).toString(16).padStart(2, "0")).join("");
    };
    [window.drawnTexts, window.drawnFills] = [[], []];
    for (const kind of [CanvasRenderingContext2D, window.OffscreenCanvasRenderingContext2D]) {
        const { fillText, fill, beginPath, roundRect, rect, fillRect } = kind.prototype;
        let boxes = 0;
        kind.prototype.fillText = function (text, ...place) {
            window.drawnTexts.push([text, hex(this.fillStyle)]);
            return fillText.call(this, text, ...place);
        };
        kind.prototype.beginPath = function () { boxes = 0; return beginPath.call(this); };
        kind.prototype.roundRect = function (...place) {
            boxes++;
            return roundRect.call(this, ...place);
        };
        kind.prototype.rect = function (...place) { boxes++; return rect.call(this, ...place); };
        kind.prototype.fill = function (...path) {
            if (boxes) window.drawnFills.push(hex(this.fillStyle));
            return fill.call(this, ...path);
        };
        kind.prototype.fillRect = function (...place) {
            window.drawnFills.push(hex(this.fillStyle));
            return fillRect.call(this, ...place);
        };
    }
}"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """A network that trains, in the widget of a notebook's cell, and no file beside it."""
    for file in jupyter_server.root.glob("graph*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "export.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def test_a_graph_is_saved_frozen_without_training_in_three_clicks(
    hand: Hand, jupyter_server: JupyterServer
) -> None:
    root, page = hand.root, hand.page
    # What is saved frozen is what the outputs need, so training is left out.
    export = root.get_by_role("button", name="Export", exact=True)
    hand.click(export)
    menu = root.get_by_role("menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    assert set(menu.locator("[role=menuitem] > span:first-child").all_inner_texts()) == LABELS
    shoot(root, "export_menu_light")
    hand.click(menu.get_by_role("menuitem", name="Frozen graph"))
    form = root.get_by_role("form", name="Save Frozen graph")
    expect(form).to_contain_text("The ops that loss needs")
    expect(form.get_by_role("textbox", name="Path")).to_be_focused()
    shoot(root, "export_form_light")
    hand.click(form.get_by_role("button", name="Save"))
    expect(hand.widget.status).to_contain_text("Saved as graph_frozen.pb", timeout=120_000)
    hand.done(SAVE)
    saved = tgw.edit(jupyter_server.root / "graph_frozen.pb")._core.index
    assert "loss" in saved.ids
    assert not {"VarHandleOp", "ResourceApplyGradientDescent"} & set(saved.types)
    assert not [name for name in saved.names if name.startswith(("gradients", "step"))]
    shoot(root, "export_saved_light")

    # A file that is there is replaced after it was asked in words.
    hand.click(export)
    hand.click(menu.get_by_role("menuitem", name="Frozen graph"))
    hand.press("Enter")
    expect(form).to_contain_text("A file 'graph_frozen.pb' is there already")
    shoot(root, "export_replace_light")
    hand.click(form.get_by_role("button", name="Replace"))
    expect(form).to_be_hidden()
    expect(hand.widget.status).to_contain_text("Saved as graph_frozen.pb", timeout=120_000)

    # What it says can be clicked: the file opens in a tab of its own.
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hand.click(hand.widget.status.get_by_role("button", name="Copy path"))
    assert page.evaluate("navigator.clipboard.readText()") == str(
        jupyter_server.root / "graph_frozen.pb"
    )


@pytest.mark.slow
def test_edits_and_pictures_are_downloaded_and_opened(
    hand: Hand, jupyter_server: JupyterServer
) -> None:
    root, page = hand.root, hand.page
    export = root.get_by_role("button", name="Export", exact=True)
    menu = root.get_by_role("menu")
    # Without edits the reason is there.
    hand.click(export)
    why = "there are no edits yet"
    script = menu.get_by_role("menuitem", name="Python script")
    expect(script).to_have_accessible_description(why)
    expect(menu.get_by_text(why).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    hand.widget.notebook.kernel_eval("0", before="editor.rename('loss', 'cost')")
    hand.widget.settled()
    set_theme(page, dark=True)
    hand.widget.settled()
    hand.click(export)
    shoot(root, "export_menu_dark")
    hand.click(menu.get_by_role("menuitem", name="Edits", exact=True))
    shoot(root, "export_form_dark")
    with page.expect_download() as download:
        hand.click(root.get_by_role("form").get_by_role("button", name="Download"))
    assert download.value.suggested_filename == "graph.json"
    expect(hand.widget.status).to_contain_text("Downloaded graph.json")
    hand.click(export)
    hand.click(menu.get_by_role("menuitem", name="Picture, SVG"))
    hand.click(root.get_by_role("form").get_by_role("switch"))
    with page.expect_download() as download:
        hand.click(root.get_by_role("form").get_by_role("button", name="Download"))
    assert download.value.path().read_bytes().lstrip().startswith(b"<")
    saved_pictures_are_the_screen(hand, jupyter_server)
    hand.click(export)
    hand.click(menu.get_by_role("menuitem", name="Python script"))
    hand.press("Enter")
    expect(hand.widget.status).to_contain_text("graph.py")  # not the picture's button
    hand.click(hand.widget.status.get_by_role("button", name="Open"))
    expect(
        page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text="graph.py")
    ).to_be_visible()


def saved_pictures_are_the_screen(hand: Hand, server: JupyterServer) -> None:
    """Save the drawing as SVG and PNG, and compare texts, colors and size with those on the
    canvas.
    """
    root, page = hand.root, hand.page
    set_theme(page, dark=False)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true")
    root.focus()
    page.keyboard.press("f")
    page.mouse.move(0, 0)
    hand.widget.place("x")
    page.evaluate(RECORD)
    page.keyboard.press("+")
    hand.widget.place("x")
    page.keyboard.press("f")
    page.wait_for_function("window.drawnTexts.some(([text]) => text === 'x')")
    hand.widget.place("x")
    drawn = {tuple(pair) for pair in page.evaluate("window.drawnTexts")}
    for name in ("SVG", "PNG"):
        hand.click(root.get_by_role("button", name="Export", exact=True))
        hand.click(root.get_by_role("menuitem", name=f"Picture, {name}"))
        hand.press("Enter")
        expect(hand.widget.status).to_contain_text(
            f"Saved as graph.{name.lower()}", timeout=120_000
        )
    picture = ET.parse(server.root / "graph.svg").getroot()
    texts = {
        (text.text, text.get("fill")) for text in picture.iter("{http://www.w3.org/2000/svg}text")
    }
    # A line has its label where there is room, which the letters of the page decide.
    plain = {pair for pair in texts if not EDGE_LABEL.match(pair[0] or "")}
    assert plain == {pair for pair in drawn if not EDGE_LABEL.match(pair[0])}
    assert {pair for pair in texts if EDGE_LABEL.match(pair[0] or "")} <= drawn
    fills = {rect.get("fill") for rect in picture.iter("{http://www.w3.org/2000/svg}rect")} - {None}
    painted = set(page.evaluate("[...new Set(window.drawnFills)]"))
    assert fills <= painted
    assert painted - fills <= {"#0b63ce"}  # the view in the minimap
    size = struct.unpack(">II", (server.root / "graph.png").read_bytes()[16:24])
    assert size == pytest.approx(
        [2 * float(picture.get(side) or 0) for side in ("width", "height")], abs=1
    )
    shoot(root, "export_screen_light")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "name"),
    [("SavedModel", "graph"), ("MetaGraph", "graph.meta"), ("Web page", "graph.html")],
)
def test_a_model_or_page_is_saved_and_opened_from_what_is_said(
    hand: Hand, jupyter_server: JupyterServer, label: str, name: str
) -> None:
    root, page = hand.root, hand.page
    saved = jupyter_server.root / name
    if label == "SavedModel":  # its signature is what is marked
        hand.widget.click("x", "Shift")
        hand.widget.settled()
        hand.widget.click("loss", "Alt")
        hand.widget.settled()
    hand.click(root.get_by_role("button", name="Export", exact=True))
    hand.click(root.get_by_role("menuitem", name=label))
    form = root.get_by_role("form", name=f"Save {label}")
    expect(form.get_by_role("textbox", name="Path")).to_have_value(
        re.compile(f"^{re.escape(name)}/?$")
    )
    shoot(root, f"export_{label.replace(' ', '_')}_light")
    hand.click(form.get_by_role("button", name="Save"))
    expect(hand.widget.status).to_contain_text(f"Saved as {name}", timeout=120_000)
    set_theme(page, dark=True)
    hand.widget.settled()
    shoot(root, f"export_{label.replace(' ', '_')}_dark")
    # What was written is the graph, with the values of the session.
    if label == "SavedModel":
        outputs = tf.saved_model.load(str(saved)).signatures["serving_default"](tf.ones([1, 3]))
        assert [float(value) for value in outputs.values()] == [9.0]
    elif label == "MetaGraph":
        assert {"loss", "net/w", "step"} <= set(tgw.edit(saved)._core.index.ids)
        assert [*saved.parent.glob("graph*.index")]
    else:
        assert "<html" in saved.read_text()[:200].lower()
    # The message opens it: a file in a tab, a folder in the file browser.
    opened = hand.widget.status.get_by_role("button", name="Open")
    tab = page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text=name)
    if label == "SavedModel":
        hand.click(opened)
        expect(page.locator(".jp-DirListing-item", has_text="saved_model.pb")).to_be_visible()
    elif label == "MetaGraph":
        hand.click(opened)
        expect(tab).to_be_visible()
        expect(page.locator(".tfgraphwidget:visible")).to_have_attribute(
            "data-status", "ready", timeout=120_000
        )
    else:  # JupyterLab runs no script of a page until its button is pressed
        with expecting("Blocked script execution in 'blob:", "blob:"):
            hand.click(opened)
            expect(tab).to_be_visible()
            frame = page.frame_locator(".jp-HTMLViewer iframe")
            assert "press Trust HTML above" in frame.locator("noscript").evaluate(
                "part => part.textContent"
            )
            shoot(page, "export_Web_page_untrusted")
            page.get_by_role("button", name="Trust HTML").or_(
                page.get_by_text("Trust HTML", exact=True)
            ).first.click()
            expect(frame.locator("canvas").first).to_be_visible()
    shoot(page, f"export_{label.replace(' ', '_')}_opened")


def test_a_document_has_the_same_list_and_saves_next_to_its_file(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    folder = jupyter_server.root / "exported"
    folder.mkdir()
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.relu(tf.negative(x, name="net/negative"), name="net/act")
    (folder / "small.pb").write_bytes(graph.as_graph_def().SerializeToString())
    open_document(page, jupyter_server, "exported/small.pb")
    root = page.locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    root.get_by_role("button", name="Export", exact=True).click()
    expect(root.get_by_role("menuitem").first).to_be_focused()
    labels = root.locator("[role=menuitem] > span:first-child").all_inner_texts()
    assert set(labels) == LABELS  # as in a notebook
    # All of it is in view where the document is high enough.
    assert root.locator(".tgw-export").evaluate("menu => menu.scrollHeight <= menu.clientHeight")
    shoot(page, "export_document_light")
    root.get_by_role("menuitem", name="Frozen graph").click()
    page.keyboard.press("Enter")
    expect(root.locator(".tgw-status")).to_contain_text("Saved as small_frozen.pb", timeout=120_000)
    assert (folder / "small_frozen.pb").is_file()
    root.locator(".tgw-status").get_by_role("button", name="Open").click()
    expect(
        page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text="small_frozen.pb")
    ).to_be_visible()
    page.locator(".lm-TabBar-tab").filter(has_text="small.pb").click()
    page.keyboard.press("Control+s")
    expect(page.locator(".tgw-save select")).to_be_visible()
    options = page.locator(".tgw-save select option").all_inner_texts()
    assert {option.split(" (")[0].split(":")[0] for option in options} == set(labels)
    page.keyboard.press("Escape")
