// The width of the side panel: its border is dragged, or moved with arrow keys. The browser remembers it.
import { element, setAttributes } from "./dom";

const KEY = "tfgraphwidget:panel-width";
/** Pixels; DEFAULT is theme.css's, too. */
const DEFAULT = 304;
const LEAST = 220;
const MOST = 720;
const STEP = 16;
/** Pixels that the drawing keeps. */
const DRAWING = 160;

/** The border of a panel, as a handle: drag it, press arrow keys, or double-click it for the usual width. */
export function createPanelResizer(panel: HTMLElement): HTMLElement {
  const handle = element("div", {
    class: "tgw-resizer",
    role: "separator",
    tabindex: 0,
    title: "Drag to resize; double-click to reset",
    "aria-label": "Resize the side panel",
    "aria-orientation": "vertical",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
  });
  let width = readWidth();
  const resize = (to: number) => {
    const around = panel.parentElement?.clientWidth ?? 0;
    const most = around > 0 ? Math.min(MOST, around - DRAWING) : MOST;
    width = Math.round(Math.max(LEAST, Math.min(to, most)));
    show(width);
  };
  const show = (pixels: number) => {
    panel.style.setProperty("--tgw-panel-width", `${pixels}px`);
    setAttributes(handle, { "aria-valuenow": pixels });
  };
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    handle.setPointerCapture(event.pointerId);
    const [start, before] = [event.clientX, panel.offsetWidth];
    const move = (moved: PointerEvent) => resize(before + start - moved.clientX);
    const end = () => {
      handle.removeEventListener("pointermove", move);
      storeWidth(width);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", end, { once: true });
  });
  handle.addEventListener("dblclick", () => {
    resize(DEFAULT);
    storeWidth(width);
  });
  handle.addEventListener("keydown", (event) => {
    const to = {
      ArrowLeft: width + STEP,
      ArrowRight: width - STEP,
      Home: LEAST,
      End: MOST,
    }[event.key];
    if (to === undefined) return;
    resize(to);
    storeWidth(width);
    event.preventDefault();
    event.stopPropagation();
  });
  show(width);
  return handle;
}

function readWidth(): number {
  try {
    const width = Number(localStorage.getItem(KEY));
    return width >= LEAST && width <= MOST ? width : DEFAULT;
  } catch {
    return DEFAULT;
  }
}

function storeWidth(width: number): void {
  try {
    localStorage.setItem(KEY, String(width));
  } catch {
    // This wide for as long as the page is open.
  }
}
