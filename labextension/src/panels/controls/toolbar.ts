// The toolbar: click and drag modes, search, refresh, zoom, view menu, full screen, help, side
// panel.
import { type CommandId, commandOf, runCommand, titleOf } from "../../interaction/key-bindings";
import type { Parts } from "../../interaction/parts";
import type { Mode } from "../../state/store";
import { button, disable, element, ICONS, icon, taskButton } from "../dom";
import { createExportMenu } from "../export/export-menu";
import { placePanel } from "../panel-size";
import { createSearch } from "../search/search";
import { createDragTools } from "./drag-tools";
import { createViewMenu } from "./view-menu";

const MODES: readonly { mode: Mode; text: string; shape: keyof typeof ICONS; title: string }[] = [
  { mode: "look", text: "Look", shape: "pointer", title: "Click to inspect an op" },
  {
    mode: "input",
    text: "Input",
    shape: "down",
    title: "Click to mark an op as input (or Shift-click)",
  },
  {
    mode: "output",
    text: "Output",
    shape: "up",
    title: "Click to mark an op as output (or Alt-click)",
  },
];

export function createToolbar(parts: Parts, panelId: string): HTMLElement {
  const tool = (
    id: CommandId,
    shape: keyof typeof ICONS,
    name = commandOf(id).what,
    kind = "tgw-tool",
  ): HTMLElement =>
    button(
      { class: kind, title: titleOf(id), "aria-label": name, "data-command": id },
      () => runCommand(id, parts),
      icon(ICONS[shape]),
    );
  const refresh = tool("refresh", "refresh", "Refresh", "tgw-tool tgw-asks");
  const toolbar = element(
    "div",
    { class: "tgw-toolbar", role: "toolbar", "aria-label": "Graph editor" },
    modeButtons(parts),
    createDragTools(parts),
    ...(parts.readOnly ? [] : [undoButtons(parts)]),
    createSearch(parts),
    element(
      "div",
      { class: "tgw-group tgw-wide" },
      ...(parts.readOnly ? [] : [changesButton(parts), refresh]),
    ),
    element(
      "div",
      { class: "tgw-group tgw-widest" },
      tool("zoom-out", "minus"),
      tool("zoom-in", "plus"),
    ),
    element(
      "div",
      { class: "tgw-group" },
      tool("fit", "fit"),
      createViewMenu(parts),
      ...(parts.readOnly ? [] : [createExportMenu(parts)]),
      fullScreenButton(),
      tool("help", "help", "Help"),
      panelButton(parts, panelId),
    ),
  );
  makeRoving(toolbar);
  return toolbar;
}

function modeButtons({ store, actions }: Parts): HTMLElement {
  const group = element("div", { class: "tgw-modes", role: "group", "aria-label": "Click mode" });
  const buttons = MODES.map(({ mode, text, shape, title }) => {
    const control = button(
      { class: "tgw-mode", "data-mode": mode, title },
      () => actions.setMode(mode),
      icon(ICONS[shape], mode === "look" ? "" : "tgw-marker"),
      text,
    );
    group.append(control);
    return { mode, made: control };
  });
  store.watch(["mode"], ({ mode }) => {
    for (const each of buttons) each.made.setAttribute("aria-pressed", String(each.mode === mode));
  });
  return group;
}

function undoButtons(parts: Parts): HTMLElement {
  const tool = (id: "undo" | "redo") =>
    button(
      { class: "tgw-tool tgw-asks", "data-command": id },
      () => runCommand(id, parts),
      icon(ICONS[id]),
    );
  const undo = tool("undo");
  const redo = tool("redo");
  parts.store.watch(["state"], ({ state }) => {
    const done = state?.code.length ?? 0;
    label(undo, "undo", state?.undo ? (state.sentences[done - 1] ?? state.undo) : "");
    label(redo, "redo", state?.redo ? (state.sentences[done] ?? state.redo) : "");
  });
  return element("div", { class: "tgw-group", role: "group", "aria-label": "History" }, undo, redo);
}

/**
 * What a button would undo or redo, in words; a toolbar's button stays where the arrow keys come
 * to.
 */
function label(target: HTMLButtonElement, id: "undo" | "redo", what: string): void {
  disable(target, what === "");
  const action = commandOf(id).what;
  target.title = what ? titleOf(id, `${action}: ${what}`) : `Nothing to ${id}`;
  target.setAttribute("aria-label", what ? `${action}: ${what}` : action);
}

function changesButton(parts: Parts): HTMLElement {
  const title = titleOf("compare", "Color the differences from the original graph");
  const control = taskButton(
    {
      class: "tgw-tool tgw-toggle tgw-asks",
      title,
      "aria-label": "Changes",
      "data-command": "compare",
    },
    async () => runCommand("compare", parts),
    icon(ICONS.changes),
  );
  parts.store.watch(["state"], ({ state }) =>
    control.setAttribute("aria-pressed", String(state?.comparing ?? false)),
  );
  return control;
}

/** The whole screen where the browser gives it, else all of the page. */
export function fullScreenButton(): HTMLElement {
  const title = "Full screen";
  const rootOf = () =>
    control.closest<HTMLElement>(".tgw-beside") ?? control.closest<HTMLElement>(".tfgraphwidget");
  const control = button(
    { class: "tgw-tool tgw-toggle", title, "aria-label": title, "aria-pressed": "false" },
    async () => {
      const root = rootOf();
      if (document.fullscreenElement) return document.exitFullscreen();
      const request = root?.classList.contains("tgw-full")
        ? undefined
        : root?.requestFullscreen?.();
      const isFullScreen = await request?.then(
        () => true,
        () => false,
      );
      if (!isFullScreen)
        control.setAttribute("aria-pressed", String(root?.classList.toggle("tgw-full") ?? false));
      root?.focus({ preventScroll: true });
    },
    icon(ICONS.full),
  );
  const update = () =>
    control.setAttribute("aria-pressed", String(document.fullscreenElement === rootOf()));
  queueMicrotask(() => rootOf()?.addEventListener("fullscreenchange", update));
  return control;
}

function panelButton({ store, readOnly }: Parts, panelId: string): HTMLElement {
  const title = "Show or hide the side panel";
  const control = button(
    { class: "tgw-tool tgw-panel-button", title, "aria-label": title, "aria-controls": panelId },
    () => store.set({ panelOpen: !store.value.panelOpen }),
    icon(ICONS.panel),
    // what is in a panel that a small view does not show at first
    ...(readOnly ? [] : [element("span", { class: "tgw-panel-name" }, "Model")]),
  );
  store.watch(["panelOpen"], ({ panelOpen }) =>
    control.setAttribute("aria-expanded", String(panelOpen)),
  );
  queueMicrotask(() => {
    const root = control.closest(".tfgraphwidget");
    if (root) new ResizeObserver(() => placePanel(root, store)).observe(root);
  });
  return control;
}

// Roving tabindex: the toolbar is one Tab stop, and arrow keys move inside it.

/**
 * Buttons of a toolbar, in the order of the page; a text field between them keeps its own arrows
 * and its own stop.
 */
function makeRoving(toolbar: HTMLElement): void {
  const stops = () =>
    [...toolbar.querySelectorAll<HTMLButtonElement>("button")].filter(
      (made) => made.getAttribute("role") === null && !made.closest(".tgw-popup, .tgw-dropdown"),
    );
  const shown = () => stops().filter((made) => made.offsetParent !== null && !made.disabled);
  const hold = (held: HTMLElement | undefined) => {
    for (const stop of stops()) stop.tabIndex = stop === held ? 0 : -1;
  };
  toolbar.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && stops().includes(target as HTMLButtonElement))
      hold(target);
  });
  toolbar.addEventListener("keydown", (event) => {
    const all = shown();
    const here = all.indexOf(event.target as HTMLButtonElement);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (here < 0 || to === undefined) return;
    all[(to + all.length) % all.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  hold(stops()[0]);
}
