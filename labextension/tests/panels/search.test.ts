import { describe, expect, test } from "vitest";
import { goToHit, stepHit, useAllHits } from "../../src/interaction/search-steps";
import { boldParts, wordsOf } from "../../src/panels/search/hit-list";
import { EXAMPLES } from "../../src/panels/search/query-help";
import type { SearchReply } from "../../src/protocol/messages";
import type { Answer } from "../../src/rpc/model-channel";
import {
  FIRST,
  firstLimit,
  foundChange,
  MOST,
  placeText,
  scopesOf,
  totalText,
  typedScope,
} from "../../src/state/search-results";
import { Store } from "../../src/state/store";
import { drawn, state } from "../example-graph";
import { inspected, NOTHING, opened } from "../kernel";

const found = (
  names: readonly string[],
  change: Partial<SearchReply> = {},
): SearchReply & { buffer: DataView } => ({
  type: "search_reply",
  hits: names.map((name) => ({ name, type: "Identity" })),
  total: names.length,
  why: "",
  scopes: 1,
  matches: null,
  excerpt: "",
  name_scopes: [],
  ...change,
  buffer: NOTHING,
});

/** A kernel that knows what is found, and reveals all that it is asked for. */
async function searched(answer: Answer, ...more: Answer[]) {
  const all = await opened(answer, ...more);
  await all.actions.search("x", FIRST);
  all.sent.length = 0;
  return all;
}

const shown = (times: number): Answer[] =>
  Array.from({ length: times }, () => [drawn({}, "a"), inspected("a")]).flat();

describe("the list", () => {
  test("has the hits by scope, the scope of the nearest first", () => {
    const hits = ["net/b/relu", "relu", "net/a/relu", "net/b/relu_1"].map((name) => ({
      name,
      type: "Relu",
    }));
    expect(
      scopesOf(hits).map(({ name, hits: held }) => [name, held.map((hit) => hit.name)]),
    ).toEqual([
      ["net/b", ["net/b/relu", "net/b/relu_1"]],
      ["", ["relu"]],
      ["net/a", ["net/a/relu"]],
    ]);
  });

  test("is what one steps through, in its order", () => {
    const before = new Store().value;
    expect(foundChange(found(["s/a", "b", "s/c"]), before)).toMatchObject({
      hitNames: ["s/a", "s/c", "b"],
      hit: -1,
    });
  });

  test("of a pattern has the ops of each match in the order of the list", () => {
    const matches = { text: "A(B)", names: [], inputs: [], replaceable: 2, reasons: [], near: [] };
    const ops = [["s/a", "s/b"], ["b"], ["s/c", "s/d"]];
    const answer = found(["s/a", "b", "s/c"], { matches: { ...matches, ops }, scopes: 2 });
    expect(foundChange(answer, new Store().value)).toMatchObject({
      hitNames: ["s/a", "s/c", "b"],
      hitOps: [["s/a", "s/b"], ["s/c", "s/d"], ["b"]],
    });
    expect(totalText(answer)).toBe("3 matches in 2 scopes, 2 of them replaceable");
    expect([firstLimit("pattern:A(B)"), firstLimit("type:A")]).toEqual([MOST, FIRST]);
  });

  test("that grows keeps the place one has come to", () => {
    const before = { ...new Store().value, hitNames: ["s/a", "b"], hit: 1 };
    expect(foundChange(found(["s/a", "b", "s/c"]), before)).toMatchObject({ hit: 2 });
    expect(foundChange(found(["s/a"]), before)).toMatchObject({ hit: -1 });
  });

  test("says how many there are, and what is wrong", () => {
    expect(totalText(null)).toBe("");
    expect(totalText(found([]))).toBe("No matches");
    expect(totalText(found([], { why: "No such key." }))).toBe("No such key.");
    expect(totalText(found(["a"], { total: 37, scopes: 5 }))).toBe(
      "37 found in 5 scopes, the first 1 shown",
    );
    expect(totalText(found(["a", "b"]))).toBe("2 found in one scope");
    expect(totalText(found(["a"], { why: "It was cut." }))).toBe(
      "1 found in one scope. It was cut.",
    );
  });
});

test("a name scope is where Enter goes if its whole name was typed", () => {
  const name_scopes = [
    { name: "net/one", ops: 3 },
    { name: "one", ops: 12 },
  ];
  const answer = found(["net/one/a"], { name_scopes });
  expect(
    ["one", " net/one/ ", "on", "One", "net"].map((query) => typedScope(answer, query)),
  ).toEqual(["one", "net/one", "", "", ""]);
  expect(typedScope(null, "one")).toBe("");
});

describe("stepping", () => {
  test("goes to one hit after the other, around at the end, and says where", async () => {
    const parts = await searched(found(["a", "b", "c"]), ...shown(5));
    expect(placeText(parts.store.value)).toBe("3");
    const seen: string[] = [];
    for (const by of [1, 1, 1, 1, -1] as const) {
      await stepHit(parts, by);
      seen.push(placeText(parts.store.value));
    }
    expect(seen).toEqual(["1 of 3", "2 of 3", "3 of 3", "1 of 3", "3 of 3"]);
    const revealed = parts.sent.flatMap((request) =>
      request.type === "reveal" ? [request.name] : [],
    );
    expect(revealed).toEqual(["a", "b", "c", "a", "c"]);
  });

  test("backwards begins at the last", async () => {
    const parts = await searched(found(["a", "b"]), ...shown(1));
    await stepHit(parts, -1);
    expect(parts.store.value.hit).toBe(1);
  });

  test("through nothing does nothing", async () => {
    const parts = await searched(found([]));
    await stepHit(parts, 1);
    await goToHit(parts, 7);
    expect(parts.sent).toEqual([]);
  });

  test("past the hits that are known asks for more, once", async () => {
    const parts = await searched(
      found(["a"], { total: 2 }),
      ...shown(1),
      found(["a", "b"]),
      ...shown(1),
    );
    await stepHit(parts, 1);
    await stepHit(parts, 1);
    expect(parts.sent.map(({ type }) => type)).toEqual([
      "reveal",
      "inspect",
      "search",
      "reveal",
      "inspect",
    ]);
    expect(parts.sent[2]).toEqual({ type: "search", text: "x", limit: MOST });
    expect(parts.store.value.hitNames[parts.store.value.hit]).toBe("b");
  });

  test("goes around when there are no more to be had", async () => {
    const same = found(["a"], { total: 2 });
    const parts = await searched(same, ...shown(1), same, ...shown(1));
    await stepHit(parts, 1);
    await stepHit(parts, 1);
    expect(parts.store.value.hit).toBe(0);
  });

  test("begins anew with another query, and ends with none", async () => {
    const parts = await searched(found(["a", "b"]), ...shown(1), found(["a", "b"]));
    await stepHit(parts, 1);
    await parts.actions.search("y", FIRST);
    expect(parts.store.value).toMatchObject({ hit: -1, hitNames: ["a", "b"] });
    await parts.actions.search("");
    expect(parts.store.value).toMatchObject({ found: null, hitNames: [], hit: -1 });
  });
});

test("all that was found goes by its query, also what the list does not hold", async () => {
  const parts = await searched(found(["a"], { total: 5000 }), drawn({ hidden: 5000 }));
  await useAllHits(parts, "hide");
  expect(parts.sent).toEqual([{ type: "select_matching", text: "x", use: "hide" }]);
  expect(parts.store.value.state).toEqual(state({ hidden: 5000 }));
});

describe("what is bold", () => {
  test.each([
    ["conv relu", ["conv", "relu"], ["conv", "relu"]],
    ["name:bias -grad /x.*/ dtype:float32", ["bias"], []],
    ["type:Conv*Back 'a b'", ["a b"], ["Conv", "Back", "a b"]],
    ["net/block1/w", ["w"], ["w"]],
    ["scope:", [], []],
  ])("of %s", (query, inNames, inTypes) => {
    expect(wordsOf(query, "name")).toEqual(inNames);
    expect(wordsOf(query, "type")).toEqual(inTypes);
  });

  test("are the parts that were asked for, whatever their case", () => {
    expect(boldParts("BiasAdd", ["add", "bi"])).toEqual([
      { part: "Bi", bold: true },
      { part: "as", bold: false },
      { part: "Add", bold: true },
    ]);
    expect(boldParts("x", [])).toEqual([{ part: "x", bold: false }]);
    expect(boldParts("İx", ["x"])).toEqual([{ part: "İx", bold: false }]);
    expect(boldParts("<img src=x>", ["img"]).map(({ part }) => part)).toEqual([
      "<",
      "img",
      " src=x>",
    ]);
  });
});

test("each example of the syntax is there once, with what it finds", () => {
  expect(new Set(EXAMPLES.map(({ text }) => text)).size).toBe(EXAMPLES.length);
  for (const { what } of EXAMPLES) expect(what).not.toBe("");
});

describe("what is like some items", () => {
  test("is found by their pattern, or else by the query for such items", async () => {
    const { actions, store, sent } = await opened(
      { type: "likeness", pattern: "Relu(x)", buffer: NOTHING },
      found(["a"]),
      {
        type: "refusal",
        why: "no",
        ops: [],
        fixes: [],
        argument: "",
        trust: false,
        buffer: NOTHING,
      },
      found(["b"]),
    );
    sent.length = 0;
    await actions.findLike(["net/relu"]);
    expect(sent).toEqual([
      { type: "like", names: ["net/relu"] },
      { type: "search", text: "pattern:Relu(x)", limit: MOST },
    ]);
    expect(store.value.query).toBe("pattern:Relu(x)");
    await actions.findLike(["x"], "type:Placeholder");
    expect(store.value.query).toBe("type:Placeholder");
    expect(store.value.status).toBeNull();
  });
});
