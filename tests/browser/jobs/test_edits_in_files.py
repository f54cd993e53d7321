"""A .tgw file is opened by a double-click, goes on with its edits, and Save writes into it."""

from __future__ import annotations

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import AT_REST
from tests.browser.lab import in_front, set_theme, shoot, show_folder
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page


@pytest.mark.slow  # a further format: test_files.py has a graph
def test_a_file_with_edits_is_opened_edited_and_saved(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.relu(tf.negative(x, name="net/negative"), name="net/act")
    editor = tgw.edit(graph.as_graph_def())
    editor.rename("net/negative", "net/minus")
    folder = jupyter_server.root / "with_edits"
    folder.mkdir(exist_ok=True)
    editor.save(folder / "work.tgw")

    show_folder(page, jupyter_server, "with_edits")
    page.locator(".jp-DirListing-item", has_text="work.tgw").dblclick()
    root = page.locator(in_front(".jp-Document")).locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    toolbar = page.locator(in_front(".jp-Document")).locator(".jp-Toolbar").first
    expect(toolbar).to_contain_text("Python 3")
    root.get_by_role("tab", name="History").click()
    expect(root.locator(".tgw-step")).to_have_count(2)  # and the beginning
    set_theme(page, dark=True)
    shoot(page, "with_edits_dark")
    set_theme(page, dark=False)

    place = root.evaluate(AT_REST, "net/act")
    page.mouse.click(place["x"], place["y"], button="right")
    root.locator(".tgw-context").get_by_role("menuitem", name="Rename …").click()
    page.keyboard.type("relu")
    page.keyboard.press("Enter")
    expect(root.locator(".tgw-step")).to_have_count(3)

    # No notebook has a function for the GELU; TensorFlow's is found by its name.
    root.get_by_role("tab", name="Model").click()
    root.get_by_role("button", name="Replace all …").first.click()
    page.keyboard.type("Relu(x)")
    root.get_by_role("combobox", name="Replace by").fill("gelu")
    root.get_by_role("option").filter(has_text="tf.nn.gelu").click()
    expect(root.get_by_role("switch", name="approximate")).to_be_visible()
    shoot(page, "with_edits_gelu_light")
    root.get_by_role("button", name="Apply").click()
    expect(root.locator(".tgw-step")).to_have_count(4)
    page.keyboard.press("Control+z")
    expect(root.get_by_text("Undone: Replaced all")).to_be_visible()
    root.get_by_role("tab", name="History").click()

    page.keyboard.press("Control+s")
    dialog = page.locator(".jp-Dialog")
    expect(dialog.get_by_role("textbox", name="Name")).to_have_value("work.tgw")
    shoot(page, "with_edits_save_light")
    dialog.get_by_role("button", name="Save", exact=True).click()
    dialog.get_by_role("button", name="Replace").click()
    expect(toolbar.locator(".tgw-file-news")).to_contain_text("Saved as work.tgw", timeout=120_000)
    assert len(tgw.edit(folder / "work.tgw").history.lines) == 2

    # Closed without a question, it goes on with both edits.
    page.evaluate("window.jupyterapp.shell.currentWidget.close()")
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    expect(page.locator(".tfgraphwidget")).to_have_count(0)
    page.locator(".jp-DirListing-item", has_text="work.tgw").dblclick()
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    root.get_by_role("tab", name="History").click()
    expect(root.locator(".tgw-step")).to_have_count(3)


@pytest.mark.slow
def test_a_file_that_leads_to_a_notebook_has_no_kernel_and_nothing_to_save(
    page: Page, jupyter_server: JupyterServer
) -> None:
    folder = jupyter_server.root / "keras"
    folder.mkdir(exist_ok=True)
    (folder / "small.keras").write_bytes(b"PK")
    show_folder(page, jupyter_server, "keras")
    page.locator(".jp-DirListing-item", has_text="small.keras").dblclick()
    document = page.locator(in_front(".jp-Document"))
    expect(document.get_by_role("button", name="Open in a notebook")).to_be_visible()
    toolbar = document.locator(".jp-Toolbar").first
    expect(toolbar.get_by_role("button", name="Save")).to_have_count(0)
    expect(toolbar).not_to_contain_text("No Kernel")
    shoot(page, "keras_light")
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    expect(page.locator(".lm-Menu-item.lm-mod-disabled", has_text="Change Kernel…")).to_have_count(
        1
    )
    page.keyboard.press("Escape")
    document.click()
    page.keyboard.press("Control+s")
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("open the file in a notebook")
    dialog.get_by_role("button", name="Ok").click()
