// A palette of op types and functions of the notebook. An entry is dragged onto a line of the
// drawing, where it is inserted.

import { quote } from "../../interaction/edits";
import { lineTensor } from "../../interaction/line-tensor";
import type { Parts } from "../../interaction/parts";
import type { OpType } from "../../protocol/messages";
import { at, labelOf, type Scene } from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { commandForm, type EditCommand } from "../controls/edit-form";
import { FormSlot } from "../controls/form-slot";
import { section } from "../controls/section";
import { element } from "../dom";
import { createOpSearch, optionOf } from "./op-search";

type Ask = (command: EditCommand) => void;

/** Pixels that the pointer moves until a press is a drag. */
const DRAG = 4;
/** From the pointer to the upper left corner of what is dragged, so that it hides nothing; px. */
const GHOST_GAP = 10;

/** The palette as a section of the side panel. */
export function createPaletteSection(parts: Parts): HTMLElement {
  const root = section("Op types", { class: "tgw-palette-section" }, [], createPalette(parts));
  parts.store.watch(["state"], ({ state }) => {
    root.hidden = !!state?.fixed;
  });
  return root;
}

function createPalette(parts: Parts): HTMLElement {
  const slot = new FormSlot(parts);
  // An op type that needs more than the tensor shows its form.
  const ask: Ask = (command) => slot.show(commandForm(command, parts, slot.close));
  const entry = (type: OpType) => {
    const option = optionOf(type);
    option.addEventListener(
      "pointerdown",
      (event) => event.button === 0 && startDrag(type, event, parts, ask),
    );
    return option;
  };
  const search = createOpSearch(parts, { command: "", what: [] }, () => undefined, {
    palette: entry,
  });
  search.list.setAttribute("aria-label", "Op types to drag onto a line");
  const hint = element(
    "p",
    { class: "tgw-hint" },
    "Drag an op type onto a line to insert it there.",
  );
  return element(
    "div",
    { class: "tgw-palette", role: "group", "aria-label": "Op types" },
    search.input,
    search.list,
    hint,
    slot.root,
  );
}

function startDrag(type: OpType, down: PointerEvent, parts: Parts, ask: Ask): void {
  const root = parts.stage.canvas.closest<HTMLElement>(".tfgraphwidget");
  if (!root) return;
  const ghost = element("div", { class: "tgw-drag-ghost", "aria-hidden": "true" });
  const pointOn = (event: PointerEvent): Point => {
    const { left, top } = parts.stage.canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  let active = false;
  const move = (event: PointerEvent) => {
    active ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > DRAG;
    if (!active) return;
    if (!ghost.isConnected) root.append(ghost);
    const { left, top } = root.getBoundingClientRect();
    const [x, y] = [event.clientX - left + GHOST_GAP, event.clientY - top + GHOST_GAP];
    ghost.style.transform = `translate(${x}px, ${y}px)`;
    const { scene } = parts.store.value;
    const edge = parts.stage.edgeAt(pointOn(event));
    ghost.textContent = scene && edge >= 0 ? `${type.name}: ${edgeText(scene, edge)}` : type.name;
    ghost.toggleAttribute("data-target", edge >= 0);
  };
  const end = (event: PointerEvent | KeyboardEvent) => {
    if (event instanceof KeyboardEvent && event.key !== "Escape") return;
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    window.removeEventListener("pointercancel", end);
    window.removeEventListener("keydown", end, true);
    ghost.remove();
    if (active && event.type === "pointerup" && event instanceof PointerEvent)
      void drop(type, pointOn(event), parts, ask);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);
  window.addEventListener("keydown", end, true);
}

function edgeText(scene: Scene, edge: number): string {
  return `${labelOf(scene, at(scene.source, edge))} → ${labelOf(scene, at(scene.target, edge))}`;
}

/** Insert an op type on the line at a point. */
async function drop(type: OpType, point: Point, parts: Parts, ask: Ask): Promise<void> {
  const { store, stage, actions } = parts;
  const { scene } = store.value;
  const edge = stage.edgeAt(point);
  if (!scene || edge < 0)
    return actions.showStatus({
      kind: "notice",
      text: "Nothing was inserted: drop the op type on a line.",
    });
  const line = await lineTensor(scene, edge, (key) => actions.describe(key));
  const several =
    "Several tensors run along this line: " +
    "expand the scopes at its ends, and drop the op type there.";
  if (!line) return actions.showStatus({ kind: "refused", text: several });
  const { tensor } = line;
  const only = { only: quote(line.only) };
  const isFunction = type.kind === "function";
  const described = await actions.edits.describe({
    name: type.name,
    function: isFunction,
    command: "insert",
    what: [tensor],
  });
  if (!described) return;
  if (described.parameters.some(({ required }) => required)) {
    const field = {
      key: "function",
      label: "Op type",
      initial: type.name,
      kind: "op_type" as const,
    };
    return ask({
      command: "insert",
      name: "Insert on this line",
      title: "",
      what: [tensor],
      fields: [field],
      options: only,
    });
  }
  const options = { function: isFunction ? type.name : quote(type.name), ...only };
  await actions.edits.change("insert", [tensor], options, isFunction ? ["function"] : []);
}
