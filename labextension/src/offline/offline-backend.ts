// Replies to the requests of a page's view in place of a kernel, as far as none is needed, and
// keeps the stack of entered functions. Python twin: tfgraphwidget/editor/navigator.py.
import type { Request } from "../protocol/messages";
import type { Answer, Channel } from "../rpc/model-channel";
import { Graph } from "./graph";
import { OfflineGraphView, withoutBuffer } from "./graph-view";
import { LayoutTables } from "./layout-tables";
import type { Contents } from "./page-data";
import { Refusal } from "./refusal";

interface StackEntry {
  readonly title: string;
  readonly graph: number;
}

export class OfflineBackend {
  readonly #contents: Contents;
  readonly #view: { color: string };
  /** By the path to it, as JSON. */
  readonly #views = new Map<string, OfflineGraphView>();
  readonly #read = new Map<number, readonly [Graph, LayoutTables]>();
  #stack: readonly StackEntry[];

  constructor(contents: Contents) {
    this.#contents = contents;
    this.#view = { color: contents.head.color };
    this.#stack = contents.head.path.map(([title, graph]) => ({ title, graph }));
  }

  /** The reply to a request; a refusal is one, too. */
  handle(request: Request): Answer {
    try {
      return this.#reply(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return withoutBuffer({
        type: "refusal",
        why: error.message,
        ops: [],
        fixes: [],
        argument: "",
        trust: false,
      });
    }
  }

  #reply(request: Request): Answer {
    if (request.type === "enter")
      return this.#goTo([...this.#stack, this.#current.calledFunction(request.op, request.label)]);
    if (request.type === "leave")
      return this.#goTo(this.#stack.slice(0, Math.max(request.depth, 0) + 1));
    return this.#current.handle(request);
  }

  #goTo(stack: readonly StackEntry[]): Answer {
    this.#stack = stack;
    return this.#current.handle({ type: "open", alone: false });
  }

  get #current(): OfflineGraphView {
    const path = this.#stack.map(({ title }) => title);
    const key = JSON.stringify(path);
    const known = this.#views.get(key);
    if (known) return known;
    const [graph, tables] = this.#graphOf(this.#stack.at(-1)?.graph ?? 0);
    const view = new OfflineGraphView(graph, tables, path, this.#view);
    this.#views.set(key, view);
    return view;
  }

  /** The same for all ops that call the same function alike. */
  #graphOf(number: number): readonly [Graph, LayoutTables] {
    const data = this.#contents.graph(number);
    const tables = this.#read.get(number) ?? [new Graph(data), new LayoutTables(data)];
    this.#read.set(number, tables);
    return tables;
  }
}

/** A channel whose other end is the page itself. */
export function localChannel(backend: OfflineBackend): Channel {
  return {
    request: async (message, { signal } = {}) => {
      // As from a kernel: asynchronous.
      await Promise.resolve();
      if (signal?.aborted)
        throw new DOMException(`The request "${message.type}" was given up.`, "AbortError");
      return backend.handle(message);
    },
    close: () => undefined,
  };
}
