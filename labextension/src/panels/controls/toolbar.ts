// The toolbar: click and drag modes, search, refresh, zoom, view menu, full screen, help, side panel.
import { bindingOf, titleOf } from "../../interaction/key-bindings";
import type { Parts } from "../../interaction/parts";
import { zoomedAt } from "../../render/camera/camera";
import type { Mode } from "../../state/store";
import { button, disable, element, ICONS, icon, taskButton } from "../dom";
import { createExportMenu } from "../export/export-menu";
import { placePanel } from "../panel-size";
import { createSearch } from "../search/search";
import { createDragTools } from "./drag-tools";
import { createViewMenu } from "./view-menu";

const MODES: readonly { mode: Mode; text: string; shape: keyof typeof ICONS; title: string }[] = [
  { mode: "look", text: "Look", shape: "pointer", title: "Click to inspect an op" },
  { mode: "input", text: "Input", shape: "down", title: "Click to mark an op as input (or Shift-click)" },
  { mode: "output", text: "Output", shape: "up", title: "Click to mark an op as output (or Alt-click)" },
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
  const refresh = tool(titleOf("r"), "refresh", () => actions.refresh(), "Refresh", "tgw-tool tgw-asks");
  const toolbar = element(
    "div",
    { class: "tgw-toolbar", role: "toolbar", "aria-label": "Graph editor" },
    ...(parts.readOnly ? [] : [modeButtons(parts)]),
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
      tool(titleOf("-"), "minus", () => zoom(1 / 1.4), "Zoom out"),
      tool(titleOf("+"), "plus", () => zoom(1.4), "Zoom in"),
    ),
    element(
      "div",
      { class: "tgw-group" },
      tool(titleOf("f"), "fit", () => stage.fit(), bindingOf("f").what),
      createViewMenu(parts),
      ...(parts.readOnly ? [] : [createExportMenu(parts)]),
      fullScreenButton(),
      tool(titleOf("?"), "help", () => store.set({ helping: true }), "Help"),
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

function undoButtons({ store, actions: { edits } }: Parts): HTMLElement {
  const tool = (name: string, act: () => unknown) =>
    button(
      { class: "tgw-tool tgw-asks", "aria-label": name },
      act,
      icon(ICONS[name === "Undo" ? "undo" : "redo"]),
    );
  const undo = tool("Undo", () => edits.undo());
  const redo = tool("Redo", () => edits.redo());
  store.watch(["state"], ({ state }) => {
    const done = state?.code.length ?? 0;
    label(undo, "Undo", state?.undo ? (state.sentences[done - 1] ?? state.undo) : "", "Ctrl+z");
    label(redo, "Redo", state?.redo ? (state.sentences[done] ?? state.redo) : "", "Ctrl+y");
  });
  return element("div", { class: "tgw-group", role: "group", "aria-label": "History" }, undo, redo);
}

/** What a button would undo or redo, in words; a toolbar's button stays where the arrow keys come to. */
function label(target: HTMLButtonElement, verb: string, what: string, key: string): void {
  disable(target, what === "");
  target.title = what ? titleOf(key, `${verb}: ${what}`) : `Nothing to ${verb.toLowerCase()}`;
  target.setAttribute("aria-label", what ? `${verb}: ${what}` : verb);
}

function changesButton({ store, actions }: Parts): HTMLElement {
  const title = titleOf("X", "Color the differences from the original graph");
  const control = taskButton(
    { class: "tgw-tool tgw-toggle tgw-asks", title, "aria-label": "Changes" },
    () => actions.edits.compare(),
    icon(ICONS.changes),
  );
  store.watch(["state"], ({ state }) =>
    control.setAttribute("aria-pressed", String(state?.comparing ?? false)),
  );
  return control;
}

/** The whole screen where the browser gives it, else all of the page. */
function fullScreenButton(): HTMLElement {
  const title = "Full screen";
  const rootOf = () => control.closest<HTMLElement>(".tfgraphwidget");
  const control = button(
    { class: "tgw-tool tgw-toggle", title, "aria-label": title, "aria-pressed": "false" },
    async () => {
      const root = rootOf();
      if (document.fullscreenElement) return document.exitFullscreen();
      const request = root?.classList.contains("tgw-full") ? undefined : root?.requestFullscreen?.();
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
  const update = () => control.setAttribute("aria-pressed", String(document.fullscreenElement === rootOf()));
  queueMicrotask(() => rootOf()?.addEventListener("fullscreenchange", update));
  return control;
}

function panelButton({ store }: Parts, panelId: string): HTMLElement {
  const title = "Show or hide the side panel";
  const control = button(
    { class: "tgw-tool", title, "aria-label": title, "aria-controls": panelId },
    () => store.set({ panelOpen: !store.value.panelOpen }),
    icon(ICONS.panel),
  );
  store.watch(["panelOpen"], ({ panelOpen }) => control.setAttribute("aria-expanded", String(panelOpen)));
  queueMicrotask(() => {
    const root = control.closest(".tfgraphwidget");
    if (root) new ResizeObserver(() => placePanel(root, store)).observe(root);
  });
  return control;
}

// Roving tabindex: the toolbar is one Tab stop, and arrow keys move inside it.

/** Buttons of a toolbar, in the order of the page; a text field between them keeps its own arrows and its own stop. */
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
    if (target instanceof HTMLElement && stops().includes(target as HTMLButtonElement)) hold(target);
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
