// Buttons that copy text, and say so.
import { button, element, ICONS, icon } from "../dom";

/** What is said about it, and the button with the word "Copy" on it, or only its picture. */
export function copyTools(shown: HTMLElement, title: string, word = true): [HTMLElement, HTMLButtonElement] {
  const said = element("span", { role: "status", class: "tgw-none" });
  const copy = button(
    { class: word ? "tgw-text-button" : "tgw-tool", title, "aria-label": word ? undefined : title },
    async () => saySoon(said, await copyShown(shown)),
    icon(ICONS.copy),
    ...(word ? ["Copy"] : []),
  );
  return [said, copy];
}

/** A word that goes again after two seconds. */
export function saySoon(said: HTMLElement, text: string): void {
  said.textContent = text;
  setTimeout(() => said.replaceChildren(), 2000);
}

/** The clipboard needs https or localhost; elsewhere the text is selected, so that Ctrl-C copies it. */
async function copyShown(shown: HTMLElement): Promise<string> {
  const lines = [...shown.querySelectorAll("[data-line]")].map((line) => line.getAttribute("data-line"));
  if (await copied(lines.length > 0 ? lines.join("\n") : shown.textContent)) return "Copied";
  getSelection()?.selectAllChildren(shown);
  return "Press Ctrl-C to copy";
}

/** Whether the clipboard has taken a text. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
