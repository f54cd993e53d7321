// In the inspector: the functions that an op calls, each with a way in, and the loops and conditionals around an op.
import { button, element, ICONS, icon } from "../dom";
import type { Around, Door, Inspected } from "../protocol";
import { sizeText } from "../scene";
import type { Parts } from "./parts";

export function doorText({ label, function: name, ops }: Door): string {
  return `Enter ${label ? `${label}: ` : ""}${name} (${sizeText(ops, 0)})`;
}

export function aroundText({ kind, name, ops }: Around): string {
  return `in ${kind} '${name}' (${sizeText(ops, 0)})`;
}

export function doorsAndAround({ name, doors, around }: Inspected, { actions }: Parts): HTMLElement[] {
  const ways = doors.map((door) =>
    button(
      { class: "tgw-button tgw-door", "data-label": door.label, title: doorText(door) },
      () => actions.enter(name, door.label),
      icon(ICONS.enter),
      element("span", {}, doorText(door)),
    ),
  );
  const list = element("ul", { class: "tgw-around" });
  for (const one of around) list.append(element("li", {}, aroundText(one)));
  return [
    ...(ways.length > 0 ? [element("div", { class: "tgw-doors" }, ...ways)] : []),
    ...(around.length > 0 ? [list] : []),
  ];
}
