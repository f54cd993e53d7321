// Joins the pieces of replies that are too large for one message; see
// tfgraphwidget/widget/delivery.py.
import type { Piece } from "../protocol/messages";

/** A reply as JSON, and its buffer. */
export interface Joined {
  readonly text: string;
  readonly buffer: DataView;
}

export class Pieces {
  readonly #received = new Map<object, Uint8Array[]>();

  /** Keep a piece of the reply to a request; returns the reply once all pieces are there. */
  add(request: object, { nth, of, text }: Piece, bytes: DataView): Joined | undefined {
    const pieces = this.#received.get(request) ?? [];
    this.#received.set(request, pieces);
    pieces[nth] = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // A reply that is sent again brings pieces that are there already; one that was lost leaves a
    // gap.
    if (Object.keys(pieces).length < of) return undefined;
    const data = new Uint8Array(pieces.reduce((size, piece) => size + piece.byteLength, 0));
    let start = 0;
    for (const piece of pieces) {
      data.set(piece, start);
      start += piece.byteLength;
    }
    return {
      text: new TextDecoder().decode(data.subarray(0, text)),
      buffer: new DataView(data.buffer, text),
    };
  }

  /** Forget the pieces of a request that has its reply, or is given up. */
  drop(request: object): void {
    this.#received.delete(request);
  }
}
