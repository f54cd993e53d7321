// Which folder may import which, type imports included. Cycles between modules are the linter's
// (noImportCycles).
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

/**
 * What each folder, or module at the top, imports. `render` draws what is in `state`, which holds
 * its cameras.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  protocol: [],
  rpc: ["protocol"],
  state: ["protocol", "rpc", "render"],
  render: ["protocol", "state"],
  interaction: ["protocol", "rpc", "state", "render"],
  panels: ["protocol", "state", "render", "interaction"],
  styles: [],
  "app.ts": ["protocol", "rpc", "state", "render", "interaction", "panels", "styles"],
  beside: ["app.ts", "protocol", "rpc", "state", "render", "interaction", "panels", "styles"],
  "widget.ts": ["app.ts", "beside", "rpc"],
  offline: ["app.ts", "beside", "protocol", "rpc"],
  jupyterlab: ["rpc", "state"],
};

function partOf(path: string): string {
  const [first = ""] = relative(SOURCE, path).split("/");
  return first in MAY_IMPORT ? first : `${first}.ts`;
}

/** All imports from one part of the source to another, as "panels -> state". */
function importsBetweenParts(): Set<string> {
  const found = new Set<string>();
  for (const name of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || name.endsWith(".d.ts")) continue;
    const path = join(SOURCE, name);
    for (const [, specifier = ""] of readFileSync(path, "utf8").matchAll(
      /(?:from|import) "(\.[^"]+)"/g,
    )) {
      const [from, to] = [partOf(path), partOf(join(dirname(path), specifier))];
      if (from !== to) found.add(`${from} -> ${to}`);
    }
  }
  return found;
}

test("a folder imports what the table says, and the table says no more", () => {
  const allowed = Object.entries(MAY_IMPORT).flatMap(([from, to]) =>
    to.map((each) => `${from} -> ${each}`),
  );
  expect([...importsBetweenParts()].sort()).toEqual(allowed.sort());
});
