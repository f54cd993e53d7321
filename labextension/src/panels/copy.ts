// A button that copies the text of an element, and says so.
import { button, element, ICONS, icon } from "../dom";

/** What is said about it, and the button with the word "Copy" on it, or only its picture. */
export function copyTools(shown: HTMLElement, title: string, word = true): [HTMLElement, HTMLButtonElement] {
  const said = element("span", { role: "status", class: "tgw-none" });
  const copy = button(
    { class: word ? "tgw-text-button" : "tgw-tool", title, "aria-label": word ? undefined : title },
    async () => {
      said.textContent = (await copyText(shown.textContent, shown)) ? "Copied" : "Press Ctrl-C to copy";
      setTimeout(() => said.replaceChildren(), 2000);
    },
    icon(ICONS.copy),
    ...(word ? ["Copy"] : []),
  );
  return [said, copy];
}

/** The clipboard needs https or localhost; elsewhere the text is selected, so that Ctrl-C copies it. */
async function copyText(text: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shown);
    return false;
  }
}
