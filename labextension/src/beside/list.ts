// The list of differences, by scope: each step shows both ops in both panes.
import { breakableName, button, element, setAttributes } from "../panels/dom";
import type { BesideDocument, Step } from "./document";

const WORDS = {
  first: "First divergence",
  value: "Values differ",
  added: "Added",
  removed: "Removed",
  changed: "Changed",
  renamed: "Renamed",
} as const;

export class StepList {
  readonly root: HTMLElement;
  readonly #list = element("ol", { class: "tgw-diffs" });
  readonly #place = element("output", { class: "tgw-diff-place" });
  readonly #show: (step: Step) => void;
  #steps: readonly Step[] = [];
  #entries: HTMLElement[] = [];
  #current = -1;

  /** `show` brings the ops of a step into view. */
  constructor(show: (step: Step) => void) {
    this.#show = show;
    this.root = element(
      "section",
      { class: "tgw-differences", "aria-label": "Differences" },
      this.#list,
    );
  }

  /** The buttons that step through the list, and where one is in it. */
  controls(): HTMLElement {
    const step = (by: 1 | -1, text: string, name: string, title: string) =>
      button(
        { class: "tgw-diff-button", title, "aria-label": name, "data-step": by },
        () => this.step(by),
        text,
      );
    return element(
      "div",
      { class: "tgw-diff-controls", role: "group", "aria-label": "Step through the differences" },
      step(-1, "‹", "Previous difference", "Previous difference (p)"),
      this.#place,
      step(1, "›", "Next difference", "Next difference (n)"),
    );
  }

  get current(): Step | undefined {
    return this.#steps[this.#current];
  }

  fill({ steps, total }: BesideDocument): void {
    this.#steps = steps;
    this.#current = -1;
    this.#entries = steps.map((step, k) => this.#entry(step, k));
    const rows: HTMLElement[] = [];
    let heading = "";
    for (const [k, step] of steps.entries()) {
      const title = headingOf(step);
      if (title !== heading)
        rows.push(element("li", { class: "tgw-diff-scope" }, breakableName(title)));
      heading = title;
      rows.push(this.#entries[k] as HTMLElement);
    }
    const more = total - steps.length;
    if (more > 0)
      rows.push(element("li", { class: "tgw-none" }, `… and ${more.toLocaleString("en")} more`));
    if (steps.length === 0) rows.push(element("li", { class: "tgw-none" }, "Nothing differs."));
    this.#list.replaceChildren(...rows);
    this.#tell();
  }

  /** Go to the next difference or the one before; from the last one to the first. */
  step(by: 1 | -1): void {
    const count = this.#steps.length;
    if (count === 0) return;
    const start = this.#current < 0 && by < 0 ? 0 : this.#current;
    this.go((start + by + count) % count);
  }

  go(k: number): void {
    const step = this.#steps[k];
    if (!step) return;
    for (const [at, place] of [
      [this.#current, false],
      [k, true],
    ] as const)
      setAttributes(this.#entries[at] ?? element("li"), { "aria-current": place ? "step" : false });
    this.#current = k;
    this.#entries[k]?.scrollIntoView({ block: "nearest" });
    this.#tell();
    this.#show(step);
  }

  #tell(): void {
    const count = this.#steps.length.toLocaleString("en");
    this.#place.textContent =
      this.#current < 0 ? count : `${(this.#current + 1).toLocaleString("en")} / ${count}`;
  }

  #entry(step: Step, k: number): HTMLElement {
    const { kind, details, note } = step;
    const swatch = element("span", { class: `tgw-swatch tgw-${kind}`, "aria-hidden": true });
    const [short, title] = nameOf(step);
    const row = button(
      { class: "tgw-diff", title: `${WORDS[kind]}: ${title}` },
      () => this.go(k),
      swatch,
      element("span", { class: "tgw-diff-name" }, breakableName(short)),
      element("span", { class: "tgw-diff-note" }, note),
    );
    row.setAttribute("aria-label", `${WORDS[kind]}: ${title}${note ? `, ${note}` : ""}`);
    const lines = details.map(([what, before, after]) =>
      element(
        "div",
        { class: "tgw-diff-line" },
        element("dt", {}, breakableName(what)),
        element("dd", {}, breakableName(textOf(before, after))),
      ),
    );
    const body = lines.length > 0 ? [element("dl", { class: "tgw-diff-details" }, ...lines)] : [];
    return element("li", { class: "tgw-diff-entry", "data-kind": kind }, row, ...body);
  }
}

/** "Values, worst first", or the scope that a difference of structure is in. */
function headingOf({ kind, scope }: Step): string {
  if (kind === "first") return "First divergence";
  if (kind === "value") return "Values, worst first";
  return scope || "outside of scopes";
}

/** The name of a step in the list, and in full. */
function nameOf({ kind, before, after, scope }: Step): [short: string, full: string] {
  const name = kind === "removed" ? before : after;
  const isListed = kind !== "first" && kind !== "value" && scope !== "";
  const short = isListed && name.startsWith(`${scope}/`) ? name.slice(scope.length + 1) : name;
  return [short, before && before !== after && kind === "renamed" ? `${before} → ${after}` : name];
}

function textOf(before: string, after: string): string {
  if (before && after) return `${before} → ${after}`;
  return before ? `${before} → none` : after;
}
