// Widgets that are saved in a notebook, and what a notebook that is not trusted says of them.
import type { INotebookTracker } from "@jupyterlab/notebook";
import { Signal } from "@lumino/signaling";
import { expect, test } from "vitest";
import { guardSavedWidgets } from "../../src/jupyterlab/untrusted-notebooks";

const STATE = "application/vnd.jupyter.widget-state+json";
const SAVED = { [STATE]: { state: { a: { model_module: "anywidget" } } } };

/** A notebook's model, as far as it is used. */
class Model {
  readonly held: Map<string, unknown>;
  readonly cells = [{ type: "code", trusted: false }];
  asked = 0;

  constructor(widgets: unknown) {
    this.held = new Map([["widgets", widgets]]);
  }
  getMetadata(key: string): unknown {
    this.asked++;
    return this.held.get(key);
  }
  setMetadata(key: string, value: unknown): void {
    this.held.set(key, value);
  }
  trust(): void {
    for (const cell of this.cells) cell.trusted = true;
  }
}

/** The notebook in that many tabs. */
function guarded(widgets: unknown, tabs = 1): Model {
  const model = new Model(widgets);
  const panels = Array.from({ length: tabs }, () => ({ context: { model } }));
  const notebooks = {
    forEach: (each: (panel: object) => void) => panels.forEach(each),
    widgetAdded: null,
  };
  guardSavedWidgets(
    Object.assign(notebooks, { widgetAdded: new Signal(notebooks) }) as unknown as INotebookTracker,
  );
  return model;
}

test("saved widgets with code are there once the notebook is trusted", () => {
  const model = guarded(SAVED);
  expect(model.getMetadata("widgets")).toBeUndefined();
  model.trust();
  expect(model.getMetadata("widgets")).toBe(SAVED);
});

test("what is withheld is not written over", () => {
  const model = guarded(SAVED);
  model.setMetadata("widgets", { [STATE]: { state: {} } });
  model.setMetadata("kernelspec", { name: "python3" });
  expect(model.held.get("widgets")).toBe(SAVED);
  expect(model.held.get("kernelspec")).toEqual({ name: "python3" });
  model.trust();
  model.setMetadata("widgets", "newer");
  expect(model.getMetadata("widgets")).toBe("newer");
});

test("widgets without code are saved as ever", () => {
  const model = guarded({
    [STATE]: { state: { a: { model_module: "@jupyter-widgets/controls" } } },
  });
  model.setMetadata("widgets", "newer");
  expect(model.getMetadata("widgets")).toBe("newer");
});

test("a notebook in three tabs is guarded once", () => {
  const model = guarded(SAVED, 3);
  expect(model.getMetadata("widgets")).toBeUndefined();
  expect(model.asked).toBe(1);
});
