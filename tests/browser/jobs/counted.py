"""A hand whose clicks are counted, and the jobs that issue 21 counts: `python -m
tests.browser.jobs` prints them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import Locator, expect

from tests.browser.hands import Widget
from tests.browser.lab import ARTIFACTS

COUNTS = ARTIFACTS / "counted.jsonl"


@dataclass(frozen=True)
class Job:
    """A task of a user: what it took before issue 21, and the clicks and keys that it takes now."""

    name: str
    before: str
    clicks: int
    keys: int = 0


CLONE = Job("Clone a scope", "8", 2, 1)
REPLACE = Job("Replace an activation", "6, and a broken drawing", 3)
INSERT = Job("Insert an op with a name, in its place", "3", 3, 1)
BYPASS = Job("Bypass a dropout that was clicked, in a training graph", "not possible", 1)
SAVE = Job("Strip training and save frozen, in a notebook", "not possible", 3)
COSTS = Job("Find the most expensive layer, with its number", "1", 1)
WEIGHTS = Job("Take the weights of a variable that was clicked as an array", "not possible", 2)
COMPARE = Job("Compare two models", "not possible", 3, 1)
JOIN = Job("Join two models", "not possible", 4, 2)
CLONE_BY_KEYS = Job("Clone a part by keys", "14 keys and 35 Tabs", 0, 10)
JOBS = (CLONE, REPLACE, INSERT, BYPASS, SAVE, COSTS, WEIGHTS, COMPARE, JOIN, CLONE_BY_KEYS)


class Hand:
    """A mouse on a widget. `clicks` counts its clicks, `keys` the keys that are pressed, text that
    is typed as one.
    """

    def __init__(self, widget: Widget) -> None:
        self.widget, self.page, self.root = widget, widget.page, widget.root
        self.clicks = self.keys = 0

    def begin(self) -> None:
        """Begin a job: count from 0."""
        self.clicks = self.keys = 0

    def done(self, job: Job) -> None:
        """The job is done: it has taken as many clicks and keys as it may."""
        assert (self.clicks, self.keys) == (job.clicks, job.keys), job.name
        ARTIFACTS.mkdir(exist_ok=True)
        with COUNTS.open("a") as file:
            file.write(json.dumps([job.name, self.clicks, self.keys]) + "\n")

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
        """Click an item with the right button, and wait for its menu, with what the kernel knows of
        the item.
        """
        self.click_at(*self.widget.place(name), button="right")
        expect(self.menu).to_be_visible()
        expect(self.menu).to_have_attribute("aria-busy", "false")

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

    def fill(self, field: Locator, text: str) -> None:
        """Replace the text of a field."""
        field.fill(text)
        self.keys += 1

    def lines(self, count: int) -> list[str]:
        """The lines of code of the edits, once there are so many."""
        expect(self.root.locator(".tgw-step")).to_have_count(count + 1)
        self.widget.settled()
        lines: list[str] = self.widget.notebook.kernel_eval("list(editor.history.lines)")
        return lines
