// Keys that work anywhere in the widget, text fields apart.
import type { Parts } from "./panels/parts";
import { panned, zoomedAt } from "./render/camera";

const STEP = 60;

export function listenToKeys(root: HTMLElement, parts: Parts): void {
  root.addEventListener("keydown", (event) => {
    const { target } = event;
    const control = withControl(event);
    // JupyterLab's single letters stay out (x would cut the cell); its Ctrl-S and the like go on working.
    if (!control) event.stopPropagation();
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const act = control ? editing(event, parts) : plain(event, root, parts);
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
}

function withControl(event: KeyboardEvent): boolean {
  return event.ctrlKey || event.metaKey;
}

function editing(event: KeyboardEvent, { actions }: Parts): (() => void) | undefined {
  const key = event.key.toLowerCase();
  if (key === "z") return () => void (event.shiftKey ? actions.redo() : actions.undo());
  if (key === "y") return () => void actions.redo();
  return undefined;
}

function plain(event: KeyboardEvent, root: HTMLElement, parts: Parts): (() => void) | undefined {
  if (event.altKey) return undefined;
  const { actions, stage, store } = parts;
  const pan = (dx: number, dy: number) => () => stage.setCamera(panned(store.value.camera, dx, dy));
  const middle = { x: stage.viewport.width / 2, y: stage.viewport.height / 2 };
  const zoom = (factor: number) => () => stage.setCamera(zoomedAt(store.value.camera, factor, middle));
  const picked = store.value.scene?.byKey.get(store.value.picked) ?? -1;
  const everywhere: Record<string, () => void> = {
    f: () => stage.fit(),
    "/": () => root.querySelector<HTMLInputElement>(".tgw-search-input")?.focus(),
    "+": zoom(1.4),
    "=": zoom(1.4),
    "-": zoom(1 / 1.4),
    i: () => void actions.mark(picked, "inputs"),
    o: () => void actions.mark(picked, "outputs"),
    Escape: () => actions.dismiss(),
  };
  const onCanvas: Record<string, () => void> = {
    ArrowLeft: pan(STEP, 0),
    ArrowRight: pan(-STEP, 0),
    ArrowUp: pan(0, STEP),
    ArrowDown: pan(0, -STEP),
    Enter: () => void actions.toggle(picked, stage.anchorAt(picked)),
  };
  return everywhere[event.key] ?? (event.target === root ? onCanvas[event.key] : undefined);
}
