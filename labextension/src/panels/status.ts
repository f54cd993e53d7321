// The status line: what was refused or has just happened, and how large the graph is.
import { button, element, ICONS, icon } from "../dom";
import { sizeText } from "../scene";
import type { Screen } from "../store";
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
  const size = element("span", { class: "tgw-size" });
  const line = element("footer", { class: "tgw-status" }, alert, notice, dismiss, size);
  store.watch(["status", "slow", "state"], (screen) => {
    const { status } = screen;
    const bad = status !== null && status.kind !== "notice";
    line.setAttribute("data-kind", status?.kind ?? "");
    alert.textContent = bad ? status.text : "";
    notice.textContent = bad ? "" : noticeText(screen);
    dismiss.hidden = status === null;
  });
  store.watch(["state", "camera"], ({ state, camera }) => {
    const zoom = `${Math.round(camera.zoom * 100)} %`;
    size.textContent = state ? `${sizeText(state.ops, state.variables)} · ${zoom}` : "";
  });
  return line;
}

function noticeText({ status, slow, state }: Screen): string {
  if (slow) return "Waiting for the kernel …";
  if (status) return status.text;
  return state ? "" : "Reading the graph …";
}
