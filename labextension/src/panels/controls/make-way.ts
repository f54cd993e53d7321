// The minimap and the legend make way for what was clicked last and for what an edit has made. In a
// new drawing, or when they become larger or smaller, each is in the corner where it covers least:
// best nothing, next lines, next only boxes that stand aside, next the least part of other boxes.
// While the user pans and zooms, it stays there until a box of the network is below it.
import type { Parts } from "../../interaction/parts";
import { at, BADGE, type Box, boxOf, OPEN, type Scene } from "../../protocol/scene";
import { toScreen } from "../../render/camera/camera";
import { HEADER } from "../../render/canvas/far-labels";

/** Milliseconds without a move of the camera. */
const REST = 80;
/**
 * What was clicked counts as much as so many items of an edit, and no more of those are looked at.
 */
const CLICKED = 100;

/** A box on the screen that is not to be covered. */
export interface Clear {
  readonly box: Box;
  readonly weight: number;
}

/**
 * What lies below a control: nothing, only lines with their labels, boxes aside of the flow, or
 * others too.
 */
const [NONE, LINES, ASIDE, MORE] = [0, 1, 2, 3] as const;
/**
 * The covered part of a control is rounded down to a multiple of 1 / STEPS, so that a small pan
 * moves no control.
 */
const STEPS = 4;

/** A corner, as the classes that bring a control there. */
type Corner = readonly ("tgw-up" | "tgw-left" | "tgw-right")[];
/**
 * The corners of the minimap, at home in the lower left one, and of the legend, in the lower right
 * one; the best first.
 */
const MINIMAP: readonly Corner[] = [[], ["tgw-up"], ["tgw-up", "tgw-right"], ["tgw-right"]];
const LEGEND: readonly Corner[] = [[], ["tgw-up"], ["tgw-left"], ["tgw-up", "tgw-left"]];

/** Have the minimap make way, and then the legend, which is not where the minimap is. */
export function makeWay({ store, stage }: Parts, minimap: HTMLElement, legend: HTMLElement): void {
  const controls = [
    { control: minimap, corners: MINIMAP },
    { control: legend, corners: LEGEND },
  ];
  let timer = 0;
  const corner = new Map<HTMLElement, number>();
  let isNew = true;
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
      if (
        at(paint.fresh, item) === 1 &&
        at(scene.kind, item) !== OPEN &&
        at(scene.kind, item) !== BADGE
      )
        clear.push(onScreen(item, 1));
    return clear;
  };
  const hides = (box: Box): number => {
    const { scene } = store.value;
    const items = stage.boxesIn(box);
    if (items.length === 0) return stage.hasLineIn(box) ? LINES : NONE;
    const kind = items.every((item) => scene && at(scene.aside, item) === 1) ? ASIDE : MORE;
    const boxes = items.map((item) => stage.screenBox(item));
    return kind + coveredPart(box, boxes);
  };
  const update = () => {
    if (!store.value.drawn) return;
    const clear = boxesToClear();
    const taken: Box[] = [];
    for (const { control, corners } of controls) {
      if (control.hidden) continue;
      const isDragged = control.matches(":active");
      if (!isDragged) {
        const places = corners.map((at) => placeIn(control, at));
        const before = isNew ? undefined : corner.get(control);
        const best = leastHiding(places, clear, hides, taken, before);
        corner.set(control, best);
        moveTo(control, corners[best] ?? []);
      }
      taken.push(placeOf(control));
    }
    isNew = false;
  };
  const schedule = () => {
    clearTimeout(timer);
    timer = window.setTimeout(update, REST);
  };
  const scheduleNew = () => {
    isNew = true;
    schedule();
  };
  store.watch(["scene"], scheduleNew);
  store.watch(["drawn", "picked", "paint", "camera"], schedule);
  const size = new ResizeObserver(scheduleNew); // the legend is opened
  for (const { control } of controls) size.observe(control);
}

function moveTo(control: HTMLElement, corner: Corner): void {
  for (const name of ["tgw-up", "tgw-left", "tgw-right"] as const)
    control.classList.toggle(name, corner.includes(name));
}

function placeOf({ offsetLeft, offsetTop, offsetWidth, offsetHeight }: HTMLElement): Box {
  return { x: offsetLeft, y: offsetTop, width: offsetWidth, height: offsetHeight };
}

/**
 * Where a control is in a corner, below the path of the graph or beside it: the style sheet says
 * that.
 */
function placeIn(control: HTMLElement, corner: Corner): Box {
  moveTo(control, corner);
  return placeOf(control);
}

/**
 * The part of a place that lies over boxes, rounded down to a multiple of 1 / STEPS: less than 1.
 */
export function coveredPart(place: Box, boxes: readonly Box[]): number {
  const along = (a: number, size: number, b: number, other: number) =>
    Math.max(0, Math.min(a + size, b + other) - Math.max(a, b));
  const area = boxes.reduce(
    (sum, box) =>
      sum +
      along(place.x, place.width, box.x, box.width) *
        along(place.y, place.height, box.y, box.height),
    0,
  );
  const part = area / Math.max(place.width * place.height, 1);
  return Math.min(Math.floor(part * STEPS), STEPS - 1) / STEPS;
}

/**
 * What of an item is not to be covered: of an open scope its title, for the whole would leave no
 * corner.
 */
export function partToClear(scene: Scene, item: number): Box {
  const box = boxOf(scene.box, item);
  return at(scene.kind, item) === OPEN ? { ...box, height: Math.min(HEADER, box.height) } : box;
}

/**
 * Which place of a control covers least, the first of those alike; `hides` returns what is there.
 * Of the places that are over other controls, `taken`, none is chosen but the first, if there is no
 * better. The place where the control is, `before`, is left for what it covers only where that is
 * to be clear, or a box of the network.
 */
export function leastHiding(
  places: readonly Box[],
  clear: readonly Clear[],
  hides: (place: Box) => number,
  taken: readonly Box[] = [],
  before?: number,
): number {
  const costs = places.map((place) => {
    const isTaken = taken.some((other) => isOver(place, other));
    return isTaken
      ? ([Number.POSITIVE_INFINITY, 0] as const)
      : ([covered(place, clear), hides(place)] as const);
  });
  const [weight, hidden] = costs[before ?? -1] ?? [1, MORE];
  if (before !== undefined && weight === 0 && hidden < MORE) return before;
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
