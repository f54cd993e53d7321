// The list of a scope's tensors, some of which the user ticks as input or output. Enter marks them,
// Escape closes.
import type { Parts } from "../../interaction/parts";
import type { BoundaryTensor } from "../../protocol/messages";
import { breakableName, button, element, setAttributes } from "../dom";
import { TEXT } from "./form-fields";
import { Popover } from "./menus";

/** From so many on there is a field to find one, and a button for all that are shown. */
const SEARCHED = 12;

export function createTickList({ store, stage }: Parts): HTMLElement {
  const list = element("ul", { class: "tgw-switches" });
  const submit = element("button", { type: "submit", class: "tgw-primary" });
  const search = element("input", {
    ...TEXT,
    type: "search",
    placeholder: "Find a tensor",
    "aria-label": "Find a tensor",
  });
  const all = button(
    { class: "tgw-text-button", title: "Tick all tensors that are shown, or none of them" },
    () => tickAll(),
    "All or none",
  );
  const cancel = button({ class: "tgw-button" }, () => close(), "Cancel");
  const form = element(
    "form",
    { role: "dialog" },
    search,
    list,
    all,
    element("div", { class: "tgw-tick-foot" }, submit, cancel),
  );
  const popover = new Popover("tgw-ticks", {
    closed: () => store.value.ticking && store.set({ ticking: null }),
    stays: () => true,
  });
  const close = () => popover.close();
  const boxes = () => [...list.querySelectorAll("input")];
  const shown = () => boxes().filter((box) => box.closest("li")?.hidden === false);
  const tickAll = () => {
    const tick = shown().some((box) => !box.checked);
    for (const box of shown()) box.checked = tick;
    submit.disabled = checked().length === 0;
  };
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    for (const box of boxes()) {
      const entry = box.closest("li");
      if (entry) entry.hidden = !box.value.toLowerCase().includes(wanted);
    }
  });
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
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
    // Of a long list those that are proposed come first.
    const isLong = ticking.tensors.length >= SEARCHED;
    const proposed = ticking.tensors.filter((each) => each.proposed);
    const others = ticking.tensors.filter((each) => !each.proposed);
    list.replaceChildren(...(isLong ? [...proposed, ...others] : ticking.tensors).map(entry));
    search.hidden = all.hidden = !isLong;
    search.value = "";
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
