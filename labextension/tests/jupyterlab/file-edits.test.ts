// What a document leaves for the next kernel, or for the next page.
import type { IStateDB } from "@jupyterlab/statedb";
import { expect, test } from "vitest";
import { EditStore, rejectedActions, type SavedEdits } from "../../src/jupyterlab/file-edits";

const KEPT: SavedEdits = { edits: [{ command: "remove" }], stamp: "1-2", saved: false };
const WHY = "g.pb has changed on disk since.";

/**
 * JupyterLab's store, as far as it is used; `slow` of its writings take longer than those after
 * them.
 */
function store(found = new Map<string, unknown>(), slow = 0) {
  let left = slow;
  const late = () => new Promise((resolve) => setTimeout(resolve, left-- > 0 ? 5 : 0));
  const state = {
    fetch: async (key: string) => found.get(key),
    save: (key: string, value: unknown) => late().then(() => found.set(key, value)),
    remove: (key: string) => late().then(() => found.delete(key)),
  };
  return { found, state: state as unknown as IStateDB };
}

test("what is kept for a path is found by the next page", async () => {
  const { state } = store();
  await new EditStore(state, "a/'); x.pb").write(KEPT);
  const next = new EditStore(state, "a/'); x.pb");
  await next.read();
  expect(next.edits).toEqual(KEPT);
  const other = new EditStore(state, "a/other.pb");
  await other.read();
  expect(other.edits).toBeNull();
});

test("nothing to keep leaves nothing behind", async () => {
  const { state, found } = store();
  const keep = new EditStore(state, "g.pb");
  await keep.write(KEPT);
  await keep.write(null);
  expect([keep.edits, found.size]).toEqual([null, 0]);
});

test("a renamed file takes its edits along", async () => {
  const { state, found } = store();
  const keep = new EditStore(state, "old.pb");
  await keep.write(KEPT);
  await keep.reject(WHY);
  await keep.write(KEPT);
  await keep.move("new.pb");
  expect([...found.keys()].sort()).toEqual([
    "tfgraphwidget-edits-aside:new.pb",
    "tfgraphwidget-edits:new.pb",
  ]);
  expect(keep.edits).toEqual(KEPT);
});

test("what is written last is what stays, however long the store takes", async () => {
  const { state, found } = store(new Map(), 2);
  const keep = new EditStore(state, "old.pb");
  void keep.write(KEPT);
  void keep.move("new.pb");
  await keep.write({ ...KEPT, stamp: "newest" });
  expect([...found]).toEqual([["tfgraphwidget-edits:new.pb", { ...KEPT, stamp: "newest" }]]);
});

test("a store that fails once is asked again", async () => {
  const { state, found } = store();
  const save = state.save.bind(state);
  state.save = () => Promise.reject(new Error("away"));
  const keep = new EditStore(state, "g.pb");
  await expect(keep.write(KEPT)).rejects.toThrow("away");
  state.save = save;
  await keep.write(KEPT);
  expect(found.size).toBe(1);
});

test("edits not done again outlive newer ones, the document and the page", async () => {
  const { state, found } = store();
  const keep = new EditStore(state, "g.pb");
  await keep.write(KEPT);
  await keep.reject(WHY);
  expect([keep.edits, keep.rejected]).toEqual([null, { ...KEPT, why: WHY }]);
  await keep.write({ ...KEPT, stamp: "newer" });
  await keep.write(null); // closed
  const next = new EditStore(state, "g.pb");
  await next.read();
  expect([next.edits, next.rejected]).toEqual([null, { ...KEPT, why: WHY }]);
  let over = 0;
  rejectedActions(next, "g.pb", () => over++)[1]?.run();
  await next.write(null);
  expect([next.rejected, found.size, over, rejectedActions(next, "g.pb", () => {})]).toEqual([
    null,
    0,
    1,
    [],
  ]);
});

test("what was not written by us is not taken for edits", async () => {
  for (const odd of [1, null, "x", [], { edits: 3 }, { edits: [] }]) {
    const keep = new EditStore(store(new Map([["tfgraphwidget-edits:g.pb", odd]])).state, "g.pb");
    await keep.read();
    expect(keep.edits).toBeNull();
  }
});

test("without a store the edits outlive the kernel all the same", async () => {
  const keep = new EditStore(null, "g.pb");
  await keep.write(KEPT);
  expect(keep.edits).toEqual(KEPT);
  expect(keep.restoreText(1)).toBe("The edit is done again");
});
