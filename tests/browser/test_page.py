"""The page that `editor.save("view.html")` writes, opened from the disk, with no network and no kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import tfgraphwidget as tgw
from tests.browser.lab import Watch, shoot
from tests.conftest import INCEPTION, build_mlp
from tests.odd import GRAPHS
from tfgraphwidget.editor import GraphEditor

NET = "net/InceptionV3/InceptionV3"
Open = Callable[[GraphEditor], "View"]


class View:
    """A person's mouse and eyes on the page."""

    def __init__(self, page: Page) -> None:
        self.page, self.root = page, page.locator(".tfgraphwidget")
        self.settled()

    def settled(self, status: str = "ready") -> None:
        """Wait until what was asked for is drawn, and stands still."""
        expect(self.root).to_have_attribute("data-status", status, timeout=60_000)

    def spot(self, name: str) -> dict[str, float]:
        """Where an item is on the page."""
        found = self.root.evaluate("(root, name) => root.tfgraphwidget.screenPosition(name)", name)
        assert found, f"{name} is not shown"
        return dict(found)

    def shown(self, name: str) -> bool:
        """Whether there is such an item."""
        return bool(self.root.evaluate("(root, name) => root.tfgraphwidget.screenPosition(name) !== null", name))

    def click(self, name: str, *, double: bool = False) -> None:
        """Click an item."""
        spot = self.spot(name)
        (self.page.mouse.dblclick if double else self.page.mouse.click)(spot["x"], spot["y"])

    def number(self, attribute: str) -> float:
        """A number that the view says of itself."""
        return float(self.root.get_attribute(f"data-{attribute}") or "nan")

    @property
    def inspector(self) -> Locator:
        """What is said of what was clicked."""
        return self.root.locator(".tgw-inspector")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network; the test fails on an exception, a console error or any request that leaves the disk."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(30_000)
    context.set_offline(True)
    watch = Watch("")
    context.on("page", watch.attach)
    yield context.new_page()
    context.close()
    assert not watch.problems, "\n".join(watch.problems)


@pytest.fixture
def opened(page: Page, tmp_path: Path) -> Open:
    """Write the page of an editor, and open it."""

    def show(editor: GraphEditor) -> View:
        page.goto(editor.save(tmp_path / "view.html").as_uri())
        return View(page)

    return show


@pytest.fixture(scope="module")
def inception() -> GraphEditor:
    return tgw.edit(INCEPTION)


def test_one_moves_opens_searches_and_inspects(opened: Open, inception: GraphEditor) -> None:
    # Over 30 lines: one visit, as a person makes it.
    view = opened(inception)
    page = view.page
    shoot(page, "page")
    before = view.spot(f"{NET}/Mixed_7a")
    assert view.number("items") == len(inception.scene())
    view.click(f"{NET}/Mixed_6a", double=True)
    expect(view.root).not_to_have_attribute("data-items", str(len(inception.scene())))
    view.settled()
    assert view.shown(f"{NET}/Mixed_6a/Branch_1")
    assert view.shown(f"{NET}/Mixed_6a/concat")
    shoot(page, "page-opened")
    page.mouse.move(500, 500)
    zoom = view.number("zoom")
    page.mouse.wheel(0, -400)
    expect(view.root).not_to_have_attribute("data-zoom", f"{zoom:.3f}")
    assert view.number("zoom") > zoom
    view.root.focus()
    page.keyboard.press("f")
    at = view.spot(f"{NET}/Mixed_7a")
    page.mouse.move(420, 760)
    page.mouse.down()
    page.mouse.move(480, 700, steps=4)
    page.mouse.up()
    moved = view.spot(f"{NET}/Mixed_7a")
    assert (round(moved["x"] - at["x"]), round(moved["y"] - at["y"])) == (60, -60)
    assert before != moved
    search = view.root.get_by_role("combobox", name="Find ops")
    search.fill("type:Conv2D Mixed_7c")
    expect(view.root.locator(".tgw-hits-total")).to_contain_text("9 found")
    shoot(page, "page-found")
    search.press("Enter")
    expect(view.inspector).to_have_attribute("data-name", re.compile("Mixed_7c.*Conv2D"))
    expect(view.inspector).to_contain_text("float32 (None, 8, 8,")
    expect(view.inspector).to_contain_text("Computes a 2-D convolution")
    view.settled()
    shoot(page, "page-inspected")


def test_it_is_drawn_as_in_the_editor(opened: Open, inception: GraphEditor) -> None:
    view, scene = opened(inception), inception.scene()
    zoom = view.number("zoom")
    root = view.spot("net/")
    item = scene.names.index("net")
    for name in ("input", f"{NET}/Mixed_7a", f"{NET}/Mixed_6b … {NET.rpartition('/')[2]}", "save"):
        if name not in scene.names:
            continue
        other = scene.names.index(name)
        assert view.spot(name)["width"] == pytest.approx(scene.box[other, 2] * zoom, abs=2)
    assert root["width"] == pytest.approx(scene.box[item, 2] * zoom, abs=2)


def test_nothing_that_needs_a_kernel_is_offered(opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    view = opened(editor)
    view.click("x")
    expect(view.inspector).to_have_attribute("data-name", "x")
    names = [text.strip() for text in view.root.get_by_role("button").all_inner_texts() if text.strip()]
    assert not {"Clone", "Undo", "Remove", "Rename", "Freeze", "Input", "Output", "Values", "Hide"} & set(names)
    for section in ("Clone", "History", "Changes"):
        expect(view.root.get_by_role("region", name=section)).to_have_count(0)
    view.root.focus()
    view.page.keyboard.press("Control+z")
    view.page.keyboard.press("Delete")
    expect(view.root.locator(".tgw-alert")).to_have_text("")
    spot = view.spot("x")
    view.page.keyboard.down("Shift")
    view.page.mouse.click(spot["x"], spot["y"])
    view.page.keyboard.up("Shift")
    expect(view.root.locator(".tgw-alert")).to_contain_text("This page has no kernel; open the graph with tgw.edit(")


def test_everything_opens_and_closes(opened: Open, inception: GraphEditor) -> None:
    view = opened(inception)
    first = view.number("items")
    view.root.focus()
    view.page.keyboard.press("E")
    expect(view.root).not_to_have_attribute("data-items", str(int(first)))
    view.settled()
    assert view.number("items") > 4_000
    view.page.keyboard.press("f")
    shoot(view.page, "page-everything")
    view.page.keyboard.press("C")
    expect(view.root).to_have_attribute("data-items", re.compile(r"^\d$"))
    view.settled()


def test_the_selection_and_the_colours_are_there(opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    editor.mark("x:0", "net/logits:0")
    editor.color_by("type")
    view = opened(editor)
    assert editor.selection is not None
    assert view.number("selected-ops") == len(editor.selection)
    choose = view.root.get_by_label("Colour by")
    expect(choose).to_have_value("type")
    choose.select_option("parameters")
    expect(view.root.locator(".tgw-legend-ramp")).to_be_visible()
    view.settled()
    shoot(view.page, "page-coloured")
    view.root.get_by_role("button", name="Clear selection").click()
    expect(view.root).to_have_attribute("data-selected-ops", "0")


def test_it_is_dark_for_who_likes_it_dark(page: Page, opened: Open, inception: GraphEditor) -> None:
    page.emulate_media(color_scheme="dark")
    view = opened(inception)
    assert view.root.evaluate("root => getComputedStyle(root).backgroundColor") == "rgb(20, 24, 29)"
    expect(view.root).to_have_attribute("data-theme", "dark")
    shoot(page, "page-dark")


@pytest.mark.parametrize("name", ["unicode", "markup", "names of a thousand characters", "self-loops and cycles"])
def test_odd_names_are_text(page: Page, opened: Open, name: str) -> None:
    dialogs: list[Any] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    editor = tgw.edit(GRAPHS[name]())
    view = opened(editor)
    view.root.focus()
    page.keyboard.press("E")
    view.settled()
    last = editor.index.names[-1]
    view.root.get_by_role("combobox", name="Find ops").fill(f'name:"{last}"' if '"' not in last else "/[\"']/")
    expect(view.root.locator(".tgw-hits-total")).to_contain_text("found")
    assert dialogs == []
    shoot(page, f"page-odd-{name.replace(' ', '-')}")


def test_tensors_flow_to_the_right_where_they_did(opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    editor.close("net/two")
    editor.direction = "right"
    editor.open("net/one")
    view = opened(editor)
    items = view.root.get_attribute("data-items")
    view.click("net/two", double=True)
    expect(view.root).not_to_have_attribute("data-items", str(items))
    view.settled()
    assert view.spot("net/two/MatMul")["x"] < view.spot("net/two/out")["x"]
    shoot(view.page, "page-right")
