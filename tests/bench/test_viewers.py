"""Ours beside TensorBoard, Model Explorer and Netron: the same file, the same run, a Chromium without a GPU.

One item alone: `pytest -m bench -s tests/bench/test_viewers.py -k "open and g3k"`. Ratios to the peers are asserted;
the limits of absolute time depend on the machine and are printed.
"""

from __future__ import annotations

import gzip
import shutil
import time
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page

import tfgraphwidget
from tests.bench import clock
from tests.bench.nets import written
from tests.bench.peers import EXPLORER, NETRON, PEERS, Peer
from tests.browser.lab import OpenNotebook, open_notebook, show_folder, write_notebook
from tests.browser.server import JupyterServer

pytestmark = [pytest.mark.bench, pytest.mark.browser]
BUNDLE = Path(tfgraphwidget.__file__).parent / "static" / "widget.js"
PATIENCE = {
    "g3k": 90.0,
    "g10k": 120.0,
    "g14k": 120.0,
    "g50k": 180.0,
    "g100k": 240.0,
    "tangles": 60.0,
    "slices": 60.0,
}  # seconds
OPEN_LIMIT = {"g3k": 1.0, "g10k": 1.2, "g50k": 3.0}
UNFOLD_LIMIT = {"g3k": 2.0, "g10k": 3.0, "g50k": 8.0}
FRAME_LIMIT = {"g14k": 33, "g100k": 50}  # ms; 10,000 boxes in view, and 73,000
WARM = "import tfgraphwidget as tgw\nimport tfgraphwidget.editor, tfgraphwidget.widget"  # which import no TensorFlow
VIEWPORT = {"width": 1600, "height": 900}
UNFOLDED = "editor.open_all()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the graph files are made."""
    return tmp_path_factory.mktemp("nets")


def say(work: str, graph: str, who: str, result: str, limit: str = "-") -> None:
    """A line of the table."""
    print(f"\n{work:12} {graph:8} {who:16} {result}  (limit {limit})", flush=True)


def warm(page: Page, server: JupyterServer, file: Path) -> OpenNotebook:
    """A notebook whose kernel has imported us, and a cell that shows the file, not yet run."""
    cells = [WARM, f"editor = tgw.edit({str(file)!r})\neditor.widget.height = 800\neditor"]
    notebook = open_notebook(page, server, write_notebook(server, f"{file.stem}.ipynb", cells))
    notebook.run_cell(0)
    return notebook


def opened(notebook: OpenNotebook, graph: str) -> float:
    """Run the cell that shows the file: seconds from the key to the picture."""
    notebook.cell(1).locator(".cm-content").click()
    clock.expect_picture(notebook.page, gesture="keydown")
    notebook.page.keyboard.press("Shift+Enter")
    return clock.picture(notebook.page, PATIENCE[graph])


def unfolded(notebook: OpenNotebook, graph: str) -> float:
    """Open every scope, from the kernel: seconds from asking to the picture."""
    root = notebook.output(1).locator(".tfgraphwidget")
    clock.expect_picture(notebook.page, before=root.get_attribute("data-items"))
    notebook.kernel_eval("None", before=UNFOLDED)
    return clock.picture(notebook.page, PATIENCE[graph])


@pytest.mark.parametrize("graph", ["g3k", "g10k", "g50k"])
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_open(
    peer: Peer, graph: str, folder: Path, browser: Browser, page: Page, jupyter_server: JupyterServer
) -> None:
    file = written(graph, folder)
    peer.install()
    notebook = warm(page, jupyter_server, file)
    ours = opened(notebook, graph)
    assert notebook.kernel_eval("'tensorflow' not in __import__('sys').modules")
    say("open", graph, "tfgraphwidget", f"{ours:.2f} s, TensorFlow not imported", f"{OPEN_LIMIT[graph]} s")
    with peer.served(file) as url, browser.new_context(viewport=VIEWPORT, bypass_csp=True) as context:
        theirs = peer.open(context, url, PATIENCE[graph])[1]
    say("open", graph, peer.name, f"{theirs:.2f} s")
    assert ours <= min(theirs, OPEN_LIMIT[graph])


def cpu_of_children() -> float:
    """The CPU seconds of servers, kernels and the browser so far."""
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return sum(time.user + time.system + time.children_user + time.children_system for time in times)


@pytest.mark.parametrize("peer", [NETRON, EXPLORER], ids=lambda peer: peer.name)
def test_from_double_click_to_picture(
    peer: Peer, folder: Path, browser: Browser, jupyter_server: JupyterServer
) -> None:
    """JupyterLab is open, and has no kernel yet; of a peer its command is started, with the browser open."""
    file = written("g3k", folder)
    models = jupyter_server.root / "models"
    models.mkdir(exist_ok=True)
    shutil.copy(file, models)
    peer.install()
    with browser.new_context(viewport=VIEWPORT) as context:
        page = context.new_page()
        show_folder(page, jupyter_server, models.name)
        cpu = cpu_of_children()
        clock.expect_picture(page, gesture="dblclick")
        page.locator(".jp-DirListing-item").filter(has_text=file.name).dblclick()
        ours = clock.picture(page, PATIENCE["g3k"])
        say("double-click", "g3k", "tfgraphwidget", f"{ours:.2f} s, {cpu_of_children() - cpu:.1f} CPU-s")
        for session in jupyter_server.api("sessions"):
            jupyter_server.api(f"sessions/{session['id']}", "DELETE")
    cpu, start = cpu_of_children(), time.perf_counter()
    with peer.served(file) as url, browser.new_context(viewport=VIEWPORT, bypass_csp=True) as context:
        peer.open(context, url, 3 * PATIENCE["g3k"])
        theirs = time.perf_counter() - start
        say("double-click", "g3k", peer.name, f"{theirs:.2f} s, {cpu_of_children() - cpu:.1f} CPU-s")
    assert ours <= theirs


@pytest.mark.parametrize("graph", ["g3k", "g10k", "g50k"])
def test_expand_all(graph: str, folder: Path, page: Page, jupyter_server: JupyterServer) -> None:
    notebook = warm(page, jupyter_server, written(graph, folder))
    opened(notebook, graph)
    seconds = unfolded(notebook, graph)
    items = notebook.output(1).locator(".tfgraphwidget").get_attribute("data-items")
    say("expand all", graph, "tfgraphwidget", f"{seconds:.2f} s, {items} items", f"{UNFOLD_LIMIT[graph]} s")
    assert seconds <= UNFOLD_LIMIT[graph]


@pytest.mark.parametrize("graph", ["g14k", "g100k"])
def test_pan_and_zoom(graph: str, folder: Path, page: Page, jupyter_server: JupyterServer) -> None:
    notebook = warm(page, jupyter_server, written(graph, folder))
    opened(notebook, graph)
    unfolded(notebook, graph)
    root = notebook.output(1).locator(".tfgraphwidget")
    root.focus()
    page.keyboard.press("f")
    items = int(root.get_attribute("data-items") or 0)
    frames = clock.moved(page, root.locator("canvas").first)
    say("pan and zoom", graph, "tfgraphwidget", f"{frames}; {items} items", f"p95 {FRAME_LIMIT[graph]} ms")
    assert items >= 10_000
    assert frames.p95 <= FRAME_LIMIT[graph]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_pan_and_zoom_of_peers(peer: Peer, folder: Path, browser: Browser) -> None:
    file = written("g10k", folder)
    peer.install()
    with peer.served(file) as url, browser.new_context(viewport=VIEWPORT, bypass_csp=True) as context:
        page = peer.open(context, url, PATIENCE["g10k"])[0]
        frames = clock.moved(page, page.locator("body"))
    say("pan and zoom", "g10k", peer.name, f"{frames}; as it opens")
    assert frames.frames, "the page drew nothing while it was moved"


@pytest.mark.parametrize("hand", ["rests", "comes after three seconds", "is there at once"])
@pytest.mark.parametrize(("graph", "scope"), [("tangles", "scope_3"), ("slices", "part_3")])
def test_one_scope_of_500(
    graph: str, scope: str, hand: str, folder: Path, page: Page, jupyter_server: JupyterServer
) -> None:
    """From the second click to the frame in which all of the scope's inside is drawn at its place, at full opacity.

    "tangles" are random additions, "slices" a real model's ops with their scopes taken away. What was there before
    glides aside for another 200 ms; the time to rest is printed, the promise is about what one has asked to see. A hand
    "rests" when it went to the scope a second ago, and comes only with the first click otherwise, as a script's does:
    three seconds after the graph was drawn, or in the moment that it is, in which nothing can be known beforehand:
    that is printed and promised nothing but that it takes less than half a second.
    """
    notebook = warm(page, jupyter_server, written(graph, folder))
    opened(notebook, graph)
    root = notebook.output(1).locator(".tfgraphwidget")
    spot = root.evaluate("(root, scope) => root.tfgraphwidget.screenPosition(scope)", scope)
    assert spot, f"{scope} is not shown by itself"
    if hand == "rests":
        page.mouse.move(spot["x"], spot["y"])
        page.wait_for_timeout(1000)
    elif hand == "comes after three seconds":
        page.wait_for_timeout(3000)
    clock.expect_picture(page, gesture="dblclick", before=root.get_attribute("data-items"))
    page.mouse.dblclick(spot["x"], spot["y"])
    rest = 1000 * clock.picture(page, 30)
    milliseconds = 1000 * clock.seen(page)
    limit = 500 if hand == "is there at once" else 100
    figures = f"{milliseconds:.0f} ms seen, {rest:.0f} ms at rest, when the hand {hand}"
    say("one scope", graph, "tfgraphwidget", figures, f"{limit} ms seen")
    assert milliseconds <= limit


def test_bundle(page: Page, jupyter_server: JupyterServer) -> None:
    source = BUNDLE.read_text()
    page.goto(jupyter_server.page_url("", "lab"))
    milliseconds = page.evaluate(
        """async source => {
            const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
            const start = performance.now();
            await import(url);
            return performance.now() - start;
        }""",
        source,
    )
    size = len(gzip.compress(source.encode(), 9)) / 1000
    say("bundle", "-", "tfgraphwidget", f"{size:.1f} KB gzipped, {milliseconds:.0f} ms", "60 KB, 200 ms")
    assert size <= 90
