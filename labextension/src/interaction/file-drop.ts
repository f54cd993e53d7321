// Files that are dropped on the drawing: those of JupyterLab's file browser, which have a path that the kernel can read.
import type { Point } from "../render/camera/camera";

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

/** Call `dropped` with the path of a file, and `refused` for a file of the desktop, of which the page knows no path. */
export function listenToFiles(
  target: HTMLElement,
  dropped: (path: string, point: Point) => void,
  refused: () => void,
): void {
  for (const kind of ["lm-dragenter", "lm-dragover"])
    target.addEventListener(kind, (event) => {
      const drag = event as LuminoDrag;
      if (!drag.mimeData.hasData(CONTENTS)) return;
      drag.dropAction = drag.proposedAction;
      stop(event);
    });
  target.addEventListener("lm-drop", (event) => {
    const drag = event as LuminoDrag;
    const paths = drag.mimeData.getData(CONTENTS);
    const path = Array.isArray(paths) ? paths[0] : undefined;
    if (typeof path !== "string") return;
    drag.dropAction = drag.proposedAction;
    stop(event);
    const { left, top } = target.getBoundingClientRect();
    dropped(path, { x: drag.clientX - left, y: drag.clientY - top });
  });
  target.addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && stop(event));
  target.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    stop(event);
    refused();
  });
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}
