"""The moving picture of the README, made by `make pictures`: Inception v3, a part marked, cloned,
both run.

It is not a test file by its name, so that only `make pictures` runs it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, write_notebook
from tests.browser.server import JupyterServer

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "clone.webp"
VIEWPORT = {"width": 1200, "height": 675}
STEP = 50  # ms that a frame of a gesture is shown
SOFTMAX = "net/InceptionV3/Predictions/Softmax"
META = ROOT / "notebooks" / "models" / "slim_inception_v3_infer.meta"
LOAD = f"""import numpy as np, tensorflow as tf, tfgraphwidget as tgw
graph = tf.Graph()
with graph.as_default():
    tf.compat.v1.train.import_meta_graph({str(META)!r})
    initialize = tf.compat.v1.global_variables_initializer()
sess = tf.compat.v1.Session(graph=graph)
sess.run(initialize)
images = np.random.default_rng(0).normal(size=(1, 299, 299, 3));"""
SHOW = "editor = tgw.edit(graph, session=sess)\neditor.view.widget.height = 520\neditor"
RUN = f"""softmax = editor["tower"]["{SOFTMAX}:0"]
original, clone = sess.run(["{SOFTMAX}:0", softmax], {{"input:0": images}})
(original == clone).all()"""
CHANGE = f"""first = editor["tower"].variables[0]
with graph.as_default():
    first.load(np.zeros(first.shape.as_list(), np.float32), sess)
same, changed = sess.run(["{SOFTMAX}:0", softmax], {{"input:0": images}})
(original == same).all(), (original == changed).all()"""
LONGEST = 12_000  # ms of the whole picture
OVERLAY = """() => {
    const caption = document.createElement("div");
    caption.id = "caption";
    caption.style.cssText = "position:fixed;left:50%;bottom:6px;white-space:nowrap;"
        + "transform:translateX(-50%);z-index:99999;"
        + "padding:8px 22px;border-radius:18px;background:#1b1f24e6;color:#fff;"
        + "font:600 20px system-ui,sans-serif;";
    const hand = document.createElement("div");
    hand.id = "hand";
    hand.style.cssText = "position:fixed;z-index:100000;pointer-events:none;left:600px;top:340px";
    hand.innerHTML = '<svg viewBox="0 0 24 24" width="26" height="26">'
        + '<path d="M3 2l7 18 2.6-7.4L20 10z" fill="#111" stroke="#fff" stroke-width="1.6"/></svg>';
    document.body.append(caption, hand);
    addEventListener("mousemove", (event) => {
        hand.style.left = `${event.clientX - 3}px`;
        hand.style.top = `${event.clientY - 2}px`;
    }, { capture: true });
}"""


class Film:
    """Frames of a page with the time that each is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []
        self.at = (600.0, 340.0)

    def shoot(self, milliseconds: int) -> None:
        """Take a frame; one that equals the frame before makes that longer."""
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if self.frames and frame.tobytes() == self.frames[-1].tobytes():
            self.durations[-1] += milliseconds
        else:
            self.frames.append(frame)
            self.durations.append(milliseconds)

    def caption(self, text: str) -> None:
        """What is written below the picture."""
        self.page.evaluate("text => (document.querySelector('#caption').textContent = text)", text)

    def move(self, x: float, y: float, steps: int = 6) -> None:
        """Move the mouse there, seen."""
        (x0, y0), self.at = self.at, (x, y)
        for step in range(1, steps + 1):
            part = step / steps
            ease = part * part * (3 - 2 * part)
            self.page.mouse.move(x0 + (x - x0) * ease, y0 + (y - y0) * ease)
            self.shoot(STEP)

    def click(self, x: float, y: float, *keys: str) -> None:
        """Move there and click, with keys held down."""
        self.move(x, y)
        with self.holding(*keys):
            self.page.mouse.click(x, y)
        self.glide()

    def glide(self, frames: int = 5) -> None:
        """What moves by itself."""
        for _ in range(frames):
            self.shoot(STEP)

    @contextmanager
    def holding(self, *keys: str) -> Iterator[None]:
        """Keys that are held down."""
        for key in keys:
            self.page.keyboard.down(key)
        yield
        for key in keys:
            self.page.keyboard.up(key)

    def save(self, path: Path) -> None:
        """Write the picture, which repeats itself."""
        first, *rest = self.frames
        first.save(
            path,
            save_all=True,
            append_images=rest,
            duration=self.durations,
            loop=0,
            quality=72,
            method=6,
        )


def test_the_moving_picture(page: Page, jupyter_server: JupyterServer) -> None:
    path = write_notebook(jupyter_server, "Inception.ipynb", [LOAD, SHOW, RUN, CHANGE])
    page.set_viewport_size(VIEWPORT)
    notebook = open_notebook(page, jupyter_server, path)
    page.evaluate(
        "() => { const { shell } = window.jupyterapp; shell.collapseLeft(); shell.mode = "
        "'single-document'; }"
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    widget = Widget(notebook, root)
    root.evaluate("element => element.scrollIntoView({ block: 'end' })")
    page.evaluate(OVERLAY)
    film = Film(page)
    film.caption("See any TensorFlow graph: Inception v3 from its .meta file")
    film.shoot(1200)
    film.caption("Mark a part: Shift-click where it begins …")
    film.click(*widget.place("input"), "Shift")
    film.shoot(300)
    film.caption("… Alt-click where it ends: 1,183 ops, 378 variables")
    widget.click("net/InceptionV3/Predictions", double=True)
    widget.settled()
    film.glide()
    film.click(*widget.place(SOFTMAX), "Alt")
    widget.settled()
    film.shoot(1000)
    film.caption("Clone it, with variables of its own")
    root.get_by_role("textbox", name="scope").fill("tower")
    button = root.get_by_role("button", name="Clone", exact=True)
    expect(button).to_be_enabled(timeout=30_000)
    box = button.bounding_box()
    assert box
    film.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    widget.settled()
    film.glide()
    film.shoot(500)
    for scope in ("tower", "tower/net", "tower/net/InceptionV3/InceptionV3"):
        film.move(*widget.place(scope), steps=3)
        page.mouse.dblclick(*widget.place(scope))
        widget.settled()
        film.glide(3)
    root.focus()
    page.keyboard.press("f")
    widget.settled()
    film.glide()
    film.shoot(1000)
    widget.show_python()
    film.caption("Every click is a line of Python")
    film.shoot(1000)
    film.caption("Original and clone run in the same session, and are equal")
    notebook.run_cell(2)
    notebook.output(2).scroll_into_view_if_needed()
    film.shoot(1200)
    film.caption("A variable of the clone changes: the original does not")
    notebook.run_cell(3)
    notebook.output(3).scroll_into_view_if_needed()
    film.shoot(1300)
    root.evaluate("element => element.scrollIntoView({ block: 'end' })")
    film.caption("Undo it, or save it as a SavedModel, .pb, TFLite, ONNX …")
    root.focus()
    page.keyboard.press("Control+z")
    widget.settled()
    film.glide(3)
    film.shoot(1000)
    assert sum(film.durations) <= LONGEST
    film.save(PICTURE)
