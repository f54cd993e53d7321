// A small menu at a place of the drawing: arrow keys move, Enter chooses, Escape closes.
import type { Entry } from "../aiming";
import { button, element, uniqueId } from "../dom";
import type { Point } from "../render/camera";
import { listenInMenu } from "./dropdown";

export interface Menu {
  readonly root: HTMLElement;
  show(title: string, entries: readonly Entry[], point: Point): void;
}

export function createMenu(): Menu {
  const id = uniqueId();
  const heading = element("p", { class: "tgw-label", id });
  const list = element("div", { role: "menu", "aria-labelledby": id });
  const root = element("div", { class: "tgw-menu", hidden: true }, heading, list);
  const close = () => {
    if (root.hidden) return;
    const had = root.contains(document.activeElement);
    root.hidden = true;
    if (had) root.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
  };
  root.addEventListener("keydown", (event) => listenInMenu(event, list, close));
  root.addEventListener("focusout", (event) => {
    if (!(event.relatedTarget instanceof Node && root.contains(event.relatedTarget))) close();
  });
  const show = (title: string, entries: readonly Entry[], { x, y }: Point) => {
    heading.textContent = title;
    list.replaceChildren(...entries.map((entry) => itemOf(entry, close)));
    root.hidden = false;
    place(root, x, y);
    list.querySelector("button")?.focus({ preventScroll: true });
  };
  return { root, show };
}

function itemOf({ text, why, choose }: Entry, close: () => void): HTMLElement {
  const act = () => {
    close();
    choose();
  };
  const reason = why ? [element("span", { class: "tgw-reason" }, why)] : [];
  return button(
    { role: "menuitem", class: why ? "tgw-menu-item tgw-barred" : "tgw-menu-item" },
    act,
    text,
    ...reason,
  );
}

function place(root: HTMLElement, x: number, y: number): void {
  const { clientWidth, clientHeight } = root.parentElement ?? root;
  const left = Math.max(4, Math.min(x, clientWidth - root.offsetWidth - 4));
  const top = Math.max(4, Math.min(y, clientHeight - root.offsetHeight - 4));
  root.style.transform = `translate(${left}px, ${top}px)`;
}
