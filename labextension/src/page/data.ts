// What the page carries: one JSON document and one buffer of numbers. The twin of tfgraphwidget/export/paged.py.
import type { Legend } from "../protocol";

/** What TensorFlow says of an op type. */
export interface Documentation {
  readonly summary: string;
  readonly about: string;
  readonly arguments: [string, string, string][];
}

/** The JSON document. */
export interface Head {
  readonly fields: readonly [name: string, dtype: keyof typeof TYPES, length: number, offset: number][];
  /** From the graph to the function one stands in. */
  readonly path: readonly string[];
  /** Of the ops, and of the nodes of the outline: scopes and groups; the first is the graph itself. */
  readonly names: readonly string[];
  readonly nodes: readonly string[];
  /** What columns of numbers of texts mean; the first is "". */
  readonly texts: readonly string[];
  readonly docs: Readonly<Record<string, Documentation>>;
  readonly opened: readonly string[];
  readonly hidden: number;
  /** Whether tensors flow to the right: x and y of the drawing are exchanged then. */
  readonly right: boolean;
  /** Pixels around the inside of an open scope: above, at the other sides; around the whole graph. */
  readonly frame: readonly [header: number, padding: number, margin: number];
  readonly selected: readonly number[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly notices: readonly string[];
  readonly legends: readonly Legend[];
  /** The present way to colour, or "". */
  readonly colour: string;
}

const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array } as const;
type Numbers = Uint8Array | Uint32Array | Int32Array | Float32Array;

/** The document, and its columns of numbers by name. */
export class Data {
  readonly head: Head;
  readonly #columns: ReadonlyMap<string, Numbers>;

  constructor(whole: ArrayBuffer) {
    const size = new DataView(whole).getUint32(0, true);
    this.head = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, size)));
    this.#columns = new Map(
      this.head.fields.map(([name, dtype, length, offset]) => [
        name,
        new TYPES[dtype](whole, 4 + size + offset, length),
      ]),
    );
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

/** The data of base64 text that holds gzipped bytes. */
export async function unpacked(text: string): Promise<Data> {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Data(await new Response(stream).arrayBuffer());
}
