// The View menu: view options, and the buttons that do not fit into a narrow toolbar.
import { available, type Binding, bindingOf, type KeyContext, keyText } from "../../interaction/key-bindings";
import { NavigationCursor } from "../../interaction/keyboard-nav";
import type { Parts } from "../../interaction/parts";
import type { Tool } from "../../state/store";
import { TOOLS } from "./drag-tools";
import { createDropdown, type MenuItem } from "./menus";

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
  return createDropdown("View", "View options", [
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
  ]);
}

function itemOf(binding: Binding, context: KeyContext): MenuItem {
  const [key = ""] = binding.keys;
  return { text: binding.what, key: keyText(key), act: () => binding.act(context) };
}
