// Tools: what a drag over the drawing does.
import { button, element, ICONS, icon } from "../dom";
import type { Tool } from "../store";
import type { Parts } from "./parts";

const KEYS = "with Ctrl it adds to the selection, with Alt it takes away";
export const TOOLS: readonly { tool: Tool; name: string; title: string }[] = [
  { tool: "pan", name: "Pan", title: `A drag moves the drawing (Esc). With Shift it draws a box; ${KEYS}` },
  { tool: "box", name: "Box", title: `A drag selects what is wholly inside the box (b); ${KEYS}` },
  { tool: "lasso", name: "Lasso", title: `A drag around ops selects them (l); ${KEYS}` },
];

export function createTools({ store, actions }: Parts): HTMLElement {
  const group = element("div", { class: "tgw-modes", role: "group", "aria-label": "What a drag does" });
  const buttons = TOOLS.map(({ tool, name, title }) => {
    const made = button(
      { class: "tgw-mode tgw-drag-tool", "data-tool": tool, title, "aria-label": name },
      () => actions.setTool(tool),
      icon(ICONS[tool]),
    );
    group.append(made);
    return { tool, made };
  });
  store.watch(["tool"], ({ tool }) => {
    for (const each of buttons) each.made.setAttribute("aria-pressed", String(each.tool === tool));
  });
  return group;
}
