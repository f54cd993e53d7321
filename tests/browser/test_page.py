"""The page that `editor.save("view.html")` writes, opened from the disk, with no network and no
kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from playwright.sync_api import Browser, Locator, Page, expect

import tfgraphwidget as tgw
from tests.browser.lab import Watch, shoot
from tests.conftest import INCEPTION, build_mlp
from tests.odd import GRAPHS
from tests.slow import slow
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
        return bool(
            self.root.evaluate(
                "(root, name) => root.tfgraphwidget.screenPosition(name) !== null", name
            )
        )

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


@tf.function(input_signature=[tf.TensorSpec([None, 3])])
def called(x: Any) -> Any:
    """Calls a function, which has a loop in it."""
    return repeated(x, tf.constant(0.5)) + 1.0


@tf.function(autograph=False)
def repeated(x: Any, step: Any) -> Any:
    """A loop."""
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.nn.relu(y) - step), [0, x])[1]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network; the test fails on an exception, a console error or any request that
    leaves the disk.
    """
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
    assert view.number("items") == len(inception.view.scene())
    view.click(f"{NET}/Mixed_6a", double=True)
    expect(view.root).not_to_have_attribute("data-items", str(len(inception.view.scene())))
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
    expect(view.inspector).to_contain_text("float32 ?×8×8×")
    expect(view.inspector).to_contain_text("Computes a 2-D convolution")
    view.settled()
    shoot(page, "page-inspected")
    # Behind a part of a scope's name the arrow keys lead to it.
    search.fill("Mixed_5b")
    scope = view.root.get_by_role("group", name="Name scopes").get_by_role("option").last
    expect(scope).to_have_text(re.compile(rf"^{NET}/Mixed_5b/[\d,]+ ops$"))
    shoot(page, "page-scope-found")
    search.press("ArrowUp")
    expect(scope).to_have_attribute("aria-selected", "true")
    search.press("Enter")
    expect(view.inspector).to_have_attribute("data-name", f"{NET}/Mixed_5b/")
    view.settled()
    shoot(page, "page-scope")


def test_the_zoom_of_the_browser_enlarges_the_drawing(page: Page, opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    view = opened(editor)
    zoom = view.number("zoom")
    left = view.spot("x")["x"]
    # As a browser does at 150 %: the page has fewer pixels, each of which is larger.
    device = page.context.new_cdp_session(page)
    size = {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    larger = size | {"width": 933, "height": 600, "deviceScaleFactor": 1.5}
    device.send("Emulation.setDeviceMetricsOverride", larger)
    expect(view.root).to_have_css("width", "933px")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    view.settled()
    assert (view.number("zoom"), view.spot("x")["x"]) == (zoom, left)
    assert page.evaluate("devicePixelRatio") == 1.5
    device.send("Emulation.setDeviceMetricsOverride", size)
    view.settled()
    assert (view.number("zoom"), view.spot("x")["x"]) == (zoom, left)


@pytest.mark.slow
def test_it_is_drawn_as_in_the_editor(opened: Open, inception: GraphEditor) -> None:
    view, scene = opened(inception), inception.view.scene()
    zoom = view.number("zoom")
    root = view.spot("net/")
    item = scene.names.index("net")
    for name in ("input", f"{NET}/Mixed_7a", f"{NET}/Mixed_6b … Mixed_6e", "save"):
        other = scene.names.index(name)
        assert view.spot(name)["width"] == pytest.approx(scene.box[other, 2] * zoom, abs=2)
    assert root["width"] == pytest.approx(scene.box[item, 2] * zoom, abs=2)


def test_nothing_that_needs_a_kernel_is_offered(opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    view = opened(editor)
    view.click("x")
    expect(view.inspector).to_have_attribute("data-name", "x")
    names = [
        text.strip() for text in view.root.get_by_role("button").all_inner_texts() if text.strip()
    ]
    assert not {"Clone", "Undo", "Remove", "Rename", "Freeze", "Values"} & set(names)
    for section in ("Clone", "History", "Changes"):
        expect(view.root.get_by_role("region", name=section)).to_have_count(0)
    view.root.focus()
    view.page.keyboard.press("Control+z")
    view.page.keyboard.press("Delete")
    expect(view.root.locator(".tgw-alert")).to_have_text("")
    view.page.keyboard.press("c")
    expect(view.root.locator(".tgw-alert")).to_have_text("")


def doubled(editor: GraphEditor) -> str:
    """The first op that calls a function."""
    return editor.ops(where=lambda op: op.type.endswith("PartitionedCall")).ops[0]


def test_a_call_leads_into_the_function_and_the_path_back(opened: Open) -> None:
    # Over 30 lines: one way in, and the ways out.
    editor = tgw.edit(called)
    view, call = opened(editor), doubled(editor)
    page, way = view.page, view.root.get_by_role("navigation", name="Current graph")
    shoot(page, "page-call")
    expect(way).to_have_text("tf.function 'called'")
    view.click(call, double=True)
    expect(view.root).to_have_attribute("data-graph", f"tf.function 'called' / {call}")
    view.settled()
    editor.view.enter(call)
    assert view.number("items") == len(editor.view.scene())
    view.click("while")
    ways = view.inspector.locator(".tgw-called-function")
    expect(ways).to_have_count(2)
    expect(view.inspector).to_contain_text("cond argument")
    shoot(page, "page-call-entered")
    ways.nth(1).click()
    expect(way.get_by_role("button")).to_have_text(["tf.function 'called'", call, "while:cond"])
    view.settled()
    editor.view.enter("while", "cond")
    assert view.number("items") == len(editor.view.scene())
    page.keyboard.press("Backspace")
    expect(way.get_by_role("button")).to_have_count(2)
    search = view.root.get_by_role("combobox", name="Find ops")
    search.fill("is:call")
    expect(view.root.locator(".tgw-hits-total")).to_contain_text("1 found")
    search.press("Escape")
    way.get_by_role("button").first.click()
    expect(way).to_have_text("tf.function 'called'")
    view.settled()
    assert view.shown(call)


@pytest.mark.slow
def test_a_keras_model_opens_where_its_work_is_done(opened: Open, tmp_path: Path) -> None:
    keras = tf.keras
    layers = [
        keras.Input((8,)),
        keras.layers.Dense(4, name="one"),
        keras.layers.Dense(2, name="two"),
    ]
    keras.Sequential(layers).export(str(tmp_path / "saved"), verbose=False)
    editor = tgw.edit(tmp_path / "saved")
    view = opened(editor)
    assert len(editor.view.breadcrumb) > 1
    way = view.root.get_by_role("navigation", name="Current graph").get_by_role("button")
    expect(way).to_have_text(["saved", *editor.view.breadcrumb[1:]])
    assert view.number("items") == len(editor.view.scene())
    way.first.click()
    expect(way).to_have_count(0)
    view.settled()
    editor.view.leave(0)
    assert view.number("items") == len(editor.view.scene())
    shoot(view.page, "page-saved-model")


def test_a_function_that_was_left_out_says_so(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfgraphwidget.export.html.function_pages._MOST_OPS", 0)
    editor = tgw.edit(called)
    view = opened(editor)
    view.click(doubled(editor), double=True)
    expect(view.root.locator(".tgw-alert")).to_contain_text("open the graph with tgw.edit(")
    expect(view.root).to_have_attribute("data-graph", "tf.function 'called'")


@pytest.mark.parametrize(
    ("tab", "where", "wanted"),
    [
        ("Op", "button:not([role])", {"Trace upstream", "Zoom in", "Select all matches"}),
        slow("Selection", "button:not([role])", {"Upstream", "Clear selection"}),
        slow("Costs", "button:not([role])", {"Zoom in"}),
        slow(
            "Op", "[role^='menuitem']", {"Expand all scopesShift+E", "Control edgesT", "MinimapM"}
        ),
    ],
)
def test_no_control_of_the_page_asks_for_a_kernel(
    opened: Open, tab: str, where: str, wanted: set[str]
) -> None:
    editor = tgw.edit(called)
    view = opened(editor)
    page, call = view.page, doubled(editor)
    view.click(call)
    expect(view.inspector).to_have_attribute("data-name", call)
    view.root.get_by_role("tab", name=tab, exact=True).click()
    if tab == "Selection":
        view.root.get_by_text("Change the selection").click()
    view.root.get_by_role("combobox", name="Find ops").fill("add")
    expect(view.root.locator(".tgw-hits-total")).to_contain_text("found")
    if where.startswith("["):
        view.root.get_by_role("button", name="View").click()
    there = view.root.locator(where)
    names = there.evaluate_all(
        """all => all.filter((each) => each.offsetParent && each.ariaDisabled !== 'true')
            .map((each) => each.ariaLabel ?? each.textContent)"""
    )
    assert wanted <= set(names), names
    for name in names:
        if where.startswith("["):
            view.root.get_by_role("button", name="View").click()
        there.filter(visible=True).evaluate_all(
            "(all, name) => all.find((each) => (each.ariaLabel ?? each.textContent) === "
            "name)?.click()",
            name,
        )
        expect(view.root).to_have_attribute("data-status", re.compile("ready|refused"))
        expect(view.root.locator(".tgw-alert")).not_to_contain_text("kernel")
        page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1600])
@pytest.mark.sample(1)
def test_nothing_sticks_out_at_any_width(page: Page, opened: Open, width: int, scheme: Any) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.emulate_media(color_scheme=scheme)
    view = opened(tgw.edit(called))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth && scrollY === 0")
    sizes = view.root.evaluate(
        """root => [...root.querySelectorAll('button, input, select')]
            .filter(each => each.offsetParent)
            .map(each => each.getBoundingClientRect())
            .filter(({left, right}) => left < 0 || right > innerWidth).length"""
    )
    assert sizes == 0
    shoot(page, f"page-{width}-{scheme}")


@pytest.mark.slow
def test_what_is_hidden_is_gone_with_its_lines_until_it_is_shown_again(
    opened: Open, inception: GraphEditor
) -> None:
    view = opened(inception)
    page, items = view.page, view.number("items")
    view.click(f"{NET}/Mixed_7a")
    expect(view.inspector).to_contain_text("Mixed_7a")
    page.keyboard.press("h")
    expect(view.root.locator(".tgw-hidden-count")).to_have_text(re.compile(r"^\d+ ops hidden$"))
    view.settled()
    assert not view.shown(f"{NET}/Mixed_7a")
    assert view.number("items") < items
    shoot(page, "page-hidden")
    view.root.get_by_role("button", name="Show all").click()
    expect(view.root).to_have_attribute("data-items", str(int(items)))
    search = view.root.get_by_role("combobox", name="Find ops")
    search.fill("scope:Mixed_7b")
    view.root.get_by_role("button", name="Show only these").click()
    expect(view.root.locator(".tgw-hidden-count")).to_be_visible()
    view.settled()
    assert not view.shown("input")
    shoot(page, "page-shown-only")


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_selection_and_the_colours_are_there(opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    editor.mark("x:0", "net/logits:0")
    editor.view.color_by("type")
    view = opened(editor)
    assert editor.selection is not None
    assert view.number("selected-ops") == len(editor.selection)
    choose = view.root.get_by_label("Color by", exact=True)
    expect(choose).to_have_value("type")
    choose.select_option("parameters")
    expect(view.root.locator(".tgw-legend-ramp")).to_be_visible()
    view.settled()
    shoot(view.page, "page-coloured")
    view.page.set_viewport_size({"width": 520, "height": 780})
    legend = view.root.get_by_role("region", name="Colors")
    expect(view.root.locator(".tgw-legend-ramp")).to_be_visible()
    for most in (0.08, 0.02):
        box = legend.bounding_box()
        assert box is not None
        assert box["width"] * box["height"] <= most * 520 * 780
        view.root.get_by_role("button", name="Legend").click()
    shoot(view.page, "page-coloured-narrow")
    view.page.set_viewport_size({"width": 1400, "height": 900})
    view.root.get_by_role("button", name="Clear selection").click()
    expect(view.root).to_have_attribute("data-selected-ops", "0")


def test_it_is_dark_for_who_likes_it_dark(page: Page, opened: Open, inception: GraphEditor) -> None:
    page.emulate_media(color_scheme="dark")
    view = opened(inception)
    assert view.root.evaluate("root => getComputedStyle(root).backgroundColor") == "rgb(20, 24, 29)"
    expect(view.root).to_have_attribute("data-theme", "dark")
    shoot(page, "page-dark")


@pytest.mark.parametrize(
    "name", ["unicode", "markup", "names of a thousand characters", "self-loops and cycles"]
)
@pytest.mark.sample(1)
def test_odd_names_are_text(page: Page, opened: Open, name: str) -> None:
    dialogs: list[Any] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    editor = tgw.edit(GRAPHS[name]())
    view = opened(editor)
    view.root.focus()
    page.keyboard.press("E")
    view.settled()
    last = editor._core.index.names[-1]
    view.root.get_by_role("combobox", name="Find ops").fill(
        f'name:"{last}"' if '"' not in last else "/[\"']/"
    )
    expect(view.root.locator(".tgw-hits-total")).to_contain_text("found")
    assert dialogs == []
    shoot(page, f"page-odd-{name.replace(' ', '-')}")


@pytest.mark.slow
def test_tensors_flow_to_the_right_where_they_did(opened: Open) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    editor.view.collapse("net/two")
    editor.view.direction = "right"
    editor.view.expand("net/one")
    view = opened(editor)
    items = view.root.get_attribute("data-items")
    view.click("net/two", double=True)
    expect(view.root).not_to_have_attribute("data-items", str(items))
    view.settled()
    assert view.spot("net/two/MatMul")["x"] < view.spot("net/two/out")["x"]
    shoot(view.page, "page-right")


def test_a_part_is_marked_by_its_boundary_and_gives_the_line_that_clones_it(
    opened: Open,
) -> None:
    editor = tgw.example()
    editor.view.expand("net")
    view = opened(editor)
    expect(view.page.get_by_role("heading", level=1)).to_have_text("Graph")
    for mode, name in (("Input", "x"), ("Output", "net/logits")):
        view.root.get_by_role("button", name=mode, exact=True).click()
        view.click(name)
        view.settled()
    part = editor.between("x", "net/logits")
    expect(view.root.locator(".tgw-count")).to_have_attribute("data-ops", str(len(part)))
    line = view.root.locator(".tgw-expression")
    expect(line).to_have_text('editor.clone(inputs=["x"], outputs=["net/logits"], into="copy")')
    names: dict[str, Any] = {"editor": editor}
    exec(f"copy = {line.inner_text()}", names)
    assert len(names["copy"].variables) == 3
    shoot(view.page, "page-marked")
    view.root.get_by_role("button", name="Clear selection").click()
    expect(line).to_be_hidden()


def test_a_boundary_that_no_path_joins_is_refused_in_a_sentence(opened: Open) -> None:
    editor = tgw.example()
    editor.view.expand("net")
    view = opened(editor)
    for mode, name, status in (("Input", "net/logits", "ready"), ("Output", "x", "refused")):
        view.root.get_by_role("button", name=mode, exact=True).click()
        view.click(name)
        view.settled(status)
    expect(view.root.get_by_role("alert")).to_contain_text("they lie the other way round")


def test_a_page_fits_a_phone_and_is_marked_by_touch(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    editor = tgw.example()
    editor.view.expand("net")
    page.goto(editor.save(tmp_path / "view.html").as_uri())
    view = View(page)
    sizes = page.evaluate(
        "(({scrollWidth, scrollHeight}) => [scrollWidth - innerWidth, scrollHeight - innerHeight])"
        "(document.documentElement)"
    )
    assert sizes == [0, 0]
    for mode, name in (("Input", "x"), ("Output", "net/logits")):
        view.root.get_by_role("button", name=mode, exact=True).tap()
        spot = view.spot(name)
        page.touchscreen.tap(spot["x"], spot["y"])
        view.settled()
    view.root.get_by_role("button", name="Side panel").tap()
    expect(view.root.locator(".tgw-count")).to_have_attribute("data-ops", "10")
    shoot(page, "page-phone")
    context.close()
