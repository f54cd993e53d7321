"""The first drawings of graphs that nobody here made, in three sizes of window: texts lie apart,
are whole or shortened, and no line runs through them; nothing of the page covers what is current.

The pictures are left in artifacts/: look at each one after a change to the hierarchy, the layout or
the canvas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import tfgraphwidget as tgw
from tests.browser.crowded import FILES, MADE, WORST, graph_def
from tests.browser.lab import Watch, shoot
from tests.browser.letters import RECORD, drawn_texts
from tests.browser.test_page import View
from tfgraphwidget.editor import GraphEditor

WINDOWS = ((960, 600), (1280, 800), (1920, 1080))
PANEL, BARS = 320, 90  # pixels of a window that are not the drawing's: beside and above it
SIGNS = {"!"}  # has a rim of its own, and no letters
# The share of the texts that may be shortened, and the fewest texts that a drawing has.
MOST_CUT, FEWEST = 0.4, 8


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network, whose canvases are recorded; it must stay clean."""
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(30_000)
    context.set_offline(True)
    context.add_init_script(f"({RECORD})()")
    watch = Watch("")
    context.on("page", watch.attach)
    yield context.new_page()
    context.close()
    assert not watch.problems, "\n".join(watch.problems)


def opened(page: Page, editor: GraphEditor, window: tuple[int, int], folder: Path) -> View:
    """The page of an editor, opened as a widget of a window's size shows it first."""
    width, height = window
    page.set_viewport_size({"width": width, "height": height})
    editor._core.view.first_drawing(width - PANEL, height - BARS)
    page.goto(editor.save(folder / "view.html").as_uri())
    return View(page)


def check_drawing(view: View) -> None:
    """The texts of a drawing lie apart, no line runs through one, and most are whole."""
    texts = [text for text in drawn_texts(view.root) if text.text not in SIGNS]
    assert len(texts) >= FEWEST
    assert [text.text for text in texts if text.covered] == []
    assert [text.text for text in texts if text.struck] == []
    cut = [text.text for text in texts if "…" in text.text]
    assert len(cut) <= MOST_CUT * len(texts), cut


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: f"{window[0]}")
@pytest.mark.sample(4)
def test_a_crowded_graph_can_be_read(
    page: Page, tmp_path: Path, name: str, window: tuple[int, int]
) -> None:
    view = opened(page, tgw.edit(graph_def(MADE[name]())), window, tmp_path)
    shoot(page, f"crowded_{name}_{window[0]}")
    check_drawing(view)


@pytest.mark.slow
@pytest.mark.skipif(
    not FILES.is_dir(), reason="the files of public projects are not there: set TFGRAPHWIDGET_FILES"
)
@pytest.mark.parametrize("name", WORST)
def test_a_file_of_a_public_project_can_be_read(page: Page, tmp_path: Path, name: str) -> None:
    if not (FILES / name).exists():
        pytest.skip(f"{name} is not among the files of public projects")
    for window in WINDOWS:
        view = opened(page, tgw.edit(FILES / name), window, tmp_path)
        shoot(page, f"crowded_{Path(name).stem}_{window[0]}")
        check_drawing(view)


def corner_of(control: Locator) -> str:
    """The corner that a control is in, as its classes say."""
    return " ".join(re.findall(r"tgw-(?:up|left|right)", control.get_attribute("class") or ""))


def area(locator: Locator) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of an element."""
    box = locator.bounding_box()
    assert box
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


def is_over(control: Locator, x: float, y: float) -> bool:
    """Whether an element lies over a point; a hidden one does not."""
    if not control.is_visible():
        return False
    left, top, right, bottom = area(control)
    return left <= x <= right and top <= y <= bottom


def drag(page: Page, start: tuple[float, float], across: float, down: float) -> None:
    """Drag with the mouse."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + across, start[1] + down, steps=4)
    page.mouse.up()


def test_legend_and_minimap_are_off_what_was_clicked_and_stay_while_they_cover_nothing(
    page: Page, tmp_path: Path
) -> None:
    view = opened(page, tgw.edit(graph_def(MADE["slices"]())), WINDOWS[0], tmp_path)
    legend, minimap = view.root.locator(".tgw-legend"), view.root.locator(".tgw-minimap")
    name = "t_natoms"
    canvas = area(view.root.locator(".tgw-stage canvas").first)
    for to_x, to_y in ((canvas[2] - 90, canvas[3] - 40), (canvas[0] + 60, canvas[3] - 40)):
        view.click(name)
        view.settled()
        at = view.spot(name)
        drag(page, (at["x"], canvas[1] + 4), to_x - at["x"], to_y - at["y"])
        view.settled()
        expect(minimap).to_be_visible()  # a part of the drawing is out of sight
        page.wait_for_timeout(300)  # they make way once the camera rests
        at = view.spot(name)
        assert not is_over(legend, at["x"], at["y"])
        assert not is_over(minimap, at["x"], at["y"])
    shoot(page, "crowded_corners")


def test_controls_do_not_wander_while_the_drawing_is_panned_over_free_ground(
    page: Page, tmp_path: Path
) -> None:
    view = opened(page, tgw.edit(graph_def(MADE["hub"]())), WINDOWS[2], tmp_path)
    legend = view.root.locator(".tgw-legend")
    canvas = area(view.root.locator(".tgw-stage canvas").first)
    before = corner_of(legend)
    corners = set()
    for across in (40, -80, 40):
        drag(page, (canvas[0] + 8, canvas[3] - 8), across, -20)
        view.settled()
        page.wait_for_timeout(300)
        corners.add(corner_of(legend))
    assert corners == {before}


def test_a_tooltip_is_not_over_what_was_clicked(page: Page, tmp_path: Path) -> None:
    view = opened(page, tgw.edit(graph_def(MADE["batch_norms"]())), WINDOWS[1], tmp_path)
    tooltip = view.root.locator(".tgw-tooltip")
    above, below = "functional_1/conv2d_0/Conv2D", "functional_1/activation_0/Relu"
    view.click(below)
    view.settled()
    current, hovered = view.spot(below), view.spot(above)
    page.mouse.move(hovered["x"], hovered["y"], steps=3)
    expect(tooltip).to_be_visible()
    assert not is_over(tooltip, current["x"], current["y"])
    shoot(page, "crowded_tooltip")
