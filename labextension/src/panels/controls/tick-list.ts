// The list of a scope's tensors, some of which the user ticks as input or output. Enter marks them, Escape closes.
import type { Parts } from "../../interaction/parts";
import type { BoundaryTensor } from "../../protocol/messages";
import { breakableName, button, element, hasFocus, uniqueId } from "../dom";
import { placeMenu } from "./menus";

export function createTickList({ store, stage }: Parts): HTMLElement {
  const id = uniqueId();
  const heading = element("p", { class: "tgw-label", id });
  const list = element("ul", { class: "tgw-switches" });
  const submit = element("button", { type: "submit", class: "tgw-primary" });
  const cancel = button({ class: "tgw-button" }, () => close(), "Cancel");
  const form = element("form", {}, list, element("div", { class: "tgw-tick-foot" }, submit, cancel));
  const attributes = { class: "tgw-menu tgw-ticks", role: "dialog", "aria-labelledby": id, hidden: true };
  const root = element("div", attributes, heading, form);

  const close = () => {
    const had = hasFocus(root);
    root.hidden = true;
    if (store.value.ticking) store.set({ ticking: null });
    if (had) root.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
  };
  const boxes = () => [...list.querySelectorAll("input")];
  const checked = () => boxes().flatMap((box) => (box.checked ? [box.value] : []));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { ticking } = store.value;
    const tensors = checked();
    close();
    if (tensors.length > 0) ticking?.take(tensors);
  });
  list.addEventListener("change", () => {
    submit.disabled = checked().length === 0;
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    event.stopPropagation();
  });
  store.watch(["ticking"], ({ ticking }) => {
    if (!ticking) return close();
    const side = ticking.side === "inputs" ? "input" : "output";
    heading.textContent = `Which tensors are the ${side}?`;
    submit.textContent = `Mark as ${side}`;
    submit.disabled = false;
    list.replaceChildren(...ticking.tensors.map(entry));
    if (checked().length === 0) for (const box of boxes()) box.checked = true;
    const { x, y } = stage.handle(ticking.item);
    root.hidden = false;
    placeMenu(root, x, y);
    submit.focus({ preventScroll: true });
  });
  // A scope that was opened or closed meanwhile is another item.
  store.watch(["scene"], () => store.value.ticking && store.set({ ticking: null }));
  return root;
}

function entry({ tensor, about, proposed }: BoundaryTensor): HTMLElement {
  const box = element("input", { type: "checkbox", value: tensor });
  box.checked = proposed;
  const type = element("span", { class: "tgw-dtype" }, about);
  const text = element("span", { class: "tgw-switch-name" }, breakableName(tensor), type);
  return element("li", {}, element("label", { class: "tgw-switch", title: tensor }, text, box));
}
