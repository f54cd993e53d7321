// From gesture to store or request. Edits go one after another, so that each starts from the state the last one left.
import type { Answer, Channel } from "./channel";
import { Edits } from "./edits";
import { Foresight } from "./foresight";
import type {
  CloneRequest,
  ColourRequest,
  GatherRequest,
  HideRequest,
  PictureRequest,
  PinRequest,
  SelectRequest,
  State,
  TurnRequest,
  UnfoldRequest,
  UnpinRequest,
} from "./protocol";
import type { Anchor } from "./render/arrival";
import type { Region, Taken } from "./render/region";
import type { Show } from "./replies";
import { at, BADGE, CLOSED, isScope, keyOf } from "./scene";
import { isSelecting, type Verb, whyNot } from "./selecting";
import type { Mode, Status, Store, Tool } from "./store";
import { Turns } from "./turns";

export type Side = "inputs" | "outputs";
/** What a person fills in; the part that is cloned is the boundary's, or the selection. */
export type CloneForm = Omit<CloneRequest, "type" | "inputs" | "outputs">;

/** What changes the drawing and nothing else. */
export type LookRequest =
  | ColourRequest
  | GatherRequest
  | HideRequest
  | PinRequest
  | TurnRequest
  | UnfoldRequest
  | UnpinRequest;

const HITS = 50;
/** Names in one request: a message of more than 10 MB never arrives. */
const MOST_NAMES = 20_000;

export class Actions {
  /** Edits, and what is asked around them. */
  readonly edits: Edits;
  readonly #store: Store;
  readonly #turns: Turns;
  readonly #foresight: Foresight;
  #searching = new AbortController();
  #examining = new AbortController();

  constructor(store: Store, channel: Channel, stage: Show) {
    this.#store = store;
    this.#turns = new Turns(store, channel, stage, () => void this.open());
    this.edits = new Edits(store, this.#turns);
    this.#foresight = new Foresight(store, this.#turns, stage);
  }

  /** No answer is waited for any more. */
  close(): void {
    this.#turns.close();
    this.#searching.abort();
    this.#examining.abort();
  }

  open(): Promise<void> {
    return this.#turns.take(() => ({ type: "open" }));
  }

  /** Open again when the kernel knows a newer state than the last reply carried. */
  catchUp(revision: () => number): Promise<void> {
    return this.#turns.take(() =>
      revision() > (this.#store.value.state?.revision ?? -1) ? { type: "open" } : null,
    );
  }

  /** Have the kernel read the graph anew. */
  refresh(): Promise<void> {
    return this.#turns.take(() => ({ type: "refresh" }));
  }

  async toggle(item: number, anchor?: Anchor, deep = false): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0 || !isScope(at(scene.kind, item))) return;
    const scope = scene.names[item] ?? "";
    let shown: State | null = null;
    await this.#turns.take(
      () => {
        const seen = deep ? "" : this.#foresight.show(scope, { anchor });
        shown = seen ? this.#store.value.state : null;
        return { type: "toggle", scope, deep, seen };
      },
      { anchor },
    );
    // Where the kernel has not agreed, what is shown is not what there is.
    await this.#turns.take(() => (shown && shown === this.#store.value.state ? { type: "open" } : null));
  }

  /** Change what is drawn, and how. */
  look(request: LookRequest): Promise<void> {
    return this.#turns.take(() => request);
  }

  /** The drawing as a file; null when there is none. */
  picture(asked: Omit<PictureRequest, "type">): Promise<Answer | null> {
    return this.#turns.question({ type: "picture", ...asked });
  }

  /** Open or close a scope, go through a door. */
  activate(item: number, anchor?: Anchor): Promise<void> {
    const { scene } = this.#store.value;
    // A badge lies on the box that it belongs to.
    if (scene && at(scene.kind, item) === BADGE) return this.activate(at(scene.parent, item), anchor);
    if (scene && at(scene.door, item) === 1) return this.enter(scene.names[item] ?? "");
    return this.toggle(item, anchor);
  }

  /** Go into a function that an op calls; `label` says which one when there are several. */
  enter(op: string, label = ""): Promise<void> {
    return this.#turns.take(() => ({ type: "enter", op, label }));
  }

  /** Go back out to a room of the path, or by one. */
  leave(depth?: number): Promise<void> {
    return this.#turns.take(() => {
      const inside = (this.#store.value.state?.path.length ?? 1) - 1;
      const to = depth ?? inside - 1;
      return to >= 0 && to < inside ? { type: "leave", depth: to } : null;
    });
  }

  /** Bring an op, tensor or scope into view and into the inspector. */
  async reveal(name: string): Promise<void> {
    await this.#turns.take(() => ({ type: "reveal", name }));
    const { status } = this.#store.value;
    if (status && status.kind !== "notice") return;
    await this.inspect(name.replace(/^\^/, "").replace(/:\d+$/, ""));
  }

  async pick(item: number): Promise<void> {
    const { scene } = this.#store.value;
    if (scene && item > 0) return this.inspect(keyOf(scene, item));
    this.#turns.lookElsewhere();
    this.#store.set({ picked: "", details: null });
  }

  async inspect(key: string): Promise<void> {
    const signal = this.#turns.lookElsewhere();
    this.#store.set({ picked: key });
    // Who walks, or searches, for the op to take keeps the form that asks for it.
    if (!this.#store.value.picking) await this.#turns.ask({ type: "inspect", name: key }, signal);
  }

  /** What there is to say of what is looked at beyond its wiring. */
  async examine(name: string): Promise<void> {
    this.#examining.abort();
    this.#examining = new AbortController();
    const answer = await this.#turns.further({ type: "examine", name }, this.#examining.signal);
    if (answer?.type === "examined") this.#turns.accept(answer);
  }

  /** Find ops, at most so many at first; another query begins at its first hit. */
  async search(query: string, limit = HITS): Promise<void> {
    this.#searching.abort();
    this.#searching = new AbortController();
    this.#store.set(query === this.#store.value.query ? {} : { query, hit: -1 });
    const text = query.trim();
    if (text === "") this.#store.set({ found: null, hitNames: [] });
    else await this.#turns.ask({ type: "search", text, limit }, this.#searching.signal);
  }

  setMode(mode: Mode): void {
    this.#store.set({ mode });
  }

  setTool(tool: Tool): void {
    this.#store.set({ tool, region: null });
  }

  /** One thing less: what is being dragged or picked, the box that is being drawn, else the tool, else the message. */
  back(): void {
    const { region, tool, aim, picking, lift } = this.#store.value;
    if (aim || picking || lift) this.#store.set({ aim: null, picking: null, lift: null });
    else if (region) this.#store.set({ region: null });
    else if (tool !== "pan") this.setTool("pan");
    else this.dismiss();
  }

  /** What a box or lasso has taken becomes the selection, joins it or leaves it. */
  async selectTaken({ ops, scopes }: Taken, { shape, verb }: Region): Promise<void> {
    if (ops.length + scopes.length === 0) {
      const why =
        shape === "box" ? "Nothing lies wholly inside the box" : "Nothing has its middle in the lasso";
      return this.say({ kind: "notice", text: `${why}, so the selection stays.` });
    }
    for (let start = 0; start < Math.max(ops.length, scopes.length); start += MOST_NAMES) {
      const [some, others] = [ops, scopes].map((names) => names.slice(start, start + MOST_NAMES));
      await this.#select(start > 0 && verb === "set" ? "add" : verb, some, others);
    }
  }

  /** Take an op or scope into the selection, or out of it. */
  toggleSelected(item: number): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0) return Promise.resolve();
    const name = [scene.names[item] ?? ""];
    return isScope(at(scene.kind, item)) ? this.#select("toggle", [], name) : this.#select("toggle", name);
  }

  /** Make a new selection from the present one. */
  derive(verb: Verb): Promise<void> {
    return this.#turns.take(() => {
      const text = whyNot(verb, this.#store.value.state);
      if (text === "") return { type: "derive", verb };
      this.say({ kind: "refused", text });
      return null;
    });
  }

  /** Neither a selection nor a boundary any more. */
  clearSelection(): Promise<void> {
    void this.#turns.take(() =>
      isSelecting(this.#store.value.state) ? { type: "derive", verb: "clear" } : null,
    );
    return this.#turns.take(() => {
      const { inputs, outputs } = this.#boundary();
      return inputs.length + outputs.length > 0 ? { type: "boundary", inputs: [], outputs: [] } : null;
    });
  }

  /** Mark an op as boundary, or unmark it. */
  mark(item: number, side: Side): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0) return Promise.resolve();
    const name = scene.names[item] ?? "";
    if (isScope(at(scene.kind, item))) {
      const way = at(scene.kind, item) === CLOSED ? "open it and click an op" : "click an op";
      const text = `"${name}" is a scope, and a boundary is made of ops: ${way} inside.`;
      this.say({ kind: "refused", text });
      return Promise.resolve();
    }
    return this.toggleBoundary(name, side);
  }

  /** Add an op to a side of the boundary, or take it, or a tensor of it, away. */
  toggleBoundary(name: string, side: Side): Promise<void> {
    return this.#turns.take(() => {
      const { inputs, outputs } = this.#boundary();
      const old = side === "inputs" ? inputs : outputs;
      const kept = old.filter((known) => opOf(known) !== opOf(name));
      const changed = kept.length < old.length ? kept : [...old, name];
      return side === "inputs"
        ? { type: "boundary", inputs: changed, outputs }
        : { type: "boundary", inputs, outputs: changed };
    });
  }

  /** Take the selection out of the graph, or else what is looked at. */
  async removeSelected(): Promise<void> {
    const { state, picked } = this.#store.value;
    const text = "Nothing is selected: click an op or a scope first, or draw a box (b).";
    if (isSelecting(state)) await this.edits.change("remove");
    else if (picked !== "") await this.edits.change("remove", [picked]);
    else this.say({ kind: "refused", text });
  }

  clone(form: CloneForm): Promise<void> {
    return this.#turns.take(() => ({ type: "clone", ...this.#boundary(), ...form }));
  }

  /** Ask what a clone would do; nobody has to wait for the answer. */
  async preview(form: CloneForm, signal: AbortSignal): Promise<void> {
    const answer = await this.#turns.question({ type: "preview", ...this.#boundary(), ...form }, signal);
    if (answer) this.#turns.accept(answer);
  }

  dismiss(): void {
    this.#store.set({ status: null, warned: [], picking: null });
  }

  say(status: Status): void {
    this.#store.set({ status });
  }

  #boundary(): { inputs: string[]; outputs: string[] } {
    const { state } = this.#store.value;
    return { inputs: state?.inputs ?? [], outputs: state?.outputs ?? [] };
  }

  #select(verb: SelectRequest["verb"], ops: string[] = [], scopes: string[] = []): Promise<void> {
    return this.#turns.take(() => ({ type: "select", verb, ops, scopes }));
  }
}

/** The op of a tensor's or an op's name. */
export function opOf(name: string): string {
  return name.replace(/:\d+$/, "");
}
