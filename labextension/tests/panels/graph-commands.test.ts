import { describe, expect, test } from "vitest";
import { GRAPH_COMMANDS } from "../../src/panels/controls/edit-commands";
import type { EditCommand } from "../../src/panels/controls/edit-form";
import { replacementText } from "../../src/panels/forms/replace-all-form";
import {
  commandGroups,
  filledIn,
  isCalled,
  OTHER_COMMANDS,
} from "../../src/panels/model/graph-commands";
import type { ModelReply } from "../../src/protocol/messages";
import { MODEL } from "../example-model";

const called = (text: string) =>
  [...GRAPH_COMMANDS, ...OTHER_COMMANDS]
    .filter((one) => isCalled(one, text))
    .map(({ command }) => command);

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
    const names = [...groups.values()].flat().map(({ command }) => command);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBe(GRAPH_COMMANDS.length);
    expect(GRAPH_COMMANDS.every(({ previewed, fields }) => previewed && fields)).toBe(true);
  });

  test.each([
    ["", [...GRAPH_COMMANDS, ...OTHER_COMMANDS].map(({ command }) => command)],
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
  ])("are found by %j", (text, names) => {
    expect(called(text)).toEqual(names);
  });
});

describe("the replacement of all matches", () => {
  test("is the op type alone, which is called on all, or with its attributes a call", () => {
    expect(replacementText("Relu6", ["x", "b"], [])).toBe("Relu6");
    expect(replacementText("x", ["x"], [])).toBe("x");
    expect(replacementText("LeakyRelu", ["x"], [["alpha", "0.1"]])).toBe("LeakyRelu(x, alpha=0.1)");
  });
});

describe("the forms of the whole graph", () => {
  const initialOf = (name: string, key: string, change: Partial<ModelReply>, isMarked = false) => {
    const command = GRAPH_COMMANDS.find((one) => one.command === name);
    const { fields } = filledIn(command as EditCommand, { ...MODEL, ...change }, isMarked);
    return fields?.find((field) => field.key === key)?.initial;
  };
  const end = (tensor: string, shape: string) => ({
    op: tensor.replace(/:\d+$/, ""),
    tensor,
    dtype: "float32",
    shape,
  });

  test("propose a batch size that the graph does not have", () => {
    const size = (shape: string) =>
      initialOf("change_batch_size", "size", { inputs: [end("x:0", shape)] });
    expect(size("(None, 4)")).toBe("1");
    expect(size("(8, 4)")).toBe("None");
  });

  test("name the outputs that are guessed, so that they can be changed", () => {
    const outputs = [end("net/y:0", "()"), end("split:1", "()")];
    const found = (total: number) =>
      initialOf("freeze", "outputs", { outputs, output_count: total });
    expect(found(2)).toBe('["net/y", "split:1"]');
    expect(found(400)).toBeUndefined();
    const marked = { outputs, output_count: 2 };
    expect(initialOf("freeze", "outputs", marked, true)).toBeUndefined();
  });
});
