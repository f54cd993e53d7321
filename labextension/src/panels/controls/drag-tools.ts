// The drag modes: pan, box, lasso.
import type { Parts } from "../../interaction/parts";
import type { Tool } from "../../state/store";
import { button, element, ICONS, icon } from "../dom";

const KEYS = "Ctrl adds to the selection, Alt removes";
export const TOOLS: readonly { tool: Tool; name: string; title: string }[] = [
  { tool: "pan", name: "Pan", title: `Drag to pan (Escape). Shift-drag to draw a box; ${KEYS}` },
  {
    tool: "box",
    name: "Box",
    title: `Drag to select all ops completely inside a box (B); ${KEYS}`,
  },
  { tool: "lasso", name: "Lasso", title: `Drag around ops to select them (L); ${KEYS}` },
];

export function createDragTools({ store, actions }: Parts): HTMLElement {
  const group = element("div", { class: "tgw-modes", role: "group", "aria-label": "Drag mode" });
  const buttons = TOOLS.map(({ tool, name, title }) => {
    const control = button(
      { class: "tgw-mode tgw-drag-tool", "data-tool": tool, title, "aria-label": name },
      () => actions.setTool(tool),
      icon(ICONS[tool]),
    );
    group.append(control);
    return { tool, made: control };
  });
  store.watch(["tool"], ({ tool }) => {
    for (const each of buttons) each.made.setAttribute("aria-pressed", String(each.tool === tool));
  });
  return group;
}
