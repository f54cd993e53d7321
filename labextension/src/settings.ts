// What a person has set in JupyterLab's settings: whoever answers the event fills it in, elsewhere nobody does.

export interface Preferences {
  direction?: "down" | "right";
  animation?: boolean;
  softwareCanvas?: boolean;
  colours?: "theme" | "light" | "dark";
}

export const SETTINGS = "tfgraphwidget:settings";
export const SETTINGS_CHANGED = `${SETTINGS}-changed`;

export function preferences(): Preferences {
  const detail: Preferences = {};
  document.dispatchEvent(new CustomEvent(SETTINGS, { detail }));
  return detail;
}

/** Whether drawings jump instead of moving. */
export function isCalm(): boolean {
  return preferences().animation === false || matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Keep the colours of a view those that are set, from now on until the function that it gives is called. */
export function followColours(root: HTMLElement): () => void {
  const follow = () => {
    root.dataset["colours"] = preferences().colours ?? "";
  };
  follow();
  document.addEventListener(SETTINGS_CHANGED, follow);
  return () => document.removeEventListener(SETTINGS_CHANGED, follow);
}
