// Measures text once, and shortens it with an ellipsis to a width.

/** Text cut to a width, remembered: measuring is the slowest thing a canvas does. */
export class Typesetter {
  readonly #cut = new Map<string, string>();
  readonly #widths = new Map<string, number>();
  readonly font: string;

  constructor(font: string) {
    this.font = font;
  }

  /** `text` with an ellipsis where it does not fit into `width` pixels at this size. */
  fit(ctx: CanvasRenderingContext2D, text: string, width: number, size: number): string {
    const key = `${size}|${Math.round(width)}|${text}`;
    const known = this.#cut.get(key);
    if (known !== undefined) return known;
    const fits = (part: string) => this.width(ctx, part) * size <= width;
    const result = fits(text) ? text : shorten(text, fits);
    if (this.#cut.size > 50_000) this.#cut.clear();
    this.#cut.set(key, result);
    return result;
  }

  /** The width at a size of 1, measured at a large one; with geometric precision widths grow in proportion. */
  width(ctx: CanvasRenderingContext2D, text: string): number {
    const known = this.#widths.get(text);
    if (known !== undefined) return known;
    const before = ctx.font;
    ctx.font = `100px ${this.font}`;
    const width = ctx.measureText(text).width / 100;
    ctx.font = before;
    if (this.#widths.size > 50_000) this.#widths.clear();
    this.#widths.set(text, width);
    return width;
  }
}

/**
 * The longest beginning that fits with an ellipsis behind it; the end of a name tells more, so it keeps a piece. The
 * ellipsis of "layer_0 … layer_2" stays the only one.
 */
export function shorten(text: string, fits: (part: string) => boolean): string {
  // What tells "block_7_*" from its siblings is the number, and that it is a group is seen.
  const name = text.replace(/[_/.]\*$/, "");
  if (name !== text) return fits(name) ? name : shorten(name, fits);
  const letters = [...text];
  let low = 0;
  let high = letters.length - 1;
  const cut = (kept: number) => {
    const tail = Math.floor(kept / 3);
    const part = (from: number, to: number) => letters.slice(from, to).join("");
    const end = part(letters.length - tail, letters.length).replace(/.*… ?/, "");
    return `${part(0, kept - tail).replace(/ ?….*/, "")}…${end}`;
  };
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(cut(middle))) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? cut(low) : "";
}
