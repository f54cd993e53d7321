// The bar above a document: Save, one line of news, and the kernel.
import { type ISessionContext, type ISessionContextDialogs, Toolbar } from "@jupyterlab/apputils";
import { saveIcon, ToolbarButton } from "@jupyterlab/ui-components";
import { CommandRegistry } from "@lumino/commands";
import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";
import type { Working } from "./kernel";
import { element, type Way } from "./pane";

export interface Bar {
  readonly items: readonly (readonly [string, Widget])[];
  /** The line of news, and what can be done about it; a warning stands out. "" is none. */
  say(text: string, warns?: boolean, ways?: readonly Way[]): void;
  /** Something long goes on, as far as that: a bar that fills, and Cancel; null when it is over. */
  show(working: Working | null): void;
}

export function createBar(
  session: ISessionContext,
  dialogs: ISessionContextDialogs | null,
  save: () => void,
  cancel: () => void,
): Bar {
  const button = new ToolbarButton({
    icon: saveIcon,
    onClick: save,
    tooltip: `Save as … (${CommandRegistry.formatKeystroke("Accel S")})`,
    label: "Save",
  });
  const line = new Widget({ node: element("span", "tgw-file-line") });
  // The toolbar measures its items; what is called so takes the room that is left.
  line.addClass("jp-Toolbar-spacer");
  const news = element("span", "tgw-file-news");
  news.setAttribute("role", "status");
  const bar = element("progress", "") as HTMLProgressElement;
  bar.setAttribute("aria-label", "Progress");
  const stop = minimal({
    label: "Cancel",
    run: () => {
      stop.disabled = true;
      cancel();
    },
  });
  stop.title = "Interrupt the kernel";
  const show = (working: Working | null) => {
    if (bar.hidden) stop.disabled = false;
    bar.hidden = stop.hidden = working === null;
    if (working?.total) Object.assign(bar, { max: working.total, value: working.done });
    else bar.removeAttribute("value");
  };
  show(null);
  const buttons = element("span", "tgw-file-ways");
  line.node.append(news, buttons, bar, stop);
  const kernel = Toolbar.createKernelNameItem(session, dialogs ?? undefined);
  const status = Toolbar.createKernelStatusItem(session);
  return {
    items: [
      ["save", button],
      ["news", line],
      ["kernelName", kernel],
      ["kernelStatus", status],
    ],
    show,
    say: (text, warns = false, ways = []) => {
      news.textContent = text;
      buttons.replaceChildren(...ways.map(minimal));
      news.title = text;
      news.classList.toggle("tgw-mod-warns", warns && text !== "");
    },
  };
}

/** Give the tab another name than the file has; Jupyter would take that for a wish to rename the file. */
export function relabel(widget: Widget, label: string): void {
  Signal.disconnectBetween(widget.title, widget);
  widget.title.label = label;
}

function minimal({ label, run }: Way): HTMLButtonElement {
  const made = element("button", "jp-mod-styled jp-mod-minimal", label) as HTMLButtonElement;
  made.addEventListener("click", run);
  return made;
}
