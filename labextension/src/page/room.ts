// What a page answers to the requests of its view: what a kernel would, as far as that needs none.
import type { Answer, Channel } from "../channel";
import type { Drawn, Reply, Request, State } from "../protocol";
import { at } from "../scene";
import { type Chosen, count, derived, selected } from "./choose";
import { composed } from "./compose";
import type { Data } from "./data";
import { addScene, type Drawing, drawing, Fields } from "./drawing";
import { found, listed } from "./find";
import { Graph } from "./graph";
import { examined, inspected } from "./inspect";
import { addPaint } from "./paint";
import { Pieces } from "./pieces";
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
  #way: number;
  #drawing: Drawing | null = null;

  constructor(data: Data) {
    this.#data = data;
    this.#graph = new Graph(data);
    this.#pieces = new Pieces(data);
    this.#opened = new Uint8Array(data.head.nodes.length);
    for (const name of data.head.opened) this.#open(this.#graph.node(name));
    this.#chosen = new Uint8Array(data.head.names.length);
    for (const op of data.head.selected) this.#chosen[op] = 1;
    this.#boundary = { inputs: data.head.inputs, outputs: data.head.outputs };
    this.#way = data.head.legends.findIndex(({ by }) => by === data.head.colour);
  }

  /** The reply to a request; a refusal is one, too. */
  answer(request: Request): Answer {
    try {
      return this.#reply(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { type: "refused", why: error.message, ops: [], mends: [], buffer: NOTHING };
    }
  }

  #reply(request: Request): Answer {
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
        this.#way = this.#data.head.legends.findIndex(({ by }) => by === request.by);
        return this.#painted();
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
    if (use !== "select" && use !== "add") throw new Refusal(NO_KERNEL);
    const chosen = use === "add" ? this.#chosen.slice() : new Uint8Array(this.#chosen.length);
    for (const op of found(this.#graph, text)) chosen[op] = 1;
    return this.#select(chosen);
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
    if (op >= 0 && this.#data.head.hidden > 0 && !this.#isDrawn(op))
      throw new Refusal(`"${shown.slice(0, 60)}" was hidden when this page was written, so it is not drawn.`);
    return shown;
  }

  #isDrawn(op: number): boolean {
    return this.#draw().items.some((item) => item.op === op);
  }

  #draw(): Drawing {
    return drawing(this.#pieces, composed(this.#pieces, 0, this.#opened));
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

  #state(): State {
    const { head } = this.#data;
    const variable = this.#data.column("op_variable");
    const ops = head.names.length;
    return {
      ...NO_EDITS,
      path: [head.path.join(" / ")],
      warnings: [...head.notices],
      ops,
      variables: at(this.#data.column("node_variables"), 0),
      inputs: [...this.#boundary.inputs],
      outputs: [...this.#boundary.outputs],
      selected_ops: count(this.#chosen),
      selected_variables: this.#chosen.reduce((sum, chosen, op) => sum + (chosen & at(variable, op)), 0),
      colours: head.legends.map(({ by }) => by),
      legend: head.legends[this.#way] ?? null,
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
  | "hidden"
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
  hidden: 0,
  pinned: 0,
  notice: "",
};

function plain(reply: Exclude<Reply, { type: "drawn" | "painted" }>): Answer {
  return { ...reply, buffer: NOTHING };
}

/** A channel whose other end is the page itself. */
export function localChannel(room: Room): Channel {
  return {
    request: async (message, { signal } = {}) => {
      // As from a kernel: never before whoever asks has gone on.
      await Promise.resolve();
      if (signal?.aborted)
        throw new DOMException(`The request "${message.type}" was given up.`, "AbortError");
      return room.answer(message);
    },
    close: () => undefined,
  };
}
