"""A batch of edits, made in a cell, with a real mouse: one row of the history, one step back and
forth.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_edit_by_clicking import GRAPH, OUTPUT

# What a batch is: tests/editor/test_batches.py; that a page undoes: test_clone_by_clicking.py.
pytestmark = [pytest.mark.one_page, pytest.mark.slow]

BATCH = """
with editor.batch("Without the mask"):
    editor.bypass("dropout", by="relu:0")
    editor.rename("z", "result")
"""


def test_a_batch_of_a_cell_is_one_edit_of_the_history(
    page: Page, jupyter_server: JupyterServer
) -> None:
    cells = [GRAPH, "editor", BATCH]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "batch.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    widget = Widget(notebook, root)
    notebook.run_cell(2)
    root.scroll_into_view_if_needed()
    widget.settled()
    root.get_by_role("tab", name="History").click()
    panel = root.get_by_role("tabpanel", name="History")
    expect(panel).to_contain_text("Without the mask")
    shoot(page, "batch_1_history")
    assert notebook.kernel_eval("[len(editor.history), 'result' in editor]") == [1, True]
    root.get_by_role("button", name="Undo").first.click()
    widget.settled()
    assert notebook.kernel_eval("[len(editor.history), 'result' in editor]") == [0, False]
    assert notebook.kernel_eval(OUTPUT) == notebook.kernel_eval("before")
    root.get_by_role("button", name="Redo").first.click()
    widget.settled()
    assert notebook.kernel_eval("[len(editor.history), 'result' in editor]") == [1, True]
    shoot(page, "batch_2_redone")
