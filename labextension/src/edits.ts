// Edits: each is one call of the editor's method of that name; and what is asked around them.
import type { ChangeRequest, Hit, Targeted } from "./protocol";
import type { Store } from "./store";
import type { Turns } from "./turns";

export type ChangeVerb = ChangeRequest["verb"];
/** Arguments by name, as Python: `quoted` makes it of text. */
export type Options = Readonly<Record<string, string>>;

const HITS = 20;

/** Text or names as a Python literal. */
export function quoted(value: string | readonly string[]): string {
  return JSON.stringify(value);
}

export class Edits {
  readonly #store: Store;
  readonly #turns: Turns;

  constructor(store: Store, turns: Turns) {
    this.#store = store;
    this.#turns = turns;
  }

  /** Edit what is named, or else the selection; whether it was done. */
  async change(verb: ChangeVerb, what: readonly string[] = [], options: Options = {}): Promise<boolean> {
    const { state } = this.#store.value;
    const [keys, values] = [Object.keys(options), Object.values(options)];
    await this.#turns.take(() => ({ type: "change", verb, what: [...what], keys, values }));
    const after = this.#store.value;
    return after.state !== state && after.status?.kind === "notice";
  }

  /** Do what a refusal offered. */
  mend(line: string): Promise<void> {
    return this.#turns.take(() => ({ type: "mend", line }));
  }

  undo(): Promise<void> {
    return this.#turns.take(() => (this.#store.value.state?.undo ? { type: "undo" } : null));
  }

  redo(): Promise<void> {
    return this.#turns.take(() => (this.#store.value.state?.redo ? { type: "redo" } : null));
  }

  /** Back or forth to where so many edits are done. */
  jump(to: number): Promise<void> {
    return this.#turns.take(() =>
      to === this.#store.value.state?.code.length ? null : { type: "jump", to },
    );
  }

  /** Show what differs from the graph as it was opened, or no longer. */
  compare(show = !this.#store.value.state?.comparing): Promise<void> {
    return this.#turns.take(() => ({ type: "compare", show }));
  }

  /** Run the graph and look at what an op gives, or the selected ones. */
  probe(name = ""): Promise<void> {
    return this.#turns.take(() => ({ type: "probe", name }));
  }

  /** Where a tensor may be dropped; a refusal is shown. */
  async targets(tensor: string, op = ""): Promise<Targeted | null> {
    const answer = await this.#turns.question({ type: "targets", tensor, op });
    if (answer?.type === "targeted") return answer;
    if (answer) this.#turns.accept(answer);
    return null;
  }

  /** The whole as a Python script; a refusal is shown. */
  async script(): Promise<string | null> {
    const answer = await this.#turns.question({ type: "script" });
    if (answer?.type === "scripted") return answer.text;
    if (answer) this.#turns.accept(answer);
    return null;
  }

  /** Ops with the text in their name or type. */
  async complete(text: string): Promise<readonly Hit[]> {
    const answer = await this.#turns.question({ type: "search", text, limit: HITS });
    return answer?.type === "found" ? answer.hits : [];
  }
}
