// The list of a scope's tensors, some of which the user ticks as input or output. Enter marks them,
// Escape closes.
import type { Parts } from "../../interaction/parts";
import type { BoundaryTensor } from "../../protocol/messages";
import { breakableName, button, element, setAttributes } from "../dom";
import { Popover } from "./menus";

export function createTickList({ store, stage }: Parts): HTMLElement {
  const list = element("ul", { class: "tgw-switches" });
  const submit = element("button", { type: "submit", class: "tgw-primary" });
  const cancel = button({ class: "tgw-button" }, () => close(), "Cancel");
  const form = element(
    "form",
    { role: "dialog" },
    list,
    element("div", { class: "tgw-tick-foot" }, submit, cancel),
  );
  const popover = new Popover("tgw-ticks", {
    closed: () => store.value.ticking && store.set({ ticking: null }),
    stays: () => true,
  });
  const close = () => popover.close();
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
  popover.root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    event.stopPropagation();
  });
  store.watch(["ticking"], ({ ticking }) => {
    if (!ticking) return close();
    const side = ticking.side === "inputs" ? "input" : "output";
    const title = `Which tensors are the ${side}?`;
    setAttributes(form, { "aria-label": title });
    submit.textContent = `Mark as ${side}`;
    submit.disabled = false;
    list.replaceChildren(...ticking.tensors.map(entry));
    if (checked().length === 0) for (const box of boxes()) box.checked = true;
    const { x, y } = stage.handle(ticking.item);
    popover.show(title, form, { x, y });
    submit.focus({ preventScroll: true });
  });
  // A scope that was opened or closed meanwhile is another item.
  store.watch(["scene"], () => store.value.ticking && store.set({ ticking: null }));
  return popover.root;
}

function entry({ tensor, about, proposed }: BoundaryTensor): HTMLElement {
  const box = element("input", { type: "checkbox", value: tensor });
  box.checked = proposed;
  const type = element("span", { class: "tgw-dtype" }, about);
  const text = element("span", { class: "tgw-switch-name" }, breakableName(tensor), type);
  return element("li", {}, element("label", { class: "tgw-switch", title: tensor }, text, box));
}
