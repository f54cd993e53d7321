// User actions: each changes the store or sends a request. Requests that change something run one
// after another.
import type {
  BoundaryTensor,
  CloneRequest,
  ColorRequest,
  ExpandAllRequest,
  HideRequest,
  InspectReply,
  PictureRequest,
  PinRequest,
  Request,
  SelectMatchingRequest,
  SelectRequest,
  SetDirectionRequest,
  State,
  UnpinRequest,
} from "../protocol/messages";
import { at, BADGE, isScope, keyOf, visibleItem } from "../protocol/scene";
import type { Viewport } from "../render/camera/camera";
import type { Anchor, Arrival } from "../render/camera/destination";
import type { Region, RegionItems } from "../render/hit-testing/region";
import type { Answer, Channel } from "../rpc/model-channel";
import type { SceneTarget } from "../state/reply-handler";
import { RequestQueue } from "../state/request-queue";
import { firstLimit } from "../state/search-results";
import {
  bringForward,
  type Mode,
  type PanelTab,
  type Status,
  type Store,
  type Tool,
} from "../state/store";
import { Edits } from "./edits";
import { Exports } from "./exports";
import { Prefetch } from "./prefetch";
import { hasSelection, isMarked, type SelectionCommandName, whyNot } from "./selection-commands";

export type Side = "inputs" | "outputs";
/** The values of the clone form; the cloned part is that of the boundary, or the selection. */
export type CloneForm = Omit<CloneRequest, "type" | "inputs" | "outputs" | "inspected">;

/** Requests that change the view only. */
export type ViewRequest =
  | ColorRequest
  | SelectMatchingRequest
  | HideRequest
  | PinRequest
  | SetDirectionRequest
  | ExpandAllRequest
  | UnpinRequest;

const REOPEN = { type: "open", alone: false } as const;
const HITS = 50;
/** Names in one request: a message of more than 10 MB never arrives. */
const MOST_NAMES = 20_000;

export class Actions {
  /** Edits, and the queries that they need. */
  readonly edits: Edits;
  /** Files that are saved or downloaded. */
  readonly exports: Exports;
  readonly #store: Store;
  readonly #queue: RequestQueue;
  readonly #prefetch: Prefetch;
  #searching = new AbortController();
  #examining = new AbortController();

  constructor(store: Store, channel: Channel, stage: SceneTarget) {
    this.#store = store;
    this.#queue = new RequestQueue(store, channel, stage, () => void this.reopen());
    this.edits = new Edits(store, this.#queue);
    this.exports = new Exports(store, this.#queue);
    this.#prefetch = new Prefetch(store, this.#queue, stage);
  }

  /** Abort all pending requests. */
  close(): void {
    this.#queue.close();
    this.#searching.abort();
    this.#examining.abort();
  }

  /**
   * Request the drawing for the first time, for a canvas of this size; `alone`: no other view shows
   * it.
   */
  open(pane: Viewport, alone: boolean): Promise<void> {
    this.#queue.pane = pane;
    return this.#queue.enqueue(() => ({ type: "open", alone }));
  }

  /** Request the drawing again. */
  reopen(): Promise<void> {
    return this.#queue.enqueue(() => REOPEN);
  }

  /** Request the drawing again if the kernel has a newer state than the last reply. */
  catchUp(revision: () => number): Promise<void> {
    return this.#queue.enqueue(
      () => (revision() > (this.#store.value.state?.revision ?? -1) ? REOPEN : null),
      { refit: true },
    );
  }

  /** Let a drawing that is not arranged by hand wrap to the shape of a canvas. */
  wrap(pane: Viewport): Promise<void> {
    const request = () => {
      if (this.#store.value.state?.pinned !== 0) return null;
      // Not before: a drawing that was arranged by hand keeps its shape.
      this.#queue.pane = pane;
      return { type: "unpin", name: "" } as const;
    };
    return this.#queue.enqueue(request, { refit: true });
  }

  /** Forget what was arranged by hand: the drawing wraps to the shape of a canvas. */
  resetLayout(pane: Viewport): Promise<void> {
    this.#queue.pane = pane;
    return this.changeView({ type: "unpin", name: "" });
  }

  /** Let the kernel read the graph again. */
  refresh(): Promise<void> {
    return this.#queue.enqueue(() => ({ type: "refresh" }));
  }

  async toggle(item: number, anchor?: Anchor, deep = false): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0 || !isScope(at(scene.kind, item))) return;
    const scope = scene.names[item] ?? "";
    let shown: State | null = null;
    await this.#queue.enqueue(
      () => {
        const stamp = deep ? "" : this.#prefetch.show(scope, { anchor });
        shown = stamp ? this.#store.value.state : null;
        return { type: "toggle", scope, deep, stamp };
      },
      { anchor },
    );
    // If the kernel has not confirmed it, the prefetched drawing is wrong.
    await this.#queue.enqueue(() => (shown && shown === this.#store.value.state ? REOPEN : null));
  }

  /** Do what was done in a linked view; it is not done there once more. */
  echo(request: Request, arrival: Arrival = {}): Promise<void> {
    return this.#queue.enqueue(() => ({ ...request, echo: true }), arrival);
  }

  /** Change the view: coloring, hiding, pins, direction, open scopes. */
  changeView(request: ViewRequest): Promise<void> {
    // A whole new layout is shown whole.
    const fit =
      request.type === "expand_all" || request.type === "set_direction" || isUnpinAll(request);
    return this.#queue.enqueue(() => request, { fit });
  }

  /** Request a picture of the drawing. */
  picture(asked: Omit<PictureRequest, "type">): Promise<Answer | null> {
    return this.#queue.query({ type: "picture", ...asked });
  }

  /** Open or close a scope, or enter a called function. */
  activate(item: number, anchor?: Anchor): Promise<void> {
    const { scene } = this.#store.value;
    // A badge is on the box of its op.
    if (scene && at(scene.kind, item) === BADGE)
      return this.activate(at(scene.parent, item), anchor);
    if (scene && at(scene.calls, item) === 1) return this.enter(scene.names[item] ?? "");
    return this.toggle(item, anchor);
  }

  /** Enter a function that an op calls; `label` chooses one of several. */
  enter(op: string, label = ""): Promise<void> {
    return this.#queue.enqueue(() => ({ type: "enter", op, label }));
  }

  /** Show what a signature computes. */
  openSignature(name: string): Promise<void> {
    return this.#queue.enqueue(() => ({ type: "open_signature", name }));
  }

  /** Return to a level of the breadcrumb, by default to the previous one. */
  leave(depth?: number): Promise<void> {
    return this.#queue.enqueue(() => {
      const inside = (this.#store.value.state?.path.length ?? 1) - 1;
      const to = depth ?? inside - 1;
      return to >= 0 && to < inside ? { type: "leave", depth: to } : null;
    });
  }

  /**
   * Bring an op, tensor or scope into view and into the inspector; and `others` with it, if there
   * is room.
   */
  async reveal(name: string, others: readonly string[] = []): Promise<void> {
    const answer = await this.#queue.reply(() => ({ type: "reveal", name }), { others });
    const { scene } = this.#store.value;
    if (answer?.type !== "scene_reply" || !scene) return;
    const plain = name.replace(/^\^/, "").replace(/:\d+$/, "");
    const item = visibleItem(scene, plain);
    // The drawing distinguishes a scope from an op by the slash, which the name of a scope in a list lacks.
    await this.inspect(scene.names[item] === plain ? keyOf(scene, item) : plain);
  }

  /** Inspect an item, 0 for none; `opens` its tab, unless the same click opens another one. */
  async inspectItem(item: number, opens = true): Promise<void> {
    const { scene, tab } = this.#store.value;
    if (scene && item > 0) {
      if (opens) bringForward(this.#store, "op");
      return this.inspect(keyOf(scene, item));
    }
    this.#queue.abortInspection();
    this.#store.set({ picked: "", details: null });
    if (tab === "op" && opens) this.#store.set({ tab: this.#tabBefore() });
  }

  /** The tab that is in front while nothing is inspected. */
  #tabBefore(): PanelTab {
    const { state } = this.#store.value;
    return hasSelection(state) || isMarked(state) ? "selection" : "model";
  }

  /** From an op back to the selection, and to the model at last. */
  back(): void {
    if (this.#store.value.tab === "op") void this.inspectItem(0);
    else this.#store.set({ tab: "model" });
  }

  async inspect(key: string): Promise<void> {
    const signal = this.#queue.abortInspection();
    this.#store.set({ picked: key });
    // While a form waits for an op, navigation and search keep that form open.
    if (!this.#store.value.picking) await this.#queue.send({ type: "inspect", name: key }, signal);
  }

  /** What the inspector would show of an op or scope; null if there is no reply. */
  async describe(key: string): Promise<InspectReply | null> {
    const answer = await this.#queue.query({ type: "inspect", name: key });
    return answer?.type === "inspect_reply" ? answer : null;
  }

  /** Request further details of the inspected op: value, documentation, creation. */
  async examine(name: string): Promise<void> {
    this.#examining.abort();
    this.#examining = new AbortController();
    const answer = await this.#queue.queryOrNull({ type: "examine", name }, this.#examining.signal);
    if (answer?.type === "examine_reply") this.#queue.accept(answer);
  }

  /** Find ops, at most `limit`; a new query starts at its first hit. */
  async search(query: string, limit = HITS): Promise<void> {
    this.#searching.abort();
    this.#searching = new AbortController();
    this.#store.set(query === this.#store.value.query ? {} : { query, hit: -1 });
    const text = query.trim();
    if (text === "") this.#store.set({ found: null, hitNames: [], hitOps: [] });
    else await this.#queue.send({ type: "search", text, limit }, this.#searching.signal);
  }

  /** Count what was found in each closed scope of the drawing. */
  async countHits(): Promise<void> {
    const { found, query, scene } = this.#store.value;
    const isCounted = found !== null && found.total > 0 && !found.matches;
    const answer = isCounted
      ? await this.#queue.query({ type: "count_hits", text: query.trim() })
      : null;
    if (this.#store.value.found === found && this.#store.value.scene === scene)
      this.#store.set({ hitCounts: answer?.type === "hit_counts" ? answer.counts : [] });
  }

  /**
   * Find what has the structure of some items, or of the selection if `names` is empty: their
   * pattern becomes the query. `otherwise` is the query for items that make no pattern.
   */
  async findLike(names: readonly string[], otherwise = ""): Promise<void> {
    const answer = await this.#queue.query({ type: "like", names: [...names] });
    if (answer?.type === "likeness") {
      const query = `pattern:${answer.pattern}`;
      return this.search(query, firstLimit(query));
    }
    if (otherwise) return this.search(otherwise);
    if (answer) this.#queue.accept(answer);
  }

  /** Select items by their names, those of scopes with a slash at the end. */
  selectAll(names: readonly string[]): Promise<void> {
    const isScope = (name: string) => name.endsWith("/");
    const scopes = names.filter(isScope).map((name) => name.slice(0, -1));
    return this.#select(
      "set",
      names.filter((name) => !isScope(name)),
      scopes,
    );
  }

  setMode(mode: Mode): void {
    this.#store.set({ mode });
  }

  setTool(tool: Tool): void {
    this.#store.set({ tool, region: null });
  }

  /**
   * Cancel one thing: a drag or pick, else the region, the drag mode, the message, the selection;
   * else go back to the tab before.
   */
  cancel(): void {
    const { region, tool, connecting, picking, itemMove, status, warned, state } =
      this.#store.value;
    if (connecting || picking || itemMove)
      this.#store.set({ connecting: null, picking: null, itemMove: null });
    else if (region) this.#store.set({ region: null });
    else if (tool !== "pan") this.setTool("pan");
    else if (status || warned.length > 0) this.dismiss();
    else if (hasSelection(state)) void this.derive("clear");
    else this.back();
  }

  /** Set, extend or reduce the selection by the items in a region. */
  async selectRegion({ ops, scopes }: RegionItems, { shape, command }: Region): Promise<void> {
    if (ops.length + scopes.length === 0) {
      const why =
        shape === "box"
          ? "No op is completely inside the box"
          : "No op has its center inside the lasso";
      return this.showStatus({ kind: "notice", text: `${why}; the selection is unchanged.` });
    }
    for (let start = 0; start < Math.max(ops.length, scopes.length); start += MOST_NAMES) {
      const [some, others] = [ops, scopes].map((names) => names.slice(start, start + MOST_NAMES));
      await this.#select(start > 0 && command === "set" ? "add" : command, some, others);
    }
  }

  /** Add an op or scope to the selection, or remove it. */
  toggleSelected(item: number): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0) return Promise.resolve();
    const name = [scene.names[item] ?? ""];
    return isScope(at(scene.kind, item))
      ? this.#select("toggle", [], name)
      : this.#select("toggle", name);
  }

  /** Derive a new selection from the current one. */
  derive(command: SelectionCommandName): Promise<void> {
    if (command !== "clear") bringForward(this.#store, "selection");
    return this.#queue.enqueue(() => {
      const text = whyNot(command, this.#store.value.state);
      if (text === "") return { type: "derive", command };
      this.showStatus({ kind: "refused", text });
      return null;
    });
  }

  /** Clear the selection and the boundary. */
  clearSelection(): Promise<void> {
    void this.#queue.enqueue(() =>
      hasSelection(this.#store.value.state) ? { type: "derive", command: "clear" } : null,
    );
    return this.#queue.enqueue(() => {
      const { inputs, outputs } = this.#boundary();
      return inputs.length + outputs.length > 0
        ? { type: "boundary", inputs: [], outputs: [] }
        : null;
    });
  }

  /**
   * Mark an op or scope as boundary, or unmark it; of the several tensors of a scope the user ticks
   * some.
   */
  async mark(item: number, side: Side): Promise<void> {
    const { scene } = this.#store.value;
    if (!scene || item <= 0) return;
    const name = keyOf(scene, item);
    if (!isScope(at(scene.kind, item))) return this.#mark(side, name);
    const answer = await this.#queue.reply(() => ({ type: "crossings", side, name }));
    if (answer?.type !== "boundary_tensors") return;
    const marked = namesOf(answer.tensors.filter((tensor) => tensor.marked));
    const proposed = namesOf(answer.tensors.filter((tensor) => tensor.proposed));
    if (marked.length > 0) await this.#mark(side, name, marked);
    else if (proposed.length === 1) await this.#mark(side, name, proposed);
    else {
      const take = (tensors: string[]) => void this.#mark(side, name, tensors);
      this.#store.set({ ticking: { item, side, tensors: answer.tensors, take } });
    }
  }

  /** Add an op to a side of the boundary; if the op or a tensor of it is there, remove that. */
  toggleBoundary(name: string, side: Side): Promise<void> {
    bringForward(this.#store, "selection");
    return this.#queue.enqueue(() => {
      const { inputs, outputs } = this.#boundary();
      const old = side === "inputs" ? inputs : outputs;
      const others = old.filter((known) => opName(known) !== opName(name));
      const changed = others.length < old.length ? others : [...old, name];
      return side === "inputs"
        ? { type: "boundary", inputs: changed, outputs }
        : { type: "boundary", inputs, outputs: changed };
    });
  }

  /** Remove the selected ops from the graph, or without a selection the inspected item. */
  async removeSelected(): Promise<void> {
    const { state, picked } = this.#store.value;
    const text = "Nothing is selected: click an op or a scope first, or draw a box (b).";
    if (hasSelection(state)) await this.edits.change("remove");
    else if (picked !== "") await this.edits.change("remove", [picked]);
    else this.showStatus({ kind: "refused", text });
  }

  /** Clone the boundary or selection; resolves to whether the clone was made. */
  async clone(form: CloneForm): Promise<boolean> {
    const edit = () => ({ type: "clone" as const, ...this.#boundary(), ...form });
    const isDone = (await this.#queue.edit(edit)) !== null;
    if (isDone)
      this.#store.set({
        mode: "look",
        ...(this.#store.value.panelPlace === "over" ? { panelOpen: false } : {}),
      });
    return isDone;
  }

  /** Request the preview of a clone, outside the queue. */
  async preview(form: CloneForm, signal: AbortSignal): Promise<void> {
    const answer = await this.#queue.query(
      { type: "preview", ...this.#boundary(), ...form },
      signal,
    );
    if (answer) this.#queue.accept(answer);
  }

  dismiss(): void {
    this.#store.set({ status: null, warned: [], picking: null });
  }

  showStatus(status: Status): void {
    this.#store.set({ status });
  }

  #boundary(): { inputs: string[]; outputs: string[] } {
    const { state } = this.#store.value;
    return { inputs: state?.inputs ?? [], outputs: state?.outputs ?? [] };
  }

  /** Once both sides are marked, a click marks no more. */
  async #mark(side: Side, name: string, tensors: string[] = []): Promise<void> {
    bringForward(this.#store, "selection");
    const answer = await this.#queue.reply(() => ({ type: "mark", side, name, tensors }));
    const { inputs, outputs } = this.#boundary();
    if (answer?.type !== "refusal" && inputs.length > 0 && outputs.length > 0) this.setMode("look");
  }

  #select(
    command: SelectRequest["command"],
    ops: string[] = [],
    scopes: string[] = [],
  ): Promise<void> {
    bringForward(this.#store, "selection");
    return this.#queue.enqueue(() => ({ type: "select", command, ops, scopes }));
  }
}

function namesOf(crossings: readonly BoundaryTensor[]): string[] {
  return crossings.map(({ tensor }) => tensor);
}

function isUnpinAll(request: ViewRequest): boolean {
  return request.type === "unpin" && request.name === "";
}

/** The name of the op, from the name of an op or tensor. */
export function opName(name: string): string {
  return name.replace(/:\d+$/, "");
}
