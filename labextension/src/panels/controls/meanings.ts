// What the marks of the drawing mean: one table for the legend and for the tooltip of the mark
// under the pointer.

import type { Parts } from "../../interaction/parts";
import {
  at,
  BADGE,
  type Box,
  CLOSED,
  INPUT_MARK,
  isScope,
  OPEN,
  OUTPUT_MARK,
  type Paint,
  type Scene,
  SOURCE_MARK,
  visibleItem,
} from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { EDGE_LABELS_FROM, edgeValue } from "../../render/canvas/edge-labels";
import { expandBox } from "../../render/canvas/pen";
import type { Screen } from "../../state/store";

type Marked = Pick<
  Screen,
  "picked" | "hitNames" | "hitOps" | "hitCounts" | "warned" | "edited" | "controls"
>;

/** A kind of mark: its meaning, and which items or edges have it. */
interface Mark {
  /** With "#" for the number that the mark has. */
  readonly meaning: string;
  readonly number?: (scene: Scene, itemOrEdge: number) => number;
  readonly item?: (scene: Scene, paint: Paint, item: number) => boolean;
  readonly edge?: (scene: Scene, paint: Paint, edge: number) => boolean;
  /** The least zoom at which it is drawn. */
  readonly from?: number;
  /** The ops and scopes with a frame of this kind around their boxes. */
  readonly framed?: (screen: Marked) => readonly string[];
  /** Where on its box it is drawn; anywhere on the box if left out. */
  readonly place?: (box: Box, scale: number) => Box;
  /** Whether it lies around its box, where lines begin. */
  readonly around?: true;
}

const around = (x: number, y: number, reach: number): Box => ({
  x: x - reach,
  y: y - reach,
  width: 2 * reach,
  height: 2 * reach,
});
const upperRight = ({ x, y, width }: Box, scale: number): Box =>
  around(x + width - 4 * scale, y, 16 * scale);
const upperLeft = ({ x, y }: Box, scale: number): Box => around(x + 5 * scale, y, 8 * scale);
const below = ({ x, y, width, height }: Box, scale: number): Box => ({
  x,
  y: y + height,
  width,
  height: 16 * scale,
});
const lowerLeft = ({ x, y, height }: Box, scale: number): Box => around(x, y + height, 9 * scale);
const above = ({ x, y, width }: Box, scale: number): Box => ({
  x,
  y: y - 16 * scale,
  width,
  height: 16 * scale,
});
const atSide =
  (side: 0 | 1) =>
  ({ x, y, width, height }: Box, scale: number): Box =>
    around(x + side * width, y + height / 2, 8 * scale);
const stack = ({ x, y, width, height }: Box, scale: number): Box => ({
  x,
  y: y + height,
  width,
  height: 7 * scale,
});

const isBox = ({ kind }: Scene, item: number) => at(kind, item) !== OPEN;
const covered = (paint: Paint, item: number, much: number) => at(paint.coverage, item) === much;

const MARKS: readonly Mark[] = [
  {
    meaning: "Stacked box: a closed scope; double-click it to open it.",
    item: ({ kind }, _, item) => at(kind, item) === CLOSED,
    place: stack,
    around: true,
  },
  {
    meaning: "×# on a box: a group of # siblings.",
    number: ({ members }, item) => at(members, item),
    item: ({ members, kind }, _, item) => at(members, item) > 1 && at(kind, item) === CLOSED,
    place: upperRight,
  },
  {
    meaning: "Dashed frame: a group of siblings, not a scope.",
    item: ({ members, kind }, _, item) => at(members, item) > 0 && at(kind, item) === OPEN,
  },
  {
    meaning: "Arrow on a box, or double frame: it calls a function; double-click to open that.",
    item: ({ calls, kind }, _, item) =>
      at(calls, item) === 1 || (at(calls, item) === 2 && at(kind, item) === CLOSED),
  },
  { meaning: "⟲: a while loop.", item: ({ loop }, _, item) => at(loop, item) > 0 },
  {
    meaning: "Pin: a box that stays where you have put it.",
    item: ({ pinned }, _, item) => at(pinned, item) > 0,
    place: upperLeft,
  },
  {
    meaning: "Small box in a box: a constant or variable that it reads.",
    item: ({ kind }, _, item) => at(kind, item) === BADGE,
  },
  {
    meaning: "Pale box: bookkeeping, such as savers and summaries.",
    item: ({ aside, kind }, paint, item) =>
      at(aside, item) > 0 && at(kind, item) !== BADGE && !paint.isColored,
  },
  {
    meaning: "Brown box or area: gradients, and what serves training, such as the optimizer.",
    item: ({ part, kind }, paint, item) =>
      at(part, item) > 0 &&
      isScope(at(kind, item)) &&
      !(paint.isColored && at(kind, item) === CLOSED),
  },
  {
    meaning: "Not connected to anything: a box without lines.",
    item: ({ isolated }, _, item) => at(isolated, item) > 0,
  },
  { meaning: "Blue frame: selected.", item: (_, paint, item) => covered(paint, item, 2) },
  {
    meaning: "Hatched: partly selected.",
    item: (scene, paint, item) => covered(paint, item, 1) && isBox(scene, item),
  },
  {
    meaning: "▼ in: an input of the selection, cut here.",
    item: (scene, paint, item) => isBox(scene, item) && (at(paint.mark, item) & INPUT_MARK) > 0,
    place: above,
  },
  {
    meaning: "▼ in below a box: its output is an input of the selection.",
    item: (scene, paint, item) => isBox(scene, item) && (at(paint.mark, item) & SOURCE_MARK) > 0,
    place: below,
  },
  {
    meaning: "▲ out: an output of the selection.",
    item: (scene, paint, item) => isBox(scene, item) && (at(paint.mark, item) & OUTPUT_MARK) > 0,
    place: below,
  },
  {
    meaning: "Purple glow: made or changed by the last edit.",
    item: (_, paint, item) => at(paint.fresh, item) > 0,
  },
  {
    meaning: "Dotted frame: edits have left it without consumers.",
    item: (scene, paint, item) => at(paint.unused, item) > 0 && isBox(scene, item),
  },
  {
    meaning: "+ on a green box: only in this graph.",
    item: (scene, paint, item) => at(paint.differs, item) === 1 && isBox(scene, item),
  },
  {
    meaning: "~ on an orange box: changed.",
    item: (scene, paint, item) => at(paint.differs, item) === 2 && isBox(scene, item),
  },
  {
    meaning: "− on a red box: only in this graph, and not in the second one.",
    item: (scene, paint, item) => at(paint.differs, item) === 3 && isBox(scene, item),
  },
  {
    meaning: "→ on a teal box: the same under another name.",
    item: (scene, paint, item) => at(paint.differs, item) === 4 && isBox(scene, item),
  },
  {
    meaning: "✓ on a box: its values in the last run are finite.",
    item: (scene, paint, item) => at(paint.probed, item) === 1 && isBox(scene, item),
    place: atSide(1),
  },
  {
    meaning: "! on a box: NaN or infinity in the last run.",
    item: (scene, paint, item) => at(paint.probed, item) === 2 && isBox(scene, item),
    place: atSide(1),
  },
  {
    meaning:
      "Triangle with ! on a box: it does more than compute, and runs only if you trust the file.",
    item: (scene, paint, item) => at(paint.effects, item) > 0 && isBox(scene, item),
    place: lowerLeft,
  },
  {
    meaning: "Text on a line: the shape of its tensor, or its value in the last run.",
    from: EDGE_LABELS_FROM,
    edge: ({ tensors, edgeLabels, source }, paint, edge) =>
      at(tensors, edge) > 0 &&
      Boolean(paint.values[at(source, edge)] || (at(tensors, edge) === 1 && edgeLabels[edge])),
  },
  {
    meaning: "Dot on a line: a value of the last run; point at the line to read it.",
    edge: (scene, { values }, edge) => edgeValue(scene, edge, values) !== "",
  },
  {
    meaning: "×# on a line: # tensors.",
    from: EDGE_LABELS_FROM,
    number: ({ tensors }, edge) => at(tensors, edge),
    edge: ({ tensors }, _, edge) => at(tensors, edge) > 1,
  },
  {
    meaning: "Dashed line: control inputs only.",
    edge: ({ tensors }, _, edge) => at(tensors, edge) === 0,
  },
  {
    meaning: "Thick line: a large tensor, or many.",
    edge: ({ bytes, tensors }, _, edge) =>
      at(tensors, edge) > 0 && (at(bytes, edge) > 1000 || at(tensors, edge) > 1),
  },
  {
    meaning: "⟲ on a line: to the next iteration of a loop.",
    edge: ({ back }, _, edge) => at(back, edge) > 0,
  },
  {
    meaning: "Blue line: between selected ops.",
    edge: (_, { selectedLine }, edge) => at(selectedLine, edge) > 0,
  },
  {
    meaning: "Pale line: to or from ops without consumers.",
    edge: ({ source, target }, paint, edge) =>
      at(paint.unused, at(source, edge)) + at(paint.unused, at(target, edge)) > 0,
  },
  {
    meaning:
      "Black frame: the op in the Op tab; brown dashed lines come to it, teal lines leave it.",
    framed: ({ picked }) => (picked === "" ? [] : [picked]),
  },
  { meaning: "Pink frame: found by the search.", framed: ({ hitNames }) => hitNames },
  {
    meaning: "“found” with a number on a closed scope: it holds so many ops found.",
    framed: ({ hitCounts }) => hitCounts.map(([name]) => name),
  },
  {
    meaning: "Pink frame with a number: a match of the pattern.",
    framed: ({ hitOps }) => hitOps.flat(),
  },
  { meaning: "Red frame: named by the message below.", framed: ({ warned }) => warned },
  {
    meaning: "Purple frame: changed by the edit at the pointer, or in the preview.",
    framed: ({ edited }) => edited,
  },
];

/**
 * The meanings of the marks that are in the drawing; of a mark with a number, with the largest that
 * is there.
 */
export function meaningsIn(scene: Scene | null, paint: Paint | null, screen: Marked): string[] {
  if (!scene || !paint) return [];
  const isDrawn = (edge: number) => screen.controls || at(scene.tensors, edge) > 0;
  return MARKS.flatMap((mark) => {
    const { item, edge, framed } = mark;
    let example = -1;
    if (item)
      example = exampleOf(mark, scene, scene.length, (one) => one > 0 && item(scene, paint, one));
    if (edge)
      example = exampleOf(
        mark,
        scene,
        scene.edges,
        (one) => isDrawn(one) && edge(scene, paint, one),
      );
    return example >= 0 || (framed && framed(screen).length > 0)
      ? [meaningOf(mark, scene, example)]
      : [];
  });
}

/**
 * The item or edge with a mark, of a mark with a number that with the largest; -1 if there is none.
 */
function exampleOf(mark: Mark, scene: Scene, count: number, has: (one: number) => boolean): number {
  let example = -1;
  for (let one = 0; one < count && (example < 0 || mark.number); one++) {
    if (!has(one)) continue;
    if (example < 0 || numberOf(mark, scene, one) > numberOf(mark, scene, example)) example = one;
  }
  return example;
}

function numberOf({ number }: Mark, scene: Scene, itemOrEdge: number): number {
  return number?.(scene, itemOrEdge) ?? 0;
}

export function meaningOf(mark: Mark, scene: Scene, itemOrEdge: number): string {
  if (!mark.number) return mark.meaning;
  return mark.meaning.replaceAll("#", String(numberOf(mark, scene, itemOrEdge)));
}

/** The marks of an item at a point; `box` is where it is, `point` the pointer. */
export function marksAt(
  scene: Scene,
  paint: Paint,
  item: number,
  { box, point, zoom }: { box: Box; point: Point; zoom: number },
): Mark[] {
  const scale = Math.min(Math.max(zoom, 0.86), 1.4);
  return MARKS.filter((mark) => mark.item?.(scene, paint, item)).filter(({ place }) =>
    isIn(place ? place(box, scale) : box, point),
  );
}

/** How far outside of a box, and inside, the pointer is on a frame around it, in CSS pixels. */
const [BESIDE, WITHIN] = [8, 2];

/** The frames around an item, for a pointer on them. */
export function framesAt(
  scene: Scene,
  screen: Marked,
  item: number,
  { box, point }: { box: Box; point: Point },
): Mark[] {
  if (!isIn(expandBox(box, BESIDE), point) || isIn(expandBox(box, -WITHIN), point)) return [];
  const isFramed = (name: string) => visibleItem(scene, name) === item;
  return MARKS.filter(({ framed }) => framed?.(screen).some(isFramed));
}

/** The meanings of the marks of an edge that are drawn at a zoom. */
export function meaningsOfEdge(scene: Scene, paint: Paint, edge: number, zoom: number): string[] {
  const found = MARKS.filter((mark) => zoom >= (mark.from ?? 0) && mark.edge?.(scene, paint, edge));
  return found.map((mark) => meaningOf(mark, scene, edge));
}

/** How far outside of its box a mark may be, in CSS pixels. */
const MARK_REACH = 18;

interface MarkedItem {
  readonly item: number;
  /** The meanings of its marks at the point. */
  readonly meanings: readonly string[];
  /** Whether all of these lie around its box, where lines begin: frames, and the stack below. */
  readonly isAround: boolean;
}

export function unmarked(item: number): MarkedItem {
  return { item, meanings: [], isAround: false };
}

/**
 * The item of which a mark is at a point of the canvas, also beside its box; else the one that is
 * given.
 */
export function markedAt({ store, stage }: Parts, item: number, point: Point): MarkedItem {
  const { scene, paint, camera } = store.value;
  if (!scene || !paint) return unmarked(item);
  for (const one of item > 0 ? [item] : stage.itemsNear(point, MARK_REACH)) {
    const box = stage.screenBox(one);
    const found = [
      ...marksAt(scene, paint, one, { box, point, zoom: camera.zoom }),
      ...framesAt(scene, store.value, one, { box, point }),
    ];
    if (found.length === 0) continue;
    const meanings = found.map((mark) => meaningOf(mark, scene, one));
    return { item: one, meanings, isAround: found.every(({ framed, around }) => framed || around) };
  }
  return unmarked(item);
}

function isIn({ x, y, width, height }: Box, point: Point): boolean {
  return point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height;
}
