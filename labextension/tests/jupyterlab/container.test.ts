// The container that JupyterLab loads: modules that others share, and those that nobody does.
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";

interface Part {
  needs: string[];
  run(module: { exports: unknown }, require: (wanted: string) => unknown): void;
}
type Entry = () => Promise<() => unknown>;

/** What JupyterLab gets of a part, where these modules are shared. */
async function loaded(entry: Part, shares: Record<string, unknown>): Promise<unknown> {
  const page = { _JUPYTERLAB: {} as Record<string, { init(scope: object): void; get: Entry }> };
  const code = readFileSync(new URL("../../container.js", import.meta.url), "utf8")
    .trim()
    .replace(/;$/, "");
  const container = runInNewContext(code.replace(/^(\/\/.*\n)+/, ""), {
    window: page,
    document: { currentScript: { src: "http://localhost/static/remoteEntry.js" } },
  });
  container("ours", "lazy.js", entry);
  const versions = Object.entries(shares).map(([name, module]) => [
    name,
    { "1.0.0": { get: async () => () => module } },
  ]);
  const { init, get } = page._JUPYTERLAB["ours"] ?? { init: () => {}, get: async () => () => null };
  init(Object.fromEntries(versions));
  return (await get())();
}

test("a part gets the modules that it needs", async () => {
  const run: Part["run"] = (made, require) => {
    made.exports = require("@lumino/widgets");
  };
  expect(await loaded({ needs: ["@lumino/widgets"], run }, { "@lumino/widgets": "Lumino's" })).toBe(
    "Lumino's",
  );
});

test("a module that nobody shares fails whoever asks for it, alone", async () => {
  let ask = () => {};
  const run: Part["run"] = (made, require) => {
    ask = () => void require("@jupyter-widgets/jupyterlab-manager");
    made.exports = require("@lumino/widgets");
  };
  const needs = ["@jupyter-widgets/jupyterlab-manager", "@lumino/widgets"];
  expect(await loaded({ needs, run }, { "@lumino/widgets": "Lumino's" })).toBe("Lumino's");
  expect(ask).toThrow(
    "ours needs @jupyter-widgets/jupyterlab-manager, which this application does not share.",
  );
});
