// Warnings: what can only be looked at. They stay until they are put away, and come back when there is a new one.
import { button, element, ICONS, icon, releaseFocus } from "../dom";
import type { Screen } from "../store";
import type { Parts } from "./parts";

/** The warnings to show. */
export function unread({ state, dismissed }: Pick<Screen, "state" | "dismissed">): readonly string[] {
  const warnings = state?.warnings ?? [];
  return warnings.every((warning) => dismissed.includes(warning)) ? [] : warnings;
}

export function createWarnings({ store }: Parts): HTMLElement {
  const list = element("ul", {});
  const label = "Dismiss the warnings";
  const dismiss = button(
    { class: "tgw-tool", title: label, "aria-label": label },
    () => {
      const { state, dismissed } = store.value;
      releaseFocus(bar);
      store.set({ dismissed: [...new Set([...dismissed, ...(state?.warnings ?? [])])] });
    },
    icon(ICONS.close),
  );
  // Its region is there from the start: a screen reader reads changes only of what it knows.
  const bar = element("div", { class: "tgw-warnings", role: "status" });
  store.watch(["state", "dismissed"], (screen) => {
    const warnings = unread(screen);
    if (
      warnings.length === list.children.length &&
      warnings.every((w, i) => list.children[i]?.textContent === w)
    )
      return;
    list.replaceChildren(...warnings.map((warning) => element("li", {}, warning)));
    bar.replaceChildren(...(warnings.length > 0 ? [icon(ICONS.warning), list, dismiss] : []));
  });
  return bar;
}
