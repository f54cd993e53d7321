// What a sentence means comes in a field beside it: the page shows sentences, and reads nothing out
// of them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

/**
 * The fields of replies, of statuses and of the page that hold sentences; lines of a text may be
 * told apart.
 */
const FIELDS =
  "about|ask|error|exists|message|notice|reason|reasons|refusal|sentence|" +
  "text|textContent|why|warning";
const READS = "endsWith|includes|indexOf|match|matchAll|search|slice|split|startsWith";
const READ = new RegExp(
  `\\.(?:${FIELDS})(?:\\s*\\?\\?\\s*"")?\\)?[?!]?\\.(?:${READS})\\((?!"\\\\n"\\))|` +
    `\\.(?:test|exec)\\([\\w.?]+\\.(?:${FIELDS})\\b`,
  "g",
);

function readings(source: string): string[] {
  return [...source.matchAll(READ)].map(([found]) => found);
}

test("no module reads a meaning out of a sentence", () => {
  const found = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) =>
      readings(readFileSync(join(SOURCE, name), "utf8")).map((each) => `${name}: ${each}`),
    );
  expect(found).toEqual([]);
});

test.each([
  'replace.hidden = !error.textContent?.includes("has a variable");',
  'String(Boolean(found?.why.endsWith("^")))',
  'const [first] = (store.value.status?.text ?? "").split(";");',
  "if (/^Variable /.test(refusal.why)) retry();",
])("it would be found: %s", (line) => {
  expect(readings(line)).toHaveLength(1);
});
