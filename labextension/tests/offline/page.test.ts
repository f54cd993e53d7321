// The pages that Python wrote (tests/export/test_pages.py), put together with any scopes open.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { BoundaryFinder, type Side } from "../../src/offline/boundary";
import { compose } from "../../src/offline/compose";
import { Graph } from "../../src/offline/graph";
import { type ComposedContainer, LayoutTables } from "../../src/offline/layout-tables";
import { OfflineBackend } from "../../src/offline/offline-backend";
import { Contents, type Data } from "../../src/offline/page-data";
import { matchesShape, patternOf } from "../../src/offline/query";
import { Refusal } from "../../src/offline/refusal";
import { findOps, searchReply } from "../../src/offline/search";
import type { Request } from "../../src/protocol/messages";
import { at, boxOf, decodePaint, decodeScene, OPEN, type Scene } from "../../src/protocol/scene";

interface Golden {
  readonly name: string;
  readonly data: string;
  readonly names: string[];
  readonly labels: string[];
  readonly box: number[][];
  readonly route: number[][];
  readonly route_start: number[];
  /** What a kernel finds; null for what is not a query. */
  readonly asked: Readonly<Record<string, number[] | null>>;
  /** The name scopes that a kernel finds, for the queries that mean some. */
  readonly scopes_found: Readonly<Record<string, [name: string, ops: number][]>>;
  /**
   * Of each item its bits of effects, and what the inspector says of ops and scopes that have some.
   */
  /** Pairs of a marked input and output, with the ops between; null where no path leads. */
  readonly between: [input: string, output: string, ops: number[] | null][];
  /** The tensors by which items are marked as input and as output; a "!" is of proposed ones. */
  readonly marks: Readonly<Record<string, [inputs: string[], outputs: string[]]>>;
  readonly effects: number[];
  /** Of each item how it differs. */
  readonly differs: number[];
  readonly effect_sentences: Readonly<Record<string, string[]>>;
  readonly [array: string]: unknown;
}

const GOLDEN: Golden[] = JSON.parse(
  readFileSync(new URL("../../../tests/golden/pages.json", import.meta.url), "utf8"),
);

/** The scopes and groups that are open in a drawing. */
function openOf({ names, kind }: Scene): string[] {
  return names.filter((name, item) => item > 0 && at(kind, item) === OPEN && name !== "").sort();
}

/** Whether a scope or group holds one of some ops. */
function isAround(data: Data, scope: string, ops: readonly string[]): boolean {
  const graph = new Graph(data);
  const node = data.head.nodes.indexOf(scope);
  return ops.some((op) => graph.containers(graph.op(op)).includes(node));
}

function contentsOf({ data }: Golden): Contents {
  const bytes = gunzipSync(Buffer.from(data, "base64"));
  return new Contents(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
  );
}

/** Of the graph that is current. */
function dataOf(golden: Golden): Data {
  const contents = contentsOf(golden);
  return contents.graph(contents.head.path.at(-1)?.[1] ?? 0);
}

function backendOf(golden: Golden): OfflineBackend {
  return new OfflineBackend(contentsOf(golden));
}

function answer(backend: OfflineBackend, request: Request) {
  const reply = backend.handle(request);
  if (reply.type !== "scene_reply")
    throw new Error(`${request.type} was answered by ${reply.type}`);
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
function wrong(inside: ComposedContainer, path: string): string[] {
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
      return slanted
        ? ["slanted"]
        : through.filter((box) => !touches(box, [x, y], end)).map(() => "through");
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
  test("has between two marks what a kernel finds there", () => {
    const finder = new BoundaryFinder(new Graph(dataOf(golden)));
    const found = golden.between.map(([input, output]) => {
      try {
        const part = finder.between({ inputs: [input], outputs: [output] });
        return [input, output, [...part.keys()].filter((op) => part[op] === 1)];
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return [input, output, null];
      }
    });
    expect(found).toEqual(golden.between);
  });

  test("is marked at the tensors at which a kernel marks it", () => {
    const finder = new BoundaryFinder(new Graph(dataOf(golden)));
    const tensors = (side: Side, name: string) => {
      try {
        const all = finder.crossings(side, name, []);
        return all.map(({ tensor, proposed }) => `${proposed ? "!" : ""}${tensor}`).sort();
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return [];
      }
    };
    for (const [name, marks] of Object.entries(golden.marks))
      expect([name, tensors("inputs", name), tensors("outputs", name)]).toEqual([name, ...marks]);
  });

  test("is first drawn just as in the editor", () => {
    const { scene } = answer(backendOf(golden), { type: "open", alone: false });
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

  test("marks what differs as a kernel would", () => {
    const backend = backendOf(golden);
    const { fields, buffer, scene } = answer(backend, { type: "open", alone: false });
    expect([...decodePaint(fields, buffer, scene.length).differs]).toEqual(golden.differs);
  });

  test("opens only what is asked for, and what is around it", () => {
    const backend = backendOf(golden);
    const { scene } = answer(backend, { type: "open", alone: false });
    const names = dataOf(golden).head.names;
    const [first = "", last = ""] = [names[0], names.at(-1)];
    const closed = answer(backend, { type: "open_only", scopes: [], names: [] }).scene;
    expect(openOf(closed)).toEqual([]);
    const shown = answer(backend, { type: "open_only", scopes: [], names: [first, last] }).scene;
    for (const name of openOf(shown))
      expect(isAround(dataOf(golden), name, [first, last])).toBe(true);
    const again = answer(backend, { type: "open_only", scopes: openOf(scene), names: [] }).scene;
    expect(openOf(again)).toEqual(openOf(scene));
  });

  test("marks what does more than compute, and says what it does, as a kernel would", () => {
    const backend = backendOf(golden);
    const { fields, buffer, scene } = answer(backend, { type: "open", alone: false });
    expect([...decodePaint(fields, buffer, scene.length).effects]).toEqual(golden.effects);
    const { names: ops, nodes } = dataOf(golden).head;
    const names = [...ops, ...nodes.slice(1).map((node) => `${node}/`)];
    const said = names.flatMap((name) => {
      const reply = backend.handle({ type: "inspect", name });
      return reply.type === "inspect_reply" && reply.effects.length > 0
        ? [[name, reply.effects] as const]
        : [];
    });
    expect(Object.fromEntries(said)).toEqual(golden.effect_sentences);
  });

  test("has no box on another and no line through one, whatever is open", () => {
    const data = dataOf(golden);
    const pieces = new LayoutTables(data);
    const nodes = data.head.nodes.length;
    for (let seed = 0; seed < 60; seed++) {
      const next = random(seed);
      const share = next();
      const opened = Uint8Array.from({ length: nodes }, () =>
        seed < 2 ? seed : next() < share ? 1 : 0,
      );
      expect([seed, ...wrong(compose(pieces, 0, opened), "")]).toEqual([seed]);
    }
  });

  test("has no line through a title, whatever is open", () => {
    const data = dataOf(golden);
    const pieces = new LayoutTables(data);
    const nodes = data.head.nodes.length;
    for (let seed = 0; seed < 60; seed++) {
      const next = random(seed);
      const share = next();
      const opened = Uint8Array.from({ length: nodes }, () =>
        seed < 2 ? seed : next() < share ? 1 : 0,
      );
      const struck = (container: ComposedContainer): number[] =>
        container.children.flatMap(({ node, open }) => {
          if (!open) return [];
          // The least width of a scope is that of its title and twice its padding.
          const title = at(pieces.least, node) - 6;
          return [...open.enterPorts.x.filter((x) => x < title), ...struck(open)];
        });
      expect([seed, ...(data.head.right ? [] : struck(compose(pieces, 0, opened)))]).toEqual([
        seed,
      ]);
    }
  });

  test("opens what is asked for, and closed again it is as before", () => {
    const backend = backendOf(golden);
    const before = answer(backend, { type: "open", alone: false });
    const { names, kind, box } = before.scene;
    const item = names.findIndex((_, k) => kind[k] === 1);
    const scope = names[item] ?? "";
    const opened = answer(backend, { type: "toggle", scope, deep: false, stamp: "" });
    const there = opened.scene.byKey.get(`${scope}/`) ?? -1;
    expect(opened.scene.kind[there]).toBe(OPEN);
    expect([...opened.scene.parent].filter((parent) => parent === there).length).toBeGreaterThan(0);
    expect(opened.scene.length).toBeGreaterThan(names.length);
    const closed = answer(backend, { type: "toggle", scope, deep: false, stamp: "" });
    expect([...closed.scene.box]).toEqual([...box]);
  });

  test("draws every op once, or as badges, when everything is open", () => {
    const data = dataOf(golden);
    const { scene } = answer(backendOf(golden), { type: "expand_all", everything: true });
    const boxes = scene.names.filter((_, item) => scene.kind[item] === 0);
    expect(new Set(boxes).size).toBe(boxes.length);
    const drawn = new Set(scene.names);
    const graph = new Graph(data);
    const missing = [...data.head.names.keys()].filter(
      (op) => !drawn.has(data.head.names[op] ?? ""),
    );
    // Constants and variables may stand behind a badge with others, or behind that of what reads
    // them.
    const kinds = new Set(missing.map((op) => graph.type(op)));
    expect(
      [...kinds].filter(
        (kind) => !/^(Const|Identity|VarHandleOp|VariableV2|ReadVariableOp)$/.test(kind),
      ),
    ).toEqual([]);
  });

  test("finds what a kernel finds, in the same order", () => {
    const graph = new Graph(dataOf(golden));
    for (const [query, wanted] of Object.entries(golden.asked)) {
      const { hits, why, name_scopes } = searchReply(graph, query, 1000);
      const ops = hits.map(({ name }) => graph.op(name));
      expect([query, why === "" ? ops : null]).toEqual([query, wanted]);
      const scopes = name_scopes.map((scope) => [scope.name, scope.ops]);
      expect([query, scopes]).toEqual([query, golden.scopes_found[query] ?? []]);
    }
  });

  test("brings an op into view, and refuses a name that is not there", () => {
    const data = dataOf(golden);
    const backend = backendOf(golden);
    const deep = data.head.names.findIndex((name) => name.split("/").length > 2);
    const name = data.head.names[deep] ?? "";
    const shown = answer(backend, { type: "reveal", name });
    expect(shown.focus).toBe(name);
    expect(backend.handle({ type: "reveal", name: "nowhere/at/all" })).toMatchObject({
      type: "refusal",
    });
  });

  test("says one sentence to whoever wants to change it", () => {
    const backend = backendOf(golden);
    for (const request of [
      { type: "undo" },
      { type: "set_direction", direction: "right" },
      { type: "refresh" },
    ] as Request[])
      expect(backend.handle(request)).toMatchObject({
        type: "refusal",
        why: "This page has no kernel; open the graph in a notebook to change it.",
      });
  });
});

describe("the functions of a page", () => {
  const golden = GOLDEN.at(-1) as Golden;
  const data = dataOf(golden);
  const [first, second] = data.head.called_functions.map(([op]) => data.head.names[op] ?? "");
  const enter = (backend: OfflineBackend, op = "", label = "") =>
    answer(backend, { type: "enter", op, label });

  test("are entered and left, each with what was open and chosen in it", () => {
    const backend = backendOf(golden);
    const outside = answer(backend, { type: "open", alone: false });
    const call = outside.scene.byKey.get(first ?? "") ?? -1;
    expect(outside.scene.calls[call]).toBe(1);
    const inside = enter(backend, first);
    expect(inside.state.path).toEqual([...outside.state.path, first]);
    expect(inside.state.ops).not.toBe(outside.state.ops);
    backend.handle({ type: "select", command: "set", ops: ["while"], scopes: [] });
    const body = enter(backend, "while", "cond");
    expect(body.state.path).toEqual([...outside.state.path, first, "while:cond"]);
    expect(body.state.selected_ops).toBe(0);
    const back = answer(backend, { type: "leave", depth: 1 });
    expect([back.state.path.length, back.state.selected_ops]).toEqual([2, 1]);
    const out = answer(backend, { type: "leave", depth: 0 });
    expect(out.scene.names).toEqual(outside.scene.names);
    expect(enter(backend, second).state.selected_ops).toBe(0);
  });

  test("keep one way to color", () => {
    const backend = backendOf(golden);
    backend.handle({ type: "color", by: "type" });
    expect(enter(backend, first).state.legend?.by).toBe("type");
    backend.handle({ type: "color", by: "" });
    expect(answer(backend, { type: "leave", depth: 0 }).state.legend).toBe(null);
  });

  test("are told of where they are called, and in themselves", () => {
    const backend = backendOf(golden);
    const call = backend.handle({ type: "inspect", name: first ?? "" });
    expect(call).toMatchObject({ called_functions: [{ label: "f", ops: expect.any(Number) }] });
    const told = backend.handle({ type: "examine", name: first ?? "" });
    expect(told).toMatchObject({ signature: [["argument", "x", "float32 (None, 3)"], {}, {}] });
    enter(backend, first);
    expect(backend.handle({ type: "examine", name: "x" })).toMatchObject({
      signature: [["argument", "x", {}], {}, {}],
    });
    expect(backend.handle({ type: "examine", name: "while" })).toMatchObject({
      signature: expect.arrayContaining([["cond result", expect.any(String), "bool"]]),
    });
  });

  test("an op that calls no function of the page is refused", () => {
    const backend = backendOf(golden);
    for (const [op, label] of [
      ["x", ""],
      ["nowhere", ""],
      [first ?? "", "nothing"],
    ] as const)
      expect(backend.handle({ type: "enter", op, label })).toMatchObject({
        type: "refusal",
        why: expect.stringContaining("calls no function"),
      });
  });
});

describe("what a page finds and tells", () => {
  const golden = GOLDEN[0] as Golden;
  const data = dataOf(golden);
  const graph = new Graph(data);
  const names = (query: string) => findOps(graph, query).ops.map((op) => graph.names[op]);

  test("words, patterns and keys mean what they mean to a kernel", () => {
    expect(names("type:MatMul")).toEqual(["net/one/MatMul", "net/two/MatMul"]);
    expect(names("matmul -two")).toContain("net/one/MatMul");
    expect(names("/^net.one.MatMul$/")).toEqual(["net/one/MatMul"]);
    expect(names("scope:one type:MatMul")).toEqual(["net/one/MatMul"]);
    expect(names("is:input")).toEqual(["x"]);
    expect(names("net/*/MatMul")).toEqual(["net/one/MatMul", "net/two/MatMul"]);
    expect(names("dtype:resource").length).toBe(names("is:variable").length);
    expect(names("device:nowhere")).toEqual([]);
    expect(names("attr:transpose_a=False type:MatMul")).toEqual([
      "net/one/MatMul",
      "net/two/MatMul",
    ]);
  });

  test("a query that makes no sense is answered by a sentence", () => {
    expect(searchReply(graph, "nokey:x", 10)).toMatchObject({
      total: 0,
      why: expect.stringContaining("no key"),
    });
    expect(searchReply(graph, "/(/", 10)).toMatchObject({
      total: 0,
      why: expect.stringContaining("regular expression"),
    });
    expect(searchReply(graph, "is:nothing", 10)).toMatchObject({
      total: 0,
      why: expect.stringContaining("trainable"),
    });
    expect(searchReply(graph, "/(\\w+)+!/", 10)).toMatchObject({
      total: 0,
      why: expect.stringContaining("repeats a repetition"),
    });
  });

  test("shapes fit patterns as in the kernel", () => {
    expect(matchesShape("(None, 7, 7, 64)", patternOf("?x...x64"))).toBe(true);
    expect(matchesShape("(2, 3)", patternOf("[*, 4]"))).toBe(false);
    expect(matchesShape("unknown", patternOf("..."))).toBe(false);
    expect(matchesShape("()", patternOf("scalar"))).toBe(true);
  });

  test("an op is told with its tensors, their readers and its documentation", () => {
    const backend = backendOf(golden);
    const op = backend.handle({ type: "inspect", name: "net/one/MatMul" });
    if (op.type !== "inspect_reply") throw new Error(op.type);
    expect(op.op_type).toBe("MatMul");
    expect(op.inputs.map(({ name }) => name)[0]).toBe("x:0");
    expect(op.outputs[0]?.peers).toEqual(["net/one/add"]);
    expect(op.attributes.map(({ name }) => name)).toContain("transpose_a");
    const more = backend.handle({ type: "examine", name: "net/one/MatMul" });
    expect(more).toMatchObject({ type: "examine_reply", summary: expect.stringContaining("atri") });
    const scope = backend.handle({ type: "inspect", name: "net/one/" });
    expect(scope).toMatchObject({ type: "inspect_reply", op_type: "" });
  });

  test("a selection grows along the edges and is painted", () => {
    const backend = backendOf(golden);
    const scene = answer(backend, { type: "expand_all", everything: true }).scene;
    backend.handle({ type: "select", command: "set", ops: ["net/one/MatMul"], scopes: [] });
    const reply = backend.handle({ type: "derive", command: "downstream" });
    if (reply.type !== "selection_reply") throw new Error(reply.type);
    const paint = decodePaint(reply.fields, reply.buffer, scene.length);
    expect(paint.coverage[scene.byKey.get("net/two/MatMul") ?? -1]).toBe(2);
    expect(paint.coverage[scene.byKey.get("x") ?? -1]).toBe(0);
    expect(paint.coverage[scene.byKey.get("net/") ?? -1]).toBe(1);
    const ends = Array.from(paint.selectedLine, (selected, edge) => {
      const [from, to] = [scene.source, scene.target].map((end) => scene.names[at(end, edge)]);
      return selected === 1 ? `${from} > ${to}` : "";
    });
    expect(ends).toContain("net/one > net/two");
    expect(ends).toContain("net/one/MatMul > net/one/add");
    // what comes in from outside is not a line between selected ops, nor are its pieces inside
    expect(scene.names).toContain("net/one");
    expect(ends).not.toContain("net > net/one");
    expect(ends).not.toContain("net/one > net/one/MatMul");
    expect(boxOf(scene.box, 0).width).toBeGreaterThan(0);
  });
});

describe("what is hidden in a page", () => {
  const golden = GOLDEN[0] as Golden;
  const ends = ({ scene }: ReturnType<typeof answer>) =>
    [...scene.source].map(
      (source, k) => `${scene.names[source]}>${scene.names[at(scene.target, k)]}`,
    );

  test("is not drawn, nor are its lines, until it is shown again", () => {
    const backend = backendOf(golden);
    const all = answer(backend, { type: "expand_all", everything: true });
    const without = answer(backend, { type: "hide", command: "hide", names: ["net/two/MatMul"] });
    expect(without.state.hidden).toBe(1);
    expect(without.scene.names).not.toContain("net/two/MatMul");
    expect(without.scene.length).toBeLessThan(all.scene.length);
    expect(ends(without).filter((line) => line.includes("net/two/MatMul"))).toEqual([]);
    // Nothing else reads it, so what drew the way to it in the scopes around is gone too.
    expect(ends(all)).toContain("net/one>net/two");
    expect(ends(without)).not.toContain("net/one>net/two");
    const again = answer(backend, { type: "hide", command: "nothing", names: [] });
    expect(again.scene.names).toEqual(all.scene.names);
    expect(ends(again)).toEqual(ends(all));
  });

  test("is all else when only a scope is to be shown", () => {
    const backend = backendOf(golden);
    answer(backend, { type: "expand_all", everything: true });
    const { scene, state } = answer(backend, {
      type: "hide",
      command: "only",
      names: ["net/one/"],
    });
    expect(
      scene.names.every((name) => name === "" || name === "net" || name.startsWith("net/one")),
    ).toBe(true);
    expect(state.hidden).toBe(
      state.ops - dataOf(golden).head.names.filter((n) => n.startsWith("net/one/")).length,
    );
    const shown = answer(backend, { type: "reveal", name: "net/two/MatMul" });
    expect(shown.scene.names).toContain("net/two/MatMul");
  });

  test("can be the selection, or what was found", () => {
    const backend = backendOf(golden);
    answer(backend, { type: "expand_all", everything: true });
    backend.handle({ type: "select", command: "set", ops: ["x"], scopes: [] });
    expect(answer(backend, { type: "hide", command: "hide", names: [] }).scene.names).not.toContain(
      "x",
    );
    const found = answer(backend, { type: "select_matching", text: "type:MatMul", use: "only" });
    expect(found.scene.names.filter((name) => name.endsWith("MatMul"))).toEqual([
      "net/one/MatMul",
      "net/two/MatMul",
    ]);
    expect(found.state.hidden).toBe(found.state.ops - 2);
  });
});
