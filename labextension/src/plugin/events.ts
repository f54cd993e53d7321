// What an editor asks of the application around it, as events that come up from its root element.
import { ifFetched } from "./lazily";
import type { Owners } from "./owners";

export function listenToEditors(owners: Owners): void {
  document.addEventListener("tfgraphwidget:interrupt", (event) => {
    const kernel = owners.kernelOf(event.target as Node);
    if (!kernel) return;
    event.preventDefault();
    if (!(event as CustomEvent<{ ask?: boolean } | null>).detail?.ask)
      void kernel.interrupt().catch(() => {});
  });
  document.addEventListener("tfgraphwidget:insert", (event) => {
    const text: unknown = (event as CustomEvent<{ text?: unknown } | null>).detail?.text;
    const notebook = owners.notebookOf(event.target as Node);
    if (!notebook || typeof text !== "string") return;
    event.preventDefault();
    const from = event.target as Node;
    void ifFetched(({ insertCell }) => insertCell(notebook, text, from));
  });
}
