// The context menu of the drawing. Arrow keys move, Enter chooses, Escape closes and returns the focus to the drawing. An
// edit that needs arguments shows its form in the same place.
import { type LineTensor, lineTensor } from "../../interaction/line-tensor";
import type { Parts } from "../../interaction/parts";
import type { InspectReply } from "../../protocol/messages";
import { labelOf, type Scene } from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { isBrowsing } from "../controls/browse-button";
import { commandForm, type EditCommand, showForm } from "../controls/edit-form";
import { isAroundBox, markedAt } from "../controls/meanings";
import { handleMenuKey, menuItem, placeMenu } from "../controls/menus";
import { element, focusAround, hasFocus, setAttributes, uniqueId } from "../dom";
import { feedForm, runWithFeeds } from "../forms/feed-form";
import { ADD_MODEL, COMPARE_WITH, type OtherGraphForm } from "../other-graphs/other-graphs";
import { entriesFor, type MenuGroups, titleOf } from "./entries";
import { type Target, targetAt, targetOf } from "./target";

/** Milliseconds for which the menu waits for the details of an op: a kernel that is busy does not hold it up. */
const PATIENCE = 1000;

/** Pixels between an item and its menu, where that is opened by a key. */
const BESIDE = 4;

/** What the kernel knows of a target: of its op or scope, or of the op whose tensor a line carries. */
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
  /** Open the menu of an op or scope that a list names, or of the canvas for "", at a point of the drawing. */
  openNamed(name: string, point: Point): Promise<void>;
  /** Ask what to do with a file that was dropped at a point of the drawing. */
  openDropped(path: string, point: Point): void;
}

/** `cloneForm` leads to the form that clones the selection. */
export function createContextMenu(parts: Parts, cloneForm: () => void): ContextMenu {
  const { store, stage, actions } = parts;
  const id = uniqueId();
  const heading = element("p", { class: "tgw-label", id });
  const body = element("div", {});
  // A click on its text leaves it open: it can have the focus.
  const root = element("div", { class: "tgw-menu tgw-context", tabindex: -1, hidden: true }, heading, body);
  let turn = 0;
  let place: Point = { x: 0, y: 0 };
  let subject = "";
  /** What had the focus before a menu of a list, and has it again afterwards; else the drawing. */
  let origin: HTMLElement | null = null;

  const close = () => {
    turn += 1;
    if (root.hidden) return;
    const had = hasFocus(root);
    root.hidden = true;
    if (had) (origin?.isConnected ? origin : widget())?.focus({ preventScroll: true });
    if (store.value.picking) store.set({ picking: null }); // the form that waits for a click is closed
  };
  const widget = () => root.closest<HTMLElement>(".tfgraphwidget");
  const show = (title: string, content: HTMLElement) => {
    heading.textContent = title;
    body.replaceChildren(content);
    root.hidden = false;
    placeMenu(root, place.x, place.y);
  };
  /** Show entries, with the focus on the first or on the one of a text. */
  const showMenu = (title: string, groups: MenuGroups, focused?: string | null): HTMLElement => {
    const list = element("div", { role: "menu", "aria-labelledby": id });
    for (const group of groups)
      list.append(
        element(
          "div",
          { role: "group", class: "tgw-menu-group" },
          ...group.map((item) => menuItem(item, close)),
        ),
      );
    list.addEventListener("keydown", (event) => handleMenuKey(event, list, close));
    show(title, list);
    const buttons = [...list.querySelectorAll("button")];
    const first = buttons.find(({ textContent }) => textContent === focused) ?? buttons[0];
    first?.focus({ preventScroll: true });
    return list;
  };
  const form = (command: EditCommand) => {
    const slot = element("div", { role: "dialog", "aria-label": command.name });
    show(`${command.name}: ${subject}`, slot);
    heading.title = command.title;
    showForm(slot, commandForm(command, parts, close));
  };
  const otherGraph = ({ name, create }: OtherGraphForm, source = "") => {
    const slot = element("div", { role: "dialog", "aria-label": name });
    show(name, slot);
    showForm(slot, create(parts, source, close));
    placeMenu(root, place.x, place.y);
  };
  const values = async (name: string) => {
    if (name !== "" && store.value.picked !== name) await actions.inspect(name); // where its value is shown
    const target = { name, measure: false };
    return runWithFeeds(target, parts, (feeds) => {
      const slot = element("div", { role: "dialog", "aria-label": "Feeds" });
      show("Feeds", slot);
      showForm(slot, feedForm(target, feeds, parts, close));
    });
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
      const ask = origin ? (key: string) => actions.describe(key) : inspect;
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
    origin = from;
    widget()?.focus({ preventScroll: true });
    const isOpen = () => mine === turn && store.value.scene === scene;
    // Keys are for the current item, which that of a list is not.
    const isElsewhere = from !== null && "key" in target;
    const entries = ({ details, line }: Found) => {
      const groups = entriesFor(target, target.kind === "group" ? null : details, context, line);
      return isElsewhere ? groups.map((group) => group.map((item) => ({ ...item, key: "" }))) : groups;
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
    const focused = list.querySelector(":focus")?.textContent;
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
    // A badge of a box, such as ×174, is beside it; a frame, or what is stacked below a scope, lies where lines begin.
    const [beside, meanings] = item <= 0 || inside ? markedAt(parts, -1, point) : [item, []];
    const marked = edge >= 0 && isAroundBox(meanings) ? 0 : beside;
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
    const from = focused instanceof HTMLElement && widget()?.contains(focused) ? focused : widget();
    await open(name === "" ? { kind: "canvas" } : targetOf(name, scene), point, from);
  };

  const openDropped = (path: string, point: Point) => {
    place = point;
    origin = null;
    const act = (form: OtherGraphForm) => () => otherGraph(form, path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    showMenu(name, [[ADD_MODEL, COMPARE_WITH].map((form) => ({ text: `${form.name} …`, act: act(form) }))]);
  };

  // A form grows with what is typed.
  new ResizeObserver(() => !root.hidden && placeMenu(root, place.x, place.y)).observe(root);
  root.addEventListener("focusout", (event) => {
    const isInside = event.relatedTarget instanceof Node && root.contains(event.relatedTarget);
    // Nothing else has the focus now, as when another window is looked at: what was typed is not lost.
    const isLeft = event.relatedTarget === null && body.querySelector("form") !== null;
    // A form that waits for a file, or for a click on an op, stays.
    if (!isInside && !isLeft && !isBrowsing(root) && !store.value.picking) close();
  });
  const cancelPick = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !store.value.picking) return;
    event.stopPropagation(); // the form is closed by the next Escape
    actions.cancel();
  };
  root.addEventListener("keydown", cancelPick, true);
  store.watch(["picking"], ({ picking }) => {
    const focused = focusAround(root);
    // Not where the focus has gone to a cell, or to another view.
    if (!picking && !root.hidden && widget()?.contains(focused) && !root.contains(focused))
      body.querySelector("input")?.focus();
  });
  return { root, openAt, openHere, openNamed, openDropped };
}

/** What comes soon; null if the kernel is busy. */
function withPatience<T>(found: Promise<T>): Promise<T | null> {
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), PATIENCE));
  return Promise.race([found, late]);
}
