"""The tab Model: what opens first, what it says of the model, and what can be done with the whole
of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_files import Files
from tests.browser.test_panel import open_panel
from tests.slow import slow

pytestmark = pytest.mark.one_page

MODEL = Path(__file__).parents[3] / "notebooks" / "models" / "dqn_online_train.meta"
FIRST = ("Clone a part …", "Export …", "Freeze …", "Strip training …", "Batch size …")


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """A network of TensorFlow 1 that trains, in the widget of a notebook's cell."""
    shutil.copy(MODEL, jupyter_server.root)
    page.set_viewport_size({"width": 1400, "height": 1000})
    show = f"editor = tgw.edit({MODEL.name!r})\neditor.view.widget.height = 760\neditor"
    notebook = open_notebook(
        page,
        jupyter_server,
        write_notebook(jupyter_server, "model.ipynb", ["import tfgraphwidget as tgw", show]),
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    expect(root.locator(".tgw-model")).to_have_attribute("data-known", "true")
    return hand


def in_cell(page: Page, server: JupyterServer) -> Locator:
    """The widget of a cell as it is when nobody says how high it is."""
    cells = ["import tfgraphwidget as tgw", f"tgw.edit({MODEL.name!r})"]
    notebook = open_notebook(page, server, write_notebook(server, "first.ipynb", cells))
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return root


def in_panel(page: Page, server: JupyterServer) -> Locator:
    """The panel of a notebook."""
    cells = [f"import tfgraphwidget as tgw\neditor = tgw.edit({MODEL.name!r})"]
    notebook = open_notebook(page, server, write_notebook(server, "panel.ipynb", cells))
    notebook.run_cell(0)
    return open_panel(notebook).widget().root


def in_document(page: Page, server: JupyterServer) -> Locator:
    """The document of the file."""
    folder = server.root / "first"
    folder.mkdir(exist_ok=True)
    shutil.copy(MODEL, folder)
    return Files(page, server, folder).open(MODEL.name).root


@pytest.mark.parametrize("size", [(960, 600), slow((1280, 800))], ids=str)
@pytest.mark.parametrize("place", [in_cell, in_panel, in_document])
def test_what_can_be_done_is_seen_without_a_scroll(
    page: Page,
    jupyter_server: JupyterServer,
    place: Callable[[Page, JupyterServer], Locator],
    size: tuple[int, int],
) -> None:
    shutil.copy(MODEL, jupyter_server.root)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    root = place(page, jupyter_server)
    expect(root).to_have_attribute("data-status", "ready", timeout=30_000)
    shoot(page, f"first_{place.__name__}_{size[0]}")
    if not root.get_by_role("tab", name="Model").is_visible():
        # a drawing that is too small for a panel beside it has a button with its name
        root.locator(".tgw-panel-button").get_by_text("Model").click()
    expect(root.locator(".tgw-model")).to_have_attribute("data-known", "true")
    shoot(page, f"first_{place.__name__}_{size[0]}_known")
    for name in FIRST:
        expect(root.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


def front(hand: Hand) -> Locator:
    """The tab in front."""
    return hand.root.get_by_role("tablist").first.get_by_role("tab", selected=True)


def test_the_model_opens_first_each_fact_leads_there_and_jobs_are_a_click_away(hand: Hand) -> None:
    root, page = hand.root, hand.root.get_by_role("tabpanel", name="Model")
    expect(front(hand)).to_have_text("Model")
    expect(page).to_contain_text("TensorFlow 1.15.5")
    expect(page).to_contain_text("301 ops · 32 variables · 1.69M parameters · 6.75MB of float32")
    expect(page).to_contain_text("Problems (2)")
    for name in FIRST:  # without a scroll
        button = page.get_by_role("button", name=name)
        expect(button).to_be_in_viewport()
    for dark in (True, False):
        set_theme(hand.page, dark=dark)
        hand.widget.settled()
        shoot(root, f"model_tab_{'dark' if dark else 'light'}")

    # An input leads to its op; a click on that shows it, and Escape leads back.
    hand.click(page.get_by_role("button", name="obs", exact=True))
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "obs")
    expect(front(hand)).to_have_text("Model")
    hand.widget.click("obs")
    expect(front(hand)).to_have_text("Op")
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "obs")
    hand.widget.settled()
    root.focus()
    hand.press("Escape")
    expect(front(hand)).to_have_text("Model")

    # FLOPs are those of a batch that is chosen.
    if page.get_by_role("button", name="Count FLOPs").is_visible():
        hand.click(page.get_by_role("button", name="Count FLOPs"))
    batch = page.get_by_role("combobox", name="Batch size of the FLOPs")
    expect(page).to_contain_text("68.0M FLOPs for a batch of", timeout=60_000)
    batch.select_option("8")
    expect(page).to_contain_text("521M FLOPs for a batch of")
    expect(batch).to_have_value("8")

    # A problem is fixed by its button, and is gone.
    fix = page.locator("[data-code='training-ops']").get_by_role("button", name="Strip training")
    hand.click(fix)
    hand.lines(1)
    expect(page.locator("[data-code='training-ops']")).to_have_count(0)
    expect(page).to_contain_text("10 variables")
    shoot(root, "model_tab_stripped")

    # A mark brings the form of Clone forward.
    hand.click(page.get_by_role("button", name="Mark obs as input of a part"))
    expect(front(hand)).to_have_text("Selection")
    root.focus()
    hand.press("f")
    hand.widget.settled()
    hand.widget.click("Mean", "Alt")
    expect(front(hand)).to_have_text("Selection")
    clone = root.get_by_role("tabpanel", name="Selection").get_by_role(
        "button", name="Clone", exact=True
    )
    expect(clone).to_be_in_viewport()
    expect(clone).to_be_enabled()
    shoot(root, "model_tab_selection")


def test_an_input_gets_another_size_in_a_form_that_lists_the_inputs(hand: Hand) -> None:
    page = hand.root.get_by_role("tabpanel", name="Model")
    hand.click(page.get_by_role("button", name="Input size"))
    form = page.locator("form.tgw-inline")
    shape = form.get_by_label("Shape")
    expect(form.locator("select[name='what']")).to_have_value("obs:0")
    expect(shape).to_have_value("(None, 84, 84, 4)")
    expect(form).to_contain_text("None for any size")
    expect(form).to_contain_text("'obs' is float32 (None, 84, 84, 4) already.")
    shape.fill("(16, 84, 84, 4)")
    shoot(hand.root, "model_tab_input_size")
    hand.press("Enter")
    assert 'set_input(tensor="obs:0", shape=[16, 84, 84, 4]' in hand.lines(1)[0]
