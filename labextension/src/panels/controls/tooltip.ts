// The tooltip beside the pointer: full name, type or size.
import type { Parts } from "../../interaction/parts";
import { at, type Box, OPEN, type Scene } from "../../protocol/scene";
import type { Point, Viewport } from "../../render/camera/camera";
import { edgeValue } from "../../render/canvas/edge-labels";
import { overlap } from "../../render/canvas/far-labels";
import { tensorRoute } from "../../render/canvas/tensor-route";
import type { Screen } from "../../state/store";
import { breakableName, element } from "../dom";
import { aboutText, edgeText, effectText } from "./descriptions";
import { markedAt, meaningsOfEdge, unmarked } from "./meanings";

export interface Tooltip {
  readonly root: HTMLElement;
  /** Describe an item with its marks at the pointer, or else the edge under it. */
  move(item: number, point: Point, edge?: number): void;
}

export function createTooltip(parts: Parts): Tooltip {
  const { store, stage } = parts;
  const name = element("div", { class: "tgw-tooltip-name" });
  const about = element("div", { class: "tgw-tooltip-about" });
  const marks = element("div", { class: "tgw-tooltip-about tgw-tooltip-marks" });
  const children = [name, about, marks];
  const root = element(
    "div",
    { class: "tgw-tooltip", hidden: true, "aria-hidden": "true" },
    ...children,
  );
  store.watch(["hover", "hoverEdge"], () => {
    root.hidden = true;
  });
  const describe = (hovered: number, point: Point, edge: number): Content => {
    const { scene, paint, connecting } = store.value;
    if (!scene || !paint) return NOTHING;
    const { item, meanings, isAround } = connecting
      ? unmarked(hovered)
      : markedAt(parts, hovered, point);
    const isLine = hovered <= 0 && edge >= 0 && isAround;
    if (item > 0 && !isLine) return { ...contentOf(scene, item, store.value), meanings };
    if (edge < 0) return NOTHING;
    const [title = "", ...ends] = edgeText(scene, edge, tensorRoute(scene, edge));
    const value = edgeValue(scene, edge, paint.values);
    return {
      ...NOTHING,
      title,
      text: (value ? [value, ...ends] : ends).join("\n"),
      meanings: meaningsOfEdge(scene, paint, edge, store.value.camera.zoom),
    };
  };
  /** The width of the canvas, up to the panel where that is over it. */
  const freeWidth = () => {
    const { panelPlace, panelOpen } = store.value;
    const panel =
      panelPlace === "over" && panelOpen
        ? root.closest(".tfgraphwidget")?.querySelector(".tgw-panel")
        : null;
    if (!panel) return stage.viewport.width;
    return panel.getBoundingClientRect().left - stage.canvas.getBoundingClientRect().left;
  };
  const move = (hovered: number, point: Point, edge = -1) => {
    const { title, text, meanings, refused } = describe(hovered, point, edge);
    root.setAttribute("data-kind", refused ? "refused" : "");
    name.replaceChildren(breakableName(title));
    about.replaceChildren(...text.split("\n").map((line) => element("div", {}, line)));
    marks.replaceChildren(...meanings.map((meaning) => element("div", {}, meaning)));
    for (const part of children) part.hidden = part.textContent === "";
    root.hidden = children.every((part) => part.hidden);
    const size = { width: root.offsetWidth, height: root.offsetHeight };
    const view = { width: freeWidth(), height: stage.viewport.height };
    const { x, y } = tooltipPlace(point, size, view, currentBox(hovered));
    root.style.transform = `translate(${x}px, ${y}px)`;
  };
  /** The box of what was clicked last, which may be beside what is hovered over; null if it is not. */
  const currentBox = (hovered: number): Box | null => {
    const { scene, picked } = store.value;
    const item = scene?.byKey.get(picked) ?? 0;
    if (!scene || item === 0 || item === hovered) return null;
    return at(scene.kind, item) === OPEN ? null : stage.screenBox(item);
  };
  return { root, move };
}

/** From the pointer to the tooltip to the right of it and below, and to the left and above. */
const [AFTER, LEFT, ABOVE] = [16, 12, 8];
/** From the border of the view. */
const BORDER = 4;

/**
 * Where the tooltip of a pointer is: at its lower right, or where it has room and is not over the
 * current box.
 */
export function tooltipPlace(
  { x, y }: Point,
  { width, height }: Viewport,
  view: Viewport,
  current: Box | null,
): Point {
  // Where the view has no room to the right or left of the pointer, the tooltip is below or above.
  const lastLeft = view.width - width - BORDER;
  const places = [y + AFTER, y - ABOVE - height].flatMap((top) =>
    [x + AFTER, x - LEFT - width, Math.min(x, lastLeft)].map((left) => ({ x: left, y: top })),
  );
  const isInside = (place: Point) =>
    place.x >= 0 &&
    place.y >= 0 &&
    place.x + width <= view.width &&
    place.y + height <= view.height;
  const inside = places.filter(isInside);
  const isClear = (place: Point) => !current || !overlap({ ...place, width, height }, current);
  const best = inside.find(isClear) ?? inside[0] ?? { x: Math.min(x, lastLeft), y: y + AFTER };
  // A tooltip that is larger than the view begins in it.
  return { x: Math.max(best.x, BORDER), y: Math.max(best.y, BORDER) };
}

interface Content {
  readonly title: string;
  readonly text: string;
  readonly meanings: readonly string[];
  readonly refused: boolean;
}

const NOTHING: Content = { title: "", text: "", meanings: [], refused: false };

/** The name of an item, what it is and its number of a coloring, or why it cannot be connected. */
function contentOf(scene: Scene, item: number, { paint, state, connecting }: Screen): Content {
  const title = scene.names[item] ?? "";
  const why = connecting?.refused?.get(title) ?? "";
  // Also where the box is too narrow for it.
  const note = paint?.notes[item] ?? "";
  const effect = paint ? effectText(paint, item) : "";
  const lines = [note && `${state?.legend?.by ?? ""}: ${note}`, textOf(scene, item), effect];
  return {
    title,
    text: why || lines.filter(Boolean).join("\n"),
    meanings: [],
    refused: why !== "",
  };
}

function textOf(scene: Scene, item: number): string {
  const hint = at(scene.calls, item) === 1 ? " · double-click to open the function" : "";
  return `${aboutText(scene, item)}${hint}`;
}
