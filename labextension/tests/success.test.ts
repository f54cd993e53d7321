// What edits say once they are made (written by tests/widget/test_success.py) is shown as it is, as
// a success: the kind of the reply decides, and no sentence does.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { drawn } from "./example-graph";
import { opened, refused } from "./kernel";

const FILE = fileURLToPath(new URL("success.json", import.meta.url));
const SENTENCES: Record<string, string> = JSON.parse(readFileSync(FILE, "utf8"));

describe.each([
  ...Object.entries(SENTENCES),
  ["another edit", "This can be done in a cell of the notebook only."],
])("%s", (_, text) => {
  test("is a success or a refusal by its reply, whatever it says", async () => {
    const { actions, store } = await opened(drawn({}, "", { text }), refused(text));
    expect(await actions.edits.change("bypass", ["net"])).toBe(true);
    expect(store.value.status).toMatchObject({ kind: "notice", text });
    expect(await actions.edits.change("bypass", ["net"])).toBe(false);
    expect(store.value.status).toMatchObject({ kind: "refused", text });
  });
});
