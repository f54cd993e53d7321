// Files that are dropped on the drawing: those of JupyterLab's file browser, which have a path that
// the kernel can read, and those of the desktop, which are sent to it.
import type { Point } from "../render/camera/camera";
import { locateDragged, type ServerPath } from "./host-application";

/** The data of a drag from JupyterLab's file browser: paths below the server's root. */
const CONTENTS = "application/x-jupyter-icontents";

/** What @lumino/dragdrop sends. */
interface LuminoDrag extends Event {
  readonly clientX: number;
  readonly clientY: number;
  readonly mimeData: { hasData(kind: string): boolean; getData(kind: string): unknown };
  readonly proposedAction: string;
  dropAction: string;
}

/** Marks the drawing while a file that can be dropped on it is above it. */
const DROPPING = "data-dropping";

/** What makes a path of the kernel out of a file, or null if it cannot, which is shown. */
export interface FileIntake {
  locate(file: ServerPath): Promise<string | null>;
  upload(file: File): Promise<string | null>;
}

/** Call `dropped` with the path of a file as the kernel takes it. */
export function listenToFiles(
  target: HTMLElement,
  dropped: (path: string, point: Point) => void,
  files: FileIntake,
): void {
  for (const kind of ["lm-dragenter", "lm-dragover"])
    target.addEventListener(kind, (event) => {
      const drag = event as LuminoDrag;
      if (!drag.mimeData.hasData(CONTENTS)) return;
      drag.dropAction = drag.proposedAction;
      target.setAttribute(DROPPING, "");
      stop(event);
    });
  for (const kind of ["lm-dragleave", "dragleave"])
    target.addEventListener(kind, (event) => {
      const to = (event as MouseEvent).relatedTarget;
      if (!(to instanceof Node && target.contains(to))) target.removeAttribute(DROPPING);
    });
  target.addEventListener("lm-drop", async (event) => {
    target.removeAttribute(DROPPING);
    const drag = event as LuminoDrag;
    const paths = drag.mimeData.getData(CONTENTS);
    const path = Array.isArray(paths) ? paths[0] : undefined;
    if (typeof path !== "string") return;
    drag.dropAction = drag.proposedAction;
    stop(event);
    const { left, top } = target.getBoundingClientRect();
    const source = await files.locate(await locateDragged(target, path));
    if (source !== null) dropped(source, { x: drag.clientX - left, y: drag.clientY - top });
  });
  target.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    target.setAttribute(DROPPING, "");
    stop(event);
  });
  target.addEventListener("drop", async (event) => {
    target.removeAttribute(DROPPING);
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    stop(event);
    const { left, top } = target.getBoundingClientRect();
    const source = await files.upload(file);
    if (source) dropped(source, { x: event.clientX - left, y: event.clientY - top });
  });
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}
