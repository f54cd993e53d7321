// Fields of forms, the table of costs, and the tensor of a line.
import { describe, expect, test } from "vitest";
import { lineTensor } from "../../src/interaction/line-tensor";
import { pythonOf } from "../../src/panels/controls/form-fields";
import { costText } from "../../src/panels/costs/cost-table";
import { feedOf } from "../../src/panels/forms/feed-form";
import { keysAsPython, keysProblem } from "../../src/panels/forms/key-list";
import { parameterField, problemOf } from "../../src/panels/forms/parameter-field";
import {
  EDIT_BUTTONS,
  type Feed,
  FORMS,
  type InspectReply,
  type Parameter,
} from "../../src/protocol/messages";
import { CLOSED, OP, OPEN, type Scene } from "../../src/protocol/scene";

const parameter = (change: Partial<Parameter>): Parameter => ({
  name: "alpha",
  kind: "float",
  many: false,
  required: false,
  default: "0.2",
  allowed: [],
  minimum: null,
  about: "",
  ...change,
});

describe("what is typed for a parameter is checked at its field", () => {
  test.each([
    [{}, "0.1", true],
    [{}, "1e-3", true],
    [{}, "a lot", false],
    [{ kind: "int", minimum: 2 }, "2", true],
    [{ kind: "int", minimum: 2 }, "1", false],
    [{ kind: "int" }, "1.5", false],
    [{ kind: "int", many: true }, "[1, 2, 2, 1]", true],
    [{ kind: "int", many: true }, "1, 2", false],
    [{ kind: "type" }, "float16", true],
    [{ kind: "type" }, "float99", false],
    [{ kind: "shape" }, "[None, 4]", true],
    [{ kind: "shape" }, "(2,)", true],
    [{ kind: "shape" }, "4 by 4", false],
    [{ kind: "tensor" }, "[[1., .5], [-2.0, 3]]", true],
    [{ kind: "tensor" }, "np.ones(3)", false],
    [{ kind: "string", many: true }, "['a', \"b\"]", true],
    [{ kind: "string" }, "anything", true],
    [{ required: true }, "", false],
    [{}, "", true],
  ] as [Partial<Parameter>, string, boolean][])("%o takes %s: %s", (change, text, isFine) => {
    expect(problemOf(parameter(change), text) === "").toBe(isFine);
  });

  test("the sentence names the parameter and what it takes", () => {
    expect(problemOf(parameter({}), "x")).toBe("alpha must be a number.");
    expect(problemOf(parameter({ kind: "int", minimum: 1 }), "0")).toBe(
      "alpha must be at least 1.",
    );
  });
});

test("a parameter is a field of its kind, and holds text without quotes", () => {
  const kindOf = (change: Partial<Parameter>) => parameterField(parameter(change)).kind;
  expect(kindOf({ kind: "bool" })).toBe("switch");
  expect(kindOf({ kind: "string", allowed: ["NHWC", "NCHW"] })).toBe("choice");
  expect(kindOf({ kind: "string", many: true, allowed: ["a"] })).toBe("python");
  const format = parameter({ kind: "string", allowed: ["NHWC", "NCHW"], default: "'NHWC'" });
  expect(parameterField(format).initial).toBe("NHWC");
  expect(pythonOf(parameterField(format), "NCHW")).toBe('"NCHW"');
  expect(pythonOf(parameterField(parameter({})), "0.1")).toBe("0.1");
});

describe("the keys of a signature", () => {
  const present = ["x", "size"];
  test("are a list where they are moved, a dict where they are renamed, else nothing", () => {
    const python = (...keys: [string, string][]) => keysAsPython(keys, present);
    expect(python(["x", "x"], ["size", "size"])).toBe("");
    expect(python(["size", "size"], ["x", "x"])).toBe('["size","x"]');
    expect(python(["size", "size"], ["image", "x"])).toBe('{"size": "size", "image": "x"}');
  });
});

test("a key is neither empty nor there twice on its side", () => {
  const why = (...typed: string[]) =>
    keysProblem(
      "Inputs",
      typed.map((key) => [key, "x"]),
    );
  expect(why("x", "")).toBe("Each input and output needs a key.");
  expect(why("x", "x")).toContain("Two inputs have the key x");
  expect(why("x", "y")).toBe("");
});

test("what is fed is the last feed with the fields that are there", () => {
  const last: Feed = { tensor: "x:0", kind: "random", shape: "[2]", low: 0, high: 1, source: "a" };
  expect(feedOf(last, { kind: "random", shape: "[3]", low: "2", high: "" })).toEqual({
    ...last,
    shape: "[3]",
    low: 2,
    high: 0,
  });
  expect(feedOf(last, { kind: "variable", source: "b" })).toEqual({
    ...last,
    kind: "variable",
    source: "b",
  });
});

test("a field that is there for some words has a choice before it with those words", () => {
  for (const fields of [...EDIT_BUTTONS.map(({ fields = [] }) => fields), ...Object.values(FORMS)])
    for (const [i, { only_for = [] }] of fields.entries()) {
      const words =
        fields
          .slice(0, i)
          .filter(({ kind }) => kind === "choice")
          .at(-1)?.words ?? [];
      expect(words).toEqual(expect.arrayContaining(only_for));
    }
});

test("costs have three digits and a prefix", () => {
  expect([0, 7, 999, 1234, 18_874_368].map((value) => costText(value, "flops"))).toEqual([
    "",
    "7",
    "999",
    "1.23k",
    "18.9M",
  ]);
  expect([-1, 12, 1500, 2_500_000].map((value) => costText(value, "time"))).toEqual([
    "",
    "12 µs",
    "1.50 ms",
    "2.50 s",
  ]);
  expect(costText(-1, "bytes")).toBe("?");
});

describe("the tensor of a line", () => {
  // The graph: in -> net/a -> net/b -> out; net is open, box is closed.
  const names = ["", "in", "net", "net/a", "net/b", "out", "box"];
  const scene = (source: number, target: number) =>
    ({
      names,
      kind: Uint8Array.from([OPEN, OP, OPEN, OP, OP, OP, CLOSED]),
      parent: Int32Array.from([-1, 0, 0, 2, 2, 0, 0]),
      source: Int32Array.from([source]),
      target: Int32Array.from([target]),
    }) as unknown as Scene;
  const tensor = (name: string, peers: string[]) => ({
    name,
    dtype: "",
    shape: "",
    peers,
    peer_count: peers.length,
    value: null,
  });
  const known: Record<string, Partial<InspectReply>> = {
    in: { outputs: [tensor("in:0", ["net/a", "box/c"])] },
    "net/a": { inputs: [tensor("in:0", ["in"])], outputs: [tensor("net/a:0", ["net/b"])] },
    "net/b": { inputs: [tensor("net/a:0", ["net/a"])], outputs: [tensor("net/b:0", ["out"])] },
    out: { inputs: [tensor("net/b:0", ["net/b"])] },
  };
  const asked = async (key: string) => known[key] as InspectReply;
  test.each([
    [3, 4, "net/a:0", ["net/b"]],
    [1, 2, "in:0", ["net"]],
    [2, 3, "in:0", ["net/a"]],
    [4, 2, "net/b:0", ["out"]],
    [2, 5, "net/b:0", ["out"]],
    [1, 6, "in:0", ["box"]],
  ] as const)("from %i to %i it is %s, read by %o", async (source, target, name, only) => {
    expect(await lineTensor(scene(source, target), 0, asked)).toEqual({ tensor: name, only });
  });

  test("between closed scopes there may be several", async () => {
    expect(await lineTensor(scene(6, 2), 0, asked)).toBeNull();
  });
});
