// Builds the fields of a scene from the composed layout. Python twin: tfgraphwidget/scene/scene.py.
import type { Field } from "../protocol/messages";
import { at, BADGE, CLOSED, OP, OPEN } from "../protocol/scene";
import type { HiddenOps } from "./hidden-ops";
import {
  type ComposedContainer,
  type LayoutTables,
  NO_TENSOR,
  type PlacedBox,
  type Point,
} from "./layout-tables";
import type { Data } from "./page-data";

/** One box, absolute, in the drawing's x and y; of a badge, on the screen. */
export interface Item {
  readonly kind: number;
  readonly parent: number;
  readonly node: number;
  readonly op: number;
  /** The child or badge that says how it looks; -1 for the whole graph. */
  readonly row: number;
  readonly box: readonly [number, number, number, number];
  readonly open: ComposedContainer | null;
}

export interface Edge {
  readonly row: number;
  readonly source: number;
  readonly target: number;
  readonly route: readonly Point[];
  /** Of each its op and its output, as in VisibleGraph; none for control inputs. */
  readonly tensors: readonly number[];
  /** As in Scene. */
  readonly sourcePort: number;
  readonly targetPort: number;
}

/** The places of items and edges. `items` are breadth first: parents before their children. */
export interface Drawing {
  readonly items: readonly Item[];
  readonly edges: readonly Edge[];
}

/** Everything from the root on, less what is hidden. */
export function buildDrawing(
  tables: LayoutTables,
  root: ComposedContainer,
  hidden: HiddenOps,
): Drawing {
  const items: Item[] = [
    {
      kind: OPEN,
      parent: -1,
      node: 0,
      op: -1,
      row: -1,
      box: [0, 0, root.width, root.height],
      open: root,
    },
  ];
  const edges: Edge[] = [];
  for (let number = 0; number < items.length; number++) {
    const item = items[number] as Item;
    if (item.open) addInside(tables, items, edges, number, item, item.open, hidden);
    else addBadges(tables, items, number, item, hidden);
  }
  return { items, edges };
}

function addInside(
  tables: LayoutTables,
  items: Item[],
  edges: Edge[],
  number: number,
  item: Item,
  held: ComposedContainer,
  hidden: HiddenOps,
): void {
  const [left, top] = [item.box[0] + held.left, item.box[1] + held.top];
  const numbers = held.children.map((child) => {
    if (child.gone || hidden.has(child.node)) return -1;
    items.push(itemOf(tables, number, child, left, top));
    return items.length - 1;
  });
  // What came through the border may be hidden, and nothing then leads to it any more.
  const goesOn = (outer: (edge: Edge) => boolean) => hidden.count === 0 || edges.some(outer);
  const comesIn = goesOn(({ target, source }) => target === number && source !== number);
  const goesOut = goesOn(({ target, source }) => source === number && target !== number);
  const isThere = (end: number, outside: boolean) =>
    end < 0 ? outside : (numbers[end] ?? -1) >= 0;
  const nodeOf = (end: number) => held.children[end]?.node ?? null;
  for (const line of held.lines) {
    if (!isThere(line.source, comesIn) || !isThere(line.target, goesOut)) continue;
    if (hidden.hasLine(item.node, nodeOf(line.source), nodeOf(line.target))) continue;
    const route = line.route.map(([x, y]): [number, number] => [x + left, y + top]);
    reachBorders(tables.data.head.right, route, line.source < 0, line.target < 0, item);
    const [source = number, target = number] = [numbers[line.source], numbers[line.target]];
    const [first = NO_TENSOR] = line.tensors;
    const from = line.source < 0 ? held.enterPorts : held.children[line.source]?.open?.leavePorts;
    const to = line.target < 0 ? held.leavePorts : held.children[line.target]?.open?.enterPorts;
    edges.push({
      row: line.row,
      source,
      target,
      route,
      tensors: line.tensors.filter((tensor) => tensor !== NO_TENSOR),
      sourcePort: (from?.of.get(first) ?? -1) + 1,
      targetPort: (to?.of.get(first) ?? -1) + 1,
    });
  }
}

function itemOf(
  tables: LayoutTables,
  parent: number,
  child: PlacedBox,
  left: number,
  top: number,
): Item {
  const { node, open, row } = child;
  const kind = node < 0 ? OP : open ? OPEN : CLOSED;
  // What was open in the editor and is closed now looks as any closed one.
  const own = kind === CLOSED && at(tables.childOpen, row) === 1 ? at(tables.row, node) : row;
  const op = node < 0 ? -1 - node : -1;
  return {
    kind,
    parent,
    node: Math.max(node, -1),
    op,
    row: own,
    box: [child.x + left, child.y + top, child.width, child.height],
    open,
  };
}

/**
 * Lines go on to the border below, through the padding, and in a drawing to the right from the
 * border before.
 */
function reachBorders(
  right: boolean,
  route: [number, number][],
  fromAbove: boolean,
  below: boolean,
  item: Item,
) {
  const [first, last] = [route[0], route[route.length - 1]];
  if (below && last) last[1] = item.box[1] + item.box[3];
  if (right && fromAbove && first) first[1] = item.box[1];
}

function addBadges(
  tables: LayoutTables,
  items: Item[],
  number: number,
  item: Item,
  hidden: HiddenOps,
): void {
  const { badgeStart, data } = tables;
  const place = data.column("badge_box");
  const [x, y] = data.head.right ? [item.box[1], item.box[0]] : item.box;
  if (item.kind === BADGE) return;
  for (let row = at(badgeStart, item.row); row < at(badgeStart, item.row + 1); row++) {
    if (hidden.has(-1 - at(data.column("badge_op"), row))) continue;
    const [left, top, width, height] = [0, 1, 2, 3].map((k) => at(place, 4 * row + k)) as [
      number,
      number,
      number,
      number,
    ];
    items.push({
      kind: BADGE,
      parent: number,
      node: -1,
      op: at(data.column("badge_op"), row),
      row,
      box: [x + left, y + top, width, height],
      open: null,
    });
  }
}

/** What each field of an item is read from. */
const COLUMNS: readonly (readonly [
  field: string,
  dtype: "u1" | "u4",
  child: string,
  badge: string,
])[] = [
  ["family", "u1", "child_family", "badge_family"],
  ["aside", "u1", "child_aside", ""],
  ["calls", "u1", "child_calls", ""],
  ["count", "u4", "child_count", "badge_count"],
  ["variables", "u4", "child_variables", "badge_variables"],
  ["part", "u1", "child_part", ""],
  ["pinned", "u1", "child_pinned", ""],
  ["omitted", "u4", "child_omitted", ""],
  ["isolated", "u1", "child_isolated", ""],
];

/** The fields of a scene in one buffer. */
export class Fields {
  readonly fields: Field[] = [];
  readonly #parts: Uint8Array[] = [];
  #offset = 0;

  add(name: string, dtype: Field["dtype"], numbers: ArrayLike<number>, width = 0): void {
    const kinds = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };
    const array = kinds[dtype].from(numbers);
    const shape = width > 0 ? [array.length / width, width] : [array.length];
    this.fields.push({ name, dtype, shape, offset: this.#offset });
    const bytes = new Uint8Array(array.buffer);
    this.#parts.push(bytes);
    this.#offset += Math.ceil(bytes.length / 4) * 4;
  }

  addTexts(name: string, texts: readonly string[]): void {
    const encoder = new TextEncoder();
    const encoded = texts.map((text) => encoder.encode(text));
    const start = new Uint32Array(texts.length + 1);
    for (const [k, bytes] of encoded.entries()) start[k + 1] = at(start, k) + bytes.length;
    const whole = new Uint8Array(at(start, texts.length));
    for (const [k, bytes] of encoded.entries()) whole.set(bytes, at(start, k));
    this.add(`${name}_start`, "u4", start);
    this.add(`${name}_bytes`, "u1", whole);
  }

  get buffer(): DataView {
    const whole = new Uint8Array(this.#offset);
    let offset = 0;
    for (const part of this.#parts) {
      whole.set(part, offset);
      offset += Math.ceil(part.length / 4) * 4;
    }
    return new DataView(whole.buffer);
  }
}

/** Add the fields of the items and of the lines. */
export function addScene(to: Fields, { items, edges }: Drawing, tables: LayoutTables): void {
  const { data } = tables;
  addItems(to, items, data);
  const swap = data.head.right;
  to.add(
    "box",
    "f4",
    items.flatMap((item) => onScreen(item, swap)),
    4,
  );
  const lines = (name: string) => edges.map(({ row }) => at(data.column(name), row));
  to.add(
    "source",
    "i4",
    edges.map(({ source }) => source),
  );
  to.add(
    "target",
    "i4",
    edges.map(({ target }) => target),
  );
  to.add(
    "source_port",
    "u1",
    edges.map(({ sourcePort }) => sourcePort),
  );
  to.add(
    "target_port",
    "u1",
    edges.map(({ targetPort }) => targetPort),
  );
  to.add(
    "tensors",
    "u4",
    edges.map(({ tensors }) => tensors.length),
  );
  to.add("back", "u1", lines("line_back"));
  to.add("bytes", "f4", lines("line_bytes"));
  to.addTexts(
    "edge_label",
    edges.map(({ row }) => data.text("line_label", row)),
  );
  const start = new Uint32Array(edges.length + 1);
  for (const [k, { route }] of edges.entries()) start[k + 1] = at(start, k) + route.length;
  to.add("route_start", "u4", start);
  const points = edges.flatMap(({ route }) => route.flatMap(([x, y]) => (swap ? [y, x] : [x, y])));
  to.add("route", "f4", points, 2);
}

function onScreen({ box, kind }: Item, swap: boolean): readonly number[] {
  const [x, y, width, height] = box;
  return swap && kind !== BADGE ? [y, x, height, width] : box;
}

function addItems(to: Fields, items: readonly Item[], data: Data): void {
  const { names, nodes } = data.head;
  to.add(
    "parent",
    "i4",
    items.map(({ parent }) => parent),
  );
  to.add(
    "kind",
    "u1",
    items.map(({ kind }) => kind),
  );
  for (const [field, dtype, child, badge] of COLUMNS) {
    const read = items.map((item) => {
      const column = item.kind === BADGE ? badge : child;
      return item.row < 0 || column === ""
        ? valueOfRoot(field, data)
        : at(data.column(column), item.row);
    });
    const closed =
      field === "family" || field === "calls" || field === "omitted" || field === "isolated";
    to.add(field, dtype, closed ? read.map((value, k) => (items[k]?.open ? 0 : value)) : read);
  }
  to.add(
    "members",
    "u4",
    items.map(({ node }) => (node < 0 ? 0 : at(data.column("node_members"), node))),
  );
  to.add(
    "loop",
    "u1",
    items.map((item) => isLoop(item, data)),
  );
  to.addTexts(
    "name",
    items.map(({ op, node }) => (op >= 0 ? names[op] : nodes[node]) ?? ""),
  );
  to.addTexts(
    "type",
    items.map(({ op }) => (op >= 0 ? data.text("op_type", op) : "")),
  );
  to.addTexts(
    "label",
    items.map((item) => labelOf(item, data)),
  );
}

function valueOfRoot(field: string, data: Data): number {
  if (field === "count") return data.head.names.length;
  return field === "variables" ? at(data.column("node_variables"), 0) : 0;
}

function isLoop({ kind, row, open }: Item, data: Data): number {
  if (open) return at(data.column("inside_loop"), open.inside);
  return kind === BADGE || row < 0 ? 0 : at(data.column("child_loop"), row);
}

function labelOf({ kind, row }: Item, data: Data): string {
  if (row < 0) return "";
  return data.text(kind === BADGE ? "badge_text" : "child_label", row);
}
