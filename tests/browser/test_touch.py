"""With fingers: tapping, panning, pinching, and a long press for the menu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import shoot
from tests.browser.server import JupyterServer
from tests.browser.test_keyboard import shown

pytestmark = pytest.mark.one_page

Point = tuple[float, float]

LONG_PRESS = 900  # milliseconds; browsers and the page take less


class Fingers:
    """Fingers on a touch screen, as Chromium gets them."""

    def __init__(self, session: CDPSession, page: Page) -> None:
        self._session, self._page = session, page

    def _send(self, kind: str, points: Sequence[Point]) -> None:
        touches = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(points)]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def drag(self, *ways: Sequence[Point]) -> None:
        """Put a finger down at the first point of each way, go along it, and lift them all."""
        self._send("touchStart", [way[0] for way in ways])
        for points in zip(*(way[1:] for way in ways), strict=True):
            self._send("touchMove", points)
        self._send("touchEnd", [])

    def tap(self, point: Point) -> None:
        """Touch a point for a moment."""
        self.drag([point])

    def hold(self, point: Point) -> None:
        """Rest on a point, and lift the finger."""
        self._send("touchStart", [point])
        self._page.wait_for_timeout(LONG_PRESS)
        self._send("touchEnd", [])


@contextmanager
def touching(page: Page) -> Iterator[Fingers]:
    """A touch screen for as long as it takes."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        yield Fingers(session, page)
    finally:
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
        session.detach()


def distance(widget: Widget, one: str, other: str) -> float:
    """Pixels of the screen between two items."""
    (x0, y0), (x1, y1) = widget.place(one), widget.place(other)
    return float(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)


def test_fingers_tap_pan_pinch_and_rest(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "touch")
    with touching(page) as fingers:
        fingers.tap(widget.place("two"))
        expect(widget.root.get_by_text("Holds3 ops")).to_be_visible()

        x, y = widget.place("two")
        fingers.drag([(x + 150, y), (x + 160, y + 10), (x + 190, y + 40)])
        widget.settled()
        assert widget.place("two") == pytest.approx((x + 40, y + 40), abs=2)

        before = distance(widget, "one", "three")
        x, y = widget.place("two")
        fingers.drag(
            [(x - 20, y), (x - 30, y), (x - 40, y)], [(x + 20, y), (x + 30, y), (x + 40, y)]
        )
        widget.settled()
        assert distance(widget, "one", "three") == pytest.approx(2 * before, rel=0.1)
        widget.root.focus()
        page.keyboard.press("f")
        widget.settled()

        fingers.hold(widget.place("two"))
        expand = widget.root.get_by_role("menu").locator("[data-command=activate]")
        expect(expand).to_be_visible()
        shoot(widget.root, "long-press")
        box = expand.bounding_box()
        assert box
        fingers.tap((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
        expect(widget.root.locator("[role=treeitem][data-name='two/out']")).to_have_count(1)
        widget.settled()
        assert widget.notebook.kernel_eval("sorted(editor.view.expanded)") == ["two"]
