// What the form of "Order signature" asks for.
import { describe, expect, test } from "vitest";
import type { Parts } from "../../src/interaction/parts";
import { callsFor, makeAll, problemOf } from "../../src/panels/forms/signature-form";

const ROW = {
  name: "serving",
  inputs: [
    ["x", "x:0"],
    ["size", "size:0"],
  ] as [string, string][],
  outputs: [["y", "y:0"]] as [string, string][],
};
const end = (key: string, typed = key) => ({ key, typed });

describe("the edits", () => {
  test("are none when nothing was changed", () => {
    expect(callsFor(ROW, { inputs: [end("x"), end("size")], outputs: [end("y")] })).toEqual([]);
  });

  test("are the order of the side that was changed, then each key", () => {
    const ends = { inputs: [end("size"), end("x", "image")], outputs: [end("y", "scores")] };
    expect(callsFor(ROW, ends)).toEqual([
      { command: "order_signature", what: ["serving"], options: { inputs: '["size","x"]' } },
      { command: "rename", what: ["serving:x"], options: { new: '"image"' } },
      { command: "rename", what: ["serving:y"], options: { new: '"scores"' } },
    ]);
  });
});

test("a key is neither empty nor there twice on its side", () => {
  expect(problemOf({ inputs: [end("x"), end("size", "")], outputs: [] })).toBe(
    "Each input and output needs a key.",
  );
  expect(problemOf({ inputs: [end("x"), end("size", "x")], outputs: [] })).toContain(
    "Two inputs have the key x",
  );
  expect(problemOf({ inputs: [end("x")], outputs: [end("y", "x")] })).toBe("");
});

test("edits before one that is refused are undone, and the refusal stays to be read", async () => {
  const made: string[] = [];
  const value = { status: { text: "" } };
  const store = { value, set: (changes: object) => Object.assign(value, changes) };
  const edits = {
    change: async (command: string) => {
      value.status = { text: command === "rename" ? "The key is taken." : "Done." };
      if (command !== "rename") made.push(command);
      return command !== "rename";
    },
    undo: async () => {
      made.pop();
      value.status = { text: "Undone." };
    },
  };
  const parts = { actions: { edits }, store } as unknown as Parts;
  const calls = callsFor(ROW, { inputs: [end("size"), end("x", "y")], outputs: [end("y")] });
  expect(calls.map(({ command }) => command)).toEqual(["order_signature", "rename"]);
  expect(await makeAll(parts, calls)).toBe(false);
  expect(made).toEqual([]);
  expect(value.status.text).toBe("The key is taken.");
});
