// Keys that work anywhere in the widget, text fields apart.
import type { Parts } from "./panels/parts";
import { panned, zoomedAt } from "./render/camera";
import { withControl } from "./render/pointer";
import { DERIVATIONS } from "./selecting";

type Act = () => unknown;
export type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

const STEP = 60;

export function listenToKeys(root: HTMLElement, parts: Parts): void {
  root.addEventListener("keydown", (event) => {
    const { target } = event;
    // JupyterLab's single letters stay out (x would cut the cell); its Ctrl-S and the like go on working.
    if (!withControl(event)) event.stopPropagation();
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const act =
      meaning(event, parts) ??
      (event.key === "/"
        ? () => root.querySelector<HTMLInputElement>(".tgw-search-input")?.focus()
        : undefined) ??
      (target === root ? onCanvas(event, parts) : undefined);
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
}

/** What a key means wherever the focus is. */
export function meaning(event: Pressed, parts: Parts): Act | undefined {
  if (withControl(event)) return editing(event, parts);
  if (event.altKey) return event.key === "ArrowUp" ? () => parts.actions.leave() : undefined;
  const keys = { ...looking(parts), ...choosing(parts) };
  return Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
}

function editing(event: Pressed, { actions }: Parts): Act | undefined {
  const key = event.key.toLowerCase();
  if (key === "z") return () => (event.shiftKey ? actions.edits.redo() : actions.edits.undo());
  if (key === "y") return () => actions.edits.redo();
  return undefined;
}

function looking({ actions, stage, store }: Parts): Record<string, Act> {
  const zoom = (factor: number) => () => stage.setCamera(zoomedAt(store.value.camera, factor, stage.middle));
  return {
    f: () => stage.fit(),
    "+": zoom(1.4),
    "=": zoom(1.4),
    "-": zoom(1 / 1.4),
    r: () => actions.refresh(),
    Backspace: () => actions.leave(),
    c: () => actions.edits.compare(),
    Delete: () => actions.removeSelected(),
    Escape: () => actions.back(),
  };
}

function choosing({ actions, store }: Parts): Record<string, Act> {
  const { scene, picked } = store.value;
  const item = scene?.byKey.get(picked) ?? -1;
  const derive = DERIVATIONS.filter(({ key }) => key !== "").map(({ key, verb }) => [
    key,
    () => actions.derive(verb),
  ]);
  return {
    b: () => actions.setTool("box"),
    l: () => actions.setTool("lasso"),
    i: () => actions.mark(item, "inputs"),
    o: () => actions.mark(item, "outputs"),
    ...Object.fromEntries(derive),
  };
}

/** What a key means while the drawing has the focus. */
export function onCanvas(event: Pressed, { actions, stage, store }: Parts): Act | undefined {
  const picked = store.value.scene?.byKey.get(store.value.picked) ?? -1;
  if (event.key === "Enter" && withControl(event)) return () => actions.toggleSelected(picked);
  if (withControl(event) || event.altKey) return undefined;
  const pan = (dx: number, dy: number) => () => stage.setCamera(panned(store.value.camera, dx, dy));
  const keys: Record<string, Act> = {
    ArrowLeft: pan(STEP, 0),
    ArrowRight: pan(-STEP, 0),
    ArrowUp: pan(0, STEP),
    ArrowDown: pan(0, -STEP),
    Enter: () => actions.activate(picked, stage.anchorAt(picked)),
    " ": () => actions.toggleSelected(picked),
  };
  return keys[event.key];
}
