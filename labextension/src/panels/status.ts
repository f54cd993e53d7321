// The status line: what was refused or has just happened, and how large the graph is.
import { button, disable, element, ICONS, icon, releaseFocus, setAttributes, taskButton } from "../dom";
import type { Edits } from "../edits";
import type { Offer } from "../protocol";
import { sizeText } from "../scene";
import type { Screen, Status, Store } from "../store";
import type { Parts } from "./parts";

const GONE: Status = { kind: "error", text: "The kernel was restarted or shut down: run the cell again." };
const BUSY = "The kernel is busy with a cell; this will be answered when it is done";

export function createStatus({ store, actions }: Parts): HTMLElement {
  // Both regions are there from the start: a screen reader reads changes only of what it knows.
  const alert = element("span", { role: "alert", class: "tgw-alert" });
  const notice = element("span", { role: "status", class: "tgw-notice" });
  const label = "Dismiss the message";
  const dismiss = button(
    { class: "tgw-tool", title: label, "aria-label": label },
    () => actions.dismiss(),
    icon(ICONS.close),
  );
  const mends = element("span", { class: "tgw-mends", role: "group", "aria-label": "What would do instead" });
  const size = element("span", { class: "tgw-size" });
  const line = element("footer", { class: "tgw-status" }, alert, notice, mends, dismiss, size);
  line.insertBefore(createWorking(store), dismiss);
  let offered: Status["mends"];
  store.watch(["status", "working", "state", "gone", "picking"], (screen) => {
    const { gone, picking } = screen;
    const status = statusOf(screen);
    const bad = status !== null && status.kind !== "notice";
    line.setAttribute("data-kind", status?.kind ?? "");
    alert.textContent = bad ? status.text : "";
    notice.textContent = bad ? "" : noticeText(screen);
    dismiss.hidden = gone || !(status ?? picking);
    if (status?.mends === offered) return;
    offered = status?.mends;
    releaseFocus(mends);
    mends.replaceChildren(...(offered ?? []).map((offer) => mendButton(offer, actions.edits)));
  });
  store.watch(["state", "camera"], ({ state, camera }) => {
    const zoom = `${Math.round(camera.zoom * 100)} %`;
    size.textContent = state ? `${sizeText(state.ops, state.variables)} · ${zoom}` : "";
  });
  return line;
}

function mendButton({ text, line }: Offer, edits: Edits): HTMLElement {
  return taskButton({ class: "tgw-button", title: line }, () => edits.mend(line), text);
}

/** How far the kernel is, and a button that stops it where somebody can. */
function createWorking(store: Store): HTMLElement {
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

/** Ask whoever holds the kernel to interrupt it, or only whether somebody can. */
function interrupt(from: Element, ask: boolean): boolean {
  const init = { bubbles: true, cancelable: true, detail: { ask } };
  return !from.closest(".tfgraphwidget")?.dispatchEvent(new CustomEvent("tfgraphwidget:interrupt", init));
}

/** What was refused before is no news any more when something else is under way. */
function statusOf({ gone, working, status }: Screen): Status | null {
  if (gone) return GONE;
  return working ? null : status;
}

function noticeText({ status, working, state, picking }: Screen): string {
  if (working) return `${working.what || BUSY} …`;
  if (picking) return picking.ask;
  if (status) return status.text;
  return state ? "" : "Reading the graph …";
}
