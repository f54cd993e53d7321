import { describe, expect, test } from "vitest";
import {
  aboutText,
  announcementText,
  effectText,
  omittedText,
  paintText,
  spokenText,
  treeOf,
} from "../../src/panels/controls/descriptions";
import { BADGE, decodePaint, decodeScene, OPEN, type Scene } from "../../src/protocol/scene";
import { packed, paintArrays, sceneArrays } from "../example-graph";

const [INPUT, NET, DENSE, OP] = [1, 2, 3, 4];

function scene(change: Partial<Scene> = {}): Scene {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  return { ...decodeScene(fields, buffer), ...change };
}

describe("the outline's order", () => {
  test("is depth first, with each item's place among its siblings", () => {
    const { order, children, position } = treeOf(scene());
    expect([...order]).toEqual([INPUT, NET, DENSE, OP]);
    expect([...children]).toEqual([2, 0, 2, 0, 0]);
    expect([...position]).toEqual([0, 1, 2, 1, 2]);
  });

  test("puts what an early scope holds before its later siblings", () => {
    const parent = Int32Array.from([-1, 0, 0, 1, 1, 2, 3]);
    expect([...treeOf(scene({ length: 7, parent })).order]).toEqual([1, 3, 6, 4, 2, 5]);
    expect([...treeOf(null).order]).toEqual([]);
  });

  test("of 100,000 items reads each of them a few times", () => {
    const length = 100_000;
    const parent = Int32Array.from({ length }, (_, item) =>
      item === 0 ? -1 : Math.floor((item - 1) / 12),
    );
    let reads = 0;
    const counted = new Proxy(parent, {
      get: (target, item) => {
        reads += 1;
        return Reflect.get(target, item);
      },
    });
    expect(new Set(treeOf(scene({ length, parent: counted })).order).size).toBe(length - 1);
    expect(reads).toBeLessThan(4 * length);
  });
});

describe("what is told of an item", () => {
  test("type or size, group, loop, pin, whose badge", () => {
    expect(aboutText(scene(), INPUT)).toBe("Placeholder");
    expect(aboutText(scene(), DENSE)).toBe("4 ops · 2 variables");
    const members = Uint32Array.from([0, 0, 0, 3, 0]);
    const [loop, pinned] = [Uint8Array.from([0, 0, 1, 0, 0]), Uint8Array.from([0, 0, 1, 0, 0])];
    expect(aboutText(scene({ members }), DENSE)).toBe("group of 3 · 4 ops · 2 variables");
    expect(aboutText(scene({ loop, pinned }), NET)).toBe(
      "while loop · 5 ops · 2 variables · pinned",
    );
    const badge = scene({
      kind: Uint8Array.from([OPEN, 0, OPEN, 0, BADGE]),
      parent: Int32Array.from([-1, 0, 0, 2, 3]),
    });
    expect(aboutText(badge, OP)).toBe("Identity of dense");
  });

  test("edges without a line, of a box and of the whole drawing", () => {
    const some = scene({ omitted: Uint32Array.from([0, 1, 0, 0, 1]) });
    expect(aboutText(some, INPUT)).toBe("Placeholder · 1 edge not drawn");
    expect(omittedText(some)).toBe(
      "Without a line: 1 edge of training and bookkeeping. Hover a box for its count.",
    );
    expect(omittedText(scene())).toBe("");
    const many = scene({ omitted: Uint32Array.from([0, 1500, 0, 700, 800]) });
    expect(aboutText(many, INPUT)).toBe("Placeholder · 1,500 edges not drawn");
    expect(omittedText(many)).toContain("1,500 edges");
  });

  test("spoken, the edges count whether they have a line or not", () => {
    expect(spokenText(scene(), INPUT)).toBe("Placeholder, 1 edge");
    const some = scene({ omitted: Uint32Array.from([0, 2, 0, 0, 1]) });
    expect(spokenText(some, INPUT)).toBe("Placeholder, 3 edges");
    expect(announcementText(some, null, INPUT)).toBe("input, Placeholder, 3 edges");
    // what runs inside an open scope is of the ops there
    const inside = scene({
      source: Int32Array.from([INPUT, NET]),
      target: Int32Array.from([NET, DENSE]),
    });
    expect(spokenText(inside, NET)).toContain(", 1 edge");
  });

  test("marks and colors, of which none is a sign of its own", () => {
    const arrays = { ...paintArrays([0, 1, 0, 2, 0]), mark: Uint8Array.from([0, 1, 0, 2, 3]) };
    const { fields, buffer } = packed({ ...arrays, differs: Uint8Array.from([0, 0, 0, 2, 1]) });
    const paint = { ...decodePaint(fields, buffer, 5), notes: ["", "1.2 GFLOP", "", "", ""] };
    expect(paintText(paint, INPUT)).toBe("input, partly selected, 1.2 GFLOP");
    expect(paintText(paint, NET)).toBe("");
    expect(paintText(paint, OP)).toBe("input, output, added");
    const edited = { ...paint, fresh: Uint8Array.from([0, 0, 0, 2, 1]), notes: [] };
    expect(paintText(edited, DENSE)).toContain("changed inside");
    expect(paintText(edited, OP)).toContain("new");
    expect(announcementText(scene(), paint, DENSE)).toBe(
      "dense, 4 ops · 2 variables, 1 edge, selected, output, changed, in net",
    );
  });

  test("what the ops of a file that is not trusted do beside computing", () => {
    const { fields, buffer } = packed({
      ...paintArrays(),
      effects: Uint8Array.from([10, 2, 0, 10, 64]),
    });
    const paint = decodePaint(fields, buffer, 5);
    const texts = [INPUT, NET, DENSE, OP].map((item) => effectText(paint, item));
    expect(texts).toEqual([
      "writes files",
      "",
      "writes files, calls Python",
      "does what is not known",
    ]);
    expect(announcementText(scene(), paint, INPUT)).toBe(
      "input, Placeholder, 1 edge, writes files",
    );
  });
});
