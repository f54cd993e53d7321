"""What people do with the drawing that nobody has thought of first, by real mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import shoot
from tests.browser.server import JupyterServer
from tests.browser.test_widget import shown

pytestmark = pytest.mark.one_page

# Of each term of a list what it is called and what stands beside it: whether its name is cut, and
# where the two begin.
TERMS = """list => [...list.querySelectorAll("dt")].map(term => {
    const [name, value] = [term, term.nextElementSibling].map(each => each.getBoundingClientRect());
    return [term.textContent, Math.round(name.top - value.top), name.right <= value.left,
        name.height];
})"""


def drag(widget: Widget, name: str, dx: float, dy: float) -> None:
    """Take a box and put it elsewhere."""
    mouse, (x, y) = widget.page.mouse, widget.place(name)
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + dx, y + dy, steps=6)
    mouse.up()
    expect(widget.root.locator(f"[role=treeitem][data-name='{name}']")).to_contain_text("pinned")
    widget.settled()


@pytest.mark.slow
def test_a_box_inside_an_open_scope_stays_where_it_is_dropped(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "dropping")
    widget.notebook.kernel_eval("0", before="editor.view.collapse(); editor.view.expand('two')")
    widget.settled()
    widget.root.focus()
    page.keyboard.press("f")
    before, beside = widget.place("two/out"), widget.place("x")
    drag(widget, "two/out", 60, 25)
    shoot(widget.root, "dropped-inside")
    # What nobody moved may have given way; the drawing has not.
    shift = [there - here for there, here in zip(widget.place("x"), beside, strict=True)]
    landed = widget.place("two/out")
    assert landed == pytest.approx((before[0] + 60 + shift[0], before[1] + 25 + shift[1]), abs=2)


@pytest.mark.slow
def test_the_end_of_the_help_sheet_can_be_reached_by_keyboard(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "reading_help")
    root = widget.root
    root.focus()
    page.keyboard.press("?")
    sheet = root.get_by_role("dialog", name="Keys and gestures")
    last = sheet.get_by_text("Then type letters: go to the next name that starts with them")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect(last).to_be_in_viewport()
    frame, end = root.bounding_box(), last.bounding_box()
    assert frame
    assert end
    assert end["y"] + end["height"] <= frame["y"] + frame["height"]
    assert root.evaluate("root => root.scrollTop") == 0
    shoot(root, "end-of-help")
    page.keyboard.press("Escape")
    expect(root).to_be_focused()


@pytest.mark.slow
def test_a_path_is_asked_for_as_long_as_it_takes(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "asking_for_a_path")
    root, keyboard, inspector = widget.root, page.keyboard, widget.root.locator(".tgw-inspector")
    ask = "Click the other end of the path from one/product"
    widget.notebook.kernel_eval("0", before="editor.view.collapse(); editor.view.expand('one')")
    widget.click("one/product")
    expect(inspector).to_have_attribute("data-name", "one/product")
    to = inspector.get_by_role("button", name="Trace path to")
    to.click()
    expect(widget.status).to_contain_text(ask)

    # Escape gives up, and does not leave the question standing.
    root.focus()
    keyboard.press("Escape")
    expect(widget.status).not_to_contain_text(ask)

    # Who looks for the other op, in a closed scope too, is still asked, and takes it with Enter.
    to.click()
    keyboard.press("/")
    keyboard.type("name:two/out")
    expect(root.locator(".tgw-hits [role=option]")).to_have_count(1)
    keyboard.press("Enter")
    expect(root.locator(".tgw-hit-place")).to_have_text("1 of 1")
    widget.settled()
    keyboard.press("Escape")
    expect(widget.status).to_contain_text(ask)
    expect(inspector).to_have_attribute("data-name", "one/product")
    root.focus()
    keyboard.press("Enter")
    expect(widget.status).not_to_contain_text(ask)
    expect(root.locator(".tgw-expression")).to_contain_text("one/product")
    widget.settled()
    chosen = set(widget.notebook.kernel_eval("list(editor.selection)"))
    assert chosen >= {"one/product", "one/out", "two/product", "two/out"}


@pytest.mark.slow
def test_attributes_stand_next_to_their_names(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "attributes")
    widget.notebook.kernel_eval("0", before="editor.view.expand('one')")
    widget.settled()
    widget.click("one/product")
    listed = widget.root.locator(".tgw-attributes")
    listed.scroll_into_view_if_needed()
    shoot(widget.root.locator(".tgw-panel"), "attributes")
    report = {name: (drop, apart, height) for name, drop, apart, height in listed.evaluate(TERMS)}
    assert {"T", "transpose_a", "transpose_b"} <= set(report)
    for name, (drop, apart, height) in report.items():
        assert abs(drop) <= 3, name
        assert apart, name
        assert height < 30, name


@pytest.mark.slow
def test_colours_that_a_cell_has_chosen_come_with_their_legend(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "own_colours")
    legend = widget.root.get_by_role("region", name="Colors")
    assert not legend.locator(".tgw-legend-body").is_visible()
    widget.notebook.kernel_eval("0", before="editor.view.color_by({'one': 0.25, 'two': 4})")
    expect(legend.locator(".tgw-legend-ends")).to_be_visible()
    expect(legend.locator(".tgw-legend-ends")).to_have_text("0.254")
    # Who folds it is left alone until the colours mean something else.
    legend.get_by_role("button", name="Legend").click()
    widget.notebook.kernel_eval("0", before="editor.view.expand('one')")
    widget.settled()
    expect(legend.locator(".tgw-legend-body")).to_be_hidden()
    widget.notebook.kernel_eval("0", before="editor.view.color_by('type')")
    expect(legend.get_by_text("MatMul")).to_be_visible()


@pytest.mark.slow
def test_what_was_found_follows_an_edit(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "found_and_renamed")
    root, keyboard = widget.root, page.keyboard
    root.focus()
    keyboard.press("/")
    keyboard.type("type:MatMul")
    hits = root.locator(".tgw-hits [role=option]")
    expect(hits).to_have_count(3)
    keyboard.press("Enter")
    widget.settled()
    widget.notebook.kernel_eval("0", before="editor.rename('two/product', 'two/times')")
    expect(hits.last).to_have_attribute("data-name", "two/times")
    expect(root.locator(".tgw-hit-place")).to_have_text("1 of 3")
    keyboard.press("Shift+Enter")
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "two/times")
    expect(root.locator(".tgw-hit-place")).to_have_text("3 of 3")


@pytest.mark.slow
def test_forced_colours_leave_the_legend_its_own(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "forced_colours")
    page.emulate_media(forced_colors="active")
    widget.root.get_by_role("combobox", name="Color by").select_option("type")
    swatches = widget.root.locator(".tgw-legend-swatch")
    expect(swatches.first).to_be_visible()
    shoot(widget.root, "forced-colours")
    fills = swatches.evaluate_all("all => all.map(each => getComputedStyle(each).backgroundColor)")
    assert len(set(fills)) > 3
