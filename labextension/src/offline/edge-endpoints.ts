// The edges of one container, and where they meet the borders of its boxes after those have grown.
import { at } from "../protocol/scene";
import {
  type Box,
  type ComposedContainer,
  type LayoutTables,
  type Line,
  NO_TENSOR,
  type PlacedBox,
  type Point,
} from "./layout-tables";
import type { Span, Stretch } from "./stretch";

/**
 * A line as it was drawn; `piece` says which horizontal part each of its points is on, -1 for its
 * ends.
 */
interface DrawnEdge {
  readonly row: number;
  readonly source: number;
  readonly target: number;
  readonly points: readonly Point[];
  readonly piece: number[];
}

/** Tensors of a line with the same ports at its ends; -1 at a box. */
interface PortPair {
  readonly from: number;
  readonly to: number;
  readonly tensors: number[];
}

/**
 * The space that boxes and lines keep at either side, in pixels; as in
 * tfgraphwidget/layout/spacing.py.
 */
const BESIDE_BOX = 7;
const BESIDE_LINE = 3;
/**
 * Between a box and where a line turns to its port, at most, in pixels; channels are twice as wide.
 */
const TURN = 6;
const SAME = 0.2;
const STRAIGHT = 0.6;

export class EdgeEndpoints {
  readonly #tables: LayoutTables;
  readonly #inside: number;
  readonly #open: readonly (ComposedContainer | null)[];
  readonly #ports: Float64Array;
  /** Children that are badges at their consumers, now that all of these can be seen. */
  readonly #gone: Uint8Array;
  readonly #drawn: readonly DrawnEdge[];
  /** Per child, and then per horizontal part of a line. */
  readonly #drop: Float64Array;
  readonly #growth: number;
  readonly #block: Block | null;

  constructor(tables: LayoutTables, inside: number, open: readonly (ComposedContainer | null)[]) {
    this.#tables = tables;
    this.#inside = inside;
    this.#open = open;
    this.#ports = new Float64Array(open.length).fill(Number.NaN);
    this.#gone = new Uint8Array(open.length);
    this.#readPorts();
    this.#drawn = [...this.#rows()].flatMap((row) => this.#drawnEdge(row));
    this.#block = this.#repack();
    const { drop, growth } = pushDown(this.#movableParts());
    this.#drop = drop;
    this.#growth = growth;
  }

  /** Where lines come into a child as it was drawn: its middle when none does. */
  portOf(child: number): number {
    const port = at(this.#ports, child);
    if (!Number.isNaN(port)) return port;
    const { x, width } = this.#box(child);
    return x + width / 2;
  }

  /** Of each child that is open now, or was when it was drawn. */
  spans(spanOf: (child: number, box: Box) => Span): Span[] {
    const spans = this.#open.flatMap((open, child) =>
      open && !this.#block?.places.has(child) ? [spanOf(child, this.#box(child))] : [],
    );
    if (!this.#block) return spans;
    const { box, width } = this.#block;
    return [...spans, { low: box.x, at: box.x, high: box.x + box.width, before: 0, after: width }];
  }

  /** The present place of a child of the block; null for other children. */
  placeOf(child: number, x: Stretch): Point | null {
    const place = this.#block?.places.get(child);
    if (!this.#block || !place) return null;
    const { box } = this.#block;
    return [x(box.x) + place[0], box.y + at(this.#drop, this.#drop.length - 1) + place[1]];
  }

  /** How far each child goes down, and how much taller the inside is. */
  get growth(): number {
    return this.#growth;
  }

  dropOf(child: number): number {
    return at(this.#drop, child);
  }

  /**
   * All lines but those of children that are gone; `x` is where places are now, `height` the
   * inside's now.
   */
  lines(children: readonly PlacedBox[], x: Stretch, height: number): Line[] {
    return this.#drawn.flatMap((drawn) =>
      this.#portPairs(drawn, children).map((pair) => this.#line(drawn, pair, children, x, height)),
    );
  }

  /**
   * The tensors of a line by the ports that they have at its ends: once a scope is open, they go
   * apart.
   */
  #portPairs({ row, source, target }: DrawnEdge, children: readonly PlacedBox[]): PortPair[] {
    const { tensorStart, tensor } = this.#tables;
    const pairs = new Map<string, PortPair>();
    const [leave, enter] = [children[source]?.open?.leavePorts, children[target]?.open?.enterPorts];
    const first = at(tensorStart, row);
    const count = at(tensorStart, row + 1) - first;
    for (let k = 0; k < Math.max(count, 1); k++) {
      const one = count === 0 ? NO_TENSOR : at(tensor, first + k);
      const [from, to] = [leave?.of.get(one) ?? -1, enter?.of.get(one) ?? -1];
      const pair = pairs.get(`${from} ${to}`) ?? { from, to, tensors: [] };
      pairs.set(`${from} ${to}`, pair);
      pair.tensors.push(one);
    }
    return [...pairs.values()];
  }

  #line(
    { row, source, target, points, piece }: DrawnEdge,
    { from, to, tensors }: PortPair,
    children: readonly PlacedBox[],
    x: Stretch,
    height: number,
  ): Line {
    const route = points.map(([px, py], k): Point => {
      const number = piece[k] ?? -1;
      if (number >= 0) return [x(px), py + at(this.#drop, number)];
      return [x(px), target < 0 && k === points.length - 1 ? height : py];
    });
    const [start, end] = [children[source], children[target]];
    const ends = [
      start && this.#end(points[0] as Point, source, start, from),
      end && this.#end(points[points.length - 1] as Point, target, end, to),
    ];
    return { row, source, target, route: joinEnds(route, ends[0], ends[1]), tensors };
  }

  isGone(child: number): boolean {
    return this.#gone[child] === 1;
  }

  #readPorts(): void {
    const { lineSource, lineTarget, childAux } = this.#tables;
    const first = at(this.#tables.childStart, this.#inside);
    const auxiliary = this.#open.map((_, child) => at(childAux, first + child) === 1);
    const [needed, joined] = [new Set<number>(), new Set<number>()];
    for (const row of this.#rows()) {
      const [source, target] = [at(lineSource, row), at(lineTarget, row)];
      if (target >= 0 && Number.isNaN(at(this.#ports, target)))
        this.#ports[target] = (this.#route(row).at(-1) as Point)[0];
      for (const [one, other] of [
        [source, target],
        [target, source],
      ] as const) {
        if (!auxiliary[one]) continue;
        joined.add(one);
        if (!this.#open[other]) needed.add(one);
      }
    }
    for (const child of joined) if (!needed.has(child)) this.#gone[child] = 1;
  }

  #drawnEdge(row: number): DrawnEdge[] {
    const { lineSource, lineTarget } = this.#tables;
    const [source, target] = [at(lineSource, row), at(lineTarget, row)];
    if (this.#gone[source] === 1 || this.#gone[target] === 1) return [];
    return [{ row, source, target, points: this.#route(row), piece: [] }];
  }

  /**
   * Everything that can be pushed down: the children, then the parts of lines; stores their numbers
   * in the lines.
   */
  #movableParts(): Piece[] {
    const pieces = this.#open.map((open, child): Piece => {
      const { x, y, width, height } = this.#box(child);
      const growth = open ? open.height - height : 0;
      return { low: x - BESIDE_BOX, high: x + width + BESIDE_BOX, y, growth };
    });
    for (const child of this.#block?.places.keys() ?? []) {
      const { x, y } = this.#block?.box ?? this.#box(child);
      pieces[child] = { low: x, high: x, y, growth: 0 }; // it goes with the block
    }
    for (const line of this.#drawn) addParts(pieces, line);
    if (this.#block) {
      const { box, height } = this.#block;
      const [low, high] = [box.x - BESIDE_BOX, box.x + box.width + BESIDE_BOX];
      pieces.push({ low, high, y: box.y, growth: height - box.height });
    }
    return pieces;
  }

  /** Packs the children without lines into rows again if one of them has changed its size. */
  #repack(): Block | null {
    if (!this.#open.some(Boolean)) return null;
    const touched = new Set(this.#drawn.flatMap(({ source, target }) => [source, target]));
    const all = this.#open.map((_, child) => this.#box(child));
    const there = [...all.keys()].filter((child) => this.#gone[child] !== 1);
    const loose = there.filter((child) => !touched.has(child));
    const width = all.map((box, child) => this.#open[child]?.width ?? box.width);
    const height = all.map((box, child) => this.#open[child]?.height ?? box.height);
    const same = (child: number) => {
      const box = all[child] as Box;
      return Math.abs(at(width, child) - box.width) + Math.abs(at(height, child) - box.height) < 1;
    };
    if (loose.every(same)) return null;
    const others = there.filter((child) => touched.has(child)).map((child) => all[child] as Box);
    const lines = this.#drawn.flatMap(({ points }) =>
      points.slice(1).map((end, k) => boxOf(points[k] as Point, end)),
    );
    return packBlock(all, loose, [...others, ...lines], width, height);
  }

  *#rows(): Iterable<number> {
    const { lineStart } = this.#tables;
    for (let row = at(lineStart, this.#inside); row < at(lineStart, this.#inside + 1); row++)
      yield row;
  }

  #route(row: number): Point[] {
    const { routeStart, route } = this.#tables;
    const points: Point[] = [];
    for (let k = at(routeStart, row); k < at(routeStart, row + 1); k++) {
      const [x, y] = [at(route, 2 * k), at(route, 2 * k + 1)];
      const before = points.at(-1) ?? [Number.NaN, Number.NaN];
      // Half a pixel aside is straight on; where all is stretched it would be a slope.
      points.push([
        Math.abs(x - before[0]) <= STRAIGHT ? before[0] : x,
        Math.abs(y - before[1]) <= STRAIGHT ? before[1] : y,
      ]);
    }
    return points;
  }

  #box(child: number): Box {
    const row = at(this.#tables.childStart, this.#inside) + child;
    const box = this.#tables.childBox;
    return {
      x: at(box, 4 * row),
      y: at(box, 4 * row + 1),
      width: at(box, 4 * row + 2),
      height: at(box, 4 * row + 3),
    };
  }

  /** Where a line's end is on the border of its box. */
  #end(old: Point, child: number, box: PlacedBox, number: number): End {
    const was = this.#box(child);
    const beside = old[1] > was.y + 1 && old[1] < was.y + was.height - 1;
    const below = Math.abs(old[1] - was.y - was.height) < Math.abs(old[1] - was.y);
    const share = (old[0] - was.x) / Math.max(was.width, SAME);
    const ports = below ? box.open?.leavePorts : box.open?.enterPorts;
    const middle = below ? box.open?.leave : box.open?.enter;
    const port = ports?.x[number] ?? middle ?? share * box.width;
    const point: Point = beside
      ? [box.x + (share > 0.5 ? box.width : 0), box.y + box.height / 2]
      : [box.x + port, box.y + (below ? box.height : 0)];
    return { point, beside };
  }
}

/** `beside`: at the left or right border, so that the line's first piece is horizontal. */
interface End {
  readonly point: Point;
  readonly beside: boolean;
}

/**
 * A route with its ends at the borders of its boxes; where it does not come straight, it turns
 * right before.
 */
function joinEnds(route: Point[], start: End | undefined, end: End | undefined): Point[] {
  const last = route.length - 1;
  // First along the line, so that of a line without bends either end knows where the other is.
  for (const [k, there] of [
    [0, start],
    [last, end],
  ] as const) {
    const [x, y] = route[k] as Point;
    if (there) route[k] = there.beside ? [there.point[0], y] : [x, there.point[1]];
  }
  if (start) addCorner(route, start);
  if (end) {
    route.reverse();
    addCorner(route, end);
    route.reverse();
  }
  return route;
}

/** Add the horizontal parts of a line, and tell it their numbers. Its ends go with its boxes. */
function addParts(pieces: Piece[], { points, piece }: DrawnEdge): void {
  const last = points.length - 1;
  for (const [k, [x, y]] of points.entries()) {
    if (k === 0 || k === last) {
      piece.push(-1);
      continue;
    }
    const number = piece[k - 1] ?? -1;
    const old = pieces[number];
    const [low, high] = [x - BESIDE_LINE, x + BESIDE_LINE];
    if (old && Math.abs(old.y - y) <= SAME) {
      pieces[number] = { ...old, low: Math.min(old.low, low), high: Math.max(old.high, high) };
      piece.push(number);
    } else {
      piece.push(pieces.length);
      pieces.push({ low, high, y, growth: 0 });
    }
  }
}

function boxOf([ax, ay]: Point, [bx, by]: Point): Box {
  return {
    x: Math.min(ax, bx),
    y: Math.min(ay, by),
    width: Math.abs(ax - bx),
    height: Math.abs(ay - by),
  };
}

/** The same way from another first point. */
function addCorner(route: Point[], { point: start, beside }: End): void {
  const [first, next] = [route[0] ?? start, route[1] ?? start];
  route[0] = start;
  const [along, across] = beside ? [0 as const, 1 as const] : [1 as const, 0 as const];
  if (Math.abs(start[across] - first[across]) <= SAME) return;
  const way = next[along] - start[along];
  const turn = start[along] + Math.sign(way) * Math.min(TURN, Math.abs(way) / 3);
  const corner = (place: number): Point => (beside ? [turn, place] : [place, turn]);
  route.splice(1, 0, corner(start[across]), corner(first[across]));
}

// How far everything in an inside is pushed down by what has grown above it: as little as keeps the
// order of any two things that overlap in x. So no box overlaps another, no line crosses one, and
// what is beside stays.

/** A box, or a horizontal part of a line; `growth` is how much taller it is than it was drawn. */
export interface Piece {
  readonly low: number;
  readonly high: number;
  readonly y: number;
  readonly growth: number;
}

/** Per piece how far it goes down, and how much taller all of it is. */
function pushDown(pieces: readonly Piece[]): { drop: Float64Array; growth: number } {
  const drop = new Float64Array(pieces.length);
  if (pieces.every(({ growth }) => growth <= 0)) return { drop, growth: 0 };
  const order = [...pieces.keys()].sort((a, b) => yOf(pieces, a) - yOf(pieces, b));
  const skyline = new Skyline();
  for (const k of order) {
    const { low, high, growth } = pieces[k] as Piece;
    drop[k] = skyline.most(low, high);
    skyline.put(low, high, (drop[k] as number) + Math.max(growth, 0));
  }
  return { drop, growth: skyline.most(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY) };
}

function yOf(pieces: readonly Piece[], k: number): number {
  return pieces[k]?.y ?? 0;
}

/** How far things are pushed that come next: pieces [x[i], x[i + 1]) by `push[i]`. */
class Skyline {
  readonly #x = [Number.NEGATIVE_INFINITY];
  readonly #push = [0];

  most(low: number, high: number): number {
    let i = this.#after(low) - 1;
    let found = this.#push[i] as number;
    for (i += 1; i < this.#x.length && (this.#x[i] as number) < high; i++)
      found = Math.max(found, this.#push[i] as number);
    return found;
  }

  put(low: number, high: number, push: number): void {
    if (low >= high) return;
    const last = this.#before(high);
    const after = this.#push[last - 1] as number;
    const first = this.#before(low);
    const ends = this.#x[last] === high;
    this.#x.splice(first, last - first, ...(ends ? [low] : [low, high]));
    this.#push.splice(first, last - first, ...(ends ? [push] : [push, after]));
  }

  /** The number of the first piece that begins after a place; at or after it. */
  #after(place: number): number {
    return this.#search((x) => x > place);
  }

  #before(place: number): number {
    return this.#search((x) => x >= place);
  }

  #search(beyond: (x: number) => boolean): number {
    let [low, high] = [0, this.#x.length];
    while (low < high) {
      const half = (low + high) >> 1;
      if (beyond(this.#x[half] as number)) high = half;
      else low = half + 1;
    }
    return low;
  }
}

// Children without lines form a block; once some of them are open, the block is packed into rows
// again.

export interface Block {
  /** Where the block was drawn. */
  readonly box: Box;
  /**
   * Per child, its present place relative to the block's upper left corner; the present size of the
   * block.
   */
  readonly places: ReadonlyMap<number, readonly [x: number, y: number]>;
  readonly width: number;
  readonly height: number;
}

const GAP = 16;
const ASPECT = 1.6;

/**
 * The block of the children that are `loose`, or null when they do not stand apart: none of
 * `others` may overlap it. Their sizes now are `width` and `height` per child.
 */
function packBlock(
  boxes: readonly Box[],
  loose: readonly number[],
  others: readonly Box[],
  width: readonly number[],
  height: readonly number[],
): Block | null {
  if (loose.length < 2) return null;
  const box = boundingBox(loose.map((child) => boxes[child] as Box));
  if (others.some((other) => overlaps(box, other))) return null;
  const order = [...loose].sort((a, b) => compareBoxes(boxes[a] as Box, boxes[b] as Box));
  const sizes = order.map((child) => [width[child] ?? 0, height[child] ?? 0] as const);
  const area = sizes.reduce((sum, [w, h]) => sum + (w + GAP) * (h + GAP), 0);
  const limit = Math.max(Math.sqrt(area * ASPECT), ...sizes.map(([w]) => w));
  const { places, extent } = rows(sizes, limit);
  return {
    box,
    places: new Map(order.map((child, k) => [child, places[k] ?? [0, 0]])),
    width: extent[0],
    height: extent[1],
  };
}

/**
 * From left to right while there is space, then below the tallest; the largest width and height
 * reached.
 */
function rows(sizes: readonly (readonly [number, number])[], limit: number) {
  const places: [number, number][] = [];
  let [x, y, tallest, widest] = [0, 0, 0, 0];
  for (const [w, h] of sizes) {
    if (x > 0 && x + w > limit) [x, y, tallest] = [0, y + tallest + GAP, 0];
    places.push([x, y]);
    widest = Math.max(widest, x + w);
    tallest = Math.max(tallest, h);
    x += w + GAP;
  }
  return { places, extent: [widest, y + tallest] as const };
}

function compareBoxes(a: Box, b: Box): number {
  const sameRow = a.y < b.y + b.height && b.y < a.y + a.height;
  return sameRow ? a.x - b.x : a.y - b.y;
}

function boundingBox(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

function overlaps(a: Box, b: Box): boolean {
  const beside = a.x + a.width <= b.x || b.x + b.width <= a.x;
  return !beside && a.y < b.y + b.height && b.y < a.y + a.height;
}
