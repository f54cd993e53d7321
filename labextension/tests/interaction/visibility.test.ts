import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Visibility } from "../../src/interaction/visibility";

type Callback = (entries: { isIntersecting: boolean }[]) => void;

describe("a view", () => {
  let scrolled: Callback;
  let page: EventTarget & { hidden: boolean };
  let place = { top: 0, bottom: 600, width: 900 };
  const target = { getBoundingClientRect: () => place } as unknown as Element;
  const disconnect = vi.fn();

  beforeEach(() => {
    page = Object.assign(new EventTarget(), { hidden: false });
    place = { top: 100, bottom: 700, width: 900 };
    vi.stubGlobal("document", page);
    vi.stubGlobal("innerHeight", 800);
    vi.stubGlobal(
      "IntersectionObserver",
      class {
        constructor(callback: Callback) {
          scrolled = callback;
        }
        observe() {}
        disconnect = disconnect;
      },
    );
  });
  afterEach(() => void vi.unstubAllGlobals());

  function turned(hidden: boolean) {
    page.hidden = hidden;
    page.dispatchEvent(new Event("visibilitychange"));
  }

  test("is seen on the screen and near it, not far from it or in a panel that is put away", () => {
    const sight = new Visibility(target, () => undefined);
    const seenAt = (top: number, width = 900) => {
      place = { top, bottom: top + 600, width };
      return sight.isVisible;
    };
    expect([100, -900, 1500].map((top) => seenAt(top))).toEqual([true, true, true]);
    expect([-1500, 1700].map((top) => seenAt(top))).toEqual([false, false]);
    expect(seenAt(0, 0)).toBe(false);
  });

  test("is told when it is scrolled to", () => {
    const shown = vi.fn();
    new Visibility(target, shown);
    scrolled([{ isIntersecting: false }]);
    expect(shown).not.toHaveBeenCalled();
    scrolled([{ isIntersecting: false }, { isIntersecting: true }]);
    expect(shown).toHaveBeenCalledTimes(1);
  });

  test("is told when its tab is shown again, if it is on the screen", () => {
    const shown = vi.fn();
    const sight = new Visibility(target, shown);
    turned(true);
    expect([sight.isVisible, shown.mock.calls.length]).toEqual([false, 0]);
    turned(false);
    expect([sight.isVisible, shown.mock.calls.length]).toEqual([true, 1]);
    place = { top: 9000, bottom: 9600, width: 900 };
    turned(false);
    expect(shown).toHaveBeenCalledTimes(1);
  });

  test("that is closed is told nothing", () => {
    const shown = vi.fn();
    new Visibility(target, shown).close();
    turned(false);
    expect(shown).not.toHaveBeenCalled();
    expect(disconnect).toHaveBeenCalled();
  });
});
