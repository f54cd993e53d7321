// The size of the side panel: its border to the drawing is dragged, or moved with arrow keys. The
// browser remembers it: a width for a panel beside the drawing, a height for one below it.
import type { PanelPlace, Store } from "../state/store";
import { element, setAttributes } from "./dom";

/** One direction in which a panel is resized; sizes are in pixels. */
interface Side {
  /** The key in the browser's storage. */
  readonly key: string;
  /** The custom property of theme.css. */
  readonly property: string;
  readonly usual: number;
  readonly least: number;
  readonly most: number;
  /** The direction of the separator. */
  readonly orientation: "vertical" | "horizontal";
  readonly larger: string;
  readonly smaller: string;
}

const WIDTH: Side = {
  key: "tfgraphwidget:panel-width",
  property: "--tgw-panel-width",
  usual: 304,
  least: 248, // the table of costs, and the button that measures
  most: 720,
  orientation: "vertical",
  larger: "ArrowLeft",
  smaller: "ArrowRight",
};
const HEIGHT: Side = {
  key: "tfgraphwidget:panel-height",
  property: "--tgw-panel-height",
  usual: 260,
  least: 140,
  most: 720,
  orientation: "horizontal",
  larger: "ArrowUp",
  smaller: "ArrowDown",
};
const STEP = 16;
/** What the drawing keeps. */
const DRAWING = 160;
/**
 * help.css says the same. Below this width of the view the panel is not beside the drawing: both
 * would be too narrow to be read.
 */
const NARROW = 640;
/**
 * From this height on a narrow view has room for the panel below the drawing; from the other on it
 * is there at first.
 */
const TALL = 560;
/** What is left then shows the first drawing of a model such that it can be read. */
const ROOMY = 1000;

/** Where the panel of a view of this size is. */
export function panelPlace(width: number, height: number): PanelPlace {
  return width >= NARROW ? "beside" : height >= TALL ? "below" : "over";
}

/** Whether the panel is open at first. */
export function isOpenAtFirst(place: PanelPlace, height: number): boolean {
  return place === "beside" || (place === "below" && height >= ROOMY);
}

/** Put the panel where it belongs in a view of this size. */
export function placePanel({ clientWidth, clientHeight }: Element, store: Store): void {
  const place = panelPlace(clientWidth, clientHeight);
  if (clientWidth > 0 && place !== store.value.panelPlace)
    store.set({ panelPlace: place, panelOpen: isOpenAtFirst(place, clientHeight) });
}

/**
 * The border of a panel, as a handle: drag it, press arrow keys, or double-click it for the usual
 * size.
 */
export function createPanelResizer(panel: HTMLElement, store: Store): HTMLElement {
  const handle = element("div", {
    class: "tgw-resizer",
    role: "separator",
    tabindex: 0,
    title: "Drag to resize; double-click to reset",
    "aria-label": "Resize the side panel",
  });
  const sizes = new Map([WIDTH, HEIGHT].map((side) => [side, readSize(side)]));
  const side = () => (store.value.panelPlace === "below" ? HEIGHT : WIDTH);
  const sizeOf = (which: Side) => sizes.get(which) ?? which.usual;
  const show = () => {
    for (const [{ property }, pixels] of sizes) panel.style.setProperty(property, `${pixels}px`);
    const { orientation, least, most } = side();
    setAttributes(handle, {
      "aria-orientation": orientation,
      "aria-valuemin": least,
      "aria-valuemax": most,
      "aria-valuenow": sizeOf(side()),
    });
  };
  const resize = (to: number) => {
    const { parentElement: body } = panel;
    const around = (side() === HEIGHT ? body?.clientHeight : body?.clientWidth) ?? 0;
    const { least, most } = side();
    const largest = around > 0 ? Math.min(most, around - DRAWING) : most;
    sizes.set(side(), Math.round(Math.max(least, Math.min(to, largest))));
    show();
  };
  const keep = () => storeSize(side(), sizeOf(side()));
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    handle.setPointerCapture(event.pointerId);
    const place = ({ clientX, clientY }: PointerEvent) => (side() === HEIGHT ? clientY : clientX);
    const before = side() === HEIGHT ? panel.offsetHeight : panel.offsetWidth;
    const start = place(event);
    const move = (moved: PointerEvent) => resize(before + start - place(moved));
    const end = () => {
      handle.removeEventListener("pointermove", move);
      keep();
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", end, { once: true });
  });
  handle.addEventListener("dblclick", () => {
    resize(side().usual);
    keep();
  });
  handle.addEventListener("keydown", (event) => {
    const { larger, smaller, least, most } = side();
    const now = sizeOf(side());
    const to = { [larger]: now + STEP, [smaller]: now - STEP, Home: least, End: most }[event.key];
    if (to === undefined) return;
    resize(to);
    keep();
    event.preventDefault();
    event.stopPropagation();
  });
  store.watch(["panelPlace"], show);
  return handle;
}

function readSize({ key, least, most, usual }: Side): number {
  try {
    const size = Number(localStorage.getItem(key));
    return size >= least && size <= most ? size : usual;
  } catch {
    return usual;
  }
}

function storeSize({ key }: Side, size: number): void {
  try {
    localStorage.setItem(key, String(size));
  } catch {
    // This large for as long as the page is open.
  }
}
