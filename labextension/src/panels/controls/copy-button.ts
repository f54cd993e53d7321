// Buttons that copy text and confirm it.
import { button, element, ICONS, icon } from "../dom";

/** The status text, and the copy button, with the word "Copy" or only the icon. */
export function copyTools(
  shown: HTMLElement,
  title: string,
  word = true,
): [HTMLElement, HTMLButtonElement] {
  const status = element("span", { role: "status", class: "tgw-none" });
  const copy = button(
    {
      class: word ? "tgw-text-button" : "tgw-tool",
      title,
      "aria-label": word ? undefined : title,
      "data-command": "copy",
    },
    async () => showBriefly(status, await copyText(shown)),
    icon(ICONS.copy),
    ...(word ? ["Copy"] : []),
  );
  return [status, copy];
}

/** A word that goes again after two seconds. */
export function showBriefly(said: HTMLElement, text: string): void {
  said.textContent = text;
  setTimeout(() => said.replaceChildren(), 2000);
}

/**
 * The clipboard needs https or localhost; elsewhere the text is selected, so that Ctrl-C copies it.
 */
async function copyText(shown: HTMLElement): Promise<string> {
  const lines = [...shown.querySelectorAll("[data-line]")].map((line) =>
    line.getAttribute("data-line"),
  );
  if (await copyToClipboard(lines.length > 0 ? lines.join("\n") : shown.textContent))
    return "Copied";
  getSelection()?.selectAllChildren(shown);
  return "Press Ctrl-C to copy";
}

/** Whether the clipboard has taken a text. */
export async function copyToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
