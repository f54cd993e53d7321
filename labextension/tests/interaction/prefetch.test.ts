// What opening a scope shows is asked for while a hand is over it, and shown at once when it is
// opened.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Answer } from "../../src/rpc/model-channel";
import { drawn, painted } from "../example-graph";
import { CLOSED_SCOPE, INPUT, opened, refused } from "../kernel";

const REST = 100;
const IDLE = 300;

function prefetched(stamp = "abc"): Answer {
  const { fields, buffer } = drawn();
  return { type: "next_scene", stamp, fields, buffer };
}

async function rested(): Promise<void> {
  await vi.advanceTimersByTimeAsync(REST);
}

/** A hand over the closed scope of a drawing at rest, after these answers. */
async function over(...answers: (Answer | Error)[]) {
  const made = await opened(...answers);
  made.store.set({ drawn: true, hover: CLOSED_SCOPE });
  await rested();
  return made;
}

const ASKED = { type: "prefetch_scene", scope: "net/dense" };
const toggled = (stamp: string) => ({ type: "toggle", scope: "net/dense", deep: false, stamp });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("asking", () => {
  test("a closed scope is asked about once, an op and an open scope never", async () => {
    const { sent, store } = await over(prefetched());
    expect(sent).toEqual([ASKED]);
    for (const hover of [INPUT, -1, CLOSED_SCOPE, 0, 2]) {
      store.set({ hover });
      await rested();
    }
    expect(sent).toEqual([ASKED]);
  });

  test("nothing is asked while the kernel is far away", async () => {
    const { channel, sent, store } = await opened(prefetched());
    channel.latency = 150;
    store.set({ drawn: true, hover: CLOSED_SCOPE });
    await rested();
    expect(sent).toEqual([]);
    channel.latency = 20;
    store.set({ hover: -1 });
    store.set({ hover: CLOSED_SCOPE });
    await rested();
    expect(sent).toEqual([ASKED]);
  });

  test("what is looked at is asked about, too", async () => {
    const { sent, store } = await opened(prefetched());
    store.set({ drawn: true, picked: "net/dense/" });
    await rested();
    expect(sent).toEqual([ASKED]);
  });

  test("a selection made meanwhile asks for nothing until a hand comes again", async () => {
    const { actions, sent, store } = await over(
      prefetched(),
      painted({ inputs: ["input"] }, [0, 0, 1, 2, 2]),
      prefetched("def"),
    );
    await actions.mark(INPUT, "inputs");
    store.set({ drawn: true });
    await rested();
    expect(sent).toHaveLength(2);
    store.set({ hover: INPUT });
    store.set({ hover: CLOSED_SCOPE });
    await rested();
    expect(sent[2]).toEqual(ASKED);
  });

  test("a hand that passes by, and one that waits for something else, ask nothing", async () => {
    const { sent, store } = await opened(prefetched());
    store.set({ drawn: true, hover: CLOSED_SCOPE });
    store.set({ hover: INPUT });
    await rested();
    store.set({ hover: CLOSED_SCOPE, pending: 1 });
    await rested();
    store.set({ pending: 0, kernelGone: true });
    await rested();
    expect(sent).toEqual([]);
  });

  test.each([
    [2500, [ASKED]],
    [2501, []],
  ])("a hand over a scope of a drawing of %i boxes asks %j", async (length, asked) => {
    const { sent, store } = await opened(prefetched());
    const { scene } = store.value;
    if (!scene) throw new Error("There is no scene.");
    store.set({
      scene: Object.assign(Object.create(scene), { length }),
      drawn: true,
      hover: CLOSED_SCOPE,
    });
    await rested();
    expect(sent).toEqual(asked);
  });

  test("slow layouts are asked for one by one, once for a drawing; a hand comes first", async () => {
    const { sent, store } = await opened(
      prefetched("a"),
      prefetched("b"),
      prefetched("c"),
      prefetched("d"),
    );
    const { state, scene } = store.value;
    if (!state || !scene) throw new Error("nothing was drawn");
    store.set({
      drawn: true,
      state: { ...state, likely: ["big", "net/dense", "less"] },
      hover: CLOSED_SCOPE,
    });
    for (let time = 0; time < 6; time += 1) await rested();
    const asked = (scope: string) => ({ type: "prefetch_scene", scope });
    expect(sent).toEqual([ASKED, asked("big"), asked("less")]);
    store.set({ scene: { ...scene }, drawn: false });
    store.set({ drawn: true });
    await rested();
    expect(sent).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(IDLE);
    expect(sent[3]).toEqual(asked("big"));
  });

  test.each([
    ["there is none", prefetched("")],
    ["it is refused", refused("no name scope")],
    ["nobody answers", new Error("The kernel has not answered.")],
  ])(
    "when %s, it is not asked again, nothing is said, and opening goes its way",
    async (_, answer) => {
      const { actions, sent, store, arrivals } = await over(answer, drawn());
      await rested();
      expect(sent).toEqual([ASKED]);
      expect(store.value.status).toBeNull();
      await actions.toggle(CLOSED_SCOPE);
      expect(sent[1]).toEqual(toggled(""));
      expect(arrivals).toHaveLength(1);
    },
  );
});

describe("opening", () => {
  test("what is known is shown before the kernel answers, and not drawn again", async () => {
    const { actions, sent, store, arrivals } = await over(
      prefetched(),
      painted({ revision: 4 }, [0, 0, 0, 1, 1], "abc"),
    );
    const before = store.value.scene;
    const opening = actions.toggle(CLOSED_SCOPE, { key: "net/dense/", screen: { x: 1, y: 2 } });
    await vi.advanceTimersByTimeAsync(0);
    const shown = store.value.scene;
    expect(shown).not.toBe(before);
    await opening;
    expect(sent[1]).toEqual(toggled("abc"));
    expect(store.value.scene).toBe(shown);
    expect(store.value.state?.revision).toBe(4);
    expect([...(store.value.paint?.coverage ?? [])]).toEqual([0, 0, 0, 1, 1]);
    expect(arrivals).toEqual([{ anchor: { key: "net/dense/", screen: { x: 1, y: 2 } } }]);
  });

  test("what the kernel draws otherwise replaces it", async () => {
    const { actions, store, arrivals } = await over(prefetched(), drawn({ revision: 7 }));
    await actions.toggle(CLOSED_SCOPE);
    expect(arrivals).toHaveLength(2);
    expect(store.value.state?.revision).toBe(7);
  });

  test.each([
    ["refuses", refused("Cancelled; nothing has changed.")],
    ["does not answer", new Error("The kernel has not answered.")],
  ])("when the kernel %s, what there really is is drawn again", async (_, answer) => {
    const { actions, sent, arrivals } = await over(prefetched(), answer, drawn());
    await actions.toggle(CLOSED_SCOPE);
    expect(sent).toEqual([ASKED, toggled("abc"), { type: "open", alone: false }]);
    expect(arrivals).toHaveLength(2);
  });

  test("what was known of another drawing or selection is forgotten", async () => {
    const { actions, sent } = await over(
      prefetched(),
      painted({ inputs: ["input"] }, [0, 0, 1, 2, 2]),
      drawn(),
    );
    await actions.mark(INPUT, "inputs");
    await actions.toggle(CLOSED_SCOPE);
    expect(sent.slice(2)).toEqual([toggled("")]);
  });

  test("opening all that is inside is another drawing", async () => {
    const { actions, sent } = await over(prefetched(), drawn());
    await actions.toggle(CLOSED_SCOPE, undefined, true);
    expect(sent[1]).toEqual({ ...toggled(""), deep: true });
  });

  test("what comes late, for a drawing that is no more, is not kept", async () => {
    const { actions, store, sent } = await opened(prefetched(), drawn());
    store.set({ drawn: true, hover: CLOSED_SCOPE });
    vi.advanceTimersByTime(REST);
    store.set({
      paint: { ...(store.value.paint as NonNullable<typeof store.value.paint>) },
      drawn: false,
    });
    await vi.advanceTimersByTimeAsync(0);
    await actions.toggle(CLOSED_SCOPE);
    expect(sent).toEqual([ASKED, toggled("")]);
  });
});
