// What outlives the kernel and the page: the edits of a document, by its path, in JupyterLab's own store.
import type { IStateDB } from "@jupyterlab/statedb";
import type { JSONObject, ReadonlyPartialJSONValue } from "@lumino/coreutils";
import type { Way } from "./pane";

/** As tfgraphwidget/jupyterlab/documents.py tells it and wants it back. */
export interface Kept extends JSONObject {
  edits: JSONObject[];
  stamp: string;
  saved: boolean;
}
/** Edits that could not be done again, and why: they are kept until a person does not want them any more. */
interface Aside extends Kept {
  why: string;
}

export class Keep {
  kept: Kept | null = null;
  aside: Aside | null = null;
  readonly #state: IStateDB | null;
  #path: string;
  /** What the store is asked is done in that order. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(state: IStateDB | null, path: string) {
    this.#state = state;
    this.#path = path;
  }

  /** What was kept for the path, if there is anything. */
  async read(): Promise<void> {
    const [kept, aside] = await Promise.all(
      [keyOf(this.#path), asideOf(this.#path)].map((key) => this.#state?.fetch(key).catch(() => undefined)),
    );
    if (isKept(kept)) this.kept = kept;
    if (isKept(aside)) this.aside = { ...aside, why: String(aside["why"]) };
  }

  async write(kept: Kept | null): Promise<void> {
    const had = this.kept;
    this.kept = kept;
    await this.#put(keyOf(this.#path), kept, had);
  }

  /** What is kept was not done again: it makes room for what comes now. */
  async setAside(why: string): Promise<void> {
    if (!this.kept) return;
    const had = this.aside;
    this.aside = { ...this.kept, why };
    await this.#put(asideOf(this.#path), this.aside, had);
    await this.write(null);
  }

  /** What was set aside is not wanted. */
  async forget(): Promise<void> {
    const had = this.aside;
    this.aside = null;
    await this.#put(asideOf(this.#path), null, had);
  }

  /** What a person is told of that many edits when their kernel is gone. */
  afterwards(edits: number): string {
    if (!edits) return "The file is opened again";
    const them = edits === 1 ? "The edit is" : `The ${edits} edits are`;
    return this.kept ? `${them} done again` : "The file is opened again, without its edits,";
  }

  async move(to: string): Promise<void> {
    const [from, { kept, aside }] = [this.#path, this];
    this.#path = to;
    await Promise.all([
      this.#put(keyOf(to), kept, null),
      this.#put(asideOf(to), aside, null),
      this.#put(keyOf(from), null, kept),
      this.#put(asideOf(from), null, aside),
    ]);
  }

  #put(key: string, kept: Kept | null, had: Kept | null): Promise<unknown> {
    const put = () => (kept ? this.#state?.save(key, kept) : had && this.#state?.remove(key));
    this.#last = this.#last.catch(() => {}).then(put);
    return this.#last;
  }
}

function keyOf(path: string): string {
  return `tfgraphwidget-edits:${path}`;
}

function asideOf(path: string): string {
  return `tfgraphwidget-edits-aside:${path}`;
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

/** What can be done with edits that could not be done again; none where there are none. */
export function asideWays(keep: Keep, title: string, over: () => void): Way[] {
  const { aside } = keep;
  if (!aside) return [];
  const forget = () => {
    void keep.forget().catch(() => {});
    over();
  };
  return [
    { label: "Download them", run: () => download(aside.edits, `${title}.edits.json`) },
    { label: "Discard them", run: forget },
  ];
}

/** As a file on the person's own disk, which `editor.replay` does. */
function download(edits: readonly JSONObject[], name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(edits)], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href)); // the browser has taken it by then
}
