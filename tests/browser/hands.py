"""A person's hands and eyes on one widget: a real mouse, real keys, and what the widget says of
itself.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.lab import IN_TIME, OpenNotebook, shoot

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
# A person clicks where they see a thing, and waits while it glides: its place when three frames
# showed it there.
_SPOT_AT_REST = """async (root, name) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let spot = root.tfgraphwidget.screenPosition(name);
    for (let same = 0; spot && same < 3; ) {
        await frame();
        const now = root.tfgraphwidget.screenPosition(name);
        same = now && now.x === spot.x && now.y === spot.y ? same + 1 : 0;
        spot = now;
    }
    // The minimap and the legend make way a moment later.
    const isCovered = () =>
        document.elementFromPoint(spot.x, spot.y)?.closest(".tgw-minimap, .tgw-legend");
    for (let frames = 0; spot && frames < 20 && isCovered(); frames++) await frame();
    return spot;
}"""
AT_REST = IN_TIME % _SPOT_AT_REST


class Widget:
    """A person's mouse and eyes on the widget."""

    def __init__(self, notebook: OpenNotebook, root: Locator) -> None:
        self.notebook, self.root, self.page = notebook, root, notebook.page
        self.settled()

    def settled(self, status: str = "ready") -> None:
        """Wait until the widget has drawn what it was asked for."""
        expect(self.root).to_have_attribute("data-status", status, timeout=30_000)

    def place(self, name: str) -> tuple[float, float]:
        """Where an item is on the page, once nothing glides any more."""
        spot = self.root.evaluate(AT_REST, name)
        assert spot, f"{name} is not shown"
        return spot["x"], spot["y"]

    def click(self, name: str, *modifiers: str, double: bool = False) -> None:
        """Click an item, with keys held down."""
        x, y = self.place(name)
        self.page.mouse.move(x, y)
        for key in modifiers:
            self.page.keyboard.down(key)
        self.page.mouse.dblclick(x, y) if double else self.page.mouse.click(x, y)
        for key in modifiers:
            self.page.keyboard.up(key)

    def number(self, attribute: str) -> float:
        """A number that the widget says of itself."""
        return float(self.root.get_attribute(f"data-{attribute}") or "nan")

    @property
    def status(self) -> Locator:
        """The line below the drawing, in which refusals and news stand."""
        return self.root.locator(".tgw-status")

    def center(self) -> tuple[float, float]:
        """The middle of the canvas on the page."""
        box = self.root.locator("canvas").first.bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def picture_for_the_readme(self, name: str) -> None:
        """The widget alone, all of it in view, 1200 pixels wide; `make pictures` puts it beside the
        notebooks.
        """
        viewport = self.page.viewport_size
        assert viewport
        self.page.set_viewport_size({"width": 1680, "height": 1000})
        self.root.focus()
        self.page.keyboard.press("f")
        self.page.mouse.move(0, 0)  # nothing is pointed at
        self.root.scroll_into_view_if_needed()
        self.settled()
        path = shoot(self.root, name)
        if os.environ.get("TFGRAPHWIDGET_PICTURES"):
            shutil.copy(path, NOTEBOOKS / path.name)
        self.page.set_viewport_size(viewport)

    def tab(self, name: str) -> None:
        """Bring a tab of the panel to the front."""
        self.root.get_by_role("tab", name=name, exact=True).click()

    def show_python(self) -> None:
        """Bring the history to the front, with its lines of Python."""
        self.tab("History")
        self.root.get_by_role("switch", name="Python").check()

    def clone(self, into: str) -> None:
        """Fill in the scope and press the button."""
        self.tab("Selection")
        self.root.get_by_role("textbox", name="scope").fill(into)
        self.root.get_by_role("button", name="Clone", exact=True).click()
