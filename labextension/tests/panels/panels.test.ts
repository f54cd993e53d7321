// What the panels say, without a page.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TOOLS } from "../../src/panels/controls/drag-tools";
import { firstSentence, totalText } from "../../src/panels/controls/messages";
import { summaryText } from "../../src/panels/history/changes";
import { changedText } from "../../src/panels/history/history";
import { countText } from "../../src/panels/selection/selection";
import { FORMS } from "../../src/protocol/messages";
import { state } from "../example-graph";

test("the size of a selection: of tensors no ops; of half a boundary, what is missing", () => {
  expect(countText(state({ selected_ops: 3, selected_variables: 1 }))).toBe("3 ops · 1 variable");
  expect(countText(state({ expression: "editor.ops('a:0')" }))).toBe("0 ops");
  expect(countText(state({ inputs: ["a"] }))).toBe("Now mark an output.");
  expect(countText(state({ outputs: ["a"] }))).toBe("Now mark an input.");
});

test("the line below the drawing counts what is selected, and all", () => {
  expect(totalText(state({ ops: 3379, variables: 1 }), 0.757)).toBe(
    "3,379 ops · 1 variable · 76 %",
  );
  expect(totalText(state({ ops: 3379, variables: 1, selected_ops: 1204 }), 1)).toBe(
    "1,204 ops selected · 3,379 ops · 1 variable · 100 %",
  );
});

test("of a message the first sentence is shown, and the rest on request", () => {
  expect(firstSentence("Saved as model.pb (3.1 MB). It differs by 1e-3 from TFLite.")).toEqual([
    "Saved as model.pb (3.1 MB).",
    "It differs by 1e-3 from TFLite.",
  ]);
  expect(firstSentence("'a.b c' is not an op; did you mean 'a.b_c'?")).toEqual([
    "'a.b c' is not an op; did you mean 'a.b_c'?",
    "",
  ]);
  expect(firstSentence("Reading the graph …")).toEqual(["Reading the graph …", ""]);
  expect(firstSentence("Really? 'x' is one. So is y.")).toEqual([
    "Really?",
    "'x' is one. So is y.",
  ]);
});

test("the changes say what the graph is compared with, where that is known", () => {
  expect(summaryText("head.pb", true)).toBe("Compared with head.pb");
  expect(summaryText("the original graph", false)).toBe("No op differs from the original graph.");
  expect(summaryText("", true)).toBe("");
  expect(summaryText("", false)).toBe("No op differs.");
});

test("the texts of a choice are so short that the panel does not cut them", () => {
  for (const text of FORMS.clone.flatMap(({ texts = [] }) => texts))
    expect(text.length).toBeLessThanOrEqual(21);
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
