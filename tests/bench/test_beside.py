"""Two models side by side in a notebook: from the key that runs the cell until both are drawn."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.bench.graphs import many_inceptions
from tests.bench.nets import stages
from tests.bench.results import record
from tests.browser.lab import open_notebook, write_notebook
from tests.browser.server import JupyterServer
from tests.conftest import v1

pytestmark = pytest.mark.bench

RUNS = 5
OPEN = """import tensorflow as tf
import tfgraphwidget as tgw
import tfgraphwidget.editor, tfgraphwidget.widget
before, after = tgw.edit({before!r}), tgw.edit({after!r})
len(before), len(after)
"""
SHOW = "tgw.beside(before, after)"
GRAPHS = {
    "Inception v3, 3,379 ops": (lambda: many_inceptions(1), 1.0),
    "50,002 ops of stages": (lambda: stages(1515), 5.0),
    "50,685 ops of inceptions": (lambda: many_inceptions(15), 5.0),
}


def edited(graph_def: v1.GraphDef) -> v1.GraphDef:
    """The graph with an activation in a hundred exchanged, and as many ops put in."""
    changed = v1.GraphDef()
    changed.CopyFrom(graph_def)
    activations = [node for node in changed.node if node.op == "Relu"][::100]
    for node in activations:
        node.op = "Elu"
        new = changed.node.add(name=f"{node.name}_negated", op="Neg", input=[node.name])
        new.attr["T"].CopyFrom(node.attr["T"])
    return changed


@pytest.mark.parametrize("what", GRAPHS)
def test_two_graphs_are_matched_and_drawn(
    page: Page, jupyter_server: JupyterServer, tmp_path: Path, what: str
) -> None:
    make, limit = GRAPHS[what]
    graph_def = make()
    paths = [str(tmp_path / f"{name}.pb") for name in ("before", "after")]
    for path, each in zip(paths, (graph_def, edited(graph_def)), strict=True):
        Path(path).write_bytes(each.SerializeToString())
    cells = [OPEN.format(before=paths[0], after=paths[1]), *[SHOW] * (RUNS + 1)]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "bench_beside.ipynb", cells)
    )
    notebook.run_cell(0, timeout=120_000)
    took = []
    for cell in range(1, len(cells)):
        notebook.cell(cell).locator(".cm-content").click()
        start = time.perf_counter()
        page.keyboard.press("Shift+Enter")
        ready = notebook.output(cell).locator(".tgw-pane .tfgraphwidget[data-status=ready]")
        expect(ready).to_have_count(2, timeout=120_000)
        took.append(time.perf_counter() - start)
    record("Draw", f"{what}, beside the same edited: run the cell again", "s", took[1:])
    record("Draw", f"{what}, beside the same edited: the first cell", "s", took[:1])
    assert statistics.median(took[1:]) <= limit
