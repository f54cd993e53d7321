import { expect, test } from "vitest";
import { runsOf } from "../../src/panels/controls/menus";
import { groupsOf } from "../../src/panels/export/export-menu";
import { fileName } from "../../src/panels/export/picture";
import type { SaveFormat } from "../../src/protocol/messages";

const format = (kind: string, group: string, refused = ""): SaveFormat => ({
  kind,
  label: kind,
  suffix: "",
  about: "",
  group,
  keeps: false,
  name: kind,
  refused,
  options: [],
  opens: true,
});

test("neighbors that are refused for the same reason have it below them once", () => {
  const formats = [
    format("graph", "Model"),
    format("saved_model", "Model", "no values"),
    format("frozen", "Model", "no values"),
    format("onnx", "Model", "onnx is not installed"),
    format("script", "Edits", "no edits yet"),
  ];
  const groups = groupsOf(formats);
  expect([...groups.keys()]).toEqual(["Model", "Edits"]);
  const model = groups.get("Model") ?? [];
  const runs = runsOf(
    model.map(({ kind, refused }) => ({ id: kind, text: kind, why: refused, act: () => {} })),
  );
  expect(runs.map((run) => run.map(({ id }) => id))).toEqual([
    ["graph"],
    ["saved_model", "frozen"],
    ["onnx"],
  ]);
});

test("a picture is downloaded under the name that was typed", () => {
  expect(fileName("net.svg", "svg")).toBe("net.svg");
  expect(fileName("pictures/Net", "png")).toBe("Net.png");
  expect(fileName("net.v2.PDF", "pdf")).toBe("net.v2.PDF");
  expect(fileName(" ", "pdf")).toBe("graph.pdf");
});
