// Joins store, channel, actions, stage and panels into one view.
import { Actions } from "./actions";
import { Aiming } from "./aiming";
import type { Channel } from "./channel";
import { element, setAttributes, uniqueId } from "./dom";
import { listenToKeys } from "./keys";
import { createChanges } from "./panels/changes";
import { createClone } from "./panels/clone";
import { createEmpty } from "./panels/empty";
import { createHidden } from "./panels/filter";
import { createHelp } from "./panels/help";
import { createHistory } from "./panels/history";
import { createInspector } from "./panels/inspector";
import { createLegend } from "./panels/legend";
import { createMenu } from "./panels/menu";
import { createOutline } from "./panels/outline";
import type { Parts } from "./panels/parts";
import { createPath } from "./panels/path";
import { createPort } from "./panels/port";
import { createSelection } from "./panels/selection";
import { createSpoken } from "./panels/spoken";
import { createStatus } from "./panels/status";
import { createToolbar } from "./panels/toolbar";
import { createTooltip } from "./panels/tooltip";
import { createWarnings } from "./panels/warnings";
import { give } from "./picking";
import { pointOf } from "./render/drag";
import { Minimap } from "./render/minimap";
import { Overlay } from "./render/overlay";
import { listen, withControl } from "./render/pointer";
import { labelHeights } from "./render/signposts";
import { Stage } from "./render/stage";
import { roomOf } from "./rooms";
import { at, keyOf, OPEN } from "./scene";
import { followColours, preferences } from "./settings";
import { Sight } from "./sight";
import { type Screen, type Status, Store } from "./store";
import { styles } from "./styles";

export interface Settings {
  readonly height: number;
  readonly software: boolean;
  /** The kernel's. */
  readonly revision: () => number;
}

export interface View {
  /** The kernel knows something new: ask for the graph again, as soon as the view can be seen. */
  catchUp(): void;
  setHeight(pixels: number): void;
  close(): void;
}

/** Controls that ask the kernel for something; text in the panel can still be read, and copied. */
const ASKING =
  ".tgw-panel :is(button, input, select, textarea):not(.tgw-heading-button, [title='Copy the lines'])," +
  ".tgw-search, .tgw-mode[data-mode], .tgw-asks, .tgw-legend select, .tgw-path";

/** For tests, which click with a real mouse: where on the page an item can be clicked. */
interface Probe {
  screenPosition(name: string): { x: number; y: number; width: number; height: number } | null;
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
  const unfollow = followColours(root);
  const stage = new Stage(host, store, settings.software && preferences().softwareCanvas !== false);
  const actions = new Actions(store, channel, stage);
  const parts = { store, stage, actions };
  assemble(root, host, parts);
  connect(root, host, parts);
  store.watch(
    ["state", "scene", "pending", "drawn", "status", "camera", "aim", "picking", "working", "gone"],
    (screen) => describe(root, screen),
  );
  Object.assign(root, { tfgraphwidget: probe(parts) });
  const unwatch = channel.watch?.((gone) => {
    store.set({ gone });
    bar(root, gone);
    if (!gone) void actions.open();
  });
  const sight = new Sight(root, () => void actions.catchUp(settings.revision));
  const view = {
    catchUp: () => void (sight.seen && actions.catchUp(settings.revision)),
    setHeight: (pixels: number) => root.style.setProperty("--tgw-height", `${pixels}px`),
    close: () => {
      unwatch?.();
      unfollow();
      sight.close();
      actions.close();
      stage.close();
      root.remove();
    },
  };
  view.setHeight(settings.height);
  void actions.open();
  return view;
}

function assemble(root: HTMLElement, host: HTMLElement, parts: Parts): void {
  const id = uniqueId();
  const panel = element(
    "aside",
    { class: "tgw-panel", id, "aria-label": "Selection, changes, clone, inspector, history" },
    createSelection(parts),
    createChanges(parts),
    createClone(parts),
    createInspector(parts),
    createHistory(parts),
  );
  const overlay = new Overlay(parts.stage, parts.store);
  const minimap = new Minimap(parts.stage, parts.store);
  host.append(
    overlay.canvas,
    minimap.canvas,
    createEmpty(parts),
    createPath(parts),
    createHidden(parts),
    createLegend(parts),
    createOutline(parts),
  );
  root.append(
    createToolbar(parts, id),
    createWarnings(parts),
    element("div", { class: "tgw-body" }, host, panel),
    createStatus(parts),
    createSpoken(parts),
    createHelp(parts),
  );
  parts.store.watch(["panelOpen"], ({ panelOpen }) => {
    panel.hidden = !panelOpen;
  });
  parts.store.watch(["mode", "tool"], ({ mode, tool }) => {
    setAttributes(root, { "data-mode": mode, "data-tool": tool });
  });
}

/** Gestures to actions. */
function connect(root: HTMLElement, host: HTMLElement, parts: Parts): void {
  const { store, stage, actions } = parts;
  const tooltip = createTooltip(parts);
  const menu = createMenu();
  const say = (status: Status) => actions.say(status);
  const aiming = new Aiming({ store, stage, edits: actions.edits, say, menu: menu.show });
  host.append(tooltip.root, createPort(parts, aiming, tooltip), menu.root);
  listenToKeys(root, parts);
  // Otherwise Shift-click would select the notebook's cells.
  root.addEventListener("mousedown", (event) => event.shiftKey && event.stopPropagation());
  stage.canvas.addEventListener("mousedown", (event) => {
    event.preventDefault();
    root.focus({ preventScroll: true });
  });
  listen(stage, store, {
    click: (item, event) => {
      const { mode, picking } = store.value;
      if (aiming.active) return void aiming.drop(pointOf(event));
      if (picking) return void give(store, item);
      if (withControl(event)) void actions.toggleSelected(item);
      else if (event.shiftKey || (mode === "input" && !event.altKey)) void actions.mark(item, "inputs");
      else if (event.altKey || mode === "output") void actions.mark(item, "outputs");
      void actions.pick(item);
    },
    doubleClick: (item, point) => void actions.activate(item, stage.anchorAt(item, point)),
    select: (region) => void actions.selectTaken(stage.taken(region), region),
    moved: (item, x, y) => {
      const { scene } = store.value;
      if (scene) void actions.look({ type: "pin", name: keyOf(scene, item), x, y });
    },
    hover: (inner, point) => {
      // The inside of an open scope is the background of what it holds; only its header names it.
      const item = inner > 0 && stage.isInside(inner, point) ? -1 : inner;
      aiming.move(point);
      store.set({ hover: item });
      tooltip.move(item, point);
    },
  });
}

/** What tests, and people who look at the page's source, can read off the root element. */
function describe(root: HTMLElement, screen: Screen): void {
  setAttributes(root, {
    "data-status": statusOf(screen),
    "data-revision": screen.state?.revision,
    "data-room": screen.state ? roomOf(screen.state) : undefined,
    "data-ops": screen.state?.ops,
    "data-selected-ops": screen.state?.selected_ops,
    "data-items": screen.scene?.length,
    "data-aim": screen.aim?.refused ? screen.aim.tensor : undefined,
    "data-picking": screen.picking !== null,
    "data-working": screen.working?.what,
    "data-zoom": screen.camera.zoom.toFixed(3),
  });
}

/** What only the kernel can do cannot be asked for while it is gone; the last picture is still to be seen. */
function bar(root: HTMLElement, gone: boolean): void {
  for (const control of root.querySelectorAll<HTMLElement>(ASKING)) control.toggleAttribute("inert", gone);
}

function statusOf({ state, status, pending, drawn, gone }: Screen): string {
  if (gone) return "gone";
  if (pending > 0) return state ? "busy" : "loading";
  if (status && status.kind !== "notice") return status.kind;
  if (!state) return "loading";
  return drawn ? "ready" : "busy";
}

function probe({ store, stage }: Parts): Probe {
  return {
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
