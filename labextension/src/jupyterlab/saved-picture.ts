// The picture that a notebook has of a graph whose widget is gone.
import type { CodeCell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";

const PICTURE = "image/png";
/** How the text of an editor begins, which is in the output, too; version 0.2 wrote the other. */
const EDITOR = /^<(GraphEditor|tfgraphwidget)/;
const SAYS = "The graph as it was when the cell ran; run it again to work with the graph.";

/** Put the picture of an output in place of the error, if the output is a graph's. */
export function showSavedPicture(error: Element, { content }: NotebookPanel): void {
  const cell = content.widgets.find(({ node }) => node.contains(error)) as CodeCell | undefined;
  const outputs = cell?.outputArea;
  const place = outputs?.widgets.findIndex(({ node }) => node.contains(error)) ?? -1;
  const { [PICTURE]: picture, "text/plain": text } = outputs?.model.get(place)?.data ?? {};
  if (!picture || !EDITOR.test(String(text))) return;
  const image = document.createElement("img");
  image.src = `data:${PICTURE};base64,${String(picture).replace(/\s/g, "")}`;
  image.alt = String(text);
  image.style.maxWidth = "100%";
  const caption = document.createElement("figcaption");
  caption.textContent = SAYS;
  const figure = document.createElement("figure");
  figure.className = "tgw-saved-picture";
  figure.style.margin = "0";
  figure.append(image, caption);
  error.replaceChildren(figure);
}
