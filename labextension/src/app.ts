// One view of a graph: creates the store, the channel's actions, the stage and the panels, and
// connects them.
import { Actions } from "./interaction/actions";
import { DragConnect } from "./interaction/drag-connect";
import { listenToFiles } from "./interaction/file-drop";
import { followShape } from "./interaction/follow-shape";
import { listenToKeys } from "./interaction/keyboard";
import { deliverPick } from "./interaction/op-picker";
import type { Parts } from "./interaction/parts";
import { hasSelection } from "./interaction/selection-commands";
import { Visibility } from "./interaction/visibility";
import { createContextMenu } from "./panels/context-menu/context-menu";
import { listenToRightClicks } from "./panels/context-menu/right-click";
import { createBreadcrumb } from "./panels/controls/breadcrumb";
import { createHelp } from "./panels/controls/help";
import { createLegend } from "./panels/controls/legend";
import { makeWay } from "./panels/controls/make-way";
import { isPopupOpen, Popover, watchPopups } from "./panels/controls/menus";
import {
  createAnnouncer,
  createEmptyMessage,
  createStatus,
  createWarnings,
} from "./panels/controls/messages";
import { createOutline } from "./panels/controls/outline";
import { createOutputPort } from "./panels/controls/output-port";
import { createTickList } from "./panels/controls/tick-list";
import { createToolbar } from "./panels/controls/toolbar";
import { createTooltip } from "./panels/controls/tooltip";
import { createWheelHint } from "./panels/controls/wheel-hint";
import { element, setAttributes, uniqueId } from "./panels/dom";
import { placePanel } from "./panels/panel-size";
import { createHiddenCount } from "./panels/selection/hide-ops";
import { createSidePanel } from "./panels/side-panel";
import { TABS } from "./panels/tabs";
import { at, keyOf, labelOf, OPEN, visibleItem } from "./protocol/scene";
import type { Viewport } from "./render/camera/camera";
import { labelHeights } from "./render/canvas/far-labels";
import { pointOf } from "./render/gestures/drag";
import { hasControl, listenToPointer } from "./render/gestures/pointer";
import { Minimap } from "./render/minimap";
import { Overlay } from "./render/overlay";
import { Stage } from "./render/stage";
import type { Channel } from "./rpc/model-channel";
import { graphKey } from "./state/navigation";
import { followColorScheme, preferences } from "./state/preferences";
import { type Screen, type Status, Store } from "./state/store";
import { styles } from "./styles";

export interface Settings {
  readonly height: number;
  readonly software: boolean;
  /** Whether nothing can be edited, as in a saved page, which has no kernel. */
  readonly readOnly?: boolean;
  /** Whether it is one of two panes, which have no room for a panel and a map at first. */
  readonly isPane?: boolean;
  /** Whether there may be a second pane, for a graph to compare with. */
  readonly canSplit?: boolean;
  /** In one of two panes: take an op as one of two that are paired by hand. */
  readonly pair?: ((name: string) => void) | undefined;
  /** The kernel's. */
  readonly revision: () => number;
  /** Whether no other view of this page shows the graph. */
  readonly isAlone: () => boolean;
}

export interface View {
  /** The kernel has a newer state: request the graph again, as soon as the view is visible. */
  catchUp(): void;
  setHeight(pixels: number): void;
  close(): void;
  readonly parts: Parts;
}

/** Controls that need the kernel; text in the panel can still be read and copied. */
const KERNEL_CONTROLS =
  ".tgw-panel :is(button, input, select, textarea)" +
  ":not(.tgw-heading-button, [data-command='copy'])," +
  ".tgw-search, .tgw-mode[data-mode], .tgw-asks, .tgw-legend select, .tgw-path";

/** For tests that use a real mouse: the position on the page where an item can be clicked. */
interface Probe {
  screenPosition(name: string): { x: number; y: number; width: number; height: number } | null;
  /** The labels of the items that are marked as edited. */
  edited(): string[];
}

export function createView(el: HTMLElement, channel: Channel, settings: Settings): View {
  el.classList.add("tgw-host");
  const root = element("div", {
    class: "tfgraphwidget",
    tabindex: 0,
    role: "group",
    "aria-label": "TensorFlow graph editor",
    "data-status": "loading",
  });
  const host = element("div", { class: "tgw-stage" });
  root.append(element("style", {}, styles), host);
  el.append(root);
  const store = new Store();
  const unfollow = followColorScheme(root);
  const stage = new Stage(host, store, settings.software && preferences().softwareCanvas !== false);
  const actions = new Actions(store, channel, stage);
  const { readOnly = false, canSplit = false, pair } = settings;
  const parts = { store, stage, actions, readOnly, canSplit, pair };
  assemble(root, host, parts);
  connect(root, host, parts);
  store.watch(ATTRIBUTE_FIELDS, (screen) => writeAttributes(root, screen));
  Object.assign(root, { tfgraphwidget: probe(parts) });
  const unwatch = channel.watch?.((gone) => {
    store.set({ kernelGone: gone });
    setInert(root, gone);
    if (!gone) void actions.reopen();
  });
  const visibility = new Visibility(root, () => void actions.catchUp(settings.revision));
  const view = {
    parts,
    catchUp: () => void (visibility.isVisible && actions.catchUp(settings.revision)),
    setHeight: (pixels: number) => root.style.setProperty("--tgw-height", `${pixels}px`),
    close: () => {
      unwatch?.();
      unfollow();
      visibility.close();
      unshape();
      actions.close();
      stage.close();
      root.remove();
    },
  };
  view.setHeight(settings.height);
  let unshape = () => {};
  void stage.size().then(async () => {
    // Where the panel is decides how much of the view is canvas.
    placePanel(root, store);
    if (settings.isPane) store.set({ panelOpen: false, minimap: false });
    const size = await stage.size();
    const open = (canvas: Viewport) => actions.open(canvas, canvas.width > 0 && settings.isAlone());
    if (!parts.readOnly) unshape = followShape(root, parts, size, open);
    return open(size);
  });
  return view;
}

function assemble(root: HTMLElement, host: HTMLElement, parts: Parts): void {
  const id = uniqueId();
  const panel = createSidePanel(parts, id, TABS);
  const overlay = new Overlay(parts.stage, parts.store);
  const minimap = new Minimap(parts.stage, parts.store);
  const legend = createLegend(parts);
  makeWay(parts, minimap.canvas, legend);
  host.append(
    overlay.canvas,
    minimap.canvas,
    createEmptyMessage(parts),
    // Both lie over the upper edge of the drawing.
    element("div", { class: "tgw-edge" }, createBreadcrumb(parts), createWarnings(parts)),
    createHiddenCount(parts),
    legend,
  );
  root.append(
    createToolbar(parts, id),
    // In the order of the Tab key: from the outline of the drawing into the panel, and to the
    // legend last.
    element("div", { class: "tgw-body" }, createOutline(parts), panel, host),
    createStatus(parts),
    createAnnouncer(parts),
    createHelp(parts),
  );
  parts.store.watch(["mode", "tool", "panelPlace"], ({ mode, tool, panelPlace }) => {
    setAttributes(root, { "data-mode": mode, "data-tool": tool, "data-panel": panelPlace });
  });
}

/** Gestures to actions. */
function connect(root: HTMLElement, host: HTMLElement, parts: Parts): void {
  const { store, stage, actions } = parts;
  const tooltip = createTooltip(parts);
  const body = host.parentElement ?? host;
  const menu = new Popover("");
  const say = (status: Status) => actions.showStatus(status);
  const dragConnect = new DragConnect({
    store,
    stage,
    edits: actions.edits,
    say,
    menu: (title, items, point) => void menu.showMenu(title, [{ items }], point),
  });
  host.append(
    tooltip.root,
    ...(parts.readOnly
      ? []
      : [createOutputPort(parts, dragConnect, tooltip), createTickList(parts)]),
  );
  const wheel = createWheelHint(parts);
  const contextMenu = createContextMenu(parts, () => focusCloneForm(root, parts));
  host.append(wheel.root);
  // Where the drawing begins, over the panel, too, which may be below it.
  body.append(menu.root, contextMenu.root);
  listenToKeys(root, parts, {
    menu: () => void contextMenu.openHere(),
    clone: () => void cloneHere(root, parts),
  });
  if (!parts.readOnly) listenToFiles(host, contextMenu.openDropped, actions.edits);
  const leaveHover = () => {
    store.set({ hover: -1, hoverEdge: -1 });
    tooltip.root.hidden = true;
  };
  watchPopups(root, leaveHover);
  listenToRightClicks(root, body, contextMenu);
  // Otherwise Shift-click would select the notebook's cells.
  root.addEventListener("mousedown", (event) => event.shiftKey && event.stopPropagation());
  stage.canvas.addEventListener("mousedown", (event) => {
    event.preventDefault();
    root.focus({ preventScroll: true });
  });
  listenToPointer(stage, store, {
    click: (item, event) => {
      const { mode, picking } = store.value;
      if (dragConnect.active) return void dragConnect.drop(pointOf(event));
      if (picking) return void deliverPick(store, item);
      const chooses = hasControl(event) || event.shiftKey || event.altKey || mode !== "look";
      void actions.inspectItem(item, !(chooses && item > 0));
      if (hasControl(event)) void actions.toggleSelected(item);
      else if (event.shiftKey || (mode === "input" && !event.altKey))
        void actions.mark(item, "inputs");
      else if (event.altKey || mode === "output") void actions.mark(item, "outputs");
    },
    doubleClick: (item, point) => {
      // On the ground of an open scope it is one click too many, and does not close the scope.
      if (!stage.isInside(item, point)) void actions.activate(item, stage.anchorAt(item, point));
    },
    contextMenu: (item, point) => void contextMenu.openAt(item, point),
    wheelZooms: wheel.zooms,
    select: (region) => void actions.selectRegion(stage.itemsIn(region), region),
    moved: (item, x, y) => {
      const { scene } = store.value;
      if (scene) void actions.changeView({ type: "pin", name: keyOf(scene, item), x, y });
    },
    hover: (inner, point) => {
      // What lies over the drawing would lie over the tooltip, too; a form that waits for a click
      // needs it.
      if (isPopupOpen(root) && !store.value.picking) return leaveHover();
      // The inside of an open scope counts as background; only its header counts as the scope.
      const item = inner > 0 && stage.isInside(inner, point) ? -1 : inner;
      dragConnect.move(point);
      // Nothing is under the pointer once it has left the canvas.
      const hoverEdge = inner >= 0 && item <= 0 ? stage.edgeAt(point) : -1;
      store.set({ hover: item, hoverEdge });
      if (inner >= 0) tooltip.move(item, point, hoverEdge);
      else tooltip.root.hidden = true;
    },
  });
}

/** Lead to the form that clones; what is inspected is selected if nothing else is. */
async function cloneHere(root: HTMLElement, parts: Parts): Promise<void> {
  const { state, scene, picked } = parts.store.value;
  const item = scene?.byKey.get(picked) ?? -1;
  if (!hasSelection(state) && item > 0) await parts.actions.toggleSelected(item);
  else if (!hasSelection(state)) {
    const text = "Nothing is selected to be cloned: click an op or a scope, or draw a box (b).";
    return parts.actions.showStatus({ kind: "refused", text });
  }
  focusCloneForm(root, parts);
}

/** Lead to the form that clones the selection, with its name marked: Enter clones. */
function focusCloneForm(root: HTMLElement, { store }: Parts): void {
  store.set({ panelOpen: true, tab: "selection" });
  const name = root.querySelector<HTMLInputElement>(".tgw-clone [name='into']");
  name?.focus();
  name?.select();
}

/** What the attributes of the root element tell. */
const ATTRIBUTE_FIELDS = [
  "state",
  "scene",
  "pending",
  "drawn",
  "status",
  "camera",
  "connecting",
  "picking",
  "working",
  "kernelGone",
] as const;
type Written = Pick<Screen, (typeof ATTRIBUTE_FIELDS)[number]>;

/** Write the state to attributes of the root element, for tests and debugging. */
function writeAttributes(root: HTMLElement, screen: Written): void {
  setAttributes(root, {
    "data-status": statusOf(screen),
    "data-revision": screen.state?.revision,
    "data-graph": screen.state ? graphKey(screen.state) : undefined,
    "data-ops": screen.state?.ops,
    "data-selected-ops": screen.state?.selected_ops,
    "data-items": screen.scene?.length,
    "data-aim": screen.connecting?.refused ? screen.connecting.tensor : undefined,
    "data-picking": screen.picking !== null,
    "data-working": screen.working?.what,
    "data-zoom": screen.camera.zoom.toFixed(3),
  });
}

/** Disable the controls that need the kernel while it is gone; the last drawing stays visible. */
function setInert(root: HTMLElement, gone: boolean): void {
  for (const control of root.querySelectorAll<HTMLElement>(KERNEL_CONTROLS))
    control.toggleAttribute("inert", gone);
}

function statusOf({ state, status, pending, drawn, kernelGone }: Written): string {
  if (kernelGone) return "gone";
  if (pending > 0) return state ? "busy" : "loading";
  if (status?.kind === "refused" || status?.kind === "error") return status.kind;
  if (!state) return "loading";
  return drawn ? "ready" : "busy";
}

function probe({ store, stage }: Parts): Probe {
  return {
    edited() {
      const { scene, edited } = store.value;
      return scene ? edited.map((name) => labelOf(scene, visibleItem(scene, name))) : [];
    },
    screenPosition(name) {
      const { scene } = store.value;
      const item = scene ? (scene.byKey.get(name) ?? scene.byKey.get(`${name}/`)) : undefined;
      if (!scene || item === undefined) return null;
      const canvas = stage.canvas.getBoundingClientRect();
      const { x, y, width, height } = stage.handle(item);
      // Where nothing else lies on a box: badges are below its label.
      const bare = at(labelHeights(scene), item) / Math.max(at(scene.box, 4 * item + 3), 1);
      const middle = at(scene.kind, item) === OPEN ? y : y - (height * (1 - bare)) / 2;
      return { x: canvas.left + x, y: canvas.top + middle, width, height };
    },
  };
}
