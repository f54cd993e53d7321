// Inspector: current value, preview, signature, documentation and creation site of an op.
import type { Parts } from "../../interaction/parts";
import type { Examined, Image, Inspected } from "../../protocol/messages";
import { copyTools } from "../controls/copy-button";
import { breakableName, element, ICONS, icon, releaseFocus, taskButton } from "../dom";
import { valueEntry } from "./value-summary";

/** A preview's longer side, in pixels of the page; one pixel of it is a whole number of them. */
const SIDE = 96;
/** The same where there are several. */
const SMALL = 54;
const LEAST = 2;
/** Folds that are open until the user closes them; the same for all ops. */
const OPEN_FIRST = ["Value", "Preview"];

export function createOpDetails({ store, actions }: Parts): HTMLElement {
  const root = element("div", { class: "tgw-examined" });
  const open = new Set(OPEN_FIRST);
  const again = (name: string) => actions.examine(name);
  let last = "";
  store.watch(["details"], ({ details, examined }) => {
    if (examined && examined.name !== details?.name) store.set({ examined: null });
    const key = details ? examinedKey(details) : "";
    if (details && key !== last) void actions.examine(details.name);
    last = key;
  });
  store.watch(["details", "examined"], ({ details, examined }) => {
    const shown = isAbout(examined, details) ? examined : null;
    root.setAttribute("data-name", shown?.name ?? "");
    releaseFocus(root);
    const summary = shown?.summary ? [element("p", { class: "tgw-doc" }, ...withCode(shown.summary))] : [];
    root.replaceChildren(...summary, ...(shown ? folds(shown, open, again) : []));
  });
  return root;
}

/** What the value, signature and documentation depend on: not on consumers, so that a clone requests nothing. */
export function examinedKey({ name, op_type, attributes, doors, outputs }: Inspected): string {
  const types = op_type === "" ? [] : outputs.map(({ dtype, shape }) => [dtype, shape]);
  return JSON.stringify([name, op_type, attributes, doors, types]);
}

/** Whether a reply is about the inspected item. */
export function isAbout(examined: Examined | null, details: Inspected | null): boolean {
  return examined !== null && examined.name === details?.name;
}

type ReadAgain = (name: string) => Promise<void>;

function folds(shown: Examined, open: Set<string>, again: ReadAgain): HTMLElement[] {
  const parts: [string, HTMLElement[]][] = [
    ["Value", currentValue(shown, again)],
    ["Preview", shown.images.map((image, _, all) => preview(image, scaleOf(image, all.length)))],
    ["Signature", shown.signature.length > 0 ? [entries(shown.signature)] : []],
    ["Documentation", documentation(shown)],
    ["Created at", createdAt(shown.created)],
  ];
  return parts.filter(([, held]) => held.length > 0).map(([title, held]) => fold(title, held, open));
}

function fold(title: string, held: HTMLElement[], open: Set<string>): HTMLElement {
  const body = element(
    "div",
    { class: `tgw-fold-body tgw-fold-${title.split(" ")[0]?.toLowerCase()}` },
    ...held,
  );
  const entry = element(
    "details",
    { class: "tgw-details", open: open.has(title) },
    element("summary", { class: "tgw-label" }, title),
    body,
  );
  entry.addEventListener("toggle", () => (entry.open ? open.add(title) : open.delete(title)));
  return entry;
}

function currentValue({ name, value, why }: Examined, again: ReadAgain): HTMLElement[] {
  if (!value) return why ? [element("p", { class: "tgw-hint" }, why)] : [];
  const refresh = taskButton(
    { class: "tgw-text-button", title: "Read the value again" },
    () => again(name),
    icon(ICONS.refresh),
    "Read again",
  );
  return [
    element("div", { class: "tgw-titled" }, element("span", { class: "tgw-dtype" }, value.dtype), refresh),
    valueEntry(value, "Current value"),
  ];
}

/** How many pixels of the page one of an image is. */
export function scaleOf({ width, height }: Pick<Image, "width" | "height">, count = 1): number {
  return Math.max(LEAST, Math.floor((count > 1 ? SMALL : SIDE) / Math.max(width, height, 1)));
}

/** The pixels as a canvas has them: red, green, blue and opaque, each four bytes. */
export function rgba(pixels: string, size: number): Uint8ClampedArray<ArrayBuffer> {
  const gray = atob(pixels);
  const bytes = new Uint8ClampedArray(4 * size);
  for (let i = 0; i < size; i += 1)
    bytes.fill(gray.charCodeAt(i), 4 * i, 4 * i + 3).fill(255, 4 * i + 3, 4 * i + 4);
  return bytes;
}

function preview(image: Image, scale: number): HTMLElement {
  const { title, width, height } = image;
  const canvas = element("canvas", { width, height, role: "img", "aria-label": title, title });
  Object.assign(canvas.style, { width: `${width * scale}px`, height: `${height * scale}px` });
  canvas
    .getContext("2d")
    ?.putImageData(new ImageData(rgba(image.pixels, width * height), width, height), 0, 0);
  return canvas;
}

function documentation({ about, arguments: held }: Examined): HTMLElement[] {
  return [
    ...(held.length > 0 ? [entries(held)] : []),
    ...(about ? [element("p", { class: "tgw-doc tgw-about" }, ...withCode(about))] : []),
  ];
}

/** Text, with the parts between backticks as code. */
function withCode(text: string): (string | HTMLElement)[] {
  return text.split(/`([^`\n]+)`/).map((part, k) => (k % 2 === 1 ? element("code", {}, part) : part));
}

/** Rows of name, sort and text. */
function entries(rows: readonly (readonly [string, string, string])[]): HTMLElement {
  const list = element("dl", { class: "tgw-arguments" });
  for (const [sort, name, text] of rows)
    list.append(
      element(
        "dt",
        {},
        element("code", {}, breakableName(name)),
        element("span", { class: "tgw-dtype" }, sort),
      ),
      element("dd", {}, ...withCode(text)),
    );
  return list;
}

function createdAt(lines: readonly string[]): HTMLElement[] {
  if (lines.length === 0) return [];
  const list = element("ol", {
    class: "tgw-code tgw-stack",
    "aria-label": "Stack trace of its creation, innermost call last",
  });
  for (const line of lines) list.append(element("li", { "data-line": line }, breakableName(line)));
  return [element("div", { class: "tgw-titled" }, ...copyTools(list, "Copy the lines")), list];
}
