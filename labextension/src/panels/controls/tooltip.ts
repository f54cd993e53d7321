// The tooltip beside the pointer: full name, type or size.
import type { Parts } from "../../interaction/parts";
import { at, type Scene } from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { breakableName, element } from "../dom";
import { aboutText } from "./descriptions";

export interface Tooltip {
  readonly root: HTMLElement;
  move(item: number, point: Point): void;
}

export function createTooltip({ store, stage }: Parts): Tooltip {
  const name = element("div", { class: "tgw-tooltip-name" });
  const about = element("div", { class: "tgw-tooltip-about" });
  const root = element("div", { class: "tgw-tooltip", hidden: true, "aria-hidden": "true" }, name, about);
  store.watch(["hover"], () => {
    root.hidden = true;
  });
  const move = (item: number, { x, y }: Point) => {
    const { scene, connecting } = store.value;
    root.hidden = item <= 0 || !scene;
    if (item <= 0 || !scene) return;
    name.replaceChildren(breakableName(scene.names[item] ?? ""));
    const why = connecting?.refused?.get(scene.names[item] ?? "");
    root.setAttribute("data-kind", why ? "refused" : "");
    about.textContent = why ?? textOf(scene, item);
    const { width, height } = stage.viewport;
    const left = x + 16 + root.offsetWidth > width ? x - 12 - root.offsetWidth : x + 16;
    const top = y + 16 + root.offsetHeight > height ? y - 8 - root.offsetHeight : y + 16;
    root.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  };
  return { root, move };
}

function textOf(scene: Scene, item: number): string {
  const door = at(scene.door, item) === 1 ? " · double-click to open the function" : "";
  return `${aboutText(scene, item)}${door}`;
}
