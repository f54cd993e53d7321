// What a view asks of the application around it, with an application and without.
import { expect, test } from "vitest";
import {
  chooseFile,
  hasFileDialog,
  locateDragged,
  openFile,
} from "../../src/interaction/host-application";
import { movedTo } from "../../src/panels/controls/browse-button";

interface Detail {
  readonly ask?: boolean;
  readonly path?: string;
  readonly title?: string;
  done(location: unknown): void;
}

/** An application that answers what is asked of it about files. */
function answering(answer: (detail: Detail) => unknown): EventTarget {
  const from = new EventTarget();
  from.addEventListener("tfgraphwidget:files", (event) => {
    event.preventDefault();
    const { detail } = event as CustomEvent<Detail>;
    if (!detail.ask) detail.done(answer(detail));
  });
  return from;
}

test("without such an application there is no dialog; the kernel finds the path", async () => {
  const from = new EventTarget();
  expect(hasFileDialog(from)).toBe(false);
  expect(openFile(from, "a.pb", true)).toBe(false);
  expect(await chooseFile(from, { title: "Choose a graph", kind: "file" })).toBeNull();
  expect(await locateDragged(from, "models/a.pb")).toEqual({ path: "models/a.pb", root: "" });
});

test("the application answers with a path and the root of its server", async () => {
  const from = answering(({ title, path }) => (title ? null : { path, root: "~/work" }));
  expect(hasFileDialog(from)).toBe(true);
  expect(await chooseFile(from, { title: "Choose a graph", kind: "file" })).toBeNull();
  expect(await locateDragged(from, "models/a.pb")).toEqual({ path: "models/a.pb", root: "~/work" });
});

test("if the application does not answer for a dragged file, the kernel finds it", async () => {
  const from = answering(() => null);
  expect(await locateDragged(from, "models/a.pb")).toEqual({ path: "models/a.pb", root: "" });
});

test("an extension that is older than the widget knows nothing of files", () => {
  const from = new EventTarget();
  from.addEventListener("tfgraphwidget:host", (event) => event.preventDefault());
  expect(hasFileDialog(from)).toBe(false);
});

test("a file keeps its name in another folder", () => {
  expect(movedTo("../models", "graph.pb")).toBe("../models/graph.pb");
  expect(movedTo("", "data/graph.pb")).toBe("graph.pb");
  expect(movedTo("/tmp/", "data/model/")).toBe("/tmp/model");
});
