// Stores the edits of a document, by its path, in JupyterLab's state database: they survive kernel
// and page.
import type { IStateDB } from "@jupyterlab/statedb";
import type { JSONObject, ReadonlyPartialJSONValue } from "@lumino/coreutils";
import type { PaneAction } from "./pane";

/** As tfgraphwidget/jupyterlab/documents.py sends it and takes it back. */
export interface SavedEdits extends JSONObject {
  edits: JSONObject[];
  stamp: string;
  saved: boolean;
}
/** Edits that could not be restored, and why: they are kept until the user discards them. */
interface RejectedEdits extends SavedEdits {
  why: string;
}

export class EditStore {
  edits: SavedEdits | null = null;
  rejected: RejectedEdits | null = null;
  readonly #state: IStateDB | null;
  #path: string;
  /** The last operation on the database: operations run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(state: IStateDB | null, path: string) {
    this.#state = state;
    this.#path = path;
  }

  /** Read the stored edits of the path. */
  async read(): Promise<void> {
    const [edits, rejected] = await Promise.all(
      [editsKey(this.#path), rejectedKey(this.#path)].map((key) =>
        this.#state?.fetch(key).catch(() => undefined),
      ),
    );
    if (isSavedEdits(edits)) this.edits = edits;
    if (isSavedEdits(rejected)) this.rejected = { ...rejected, why: String(rejected["why"]) };
  }

  async write(kept: SavedEdits | null): Promise<void> {
    const had = this.edits;
    this.edits = kept;
    await this.#put(editsKey(this.#path), kept, had);
  }

  /** The stored edits could not be restored: set them aside, so that new edits can be stored. */
  async reject(why: string): Promise<void> {
    if (!this.edits) return;
    const had = this.rejected;
    this.rejected = { ...this.edits, why };
    await this.#put(rejectedKey(this.#path), this.rejected, had);
    await this.write(null);
  }

  /** Discard the edits that were set aside. */
  async discardRejected(): Promise<void> {
    const had = this.rejected;
    this.rejected = null;
    await this.#put(rejectedKey(this.#path), null, had);
  }

  /** Text for the user: what happens to that many edits after the kernel has ended. */
  restoreText(edits: number): string {
    if (!edits) return "The file is opened again";
    const them = edits === 1 ? "The edit is" : `The ${edits} edits are`;
    return this.edits ? `${them} done again` : "The file is opened again, without its edits,";
  }

  async move(to: string): Promise<void> {
    const [from, { edits, rejected }] = [this.#path, this];
    this.#path = to;
    await Promise.all([
      this.#put(editsKey(to), edits, null),
      this.#put(rejectedKey(to), rejected, null),
      this.#put(editsKey(from), null, edits),
      this.#put(rejectedKey(from), null, rejected),
    ]);
  }

  #put(key: string, kept: SavedEdits | null, had: SavedEdits | null): Promise<unknown> {
    const put = () => (kept ? this.#state?.save(key, kept) : had && this.#state?.remove(key));
    this.#last = this.#last.catch(() => {}).then(put);
    return this.#last;
  }
}

function editsKey(path: string): string {
  return `tfgraphwidget-edits:${path}`;
}

function rejectedKey(path: string): string {
  return `tfgraphwidget-edits-aside:${path}`;
}

function isSavedEdits(found: ReadonlyPartialJSONValue | undefined): found is SavedEdits {
  return (
    typeof found === "object" &&
    found !== null &&
    "edits" in found &&
    Array.isArray(found["edits"]) &&
    "stamp" in found
  );
}

/** What can be done with edits that could not be done again; none where there are none. */
export function rejectedActions(keep: EditStore, title: string, over: () => void): PaneAction[] {
  const { rejected } = keep;
  if (!rejected) return [];
  const forget = () => {
    void keep.discardRejected().catch(() => {});
    over();
  };
  return [
    { label: "Download them", run: () => download(rejected.edits, `${title}.edits.json`) },
    { label: "Discard them", run: forget },
  ];
}

/** Download the edits as a file that `editor.history.replay` reads. */
function download(edits: readonly JSONObject[], name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(edits)], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href)); // the browser has taken it by then
}
