// User settings. JupyterLab's plugin answers the event that requests them; elsewhere the defaults
// apply.

export interface Preferences {
  direction?: "down" | "right";
  animation?: boolean;
  softwareCanvas?: boolean;
  colours?: "theme" | "light" | "dark";
  /** When the wheel zooms in the cell of a notebook. */
  wheel?: "focused" | "always";
}

export const SETTINGS = "tfgraphwidget:settings";
export const SETTINGS_CHANGED = `${SETTINGS}-changed`;

export function preferences(): Preferences {
  const detail: Preferences = {};
  document.dispatchEvent(new CustomEvent(SETTINGS, { detail }));
  return detail;
}

/** Whether animations are off. */
export function prefersStill(): boolean {
  return (
    preferences().animation === false || matchMedia("(prefers-reduced-motion: reduce)").matches
  );
}

/** Apply the color setting to a view and follow its changes; returns a function that stops it. */
export function followColorScheme(root: HTMLElement): () => void {
  const follow = () => {
    root.dataset["colours"] = preferences().colours ?? "";
  };
  follow();
  document.addEventListener(SETTINGS_CHANGED, follow);
  return () => document.removeEventListener(SETTINGS_CHANGED, follow);
}
