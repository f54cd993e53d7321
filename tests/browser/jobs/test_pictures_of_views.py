"""Pictures of views, forms and messages in a cell, a portrait panel and a document, and their
faults.
"""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST, NOTEBOOKS
from tests.browser.jobs.counted import Hand
from tests.browser.jobs.places import PLACES, Place, check_pictures, open_in
from tests.browser.jobs.test_camera import GRAPH as LAYERS
from tests.browser.jobs.test_other_graphs import DROPPED, GRAPH
from tests.browser.lab import (
    OpenNotebook,
    copy_notebook,
    open_notebook,
    set_theme,
    shoot,
    write_notebook,
)
from tests.browser.server import JupyterServer
from tests.browser.test_panel import open_panel
from tests.models import written
from tfgraphwidget.sources import file_suffixes

pytestmark = pytest.mark.slow
in_each_place = pytest.mark.parametrize("place", PLACES)

DEVICES = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for k in range(4):
        with tf.device(f"/device:GPU:{k}"):
            h = tf.nn.relu(tf.matmul(h, v1.get_variable(f"w_{k}", [4, 4])), name=f"act_{k}")
    v1.train.AdamOptimizer().minimize(
        tf.reduce_mean(v1.nn.dropout(h, rate=0.5, name="dropout"), name="loss")
    )
sess = v1.Session(graph=graph, config=v1.ConfigProto(allow_soft_placement=True))
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
"""
RESTART = "() => { void window.jupyterapp.commands.execute('kernelmenu:restart'); }"


def opened(page: Page, server: JupyterServer, place: Place, name: str, code: str) -> Hand:
    """The hand on the editor of a graph, whose file is that of the document."""
    return open_in(page, server, place, name, f"{code}\nfile = '{name}.meta'\neditor.save(file)")


def corner_of(hand: Hand) -> tuple[float, float]:
    """An empty place at the left edge of the drawing."""
    box = hand.root.locator(".tgw-stage canvas").first.bounding_box()
    assert box
    return box["x"] + 12, box["y"] + box["height"] / 2


def in_both_themes(page: Page, name: str) -> None:
    """Pictures of a page on which there need not be an editor."""
    for theme in ("light", "dark"):
        set_theme(page, dark=theme == "dark")
        page.wait_for_timeout(300)  # colors glide
        shoot(page, f"{name}_{theme}")


@in_each_place
def test_a_model_is_added_its_copy_trained_alone_and_another_one_compared(
    page: Page, jupyter_server: JupyterServer, place: Place
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.softmax(
            tf.compat.v1.placeholder(tf.float32, [None, 4], name="scores"), name="classes"
        )
    data = graph.as_graph_def().SerializeToString()
    for other in jupyter_server.root.glob("*.*"):  # of tests before
        if other.suffix in file_suffixes() and other.stem != "two_models":
            other.unlink()
    (jupyter_server.root / "head.pb").write_bytes(data)
    hand = opened(page, jupyter_server, place, "two_models", GRAPH)
    root = hand.root

    hand.click_at(*corner_of(hand), button="right")
    check_pictures(hand, f"21_18_a_canvas_menu_{place}")
    hand.choose("Add a model …")
    field = hand.menu.get_by_role("combobox", name="Graph")
    joint = hand.menu.get_by_role("combobox", name="scores:0")
    if place == "document":  # the only other file is proposed, with its inputs
        expect(field).to_have_value("head.pb")
    else:
        hand.fill(field, "head.pb")
        check_pictures(hand, f"21_18_b_add_{place}")
        hand.click(hand.menu.get_by_role("button", name="Next"))
    expect(joint).to_be_visible()
    check_pictures(hand, f"21_18_c_inputs_{place}")
    hand.fill(joint, "net/act:0")
    hand.click(hand.menu.get_by_role("button", name="Add"))
    expect(hand.widget.status).to_contain_text("Added 1 op as 'head', 1 of its inputs joined.")
    hand.widget.settled()
    check_pictures(hand, f"21_18_d_added_{place}")

    hand.right_click("net")
    hand.choose("Clone …")
    expect(root.get_by_role("textbox", name="scope")).to_be_focused()
    hand.press("Enter")
    switch = root.locator(".tgw-status").get_by_role("switch", name="Train only copy")
    expect(switch).to_have_attribute("aria-checked", "false")
    hand.widget.settled()
    check_pictures(hand, f"21_17_a_off_{place}")
    hand.click(switch)
    expect(switch).to_have_attribute("aria-checked", "true")
    hand.widget.settled()
    check_pictures(hand, f"21_17_b_on_{place}")
    hand.widget.click("net")
    hand.widget.settled()
    hand.widget.tab("Op")
    check_pictures(hand, f"21_17_c_rest_{place}")

    hand.click_at(*corner_of(hand), button="right")
    hand.choose("Compare with …")
    hand.fill(field, "two_models.meta" if place == "document" else "other_graph")
    check_pictures(hand, f"21_18_e_compare_{place}")
    hand.click(hand.menu.get_by_role("button", name="Compare"))
    expect(root.locator(".tgw-changes")).to_contain_text("Compared with")
    expect(root.locator(".tgw-changes details").first).to_be_in_viewport(ratio=0.9)
    hand.widget.settled()
    check_pictures(hand, f"21_18_f_difference_{place}")

    files = page.evaluate_handle(DROPPED, base64.b64encode(data).decode())
    x, y = hand.widget.center()
    stage, event = root.locator(".tgw-stage"), {"dataTransfer": files, "clientX": x, "clientY": y}
    stage.dispatch_event("dragover", event)
    expect(stage).to_have_attribute("data-dropping", "")
    check_pictures(hand, f"21_18_g_dragged_{place}")
    stage.dispatch_event("drop", event)
    expect(stage).not_to_have_attribute("data-dropping", "")
    expect(hand.menu).to_contain_text("desktop.pb")
    check_pictures(hand, f"21_18_h_dropped_{place}")


@in_each_place
def test_the_camera_shows_what_is_opened_cloned_expanded_and_laid_out(
    page: Page, jupyter_server: JupyterServer, place: Place
) -> None:
    hand = opened(page, jupyter_server, place, "layers", LAYERS)
    root, widget = hand.root, hand.widget
    check_pictures(hand, f"21_19_a_opened_{place}")
    widget.click("layer_8", double=True)
    widget.settled()
    root.evaluate(AT_REST, "layer_8/act")
    check_pictures(hand, f"21_19_b_scope_{place}")
    hand.press("Shift+C")
    widget.settled()
    hand.right_click("layer_1")
    hand.choose("Clone …")
    expect(root.get_by_role("textbox", name="scope")).to_be_focused()
    check_pictures(hand, f"21_19_c_clone_form_{place}")
    hand.press("Enter")
    expect(root.locator(".tgw-step")).to_have_count(2)
    widget.settled()
    root.evaluate(AT_REST, "copy")
    check_pictures(hand, f"21_19_d_cloned_{place}")
    for key, state in (("Shift+E", "e_expanded"), ("Shift+U", "f_laid_out")):
        root.focus()
        hand.press(key)
        widget.settled()
        root.evaluate(AT_REST, "layer_1/act")
        check_pictures(hand, f"21_19_{state}_{place}")
    for _ in range(4):
        hand.press("+")
    widget.settled()
    root.locator(".tgw-legend").get_by_role("button").first.click()
    check_pictures(hand, f"21_19_g_zoomed_{place}")


@pytest.mark.parametrize("place", ["panel", "document"])
@pytest.mark.parametrize("name", ["inception", "resnet", "seq2seq"])
def test_a_large_model_is_legible_and_can_be_expanded(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path, name: str, place: Place
) -> None:
    shutil.copy(written(name, tmp_path), jupyter_server.root / f"{name}.meta")
    code = f"import tfgraphwidget as tgw\nfile = '{name}.meta'\neditor = tgw.edit(file)"
    hand = open_in(page, jupyter_server, place, name, code)
    check_pictures(hand, f"21_19_h_{name}_{place}")
    hand.root.focus()
    hand.press("Shift+E")
    hand.widget.settled()
    page.wait_for_timeout(500)  # it glides
    check_pictures(hand, f"21_19_i_{name}_expanded_{place}")


def test_the_hint_of_the_wheel_and_the_settings(page: Page, jupyter_server: JupyterServer) -> None:
    hand = opened(page, jupyter_server, "cell", "wheel", LAYERS)
    hand.widget.notebook.cell(0).locator(".cm-content").click()
    hand.root.scroll_into_view_if_needed()
    for theme in (
        "light",
        "dark",
    ):  # the hint is shown once in a view, for as long as it takes to read it
        set_theme(page, dark=theme == "dark")
        if theme == "dark":
            hand.widget.notebook.run_cell(1)
            hand.widget.settled()
            hand.widget.notebook.cell(0).locator(".cm-content").click()
            hand.root.scroll_into_view_if_needed()
        page.mouse.move(*hand.widget.center())
        page.mouse.wheel(0, 30)
        expect(hand.root.locator(".tgw-wheel-hint")).not_to_be_empty()
        shoot(page, f"21_20_hint_{theme}")
    page.evaluate("window.jupyterapp.commands.execute('settingeditor:open', {query: 'graph'})")
    expect(page.locator(".jp-SettingsPanel")).to_contain_text("Wheel in notebooks")
    in_both_themes(page, "21_20_settings")


def test_draw_shows_a_picture(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1360, "height": 1000})
    cells = [LAYERS, "editor.draw();", "tgw.example().draw()"]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "draw.ipynb", cells)
    )
    for cell in range(3):
        notebook.run_cell(cell)
    for cell in (1, 2):
        picture = notebook.output(cell).locator("svg, img").first
        expect(picture).to_be_visible()
        picture.scroll_into_view_if_needed()
        in_both_themes(page, f"21_21_draw_{cell}")


@pytest.mark.parametrize("name", ["00_index", "04_join_two_models", "17_expensive_layers"])
def test_a_notebook_of_the_guide_after_run_all(
    page: Page, jupyter_server: JupyterServer, name: str
) -> None:
    page.set_viewport_size({"width": 900, "height": 1200})
    notebook = open_notebook(
        page, jupyter_server, copy_notebook(jupyter_server, NOTEBOOKS / f"{name}.ipynb")
    )
    notebook.run_all(600_000)
    for width, height in ((900, 1200), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        look_through(notebook, f"21_21_{name}_{width}")


def look_through(notebook: OpenNotebook, name: str) -> None:
    """Pictures of all editors of a notebook, of which it has at least one, every second one
    dark.
    """
    expect(notebook.panel.locator(".tfgraphwidget")).not_to_have_count(0)
    for number, shown in enumerate(notebook.panel.locator(".tfgraphwidget").all()):
        shown.scroll_into_view_if_needed()
        expect(shown).to_have_attribute("data-status", "ready")
        set_theme(notebook.page, dark=number % 2 == 1)
        notebook.page.wait_for_timeout(500)  # longer than a view needs to follow its size
        shoot(notebook.page, f"{name}_{number}")


@in_each_place
def test_an_editor_as_it_opens(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    code = (
        "import tfgraphwidget as tgw\neditor = tgw.example()\nfile = "
        '"example.meta"\neditor.save(file)'
    )
    check_pictures(open_in(page, jupyter_server, place, "opened", code), f"21_00_opened_{place}")


@in_each_place
def test_messages(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = opened(page, jupyter_server, place, "devices", DEVICES)
    root = hand.root
    expect(root.locator(".tgw-warnings li")).to_have_count(1)
    check_pictures(hand, f"21_22_a_devices_{place}")
    hand.right_click("dropout")
    check_pictures(hand, f"21_22_b_menu_{place}")
    hand.press("Escape")
    hand.widget.click("act_0")
    hand.widget.settled()
    root.focus()
    hand.press("Delete")
    expect(root.get_by_role("alert")).not_to_be_empty()
    check_pictures(hand, f"21_22_c_refused_{place}")
    if place == "panel":
        hand.widget.notebook.cell(0).locator(
            ".cm-content"
        ).click()  # the kernel of what is in front is restarted
    page.evaluate(RESTART)
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    says = page.get_by_text("The kernel was restarted or shut down")
    if place == "panel":
        says = page.get_by_role("heading", name="editor is not in the kernel")
    if place != "document":  # which is opened again
        expect(says.first).to_be_visible(timeout=60_000)
    else:
        page.wait_for_timeout(2000)
        hand.widget.settled()
    in_both_themes(page, f"21_22_d_restarted_{place}")


def test_the_chooser(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1360, "height": 900})
    path = write_notebook(jupyter_server, "chooser.ipynb", [f"{GRAPH}\nexample = tgw.example()"])
    notebook = open_notebook(page, jupyter_server, path)
    notebook.run_cell(0)
    open_panel(notebook).says("Which graph?")
    expect(page.get_by_text("Which graph?")).to_be_visible()
    in_both_themes(page, "21_22_e_chooser")


@in_each_place
def test_help_and_menus(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = opened(page, jupyter_server, place, "help", LAYERS)
    root = hand.root
    hand.click_at(*corner_of(hand))
    hand.press("?")
    sheet = root.get_by_role("dialog", name="Keys and gestures")
    expect(sheet).to_be_visible()
    check_pictures(hand, f"21_23_a_keys_{place}")
    sheet.hover()
    page.mouse.wheel(0, 4000)
    check_pictures(hand, f"21_23_b_keys_end_{place}")
    hand.press("Escape")
    field = root.get_by_role("combobox", name="Find ops")
    field.click()
    root.get_by_role("button", name="How to search").click()
    check_pictures(hand, f"21_23_c_search_help_{place}")
    field.fill("layer_1")
    expect(root.locator(".tgw-hit").first).to_be_visible()
    check_pictures(hand, f"21_23_d_hits_{place}")
    for _ in range(2):
        field.press("Escape")
    for name in ("View", "Export"):
        root.get_by_role("button", name=name, exact=True).click()
        check_pictures(hand, f"21_23_e_{name.lower()}_menu_{place}")
        hand.press("Escape")
