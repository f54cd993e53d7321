// Messages: the status line, warnings, the text of an empty graph, and announcements for screen readers.
import type { Edits } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { Offer, State } from "../../protocol/messages";
import { sizeText } from "../../protocol/scene";
import type { Screen, Status, Store } from "../../state/store";
import {
  button,
  disable,
  element,
  ICONS,
  icon,
  releaseFocus,
  setAttributes,
  taskButton,
} from "../dom";
import { announcementText } from "./descriptions";
import { trustQuestion, trustSwitch } from "./trust";

const GONE: Status = {
  kind: "error",
  text: "The kernel was restarted or shut down: run the cell again.",
};
const BUSY = "The kernel is running a cell; waiting for it to finish";

/** What the status line says. */
const SHOWN = ["status", "working", "state", "kernelGone", "picking"] as const;
type Shown = Pick<Screen, (typeof SHOWN)[number]>;

export function createStatus(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  // Both regions exist from the start: screen readers announce changes only of existing regions.
  const alert = element("span", { role: "alert", class: "tgw-alert" });
  const notice = element("span", { role: "status", class: "tgw-notice" });
  const label = "Dismiss the message";
  const dismiss = button(
    { class: "tgw-tool tgw-dismiss", title: label, "aria-label": label },
    () => actions.dismiss(),
    icon(ICONS.close),
  );
  const fixes = element("span", {
    class: "tgw-fixes",
    role: "group",
    "aria-label": "Suggested fixes",
  });
  const size = element("span", { class: "tgw-size" });
  const details = new Details();
  const message = element(
    "div",
    { class: "tgw-message" },
    ...[alert, notice, details.button, fixes, createProgress(store), dismiss],
  );
  // The message lies over the edge of the drawing where it is longer than the line is wide.
  const line = element(
    "footer",
    { class: "tgw-status" },
    element("div", { class: "tgw-message-place" }, message),
    size,
  );
  // What stands at the lower edge of the drawing stands above the message.
  new ResizeObserver(() => {
    const over = line.getBoundingClientRect().top - message.getBoundingClientRect().top;
    const height = message.hasAttribute("data-says") ? Math.max(over, 0) : 0;
    line.parentElement?.style.setProperty("--tgw-message-over", `${height}px`);
  }).observe(message);
  let offered: Status | null = null;
  store.watch(SHOWN, (screen) => {
    const { kernelGone, picking } = screen;
    const status = statusOf(screen);
    const bad = status?.kind === "refused" || status?.kind === "error";
    line.setAttribute("data-kind", status?.kind ?? "");
    const text = bad ? status.text : noticeText(screen);
    setAttributes(message, { "data-says": text !== "" });
    details.write(text, bad ? alert : notice, bad ? notice : alert);
    dismiss.hidden = kernelGone || !(status ?? picking);
    if (status === offered) return;
    offered = status;
    releaseFocus(fixes);
    fixes.replaceChildren(...(status ? buttonsOf(status, parts) : []));
  });
  store.watch(["state", "camera"], ({ state, camera }) => {
    size.textContent = state ? totalText(state, camera.zoom) : "";
  });
  return line;
}

function buttonsOf({ fixes = [], trust, actions = [] }: Status, parts: Parts): HTMLElement[] {
  return [
    ...fixes.map((offer) => offerButton(offer, parts.actions.edits)),
    ...(trust ? [trustSwitch(parts)] : []),
    ...actions.map(({ text, title, act }) => button({ class: "tgw-button", title }, act, text)),
  ];
}

/** "12 ops selected · 345 ops · 4 variables · 80 %". */
export function totalText({ ops, variables, selected_ops: selected }: State, zoom: number): string {
  const chosen = selected > 0 ? `${sizeText(selected, 0)} selected · ` : "";
  return `${chosen}${sizeText(ops, variables)} · ${Math.round(zoom * 100)} %`;
}

/** The first sentence of a message, and what follows it. */
export function firstSentence(text: string): [first: string, rest: string] {
  const end = /[.!?](?=\s+[\p{Lu}'"`\d])/u.exec(text);
  const length = end ? end.index + 1 : text.length;
  return [text.slice(0, length), text.slice(length).trim()];
}

/** Shows the first sentence of a message; the button shows the rest. */
class Details {
  readonly button = button(
    { class: "tgw-text-button tgw-more", "aria-expanded": "false", hidden: true },
    () => this.#open(this.#rest.hidden === true),
    "Details",
  );
  readonly #rest = element("span", { hidden: true });
  #text = "";

  write(text: string, to: HTMLElement, other: HTMLElement): void {
    other.textContent = "";
    if (text === this.#text && to.textContent) return;
    this.#text = text;
    const [first, rest] = firstSentence(text);
    this.#rest.textContent = rest ? ` ${rest}` : "";
    to.replaceChildren(first, ...(rest ? [this.#rest] : []));
    this.button.hidden = rest === "";
    this.#open(false);
  }

  #open(isOpen: boolean): void {
    this.#rest.hidden = !isOpen;
    this.button.setAttribute("aria-expanded", String(isOpen));
    this.button.textContent = isOpen ? "Less" : "Details";
  }
}

/** A button for an edit, or a switch that it turns. */
export function offerButton({ text, line, on }: Offer, edits: Edits): HTMLElement {
  const state = on === null ? {} : { role: "switch", "aria-checked": String(on) };
  return taskButton({ class: "tgw-button", title: line, ...state }, () => edits.fix(line), text);
}

/** The progress of the kernel, and a Cancel button where an interrupt is possible. */
function createProgress(store: Store): HTMLElement {
  const bar = element("progress", { class: "tgw-progress", "aria-label": "Progress" });
  const stop = button({ class: "tgw-button", title: "Interrupt the kernel" }, () => {
    disable(stop, true);
    interrupt(root, false);
  });
  stop.append("Cancel");
  const hint = element("span", { class: "tgw-none" }, "Interrupt the kernel to stop it.");
  const root = element("span", { class: "tgw-working", hidden: true }, bar, stop, hint);
  store.watch(["working"], ({ working }) => {
    // While a cell runs, an interrupt would be the cell's.
    const works = working !== null && working.what !== "";
    if (works === root.hidden) {
      if (root.hidden) disable(stop, false);
      else releaseFocus(root);
      root.hidden = !works;
      stop.hidden = works && !interrupt(root, true);
      hint.hidden = !stop.hidden;
    }
    if (working?.total) setAttributes(bar, { value: working.done, max: working.total });
    else setAttributes(bar, { value: undefined, max: undefined });
  });
  return root;
}

/** Interrupt the kernel through the application, or (`ask`) only check whether that is possible. */
function interrupt(from: Element, ask: boolean): boolean {
  const init = { bubbles: true, cancelable: true, detail: { ask } };
  return !from
    .closest(".tfgraphwidget")
    ?.dispatchEvent(new CustomEvent("tfgraphwidget:interrupt", init));
}

/** The previous status is not shown while a request is in progress. */
function statusOf({ kernelGone, working, status }: Shown): Status | null {
  if (kernelGone) return GONE;
  return working ? null : status;
}

function noticeText({ status, working, state, picking }: Shown): string {
  if (working) return `${working.what || BUSY} …`;
  if (picking) return picking.ask;
  if (status) return status.text;
  return state ? "" : "Reading the graph …";
}

// Warnings: what can only be looked at. They stay until they are put away, and come back when there is a new one.

/** The warnings to show; the last one, if the file is not trusted, is that its ops do not run. */
export function unreadWarnings({
  state,
  dismissed,
}: Pick<Screen, "state" | "dismissed">): readonly string[] {
  const warnings = warningsOf(state);
  return warnings.every((warning) => dismissed.includes(warning)) ? [] : warnings;
}

function warningsOf(state: State | null): readonly string[] {
  return [...(state?.warnings ?? []), ...(state?.untrusted ? [state.untrusted] : [])];
}

export function createWarnings(parts: Parts): HTMLElement {
  const { store } = parts;
  const list = element("ul", {});
  const label = "Dismiss the warnings";
  const dismiss = button(
    { class: "tgw-tool", title: label, "aria-label": label },
    () => {
      const { state, dismissed } = store.value;
      releaseFocus(bar);
      store.set({ dismissed: [...new Set([...dismissed, ...warningsOf(state)])] });
    },
    icon(ICONS.close),
  );
  // The region exists from the start: screen readers announce changes only of existing regions.
  const bar = element("div", { class: "tgw-warnings", role: "status" });
  const more = button(
    { class: "tgw-text-button tgw-more", "aria-expanded": "false" },
    () => open(!bar.hasAttribute("data-open")),
    "Details",
  );
  const open = (isOpen: boolean) => {
    bar.toggleAttribute("data-open", isOpen);
    more.setAttribute("aria-expanded", String(isOpen));
    more.textContent = isOpen ? "Less" : "Details";
    updateMore();
  };
  // There is more to be read where more than one line is, or its end is cut.
  const updateMore = () => {
    const line = list.querySelector(".tgw-first");
    const isCut = line !== null && line.scrollWidth > line.clientWidth;
    const isMore = isCut || list.querySelector("li:not(.tgw-first), .tgw-rest") !== null;
    more.hidden = !isMore && !bar.hasAttribute("data-open");
  };
  new ResizeObserver(updateMore).observe(bar);
  let shown: readonly string[] = [];
  store.watch(["state", "dismissed"], (screen) => {
    const warnings = unreadWarnings(screen);
    if (warnings.length === shown.length && warnings.every((w, i) => shown[i] === w)) return;
    shown = warnings;
    releaseFocus(list);
    list.replaceChildren(
      ...warnings.map((warning) =>
        warning === screen.state?.untrusted
          ? element("li", { class: "tgw-first" }, trustQuestion(parts))
          : warningEntry(warning, !screen.state?.untrusted && warning === warnings[0]),
      ),
    );
    bar.replaceChildren(...(warnings.length > 0 ? [icon(ICONS.warning), list, more, dismiss] : []));
    open(false);
  });
  return bar;
}

/** A warning; of the first the first sentence is always to be seen. */
function warningEntry(warning: string, isFirst: boolean): HTMLElement {
  const [first, rest] = firstSentence(warning);
  const details = rest ? [element("span", { class: "tgw-rest" }, ` ${rest}`)] : [];
  return element("li", { class: isFirst ? "tgw-first" : "" }, first, ...details);
}

// The text in the middle of an empty drawing.

export function createEmptyMessage({ store, readOnly = false }: Parts): HTMLElement {
  const text = element("p", { class: "tgw-empty", role: "status" });
  store.watch(["state"], ({ state }) => {
    text.textContent = emptyText(state, readOnly);
  });
  return text;
}

export function emptyText(state: State | null, readOnly = false): string {
  if (!state || state.ops > 0) return "";
  if (readOnly) return "There are no ops here.";
  if (state.path.length > 1) return "This function has no ops.";
  return "This graph has no ops yet; they appear here as cells add them.";
}

// Announces the inspected item to screen readers, which cannot read the canvas.

export function createAnnouncer({ store }: Parts): HTMLElement {
  const root = element("p", { class: "tgw-spoken", role: "status" });
  store.watch(["picked"], ({ picked }) => {
    const { scene, paint } = store.value;
    const item = scene?.byKey.get(picked) ?? -1;
    root.textContent = scene && item > 0 ? announcementText(scene, paint, item) : "";
  });
  return root;
}
