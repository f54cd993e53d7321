"""The main job with a real mouse, in a real JupyterLab: look, mark, clone, undo, on Inception
v3.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import copy_notebook, open_notebook, set_theme, shoot
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_clone_by_clicking.ipynb"
LOAD, SHOW = 1, 2
PREDICTIONS = "net/InceptionV3/Predictions"
SOFTMAX = f"{PREDICTIONS}/Softmax"
OPS = "len(editor._core.index)"
FEED = "{'input:0': np.random.default_rng(0).normal(size=(1, 299, 299, 3))}"


def changed(feed: str) -> str:
    """Python that gives the original's output `c` and the copy's `d`, as they are now."""
    return f"c, d = sess.run(['{SOFTMAX}:0', 'tower/{SOFTMAX}:0'], {feed})"


@pytest.fixture
def widget(page: Page, jupyter_server: JupyterServer) -> Widget:
    """The first notebook run as far as the widget."""
    notebook = open_notebook(page, jupyter_server, copy_notebook(jupyter_server, NOTEBOOK))
    notebook.run_cell(LOAD)
    root = notebook.run_cell(SHOW).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Widget(notebook, root)


def test_look_mark_clone_undo(widget: Widget) -> None:
    notebook, page, root = widget.notebook, widget.page, widget.root
    assert widget.number("ops") == notebook.kernel_eval(OPS)
    assert 12 <= widget.number("items") <= 60
    shoot(page, "01_opened")

    widget.click("input", "Shift")
    widget.settled()
    assert notebook.kernel_eval("editor.inputs") == ["input"]
    widget.click(PREDICTIONS, double=True)
    widget.settled()
    assert PREDICTIONS in notebook.kernel_eval("sorted(editor.view.expanded)")
    widget.click(SOFTMAX, "Alt")
    widget.settled()
    expect(root).to_have_attribute(
        "data-selected-ops", str(notebook.kernel_eval("len(editor.selection)"))
    )
    assert notebook.kernel_eval("len(editor.selection.variables)") == 378
    expect(root.locator(".tgw-selection .tgw-count")).to_contain_text("378 variables")
    expect(root.locator(".tgw-clone")).to_contain_text(
        "Copies 2,701 ops into copy.", timeout=30_000
    )
    outside = root.locator(".tgw-outside [data-name]")
    assert outside.evaluate_all("entries => entries.map(entry => entry.dataset.name)") == [
        "input:0"
    ]
    shoot(page, "02_marked")
    widget.picture_for_the_readme("mark_by_clicking")

    ops = notebook.kernel_eval(OPS)
    root.get_by_role("textbox", name="scope").fill("tower")
    root.get_by_role("button", name="Clone", exact=True).click()
    expect(root).to_have_attribute("data-ops", str(notebook.kernel_eval(OPS)), timeout=30_000)
    widget.settled()
    shoot(page, "03_cloned")
    widget.picture_for_the_readme("clone_by_clicking")
    assert notebook.kernel_eval(OPS) == ops + 2701
    line = f'tower = editor.clone(inputs=["input"], outputs=["{SOFTMAX}"], into="tower")'
    widget.tab("History")
    expect(root.get_by_text(f"Cloned input … {SOFTMAX} as tower")).to_be_visible()
    assert notebook.kernel_eval("list(editor.history.lines)") == [line]
    values = f"a, b = sess.run(['{SOFTMAX}:0', 'tower/{SOFTMAX}:0'], {FEED})"
    assert notebook.kernel_eval("bool((a == b).all())", before=values) is True
    expect(root.locator("[role=treeitem][data-name=tower]")).to_have_attribute("data-fresh", "")
    change = """
with graph.as_default():
    copies = [v for v in tf.compat.v1.global_variables() if v.name.startswith('tower/')]
    saver = tf.compat.v1.train.Saver()
    path = saver.save(sess, './all.ckpt')
    copies[0].load(np.zeros(copies[0].shape.as_list(), np.float32), sess)
"""
    assert notebook.kernel_eval(
        "[bool((a == c).all()), bool((a == d).all())]", before=f"{change}{changed(FEED)}"
    ) == [
        True,
        False,
    ]
    restore = f"with graph.as_default(): saver.restore(sess, path)\n{changed(FEED)}"
    assert notebook.kernel_eval("[bool((a == c).all()), bool((a == d).all())]", before=restore) == [
        True,
        True,
    ]
    names = "[v.name for v in graph.get_collection('variables')]"
    assert sum(name.startswith("tower/") for name in notebook.kernel_eval(names)) == 378

    with_saver = notebook.kernel_eval(OPS)
    root.get_by_role("button", name=re.compile("^Undo")).click()
    expect(root).to_have_attribute("data-ops", str(ops))
    widget.settled()
    assert notebook.kernel_eval(OPS) == ops
    root.get_by_role("button", name=re.compile("^Redo")).click()
    expect(root).to_have_attribute("data-ops", str(with_saver))

    set_theme(page, dark=True)
    widget.settled()
    shoot(page, "04_cloned_dark")
