// What a document leaves for the next kernel, or for the next page.
import type { IStateDB } from "@jupyterlab/statedb";
import { expect, test } from "vitest";
import { Keep, type Kept } from "../src/plugin/files-kept";

const KEPT: Kept = { edits: [{ verb: "remove" }], stamp: "1-2", saved: false };

/** JupyterLab's store, as far as it is used. */
function store(found = new Map<string, unknown>()) {
  const state = {
    fetch: async (key: string) => found.get(key),
    save: async (key: string, value: unknown) => void found.set(key, value),
    remove: async (key: string) => void found.delete(key),
  };
  return { found, state: state as unknown as IStateDB };
}

test("what is kept for a path is found by the next page", async () => {
  const { state } = store();
  await new Keep(state).write("a/'); x.pb", KEPT);
  const next = new Keep(state);
  await next.read("a/'); x.pb");
  expect(next.kept).toEqual(KEPT);
  await next.read("a/other.pb");
});

test("nothing to keep leaves nothing behind", async () => {
  const { state, found } = store();
  const keep = new Keep(state);
  await keep.write("g.pb", KEPT);
  await keep.write("g.pb", null);
  expect([keep.kept, found.size]).toEqual([null, 0]);
});

test("a renamed file takes its edits along", async () => {
  const { state, found } = store();
  const keep = new Keep(state);
  await keep.write("old.pb", KEPT);
  await keep.move("old.pb", "new.pb");
  expect([...found.keys()]).toEqual(["tfgraphwidget-edits:new.pb"]);
});

test("what was not written by us is not taken for edits", async () => {
  for (const odd of [1, null, "x", [], { edits: 3 }, { edits: [] }]) {
    const keep = new Keep(store(new Map([["tfgraphwidget-edits:g.pb", odd]])).state);
    await keep.read("g.pb");
    expect(keep.kept).toBeNull();
  }
});

test("without a store the edits outlive the kernel all the same", async () => {
  const keep = new Keep(null);
  await keep.write("g.pb", KEPT);
  expect(keep.kept).toEqual(KEPT);
});
