import { describe, expect, test } from "vitest";
import { alignedCamera, anchorsOf } from "../../src/beside/align";
import { forwarded } from "../../src/beside/forward";
import { Partners } from "../../src/beside/partners";
import type { Request } from "../../src/protocol/messages";
import type { Scene } from "../../src/protocol/scene";

const PARTNERS = new Partners({
  scopes: [
    ["net", "tower"],
    ["net/deep", "other"],
  ],
  ops: [
    ["net/gone", null],
    [null, "tower/new"],
    ["net/a", "b"],
  ],
  evidence: { name: [], structure: ["b"], hand: ["tower/w"] },
});

describe("partners", () => {
  test.each([
    ["net/w", "tower/w"],
    ["net/w:1", "tower/w:1"],
    ["^net/w", "^tower/w"],
    ["net/", "tower/"],
    ["net/deep/x", "other/x"],
    ["net/deep/", "other/"],
    ["net/a", "b"],
    ["x", "x"],
    ["network/w", "network/w"],
    ["net/gone", null],
  ])("%s of the left graph is %s", (name, partner) => {
    expect(PARTNERS.of(0, name)).toBe(partner);
  });

  test.each([
    ["tower/w", "net/w"],
    ["other/x", "net/deep/x"],
    ["b", "net/a"],
    ["tower/new", null],
  ])("%s of the right graph is %s", (name, partner) => {
    expect(PARTNERS.of(1, name)).toBe(partner);
  });

  test.each([
    ["b", "structure"],
    ["tower/w", "hand"],
    ["tower/v", "name"],
    ["tower/new", null],
  ])("what shows the partner of %s is known", (name, evidence) => {
    expect(PARTNERS.evidenceOf(name)).toBe(evidence);
  });

  test("a scope whose name an op has, too, is not that op", () => {
    expect(PARTNERS.of(0, "net/a/")).toBe("tower/a/");
    expect(PARTNERS.of(0, "net/gone/")).toBe("tower/gone/");
  });
});

describe("a request of one pane", () => {
  test.each<[Request, Request | null]>([
    [
      { type: "select", command: "add", ops: ["net/w", "net/gone"], scopes: ["net/deep"] },
      { type: "select", command: "add", ops: ["tower/w"], scopes: ["other"] },
    ],
    [{ type: "select", command: "toggle", ops: ["net/gone"], scopes: [] }, null],
    [
      { type: "select", command: "set", ops: ["net/gone"], scopes: [] },
      { type: "derive", command: "clear" },
    ],
    [
      { type: "reveal", name: "net/w:0" },
      { type: "reveal", name: "tower/w:0" },
    ],
    [{ type: "reveal", name: "net/gone" }, null],
    [
      { type: "hide", command: "hide", names: ["net/deep/", "net/w"] },
      { type: "hide", command: "hide", names: ["other/", "tower/w"] },
    ],
    [{ type: "hide", command: "hide", names: ["net/gone"] }, null],
    [
      { type: "hide", command: "nothing", names: [] },
      { type: "hide", command: "nothing", names: [] },
    ],
    [
      { type: "open_only", scopes: ["net"], names: ["net/w"] },
      { type: "open_only", scopes: ["tower"], names: ["tower/w"] },
    ],
    [
      { type: "enter", op: "net/call", label: "body" },
      { type: "enter", op: "tower/call", label: "body" },
    ],
    [
      { type: "expand_all", everything: true },
      { type: "expand_all", everything: true },
    ],
    [{ type: "inspect", name: "net/w" }, null],
    [{ type: "pin", name: "net/w", x: 0, y: 0 }, null],
  ])("%j means %j in the other one", (request, expected) => {
    expect(forwarded(request, 0, PARTNERS)).toEqual(expected);
  });
});

/** A drawing of ops of 10 × 10 pixels with these middles. */
function sceneOf(places: Readonly<Record<string, readonly [number, number]>>): Scene {
  const names = ["", ...Object.keys(places)];
  const boxes = Object.values(places).flatMap(([x, y]) => [x - 5, y - 5, 10, 10]);
  return {
    length: names.length,
    names,
    kind: Uint8Array.from(names, (_, k) => (k === 0 ? 2 : 0)),
    box: Float32Array.from([0, 0, 1000, 1000, ...boxes]),
    byKey: new Map(names.map((name, k) => [k === 0 ? "/" : name, k])),
  } as unknown as Scene;
}

describe("the camera of the other pane", () => {
  const viewport = { width: 400, height: 300 };
  const before = sceneOf({ "net/top": [100, 50], "net/low": [100, 5000], "net/gone": [300, 50] });
  const after = sceneOf({ "tower/top": [140, 60], "tower/low": [90, 6000] });
  const anchors = anchorsOf(before, after, 0, PARTNERS) ?? new Float64Array();
  const middleOf = (x: number, y: number, zoom = 1) => ({
    x: x - viewport.width / 2 / zoom,
    y: y - viewport.height / 2 / zoom,
    zoom,
  });

  test("puts a partner where the op is, at the same zoom", () => {
    for (const zoom of [0.5, 1, 2]) {
      const top = alignedCamera(middleOf(100, 50, zoom), viewport, anchors);
      expect((140 - top.x) * zoom).toBeCloseTo(viewport.width / 2, 0);
      expect((60 - top.y) * zoom).toBeCloseTo(viewport.height / 2, 0);
      expect(top.zoom).toBe(zoom);
    }
    const low = alignedCamera(middleOf(100, 5000), viewport, anchors);
    expect(6000 - low.y).toBeCloseTo(viewport.height / 2, 0);
  });

  test("moves smoothly from one partner to the next", () => {
    let last = alignedCamera(middleOf(100, 50), viewport, anchors).y;
    for (let y = 60; y <= 5000; y += 10) {
      const now = alignedCamera(middleOf(100, y), viewport, anchors).y;
      expect(now).toBeGreaterThan(last);
      expect(now - last).toBeLessThan(40);
      last = now;
    }
  });

  test("comes back to where it was", () => {
    const back = anchorsOf(after, before, 1, PARTNERS) ?? new Float64Array();
    const there = alignedCamera(middleOf(100, 50), viewport, anchors);
    const again = alignedCamera(there, viewport, back);
    expect(again.x).toBeCloseTo(middleOf(100, 50).x, 0);
    expect(again.y).toBeCloseTo(middleOf(100, 50).y, 0);
  });

  test("is its own where no op has a partner", () => {
    expect(anchorsOf(before, sceneOf({ else: [1, 2] }), 0, PARTNERS)).toBeNull();
  });
});
