"""The texts that the canvas draws in a page, their sizes on the screen, and the lines that run
through them.

The calls of the canvas are recorded; at each place the text that was drawn last is visible.
"""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page

_LEAST = 9 - 1e-6  # the size of the smallest letters
_NAMED = 0.3  # from this zoom on names lie beside lines and not above them
_SIZES = {True: (12, 10), False: (12, 11, 10, 9.5)}  # at zoom 1, of bold letters and of others
_SIGNS = "×⟲"

# Keeps, per canvas and since it was last filled as a whole, the texts, the filled rectangles, the
# straight pieces of lines, in device pixels, and the other canvases, in the order in which they
# were drawn.
RECORD = """() => {
    if (window.drawnTexts) return;
    const kept = new Map();
    const prototype = CanvasRenderingContext2D.prototype;
    const recordOf = ({canvas}) => kept.get(canvas) ?? kept.set(canvas, []).get(canvas);
    const place = (ctx, x, y) => {
        const p = ctx.getTransform().transformPoint({x, y});
        return [p.x, p.y];
    };
    const path = new WeakMap();
    const after = (name, record) => {
        const original = prototype[name];
        prototype[name] = function (...args) {
            record(this, ...args);
            return original.apply(this, args);
        };
    };
    after("beginPath", (ctx) => path.set(ctx, {pieces: [], at: null, rects: []}));
    const lineTo = (ctx, x, y) => {
        const one = path.get(ctx);
        if (!one) return;
        const to = place(ctx, x, y);
        if (one.at) one.pieces.push([...one.at, ...to]);
        one.at = to;
    };
    after("moveTo", (ctx, x, y) => {
        const one = path.get(ctx);
        if (one) one.at = place(ctx, x, y);
    });
    after("lineTo", lineTo);
    after("arcTo", (ctx, x, y) => lineTo(ctx, x, y));
    for (const name of ["rect", "roundRect"]) after(name, (ctx, x, y, w, h) => {
        path.get(ctx)?.rects.push([...place(ctx, x, y), ...place(ctx, x + w, y + h)]);
    });
    after("stroke", (ctx) => recordOf(ctx).push(["lines", path.get(ctx)?.pieces ?? []]));
    after("fill", (ctx) => recordOf(ctx).push(["fills", path.get(ctx)?.rects ?? []]));
    after("fillRect", (ctx, x, y, w, h) => {
        if (x === 0 && y === 0 && w * ctx.getTransform().a >= Math.min(ctx.canvas.width, 250))
            kept.set(ctx.canvas, []);
        else recordOf(ctx).push(["fills", [[...place(ctx, x, y), ...place(ctx, x + w, y + h)]]]);
    });
    after("fillText", (ctx, text, x, y) => {
        const m = ctx.getTransform();
        const scale = Math.hypot(m.a, m.b) / devicePixelRatio;
        const size = Number(/([\\d.]+)px/.exec(ctx.font)[1]) * scale;
        const wide = ctx.measureText(text).width;
        const before = { center: wide / 2, right: wide }[ctx.textAlign] ?? 0;
        const start = x - before;
        const high = Number(/([\\d.]+)px/.exec(ctx.font)[1]) * 0.3;
        const a = place(ctx, start + 1, y - high), b = place(ctx, start + wide - 1, y + high);
        const box = [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]),
            Math.max(a[1], b[1])];
        const bold = /^[67]00|^bold/.test(ctx.font);
        recordOf(ctx).push(["text", {text, size, bold, box}]);
    });
    const crosses = ([x1, y1, x2, y2], [l, t, r, b]) =>
        Math.min(x1, x2) < r && Math.max(x1, x2) > l && Math.min(y1, y2) < b && Math.max(y1, y2) > t
        && (x1 === x2 || y1 === y2);
    const meets = ([l, t, r, b], [x1, y1, x2, y2]) =>
        Math.min(l, r) < x2 && Math.max(l, r) > x1 && Math.min(t, b) < y2 && Math.max(t, b) > y1;
    const holds = ([l, t, r, b], [x1, y1, x2, y2]) =>
        Math.min(l, r) <= x1 && Math.max(l, r) >= x2 && Math.min(t, b) <= y1 &&
            Math.max(t, b) >= y2;
    after("drawImage", (ctx, source, ...at) => {
        if (!(source instanceof HTMLCanvasElement)) return;
        const scale = at.length === 8 ? at[6] / at[2] : at[2] / source.width;
        recordOf(ctx).push(["image", source, scale]);
    });
    const textsOf = (canvas) => {
        const calls = kept.get(canvas) ?? [];
        return calls.flatMap(([kind, drawn], at) => {
            if (kind === "image") return textsOf(drawn);
            if (kind !== "text") return [];
            // What was drawn before the last fill that holds all of the text is not to be seen.
            let from = at;
            const isBehind = ([kind, boxes]) =>
                kind === "fills" && boxes.some((one) => holds(one, drawn.box));
            while (from > 0 && !isBehind(calls[from]))
                from--;
            const struck = calls.slice(from).some(([other, pieces]) =>
                other === "lines" && pieces.some((piece) => crosses(piece, drawn.box)));
            // What is drawn after it lies over a part of it, or over all of it.
            const after = calls.slice(at + 1);
            const overlaps = after.filter(([kind, boxes]) =>
                kind === "fills" && boxes.some((one) => meets(one, drawn.box)));
            if (overlaps.some(([, boxes]) => boxes.some((one) => holds(one, drawn.box)))) return [];
            const covered = overlaps.length > 0 || after.some(([kind, other]) =>
                kind === "text" && other.text !== drawn.text && meets(other.box, drawn.box));
            return [{text: drawn.text, size: drawn.size, bold: drawn.bold, struck, covered}];
        });
    };
    const canvasOf = (root) => root.querySelector(".tgw-stage canvas");
    window.drawnTexts = (root) => textsOf(canvasOf(root)).filter(({text}) => text);
    window.isDrawn = (root) => (kept.get(canvasOf(root)) ?? []).every(
        ([kind, source, scale]) => kind !== "image" || Math.abs(scale - 1) < 1e-6);
}"""


@dataclass(frozen=True)
class Text:
    """A text on the canvas: its size in CSS pixels, whether a line runs through its letters, and
    whether another text or a box lies over some of them.
    """

    text: str
    size: float
    bold: bool
    struck: bool
    covered: bool


def record_texts(page: Page) -> None:
    """Record from now on what canvases of this page draw; what they have drawn before is not
    known.
    """
    page.evaluate(RECORD)


def drawn_texts(root: Locator) -> list[Text]:
    """The texts on a widget's canvas, once it is not put together from pieces of another zoom any
    more.
    """
    root.page.wait_for_function("root => window.isDrawn(root)", arg=root.element_handle())
    return [Text(**one) for one in root.evaluate("root => window.drawnTexts(root)")]


def check_texts(root: Locator, zoom: float) -> list[Text]:
    """The texts at a zoom: none is below 9 pixels, those of a rank have one size, and no line runs
    through one.
    """
    texts = drawn_texts(root)
    assert [text for text in texts if text.size < _LEAST] == []
    for bold, nominal in _SIZES.items():
        sizes = {max(size * zoom, _LEAST) for size in nominal}
        names = [text for text in texts if text.bold is bold and text.text[0] not in _SIGNS]
        odd = [text for text in names if not any(abs(text.size - size) < 0.06 for size in sizes)]
        assert odd == [], zoom
    if zoom >= _NAMED:
        assert [text.text for text in texts if text.struck] == [], zoom
    return texts
