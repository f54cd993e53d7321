import { describe, expect, test } from "vitest";
import { GRAPH_COMMANDS, inputSizeCommand } from "../../src/panels/controls/edit-commands";
import { callOf, type EditCommand } from "../../src/panels/controls/edit-form";
import { argumentsOf } from "../../src/panels/controls/form-fields";
import { replacementText } from "../../src/panels/forms/op-type-field";
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
    ["resolution", ["set_input"]],
    ["cse", ["merge_duplicates"]],
    ["strip_unused_nodes", ["strip_training"]],
    ["Signature", ["add_signature", "rename_signature", "order_signature", "remove_signature"]],
    ["half precision", ["cast"]],
    ["no such edit", []],
  ])("are found by %j", (text, names) => {
    expect(called(text)).toEqual(names);
  });
});

describe("the size of an input", () => {
  const inputs = [
    { op: "x", tensor: "x:0", dtype: "float32", shape: "(None, 3)" },
    { op: "mask", tensor: "mask:0", dtype: "bool", shape: "(3,)" },
    { op: "file", tensor: "file:0", dtype: "string", shape: "unknown" },
  ];

  test("is asked for as the kernel says, of the inputs that there are", () => {
    const [input, ...others] = inputSizeCommand(inputs).fields ?? [];
    expect(input?.choices?.map(({ value, fills }) => [value, fills])).toEqual([
      ["x:0", { shape: "(None, 3)", dtype: "float32" }],
      ["mask:0", { shape: "(3,)", dtype: "bool" }],
      ["file:0", { shape: "", dtype: "string" }],
    ]);
    expect(others.map(({ key, hint = "" }) => [key, hint.slice(0, 17)])).toEqual([
      ["shape", "None for any size"],
      ["dtype", ""],
    ]);
  });

  test("is an edit of the input that is chosen", () => {
    const values = { what: "mask:0", shape: " (5,)", dtype: "" };
    const command = inputSizeCommand(inputs);
    expect(callOf(command, values, argumentsOf(command.fields ?? [], values))).toEqual({
      command: "set_input",
      what: ["mask:0"],
      options: { shape: "(5,)" },
      variables: [],
    });
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
