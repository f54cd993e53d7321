"""A click on Clone in a real JupyterLab: one plan, one revision, one request for the edit and one
for the panels.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import shoot
from tests.browser.server import JupyterServer
from tests.browser.test_foresight import caught_up
from tests.browser.test_widget import shown

NOTED = """
from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.widget.protocol.codec import message_type
from tfgraphwidget.widget.request_handler import RequestHandler
asked, plans = [], []
handle, plan = RequestHandler.handle, Clone._patch
def noted(handler, request, *pane):
    asked.append(message_type(type(request)))
    return handle(handler, request, *pane)
def planned(clone, context, *, is_sample):
    plans.append(clone.into)
    return plan(clone, context, is_sample=is_sample)
RequestHandler.handle, Clone._patch = noted, planned
"""


def asked(widget: Widget) -> list[str]:
    """What the page has requested, but for drawings of scopes that the user may open next."""
    requests: list[str] = widget.notebook.kernel_eval("asked")
    return [request for request in requests if request != "prefetch_scene"]


def preview_of(widget: Widget, scope: str) -> None:
    """Wait for the preview of a clone into a scope."""
    preview = widget.root.locator(".tgw-preview")
    expect(preview).to_have_attribute("aria-busy", "false")
    expect(preview).to_contain_text(f"into {scope}.")


@pytest.mark.slow  # `tests/widget/test_one_click.py` counts plans and revisions
def test_a_click_on_clone_is_one_plan_one_revision_and_two_requests(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "one_click")
    root, notebook = widget.root, widget.notebook
    widget.click("x", "Shift")
    widget.settled()
    widget.click("y", "Alt")
    widget.settled()
    widget.click("x")
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "x")
    expect(root.locator(".tgw-examined")).to_have_attribute("data-name", "x")
    preview_of(widget, "copy")
    caught_up(widget)
    notebook.kernel_eval("0", before=NOTED)
    revision = notebook.kernel_eval("editor.view.widget.revision")

    widget.tab("Selection")
    scope = root.get_by_role("textbox", name="scope")
    scope.fill("tower")
    preview_of(widget, "tower")
    assert asked(widget) == ["preview"]
    root.get_by_role("button", name="Clone", exact=True).click()
    expect(widget.status).to_contain_text("Cloned")
    preview_of(widget, "copy")  # of the next clone
    expect(scope).to_have_value("copy")
    caught_up(widget)
    assert asked(widget) == ["preview", "clone", "preview"]
    assert notebook.kernel_eval("plans") == ["tower", "copy"]
    assert notebook.kernel_eval("editor.view.widget.revision") == revision + 1
    widget.tab("Op")
    # The inspector has the new consumers, by the reply to the click.
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "x")
    expect(root.locator(".tgw-inspector").get_by_text("tower/").first).to_be_visible()
    shoot(page, "one_click")

    # A refused click: one request, nothing else.
    widget.tab("Selection")
    scope.fill("tower")
    expect(root.locator(".tgw-preview")).to_contain_text("'tower'")
    before = asked(widget)
    root.get_by_role("button", name="Clone", exact=True).click()
    expect(root).to_have_attribute("data-status", "refused")
    caught_up_to = notebook.kernel_eval("editor.view.widget.revision")
    assert asked(widget) == [*before, "clone"]
    assert caught_up_to == revision + 1
    expect(scope).to_have_value("tower")
