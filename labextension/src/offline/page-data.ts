// The data of a page: a JSON document, and for each of its graphs (the top level and functions) a
// document and a buffer of numbers. Python twin: tfgraphwidget/export/html/page_data.py.
import type { Legend } from "../protocol/messages";

/** What TensorFlow says of an op type. */
interface Documentation {
  readonly summary: string;
  readonly about: string;
  readonly arguments: [string, string, string][];
}

/** The page's JSON document. */
export interface Head {
  /** The number of bytes of each graph's document and numbers. */
  readonly graphs: readonly (readonly [document: number, numbers: number])[];
  /** From the top level to the function that was current when this was written. */
  readonly path: readonly (readonly [title: string, graph: number])[];
  readonly docs: Readonly<Record<string, Documentation>>;
  /**
   * Of the op types that TensorFlow knows, the attributes, each with the texts that its default is
   * compared by.
   */
  readonly defined: Readonly<
    Record<string, readonly (readonly [name: string, texts: string[] | null])[]>
  >;
  /** What an op can be, a bit of the column "op_is" each. */
  readonly traits: readonly string[];
  /** The present way to color, or "". */
  readonly color: string;
}

type Line = [sort: string, name: string, what: string];

/** A function that an op calls; `graph` is -1 if it is not in the page, and `why` then says so. */
type CalledFunction = readonly [
  op: number,
  label: string,
  name: string,
  ops: number,
  graph: number,
  why: string,
  signature: Line[],
];

/** The JSON document of a graph. */
export interface GraphHead {
  readonly fields: readonly [
    name: string,
    dtype: keyof typeof TYPES,
    length: number,
    offset: number,
  ][];
  /** Of the ops, and of the nodes of the outline: scopes and groups; the first is the top level. */
  readonly names: readonly string[];
  readonly nodes: readonly string[];
  /** What columns of numbers of texts mean; the first is "". */
  readonly texts: readonly string[];
  /** What columns of numbers of values mean: the text, and those that a query compares it by. */
  readonly values: readonly (readonly string[])[];
  readonly opened: readonly string[];
  readonly hidden: number;
  /** Whether tensors flow to the right: x and y of the drawing are exchanged then. */
  readonly right: boolean;
  /**
   * Pixels around the inside of an open scope: above, at the other sides; around the whole graph.
   */
  readonly frame: readonly [header: number, padding: number, margin: number];
  readonly selected: readonly number[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly notices: readonly string[];
  readonly legends: readonly Legend[];
  readonly called_functions: readonly CalledFunction[];
  /** Arguments and results of a function, and the ops that represent them. */
  readonly signature: Line[];
  readonly boundary: readonly number[];
  /**
   * Of a graph that is not trusted the ops that do more than compute: their bits in a Paint, and
   * sentences.
   */
  readonly effects: readonly (readonly [op: number, bits: number, sentences: string[]])[];
}

const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array } as const;
type Numbers = Uint8Array | Uint32Array | Int32Array | Float32Array;

/** A graph's document, and its columns of numbers by name. */
export class Data {
  readonly head: GraphHead;
  /** The page's. */
  readonly page: Head;
  readonly #columns: ReadonlyMap<string, Numbers>;

  constructor(page: Head, whole: ArrayBuffer, place: number, size: number) {
    this.page = page;
    this.head = parse(whole, place, size);
    this.#columns = new Map(
      this.head.fields.map(([name, dtype, length, offset]) => [
        name,
        new TYPES[dtype](whole, place + size + offset, length),
      ]),
    );
  }

  /** Whether there is a column, which not all pages have. */
  has(name: string): boolean {
    return this.#columns.has(name);
  }

  column(name: string): Numbers {
    const found = this.#columns.get(name);
    if (!found) throw new Error(`This page is not whole: it has no "${name}"; write it again.`);
    return found;
  }

  /** Of an op or a child: the text that a column gives it. */
  text(name: string, row: number): string {
    return this.head.texts[this.column(name)[row] as number] ?? "";
  }
}

/** The page's document, and its graphs, each decoded on first use. */
export class Contents {
  readonly head: Head;
  readonly #whole: ArrayBuffer;
  readonly #first: number;
  readonly #graphs = new Map<number, Data>();

  constructor(whole: ArrayBuffer) {
    const size = new DataView(whole).getUint32(0, true);
    this.head = parse(whole, 4, size);
    this.#whole = whole;
    this.#first = 4 + size;
  }

  graph(number: number): Data {
    const known = this.#graphs.get(number);
    if (known) return known;
    const before = this.head.graphs.slice(0, number).flat();
    const place = before.reduce((sum, bytes) => sum + bytes, this.#first);
    const data = new Data(this.head, this.#whole, place, this.head.graphs[number]?.[0] ?? 0);
    this.#graphs.set(number, data);
    return data;
  }
}

function parse<T>(whole: ArrayBuffer, place: number, size: number): T {
  return JSON.parse(new TextDecoder().decode(new Uint8Array(whole, place, size)));
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
}

/** The contents of base64 text that holds gzipped bytes. */
export async function unpack(text: string): Promise<Contents> {
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Contents(await new Response(stream).arrayBuffer());
}
