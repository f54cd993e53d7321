// Tracing from what is looked at, without selecting it first: what it needs, what needs it, the way to another op.
import type { Actions } from "../actions";
import { button, element, ICONS, icon } from "../dom";
import type { Verb } from "../selecting";
import type { Store } from "../store";
import type { Parts } from "./parts";

interface Hands {
  readonly store: Store;
  readonly actions: Pick<Actions, "selectTaken" | "derive" | "say">;
}

/** "Trace: Upstream · Downstream · Path to…"; a path begins at an op, so a scope has no third button. */
export function traceButtons(name: string, parts: Parts): HTMLElement {
  const tool = (text: string, title: string, act: () => unknown, ...before: Node[]) =>
    button({ class: "tgw-button", title, "aria-label": `Trace ${text.toLowerCase()}` }, act, ...before, text);
  const op = isOp(parts.store, name);
  const row = element(
    "div",
    { class: "tgw-derive tgw-trace", role: "group", "aria-label": "Trace" },
    element("span", { class: "tgw-label", "aria-hidden": "true" }, "Trace"),
    tool("Upstream", "Select it and everything it needs", () => trace(parts, name, "upstream", !op)),
    tool("Downstream", "Select it and everything that needs it", () => trace(parts, name, "downstream", !op)),
  );
  if (op) {
    const title = "Select all ops on the way to or from the op that is clicked next";
    row.append(tool("Path to …", title, () => pickPath(parts, name), icon(ICONS.target)));
  }
  return row;
}

function isOp({ value: { details } }: Store, name: string): boolean {
  return details?.name === name && details.op_type !== "";
}

/** Select an op, or a scope's ops, with everything it needs or that needs it. */
export async function trace({ actions }: Hands, name: string, verb: Verb, isScope = false): Promise<void> {
  // Both take their turn now: nothing comes between them.
  void select(actions, isScope ? [] : [name], isScope ? [name] : []);
  await actions.derive(verb);
}

/** The op that is clicked next is the other end of a path. */
export function pickPath({ store, actions }: Hands, name: string): void {
  const ask = `Click the op to which the path from ${name} leads; Escape gives up.`;
  store.set({ picking: { ask, take: (other) => void joined({ store, actions }, name, other) } });
}

/** Select all ops between two, whichever comes first. */
export async function joined({ actions }: Hands, first: string, last: string): Promise<void> {
  if (first === last) {
    const text = "A path leads from one op to another: click Path to … again, and then another op.";
    return actions.say({ kind: "refused", text });
  }
  void select(actions, [first, last], []);
  await actions.derive("path");
}

function select(actions: Hands["actions"], ops: string[], scopes: string[]): Promise<void> {
  return actions.selectTaken({ items: [], ops, scopes }, { shape: "box", points: [], verb: "set" });
}
