"""The places in which a graph is worked on, in the sizes of their pictures: a cell, a portrait
panel, a document.

`check_pictures` takes a picture of a state in both themes, and asserts what can be told without
eyes: nothing that is to be read or clicked is cut off, covers another control, is too small or too
pale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import OpenNotebook, open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_panel import open_panel

Place = Literal["cell", "panel", "document"]
PLACES: tuple[Place, ...] = ("cell", "panel", "document")
SIZES: dict[Place, tuple[int, int]] = {
    "cell": (1000, 600),
    "panel": (520, 780),
    "document": (1440, 900),
}
WAIT = 120_000  # ms; a kernel that loads TensorFlow
ROUNDING = 3  # pixels

# What is wrong with the controls and texts in view, as sentences.
FAULTS = """root => {
    const faults = [];
    const frame = root.getBoundingClientRect();
    const says = (element) =>
        (element.getAttribute("aria-label") || element.textContent || element.className).trim();
    const told = (element) => `${element.tagName.toLowerCase()} "${says(element).slice(0, 50)}"`;
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.canvas.width = canvas.canvas.height = 1;
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const over = ([r, g, b, a], below) =>
        [r, g, b].map((c, k) => (c * a + below[k] * (255 - a)) / 255);
    const background = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement)
            layers.push(rgba(getComputedStyle(at).backgroundColor));
        return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const luminance = (color) => {
        const linear = color.map((c) => c / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const contrast = (one, other) => {
        const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    // The part of an element that its scrolling ancestors show; null if they scroll it out of view.
    const visible = (element) => {
        let { left, right, top, bottom } = element.getBoundingClientRect();
        let scrolled = false;
        for (let at = element.parentElement; at && at !== root.parentElement;
            at = at.parentElement) {
            const { overflowX, overflowY } = getComputedStyle(at);
            if (overflowX === "visible" && overflowY === "visible") continue;
            const box = at.getBoundingClientRect();
            const scrolls = (overflow) => overflow === "auto" || overflow === "scroll";
            if (scrolls(overflowX) || scrolls(overflowY))
                scrolled = true;
            [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
            [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
        }
        return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom, scrolled } : null;
    };
    const shown = [...root.querySelectorAll("*")].filter(
        (element) =>
            element instanceof HTMLElement &&
            element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
            !element.closest("[role=tree], .tgw-hidden, svg"),
    );
    for (const element of shown) {
        const own = [...element.childNodes].some((node) =>
            node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
        if (!own || element.matches("option, datalist, datalist *")) continue;
        const box = element.getBoundingClientRect();
        if (box.width <= 1 || box.height <= 1) continue; // for those who do not see it
        const style = getComputedStyle(element);
        const size = parseFloat(style.fontSize); // 0 where an icon represents the text
        if (size > 0 && size < 9) faults.push(`${told(element)} has letters of ${style.fontSize}`);
        const part = visible(element);
        if (part && !part.scrolled) {
            const across = Math.max(frame.left - box.left, box.right - frame.right);
            const down = Math.max(frame.top - box.top, box.bottom - frame.bottom);
            if (Math.max(across, down) > 1)
                faults.push(`${told(element)} is cut off by the edge of the widget`);
        }
        const isCut = element.scrollWidth > element.clientWidth + 1 &&
            style.overflowX !== "visible";
        const isTold = style.textOverflow === "ellipsis" || style.overflowX === "auto" ||
            style.overflowX === "scroll";
        if (isCut && element.clientWidth > 0 && !isTold)
            faults.push(`${told(element)} is cut off at its right`);
        const isDisabled = element.closest(":disabled, [aria-disabled=true]") !== null;
        const ratio = contrast(over(rgba(style.color), background(element)), background(element));
        if (part && !isDisabled && ratio < 4.5)
            faults.push(`${told(element)} has a contrast of ${ratio.toFixed(1)}`);
    }
    const controls = shown.filter((element) =>
        element.matches("button, input, select, textarea, [role=switch]"));
    for (const element of controls) {
        const part = visible(element);
        if (!part) continue;
        // What is in front of the middle of a control is the control, or a popup that lies above.
        const hit = document.elementFromPoint((part.left + part.right) / 2,
            (part.top + part.bottom) / 2);
        const label = hit?.closest("label");
        // The buttons of a form stay at its end while its fields move below them.
        const isFoot = hit?.closest(".tgw-foot") !== null && element.closest("form")?.contains(hit);
        const isInFront = !hit || element.contains(hit) || hit.contains(element) ||
            label?.contains(element) || isFoot;
        const menus = ".tgw-menu, .tgw-dropdown, .tgw-popup, .tgw-sheet, .tgw-tooltip, [role=menu]";
        const popup = hit?.closest(`${menus}, [role=dialog], .tgw-help, .tgw-panel, .jp-Dialog`);
        if (!isInFront && !(popup && !popup.contains(element)) && root.contains(hit))
            faults.push(`${told(element)} lies below ${told(hit)}`);
    }
    return [...new Set(faults)];
}"""
HOLD_FOCUS = """() => {
    const { activeElement } = document;
    const stop = (event) => event.stopImmediatePropagation();
    const types = ["focusout", "blur"];
    for (const type of types) window.addEventListener(type, stop, true);
    window.releaseFocus = () => {
        activeElement?.focus({ preventScroll: true });
        for (const type of types) window.removeEventListener(type, stop, true);
    };
}"""


def open_in(page: Page, server: JupyterServer, place: Place, name: str, code: str) -> Hand:
    """An editor in a place, at its size.

    Args:
        page: A page of JupyterLab.
        server: Its server.
        place: A cell's output, the panel beside a notebook, or a document.
        name: What the files that are made are called.
        code: A cell that makes `editor`, and for the document `file`, the path of what it has saved
            in the server's folder.
    """
    page.set_viewport_size({"width": 1460, "height": 900})  # all of the cell is in view
    cells = [code, "editor.view.widget.height = 600\neditor"]
    notebook = open_notebook(page, server, write_notebook(server, f"{name}_{place}.ipynb", cells))
    notebook.run_cell(0)
    if place == "cell":
        return in_cell(notebook)
    return in_panel(notebook) if place == "panel" else in_document(notebook, server)


def in_cell(notebook: OpenNotebook) -> Hand:
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    width, height = SIZES["cell"]
    notebook.page.set_viewport_size({"width": width + 480, "height": height + 300})
    root.evaluate("(root, width) => { root.style.width = `${width}px`; }", width)
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def in_panel(notebook: OpenNotebook) -> Hand:
    page = notebook.page
    panel = open_panel(notebook)
    rows = panel.message.locator(".tgw-pane-row")
    shown = panel.pane.locator(".tfgraphwidget")
    expect(rows.first.or_(shown)).to_be_visible(timeout=WAIT)
    if rows.count():
        rows.filter(has_text="editor").first.click()
    widget = panel.widget()
    width, height = SIZES["panel"]
    for _ in range(4):  # a wider page is shared by notebook and panel
        box, viewport = widget.root.bounding_box(), page.viewport_size
        assert box
        assert viewport
        if abs(box["width"] - width) <= ROUNDING and abs(box["height"] - height) <= ROUNDING:
            break
        wider, higher = 2 * (width - box["width"]), height - box["height"]
        page.set_viewport_size(
            {
                "width": round(viewport["width"] + wider),
                "height": round(viewport["height"] + higher),
            }
        )
        page.wait_for_timeout(300)
    widget.settled()
    return Hand(widget)


def in_document(notebook: OpenNotebook, server: JupyterServer) -> Hand:
    page = notebook.page
    file = str(notebook.kernel_eval("str(file)"))
    width, height = SIZES["document"]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(server.page_url(file))
    root = page.locator(".jp-Document .tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=WAIT)
    return Hand(Widget(notebook, root))


def check_pictures(
    hand: Hand, name: str, faults: tuple[str, ...] = (), state: Callable[[], None] = lambda: None
) -> None:
    """Take a picture of what is on the screen, light and dark, and assert that it has no faults.

    Args:
        hand: The hand on the editor.
        name: The picture's name; the theme is added to it.
        faults: Faults that are known and meant, by the start of their sentences.
        state: Reaches what a change of the theme ends, as what is below the pointer.
    """
    found = {}
    for theme in ("light", "dark"):
        # While JupyterLab loads a theme its splash may take the focus, at which menus and forms
        # would close.
        hand.page.evaluate(HOLD_FOCUS)
        set_theme(hand.page, dark=theme == "dark")
        hand.page.evaluate("window.releaseFocus()")
        hand.page.wait_for_timeout(300)  # colors glide
        state()
        shoot(hand.page, f"{name}_{theme}")
        found_here = hand.root.evaluate(FAULTS) if hand.root.count() else []
        report = [fault for fault in found_here if not fault.startswith(faults or ("\0",))]
        if report:
            found[theme] = report
    assert found == {}, (name, found)
