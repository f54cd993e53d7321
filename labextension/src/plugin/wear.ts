// The style sheet of panes, put into the page when the first of them is made.
import files from "./files.css";
import css from "./pane.css";

let isWorn = false;

export function wear(): void {
  if (isWorn) return;
  const style = document.createElement("style");
  style.textContent = css + files;
  document.head.append(style);
  isWorn = true;
}
