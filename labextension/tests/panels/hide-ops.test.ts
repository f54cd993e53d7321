import { describe, expect, test } from "vitest";
import { hide, namesToHide, showAll } from "../../src/interaction/key-bindings";
import { pickPath, selectPath, trace } from "../../src/panels/inspector/inspector";
import { hiddenText } from "../../src/panels/selection/hide-ops";
import { drawn, painted, state } from "../example-graph";
import { opened, openedOn } from "../kernel";

const SOME = [0, 0, 1, 2, 2];

describe("hiding", () => {
  test("is of the selection, else of what is looked at, else of nothing", () => {
    expect(namesToHide({ state: state({ selected_ops: 2 }), picked: "a" })).toEqual([]);
    expect(namesToHide({ state: state(), picked: "net/" })).toEqual(["net/"]);
    expect(namesToHide({ state: state(), picked: "" })).toBeNull();
    expect(namesToHide({ state: null, picked: "" })).toBeNull();
  });

  test.each(["hide", "only"] as const)("asks the kernel: %s", async (command) => {
    const parts = await openedOn(drawn({ selected_ops: 2 }), drawn({ hidden: 2 }));
    await hide(parts, command);
    expect(parts.sent).toEqual([{ type: "hide", command, names: [] }]);
    expect(parts.store.value.state?.hidden).toBe(2);
  });

  test("nothing is refused here, with the way out", async () => {
    const parts = await opened();
    await hide(parts, "hide");
    expect(parts.sent).toEqual([]);
    expect(parts.store.value.status).toMatchObject({
      kind: "refused",
      text: expect.stringContaining("click an op"),
    });
  });

  test("is taken back where something is hidden", async () => {
    const parts = await openedOn(drawn({ hidden: 3 }), drawn());
    await showAll(parts);
    await showAll(parts);
    expect(parts.sent).toEqual([{ type: "hide", command: "nothing", names: [] }]);
  });

  test("says how much", () => {
    expect([0, 1, 12_345].map(hiddenText)).toEqual(["", "1 op hidden", "12,345 ops hidden"]);
  });
});

describe("tracing", () => {
  test.each(["upstream", "downstream"] as const)(
    "%s of an op needs no selection before",
    async (command) => {
      const answers = [painted({ selected_ops: 1 }, SOME), painted({ selected_ops: 4 }, SOME)];
      const parts = await opened(...answers);
      await trace(parts, "input", command);
      expect(parts.sent).toEqual([
        { type: "select", command: "set", ops: ["input"], scopes: [] },
        { type: "derive", command },
      ]);
      expect(parts.store.value.state?.selected_ops).toBe(4);
    },
  );

  test("of a scope is of all its ops", async () => {
    const parts = await opened(painted({ selected_ops: 3 }, SOME), painted({}, SOME));
    await trace(parts, "net/", "upstream", true);
    expect(parts.sent[0]).toEqual({ type: "select", command: "set", ops: [], scopes: ["net/"] });
  });

  test("a path goes to the op that is clicked next", async () => {
    const parts = await opened(
      painted({ selected_ops: 2 }, SOME),
      painted({ selected_ops: 3 }, SOME),
    );
    pickPath(parts, "input");
    expect(parts.store.value.picking?.ask).toContain("from input");
    parts.store.value.picking?.take("net");
    await parts.actions.refresh();
    expect(parts.sent.slice(0, 2)).toEqual([
      { type: "select", command: "set", ops: ["input", "net"], scopes: [] },
      { type: "derive", command: "path" },
    ]);
  });

  test("a path needs two ends", async () => {
    const parts = await opened();
    await selectPath(parts, "input", "input");
    expect(parts.sent).toEqual([]);
    expect(parts.store.value.status).toMatchObject({ kind: "refused" });
  });
});
