// What a clone would do: when it is asked, and how it is told.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { cloneOf } from "../../src/panels/clone/clone-form";
import {
  factsOf,
  headline,
  isSaidBelow,
  PreviewRequests,
  plural,
  sampleText,
} from "../../src/panels/clone/clone-preview";
import { filterStates, StateModes } from "../../src/panels/clone/state-switches";
import { moreText } from "../../src/panels/controls/fields";
import { FORMS, type PartState } from "../../src/protocol/messages";
import { drawn, painted, plainForm, previewed } from "../example-graph";
import { opened, openedOn, refused } from "../kernel";

const group = (kind: string, total: number, names = [`${kind}_0`]) => ({ kind, names, total });

describe("asking", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("waits until the form has been left alone, and asks once, of the last", async () => {
    const { store, actions, sent } = await openedOn(
      drawn({ inputs: ["a"], outputs: ["b"] }),
      previewed(),
    );
    const previewing = new PreviewRequests(store, actions);
    for (const into of ["t", "to", "tower"]) {
      previewing.want({ ...plainForm, into });
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(sent).toEqual([]);
    expect(store.value).toMatchObject({ preview: null, previewing: true, pending: 0 });
    await vi.advanceTimersByTimeAsync(200);
    expect(sent).toEqual([
      { type: "preview", inputs: ["a"], outputs: ["b"], ...plainForm, into: "tower" },
    ]);
    expect(store.value.preview?.ops).toBe(5);
    expect(store.value.previewing).toBe(false);
  });

  test("asks again after the selection has changed, not after nothing has", async () => {
    const { store, actions, sent } = await opened(
      previewed(),
      painted({ revision: 2 }, [0, 0, 0, 0, 0]),
      previewed(),
    );
    const previewing = new PreviewRequests(store, actions);
    const ask = async () => {
      previewing.want(plainForm);
      await vi.advanceTimersByTimeAsync(2000);
    };
    await ask();
    await ask();
    await actions.toggleSelected(1);
    await ask();
    expect(sent.map(({ type }) => type)).toEqual(["preview", "select", "preview"]);
  });

  test("nothing to clone is nothing to show", async () => {
    const { store, actions, sent } = await opened(previewed());
    const previewing = new PreviewRequests(store, actions);
    previewing.want(plainForm);
    previewing.want(null);
    await vi.advanceTimersByTimeAsync(2000);
    expect(sent).toEqual([]);
    expect(store.value).toMatchObject({ preview: null, previewing: false });
  });

  test("an answer that comes too late is not shown", async () => {
    const { store, actions } = await opened(previewed({ ops: 1 }), previewed({ ops: 2 }));
    const previewing = new PreviewRequests(store, actions);
    previewing.want(plainForm);
    vi.advanceTimersByTime(200); // sent, not yet answered
    previewing.close();
    await vi.advanceTimersByTimeAsync(2000);
    expect(store.value.previewing).toBe(true);
  });

  test.each([
    ["a lost kernel", new Error("The kernel has not answered.")],
    ["a refused message", refused("The kernel is older than this page.")],
  ])("%s leaves no preview that is for ever on its way", async (_, answer) => {
    const { store, actions } = await opened(answer);
    new PreviewRequests(store, actions).want(plainForm);
    await vi.advanceTimersByTimeAsync(2000);
    expect(store.value).toMatchObject({ preview: null, previewing: false });
  });

  test("a refusal highlights the ops that it names", async () => {
    const { store, actions } = await opened(
      previewed({ refusal: "Half a loop.", warned: ["net"], offer: "loop" }),
    );
    new PreviewRequests(store, actions).want(plainForm);
    await vi.advanceTimersByTimeAsync(2000);
    expect(store.value).toMatchObject({ warned: ["net"], status: null });
  });
});

describe("telling", () => {
  test("a refusal once: in the form, or with its way out in the status line", () => {
    const preview = previewed({ refusal: "The name 'copy' is taken." });
    const status = { kind: "refused" as const, text: preview.refusal };
    expect(isSaidBelow({ preview, status: null, working: null })).toBe(false);
    expect(isSaidBelow({ preview, status, working: null })).toBe(true);
    expect(isSaidBelow({ preview, status: { ...status, text: "Another." }, working: null })).toBe(
      false,
    );
    expect(
      isSaidBelow({ preview: previewed(), status: { ...status, text: "" }, working: null }),
    ).toBe(false);
  });

  test("where the copies go", () => {
    expect(headline(previewed({ ops: 2701 }))).toBe("Copies 2,701 ops into copy");
    expect(headline(previewed({ ops: 1, scopes: ["a_0", "a_1", "a_2"] }))).toBe(
      "Copies 1 op 3 times, into a_0 to a_2",
    );
  });

  test("counts all of what is listed in part, kind by kind", () => {
    const facts = factsOf(
      previewed({
        new: [group("variable", 1234), group("hash table", 1)],
        shared: [group("queue", 2)],
        outside: [group("tensor", 1), group("control input", 3), group("placeholder", 2)],
        stateful: [group("Print", 1), group("AssignVariableOp", 4)],
      }),
    );
    expect(facts.map(({ text }) => text)).toEqual([
      "1,234 own variables",
      "1 own hash table",
      "2 queues still shared",
      "1 tensor from outside",
      "waits for 3 ops outside",
      "2 new placeholders for inputs",
      "5 ops with side effects: 1 Print, 4 AssignVariableOp",
    ]);
    expect(facts.at(-1)?.groups).toHaveLength(2);
  });

  test("a line that does not name all says so", () => {
    expect(sampleText([group("variable", 3, ["w1", "b1", "w2"])])).toBe("w1, b1, w2");
    expect(sampleText([group("variable", 4, ["w1", "b1", "w2", "b2"])])).toBe("w1, b1, w2, …");
    expect(sampleText([group("queue", 1), group("stack", 700)])).toBe("queue_0, stack_0, …");
  });

  test("says what each of several copies has", () => {
    const [own] = factsOf(
      previewed({ scopes: ["a_0", "a_1"], new: [group("map of sparse tensors", 2)] }),
    );
    expect(own?.text).toBe("2 own maps of sparse tensors in each copy");
  });

  test("keeps silent about what there is none of", () => {
    expect(factsOf(previewed())).toEqual([]);
  });

  test("finds the noun", () => {
    expect(plural(1, "map of sparse tensors")).toBe("1 map of sparse tensors");
    expect(plural(2, "map of sparse tensors")).toBe("2 maps of sparse tensors");
    expect(plural(0, "staging area")).toBe("0 staging areas");
  });
});

describe("own or shared", () => {
  const some = (all: "own" | "shared", ...moved: string[]) => {
    const modes = new StateModes();
    modes.set(all);
    modes.show(["a", "b", "c"]);
    for (const name of moved) modes.toggle(name);
    return modes;
  };

  test.each([
    ["own", [], ["own", "own", "own"]],
    ["own", ["b"], ["own", "shared", "own"]],
    ["shared", ["b", "c", "c"], ["shared", "own", "shared"]],
  ] as const)("all %s, and %j moved", (all, moved, expected) => {
    const modes = some(all, ...moved);
    expect(["a", "b", "c"].map((name) => modes.of(name))).toEqual(expected);
    expect(modes.text()).toBe(moved.length === 0 ? "Choose for each of 3" : modes.text());
  });

  test("says how many of each", () => {
    expect(some("own", "b").text()).toBe("2 own, 1 shared");
    expect(some("shared", "b").text()).toBe("1 own, 2 shared");
  });

  test("what is not in the part any more is forgotten", () => {
    const modes = some("own", "a", "b");
    modes.show(["b", "d"]);
    expect(modes.others).toEqual(["b"]);
  });

  test("a choice for all takes back each choice for one", () => {
    const modes = some("own", "a");
    modes.set("own");
    expect(modes.others).toEqual([]);
  });

  test("a long list is searched by name, kind or dtype", () => {
    const held = ["net/w", "net/table"].map(
      (name, i): PartState => ({
        name,
        kind: i ? "hash table" : "variable",
        dtype: i ? "" : "float32",
        shape: "",
        mode: "own",
      }),
    );
    const found = (text: string) => filterStates(held, text).map(({ name }) => name);
    expect(found(" ")).toEqual(["net/w", "net/table"]);
    expect(found("NET/W")).toEqual(["net/w"]);
    expect(found("hash")).toEqual(["net/table"]);
    expect(found("float")).toEqual(["net/w"]);
    expect(found("nowhere")).toEqual([]);
  });
});

const plain = Object.fromEntries(FORMS.clone.map(({ key, initial = "" }) => [key, initial]));

test("the form that nobody touched is a clone with its own variables", () => {
  expect(cloneOf({ ...plain, into: "copy" })).toEqual({ ...plainForm, into: "copy" });
});

test("one copy needs no number after its name, and what is not a number is one copy", () => {
  const copies = ["", "1", "0", "-3", "x", "2", "12"];
  expect(copies.map((times) => cloneOf({ ...plain, times }).times)).toEqual([
    null,
    null,
    null,
    null,
    null,
    2,
    12,
  ]);
});

test("options that are set can be read while they are folded", () => {
  const fields = (values: Record<string, string>) =>
    FORMS.clone.map((field) => ({ ...field, value: values[field.key] ?? field.initial ?? "" }));
  expect(moreText(fields({ into: "copy", variables: "shared" }))).toBe("More options");
  const set = { placeholders: "True", reseed: "True", times: "3", device: "/gpu:0" };
  expect(moreText(fields(set))).toBe(
    "More: new placeholders for inputs, new random seeds, copies: 3, device: /gpu:0",
  );
});
