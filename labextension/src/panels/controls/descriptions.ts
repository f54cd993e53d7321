// Text descriptions of an item, for the outline, the tooltip and screen readers.
import {
  at,
  BADGE,
  EFFECTS,
  INPUT_MARK,
  isScope,
  labelOf,
  OUTPUT_MARK,
  type Paint,
  type Scene,
  SOURCE_MARK,
  sizeText,
} from "../../protocol/scene";
import { edgesAt } from "../../render/canvas/incident-edges";

/**
 * Items depth first, the root left out; per item how many children it has, and its place among its
 * siblings from 1.
 */
export interface Tree {
  readonly order: Int32Array;
  readonly children: Uint32Array;
  readonly position: Uint32Array;
}

export function treeOf(scene: Scene | null): Tree {
  const length = scene?.length ?? 0;
  const [children, position] = [new Uint32Array(length), new Uint32Array(length)];
  const order = new Int32Array(Math.max(length - 1, 0));
  if (!scene) return { order, children, position };
  // Parents come before their children: sizes from the back, then places from the front. Written
  // without at(), since this runs once, cold, for each drawing.
  const { parent } = scene;
  const size = new Uint32Array(length).fill(1);
  for (let item = length - 1; item > 0; item--) {
    const up = parent[item] as number;
    size[up] = (size[up] as number) + (size[item] as number);
  }
  // Where the next child of an item goes.
  const next = new Int32Array(length);
  for (let item = 1; item < length; item++) {
    const up = parent[item] as number;
    const place = next[up] as number;
    children[up] = position[item] = (children[up] as number) + 1;
    order[place] = item;
    next[item] = place + 1;
    next[up] = place + (size[item] as number);
  }
  return { order, children, position };
}

/** "Conv2D", "while loop · 12 ops", "group of 3 · 36 ops", "constant of relu". */
export function aboutText(scene: Scene, item: number): string {
  const omitted = at(scene.omitted, item);
  const edges = omitted > 0 ? `${edgesText(omitted)} not drawn` : "";
  return [...factsOf(scene, item), edges].filter(Boolean).join(" · ");
}

/** The same for who does not see the drawing: all edges count, whether they have a line or not. */
export function spokenText(scene: Scene, item: number): string {
  const isOutside = (edge: number) =>
    at(scene.parent, at(scene.source, edge)) !== item &&
    at(scene.parent, at(scene.target, edge)) !== item;
  const lines = edgesAt(scene, item).filter(isOutside);
  const drawn = lines.reduce((sum, edge) => sum + Math.max(at(scene.tensors, edge), 1), 0);
  const edges = drawn + at(scene.omitted, item);
  return [...factsOf(scene, item), edges > 0 ? edgesText(edges) : ""].filter(Boolean).join(", ");
}

function factsOf(scene: Scene, item: number): string[] {
  if (at(scene.kind, item) === BADGE)
    return [`${scene.types[item] ?? ""} of ${labelOf(scene, at(scene.parent, item))}`];
  const members = at(scene.members, item);
  const scope = isScope(at(scene.kind, item));
  return [
    members > 0 ? `group of ${members.toLocaleString("en")}` : "",
    at(scene.loop, item) === 1 ? "while loop" : "",
    scope ? sizeText(at(scene.count, item), at(scene.variables, item)) : (scene.types[item] ?? ""),
    at(scene.pinned, item) === 1 ? "pinned" : "",
    at(scene.isolated, item) === 1 ? "not connected" : "",
  ];
}

/** So many ends of a bundle are listed. */
const MOST_ENDS = 12;

/** Of an edge: from where to where, and what it carries; of a bundle, all its ends. */
export function edgeText(
  scene: Scene,
  edge: number,
  { producers, consumers }: { producers: readonly number[]; consumers: readonly number[] },
): string[] {
  const names = (items: readonly number[]) => {
    const shown = items.slice(0, MOST_ENDS).map((item) => scene.names[item] || "the graph");
    return [
      ...shown,
      ...(items.length > MOST_ENDS ? [`${items.length - MOST_ENDS} more`] : []),
    ].join(", ");
  };
  const tensors = at(scene.tensors, edge);
  const carries = [
    tensors === 0
      ? "control input"
      : tensors === 1
        ? scene.edgeLabels[edge] || "1 tensor"
        : `${tensors} tensors`,
    at(scene.back, edge) === 1 ? "to the next iteration" : "",
  ];
  return [`${names(producers)} → ${names(consumers)}`, carries.filter(Boolean).join(" · ")];
}

function edgesText(edges: number): string {
  return `${edges.toLocaleString("en")} edge${edges === 1 ? "" : "s"}`;
}

/** What the drawing leaves out, for the legend; "" when every edge has its line. */
export function omittedText({ omitted }: Scene): string {
  // Each such edge is counted at both of its ends.
  const edges = omitted.reduce((sum, count) => sum + count, 0) / 2;
  if (edges === 0) return "";
  return (
    `Without a line: ${edgesText(edges)} of training and bookkeeping. ` +
    "Hover a box for its count."
  );
}

/** What colors and marks say of an item, in words; "" when they say nothing. */
export function paintText(paint: Paint, item: number): string {
  const mark = at(paint.mark, item);
  return [
    mark & (INPUT_MARK | SOURCE_MARK) ? "input" : "",
    mark & OUTPUT_MARK ? "output" : "",
    at(paint.coverage, item) === 1 ? "partly selected" : "",
    ["", "new", "changed inside"][at(paint.fresh, item)] ?? "",
    at(paint.unused, item) === 1 ? "unused: edits have left it without consumers" : "",
    ["", "added", "changed", "removed", "renamed"][at(paint.differs, item)] ?? "",
    ["", "probed", "NaN or infinity"][at(paint.probed, item)] ?? "",
    effectText(paint, item),
    paint.notes[item] ?? "",
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * What an item of a file that is not trusted does beside computing: "writes files, calls Python";
 * "" for nothing.
 */
export function effectText({ effects }: Paint, item: number): string {
  return EFFECTS.filter((_, bit) => (at(effects, item) >> bit) & 1).join(", ");
}

/** The full description, for screen readers. */
export function announcementText(scene: Scene, paint: Paint | null, item: number): string {
  const around = at(scene.parent, item);
  return [
    labelOf(scene, item),
    spokenText(scene, item),
    paint && at(paint.coverage, item) === 2 ? "selected" : "",
    paint ? paintText(paint, item) : "",
    around > 0 && at(scene.kind, item) !== BADGE ? `in ${labelOf(scene, around)}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}
