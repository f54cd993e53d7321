"""A hand whose clicks are counted."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Locator, expect

from tests.browser.hands import Widget


class Hand:
    """A mouse on a widget. `clicks` counts its clicks, `keys` the keys that are pressed, text that is typed as one."""

    def __init__(self, widget: Widget) -> None:
        self.widget, self.page, self.root = widget, widget.page, widget.root
        self.clicks = self.keys = 0

    @property
    def menu(self) -> Locator:
        """The context menu."""
        return self.root.locator(".tgw-context")

    def click_at(self, x: float, y: float, button: Literal["left", "right"] = "left") -> None:
        """Click a point of the page."""
        self.page.mouse.move(x, y)
        self.page.mouse.click(x, y, button=button)
        self.clicks += 1

    def right_click(self, name: str) -> None:
        """Click an item with the right button, and wait for its menu."""
        self.click_at(*self.widget.place(name), button="right")
        expect(self.menu).to_be_visible()

    def click(self, what: Locator) -> None:
        """Click something on the page."""
        what.click()
        self.clicks += 1

    def choose(self, entry: str) -> None:
        """Click an entry of the menu."""
        self.click(self.menu.get_by_role("menuitem", name=entry, exact=True))

    def press(self, key: str) -> None:
        """Press a key."""
        self.page.keyboard.press(key)
        self.keys += 1

    def type(self, text: str) -> None:
        """Type a text."""
        self.page.keyboard.type(text)
        self.keys += 1

    def lines(self, count: int) -> list[str]:
        """The lines of code of the edits, once there are so many."""
        expect(self.root.locator(".tgw-step")).to_have_count(count + 1)
        self.widget.settled()
        lines: list[str] = self.widget.notebook.kernel_eval("list(editor.lines)")
        return lines
