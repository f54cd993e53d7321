"""What the page's own clock says: when a picture stood, how long frames took while a mouse moved
it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from playwright.sync_api import Locator, Page

GESTURE_STEPS = 60
AWAIT = """({gesture, select, before}) => {
    const bench = (window.bench = {start: performance.now(), seen: null, end: null});
    const start = event => (bench.start = event.timeStamp);
    if (gesture) addEventListener(gesture, start, {capture: true, once: true});
    const other = () => [...document.querySelectorAll(select)]
        .filter(root => root.dataset.items !== before);
    const drawn = () => performance.getEntriesByName("tfgraphwidget:drawn")
        .some(mark => mark.startTime > bench.start);
    // Not the frame's own time: a late frame may say a time before the gesture.
    const now = () => performance.now();
    const frame = () => requestAnimationFrame(() => {
        const roots = other();
        if (bench.seen === null && roots.length && drawn()) bench.seen = now();
        if (roots.some(root => root.dataset.status === "ready"))
            requestAnimationFrame(() => (bench.end = now()));
        else frame();
    });
    frame();
}"""
FRAMES = """() => {
    const bench = (window.bench = {frames: [], tasks: [], going: true});
    const record = list => bench.tasks.push(...list.getEntries().map(entry => entry.duration));
    new PerformanceObserver(record)
        .observe({entryTypes: ["longtask"]});
    let before = performance.now();
    const frame = now => {
        bench.frames.push(now - before);
        before = now;
        if (bench.going) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""


@dataclass(frozen=True)
class Frames:
    """Milliseconds between frames, and of tasks longer than 50 ms."""

    frames: list[float]
    tasks: list[float]

    @property
    def p95(self) -> float:
        """So long take all but one in twenty."""
        return float(np.percentile(self.frames, 95))

    def __str__(self) -> str:
        return (
            f"p50 {np.median(self.frames):.0f}, p95 {self.p95:.0f}, max {max(self.frames):.0f} ms "
            f"of {len(self.frames)} frames; {len(self.tasks)} long tasks, the longest "
            f"{max(self.tasks, default=0):.0f} ms"
        )


class Stopwatch:
    """The seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Until now."""
        return time.perf_counter() - self._start


def expect_picture(page: Page, *, gesture: str = "", before: str | None = None) -> None:
    """Start the clock: at the next event of this kind, else now; a widget with other than `before`
    items stops it.
    """
    select = ".tfgraphwidget[data-items]"
    page.evaluate(AWAIT, {"gesture": gesture, "select": select, "before": before})


def picture(page: Page, seconds: float) -> float:
    """The seconds from the clock's start to the frame after all was at rest."""
    page.wait_for_function("() => window.bench.end !== null", timeout=seconds * 1000)
    return float(page.evaluate("() => (window.bench.end - window.bench.start) / 1000"))


def seen(page: Page) -> float:
    """After `picture`: the seconds to the frame after all that is new stood drawn where it belongs.

    That is, at full opacity, at the place on the screen where it stays; what was there before may
    still glide.
    """
    return float(page.evaluate("() => (window.bench.seen - window.bench.start) / 1000"))


def moved(page: Page, target: Locator) -> Frames:
    """Drag over the target to and fro, then turn the wheel in and out, about three seconds in
    all.
    """
    box = target.bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 0.02, box["y"] + box["height"] * 0.97
    page.mouse.move(x, y)
    page.evaluate(FRAMES)
    page.mouse.down()
    for step in range(GESTURE_STEPS):
        away = min(step, GESTURE_STEPS - step)
        page.mouse.move(x + 8 * away, y - 5 * away)
        page.wait_for_timeout(16)
    page.mouse.up()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for step in range(GESTURE_STEPS):
        page.mouse.wheel(0, -60 if step < GESTURE_STEPS / 2 else 60)
        page.wait_for_timeout(16)
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    page.evaluate("() => (window.bench.going = false)")
    return Frames(
        page.evaluate("() => window.bench.frames"), page.evaluate("() => window.bench.tasks")
    )
