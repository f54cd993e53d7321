// Puts the insides of the open containers together: each is a drawing of its own, in which boxes that are open have
// grown. Order and disjointness stay (stretch.ts), and every line still runs between the same neighbours.
import { at } from "../scene";
import { Borders } from "./borders";
import type { Pieces } from "./pieces";
import { type Span, type Stretch, stretched } from "./stretch";

export type Point = readonly [x: number, y: number];

/** A box in the drawing's x and y, from the upper left corner of the inside around it. */
export interface Placed {
  readonly row: number;
  readonly node: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** What is inside, when it is open. */
  readonly open: Composed | null;
  /** Not drawn: it is a badge of those that read it, now that they can be seen. */
  readonly gone: boolean;
}

/** A line of one inside; ends are places in `children`, -1 for the border. */
export interface Line {
  readonly row: number;
  readonly source: number;
  readonly target: number;
  readonly route: readonly Point[];
}

/** An open container: its size with its frame, where lines enter and leave it, where in it the inside begins. */
export interface Composed {
  readonly inside: number;
  readonly width: number;
  readonly height: number;
  readonly enter: number;
  readonly leave: number;
  readonly left: number;
  readonly top: number;
  readonly children: readonly Placed[];
  readonly lines: readonly Line[];
}

/** A little more than nothing, in pixels. */
const SAME = 0.2;
/** Boxes that nearly fill their row stand in its middle, others at its top; as in tfgraphwidget/layout/spacing.py. */
const CENTRED = 20;

/** The node's inside, with all that is open in it; `opened` is 1 for the nodes that are. */
export function composed(pieces: Pieces, node: number, opened: Uint8Array): Composed {
  const inside = insideOf(pieces, node, opened);
  const first = at(pieces.childStart, inside);
  const count = at(pieces.childStart, inside + 1) - first;
  const open = Array.from({ length: count }, (_, k) => {
    const inner = at(pieces.childIs, first + k);
    return inner >= 0 && opened[inner] === 1 ? composed(pieces, inner, opened) : null;
  });
  const known = open.some(Boolean) ? undefined : pieces.known.get(inside);
  if (known) return known;
  const made = put(pieces, node, inside, open);
  if (!open.some(Boolean)) pieces.known.set(inside, made);
  return made;
}

function put(pieces: Pieces, node: number, inside: number, open: readonly (Composed | null)[]): Composed {
  const first = at(pieces.childStart, inside);
  const border = new Borders(pieces, inside, open);
  const [width, height] = [at(pieces.insideSize, 2 * inside), at(pieces.insideSize, 2 * inside + 1)];
  const x = stretched(
    border.spans((k, box) => spanX(box, border.portOf(k), open[k])),
    width,
  );
  const tall = height + border.growth;
  const children = open.map((inner, k) => ({
    ...placed(pieces, first + k, border.portOf(k), inner, x, border.dropOf(k)),
    ...standing(border.placeOf(k, x)),
    gone: border.isGone(k),
  }));
  const [enter, leave] = [0, 1].map((side) => {
    const port = at(pieces.insidePort, 2 * inside + side);
    return x(Number.isNaN(port) ? width / 2 : port);
  }) as [number, number];
  const framed = frame(pieces, node, x(width), tall);
  return {
    inside,
    ...framed,
    enter: framed.left + enter,
    leave: framed.left + leave,
    children,
    lines: border.lines(children, x, tall),
  };
}

function standing(place: Point | null): { x: number; y: number } | null {
  return place && { x: place[0], y: place[1] };
}

/** As it was in the editor while all is open that was open there, else as it is with everything closed. */
function insideOf(pieces: Pieces, node: number, opened: Uint8Array): number {
  const saved = at(pieces.saved, node);
  if (saved < 0) return at(pieces.base, node);
  for (let row = at(pieces.childStart, saved); row < at(pieces.childStart, saved + 1); row++)
    if (at(pieces.childOpen, row) === 1 && opened[at(pieces.childIs, row)] !== 1)
      return at(pieces.base, node);
  return saved;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function spanX(box: Box, port: number, inner: Composed | null | undefined): Span {
  const { enter, width } = inner ?? { enter: port - box.x, width: box.width };
  return { low: box.x, at: port, high: box.x + box.width, before: enter, after: width - enter };
}

/** Where a child stands now. Its port, where lines come in, keeps its place in the map: they stay straight. */
function placed(
  pieces: Pieces,
  row: number,
  port: number,
  open: Composed | null,
  x: Stretch,
  drop: number,
): Omit<Placed, "gone"> {
  const node = at(pieces.childIs, row);
  const [left, top, wide, high] = [0, 1, 2, 3].map((k) => at(pieces.childBox, 4 * row + k)) as [
    number,
    number,
    number,
    number,
  ];
  const closed = at(pieces.childOpen, row) === 1 && !open ? at(pieces.row, node) : row;
  const width = open?.width ?? at(pieces.childBox, 4 * closed + 2);
  const height = open?.height ?? at(pieces.childBox, 4 * closed + 3);
  const before = open?.enter ?? ((port - left) * width) / Math.max(wide, SAME);
  const spare = Math.max(high - height, 0);
  return {
    row,
    node,
    x: x(port) - before,
    y: top + drop + (spare <= CENTRED ? spare / 2 : 0),
    width,
    height,
    open,
  };
}

/** The twin of Frame.around in tfgraphwidget/layout/frame.py. */
function frame(pieces: Pieces, node: number, width: number, height: number) {
  const { right, frame } = pieces.data.head;
  const [header, padding, margin] = frame;
  const side = node === 0 ? margin : padding;
  const head = node === 0 ? margin : header;
  const [before, above] = right ? [head, side] : [side, head];
  const [wide, tall] = [before + width + side, above + height + side];
  const spare = Math.max(0, at(pieces.least, node) - (right ? tall : wide));
  return right
    ? { width: wide, height: tall + spare, left: before, top: above + spare / 2 }
    : { width: wide + spare, height: tall, left: before + spare / 2, top: above };
}
