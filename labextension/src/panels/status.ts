// The status line: what was refused or has just happened, and how large the graph is.
import { button, element, ICONS, icon, releaseFocus, taskButton } from "../dom";
import type { Edits } from "../edits";
import type { Offer } from "../protocol";
import { sizeText } from "../scene";
import type { Screen, Status } from "../store";
import type { Parts } from "./parts";

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
  let offered: Status["mends"];
  store.watch(["status", "slow", "state"], (screen) => {
    const { status } = screen;
    const bad = status !== null && status.kind !== "notice";
    line.setAttribute("data-kind", status?.kind ?? "");
    alert.textContent = bad ? status.text : "";
    notice.textContent = bad ? "" : noticeText(screen);
    dismiss.hidden = status === null;
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

function noticeText({ status, slow, state }: Screen): string {
  if (slow) return "Waiting for the kernel …";
  if (status) return status.text;
  return state ? "" : "Reading the graph …";
}
