// The View menu: view options, and the buttons that do not fit into a narrow toolbar.
import { available, type Binding, bindingOf, type KeyContext, keyText } from "../../interaction/key-bindings";
import { NavigationCursor } from "../../interaction/keyboard-nav";
import type { Parts } from "../../interaction/parts";
import type { Tool } from "../../state/store";
import { ICONS, icon } from "../dom";
import { TOOLS } from "./drag-tools";
import { createMenu, Dropdown, type MenuItem, type MenuSection } from "./menus";

export function createViewMenu(parts: Parts): HTMLElement {
  const { store } = parts;
  const none = () => undefined;
  const context: KeyContext = {
    ...parts,
    find: none,
    menu: none,
    clone: none,
    cursor: new NavigationCursor(),
  };
  const state = () => store.value.state;
  const tool = ({ tool: which, name }: { tool: Tool; name: string }): MenuItem => ({
    text: name,
    narrow: true,
    checked: () => store.value.tool === which,
    act: () => parts.actions.setTool(which),
  });
  const bound = (keys: readonly string[], more: Partial<MenuItem> = {}) =>
    available(keys.map(bindingOf), parts).map((binding) => ({ ...itemOf(binding, context), ...more }));
  const sections: readonly MenuSection[] = [
    { title: "Drag mode", items: TOOLS.map(tool) },
    { title: "Scopes", items: bound(["E", "C"]) },
    {
      title: "Drawing",
      items: [
        ...bound(["D"], { text: "Flow to the right", checked: () => state()?.direction === "right" }),
        ...bound(["t"], { text: "Control edges", checked: () => store.value.controls }),
        ...bound(["m"], { text: "Minimap", checked: () => store.value.minimap }),
        ...bound(["U", "+", "-"]),
      ],
    },
    { title: "More", items: bound(["X", "r"], { narrow: true }) },
  ];
  const title = "View options";
  const opener = {
    attributes: { class: "tgw-mode tgw-opener", title },
    children: ["View", icon(ICONS.chevron)],
  };
  const menu = () => createMenu({ "aria-label": title }, sections, () => dropdown.close());
  const dropdown = new Dropdown("", opener, menu);
  return dropdown.root;
}

function itemOf(binding: Binding, context: KeyContext): MenuItem {
  const [key = ""] = binding.keys;
  return { text: binding.what, key: keyText(key), act: () => binding.act(context) };
}
