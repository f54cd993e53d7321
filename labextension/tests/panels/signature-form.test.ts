// What the form of "Order signature" asks for.
import { describe, expect, test } from "vitest";
import { callsFor, problemOf } from "../../src/panels/forms/signature-form";

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
      { verb: "order_signature", what: ["serving"], options: { inputs: '["size","x"]' } },
      { verb: "rename", what: ["serving:x"], options: { new: '"image"' } },
      { verb: "rename", what: ["serving:y"], options: { new: '"scores"' } },
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
