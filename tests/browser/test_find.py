"""Finding, hiding and tracing, by mouse and keyboard on a small graph."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.lab import shoot
from tests.browser.letters import record_texts
from tests.browser.server import JupyterServer
from tests.browser.test_widget import shown

pytestmark = pytest.mark.one_page

PRODUCTS = ["one/product", "two/product", "three/product"]


def in_the_drawing(widget: Widget, name: str) -> bool:
    """Whether an item has its middle on the canvas."""
    x, y = widget.place(name)
    box = widget.root.locator("canvas").first.bounding_box()
    assert box
    return box["x"] < x < box["x"] + box["width"] and box["y"] < y < box["y"] + box["height"]


@pytest.mark.slow
def test_a_query_lists_hits_by_scope_and_enter_steps_through_them(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "finding")
    root, keyboard = widget.root, page.keyboard
    box = root.get_by_role("combobox", name="Find ops")
    hits, place = root.locator(".tgw-hits [role=option]"), root.locator(".tgw-hit-place")
    inspector = root.locator(".tgw-inspector")
    widget.notebook.kernel_eval("0", before="editor.view.collapse()")
    widget.settled()

    record_texts(page)
    root.focus()
    keyboard.press("/")
    keyboard.type("type:MatMul shape:?x4")
    expect(hits).to_have_count(3)
    # The closed group of the three scopes says how many it holds.
    said = "root => window.drawnTexts(root).filter(({text}) => text === '3 found').length === 1"
    page.wait_for_function(said, arg=root.element_handle())
    assert [hit.get_attribute("data-name") for hit in hits.all()] == PRODUCTS
    expect(root.locator(".tgw-hit-scope")).to_have_text(["one", "two", "three"])
    expect(root.locator(".tgw-hits-total")).to_have_text("3 found in 3 scopes")
    shoot(root, "found")

    # Enter goes from hit to hit and around, Shift-Enter back; the cursor stays in the field.
    for name, where in zip(
        [*PRODUCTS, PRODUCTS[0]], ["1 of 3", "2 of 3", "3 of 3", "1 of 3"], strict=True
    ):
        keyboard.press("Enter")
        expect(place).to_have_text(where)
        expect(inspector).to_have_attribute("data-name", name)
        widget.settled()
        assert in_the_drawing(widget, name)
        expect(box).to_be_focused()
    keyboard.press("Shift+Enter")
    expect(inspector).to_have_attribute("data-name", PRODUCTS[2])
    shoot(root, "stepped")

    # F3 goes on while the drawing has the focus, and a click on a hit goes there.
    widget.settled()
    root.focus()
    keyboard.press("F3")
    expect(inspector).to_have_attribute("data-name", PRODUCTS[0])
    box.click()
    hits.nth(1).click()
    expect(inspector).to_have_attribute("data-name", PRODUCTS[1])
    expect(place).to_have_text("2 of 3")

    # A scope is found by its ops: its name above them leads to it.
    widget.notebook.kernel_eval("0", before="editor.view.collapse()")
    widget.settled()
    box.click()
    heading = root.locator(".tgw-hit-scope").nth(2)
    heading.hover()
    shoot(root, "scope")
    heading.click()
    expect(hits.first).to_be_hidden()
    expect(inspector).to_have_attribute("data-name", "three/")
    # There it is framed as what was clicked in the drawing is; no mark of a box with many is cut
    # off.
    framed = root.evaluate(AT_REST, "three")
    page.mouse.move(framed["x"] - framed["width"] / 4, framed["y"] + framed["height"] / 2 + 3)
    marks = root.locator(".tgw-tooltip-marks")
    expect(marks).to_contain_text("Black frame: the op in the Op tab")
    expect(marks).to_contain_text("it holds so many ops found")
    expect(marks).to_contain_text("Stacked box")
    shoot(root, "scope_framed")
    assert marks.evaluate("marks => marks.scrollHeight <= marks.clientHeight")
    box.click()
    hits.nth(1).click()
    expect(inspector).to_have_attribute("data-name", PRODUCTS[1])

    # Escape ends it.
    expect(box).to_be_focused()
    keyboard.press("Escape")
    expect(box).to_have_value("")
    expect(place).not_to_be_visible()


def test_a_name_scope_is_found_by_its_own_name(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "finding_scopes")
    root, keyboard = widget.root, page.keyboard
    box, place = root.get_by_role("combobox", name="Find ops"), root.locator(".tgw-hit-place")
    scopes = root.get_by_role("group", name="Name scopes").get_by_role("option")
    inspector = root.locator(".tgw-inspector")
    widget.notebook.kernel_eval("0", before="editor.view.collapse()")
    widget.settled()
    in_two = widget.notebook.kernel_eval("len(editor.ops(scope='two'))")

    # A part of the name lists it above the ops, which Enter still goes to.
    root.focus()
    keyboard.press("/")
    keyboard.type("tw")
    expect(scopes).to_have_count(1)
    expect(scopes).to_have_text(f"two/{in_two} ops")
    expect(scopes).to_have_attribute("aria-selected", "false")
    first = root.locator(".tgw-hit").first
    expect(first).to_have_attribute("aria-selected", "true")
    expect(place).to_have_text(str(in_two))
    shoot(root, "scopes_found")
    op = first.get_attribute("data-name") or ""
    keyboard.press("Enter")
    expect(inspector).to_have_attribute("data-name", op)
    expect(place).to_have_text(f"1 of {in_two}")

    # The arrow keys reach it, and Enter goes there; the counter is about ops.
    widget.settled()
    keyboard.press("ArrowUp")
    expect(scopes).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", scopes.get_attribute("id") or "")
    keyboard.press("Enter")
    expect(inspector).to_have_attribute("data-name", "two/")
    expect(scopes).to_be_hidden()
    expect(place).to_have_text(f"1 of {in_two}")
    widget.settled()
    assert in_the_drawing(widget, "two")
    keyboard.press("Enter")
    expect(place).to_have_text(f"2 of {in_two}")

    # A click goes there, too.
    widget.settled()
    box.fill("thr")
    expect(scopes).to_contain_text("three/")
    scopes.click()
    expect(inspector).to_have_attribute("data-name", "three/")
    expect(scopes).to_be_hidden()

    # Behind its whole name Enter does, and the keys are for the drawing then; F3 goes on to the
    # ops.
    widget.settled()
    box.click()
    box.fill("two")
    expect(scopes).to_have_attribute("aria-selected", "true")
    keyboard.press("Enter")
    expect(inspector).to_have_attribute("data-name", "two/")
    expect(root).to_be_focused()
    keyboard.press("F3")
    expect(place).to_have_text(f"1 of {in_two}")
    expect(inspector).to_have_attribute("data-name", re.compile("^two/."))


@pytest.mark.slow
def test_what_is_wrong_with_a_query_is_said_and_the_syntax_is_at_hand(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "asking")
    root, keyboard = widget.root, page.keyboard
    total = root.locator(".tgw-hits-total")
    root.focus()
    keyboard.press("/")
    keyboard.type("typ:MatMul")
    expect(total).to_contain_text("did you mean 'type' or 'dtype'?")
    root.get_by_role("combobox", name="Find ops").fill("/(/")
    expect(total).to_contain_text("is not a regular expression")
    widget.settled()
    root.get_by_role("button", name="How to search").click()
    syntax = root.get_by_role("group", name="How to search")
    expect(syntax).to_be_visible()
    shoot(root, "syntax")
    syntax.get_by_role("button", name="is:trainable").click()
    expect(root.locator(".tgw-hits [role=option]")).to_have_count(3)
    root.get_by_role("button", name="Select all matches").click()
    expect(root.locator(".tgw-expression")).to_contain_text("editor.find('is:trainable')")
    widget.settled()
    assert widget.notebook.kernel_eval("list(editor.selection)") == ["one/w", "two/w", "three/w"]


@pytest.mark.slow
def test_what_is_hidden_is_counted_and_comes_back(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "hiding")
    root, keyboard = widget.root, page.keyboard
    hidden = root.locator(".tgw-hidden-place")
    items = root.get_attribute("data-items") or ""
    expect(hidden).to_have_attribute("data-hidden", "0")

    widget.click("aside")
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "aside")
    keyboard.press("h")
    expect(hidden).to_have_text("1 op hiddenShow all")
    expect(root).not_to_have_attribute("data-items", items)
    widget.settled()
    shoot(root, "hidden")
    hidden.get_by_role("button", name="Show all").click()
    expect(root).to_have_attribute("data-items", items)
    expect(hidden).to_have_attribute("data-hidden", "0")

    # All that was found, or all the rest.
    widget.settled()
    keyboard.press("/")
    keyboard.type("scope:two")
    root.get_by_role("button", name="Show only these").click()
    rest = widget.notebook.kernel_eval("len(editor._core.index) - len(editor.ops(scope='two'))")
    expect(hidden).to_contain_text(f"{rest} ops hidden")
    widget.settled()
    assert widget.notebook.kernel_eval("editor._core.view.hidden_ops") == rest
    shoot(root, "shown-only")
    keyboard.press("Escape")
    keyboard.press("A")
    expect(hidden).to_have_attribute("data-hidden", "0")
    widget.settled()
    assert widget.notebook.kernel_eval("len(editor.view.hidden)") == 0
