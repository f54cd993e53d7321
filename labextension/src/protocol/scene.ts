// Decodes a scene into typed-array views. Python twin: tfgraphwidget/scene/scene.py: same fields,
// widths and order.
import type { Field } from "./messages";

export const OP = 0;
export const CLOSED = 1;
export const OPEN = 2;
export const BADGE = 3;
export const FAMILIES = [
  "other",
  "input",
  "constant",
  "variable",
  "linear",
  "activation",
  "normalization",
  "arithmetic",
  "shape",
  "control",
  "state",
  "pooling",
] as const;
export const INPUT_MARK = 1;
export const OUTPUT_MARK = 2;
/** In `differs` of a Paint: the same op under another name. */
export const RENAMED = 4;
/** What ops do beside computing, in the order of the bits of `effects` in a Paint. */
export const EFFECTS = [
  "reads files",
  "writes files",
  "uses the network",
  "calls Python",
  "may wait without end",
  "ends the kernel",
  "does what is not known",
] as const;
/** An input that is cut after the op, not before it. */
export const SOURCE_MARK = 4;

/**
 * Everything drawn. Item 0 is the whole graph, parents come before their children; coordinates are
 * pixels at zoom 1.
 */
export interface Scene {
  /** Equal for scenes in which everything stands at the same place; "" where there is only one. */
  readonly stamp: string;
  readonly length: number;
  readonly box: Float32Array;
  readonly parent: Int32Array;
  readonly depth: Uint16Array;
  readonly kind: Uint8Array;
  readonly family: Uint8Array;
  readonly aside: Uint8Array;
  /** 1: an op that calls a function one can enter; 2: a closed scope that holds such ops. */
  readonly calls: Uint8Array;
  /** The number of siblings that a group represents; 0 for ops and scopes of the graph. */
  readonly members: Uint32Array;
  /** 1: gradients, optimizer and what serves only them; 2: gradients that the network goes on with. */
  readonly part: Uint8Array;
  /** 1: a while loop. */
  readonly loop: Uint8Array;
  /** 1: pinned by the user. */
  readonly pinned: Uint8Array;
  /** Edges to other boxes that have no line; 0 for open scopes and badges. */
  readonly omitted: Uint32Array;
  /** 1: an op or closed scope without edges to others. */
  readonly isolated: Uint8Array;
  /** The label; "" for the last part of the name. */
  readonly labels: readonly string[];
  readonly count: Uint32Array;
  readonly variables: Uint32Array;
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly edges: number;
  readonly source: Int32Array;
  readonly target: Int32Array;
  /** 1 more than the port of the border where an edge begins; 0 at a box. */
  readonly sourcePort: Uint8Array;
  readonly targetPort: Uint8Array;
  readonly tensors: Uint32Array;
  readonly routeStart: Uint32Array;
  readonly route: Float32Array;
  /** 1: a loop's way back. */
  readonly back: Uint8Array;
  /** Of the largest tensor; 0 when unknown. */
  readonly bytes: Float32Array;
  /** The shape and dtype of a line's only tensor, or "". */
  readonly edgeLabels: readonly string[];
  readonly byKey: ReadonlyMap<string, number>;
}

/** What the selection changes; one entry per item, of `selectedLine` per edge. */
export interface Paint {
  readonly coverage: Uint8Array;
  readonly mark: Uint8Array;
  readonly fresh: Uint8Array;
  /** While differences are shown: 1 added, 2 changed, 3 removed, 4 renamed. */
  readonly differs: Uint8Array;
  /** Looked at in a run: 1 all finite, 2 with NaN or infinity. */
  readonly probed: Uint8Array;
  /** 1: edits have left it without consumers. */
  readonly unused: Uint8Array;
  /** Of a file that is not trusted, what its ops do beside computing: a bit for each of EFFECTS. */
  readonly effects: Uint8Array;
  /** While it is colored: 1 … 12 categories, 128 … 255 a ramp from low to high; 0 none. */
  readonly tint: Uint8Array;
  /** The text below the label in a coloring, or "". */
  readonly notes: readonly string[];
  /** What a run found of an op's only output, or "". */
  readonly values: readonly string[];
  /** 1: the edge leads from a selected op to a selected one. */
  readonly selectedLine: Uint8Array;
  /** Whether anything is colored. */
  readonly isColored: boolean;
  readonly selecting: boolean;
  /** Whether anything differs. */
  readonly comparing: boolean;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array } as const;
type Arrays = { u1: Uint8Array; u4: Uint32Array; i4: Int32Array; f4: Float32Array };

/** An entry of a typed array that is known to be there. */
export function at(array: ArrayLike<number>, index: number): number {
  return array[index] ?? 0;
}

/** Reads fields by name; throws if one is missing, truncated or of another type. */
class Reader {
  readonly #fields: ReadonlyMap<string, Field>;
  readonly #buffer: DataView;

  constructor(fields: readonly Field[], buffer: DataView) {
    this.#fields = new Map(fields.map((field) => [field.name, field]));
    this.#buffer = buffer;
  }

  take<T extends keyof Arrays>(name: string, dtype: T): Arrays[T] {
    const field = this.#fields.get(name);
    if (field?.dtype !== dtype)
      throw new Error(`The scene has no ${dtype} field "${name}"; reload the page.`);
    const kind = TYPES[dtype];
    const length = field.shape.reduce((product, side) => product * side, 1);
    const bytes = length * kind.BYTES_PER_ELEMENT;
    const start = this.#buffer.byteOffset + field.offset;
    if (field.offset + bytes > this.#buffer.byteLength)
      throw new Error(`The scene's field "${name}" is cut off; reload the page.`);
    // A message's buffers follow one another at any byte; a typed array must start at a multiple of
    // its width.
    const aligned = start % kind.BYTES_PER_ELEMENT === 0;
    const source = aligned ? this.#buffer.buffer : this.#buffer.buffer.slice(start, start + bytes);
    return new kind(source as ArrayBuffer, aligned ? start : 0, length) as Arrays[T];
  }

  texts(name: string): string[] {
    const start = this.take(`${name}_start`, "u4");
    const bytes = this.take(`${name}_bytes`, "u1");
    const decoder = new TextDecoder();
    const whole = decoder.decode(bytes);
    // In ASCII, which nearly every graph is, bytes and characters coincide and one decoding serves
    // all.
    const cut =
      whole.length === bytes.length
        ? (from: number, to: number) => whole.slice(from, to)
        : (from: number, to: number) => decoder.decode(bytes.subarray(from, to));
    return Array.from({ length: start.length - 1 }, (_, i) => cut(at(start, i), at(start, i + 1)));
  }
}

export function decodeScene(fields: readonly Field[], buffer: DataView, stamp = ""): Scene {
  const reader = new Reader(fields, buffer);
  const parent = reader.take("parent", "i4");
  const kind = reader.take("kind", "u1");
  const names = reader.texts("name");
  const source = reader.take("source", "i4");
  if (names.length !== parent.length || kind.length !== parent.length)
    throw new Error("The scene's fields differ in length; reload the page.");
  return {
    stamp,
    length: parent.length,
    box: reader.take("box", "f4"),
    parent,
    depth: depths(parent),
    kind,
    family: reader.take("family", "u1"),
    aside: reader.take("aside", "u1"),
    calls: reader.take("calls", "u1"),
    count: reader.take("count", "u4"),
    variables: reader.take("variables", "u4"),
    names,
    types: reader.texts("type"),
    members: reader.take("members", "u4"),
    part: reader.take("part", "u1"),
    loop: reader.take("loop", "u1"),
    pinned: reader.take("pinned", "u1"),
    omitted: reader.take("omitted", "u4"),
    isolated: reader.take("isolated", "u1"),
    labels: reader.texts("label"),
    edges: source.length,
    source,
    target: reader.take("target", "i4"),
    sourcePort: reader.take("source_port", "u1"),
    targetPort: reader.take("target_port", "u1"),
    tensors: reader.take("tensors", "u4"),
    routeStart: reader.take("route_start", "u4"),
    route: reader.take("route", "f4"),
    back: reader.take("back", "u1"),
    bytes: reader.take("bytes", "f4"),
    edgeLabels: reader.texts("edge_label"),
    byKey: itemsByKey(names, kind),
  };
}

/** The fields of the selection; throws when they are not for a scene of this many items. */
export function decodePaint(fields: readonly Field[], buffer: DataView, length: number): Paint {
  const reader = new Reader(fields, buffer);
  const coverage = reader.take("coverage", "u1");
  if (coverage.length !== length)
    throw new Error("The selection belongs to another drawing; reload the page.");
  const selecting = coverage.some((value) => value > 0);
  const field = (name: string) => reader.take(name, "u1");
  const [mark, fresh, differs, probed] = [
    field("mark"),
    field("fresh"),
    field("differs"),
    field("probed"),
  ];
  const [unused, effects, tint] = [field("unused"), field("effects"), field("tint")];
  return {
    coverage,
    mark,
    fresh,
    differs,
    probed,
    unused,
    effects,
    tint,
    notes: reader.texts("note"),
    values: reader.texts("value"),
    selectedLine: field("selected_line"),
    isColored: tint.some(Boolean),
    selecting,
    comparing: differs.some(Boolean),
  };
}

/**
 * Items by key. An op may be drawn as several badges; its own box, or else the first badge, has its
 * name.
 */
function itemsByKey(names: readonly string[], kind: Uint8Array): Map<string, number> {
  const found = new Map<string, number>();
  for (const [item, name] of names.entries()) {
    const key = isScope(at(kind, item)) ? `${name}/` : name;
    if (at(kind, item) !== BADGE || !found.has(key)) found.set(key, item);
  }
  return found;
}

/** Whether items of this kind are scopes or groups, not ops. */
export function isScope(kind: number): boolean {
  return kind === CLOSED || kind === OPEN;
}

function depths(parent: Int32Array): Uint16Array {
  const depth = new Uint16Array(parent.length);
  for (let item = 1; item < parent.length; item++) depth[item] = at(depth, at(parent, item)) + 1;
  return depth;
}

/** An item's name in requests: an op's own, a scope's with a slash, since "w" may be both. */
export function keyOf(scene: Scene, item: number): string {
  const name = scene.names[item] ?? "";
  return isScope(at(scene.kind, item)) ? `${name}/` : name;
}

/**
 * The item of a key, an op, a tensor or a scope; the closed scope around it when it is not in view
 * itself.
 */
export function visibleItem(scene: Scene, name: string): number {
  const plain = name.replace(/^\^/, "").replace(/:\d+$/, "");
  const exact = scene.byKey.get(plain) ?? scene.byKey.get(`${plain}/`);
  if (exact !== undefined) return exact;
  for (let end = plain.lastIndexOf("/"); end > 0; end = plain.lastIndexOf("/", end - 1)) {
    const around = scene.byKey.get(`${plain.slice(0, end)}/`);
    if (around !== undefined) return around;
  }
  return -1;
}

/**
 * The label of a box: the last part of the name, "(w)" for an op inside the scope of its own name.
 */
export function labelOf(scene: Scene, item: number): string {
  const label = scene.labels[item];
  if (label) return label;
  const name = scene.names[item] ?? "";
  const last = name.slice(name.lastIndexOf("/") + 1);
  const inOwnScope =
    at(scene.kind, item) === OP && item > 0 && name === scene.names[at(scene.parent, item)];
  return inOwnScope ? `(${last})` : last;
}

/** "210 ops · 20 variables". */
export function sizeText(ops: number, variables: number): string {
  const plural = (count: number, noun: string) =>
    `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  return variables > 0
    ? `${plural(ops, "op")} · ${plural(variables, "variable")}`
    : plural(ops, "op");
}

export function boxOf(boxes: Float32Array, item: number): Box {
  const i = item * 4;
  return {
    x: at(boxes, i),
    y: at(boxes, i + 1),
    width: at(boxes, i + 2),
    height: at(boxes, i + 3),
  };
}

/** Whether an op or a closed scope lies in a part of the world. */
export function showsAnything(boxes: Float32Array, kinds: Uint8Array, part: Box): boolean {
  for (let item = 1; item < kinds.length; item++) {
    if (kinds[item] === OPEN) continue;
    const { x, y, width, height } = boxOf(boxes, item);
    const beside = x > part.x + part.width || x + width < part.x;
    if (!beside && y < part.y + part.height && y + height > part.y) return true;
  }
  return kinds.length <= 1;
}
