// How far everything in an inside is pushed down by what has grown above it: as little as keeps the order of any two
// things that overlap in x. So no box comes to lie on another, and no line through one; what stands beside stays.

/** A box, or a horizontal part of a line; `growth` is how much taller it is than it was drawn. */
export interface Piece {
  readonly low: number;
  readonly high: number;
  readonly y: number;
  readonly growth: number;
}

/** Per piece how far it goes down, and how much taller all of it is. */
export function dropped(pieces: readonly Piece[]): { drop: Float64Array; growth: number } {
  const drop = new Float64Array(pieces.length);
  if (pieces.every(({ growth }) => growth <= 0)) return { drop, growth: 0 };
  const order = [...pieces.keys()].sort((a, b) => yOf(pieces, a) - yOf(pieces, b));
  const skyline = new Skyline();
  for (const k of order) {
    const { low, high, growth } = pieces[k] as Piece;
    drop[k] = skyline.most(low, high);
    skyline.put(low, high, (drop[k] as number) + Math.max(growth, 0));
  }
  return { drop, growth: skyline.most(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY) };
}

function yOf(pieces: readonly Piece[], k: number): number {
  return pieces[k]?.y ?? 0;
}

/** How far things are pushed that come next: pieces [x[i], x[i + 1]) by `push[i]`. */
class Skyline {
  readonly #x = [Number.NEGATIVE_INFINITY];
  readonly #push = [0];

  most(low: number, high: number): number {
    let i = this.#after(low) - 1;
    let found = this.#push[i] as number;
    for (i += 1; i < this.#x.length && (this.#x[i] as number) < high; i++)
      found = Math.max(found, this.#push[i] as number);
    return found;
  }

  put(low: number, high: number, push: number): void {
    if (low >= high) return;
    const last = this.#before(high);
    const after = this.#push[last - 1] as number;
    const first = this.#before(low);
    const ends = this.#x[last] === high;
    this.#x.splice(first, last - first, ...(ends ? [low] : [low, high]));
    this.#push.splice(first, last - first, ...(ends ? [push] : [push, after]));
  }

  /** The number of the first piece that begins after a place; at or after it. */
  #after(place: number): number {
    return this.#search((x) => x > place);
  }

  #before(place: number): number {
    return this.#search((x) => x >= place);
  }

  #search(beyond: (x: number) => boolean): number {
    let [low, high] = [0, this.#x.length];
    while (low < high) {
      const half = (low + high) >> 1;
      if (beyond(this.#x[half] as number)) high = half;
      else low = half + 1;
    }
    return low;
  }
}
