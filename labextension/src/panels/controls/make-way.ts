// The minimap and the legend make way for what was clicked last and for what an edit has made: they are in another corner
// while that is below them, and while they would cover more where they are: best nothing, next lines, next only boxes that
// stand aside.
import type { Parts } from "../../interaction/parts";
import { at, BADGE, type Box, boxOf, OPEN, type Scene } from "../../protocol/scene";
import { toScreen } from "../../render/camera/camera";
import { HEADER } from "../../render/canvas/far-labels";

/** Pixels between a control and the border. */
const MARGIN = 8;
/** Milliseconds without a move of the camera. */
const REST = 80;
/** What was clicked counts as much as so many items of an edit, and no more of those are looked at. */
const CLICKED = 100;

/** A box on the screen that is not to be covered. */
export interface Clear {
  readonly box: Box;
  readonly weight: number;
}

/** What lies below a control: nothing, only lines with their labels, boxes aside of the flow, or others too. */
const [NONE, LINES, ASIDE, MORE] = [0, 1, 2, 3] as const;
export type Hidden = typeof NONE | typeof LINES | typeof ASIDE | typeof MORE;

/**
 * Have controls make way; each is in a lower corner, and in the upper one above it with the class "tgw-up". The last one,
 * the legend, has the lower left corner, too, with the class "tgw-left", while no other is there.
 */
export function makeWay({ store, stage }: Parts, controls: readonly HTMLElement[]): void {
  let timer = 0;
  const boxesToClear = (): Clear[] => {
    const { picked, scene, paint, camera } = store.value;
    if (!scene || !paint) return [];
    const onScreen = (item: number, weight: number): Clear => {
      const { x, y, width, height } = partToClear(scene, item);
      const size = { width: width * camera.zoom, height: height * camera.zoom };
      return { box: { ...toScreen(camera, x, y), ...size }, weight };
    };
    const clicked = scene.byKey.get(picked) ?? 0;
    const clear = clicked > 0 ? [onScreen(clicked, CLICKED)] : [];
    for (let item = 1; item < scene.length && clear.length <= CLICKED; item++)
      if (at(paint.fresh, item) === 1 && at(scene.kind, item) !== OPEN && at(scene.kind, item) !== BADGE)
        clear.push(onScreen(item, 1));
    return clear;
  };
  const hides = (box: Box): Hidden => {
    const { scene } = store.value;
    const boxes = stage.boxesIn(box);
    if (boxes.length === 0) return stage.hasLineIn(box) ? LINES : NONE;
    return boxes.every((item) => scene && at(scene.aside, item) === 1) ? ASIDE : MORE;
  };
  const update = () => {
    if (!store.value.drawn) return;
    const clear = boxesToClear();
    for (const control of controls) {
      if (control.matches(":active")) continue; // it is dragged in
      control.classList.remove("tgw-left");
      control.classList.add("tgw-up"); // where that is, below the path of the graph or beside it, the style sheet says
      const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = control;
      const up = { x: offsetLeft, y: offsetTop, width: offsetWidth, height: offsetHeight };
      const low = { ...up, y: stage.viewport.height - offsetHeight - MARGIN };
      const hasLeft =
        control === controls.at(-1) && controls.every((other) => other === control || other.hidden);
      const best = leastHiding([low, up, ...(hasLeft ? [{ ...low, x: MARGIN }] : [])], clear, hides);
      control.classList.toggle("tgw-up", best === 1);
      control.classList.toggle("tgw-left", best === 2);
    }
  };
  const schedule = () => {
    clearTimeout(timer);
    timer = window.setTimeout(update, REST);
  };
  store.watch(["drawn", "picked", "scene", "paint", "camera"], schedule);
  const size = new ResizeObserver(schedule); // the legend is opened
  for (const control of controls) size.observe(control);
}

/** What of an item is not to be covered: of an open scope its title, for the whole would leave no corner. */
export function partToClear(scene: Scene, item: number): Box {
  const box = boxOf(scene.box, item);
  return at(scene.kind, item) === OPEN ? { ...box, height: Math.min(HEADER, box.height) } : box;
}

/** Which place of a control covers least, the first of those alike; `hides` tells what is there. */
export function leastHiding(
  places: readonly Box[],
  clear: readonly Clear[],
  hides: (place: Box) => Hidden,
): number {
  const costs = places.map((place) => [covered(place, clear), hides(place)] as const);
  let best = 0;
  costs.forEach(([weight, hidden], place) => {
    const [least, fewest] = costs[best] ?? [weight, hidden];
    if (weight < least || (weight === least && hidden < fewest)) best = place;
  });
  return best;
}

function covered(place: Box, clear: readonly Clear[]): number {
  return clear.reduce((sum, { box, weight }) => sum + (isOver(place, box) ? weight : 0), 0);
}

function isOver(a: Box, b: Box): boolean {
  const across = a.x < b.x + b.width && b.x < a.x + a.width;
  return across && a.y < b.y + b.height && b.y < a.y + a.height;
}
