// One graph of a page, with its selection and open scopes. Python twin:
// tfgraphwidget/editor/graph_view.py.
import type { HideRequest, Reply, Request, SceneReply, State } from "../protocol/messages";
import { at } from "../protocol/scene";
import type { Answer } from "../rpc/model-channel";
import { type Boundary, BoundaryFinder, cloneLine } from "./boundary";
import { compose } from "./compose";
import type { Graph } from "./graph";
import { HiddenOps } from "./hidden-ops";
import { examine, inspect } from "./inspect";
import type { LayoutTables } from "./layout-tables";
import type { Data } from "./page-data";
import { addPaint } from "./paint";
import { NO_KERNEL, Refusal } from "./refusal";
import { addScene, buildDrawing, type Drawing, Fields } from "./scene-builder";
import { findOps, searchReply } from "./search";
import { applySelect, count, deriveSelection, type OpMask } from "./selection";

const NOTHING = new DataView(new ArrayBuffer(0));

export class OfflineGraphView {
  readonly #graph: Graph;
  readonly #tables: LayoutTables;
  readonly #data: Data;
  /** 1 for each node that is open. */
  readonly #opened: Uint8Array;
  #chosen: OpMask;
  #boundary: Boundary;
  #known: BoundaryFinder | null = null;
  readonly #path: readonly string[];
  /** The coloring of all graphs. */
  readonly #view: { color: string };
  readonly #hidden: HiddenOps;
  #drawing: Drawing | null = null;

  constructor(
    graph: Graph,
    tables: LayoutTables,
    path: readonly string[],
    view: { color: string },
  ) {
    const { data } = graph;
    this.#data = data;
    this.#graph = graph;
    this.#tables = tables;
    this.#path = path;
    this.#view = view;
    this.#hidden = new HiddenOps(graph);
    this.#opened = new Uint8Array(data.head.nodes.length);
    for (const name of data.head.opened) this.#open(this.#graph.node(name));
    this.#chosen = new Uint8Array(data.head.names.length);
    for (const op of data.head.selected) this.#chosen[op] = 1;
    this.#boundary = { inputs: data.head.inputs, outputs: data.head.outputs };
  }

  /** A function that an op calls, without a label the first one; throws a Refusal. */
  calledFunction(name: string, label: string): { title: string; graph: number } {
    const op = this.#graph.op(name);
    const calls = this.#data.head.called_functions.filter(([caller]) => caller === op);
    const call = calls.find(([, each]) => label === "" || each === label);
    if (op < 0 || !call)
      throw new Refusal(
        `"${name.slice(0, 60)}" calls no function that one could go into in this page.`,
      );
    const [, found, , , graph, why] = call;
    if (graph < 0) throw new Refusal(why);
    return { title: calls.length === 1 ? name : `${name}:${found}`, graph };
  }

  /** The reply to a request; throws a Refusal. */
  handle(request: Request): Answer {
    switch (request.type) {
      case "open":
        return this.#drawnReply();
      case "toggle":
        this.#toggle(request.scope, request.deep);
        return this.#drawnReply();
      case "expand_all":
        this.#opened.fill(request.everything ? 1 : 0);
        return this.#drawnReply();
      case "open_only":
        this.#openOnly(request.scopes, request.names);
        return this.#drawnReply();
      case "reveal":
        return this.#drawnReply(this.#reveal(request.name));
      case "inspect":
        return withoutBuffer(inspect(this.#graph, request.name));
      case "examine":
        return withoutBuffer(examine(this.#graph, request.name));
      case "search":
        return withoutBuffer(searchReply(this.#graph, request.text, request.limit));
      case "count_hits":
        return withoutBuffer({ type: "hit_counts", counts: this.#countInClosed(request.text) });
      default:
        return this.#handleSelection(request);
    }
  }

  #handleSelection(request: Request): Answer {
    switch (request.type) {
      case "select":
        return this.#select(applySelect(this.#graph, this.#chosen, request));
      case "derive":
        if (request.command === "boundary") return this.#markSelection();
        return this.#select(deriveSelection(this.#graph, this.#chosen, request.command));
      case "select_matching":
        return this.#gather(request.text, request.use);
      case "boundary":
        return this.#mark(request);
      case "mark":
        return this.#mark(
          this.#finder.marked(this.#boundary, request.side, request.name, request.tensors),
        );
      case "crossings":
        return withoutBuffer({
          type: "boundary_tensors",
          tensors: this.#finder.crossings(request.side, request.name, this.#boundary[request.side]),
        });
      case "color":
        this.#view.color = request.by;
        return this.#paintedReply();
      case "hide":
        return this.#hide(request.command, request.names);
      default:
        throw new Refusal(NO_KERNEL);
    }
  }

  /** How many of the ops found each closed scope and group holds. */
  #countInClosed(text: string): [string, number][] {
    const counts = new Map<number, number>();
    for (const op of findOps(this.#graph, text).ops) {
      const closed = this.#graph
        .containers(op)
        .reverse()
        .find((node) => this.#opened[node] !== 1);
      if (closed !== undefined) counts.set(closed, (counts.get(closed) ?? 0) + 1);
    }
    return [...counts].map(([node, count]) => [this.#data.head.nodes[node] ?? "", count]);
  }

  #select(chosen: OpMask): Answer {
    this.#chosen = chosen;
    this.#boundary = { inputs: [], outputs: [] };
    return this.#paintedReply();
  }

  /** Both sides marked, the selection is what lies between. */
  #mark({ inputs, outputs }: Boundary): Answer {
    const isWhole = inputs.length > 0 && outputs.length > 0;
    this.#chosen = isWhole
      ? this.#finder.between({ inputs, outputs })
      : new Uint8Array(this.#chosen.length);
    this.#boundary = { inputs, outputs };
    return this.#paintedReply();
  }

  #markSelection(): Answer {
    const boundary = this.#finder.boundary(this.#chosen);
    if (boundary.outputs.length === 0)
      throw new Refusal(
        "No tensor comes in, goes through the selected ops and out again; select more of them.",
      );
    return this.#mark(boundary);
  }

  get #finder(): BoundaryFinder {
    this.#known ??= new BoundaryFinder(this.#graph);
    return this.#known;
  }

  #gather(text: string, use: string): Answer {
    const chosen = use === "add" ? this.#chosen.slice() : new Uint8Array(this.#chosen.length);
    for (const op of findOps(this.#graph, text).ops) chosen[op] = 1;
    if (use === "select" || use === "add") return this.#select(chosen);
    this.#hidden.hide(use === "hide" ? "hide" : "only", chosen);
    return this.#drawnReply();
  }

  /** Without names, the selection. */
  #hide(command: HideRequest["command"], names: readonly string[]): Answer {
    const isOp = (name: string) => this.#graph.op(name) >= 0 && !name.endsWith("/");
    const [ops, scopes] = [names.filter(isOp), names.filter((name) => !isOp(name))];
    const target = applySelect(this.#graph, this.#chosen, {
      type: "select",
      command: "set",
      ops,
      scopes,
    });
    this.#hidden.hide(command, names.length > 0 ? target : this.#chosen);
    return this.#drawnReply();
  }

  #toggle(scope: string, deep: boolean): void {
    const node = this.#graph.node(scope);
    if (node < 0) throw new Refusal(`There is no scope "${scope.slice(0, 60)}" in this page.`);
    const open = this.#opened[node] !== 1;
    if (open) this.#open(node);
    else this.#opened[node] = 0;
    if (!deep) return;
    const parent = this.#data.column("node_parent");
    for (let inner = 0; inner < parent.length; inner++) {
      for (let up = inner; up > 0; up = at(parent, up))
        if (up === node) this.#opened[inner] = open ? 1 : 0;
    }
  }

  #open(node: number): void {
    for (const around of this.#graph.around(node)) this.#opened[around] = 1;
  }

  #openOnly(scopes: readonly string[], names: readonly string[]): void {
    this.#opened.fill(0);
    for (const scope of scopes) this.#open(this.#graph.node(scope));
    for (const name of names) {
      const op = name.endsWith("/") ? -1 : this.#graph.op(name);
      const around =
        op >= 0 ? this.#graph.containers(op) : this.#graph.around(this.#graph.node(name)).slice(1);
      for (const each of around) this.#opened[each] = 1;
    }
  }

  /** Open what is around an op, a tensor or a scope; its name. */
  #reveal(name: string): string {
    const op = this.#graph.op(name);
    const node = this.#graph.node(name);
    // As in the kernel: the name of a scope that is not the name of an op means the scope.
    const [around, shown] =
      op >= 0 && !name.endsWith("/")
        ? [this.#graph.containers(op), this.#graph.names[op] ?? ""]
        : [this.#graph.around(node).slice(1), this.#data.head.nodes[node] ?? ""];
    if (op < 0 && node < 0)
      throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
    for (const each of around) this.#opened[each] = 1;
    this.#hidden.show(op, op >= 0 && !name.endsWith("/") ? -1 : node);
    if (op >= 0 && this.#data.head.hidden > 0 && !this.#isDrawn(op))
      throw new Refusal(
        `"${shown.slice(0, 60)}" was hidden when this page was written, so it is not drawn.`,
      );
    return shown;
  }

  #isDrawn(op: number): boolean {
    return this.#buildDrawing().items.some((item) => item.op === op);
  }

  #buildDrawing(): Drawing {
    return buildDrawing(this.#tables, compose(this.#tables, 0, this.#opened), this.#hidden);
  }

  #drawnReply(focus = ""): Answer {
    this.#drawing = this.#buildDrawing();
    const fields = new Fields();
    addScene(fields, this.#drawing, this.#tables);
    addPaint(fields, this.#drawing, this.#graph, this.#paintInput());
    const reply: SceneReply = {
      type: "scene_reply",
      state: this.#state(),
      stamp: "",
      fields: fields.fields,
      focus,
      edited: null,
    };
    return { ...reply, buffer: fields.buffer };
  }

  #paintedReply(): Answer {
    if (!this.#drawing) return this.#drawnReply();
    const fields = new Fields();
    addPaint(fields, this.#drawing, this.#graph, this.#paintInput());
    return {
      type: "selection_reply",
      state: this.#state(),
      stamp: "",
      fields: fields.fields,
      text: "",
      buffer: fields.buffer,
    };
  }

  #paintInput() {
    return { chosen: this.#chosen, ...this.#boundary, way: this.#legendIndex };
  }

  /** The number of the way to color, or -1. */
  get #legendIndex(): number {
    return this.#data.head.legends.findIndex(({ by }) => by === this.#view.color);
  }

  get #isMarked(): boolean {
    return this.#boundary.inputs.length > 0 && this.#boundary.outputs.length > 0;
  }

  #state(): State {
    const { head } = this.#data;
    const variable = this.#data.column("op_variable");
    const ops = head.names.length;
    return {
      ...NO_EDITS,
      path: [...this.#path],
      expression: this.#isMarked ? cloneLine(this.#boundary) : "",
      warnings: [...head.notices],
      ops,
      variables: at(this.#data.column("node_variables"), 0),
      inputs: [...this.#boundary.inputs],
      outputs: [...this.#boundary.outputs],
      selected_ops: count(this.#chosen),
      selected_variables: this.#chosen.reduce(
        (sum, chosen, op) => sum + (chosen & at(variable, op)),
        0,
      ),
      selected_trainable: 0, // for edits only
      offers: [],
      colors: head.legends.map(({ by }) => by),
      legend: head.legends[this.#legendIndex] ?? null,
      hidden: this.#hidden.count,
      direction: head.right ? "right" : "down",
    };
  }
}

/** What of a state is the same in every page. */
const NO_EDITS: Pick<
  State,
  | "revision"
  | "untrusted"
  | "editable"
  | "fixed"
  | "proposal"
  | "values"
  | "undo"
  | "redo"
  | "code"
  | "ahead"
  | "sentences"
  | "comparing"
  | "comparison"
  | "explained"
  | "changes"
  | "likely"
  | "pinned"
> = {
  revision: 1,
  untrusted: "", // nothing runs here
  editable: NO_KERNEL,
  fixed: NO_KERNEL,
  proposal: "",
  values: "none",
  undo: "",
  redo: "",
  code: [],
  ahead: [],
  sentences: [],
  comparing: false,
  comparison: "",
  explained: [],
  changes: [],
  likely: [],
  pinned: 0,
};

/** A reply without numbers. */
export function withoutBuffer(
  reply: Exclude<Reply, { type: "scene_reply" | "selection_reply" }>,
): Answer {
  return { ...reply, buffer: NOTHING };
}
