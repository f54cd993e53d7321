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

  /**
   * The width at a size of 1, measured at a large one; with geometric precision widths grow in
   * proportion.
   */
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

/** Where a name may go on in a second line: after a separator, and before a capital letter. */
const NAME_BREAK = /[_/.-]+(?=.)|[a-z](?=[A-Z])/g;

/** A name in two lines that both fit, as even ones as there are; null if there are none. */
export function twoLines(
  name: string,
  fits: (part: string) => boolean,
): readonly [string, string] | null {
  const ends = [...name.matchAll(NAME_BREAK)].map(({ index, 0: end }) => index + end.length);
  const halves = ends.map((end) => [name.slice(0, end), name.slice(end)] as const);
  const longest = (lines: readonly string[]) => Math.max(...lines.map((line) => line.length));
  halves.sort((a, b) => longest(a) - longest(b));
  return halves.find((lines) => lines.every(fits)) ?? null;
}

/** With fewer letters at its beginning a name is not known again. */
const LEAST_HEAD = 2;
/** The index of a part of a name: what distinguishes it from its siblings. */
const INDEX = /\d+(?=[/.)]|$)/g;

/**
 * The longest beginning that fits with an ellipsis after it. The end of a name says more, so it
 * keeps a piece, from its last index on if there is room; "layer_0 … layer_2" becomes "layer_0 … 2"
 * first, and has one ellipsis always.
 */
export function shorten(label: string, fits: (part: string) => boolean): string {
  // What distinguishes "block_7_*" from its siblings is the number, and that it is a group is seen.
  const name = label.replace(/[_/.]\*$/, "");
  if (name !== label) return fits(name) ? name : shorten(name, fits);
  const range = rangesOf(label).find(fits);
  if (range !== undefined) return range;
  const letters = [...label];
  const index = [...label.matchAll(INDEX)].at(-1)?.index;
  const indexed = letters.length - [...label.slice(0, index)].length;
  let low = 0;
  let high = letters.length - 1;
  const cut = (kept: number) => {
    const third = Math.floor(kept / 3);
    const tail = indexed <= kept - LEAST_HEAD ? Math.max(third, indexed) : third;
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

/** Where a part of a name ends: a number begins, or there is a separator. */
const PART_END = /[_/.]|[A-Za-z](?=\d)/g;

/**
 * The shorter ways to write "layer_0 … layer_2": the second name without the parts with which the
 * first begins, too.
 */
function rangesOf(label: string): string[] {
  const [, first = "", last = ""] = /^(.+?) … (.+)$/.exec(label) ?? [];
  let alike = 0;
  while (alike < last.length && first[alike] === last[alike]) alike++;
  const ends = [...last.matchAll(PART_END)]
    .map(({ index }) => index + 1)
    .filter((end) => end <= alike);
  const other = last.slice(ends.at(-1));
  return ends.length > 0 && other ? [`${first} … ${other}`, `${first}…${other}`] : [];
}
