// The View menu: view options, and the buttons that do not fit into a narrow toolbar.
import { type CommandId, commandOf, isAvailable } from "../../interaction/key-bindings";
import type { Parts } from "../../interaction/parts";
import type { Tool } from "../../state/store";
import { ICONS, icon } from "../dom";
import { TOOLS } from "./drag-tools";
import { commandItem, createMenu, Dropdown, type MenuItem, type MenuSection } from "./menus";

export function createViewMenu(parts: Parts): HTMLElement {
  const { store } = parts;
  const state = () => store.value.state;
  const tool = ({ tool: which, name }: { tool: Tool; name: string }): MenuItem => ({
    id: which,
    text: name,
    narrow: true,
    checked: () => store.value.tool === which,
    act: () => parts.actions.setTool(which),
  });
  const commands = (ids: readonly CommandId[], more: Partial<MenuItem> = {}) =>
    ids.filter((id) => isAvailable(commandOf(id), parts)).map((id) => commandItem(id, parts, more));
  const sections: readonly MenuSection[] = [
    { title: "Drag mode", items: TOOLS.map(tool) },
    { title: "Scopes", items: commands(["expand-all", "collapse-all"]) },
    {
      title: "Drawing",
      items: [
        ...commands(["flip-direction"], {
          text: "Flow to the right",
          checked: () => state()?.direction === "right",
        }),
        ...commands(["control-edges"], {
          text: "Control edges",
          checked: () => store.value.controls,
        }),
        ...commands(["minimap"], { text: "Minimap", checked: () => store.value.minimap }),
        ...commands(["reset-layout", "zoom-in", "zoom-out"]),
      ],
    },
    { title: "More", items: commands(["compare", "refresh"], { narrow: true }) },
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
