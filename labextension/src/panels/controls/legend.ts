// The legend in the lower right corner: the choice of coloring, and the meaning of the colors.
import type { Parts } from "../../interaction/parts";
import type { Legend } from "../../protocol/messages";
import { FAMILIES, type Scene } from "../../protocol/scene";
import { FILLS, RAMP, TINTS } from "../../render/canvas/palette";
import { button, element, ICONS, icon, setAttributes, uniqueId } from "../dom";
import { omittedText } from "./descriptions";
import { meaningsIn } from "./meanings";

const BY_FAMILY = "op family";
/** What is unfolded: nothing, the colors, or the marks of the drawing too. */
type Extent = "folded" | "colors" | "all";

export function createLegend({ store, actions }: Parts): HTMLElement {
  const id = uniqueId();
  const select = element("select", {
    class: "tgw-input",
    "aria-label": "Color by",
    title: "Color by",
  });
  const body = element("div", { class: "tgw-legend-body", id });
  let extent: Extent = "folded";
  const unfold = (to: Extent) => {
    extent = to;
    body.hidden = to === "folded";
    more.hidden = to === "all";
    setAttributes(fold, { "aria-expanded": String(!body.hidden) });
  };
  const unfoldAndShow = (to: Extent) => {
    unfold(to);
    show();
  };
  const fold = button(
    { class: "tgw-tool", "aria-label": "Legend", "aria-controls": id },
    () => unfoldAndShow(extent === "folded" ? "all" : "folded"),
    icon(ICONS.chevron),
  );
  const explain = () => {
    unfoldAndShow("all");
    fold.focus();
  };
  const more = button({ class: "tgw-text-button" }, explain, "Explain the marks");
  const head = element("div", { class: "tgw-legend-head" }, select, fold);
  const root = element(
    "section",
    { class: "tgw-legend", "aria-label": "Colors", hidden: true },
    head,
    body,
  );
  select.addEventListener("change", async () => {
    await actions.changeView({ type: "color", by: select.value });
    show(); // a refusal has left it as it was
  });
  let [shown, last] = ["", ""];
  const show = () => {
    const { state, scene, paint } = store.value;
    root.hidden = !state || state.colors.length === 0;
    if (!state) return;
    const by = state.legend?.by ?? "";
    // A new coloring needs its legend, whether it was chosen here or in Python; as little as is
    // needed, for it covers ops.
    if (by !== last) unfold(extentOf(extent, by));
    const ways = options(state.colors, by);
    const families = state.legend ? [] : familiesIn(scene);
    const omitted = scene && extent === "all" ? omittedText(scene) : "";
    const marks = extent === "all" ? meaningsIn(scene, paint, store.value) : [];
    const news = JSON.stringify([ways, state.legend, families, omitted, marks, extent]);
    if (news !== shown) {
      shown = news;
      select.replaceChildren(
        ...ways.map((way) => element("option", { value: way }, `Color by ${way || BY_FAMILY}`)),
      );
      body.replaceChildren(...bodyOf(state.legend, families, omitted, marks), more);
    }
    select.value = last = by;
  };
  // Op families are the default coloring, with few colors: the legend is folded at first.
  unfold("folded");
  store.watch(
    [
      "state",
      "scene",
      "paint",
      "picked",
      "hitNames",
      "hitOps",
      "hitCounts",
      "warned",
      "edited",
      "controls",
    ],
    show,
  );
  return root;
}

/** What is unfolded when the coloring becomes `by`, "" for op families. */
export function extentOf(extent: Extent, by: string): Extent {
  if (extent === "all") return extent;
  return by ? "colors" : "folded";
}

/** The colorings to choose from; the current one is always included. */
export function options(colors: readonly string[], by: string): string[] {
  return [...new Set(["", ...colors, by])];
}

/** How many ops, in words. */
export function opsText(ops: number): string {
  return `${ops.toLocaleString("en")} op${ops === 1 ? "" : "s"}`;
}

function bodyOf(
  legend: Legend | null,
  families: readonly (typeof FAMILIES)[number][],
  omitted: string,
  marks: readonly string[],
): HTMLElement[] {
  const colors = legend ? legendEntries(legend) : [list(BY_FAMILY, families.map(familyEntry))];
  const meanings = marks.map((mark) => element("li", {}, mark));
  return [
    ...colors,
    ...(marks.length > 0
      ? [element("ul", { class: "tgw-legend-marks", "aria-label": "Marks" }, ...meanings)]
      : []),
    ...(omitted === "" ? [] : [notice(omitted)]),
  ];
}

/** The families that are drawn, in the order of the palette. */
function familiesIn(scene: Scene | null): (typeof FAMILIES)[number][] {
  const drawn = new Set(scene?.family);
  return FAMILIES.filter((_, number) => number > 0 && drawn.has(number));
}

function familyEntry(name: (typeof FAMILIES)[number]): HTMLElement {
  const swatch = element("span", { class: "tgw-legend-swatch", "aria-hidden": "true" });
  setFill(swatch, FILLS[name]);
  return element("li", {}, swatch, element("span", { class: "tgw-legend-label" }, name));
}

function notice(text: string): HTMLElement {
  return element("p", { class: "tgw-legend-notice" }, text);
}

function list(by: string, entries: readonly HTMLElement[]): HTMLElement {
  return element("ul", { "aria-label": `Colors by ${by}` }, ...entries);
}

function legendEntries(legend: Legend): HTMLElement[] {
  const entries = legend.entries.map(({ label, tint, ops }) => {
    const swatch = element(
      "span",
      { class: "tgw-legend-swatch", "aria-hidden": "true" },
      tint ? String(tint) : "–",
    );
    setFill(swatch, TINTS[tint - 1] ?? ["transparent", "transparent"]);
    const name = element("span", { class: "tgw-legend-label", title: label }, label);
    return element(
      "li",
      {},
      swatch,
      name,
      element("span", { class: "tgw-legend-ops" }, opsText(ops)),
    );
  });
  const children: HTMLElement[] = [];
  if (entries.length > 0) children.push(list(legend.by, entries));
  if (legend.high !== "") children.push(...ramp(legend));
  if (legend.notice !== "") children.push(notice(legend.notice));
  if (children.length === 0) children.push(notice("No op in the view has a value."));
  return children;
}

function ramp({ low, high }: Legend): HTMLElement[] {
  const bar = element("div", {
    class: "tgw-legend-ramp",
    role: "img",
    "aria-label": `From ${low} to ${high}`,
  });
  const [light, dark] = RAMP.map((stops) => `linear-gradient(to right, ${stops.join(", ")})`);
  setFill(bar, [light ?? "", dark ?? ""]);
  const ends = [low, high].map((text) => element("span", {}, text));
  return [bar, element("div", { class: "tgw-legend-ends", "aria-hidden": "true" }, ...ends)];
}

/** A background in a light theme, and in a dark one; legend.css takes one of them. */
function setFill(target: HTMLElement, [light, dark]: readonly [string, string]): void {
  target.style.setProperty("--tgw-light", light);
  target.style.setProperty("--tgw-dark", dark);
}
