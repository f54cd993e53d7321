import { describe, expect, test } from "vitest";
import { deliverPick } from "../../src/interaction/op-picker";
import type { Answer } from "../../src/rpc/model-channel";
import { drawn } from "../example-graph";
import { CLOSED_SCOPE, INPUT, OP_IN_SCOPE, OPEN_SCOPE, opened } from "../kernel";

async function asked(...answers: Answer[]) {
  const parts = await opened(...answers);
  const taken: string[] = [];
  parts.store.set({ picking: { ask: "Click an op.", take: (op) => taken.push(op) } });
  return { ...parts, taken };
}

describe("who asks for an op", () => {
  test("has the one that is given, once", async () => {
    const { store, taken } = await asked();
    expect(deliverPick(store, INPUT)).toBe(true);
    expect(deliverPick(store, OP_IN_SCOPE)).toBe(false);
    expect(taken).toEqual(["input"]);
    expect(store.value.picking).toBeNull();
  });

  test("goes on asking where a scope, or nothing, is clicked", async () => {
    const { store, taken } = await asked();
    for (const item of [OPEN_SCOPE, 0, -1]) expect(deliverPick(store, item)).toBe(false);
    expect(taken).toEqual([]);
    expect(store.value.picking).not.toBeNull();
  });

  test("keeps what is inspected, where the form is, while one walks or searches", async () => {
    const { store, actions, sent } = await asked();
    await actions.inspectItem(INPUT);
    expect(store.value.picked).toBe("input");
    expect(sent).toEqual([]);
  });

  test("keeps it while scopes are opened on the way to the op", async () => {
    const { store, actions, sent } = await asked(drawn());
    await actions.inspectItem(CLOSED_SCOPE);
    await actions.changeView({ type: "expand_all", everything: true });
    expect(sent).toEqual([{ type: "expand_all", everything: true }]);
    expect(store.value.picking).not.toBeNull();
  });

  test.each(["cancel", "dismiss"] as const)("is put off with %s", async (way) => {
    const { store, actions } = await asked();
    actions[way]();
    expect(store.value.picking).toBeNull();
  });
});
