// The side panel: tabs, one of which is in front, beside the drawing, below it where a view is
// narrow and tall.
import type { Parts } from "../interaction/parts";
import type { PanelTab as TabId } from "../state/store";
import { button, element, setAttributes, uniqueId } from "./dom";
import { createPanelResizer } from "./panel-size";

/** A tab: what is rendered, once, as the content of the panel while the tab is in front. */
export interface PanelTab {
  readonly id: TabId;
  readonly title: string;
  readonly tooltip: string;
  /** Needs a kernel: not in a saved page. */
  readonly kernel?: true;
  render(parts: Parts): readonly HTMLElement[];
}

export function createSidePanel(parts: Parts, id: string, tabs: readonly PanelTab[]): HTMLElement {
  const { store, readOnly = false } = parts;
  const shown = tabs.filter(({ kernel }) => !(kernel && readOnly));
  const list = element("div", { class: "tgw-tabs", role: "tablist", "aria-label": "Side panel" });
  const pages = shown.map((tab) => {
    const [opener, page] = [uniqueId(), uniqueId()];
    const control = button(
      {
        class: "tgw-tab",
        id: opener,
        role: "tab",
        title: tab.tooltip,
        "aria-controls": page,
        "data-tab": tab.id,
      },
      () => store.set({ tab: tab.id }),
      tab.title,
    );
    const content = element(
      "div",
      { class: "tgw-tab-page", id: page, role: "tabpanel", "aria-labelledby": opener },
      ...tab.render(parts),
    );
    list.append(control);
    return { id: tab.id, control, content };
  });
  list.addEventListener("keydown", (event) => {
    const here = pages.findIndex(({ control }) => control === event.target);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (here < 0 || to === undefined) return;
    const page = pages.at(to % pages.length);
    page?.control.click();
    page?.control.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  store.watch(["tab"], ({ tab }) => {
    const front = pages.find(({ id }) => id === tab) ?? pages[0];
    for (const page of pages) {
      const isFront = page === front;
      page.content.hidden = !isFront;
      setAttributes(page.control, { "aria-selected": String(isFront), tabindex: isFront ? 0 : -1 });
    }
  });
  const panel = element(
    "aside",
    { class: "tgw-panel", id, "aria-label": "Side panel" },
    list,
    ...pages.map(({ content }) => content),
  );
  panel.append(createPanelResizer(panel, store));
  store.watch(["panelOpen"], ({ panelOpen }) => {
    panel.hidden = !panelOpen;
  });
  return panel;
}
