// What outlives the kernel and the page: the edits of a document, by its path, in JupyterLab's own store.
import type { IStateDB } from "@jupyterlab/statedb";
import type { JSONObject, ReadonlyPartialJSONValue } from "@lumino/coreutils";

/** As tfgraphwidget/lab/files.py tells it and wants it back. */
export interface Kept extends JSONObject {
  edits: JSONObject[];
  stamp: string;
  saved: boolean;
}

export class Keep {
  kept: Kept | null = null;
  readonly #state: IStateDB | null;

  constructor(state: IStateDB | null) {
    this.#state = state;
  }

  /** What was kept for a path, if there is anything. */
  async read(path: string): Promise<void> {
    const found = await this.#state?.fetch(keyOf(path)).catch(() => undefined);
    if (isKept(found)) this.kept = found;
  }

  async write(path: string, kept: Kept | null): Promise<void> {
    const had = this.kept;
    this.kept = kept;
    if (kept) await this.#state?.save(keyOf(path), kept);
    else if (had) await this.#state?.remove(keyOf(path));
  }

  async move(from: string, to: string): Promise<void> {
    const { kept } = this;
    await this.write(from, null);
    await this.write(to, kept);
  }
}

function keyOf(path: string): string {
  return `tfgraphwidget-edits:${path}`;
}

function isKept(found: ReadonlyPartialJSONValue | undefined): found is Kept {
  return (
    typeof found === "object" &&
    found !== null &&
    "edits" in found &&
    Array.isArray(found["edits"]) &&
    "stamp" in found
  );
}
