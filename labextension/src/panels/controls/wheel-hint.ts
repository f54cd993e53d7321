// The wheel in the cell of a notebook scrolls the notebook until the widget has the focus, as on
// maps; a hint says so.
import type { Parts } from "../../interaction/parts";
import { hasControl } from "../../render/gestures/pointer";
import { preferences } from "../../state/preferences";
import { element, hasFocus } from "../dom";

/** Panels and documents, which do not scroll. */
const STILL = ".tgw-pane, .tgw-full, :fullscreen";
/** Milliseconds for which the hint is shown. */
const SHOWN = 2500;
const TEXT = "Click to zoom with the wheel, or hold Ctrl";

export interface WheelHint {
  readonly root: HTMLElement;
  /** Whether a turn of the wheel zooms; if not, the hint is shown, the first time. */
  zooms(event: WheelEvent): boolean;
}

export function createWheelHint({ readOnly }: Parts): WheelHint {
  const root = element("p", { class: "tgw-wheel-hint", role: "status" });
  let wasShown = false;
  const zooms = (event: WheelEvent) => {
    if (readOnly || hasControl(event) || preferences().wheel === "always") return true;
    const widget = root.closest(".tfgraphwidget");
    if (!widget || widget.matches(STILL) || widget.closest(STILL) || hasFocus(widget)) {
      root.textContent = "";
      wasShown = true;
      return true;
    }
    if (!wasShown) {
      root.textContent = TEXT;
      setTimeout(() => root.replaceChildren(), SHOWN);
    }
    wasShown = true;
    return false;
  };
  return { root, zooms };
}
