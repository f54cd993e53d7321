// Two pages that show what one kernel has, with the browser's locks and without.
import { afterEach, expect, test, vi } from "vitest";
import { KernelShare } from "../../src/jupyterlab/file-kernel";

afterEach(() => vi.unstubAllGlobals());

/** Locks as a browser keeps them, for what one page after another asks of them. */
function madeUpLocks(): object {
  const held: { name: string }[] = [];
  return {
    query: async () => ({ held: [...held] }),
    request: async (name: string, _: object, use: () => Promise<void>) => {
      const lock = { name };
      held.push(lock);
      await use();
      held.splice(held.indexOf(lock), 1);
    },
  };
}

for (const [what, navigator] of [
  ["by locks", { locks: madeUpLocks() }],
  ["by asking, where a page has none", {}],
] as const) {
  test(`a page knows whether another shows the same, ${what}`, async () => {
    vi.stubGlobal("navigator", navigator);
    const [one, other, third] = [new KernelShare(), new KernelShare(), new KernelShare()];
    expect(await one.isShared()).toBe(false);
    one.join("kernel");
    third.join("another kernel");
    expect(await one.isShared()).toBe(false);
    other.join("kernel");
    expect([await one.isShared(), await other.isShared(), await third.isShared()]).toEqual([
      true,
      true,
      false,
    ]);
    other.leave();
    // a lock is given back a moment later
    await vi.waitFor(async () => expect(await one.isShared()).toBe(false));
    other.join("another kernel");
    expect([await one.isShared(), await third.isShared()]).toEqual([false, true]);
    for (const share of [one, other, third]) share.leave();
  });
}
