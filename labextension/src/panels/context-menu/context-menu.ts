// The context menu of the drawing. Arrow keys move, Enter chooses, Escape closes and returns the
// focus to the drawing. An edit that needs arguments shows its form in the same place.
import { type LineTensor, lineTensor } from "../../interaction/line-tensor";
import type { Parts } from "../../interaction/parts";
import type { InspectReply } from "../../protocol/messages";
import { labelOf, type Scene } from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { commandForm, type EditCommand } from "../controls/edit-form";
import { showForm } from "../controls/form-slot";
import { markedAt, unmarked } from "../controls/meanings";
import { Popover } from "../controls/menus";
import { element, focusAround, setAttributes } from "../dom";
import { feedForm, runWithFeeds } from "../forms/feed-form";
import {
  ADD_MODEL,
  COMPARE_WITH,
  type OtherGraphForm,
  otherGraphForm,
} from "../other-graphs/other-graphs";
import { entriesFor, type MenuGroups, titleOf } from "./entries";
import { type Target, targetAt, targetOf } from "./target";

/**
 * Milliseconds for which the menu waits for the details of an op: a kernel that is busy does not
 * hold it up.
 */
const PATIENCE = 1000;

/** Pixels between an item and its menu, where that is opened by a key. */
const BESIDE = 4;

/**
 * What the kernel knows of a target: of its op or scope, or of the op whose tensor a line carries.
 */
interface Found {
  readonly details: InspectReply | null;
  readonly line: LineTensor | null;
}

const NOTHING: Found = { details: null, line: null };

export interface ContextMenu {
  readonly root: HTMLElement;
  /** Open the menu of an item at a point of the drawing. */
  openAt(item: number, point: Point): Promise<void>;
  /** Open the menu of the current item, or of the canvas, beside it. */
  openHere(): Promise<void>;
  /**
   * Open the menu of an op or scope that a list names, or of the canvas for "", at a point of the
   * drawing.
   */
  openNamed(name: string, point: Point): Promise<void>;
  /** Ask what to do with a file that was dropped at a point of the drawing. */
  openDropped(path: string, point: Point): void;
}

/** `cloneForm` leads to the form that clones the selection. */
export function createContextMenu(parts: Parts, cloneForm: () => void): ContextMenu {
  const { store, stage, actions } = parts;
  /** Counts how often it was opened or closed: what comes late does not open it again. */
  let turn = 0;
  let place: Point = { x: 0, y: 0 };
  let subject = "";

  const closed = () => {
    turn += 1;
    // the form that waits for a click is closed
    if (store.value.picking) store.set({ picking: null });
  };
  // Nothing else has the focus, as when another window is looked at: what was typed is not lost.
  // And a form stays that waits for a click on an op.
  const stays = (focused: EventTarget | null) =>
    (focused === null && body.querySelector("form") !== null) || store.value.picking !== null;
  const popover = new Popover("tgw-context", { closed, stays });
  const { root, body } = popover;
  const close = () => popover.close();
  const showMenu = (title: string, groups: MenuGroups, focused?: string | null): HTMLElement => {
    const sections = groups.map((items) => ({ items }));
    return popover.showMenu(title, sections, place, focused);
  };
  /** Show a form in the place of the menu. */
  const showDialog = (name: string, form: HTMLFormElement, title = name, about = "") => {
    const slot = element("div", { role: "dialog", "aria-label": name });
    popover.show(title, slot, place, about);
    showForm(slot, form);
  };
  const form = (command: EditCommand) => {
    const title = `${command.name}: ${subject}`;
    showDialog(command.name, commandForm(command, parts, close), title, command.title);
  };
  const otherGraph = (other: OtherGraphForm, source = "") =>
    showDialog(other.name, otherGraphForm(other, parts, close, source));
  const values = async (name: string) => {
    // where its value is shown
    if (name !== "" && store.value.picked !== name) await actions.inspect(name);
    const target = { name, measure: false };
    return runWithFeeds(target, parts, (feeds) =>
      showDialog("Feeds", feedForm(target, feeds, parts, close)),
    );
  };
  const context = {
    ...parts,
    form,
    otherGraph,
    values,
    cloneForm,
    anchor: (item: number) => stage.anchorAt(item),
  };

  /** The details of an item, which the inspector gets. */
  const inspect = async (key: string): Promise<InspectReply | null> => {
    await actions.inspect(key);
    const { details } = store.value;
    return details?.name === key ? details : null;
  };
  /** What the kernel knows of a target. */
  const find = async (target: Target, scene: Scene): Promise<Found> => {
    if (target.kind !== "edge") {
      // A list of the panel stays as it is while its menu is open.
      const ask = popover.origin ? (key: string) => actions.describe(key) : inspect;
      return { details: "key" in target ? await ask(target.key) : null, line: null };
    }
    const line = await lineTensor(scene, target.edge, (key) => actions.describe(key));
    const details = line && (await actions.describe(line.tensor.replace(/:\d+$/, "")));
    return { details, line };
  };
  const open = async (target: Target, point: Point, from: HTMLElement | null = null) => {
    const { scene, state } = store.value;
    if (!scene) return;
    turn += 1;
    const mine = turn;
    place = point;
    popover.origin = from;
    popover.widget?.focus({ preventScroll: true });
    const isOpen = () => mine === turn && store.value.scene === scene;
    // Keys are for the current item, which that of a list is not.
    const isElsewhere = from !== null && "key" in target;
    const entries = ({ details, line }: Found) => {
      const groups = entriesFor(target, target.kind === "group" ? null : details, context, line);
      return isElsewhere
        ? groups.map((group) => group.map((item) => ({ ...item, key: "" })))
        : groups;
    };
    const finding = find(target, scene).catch(() => NOTHING);
    const soon = await withPatience(finding);
    if (!isOpen()) return;
    const title = titleOf(target, scene, state);
    subject = "item" in target ? labelOf(scene, target.item) : title;
    const list = showMenu(soon ? title : `${title} …`, entries(soon ?? NOTHING));
    setAttributes(root, { "aria-busy": String(!soon) });
    if (soon) return;
    // The kernel was busy: what it allows is added, unless a form has taken the place of the menu.
    const late = await finding;
    if (!isOpen() || !body.contains(list)) return;
    const focused = list.querySelector(":focus")?.getAttribute("data-command");
    root.focus({ preventScroll: true }); // it closes when the focus leaves it
    showMenu(title, entries(late), focused);
    setAttributes(root, { "aria-busy": "false" });
  };
  const openAt = async (item: number, point: Point) => {
    const { scene, paint, state, connecting, picking } = store.value;
    if (connecting || picking) return actions.cancel();
    if (!scene) return;
    const inside = stage.isInside(item, point);
    const edge = stage.edgeAt(point);
    // A badge of a box, such as ×174, is beside it; a frame, or what is stacked below a scope, lies
    // where lines begin.
    const beside = item <= 0 || inside ? markedAt(parts, -1, point) : unmarked(item);
    const marked = edge >= 0 && beside.isAround ? 0 : beside.item;
    const hit = marked > 0 ? { item: marked, edge: -1, inside: false } : { item, edge, inside };
    await open(targetAt(hit, scene, paint, state), point);
  };
  const openHere = async () => {
    const { scene, paint, state, picked, connecting, picking } = store.value;
    if (connecting || picking) return actions.cancel();
    if (!scene) return;
    const item = scene.byKey.get(picked) ?? 0;
    const target = targetAt({ item, edge: -1, inside: false }, scene, paint, state);
    if (item <= 0) return open(target, stage.middle);
    const { x, y, width, height } = stage.handle(item);
    await open(target, { x: x + width / 2 + BESIDE, y: y - height / 2 });
  };

  const openNamed = async (name: string, point: Point) => {
    const { scene, connecting, picking } = store.value;
    if (connecting || picking) return actions.cancel();
    if (!scene) return;
    const focused = focusAround(root);
    const from =
      focused instanceof HTMLElement && popover.widget?.contains(focused)
        ? focused
        : popover.widget;
    await open(name === "" ? { kind: "canvas" } : targetOf(name, scene), point, from);
  };

  const openDropped = (path: string, point: Point) => {
    place = point;
    popover.origin = null;
    const act = (form: OtherGraphForm) => () => otherGraph(form, path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    showMenu(name, [
      [ADD_MODEL, COMPARE_WITH].map((form) => ({
        id: form.command,
        text: `${form.name} …`,
        act: act(form),
      })),
    ]);
  };

  const cancelPick = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !store.value.picking) return;
    event.stopPropagation(); // the form is closed by the next Escape
    actions.cancel();
  };
  root.addEventListener("keydown", cancelPick, true);
  store.watch(["picking"], ({ picking }) => {
    const focused = focusAround(root);
    // Not where the focus has gone to a cell, or to another view.
    if (!picking && !root.hidden && popover.widget?.contains(focused) && !root.contains(focused))
      body.querySelector("input")?.focus();
  });
  return { root, openAt, openHere, openNamed, openDropped };
}

/** What comes soon; null if the kernel is busy. */
function withPatience<T>(found: Promise<T>): Promise<T | null> {
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), PATIENCE));
  return Promise.race([found, late]);
}
