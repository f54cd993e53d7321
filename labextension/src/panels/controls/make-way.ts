// The minimap and the legend make way for what was clicked last: they are in the upper corner while it is below them.
import type { Parts } from "../../interaction/parts";
import { type Box, boxOf } from "../../protocol/scene";
import { toScreen } from "../../render/camera/camera";

/** Pixels between a control and the border. */
const MARGIN = 8;
/** Milliseconds without a move of the camera. */
const REST = 80;

/** Have controls make way; each is in a lower corner, and in the upper one above it with the class "tgw-up". */
export function makeWay({ store, stage }: Parts, controls: readonly HTMLElement[]): void {
  let timer = 0;
  const update = () => {
    const { drawn, picked, scene, camera } = store.value;
    if (!drawn || !scene) return;
    const item = scene.byKey.get(picked) ?? 0;
    const { x, y, width, height } = boxOf(scene.box, item);
    const size = { width: width * camera.zoom, height: height * camera.zoom };
    const clicked = { ...toScreen(camera, x, y), ...size };
    for (const control of controls) {
      const place = {
        x: control.offsetLeft,
        y: MARGIN,
        width: control.offsetWidth,
        height: control.offsetHeight,
      };
      const below = stage.viewport.height - place.height - MARGIN;
      control.classList.toggle("tgw-up", item > 0 && isBetterUp(place, below, clicked));
    }
  };
  store.watch(["drawn", "picked", "scene", "camera"], () => {
    clearTimeout(timer);
    timer = window.setTimeout(update, REST);
  });
}

/** Whether a control lies over a box when it is at the height `below`, and not where it is. */
export function isBetterUp(place: Box, below: number, box: Box): boolean {
  return isOver({ ...place, y: below }, box) && !isOver(place, box);
}

function isOver(a: Box, b: Box): boolean {
  const across = a.x < b.x + b.width && b.x < a.x + a.width;
  return across && a.y < b.y + b.height && b.y < a.y + a.height;
}
