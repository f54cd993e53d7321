// One graph of a page that one can stand in, with what is chosen and open in it. The twin of tfgraphwidget/room.py.
import type { Answer } from "../channel";
import type { Drawn, HideRequest, Reply, Request, State } from "../protocol";
import { at } from "../scene";
import { type Chosen, count, derived, selected } from "./choose";
import { composed } from "./compose";
import type { Data } from "./data";
import { addScene, type Drawing, drawing, Fields } from "./drawing";
import { found, listed } from "./find";
import type { Graph } from "./graph";
import { Hidden } from "./hide";
import { examined, inspected } from "./inspect";
import { addPaint } from "./paint";
import type { Pieces } from "./pieces";
import { NO_KERNEL, Refusal } from "./refusal";

const NOTHING = new DataView(new ArrayBuffer(0));

export class Room {
  readonly #graph: Graph;
  readonly #pieces: Pieces;
  readonly #data: Data;
  /** 1 for each node that is open. */
  readonly #opened: Uint8Array;
  #chosen: Chosen;
  #boundary: { inputs: readonly string[]; outputs: readonly string[] };
  readonly #path: readonly string[];
  /** How all rooms are coloured. */
  readonly #look: { colour: string };
  readonly #hidden: Hidden;
  #drawing: Drawing | null = null;

  constructor(graph: Graph, pieces: Pieces, path: readonly string[], look: { colour: string }) {
    const { data } = graph;
    this.#data = data;
    this.#graph = graph;
    this.#pieces = pieces;
    this.#path = path;
    this.#look = look;
    this.#hidden = new Hidden(graph);
    this.#opened = new Uint8Array(data.head.nodes.length);
    for (const name of data.head.opened) this.#open(this.#graph.node(name));
    this.#chosen = new Uint8Array(data.head.names.length);
    for (const op of data.head.selected) this.#chosen[op] = 1;
    this.#boundary = { inputs: data.head.inputs, outputs: data.head.outputs };
  }

  /** The function behind an op's door, the only or the first one when there is no label; throws a Refusal. */
  door(name: string, label: string): { title: string; room: number } {
    const op = this.#graph.op(name);
    const ways = this.#data.head.doors.filter(([caller]) => caller === op);
    const way = ways.find(([, each]) => label === "" || each === label);
    if (op < 0 || !way)
      throw new Refusal(`"${name.slice(0, 60)}" calls no function that one could go into in this page.`);
    const [, found, , , room, why] = way;
    if (room < 0) throw new Refusal(why);
    return { title: ways.length === 1 ? name : `${name}:${found}`, room };
  }

  /** The reply to a request; throws a Refusal. */
  answer(request: Request): Answer {
    switch (request.type) {
      case "open":
        return this.#drawn();
      case "toggle":
        this.#toggle(request.scope, request.deep);
        return this.#drawn();
      case "unfold":
        this.#opened.fill(request.everything ? 1 : 0);
        return this.#drawn();
      case "reveal":
        return this.#drawn(this.#reveal(request.name));
      case "inspect":
        return plain(inspected(this.#graph, request.name));
      case "examine":
        return plain(examined(this.#graph, request.name));
      case "search":
        return plain(listed(this.#graph, request.text, request.limit));
      default:
        return this.#choose(request);
    }
  }

  #choose(request: Request): Answer {
    switch (request.type) {
      case "select":
        return this.#select(selected(this.#graph, this.#chosen, request));
      case "derive":
        return this.#select(derived(this.#graph, this.#chosen, request.verb));
      case "gather":
        return this.#gather(request.text, request.use);
      case "boundary":
        // Nothing can be marked without a kernel; what was marked can be put away.
        if (request.inputs.length + request.outputs.length > 0) throw new Refusal(NO_KERNEL);
        return this.#select(new Uint8Array(this.#chosen.length));
      case "colour":
        this.#look.colour = request.by;
        return this.#painted();
      case "hide":
        return this.#hide(request.verb, request.names);
      default:
        throw new Refusal(NO_KERNEL);
    }
  }

  #select(chosen: Chosen): Answer {
    this.#chosen = chosen;
    this.#boundary = { inputs: [], outputs: [] };
    return this.#painted();
  }

  #gather(text: string, use: string): Answer {
    const chosen = use === "add" ? this.#chosen.slice() : new Uint8Array(this.#chosen.length);
    for (const op of found(this.#graph, text).ops) chosen[op] = 1;
    if (use === "select" || use === "add") return this.#select(chosen);
    this.#hidden.hide(use === "hide" ? "hide" : "only", chosen);
    return this.#drawn();
  }

  /** Without names, the selection. */
  #hide(verb: HideRequest["verb"], names: readonly string[]): Answer {
    const isOp = (name: string) => this.#graph.op(name) >= 0 && !name.endsWith("/");
    const [ops, scopes] = [names.filter(isOp), names.filter((name) => !isOp(name))];
    const asked = selected(this.#graph, this.#chosen, { type: "select", verb: "set", ops, scopes });
    this.#hidden.hide(verb, names.length > 0 ? asked : this.#chosen);
    return this.#drawn();
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
      for (let up = inner; up > 0; up = at(parent, up)) if (up === node) this.#opened[inner] = open ? 1 : 0;
    }
  }

  #open(node: number): void {
    for (const around of this.#graph.around(node)) this.#opened[around] = 1;
  }

  /** Open what is around an op, a tensor or a scope; its name. */
  #reveal(name: string): string {
    const op = this.#graph.op(name);
    const node = this.#graph.node(name);
    // As in the kernel: a scope's name that is no op's means the scope.
    const [around, shown] =
      op >= 0 && !name.endsWith("/")
        ? [this.#graph.home(op), this.#graph.names[op] ?? ""]
        : [this.#graph.around(node).slice(1), this.#data.head.nodes[node] ?? ""];
    if (op < 0 && node < 0) throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
    for (const each of around) this.#opened[each] = 1;
    this.#hidden.show(op, op >= 0 && !name.endsWith("/") ? -1 : node);
    if (op >= 0 && this.#data.head.hidden > 0 && !this.#isDrawn(op))
      throw new Refusal(`"${shown.slice(0, 60)}" was hidden when this page was written, so it is not drawn.`);
    return shown;
  }

  #isDrawn(op: number): boolean {
    return this.#draw().items.some((item) => item.op === op);
  }

  #draw(): Drawing {
    return drawing(this.#pieces, composed(this.#pieces, 0, this.#opened), this.#hidden);
  }

  #drawn(focus = ""): Answer {
    this.#drawing = this.#draw();
    const fields = new Fields();
    addScene(fields, this.#drawing, this.#pieces);
    addPaint(fields, this.#drawing, this.#graph, this.#paint());
    const reply: Drawn = { type: "drawn", state: this.#state(), fields: fields.fields, focus };
    return { ...reply, buffer: fields.buffer };
  }

  #painted(): Answer {
    if (!this.#drawing) return this.#drawn();
    const fields = new Fields();
    addPaint(fields, this.#drawing, this.#graph, this.#paint());
    return { type: "painted", state: this.#state(), fields: fields.fields, buffer: fields.buffer };
  }

  #paint() {
    return { chosen: this.#chosen, ...this.#boundary, way: this.#way };
  }

  /** The number of the way to colour, or -1. */
  get #way(): number {
    return this.#data.head.legends.findIndex(({ by }) => by === this.#look.colour);
  }

  #state(): State {
    const { head } = this.#data;
    const variable = this.#data.column("op_variable");
    const ops = head.names.length;
    return {
      ...NO_EDITS,
      path: [...this.#path],
      warnings: [...head.notices],
      ops,
      variables: at(this.#data.column("node_variables"), 0),
      inputs: [...this.#boundary.inputs],
      outputs: [...this.#boundary.outputs],
      selected_ops: count(this.#chosen),
      selected_variables: this.#chosen.reduce((sum, chosen, op) => sum + (chosen & at(variable, op)), 0),
      colours: head.legends.map(({ by }) => by),
      legend: head.legends[this.#way] ?? null,
      hidden: this.#hidden.count,
      direction: head.right ? "right" : "down",
    };
  }
}

/** What of a state is the same in every page. */
const NO_EDITS: Pick<
  State,
  | "revision"
  | "editable"
  | "expression"
  | "proposal"
  | "values"
  | "undo"
  | "redo"
  | "code"
  | "ahead"
  | "comparing"
  | "changes"
  | "likely"
  | "pinned"
  | "notice"
> = {
  revision: 1,
  editable: NO_KERNEL,
  expression: "",
  proposal: "",
  values: "none",
  undo: "",
  redo: "",
  code: [],
  ahead: [],
  comparing: false,
  changes: [],
  likely: [],
  pinned: 0,
  notice: "",
};

/** A reply without numbers. */
export function plain(reply: Exclude<Reply, { type: "drawn" | "painted" }>): Answer {
  return { ...reply, buffer: NOTHING };
}
