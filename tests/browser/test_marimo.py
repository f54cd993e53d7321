"""The widget in marimo, another front end of anywidget's: a notebook served by `marimo run`, in the
same Chromium.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import Watch, shoot
from tests.browser.server import free_port

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import tensorflow as tf

    import tfgraphwidget as tgw

    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("one/w", [4, 4], initializer=v1.ones_initializer())
        y = tf.nn.relu(tf.matmul(x, w, name="one/product"), name="y")
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    editor
    return editor, mo, session


@app.cell
def _(editor, mo, session):
    def told(_):
        copies = [editor[name]["y:0"].name for name in sorted(editor._core.executor.copies)]
        ran = [session.run(name, {"x:0": [[1.0] * 4]}).tolist() for name in copies]
        return mo.md(f"copies {copies} inputs {list(editor.inputs)} values {ran}")

    ask = mo.ui.button(label="Ask the kernel", on_click=lambda n: n + 1, value=0)
    ask
    return ask, told


@app.cell
def _(ask, told):
    told(ask.value)
    return


if __name__ == "__main__":
    app.run()
"""
START_SECONDS = 120
FIRST_PAINT = 180_000  # ms; TensorFlow is imported first


@dataclass
class Marimo:
    """The part of a notebook that Widget knows: the page."""

    page: Page


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where marimo serves the notebook, with a home of its own."""
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    port = free_port()
    homes = {
        name: str(tmp_path)
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    }
    command = [
        sys.executable,
        "-m",
        "marimo",
        "run",
        "--headless",
        "--no-token",
        f"--port={port}",
        "notebook.py",
    ]
    with (tmp_path / "server.log").open("wb") as log:
        environment = {
            **os.environ,
            **homes,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "MARIMO_SKIP_UPDATE_CHECK": "1",
        }
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log
        ) as server:
            try:
                url = f"http://127.0.0.1:{port}"
                wait_for(url, server)
                yield url
            finally:
                server.terminate()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Until it answers."""
    for _ in range(START_SECONDS * 4):
        assert server.poll() is None, "marimo has ended"
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
        else:
            return
    raise TimeoutError(f"marimo has not answered for {START_SECONDS} s.")


@pytest.fixture
def marimo_page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of marimo's that must stay as clean as one of Jupyter's: marimo itself asks nothing of
    others either.
    """
    watch = Watch(address)
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, base_url=address)
    context.set_default_timeout(30_000)
    context.on("page", watch.attach)
    page = context.new_page()
    page.goto("/")
    yield page
    context.close()
    assert not watch.problems, "\n".join(watch.problems)


@pytest.mark.slow
def test_marimo_shows_selects_and_clones(marimo_page: Page) -> None:
    page = marimo_page
    root = page.locator(".tfgraphwidget")
    root.wait_for(timeout=FIRST_PAINT)
    widget = Widget(Marimo(page), root)  # type: ignore[arg-type]
    assert widget.place("one")
    ops = widget.number("ops")
    widget.click("x", "Shift")
    widget.settled()
    expect(root.locator(".tgw-chip[data-name=x]")).to_be_visible()
    widget.click("y", "Alt")
    widget.settled()
    assert widget.number("selected-ops") > 3
    widget.clone("copy")
    expect(root).not_to_have_attribute("data-ops", f"{ops:.0f}", timeout=60_000)
    widget.settled()
    expect(root.locator(".tgw-history-section")).to_contain_text(
        'copy = editor.clone(inputs=["x"], outputs=["y"]'
    )
    # The kernel has it too: a variable of its own with the present value, in the session of the
    # notebook.
    page.get_by_text("Ask the kernel").click()
    report = page.get_by_text("values [[[4.0, 4.0, 4.0, 4.0]]]")
    expect(report).to_contain_text("copies ['copy/y:0'] inputs ['x']")
    shoot(page, "marimo")
    widget.click("copy", double=True)
    widget.settled()
    root.get_by_role("button", name="Undo").click()
    expect(root).to_have_attribute("data-ops", f"{ops:.0f}")


@pytest.mark.slow
def test_keys_move_in_menus_of_a_shadow_root_and_the_focus_returns(marimo_page: Page) -> None:
    """marimo puts a widget into one, of which the document knows only the host."""
    page = marimo_page
    root = page.locator(".tfgraphwidget")
    root.wait_for(timeout=FIRST_PAINT)
    assert root.evaluate("(root) => root.getRootNode() instanceof ShadowRoot")
    widget = Widget(Marimo(page), root)  # type: ignore[arg-type]
    widget.click("y")
    widget.settled()
    page.keyboard.press("Shift+F10")
    items = root.locator(".tgw-context").get_by_role("menuitem")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(items.nth(2)).to_be_focused()
    page.keyboard.press("Escape")
    expect(root).to_be_focused()
    # A row's menu gives the focus back to the row, and marked text has the browser's menu.
    widget.tab("Op")
    link = root.locator(".tgw-panel .tgw-link", has_text="product").first
    link.focus()
    page.keyboard.press("Shift+F10")
    expect(items.first).to_be_focused()
    page.keyboard.press("Escape")
    expect(link).to_be_focused()
    text = root.get_by_role("tabpanel", name="Op").get_by_text("Computes rectified linear")
    text.dblclick()
    text.click(button="right")
    expect(root.locator(".tgw-context")).to_be_hidden()
    page.keyboard.press("Escape")
    root.focus()
    page.keyboard.press("?")
    leave = root.locator(".tgw-help button").first
    expect(leave).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(leave).to_be_focused()
    page.keyboard.press("Escape")
    expect(root).to_be_focused()
