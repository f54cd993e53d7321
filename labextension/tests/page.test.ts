// The pages that Python wrote (tests/test_export_pages.py), put together with any scopes open.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type Composed, composed } from "../src/page/compose";
import { Data } from "../src/page/data";
import { found, listed } from "../src/page/find";
import { Graph } from "../src/page/graph";
import { Pieces } from "../src/page/pieces";
import { patternOf, suits } from "../src/page/query";
import { Room } from "../src/page/room";
import type { Request } from "../src/protocol";
import { at, boxOf, decodePaint, decodeScene, OPEN } from "../src/scene";

interface Golden {
  readonly name: string;
  readonly data: string;
  readonly names: string[];
  readonly labels: string[];
  readonly box: number[][];
  readonly route: number[][];
  readonly route_start: number[];
  readonly [array: string]: unknown;
}

const GOLDEN: Golden[] = JSON.parse(
  readFileSync(new URL("../../tests/golden/pages.json", import.meta.url), "utf8"),
);

function dataOf({ data }: Golden): Data {
  const bytes = gunzipSync(Buffer.from(data, "base64"));
  return new Data(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer);
}

function answer(room: Room, request: Request) {
  const reply = room.answer(request);
  if (reply.type !== "drawn") throw new Error(`${request.type} was answered by ${reply.type}`);
  return { ...reply, scene: decodeScene(reply.fields, reply.buffer) };
}

/** The same numbers each time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const SLACK = 0.6;

function overlap(a: Box, b: Box): boolean {
  const apart = (p: number, length: number, q: number, other: number) =>
    p + length <= q + SLACK || q + other <= p + SLACK;
  return !apart(a.x, a.width, b.x, b.width) && !apart(a.y, a.height, b.y, b.height);
}

/** What is wrong with an inside and with all that are open in it. */
function wrong(inside: Composed, path: string): string[] {
  const children = inside.children.filter(({ gone }) => !gone);
  const [width, height] = [inside.width - inside.left, inside.height - inside.top];
  const outside = children.filter(
    (box) =>
      box.x < -SLACK ||
      box.y < -SLACK ||
      box.x + box.width > width + SLACK ||
      box.y + box.height > height + SLACK,
  );
  const lapping = children.flatMap((a, k) => children.slice(0, k).filter((b) => overlap(a, b)));
  const crossed = inside.lines.flatMap(({ route }) =>
    route.slice(1).flatMap((end, k) => {
      const [x, y] = route[k] ?? end;
      const piece = {
        x: Math.min(x, end[0]) - SLACK,
        y: Math.min(y, end[1]) - SLACK,
        width: Math.abs(x - end[0]) + 2 * SLACK,
        height: Math.abs(y - end[1]) + 2 * SLACK,
      };
      const slanted = Math.abs(x - end[0]) > SLACK && Math.abs(y - end[1]) > SLACK;
      const through = children.filter((box) =>
        overlap({ ...box, x: box.x + 1, width: box.width - 2 }, piece),
      );
      return slanted ? ["slanted"] : through.filter((box) => !touches(box, [x, y], end)).map(() => "through");
    }),
  );
  return [
    ...outside.map(() => `${path}: outside of its container`),
    ...lapping.map(() => `${path}: two boxes overlap`),
    ...crossed.map((what) => `${path}: a line is ${what}`),
    ...children.flatMap(({ open, node }) => (open ? wrong(open, `${path}/${node}`) : [])),
  ];
}

/** Whether a piece of a line only ends at the upper or lower border of a box. */
function touches(box: Box, ...ends: (readonly [number, number])[]): boolean {
  const ys = ends.map(([, y]) => y);
  return Math.max(...ys) <= box.y + 2 * SLACK || Math.min(...ys) >= box.y + box.height - 2 * SLACK;
}

describe.each(GOLDEN)("the page of $name", (golden) => {
  test("is first drawn just as in the editor", () => {
    const { scene } = answer(new Room(dataOf(golden)), { type: "open" });
    expect(scene.names).toEqual(golden.names);
    expect(scene.labels).toEqual(golden.labels);
    for (const field of [
      "kind",
      "parent",
      "family",
      "aside",
      "count",
      "source",
      "target",
      "tensors",
      "loop",
    ] as const)
      expect([field, ...scene[field]]).toEqual([field, ...(golden[field] as number[])]);
    const far = (a: ArrayLike<number>, b: readonly number[]) =>
      Math.max(0, ...b.map((value, k) => Math.abs(value - at(a, k))));
    expect(far(scene.box, golden.box.flat())).toBeLessThan(1);
    expect([...scene.routeStart]).toEqual(golden.route_start);
    expect(far(scene.route, golden.route.flat())).toBeLessThan(1);
  });

  test("has no box on another and no line through one, whatever is open", () => {
    const data = dataOf(golden);
    const pieces = new Pieces(data);
    const nodes = data.head.nodes.length;
    for (let seed = 0; seed < 60; seed++) {
      const next = random(seed);
      const share = next();
      const opened = Uint8Array.from({ length: nodes }, () => (seed < 2 ? seed : next() < share ? 1 : 0));
      expect([seed, ...wrong(composed(pieces, 0, opened), "")]).toEqual([seed]);
    }
  });

  test("opens what is asked for, and closed again it is as before", () => {
    const room = new Room(dataOf(golden));
    const before = answer(room, { type: "open" });
    const { names, kind, box } = before.scene;
    const item = names.findIndex((_, k) => kind[k] === 1);
    const scope = names[item] ?? "";
    const opened = answer(room, { type: "toggle", scope, deep: false });
    const there = opened.scene.byKey.get(`${scope}/`) ?? -1;
    expect(opened.scene.kind[there]).toBe(OPEN);
    expect([...opened.scene.parent].filter((parent) => parent === there).length).toBeGreaterThan(0);
    expect(opened.scene.length).toBeGreaterThan(names.length);
    const closed = answer(room, { type: "toggle", scope, deep: false });
    expect([...closed.scene.box]).toEqual([...box]);
  });

  test("draws every op once, or as badges, when everything is open", () => {
    const data = dataOf(golden);
    const { scene } = answer(new Room(data), { type: "unfold", everything: true });
    const boxes = scene.names.filter((_, item) => scene.kind[item] === 0);
    expect(new Set(boxes).size).toBe(boxes.length);
    const drawn = new Set(scene.names);
    const graph = new Graph(data);
    const missing = [...data.head.names.keys()].filter((op) => !drawn.has(data.head.names[op] ?? ""));
    // Constants and variables may stand behind a badge with others, or behind that of what reads them.
    const kinds = new Set(missing.map((op) => graph.type(op)));
    expect(
      [...kinds].filter((kind) => !/^(Const|Identity|VarHandleOp|VariableV2|ReadVariableOp)$/.test(kind)),
    ).toEqual([]);
  });

  test("brings an op into view, and refuses a name that is not there", () => {
    const data = dataOf(golden);
    const room = new Room(data);
    const deep = data.head.names.findIndex((name) => name.split("/").length > 2);
    const name = data.head.names[deep] ?? "";
    const shown = answer(room, { type: "reveal", name });
    expect(shown.focus).toBe(name);
    expect(room.answer({ type: "reveal", name: "nowhere/at/all" })).toMatchObject({ type: "refused" });
  });

  test("says one sentence to whoever wants to change it", () => {
    const room = new Room(dataOf(golden));
    for (const request of [
      { type: "undo" },
      { type: "turn", direction: "right" },
      { type: "refresh" },
    ] as Request[])
      expect(room.answer(request)).toMatchObject({
        type: "refused",
        why: "This page has no kernel; open the graph with tgw.edit(…) to change it.",
      });
  });
});

describe("what a page finds and tells", () => {
  const data = dataOf(GOLDEN[0] as Golden);
  const graph = new Graph(data);
  const names = (query: string) => found(graph, query).map((op) => graph.names[op]);

  test("words, patterns and keys mean what they mean to a kernel", () => {
    expect(names("type:MatMul")).toEqual(["net/one/MatMul", "net/two/MatMul"]);
    expect(names("matmul -two")).toContain("net/one/MatMul");
    expect(names("/^net.one.MatMul$/")).toEqual(["net/one/MatMul"]);
    expect(names("scope:one type:MatMul")).toEqual(["net/one/MatMul"]);
    expect(names("is:input")).toEqual(["x"]);
    expect(names("net/*/MatMul")).toEqual(["net/one/MatMul", "net/two/MatMul"]);
    expect(names("dtype:resource").length).toBe(names("is:variable").length);
    expect(names("device:nowhere")).toEqual([]);
    expect(names("attr:transpose_a=False type:MatMul")).toEqual(["net/one/MatMul", "net/two/MatMul"]);
  });

  test("a query that makes no sense is answered by a sentence", () => {
    expect(listed(graph, "nokey:x", 10)).toMatchObject({ total: 0, why: expect.stringContaining("no key") });
    expect(listed(graph, "/(/", 10)).toMatchObject({
      total: 0,
      why: expect.stringContaining("regular expression"),
    });
    expect(listed(graph, "is:loop", 10)).toMatchObject({
      total: 0,
      why: expect.stringContaining("tgw.edit"),
    });
  });

  test("shapes fit patterns as in the kernel", () => {
    expect(suits("(None, 7, 7, 64)", patternOf("?x...x64"))).toBe(true);
    expect(suits("(2, 3)", patternOf("[*, 4]"))).toBe(false);
    expect(suits("unknown", patternOf("..."))).toBe(false);
    expect(suits("()", patternOf("scalar"))).toBe(true);
  });

  test("an op is told with its tensors, their readers and its documentation", () => {
    const room = new Room(data);
    const op = room.answer({ type: "inspect", name: "net/one/MatMul" });
    if (op.type !== "inspected") throw new Error(op.type);
    expect(op.op_type).toBe("MatMul");
    expect(op.inputs.map(({ name }) => name)[0]).toBe("x:0");
    expect(op.outputs[0]?.peers).toEqual(["net/one/add"]);
    expect(op.attributes.map(([name]) => name)).toContain("transpose_a");
    const more = room.answer({ type: "examine", name: "net/one/MatMul" });
    expect(more).toMatchObject({ type: "examined", summary: expect.stringContaining("atri") });
    const scope = room.answer({ type: "inspect", name: "net/one/" });
    expect(scope).toMatchObject({ type: "inspected", op_type: "" });
  });

  test("a selection grows along the edges and is painted", () => {
    const room = new Room(data);
    const scene = answer(room, { type: "unfold", everything: true }).scene;
    room.answer({ type: "select", verb: "set", ops: ["net/one/MatMul"], scopes: [] });
    const reply = room.answer({ type: "derive", verb: "downstream" });
    if (reply.type !== "painted") throw new Error(reply.type);
    const paint = decodePaint(reply.fields, reply.buffer, scene.length);
    expect(paint.coverage[scene.byKey.get("net/two/MatMul") ?? -1]).toBe(2);
    expect(paint.coverage[scene.byKey.get("x") ?? -1]).toBe(0);
    expect(paint.coverage[scene.byKey.get("net/") ?? -1]).toBe(1);
    expect(boxOf(scene.box, 0).width).toBeGreaterThan(0);
  });
});
