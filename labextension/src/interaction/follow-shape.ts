// A view that is dragged narrow or wide: its drawing wraps to the new shape until a user makes it
// their own.
import type { Viewport } from "../render/camera/camera";
import type { Parts } from "./parts";

/** Milliseconds without a change after which a view has its size. */
const REST = 250;
/** How much narrower or wider a shape is another one, as a logarithm. */
const OTHER = 0.2;
/** Width : height from which on drawings have the usual shape; graph_view.py has the same. */
const WIDE = 1.3;

/**
 * Follow the size of a view that was opened at the size `opened` of its canvas; `open` opens it
 * where it had none.
 */
export function followShape(
  root: HTMLElement,
  { stage, actions }: Pick<Parts, "stage" | "actions">,
  opened: Viewport,
  open: (canvas: Viewport) => unknown,
): () => void {
  let shape = shapeOf(root);
  // In a tab below others it was opened without a size.
  let isOpened = opened.width > 0;
  let timer = 0;
  const follow = () => {
    const now = shapeOf(root);
    if (now === null) return;
    const isOther = shape === null || Math.abs(Math.log(now / shape)) > OTHER;
    if (!isOpened) void open(stage.viewport);
    else if (isOther && stage.untouched) void actions.wrap(stage.viewport);
    else if (!isOther) return;
    [shape, isOpened] = [now, true];
  };
  const size = new ResizeObserver(() => {
    clearTimeout(timer);
    timer = window.setTimeout(follow, REST);
  });
  size.observe(root);
  return () => {
    clearTimeout(timer);
    size.disconnect();
  };
}

/** The width : height of a view, as far as drawings differ by it; null if it has no size. */
function shapeOf({ clientWidth, clientHeight }: HTMLElement): number | null {
  return clientWidth > 0 && clientHeight > 0 ? Math.min(clientWidth / clientHeight, WIDE) : null;
}
