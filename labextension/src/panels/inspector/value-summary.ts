// The value of a tensor in a run: the value itself, or its range and a histogram.
import type { TensorValue } from "../../protocol/messages";
import { element, setAttributes } from "../dom";
import { withDrawnShapes } from "../shape-text";
import { preview, scaleOf } from "./preview";

const HEIGHT = 28;
const BAR = 8;

export function valueEntry(seen: TensorValue, title = "Value in the last run"): HTMLElement {
  const entry = element("div", { class: "tgw-seen", role: "group", "aria-label": title });
  if (seen.value) entry.append(element("code", { class: "tgw-seen-value" }, seen.value));
  if (seen.bars.length > 0) entry.append(histogram(seen));
  entry.append(element("span", { class: "tgw-dtype" }, rangeText(seen)));
  if (seen.sample)
    entry.append(
      element("code", { class: "tgw-seen-value", title: "The first elements" }, seen.sample),
    );
  for (const image of seen.images) entry.append(preview(image, scaleOf(image)));
  if (seen.nans + seen.infs > 0)
    entry.append(element("strong", { class: "tgw-broken" }, brokenText(seen)));
  return entry;
}

/** "2×3 · −1 … 2, mean 0.5, std 1" */
export function rangeText({ shape, low, mean, std, high, nans, infs }: TensorValue): string {
  const all = nans + infs > 0 ? "all others" : "all";
  const range =
    low === "" ? "" : low === high ? `${all} ${low}` : `${low} … ${high}, mean ${mean}, std ${std}`;
  return [withDrawnShapes(shape), range].filter(Boolean).join(" · ");
}

/** "3 NaN, 1 infinite" */
export function brokenText({ nans, infs }: TensorValue): string {
  const parts = [nans > 0 ? `${nans.toLocaleString("en")} NaN` : ""];
  if (infs > 0) parts.push(`${infs.toLocaleString("en")} infinite`);
  return parts.filter(Boolean).join(", ");
}

function histogram({ bars, low, high }: TensorValue): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const most = Math.max(...bars, 1);
  setAttributes(svg, {
    class: "tgw-histogram",
    viewBox: `0 0 ${bars.length * BAR} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `Histogram from ${low} to ${high}`,
  });
  for (const [i, count] of bars.entries()) {
    const bar = document.createElementNS(space, "rect");
    const height = count === 0 ? 0 : Math.max((count / most) * HEIGHT, 1);
    setAttributes(bar, { x: i * BAR, y: HEIGHT - height, width: BAR - 1, height });
    svg.append(bar);
  }
  return svg;
}
