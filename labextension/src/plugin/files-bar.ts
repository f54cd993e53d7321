// The bar above a document: Save, one line of news, and the kernel.
import { type ISessionContext, type ISessionContextDialogs, Toolbar } from "@jupyterlab/apputils";
import { saveIcon, ToolbarButton } from "@jupyterlab/ui-components";
import { Widget } from "@lumino/widgets";
import { element } from "./pane";

export interface Bar {
  readonly items: readonly (readonly [string, Widget])[];
  /** The line of news; a warning stands out. "" is none. */
  say(text: string, warns?: boolean): void;
}

export function createBar(
  session: ISessionContext,
  dialogs: ISessionContextDialogs | null,
  save: () => void,
): Bar {
  const button = new ToolbarButton({
    icon: saveIcon,
    onClick: save,
    tooltip: "Save as … (Ctrl+S)",
    label: "Save",
  });
  const line = new Widget({ node: element("span", "tgw-file-line") });
  // The toolbar measures its items; what is called so takes the room that is left.
  line.addClass("jp-Toolbar-spacer");
  line.node.setAttribute("role", "status");
  const kernel = Toolbar.createKernelNameItem(session, dialogs ?? undefined);
  const status = Toolbar.createKernelStatusItem(session);
  return {
    items: [
      ["save", button],
      ["news", line],
      ["kernelName", kernel],
      ["kernelStatus", status],
    ],
    say: (text, warns = false) => {
      line.node.textContent = text;
      line.node.title = text;
      line.node.classList.toggle("tgw-mod-warns", warns && text !== "");
    },
  };
}
