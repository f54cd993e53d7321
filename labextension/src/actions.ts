// From gesture to store or request. Edits go one after another, so that each starts from the state the last one left.
import { type Answer, assertNever, type Channel } from "./channel";
import type { CloneRequest, Drawn, Painted, Request } from "./protocol";
import type { Anchor, Arrival } from "./render/stage";
import { at, CLOSED, decodePaint, decodeScene, keyOf, OP, type Scene } from "./scene";
import type { Mode, Screen, Status, Store } from "./store";

export type Side = "inputs" | "outputs";
type CloneForm = Pick<CloneRequest, "into" | "variables" | "init">;

/** What the actions need of the stage. */
export interface Show {
  show(scene: Scene, change: Partial<Screen>, arrival: Arrival): void;
}

/** An answer that comes later than this, in milliseconds, is worth a word. */
const SLOW = 2500;
const HITS = 50;

export class Actions {
  readonly #store: Store;
  readonly #channel: Channel;
  readonly #stage: Show;
  #lastTurn: Promise<void> = Promise.resolve();
  readonly #closed = new AbortController();
  #inspecting = new AbortController();
  #searching = new AbortController();

  constructor(store: Store, channel: Channel, stage: Show) {
    this.#store = store;
    this.#channel = channel;
    this.#stage = stage;
  }

  /** No answer is waited for any more. */
  close(): void {
    this.#closed.abort();
    this.#inspecting.abort();
    this.#searching.abort();
  }

  open(): Promise<void> {
    return this.#edit(() => ({ type: "open" }));
  }

  /** Open again when the kernel knows a newer state than the last reply carried. */
  catchUp(revision: () => number): Promise<void> {
    return this.#edit(() =>
      revision() > (this.#store.value.state?.revision ?? -1) ? { type: "open" } : null,
    );
  }

  toggle(item: number, anchor?: Anchor): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0 || at(scene.kind, item) === OP) return Promise.resolve();
    return this.#edit(() => ({ type: "toggle", scope: scene.names[item] ?? "" }), { anchor });
  }

  /** Bring an op, tensor or scope into view and into the inspector. */
  async reveal(name: string): Promise<void> {
    await this.#edit(() => ({ type: "reveal", name }));
    const { status } = this.#store.value;
    if (status && status.kind !== "notice") return;
    await this.inspect(name.replace(/^\^/, "").replace(/:\d+$/, ""));
  }

  pick(item: number): Promise<void> {
    const { scene } = this.#store.value;
    if (scene && item > 0) return this.inspect(keyOf(scene, item));
    this.#inspecting.abort();
    this.#store.set({ picked: "", details: null });
    return Promise.resolve();
  }

  async inspect(key: string): Promise<void> {
    this.#inspecting.abort();
    this.#inspecting = new AbortController();
    this.#store.set({ picked: key });
    await this.#ask({ type: "inspect", name: key }, this.#inspecting.signal);
  }

  async search(text: string): Promise<void> {
    this.#searching.abort();
    this.#searching = new AbortController();
    this.#store.set({ query: text });
    if (text.trim() === "") this.#store.set({ found: null });
    else await this.#ask({ type: "search", text: text.trim(), limit: HITS }, this.#searching.signal);
  }

  setMode(mode: Mode): void {
    this.#store.set({ mode });
  }

  /** Mark an op as boundary, or unmark it. */
  mark(item: number, side: Side): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0) return Promise.resolve();
    const name = scene.names[item] ?? "";
    if (at(scene.kind, item) !== OP) {
      const way = at(scene.kind, item) === CLOSED ? "open it and click an op" : "click an op";
      return this.#refuse(`"${name}" is a scope, and a boundary is made of ops: ${way} inside.`);
    }
    return this.toggleBoundary(name, side);
  }

  /** Add an op to a side of the boundary, or take it, or a tensor of it, away. */
  toggleBoundary(name: string, side: Side): Promise<void> {
    return this.#edit(() => {
      const { inputs, outputs } = this.#boundary();
      const old = side === "inputs" ? inputs : outputs;
      const kept = old.filter((known) => opOf(known) !== opOf(name));
      const changed = kept.length < old.length ? kept : [...old, name];
      return side === "inputs"
        ? { type: "boundary", inputs: changed, outputs }
        : { type: "boundary", inputs, outputs: changed };
    });
  }

  clearBoundary(): Promise<void> {
    return this.#edit(() => ({ type: "boundary", inputs: [], outputs: [] }));
  }

  clone(form: CloneForm): Promise<void> {
    return this.#edit(() => ({ type: "clone", ...this.#boundary(), ...form }));
  }

  undo(): Promise<void> {
    return this.#edit(() => (this.#store.value.state?.undo ? { type: "undo" } : null));
  }

  redo(): Promise<void> {
    return this.#edit(() => (this.#store.value.state?.redo ? { type: "redo" } : null));
  }

  dismiss(): void {
    this.#store.set({ status: null, warned: [] });
  }

  say(status: Status): void {
    this.#store.set({ status });
  }

  #boundary(): { inputs: string[]; outputs: string[] } {
    const { state } = this.#store.value;
    return { inputs: state?.inputs ?? [], outputs: state?.outputs ?? [] };
  }

  #refuse(text: string): Promise<void> {
    this.say({ kind: "refused", text });
    return Promise.resolve();
  }

  /** Send what `request` says once all earlier edits are answered; nothing when it says null. */
  #edit(request: () => Request | null, arrival: Arrival = {}): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(async () => {
      const message = request();
      if (message && !this.#closed.signal.aborted) await this.#ask(message, this.#closed.signal, arrival);
    });
    return this.#lastTurn;
  }

  async #ask(message: Request, signal?: AbortSignal, arrival: Arrival = {}): Promise<void> {
    this.#store.set({ pending: this.#store.value.pending + 1 });
    const late = setTimeout(() => this.#store.set({ slow: true }), SLOW);
    try {
      this.#accept(await this.#channel.request(message, signal ? { signal } : {}), arrival);
    } catch (error) {
      // Given up for a newer question: nobody waits for this answer.
      if (!signal?.aborted)
        this.say({ kind: "error", text: error instanceof Error ? error.message : String(error) });
    } finally {
      clearTimeout(late);
      const pending = this.#store.value.pending - 1;
      this.#store.set({ pending, slow: pending > 0 && this.#store.value.slow });
    }
  }

  #accept(answer: Answer, arrival: Arrival): void {
    switch (answer.type) {
      case "drawn":
        this.#draw(answer, arrival);
        break;
      case "painted":
        this.#paint(answer);
        break;
      case "inspected":
        this.#store.set({ details: answer });
        break;
      case "found":
        this.#store.set({ found: answer });
        break;
      case "refused":
        this.#store.set({ status: { kind: "refused", text: answer.why }, warned: answer.ops });
        break;
      default:
        assertNever(answer);
    }
  }

  #draw(answer: Drawn & { buffer: DataView }, arrival: Arrival): void {
    const scene = decodeScene(answer.fields, answer.buffer);
    const paint = decodePaint(answer.fields, answer.buffer, scene.length);
    const change = { paint, state: answer.state, ...spoken(answer.state.notice) };
    this.#stage.show(scene, change, { ...arrival, focus: answer.focus });
  }

  #paint(answer: Painted & { buffer: DataView }): void {
    const { scene } = this.#store.value;
    const said = { state: answer.state, ...spoken(answer.state.notice) };
    const length = answer.fields.find((field) => field.name === "coverage")?.shape[0];
    if (scene?.length === length && scene) {
      const paint = decodePaint(answer.fields, answer.buffer, scene.length);
      this.#store.set({ ...said, paint, drawn: false });
    } else {
      // Another view has opened or closed a scope meanwhile: the selection is for a drawing that we do not have.
      this.#store.set(said);
      void this.open();
    }
  }
}

function spoken(notice: string): Pick<Screen, "status" | "warned"> {
  return { status: notice ? { kind: "notice", text: notice } : null, warned: [] };
}

/** The op of a tensor's or an op's name. */
export function opOf(name: string): string {
  return name.replace(/:\d+$/, "");
}
