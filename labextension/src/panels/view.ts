// The menu of what is seldom needed: how the drawing looks, pictures of it, and, where there is no room, more buttons.
import { capsOf, GROUPS, type Hands } from "../bindings";
import { type Suffix, savePicture } from "../pictures";
import type { Tool } from "../store";
import { Walk } from "../walking";
import { createDropdown, type Item } from "./dropdown";
import type { Parts } from "./parts";
import { TOOLS } from "./tools";

const PICTURES: readonly { suffix: Suffix; whole: boolean }[] = (["png", "svg", "pdf"] as const).flatMap(
  (suffix) => [
    { suffix, whole: false },
    { suffix, whole: true },
  ],
);

export function createView(parts: Parts): HTMLElement {
  const { store } = parts;
  const hands: Hands = { ...parts, find: () => undefined, walk: new Walk() };
  const state = () => store.value.state;
  const tool = ({ tool: which, name }: { tool: Tool; name: string }): Item => ({
    text: name,
    narrow: true,
    checked: () => store.value.tool === which,
    act: () => parts.actions.setTool(which),
  });
  return createDropdown("View", "How the drawing looks, and pictures of it", [
    { title: "What a drag does", items: TOOLS.map(tool) },
    { title: "Scopes", items: [bound("E", hands), bound("C", hands)] },
    {
      title: "Drawing",
      items: [
        { ...bound("D", hands), text: "Flow to the right", checked: () => state()?.direction === "right" },
        { ...bound("t", hands), text: "Control edges", checked: () => store.value.controls },
        { ...bound("m", hands), text: "Minimap", checked: () => store.value.minimap },
        bound("U", hands),
      ],
    },
    { title: "More", items: ["+", "-", "c", "r"].map((key) => ({ ...bound(key, hands), narrow: true })) },
    {
      title: "Save a picture",
      items: PICTURES.map(({ suffix, whole }) => ({
        text: `${suffix.toUpperCase()}, ${whole ? "the whole graph" : "what is in view"}`,
        act: () => savePicture(parts, suffix, whole),
      })),
    },
  ]);
}

/** What a key of the table does. */
function bound(key: string, hands: Hands): Item {
  const binding = GROUPS.flatMap(({ bindings }) => bindings).find(({ keys }) => keys[0] === key);
  if (!binding) throw new Error(`No binding has the key ${key}.`);
  return { text: binding.what, key: capsOf(key).join("+"), act: () => binding.act(hands) };
}
