// What the panels say, without a page.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ProposedValue, VALUES, VARIABLES } from "../../src/panels/clone/clone-form";
import { TOOLS } from "../../src/panels/controls/drag-tools";
import { summaryText } from "../../src/panels/history/changes";
import { changedText } from "../../src/panels/history/history";
import { countText } from "../../src/panels/selection/selection";
import { state } from "../example-graph";

test("the size of a selection: of tensors no ops; of half a boundary, what is missing", () => {
  expect(countText(state({ selected_ops: 3, selected_variables: 1 }))).toBe("3 ops · 1 variable");
  expect(countText(state({ expression: "editor.ops('a:0')" }))).toBe("0 ops");
  expect(countText(state({ inputs: ["a"] }))).toBe("Now mark an output.");
  expect(countText(state({ outputs: ["a"] }))).toBe("Now mark an input.");
});

test("the changes say what the graph is compared with, where that is known", () => {
  expect(summaryText("head.pb", true)).toBe("Compared with head.pb");
  expect(summaryText("the original graph", false)).toBe("No op differs from the original graph.");
  expect(summaryText("", true)).toBe("");
  expect(summaryText("", false)).toBe("No op differs.");
});

describe("what a clone's variables begin with", () => {
  test("is what the kernel proposes, whenever that changes", () => {
    const values = new ProposedValue<keyof typeof VALUES>();
    expect(values.next("initial")).toBe("initial");
    expect(values.next("initial")).toBeNull();
    expect(values.next("current")).toBe("current");
  });

  test("is what the person has chosen, once they have", () => {
    const values = new ProposedValue<keyof typeof VALUES>();
    values.next("initial");
    values.choose();
    expect(values.next("current")).toBeNull();
    expect(values.next("none")).toBeNull();
  });

  test("is said in so few letters that the panel does not cut it", () => {
    for (const text of Object.values({ ...VALUES, ...VARIABLES }))
      expect(text.length).toBeLessThanOrEqual(21);
  });
});

test("each way to draw a box says what Ctrl and Alt do", () => {
  for (const { title } of TOOLS) expect(title).toMatch(/Ctrl adds .* Alt removes/);
});

test("text that is cut after some lines has no padding, in which the next would show", () => {
  const theme = readFileSync(new URL("../../src/styles/theme.css", import.meta.url), "utf8");
  const clamped = [...theme.matchAll(/\{([^}]*-webkit-line-clamp[^}]*)\}/g)].map(
    ([, rule]) => rule,
  );
  expect(clamped).toHaveLength(1);
  for (const rule of clamped) expect(rule).toContain("padding: 0;");
});

test("the summary of what an edit changed has its first names", () => {
  expect(changedText(["tower/", "a/b"])).toBe("Changed: tower/, a/b");
  expect(changedText(Array.from({ length: 1504 }, (_, k) => `op_${k}`))).toBe(
    "Changed: op_0, op_1, op_2, op_3 and 1,500 more",
  );
});
