// The store: who watches a slice of it is told of its changes, and of no others.
import { expect, test, vi } from "vitest";
import { Store } from "../../src/state/store";

test("a listener is called at once and for each change of its fields, until unsubscribed", () => {
  const store = new Store();
  const listener = vi.fn();
  const unsubscribe = store.watch(["hover", "tab"], ({ hover, tab }) => listener(hover, tab));
  store.set({ hover: 3 });
  store.set({ hover: 3, query: "conv" });
  store.set({ hover: 4, tab: "op" });
  unsubscribe();
  store.set({ hover: 5 });
  expect(listener.mock.calls).toEqual([
    [-1, "model"],
    [3, "model"],
    [4, "op"],
  ]);
});
