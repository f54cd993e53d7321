// The tooltip beside the pointer: full name, type or size.
import type { Parts } from "../../interaction/parts";
import { at, type Scene } from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { tensorRoute } from "../../render/canvas/tensor-route";
import { breakableName, element } from "../dom";
import { aboutText, edgeText } from "./descriptions";

export interface Tooltip {
  readonly root: HTMLElement;
  /** Describe an item, or the edge under the pointer. */
  move(item: number, point: Point, edge?: number): void;
}

export function createTooltip({ store, stage }: Parts): Tooltip {
  const name = element("div", { class: "tgw-tooltip-name" });
  const about = element("div", { class: "tgw-tooltip-about" });
  const root = element("div", { class: "tgw-tooltip", hidden: true, "aria-hidden": "true" }, name, about);
  store.watch(["hover", "hoverEdge"], () => {
    root.hidden = true;
  });
  const move = (item: number, { x, y }: Point, edge = -1) => {
    const { scene, connecting } = store.value;
    root.hidden = (item <= 0 && edge < 0) || !scene;
    if (root.hidden || !scene) return;
    const why = item > 0 ? connecting?.refused?.get(scene.names[item] ?? "") : undefined;
    root.setAttribute("data-kind", why ? "refused" : "");
    if (item > 0) {
      name.replaceChildren(breakableName(scene.names[item] ?? ""));
      about.textContent = why ?? textOf(scene, item);
    } else {
      const [first = "", ...lines] = edgeText(scene, edge, tensorRoute(scene, edge));
      name.replaceChildren(breakableName(first));
      about.replaceChildren(...lines.map((line) => element("div", {}, line)));
    }
    placeNear(root, x, y, stage.viewport);
  };
  return { root, move };
}

/** Beside the pointer, inside the drawing. */
function placeNear(root: HTMLElement, x: number, y: number, within: { width: number; height: number }): void {
  const left = x + 16 + root.offsetWidth > within.width ? x - 12 - root.offsetWidth : x + 16;
  const top = y + 16 + root.offsetHeight > within.height ? y - 8 - root.offsetHeight : y + 16;
  root.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}

function textOf(scene: Scene, item: number): string {
  const door = at(scene.door, item) === 1 ? " · double-click to open the function" : "";
  return `${aboutText(scene, item)}${door}`;
}
