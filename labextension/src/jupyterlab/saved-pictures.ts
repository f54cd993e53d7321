// A notebook that is opened again has a kernel without its widgets, and Jupyter says an error in
// place of each: a graph has a picture in the notebook, which saved-picture.ts shows.
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import { withLazyBundle } from "./lazy-loader";

/** How what Jupyter's widgets write there ends. */
const NOT_FOUND = "widget: model not found";

export function showSavedPictures(notebooks: INotebookTracker): void {
  const watch = (panel: NotebookPanel) =>
    new MutationObserver((records) => {
      for (const { target } of records)
        if (target.firstChild?.nodeValue?.endsWith(NOT_FOUND))
          void withLazyBundle(({ showSavedPicture }) => showSavedPicture(target as Element, panel));
    }).observe(panel.node, { childList: true, subtree: true });
  notebooks.forEach(watch);
  notebooks.widgetAdded.connect((_, panel) => watch(panel));
}
