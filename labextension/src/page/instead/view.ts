// The menu of a page of what is seldom needed: how the drawing looks, and, where there is no room, more buttons.

import { createDropdown, type Item } from "../../panels/dropdown";
import { TOOLS } from "../../panels/tools";
import type { createView as Original } from "../../panels/view";
import { Walk } from "../../walking";
import { capsOf, GROUPS, type Hands } from "./bindings";

export const createView: typeof Original = (parts) => {
  const { store, actions } = parts;
  const hands: Hands = { ...parts, find: () => undefined, walk: new Walk() };
  const tools = TOOLS.map(
    ({ tool, name }): Item => ({
      text: name,
      narrow: true,
      checked: () => store.value.tool === tool,
      act: () => actions.setTool(tool),
    }),
  );
  return createDropdown("View", "How the drawing looks", [
    { title: "What a drag does", items: tools },
    { title: "Scopes", items: [bound("E", hands), bound("C", hands)] },
    {
      title: "Drawing",
      items: [
        { ...bound("t", hands), text: "Control edges", checked: () => store.value.controls },
        { ...bound("m", hands), text: "Minimap", checked: () => store.value.minimap },
      ],
    },
    { title: "More", items: ["+", "-"].map((key) => ({ ...bound(key, hands), narrow: true })) },
  ]);
};

/** What a key of the table does. */
function bound(key: string, hands: Hands): Item {
  const binding = GROUPS.flatMap(({ bindings }) => bindings).find(({ keys }) => keys[0] === key);
  if (!binding) throw new Error(`No binding has the key ${key}.`);
  return { text: binding.what, key: capsOf(key).join("+"), act: () => binding.act(hands) };
}
