import { describe, expect, test } from "vitest";
import type { Actions } from "../../src/interaction/actions";
import type { Answer } from "../../src/rpc/model-channel";
import type { PanelTab } from "../../src/state/store";
import { drawn, painted, plainForm } from "../example-graph";
import {
  CLOSED_SCOPE,
  INPUT,
  inspected,
  NOTHING,
  OP_IN_SCOPE,
  OPEN_SCOPE,
  opened,
  refused,
} from "../kernel";

describe("boundary", () => {
  test("marking an op sends its name: what is cut there is for the kernel to say", async () => {
    const { actions, sent, store } = await opened(
      painted({ inputs: ["input:0"] }, [0, 0, 1, 2, 2]),
    );
    await actions.mark(OP_IN_SCOPE, "inputs");
    expect(sent).toEqual([{ type: "mark", side: "inputs", name: "net", tensors: [] }]);
    expect(store.value.state?.inputs).toEqual(["input:0"]);
    expect([...(store.value.paint?.coverage ?? [])]).toEqual([0, 0, 1, 2, 2]);
  });

  test("once both sides are marked, a click marks no more", async () => {
    const { actions, store } = await opened(
      painted({ inputs: ["input"] }, [0, 0, 0, 0, 0]),
      painted({ inputs: ["input"], outputs: ["net"] }, [0, 0, 1, 2, 2]),
    );
    actions.setMode("input");
    await actions.mark(INPUT, "inputs");
    expect(store.value.mode).toBe("input");
    await actions.mark(OP_IN_SCOPE, "outputs");
    expect(store.value.mode).toBe("look");
  });

  const crossing = (tensor: string, proposed = true, marked = false) => ({
    tensor,
    about: "float32",
    proposed,
    marked,
  });

  test.each([OPEN_SCOPE, CLOSED_SCOPE])(
    "a scope (item %i) is marked by the one tensor that is proposed",
    async (item) => {
      const tensors = [crossing("a:0", false), crossing("b:0")];
      const crossed = { type: "boundary_tensors" as const, tensors, buffer: NOTHING };
      const { actions, sent } = await opened(
        crossed,
        painted({ outputs: ["b:0"] }, [0, 0, 0, 0, 0]),
      );
      await actions.mark(item, "outputs");
      expect(sent.at(-1)).toMatchObject({ type: "mark", side: "outputs", tensors: ["b:0"] });
    },
  );

  test("of several tensors of a scope the user ticks some; a second click unmarks them", async () => {
    const { actions, sent, store } = await opened(
      { type: "boundary_tensors", tensors: [crossing("a:0"), crossing("b:0")], buffer: NOTHING },
      painted({ inputs: ["a:0"] }, [0, 0, 0, 0, 0]),
      {
        type: "boundary_tensors",
        tensors: [crossing("a:0", true, true), crossing("b:0")],
        buffer: NOTHING,
      },
      painted({}, [0, 0, 0, 0, 0]),
    );
    await actions.mark(CLOSED_SCOPE, "inputs");
    expect(store.value.ticking?.tensors).toHaveLength(2);
    expect(sent).toHaveLength(1);
    store.value.ticking?.take(["a:0"]);
    await actions.mark(CLOSED_SCOPE, "inputs");
    expect(sent.filter(({ type }) => type === "mark")).toMatchObject([
      { tensors: ["a:0"] },
      { tensors: ["a:0"] },
    ]);
  });

  test("a refusal keeps the boundary and names the ops", async () => {
    const { actions, store } = await opened(
      painted({ inputs: ["input"] }, [0, 0, 0, 0, 0]),
      refused("There is no path.", ["input", "net"]),
    );
    await actions.mark(INPUT, "inputs");
    await actions.mark(OP_IN_SCOPE, "outputs");
    expect(store.value.status).toEqual({ kind: "refused", text: "There is no path." });
    expect(store.value.warned).toEqual(["input", "net"]);
    expect(store.value.state).toMatchObject({ inputs: ["input"], outputs: [] });
  });
});

describe("the tab in front", () => {
  test.each<[string, PanelTab, (actions: Actions) => unknown]>([
    ["marked", "selection", (actions) => actions.mark(INPUT, "inputs")],
    [
      "marked in the inspector",
      "selection",
      (actions) => actions.toggleBoundary("input", "inputs"),
    ],
    ["selected", "selection", (actions) => actions.toggleSelected(INPUT)],
    ["compared", "history", (actions) => actions.edits.compare(true)],
  ])("shows the op that was clicked, and then what was %s", async (_, tab, act) => {
    const { actions, store } = await opened();
    await actions.inspectItem(INPUT);
    expect(store.value.tab).toBe("op");
    await act(actions);
    expect(store.value.tab).toBe(tab);
  });

  test("goes back a step with Escape: from the op to what is marked, and to the model", async () => {
    const marked = painted({ inputs: ["input"] }, [0, 0, 0, 0, 0]);
    const { actions, store } = await opened(marked, inspected("input"));
    await actions.mark(INPUT, "inputs");
    await actions.inspectItem(INPUT);
    expect(store.value.tab).toBe("op");
    actions.cancel();
    expect([store.value.tab, store.value.picked]).toEqual(["selection", ""]);
    actions.cancel();
    expect(store.value.tab).toBe("model");
  });

  test("stays where a click both inspects and marks", async () => {
    const { actions, store } = await opened();
    await actions.inspectItem(INPUT, false);
    expect([store.value.tab, store.value.picked]).toEqual(["model", "input"]);
  });

  test("is that of the costs until the user leaves it", async () => {
    const { actions, store } = await opened();
    store.set({ tab: "costs" });
    await actions.inspectItem(INPUT);
    expect(store.value.tab).toBe("costs");
  });
});

describe("edits", () => {
  test("an edit that found nothing to do says so, and is not a refusal", async () => {
    const text = "The graph has no Identity that can be removed.";
    const { actions, store } = await opened(drawn({}, "", { text, is_nothing: true }));
    await actions.edits.change("remove_identities", [], {});
    expect(store.value.status).toEqual({ kind: "nothing", text });
  });

  test("cloning sends the boundary and the form", async () => {
    const { actions, sent, store } = await opened(
      painted({ inputs: ["input"], outputs: ["net"] }, [0, 0, 1, 2, 2]),
      drawn({ revision: 3 }, "copy", { text: "Cloned 5 ops." }),
    );
    await actions.mark(INPUT, "inputs");
    const form = { ...plainForm, others: ["net/w"] };
    expect(await actions.clone(form)).toBe(true);
    expect(sent[1]).toEqual({
      type: "clone",
      inputs: ["input"],
      outputs: ["net"],
      ...form,
      inspected: "",
    });
    expect(store.value.status).toEqual({ kind: "notice", text: "Cloned 5 ops." });
  });

  test("that there is nothing to undo is said in gray", async () => {
    const text = "There is nothing to undo.";
    const { actions, sent, store } = await opened(drawn({}, "", { text, is_nothing: true }));
    await actions.edits.undo();
    expect(sent).toEqual([{ type: "undo", inspected: "" }]);
    expect(store.value.status).toEqual({ kind: "nothing", text });
  });

  test("a scope is toggled by its name, an op not at all", async () => {
    const { actions, sent } = await opened(drawn());
    await actions.toggle(CLOSED_SCOPE);
    await actions.toggle(INPUT);
    expect(sent).toEqual([{ type: "toggle", scope: "net/dense", deep: false, stamp: "" }]);
  });

  test("an edit that failed does not stop the next", async () => {
    const { actions, store } = await opened(
      new Error("The kernel has not answered."),
      drawn({ revision: 9 }),
    );
    await actions.toggle(CLOSED_SCOPE);
    expect(store.value.status?.kind).toBe("error");
    await actions.toggle(CLOSED_SCOPE);
    expect(store.value).toMatchObject({ status: null, pending: 0, state: { revision: 9 } });
  });
});

describe("the shape of a drawing", () => {
  test("each request names the canvas that it wraps to, once it has one", async () => {
    const { actions, sent } = await opened(drawn(), drawn(), drawn());
    await actions.refresh();
    const pane = { width: 500, height: 780 };
    await actions.open(pane, true);
    await actions.inspect("x");
    expect(sent).toEqual([
      { type: "refresh" },
      { type: "open", alone: true, pane: [500, 780] },
      { type: "inspect", name: "x", pane: [500, 780] },
    ]);
  });

  test("wraps to another canvas unless an item is pinned; a reset does it anyway", async () => {
    const { actions, sent } = await opened(drawn(), drawn({ pinned: 1 }), drawn());
    await actions.wrap({ width: 500, height: 780 });
    await actions.wrap({ width: 600, height: 780 });
    await actions.resetLayout({ width: 700, height: 780 });
    const unpin = { type: "unpin", name: "" };
    expect(sent).toEqual([
      { ...unpin, pane: [500, 780] },
      { ...unpin, pane: [600, 780] },
      { ...unpin, pane: [700, 780] },
    ]);
  });
});

describe("following the kernel", () => {
  test("a newer revision is fetched, one that a reply has carried is not", async () => {
    const { actions, sent } = await opened(drawn({ revision: 2 }));
    await actions.catchUp(() => 1);
    expect(sent).toEqual([]);
    await actions.catchUp(() => 2);
    expect(sent).toEqual([{ type: "open", alone: false }]);
  });

  test("a refusal is shown until the user acts, though the view catches up", async () => {
    const no = "Cancelled; nothing has changed.";
    const { actions, store } = await opened(
      refused(no),
      drawn({ revision: 5 }),
      drawn({ revision: 6 }),
    );
    await actions.toggle(CLOSED_SCOPE);
    await actions.catchUp(() => 5);
    expect(store.value).toMatchObject({
      status: { kind: "refused", text: no },
      state: { revision: 5 },
    });
    await actions.toggle(CLOSED_SCOPE);
    expect(store.value).toMatchObject({ status: null, state: { revision: 6 } });
  });

  test("an error that is over is not said any more once the view has caught up", async () => {
    const { actions, store } = await opened(
      new Error("The kernel has not answered."),
      drawn({ revision: 5 }),
    );
    await actions.toggle(CLOSED_SCOPE);
    await actions.catchUp(() => 5);
    expect(store.value).toMatchObject({ status: null, state: { revision: 5 } });
  });

  test("a selection for another drawing makes the view ask for the drawing", async () => {
    const { actions, sent, store } = await opened(
      painted({ inputs: ["input"] }, [0, 0], "another"),
      drawn({ revision: 5 }),
    );
    await actions.mark(INPUT, "inputs");
    await actions.catchUp(() => 0);
    expect(sent.at(-1)).toEqual({ type: "open", alone: false });
    expect(store.value.state?.revision).toBe(5);
  });
});

describe("looking", () => {
  test("a scope is inspected with a slash, so that an op of its name is not meant", async () => {
    const { actions, sent, store } = await opened();
    await actions.inspectItem(CLOSED_SCOPE);
    expect(sent).toEqual([{ type: "inspect", name: "net/dense/" }]);
    expect(store.value.picked).toBe("net/dense/");
  });

  test("revealing a tensor inspects its op", async () => {
    const { actions, sent } = await opened(drawn({}, "net"));
    await actions.reveal("net:0");
    expect(sent.map(({ type }) => type)).toEqual(["reveal", "inspect"]);
    expect(sent[1]).toMatchObject({ name: "net" });
  });

  test("revealing a scope inspects it with a slash, by which the drawing frames it", async () => {
    const { actions, sent, store } = await opened(
      drawn({}, "net/dense"),
      inspected("net/dense"),
      drawn({}, "net/dense"),
    );
    for (const name of ["net/dense", "net/dense/"]) {
      await actions.reveal(name);
      expect(sent.at(-1)).toEqual({ type: "inspect", name: "net/dense/" });
      expect(store.value.picked).toBe("net/dense/");
    }
  });

  test("an emptied search field sends nothing and closes the list", async () => {
    const found: Answer = {
      type: "search_reply",
      hits: [],
      total: 0,
      why: "",
      scopes: 0,
      matches: null,
      excerpt: "",
      name_scopes: [],
      buffer: NOTHING,
    };
    const { actions, sent, store } = await opened(found);
    await actions.search(" conv ");
    expect(sent).toEqual([{ type: "search", text: "conv", limit: 50 }]);
    await actions.search(" ");
    expect(sent).toHaveLength(1);
    expect(store.value.found).toBeNull();
  });

  test("a view that is closed while something is counted or looked up throws nothing", async () => {
    const found: Answer = {
      type: "search_reply",
      hits: [{ name: "net", type: "Relu" }],
      total: 1,
      why: "",
      scopes: 1,
      matches: null,
      excerpt: "",
      name_scopes: [],
      buffer: NOTHING,
    };
    const given = new DOMException("The request was given up.", "AbortError");
    const { actions, sent } = await opened(found, given, given);
    await actions.search("net");
    const waiting = [actions.countHits(), actions.describe("net")];
    actions.close();
    await Promise.all(waiting);
    expect(sent.map(({ type }) => type)).toEqual(["search", "count_hits", "inspect"]);
  });
});
