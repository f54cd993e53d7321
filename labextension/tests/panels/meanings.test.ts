// Whatever the drawer draws has its meaning in the legend.
import { expect, test } from "vitest";
import {
  framesAt,
  marksAt,
  meaningOf,
  meaningsIn,
  meaningsOfEdge,
} from "../../src/panels/controls/meanings";
import { CLOSED, OP, OPEN, type Paint, type Scene } from "../../src/protocol/scene";
import { decoded, drawnOf, type Picture, pictures } from "../render/recorder";

const NONE = {
  picked: "",
  hitNames: [],
  hitOps: [],
  hitCounts: [],
  warned: [],
  edited: [],
  controls: true,
};

/** The drawing without any mark: each field that draws one is empty. */
function plain(): { scene: Scene; paint: Paint } {
  const { scene, paint } = decoded(pictures[0] as Picture);
  const none = () => new Uint8Array(scene.length);
  const numbers = () => new Uint32Array(scene.length);
  return {
    scene: {
      ...scene,
      ...{
        aside: none(),
        calls: none(),
        part: none(),
        loop: none(),
        pinned: none(),
        isolated: none(),
      },
      members: numbers(),
      omitted: numbers(),
      kind: scene.kind.map((kind) => (kind === CLOSED ? OP : kind)),
      tensors: scene.tensors.map(() => 1),
      back: new Uint8Array(scene.edges),
      bytes: new Float32Array(scene.edges),
      edgeLabels: scene.edgeLabels.map(() => ""),
    },
    paint,
  };
}

const { scene, paint } = plain();
const closed = scene.kind.indexOf(OP);
const open = scene.kind.lastIndexOf(OPEN);
const each = <T extends Uint8Array | Uint32Array | Float32Array>(array: T, value: number) =>
  array.map(() => value) as T;
const asClosed = { kind: scene.kind.map((kind, item) => (item === closed ? CLOSED : kind)) };
// biome-ignore format: one mark per line
const DRAWN: Record<string, [Partial<Scene>, Partial<Paint>, Partial<Scene>?]> = {
  "closed scope": [asClosed, {}],
  "group, closed": [{ ...asClosed, members: each(scene.members, 3) }, {}, asClosed],
  "group, open": [{ members: scene.members.map((_, item) => (item === open ? 3 : 0)) }, {}],
  "function call": [{ calls: each(scene.calls, 1) }, {}],
  "function call inside": [{ ...asClosed, calls: each(scene.calls, 2) }, {}, asClosed],
  loop: [{ loop: each(scene.loop, 1) }, {}],
  pin: [{ pinned: each(scene.pinned, 1) }, {}],
  bookkeeping: [{ aside: each(scene.aside, 1) }, {}],
  training: [{ part: each(scene.part, 1) }, {}],
  "control edge": [{ tensors: each(scene.tensors, 0) }, {}],
  bundle: [{ tensors: each(scene.tensors, 12) }, {}],
  "large tensor": [{ bytes: each(scene.bytes, 1e8) }, {}],
  "back edge": [{ back: each(scene.back, 1) }, {}],
  shapes: [{ edgeLabels: scene.edgeLabels.map(() => "3×4") }, {}],
  selected: [{}, { coverage: each(paint.coverage, 2), selecting: true }],
  "selected line": [{}, { selectedLine: new Uint8Array(scene.edges).fill(1) }],
  "partly selected": [asClosed, { coverage: each(paint.coverage, 1), selecting: true }, asClosed],
  input: [{}, { mark: each(paint.mark, 1) }],
  output: [{}, { mark: each(paint.mark, 2) }],
  source: [{}, { mark: each(paint.mark, 4) }],
  fresh: [{}, { fresh: each(paint.fresh, 1) }],
  "fresh inside": [asClosed, { fresh: each(paint.fresh, 2) }, asClosed],
  added: [{}, { differs: each(paint.differs, 1), comparing: true }],
  changed: [{}, { differs: each(paint.differs, 2), comparing: true }],
  probed: [{}, { probed: each(paint.probed, 1) }],
  broken: [{}, { probed: each(paint.probed, 2) }],
  unused: [{}, { unused: each(paint.unused, 1) }],
  "not trusted": [{}, { effects: each(paint.effects, 1) }],
  value: [{}, { values: scene.names.map(() => "mean 0.5, 3×4") }],
};

test.each(Object.entries(DRAWN))(
  "the legend explains what is drawn: %s",
  (_, [items, painted, before = {}]) => {
    const [old, now] = [
      { ...scene, ...before },
      { ...scene, ...items },
    ];
    const marked = { ...paint, ...painted };
    expect(drawnOf(now, marked)).not.toEqual(drawnOf(old, paint));
    const known = meaningsIn(old, paint, NONE);
    const news = meaningsIn(now, marked, NONE).filter((meaning) => !known.includes(meaning));
    expect(news).not.toEqual([]);
  },
);

test("every field of a drawing that is drawn is in this test", () => {
  const tested = new Set(
    Object.values(DRAWN).flatMap(([items, painted]) => Object.keys({ ...items, ...painted })),
  );
  const without = ["selecting", "comparing"]; // follow from others
  // Places and names; what is known of a box and not drawn; colors, which the legend lists by
  // themselves.
  const rest = [
    "box",
    "parent",
    "depth",
    "family",
    "length",
    "stamp",
    "names",
    "types",
    "labels",
    "count",
    "variables",
  ];
  rest.push("edges", "source", "target", "routeStart", "route", "byKey", "omitted", "isolated");
  rest.push("sourcePort", "targetPort", "tint", "notes", "isColored");
  for (const field of [...Object.keys(scene), ...Object.keys(paint)])
    expect([...tested, ...rest, ...without]).toContain(field);
});

test("a mark under the pointer says what the legend says", () => {
  const box = { x: 100, y: 100, width: 80, height: 40 };
  const group = { ...scene, ...asClosed, members: each(scene.members, 8) };
  const at = (x: number, y: number) =>
    marksAt(group, paint, closed, { box, point: { x, y }, zoom: 1 }).map((mark) =>
      meaningOf(mark, group, closed),
    );
  expect(at(176, 100)).toEqual(["×8 on a box: a group of 8 siblings."]);
  expect(at(140, 143)).toEqual(["Stacked box: a closed scope; double-click it to open it."]);
  expect(at(140, 120)).toEqual([]);
  const legend = meaningsIn(group, paint, NONE);
  expect(legend).toEqual(expect.arrayContaining([...at(176, 100), ...at(140, 143)]));
  const dashed = { ...scene, tensors: each(scene.tensors, 0) };
  expect(meaningsOfEdge(dashed, paint, 0, 0.3)).toEqual(["Dashed line: control inputs only."]);
});

test("a mark with a number is explained with a number that is in the drawing", () => {
  const groups = { ...scene, ...asClosed, members: each(scene.members, 176) };
  expect(meaningsIn(groups, paint, NONE)).toContain("×176 on a box: a group of 176 siblings.");
  const bundles = { ...scene, tensors: scene.tensors.map((_, edge) => edge + 2) };
  const most = scene.edges + 1;
  expect(meaningsIn(bundles, paint, NONE)).toContain(`×${most} on a line: ${most} tensors.`);
  expect(meaningsOfEdge(bundles, paint, 0, 1)).toContain("×2 on a line: 2 tensors.");
  // From afar lines have no texts.
  expect(meaningsOfEdge(bundles, paint, 0, 0.3)).not.toContain("×2 on a line: 2 tensors.");
});

test.each([
  [{ picked: "x" }, "Black frame"],
  [{ hitNames: ["x"] }, "Pink frame: found"],
  [{ hitOps: [["x"]] }, "Pink frame with a number"],
  [{ hitCounts: [["x", 3]] as const }, "“found” with a number"],
  [{ warned: ["x:0"] }, "Red frame"],
  [{ edited: ["x"] }, "Purple frame"],
] as const)(
  "a frame around a box says at the pointer what the legend says: %o",
  (change, begin) => {
    const box = { x: 100, y: 100, width: 80, height: 40 };
    const screen = { ...NONE, ...change };
    const item = scene.byKey.get("x") ?? -1;
    const at = (one: number, x: number, y: number) =>
      framesAt(scene, screen, one, { box, point: { x, y } }).map((mark) =>
        meaningOf(mark, scene, one),
      );
    const [meaning = "", ...more] = at(item, 140, 97);
    expect(meaning.startsWith(begin), meaning).toBe(true);
    expect(more).toEqual([]);
    expect(meaningsIn(scene, paint, screen)).toContain(meaning);
    expect([at(item, 140, 120), at(item, 140, 80), at(item + 1, 140, 97)]).toEqual([[], [], []]);
  },
);
