import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { followShape } from "../../src/interaction/follow-shape";
import type { Parts } from "../../src/interaction/parts";

describe("a view that gets another shape", () => {
  let resized: () => void;
  const disconnect = vi.fn();
  const sent: unknown[] = [];
  const stage = { untouched: true, viewport: { width: 500, height: 700 } };
  const actions = {
    wrap: (size: unknown) => void sent.push(["wrap", size]),
  };
  const parts = { stage, actions } as unknown as Parts;
  const open = (size: unknown) => void sent.push(["open", size]);
  let root: { clientWidth: number; clientHeight: number };

  beforeEach(() => {
    vi.useFakeTimers();
    sent.length = 0;
    stage.untouched = true;
    root = { clientWidth: 1200, clientHeight: 780 };
    vi.stubGlobal("window", globalThis);
    vi.stubGlobal(
      "ResizeObserver",
      class {
        constructor(callback: () => void) {
          resized = callback;
        }
        observe() {}
        disconnect = disconnect;
      },
    );
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  const follow = (width = 900) =>
    followShape(root as HTMLElement, parts, { width, height: 700 }, open);
  function dragTo(...widths: number[]) {
    for (const clientWidth of widths) {
      root = Object.assign(root, { clientWidth });
      resized();
      vi.advanceTimersByTime(20);
    }
    vi.runAllTimers();
  }

  test("wraps its drawing once it has stopped, once", () => {
    follow();
    dragTo(1000, 800, 600, 520);
    expect(sent).toEqual([["wrap", stage.viewport]]);
    dragTo(510, 540);
    expect(sent.length).toBe(1);
    dragTo(1200);
    expect(sent.length).toBe(2);
  });

  test("leaves the drawing as it is when it was moved, stays wide, or is hidden", () => {
    follow();
    dragTo(1400, 1300, 0);
    stage.untouched = false;
    dragTo(520);
    expect(sent).toEqual([]);
  });

  test("asks for its first drawing if it had no size when it was opened", () => {
    follow(0);
    dragTo(520);
    expect(sent).toEqual([["open", stage.viewport]]);
    dragTo(1200);
    expect(sent.at(-1)).toEqual(["wrap", stage.viewport]);
  });

  test("that is closed asks for nothing", () => {
    const close = follow();
    root.clientWidth = 520;
    resized();
    close();
    vi.runAllTimers();
    expect(sent).toEqual([]);
    expect(disconnect).toHaveBeenCalled();
  });
});
