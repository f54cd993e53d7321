import { describe, expect, test } from "vitest";
import { GRAPH_COMMANDS } from "../../src/panels/controls/edit-commands";
import { replacementText } from "../../src/panels/forms/replace-all-form";
import { commandGroups, isCalled, OTHER_COMMANDS } from "../../src/panels/model/graph-commands";

const called = (text: string) =>
  [...GRAPH_COMMANDS, ...OTHER_COMMANDS]
    .filter((one) => isCalled(one, text))
    .map(({ verb }) => verb);

describe("the edits of the whole graph", () => {
  test("are in groups, each edit once and each with a preview", () => {
    const groups = commandGroups(GRAPH_COMMANDS);
    expect([...groups.keys()]).toEqual([
      "",
      "Clean up",
      "Make smaller",
      "Replace and rename",
      "Signatures",
    ]);
    const verbs = [...groups.values()].flat().map(({ verb }) => verb);
    expect(new Set(verbs).size).toBe(verbs.length);
    expect(verbs.length).toBe(GRAPH_COMMANDS.length);
    expect(GRAPH_COMMANDS.every(({ previewed, fields }) => previewed && fields)).toBe(true);
  });

  test.each([
    ["", [...GRAPH_COMMANDS, ...OTHER_COMMANDS].map(({ verb }) => verb)],
    ["Add a model", ["add_signature", "add"]],
    ["import_graph_def", ["add"]],
    ["diff", ["compare"]],
    ["compare", ["compare", "optimized"]],
    ["tflite", ["export"]],
    ["resolution", ["input_size"]],
    ["cse", ["merge_duplicates"]],
    ["strip_unused_nodes", ["strip_training"]],
    ["Signature", ["add_signature", "rename_signature", "order_signature", "remove_signature"]],
    ["half precision", ["cast"]],
    ["no such edit", []],
  ])("are found by %j", (text, verbs) => {
    expect(called(text)).toEqual(verbs);
  });
});

describe("the replacement of all matches", () => {
  test("is the op type alone, which is called on all, or with its attributes a call", () => {
    expect(replacementText("Relu6", ["x", "b"], [])).toBe("Relu6");
    expect(replacementText("x", ["x"], [])).toBe("x");
    expect(replacementText("LeakyRelu", ["x"], [["alpha", "0.1"]])).toBe("LeakyRelu(x, alpha=0.1)");
  });
});
