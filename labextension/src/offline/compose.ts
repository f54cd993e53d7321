// Composes the layouts of the open containers: each container has its own layout, in which open
// children have grown. Order and disjointness are preserved (stretch.ts), and every edge connects
// the same neighbors as before.
import { at } from "../protocol/scene";
import { EdgeEndpoints } from "./edge-endpoints";
import type {
  Box,
  ComposedContainer,
  LayoutTables,
  Line,
  PlacedBox,
  Point,
  Ports,
} from "./layout-tables";
import { type Span, type Stretch, stretchAxis } from "./stretch";

/** A little more than nothing, in pixels. */
const SAME = 0.2;
/**
 * Boxes that nearly fill their row are centered in it, others at its top; as in
 * tfgraphwidget/layout/spacing.py.
 */
const CENTERED = 20;

/** The node's inside, with all that is open in it; `opened` is 1 for the nodes that are. */
export function compose(tables: LayoutTables, node: number, opened: Uint8Array): ComposedContainer {
  const inside = insideOf(tables, node, opened);
  const first = at(tables.childStart, inside);
  const count = at(tables.childStart, inside + 1) - first;
  const open = Array.from({ length: count }, (_, k) => {
    const inner = at(tables.childIs, first + k);
    return inner >= 0 && opened[inner] === 1 ? compose(tables, inner, opened) : null;
  });
  const known = open.some(Boolean) ? undefined : tables.known.get(inside);
  if (known) return known;
  const container = composeInside(tables, node, inside, open);
  if (!open.some(Boolean)) tables.known.set(inside, container);
  return container;
}

function composeInside(
  tables: LayoutTables,
  node: number,
  inside: number,
  open: readonly (ComposedContainer | null)[],
): ComposedContainer {
  const first = at(tables.childStart, inside);
  const border = new EdgeEndpoints(tables, inside, open);
  const [width, height] = [
    at(tables.insideSize, 2 * inside),
    at(tables.insideSize, 2 * inside + 1),
  ];
  const x = stretchAxis(
    border.spans((k, box) => spanX(box, border.portOf(k), open[k])),
    width,
  );
  const tall = height + border.growth;
  const children = open.map((inner, k) => ({
    ...placeChild(tables, first + k, border.portOf(k), inner, x, border.dropOf(k)),
    ...pointOf(border.placeOf(k, x)),
    gone: border.isGone(k),
  }));
  const [enter, leave] = [0, 1].map((side) => {
    const port = at(tables.insidePort, 2 * inside + side);
    return x(Number.isNaN(port) ? width / 2 : port);
  }) as [number, number];
  const framed = frame(tables, node, x(width), tall);
  const lines = border.lines(children, x, tall);
  return {
    inside,
    ...framed,
    enter: framed.left + enter,
    leave: framed.left + leave,
    enterPorts: portsOf(
      lines.filter(({ source }) => source < 0),
      ({ route }) => framed.left + (route[0]?.[0] ?? 0),
    ),
    leavePorts: portsOf(
      lines.filter(({ target }) => target < 0),
      ({ route }) => framed.left + (route.at(-1)?.[0] ?? 0),
    ),
    children,
    lines,
  };
}

/** The ports where these lines are at the border. */
function portsOf(lines: readonly Line[], place: (line: Line) => number): Ports {
  const x: number[] = [];
  const of = new Map<number, number>();
  for (const line of lines) {
    const at = place(line);
    const known = x.findIndex((other) => Math.abs(other - at) < SAME);
    const port = known < 0 ? x.push(at) - 1 : known;
    for (const tensor of line.tensors) of.set(tensor, port);
  }
  return { x, of };
}

function pointOf(place: Point | null): { x: number; y: number } | null {
  return place && { x: place[0], y: place[1] };
}

/**
 * As it was in the editor while all is open that was open there, else as it is with everything
 * closed.
 */
function insideOf(tables: LayoutTables, node: number, opened: Uint8Array): number {
  const saved = at(tables.saved, node);
  if (saved < 0) return at(tables.base, node);
  for (let row = at(tables.childStart, saved); row < at(tables.childStart, saved + 1); row++)
    if (at(tables.childOpen, row) === 1 && opened[at(tables.childIs, row)] !== 1)
      return at(tables.base, node);
  return saved;
}

function spanX(box: Box, port: number, inner: ComposedContainer | null | undefined): Span {
  const { enter, width } = inner ?? { enter: port - box.x, width: box.width };
  return { low: box.x, at: port, high: box.x + box.width, before: enter, after: width - enter };
}

/**
 * The present place of a child. Its port, where lines enter, keeps its place in the map: they stay
 * straight.
 */
function placeChild(
  tables: LayoutTables,
  row: number,
  port: number,
  open: ComposedContainer | null,
  x: Stretch,
  drop: number,
): Omit<PlacedBox, "gone"> {
  const node = at(tables.childIs, row);
  const [left, top, wide, high] = [0, 1, 2, 3].map((k) => at(tables.childBox, 4 * row + k)) as [
    number,
    number,
    number,
    number,
  ];
  const closed = at(tables.childOpen, row) === 1 && !open ? at(tables.row, node) : row;
  const width = open?.width ?? at(tables.childBox, 4 * closed + 2);
  const height = open?.height ?? at(tables.childBox, 4 * closed + 3);
  const before = open?.enter ?? ((port - left) * width) / Math.max(wide, SAME);
  const spare = Math.max(high - height, 0);
  return {
    row,
    node,
    x: x(port) - before,
    y: top + drop + (spare <= CENTERED ? spare / 2 : 0),
    width,
    height,
    open,
  };
}

/** The twin of Frame.around in tfgraphwidget/layout/frame.py. */
function frame(tables: LayoutTables, node: number, width: number, height: number) {
  const { right, frame } = tables.data.head;
  const [header, padding, margin] = frame;
  const side = node === 0 ? margin : padding;
  const head = node === 0 ? margin : header;
  const [before, above] = right ? [head, side] : [side, head];
  const [wide, tall] = [before + width + side, above + height + side];
  const spare = Math.max(0, at(tables.least, node) - (right ? tall : wide));
  return right
    ? { width: wide, height: tall + spare, left: before, top: above + spare / 2 }
    : { width: wide + spare, height: tall, left: before + spare / 2, top: above };
}
