// What a page answers to the requests of its view: what a kernel would, as far as that needs none. It knows the way
// from the graph into functions, and back; the twin of tfgraphwidget/rooms.py.
import type { Answer, Channel } from "../channel";
import type { Request } from "../protocol";
import type { Contents } from "./data";
import { Graph } from "./graph";
import { Pieces } from "./pieces";
import { Refusal } from "./refusal";
import { plain, Room } from "./room";

interface Step {
  readonly title: string;
  readonly room: number;
}

export class House {
  readonly #contents: Contents;
  readonly #look: { colour: string };
  /** By the path to it, as JSON. */
  readonly #rooms = new Map<string, Room>();
  readonly #read = new Map<number, readonly [Graph, Pieces]>();
  #way: readonly Step[];

  constructor(contents: Contents) {
    this.#contents = contents;
    this.#look = { colour: contents.head.colour };
    this.#way = contents.head.way.map(([title, room]) => ({ title, room }));
  }

  /** The reply to a request; a refusal is one, too. */
  answer(request: Request): Answer {
    try {
      return this.#reply(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return plain({ type: "refused", why: error.message, ops: [], mends: [] });
    }
  }

  #reply(request: Request): Answer {
    if (request.type === "enter") return this.#go([...this.#way, this.#here.door(request.op, request.label)]);
    if (request.type === "leave") return this.#go(this.#way.slice(0, Math.max(request.depth, 0) + 1));
    return this.#here.answer(request);
  }

  #go(way: readonly Step[]): Answer {
    this.#way = way;
    return this.#here.answer({ type: "open" });
  }

  get #here(): Room {
    const path = this.#way.map(({ title }) => title);
    const key = JSON.stringify(path);
    const known = this.#rooms.get(key);
    if (known) return known;
    const [graph, pieces] = this.#graphOf(this.#way.at(-1)?.room ?? 0);
    const made = new Room(graph, pieces, path, this.#look);
    this.#rooms.set(key, made);
    return made;
  }

  /** The same for all ops that call the same function alike. */
  #graphOf(room: number): readonly [Graph, Pieces] {
    const data = this.#contents.room(room);
    const made = this.#read.get(room) ?? [new Graph(data), new Pieces(data)];
    this.#read.set(room, made);
    return made;
  }
}

/** A channel whose other end is the page itself. */
export function localChannel(house: House): Channel {
  return {
    request: async (message, { signal } = {}) => {
      // As from a kernel: never before whoever asks has gone on.
      await Promise.resolve();
      if (signal?.aborted)
        throw new DOMException(`The request "${message.type}" was given up.`, "AbortError");
      return house.answer(message);
    },
    close: () => undefined,
  };
}
