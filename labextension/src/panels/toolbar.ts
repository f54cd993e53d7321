// The toolbar: what a click and a drag do, search, refresh, zoom, and whether the side panel is open.
import { button, element, ICONS, icon, taskButton } from "../dom";
import { zoomedAt } from "../render/camera";
import type { Mode } from "../store";
import type { Parts } from "./parts";
import { rove } from "./roving";
import { createSearch } from "./search";
import { createTools } from "./tools";
import { createView } from "./view";

/** Pixels; help.css says the same. */
const NARROW = 640;

const MODES: readonly { mode: Mode; text: string; shape: keyof typeof ICONS; title: string }[] = [
  { mode: "look", text: "Look", shape: "pointer", title: "A click shows what an op is" },
  { mode: "input", text: "Input", shape: "down", title: "A click marks an op as input (or Shift-click)" },
  { mode: "output", text: "Output", shape: "up", title: "A click marks an op as output (or Alt-click)" },
];

export function createToolbar(parts: Parts, panelId: string): HTMLElement {
  const { store, stage, actions } = parts;
  const zoom = (factor: number) => stage.setCamera(zoomedAt(store.value.camera, factor, stage.middle));
  const tool = (
    title: string,
    shape: keyof typeof ICONS,
    act: () => unknown,
    name = title,
    kind = "tgw-tool",
  ) => button({ class: kind, title, "aria-label": name }, act, icon(ICONS[shape]));
  const toolbar = element(
    "div",
    { class: "tgw-toolbar", role: "toolbar", "aria-label": "Graph editor" },
    modeButtons(parts),
    createTools(parts),
    createSearch(parts),
    element(
      "div",
      { class: "tgw-group tgw-wide" },
      changesButton(parts),
      tool("Read the graph again (r)", "refresh", () => actions.refresh(), "Refresh", "tgw-tool tgw-asks"),
      tool("Zoom out (−)", "minus", () => zoom(1 / 1.4)),
      tool("Zoom in (+)", "plus", () => zoom(1.4)),
    ),
    element(
      "div",
      { class: "tgw-group" },
      tool("Show the whole graph (f)", "fit", () => stage.fit()),
      createView(parts),
      fullScreenButton(),
      tool("Keys and gestures (?)", "help", () => store.set({ helping: true })),
      panelButton(parts, panelId),
    ),
  );
  rove(toolbar);
  return toolbar;
}

function modeButtons({ store, actions }: Parts): HTMLElement {
  const group = element("div", { class: "tgw-modes", role: "group", "aria-label": "What a click does" });
  const buttons = MODES.map(({ mode, text, shape, title }) => {
    const made = button(
      { class: "tgw-mode", "data-mode": mode, title },
      () => actions.setMode(mode),
      icon(ICONS[shape], mode === "look" ? "" : "tgw-marker"),
      text,
    );
    group.append(made);
    return { mode, made };
  });
  store.watch(["mode"], ({ mode }) => {
    for (const each of buttons) each.made.setAttribute("aria-pressed", String(each.mode === mode));
  });
  return group;
}

function changesButton({ store, actions }: Parts): HTMLElement {
  const title = "Colour what differs from the graph as it was opened (c)";
  const made = taskButton(
    { class: "tgw-tool tgw-toggle tgw-asks", title, "aria-label": "Changes" },
    () => actions.edits.compare(),
    icon(ICONS.changes),
  );
  store.watch(["state"], ({ state }) => made.setAttribute("aria-pressed", String(state?.comparing ?? false)));
  return made;
}

/** The whole screen where the browser gives it, else all of the page. */
function fullScreenButton(): HTMLElement {
  const title = "Full screen";
  const rootOf = () => made.closest<HTMLElement>(".tfgraphwidget");
  const made = button(
    { class: "tgw-tool tgw-toggle", title, "aria-label": title, "aria-pressed": "false" },
    async () => {
      const root = rootOf();
      if (document.fullscreenElement) return document.exitFullscreen();
      const asked = root?.classList.contains("tgw-full") ? undefined : root?.requestFullscreen?.();
      const given = await asked?.then(
        () => true,
        () => false,
      );
      if (!given) made.setAttribute("aria-pressed", String(root?.classList.toggle("tgw-full") ?? false));
      root?.focus({ preventScroll: true });
    },
    icon(ICONS.full),
  );
  const told = () => made.setAttribute("aria-pressed", String(document.fullscreenElement === rootOf()));
  queueMicrotask(() => rootOf()?.addEventListener("fullscreenchange", told));
  return made;
}

function panelButton({ store }: Parts, panelId: string): HTMLElement {
  const title = "Show or hide the side panel";
  const made = button(
    { class: "tgw-tool", title, "aria-label": title, "aria-controls": panelId },
    () => store.set({ panelOpen: !store.value.panelOpen }),
    icon(ICONS.panel),
  );
  store.watch(["panelOpen"], ({ panelOpen }) => made.setAttribute("aria-expanded", String(panelOpen)));
  // In a narrow view the panel is a drawer over the drawing, which nobody has opened yet.
  let narrow = false;
  const size = new ResizeObserver(() => {
    const width = made.closest(".tfgraphwidget")?.clientWidth ?? 0;
    if (width === 0 || narrow === width < NARROW) return;
    narrow = width < NARROW;
    store.set({ panelOpen: !narrow });
  });
  queueMicrotask(() => {
    const root = made.closest(".tfgraphwidget");
    if (root) size.observe(root);
  });
  return made;
}
