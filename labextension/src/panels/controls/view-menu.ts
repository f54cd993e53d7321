// The View menu: view options, pictures, and the buttons that do not fit into a narrow toolbar.
import { available, type Binding, bindingOf, type KeyContext, keyText } from "../../interaction/key-bindings";
import { NavigationCursor } from "../../interaction/keyboard-nav";
import type { Parts } from "../../interaction/parts";
import type { PictureRequest } from "../../protocol/messages";
import { inView } from "../../render/camera/camera";
import type { Tool } from "../../state/store";
import { TOOLS } from "./drag-tools";
import { createDropdown, type MenuItem } from "./menus";

const PICTURES: readonly { suffix: Suffix; whole: boolean }[] = (["png", "svg", "pdf"] as const).flatMap(
  (suffix) => [
    { suffix, whole: false },
    { suffix, whole: true },
  ],
);

export function createViewMenu(parts: Parts): HTMLElement {
  const { store } = parts;
  const none = () => undefined;
  const context: KeyContext = { ...parts, find: none, menu: none, cursor: new NavigationCursor() };
  const state = () => store.value.state;
  const tool = ({ tool: which, name }: { tool: Tool; name: string }): MenuItem => ({
    text: name,
    narrow: true,
    checked: () => store.value.tool === which,
    act: () => parts.actions.setTool(which),
  });
  const bound = (keys: readonly string[], more: Partial<MenuItem> = {}) =>
    available(keys.map(bindingOf), parts).map((binding) => ({ ...itemOf(binding, context), ...more }));
  const title = parts.readOnly ? "View options" : "View options and pictures";
  return createDropdown("View", title, [
    { title: "Drag mode", items: TOOLS.map(tool) },
    { title: "Scopes", items: bound(["E", "C"]) },
    {
      title: "Drawing",
      items: [
        ...bound(["D"], { text: "Flow to the right", checked: () => state()?.direction === "right" }),
        ...bound(["t"], { text: "Control edges", checked: () => store.value.controls }),
        ...bound(["m"], { text: "Minimap", checked: () => store.value.minimap }),
        ...bound(["U"]),
      ],
    },
    { title: "More", items: bound(["+", "-", "c", "r"], { narrow: true }) },
    ...(parts.readOnly ? [] : [{ title: "Save a picture", items: pictures(parts) }]),
  ]);
}

function pictures(parts: Parts): MenuItem[] {
  return PICTURES.map(({ suffix, whole }) => ({
    text: `${suffix.toUpperCase()}, ${whole ? "whole graph" : "visible part"}`,
    act: () => savePicture(parts, suffix, whole),
  }));
}

function itemOf(binding: Binding, context: KeyContext): MenuItem {
  const [key = ""] = binding.keys;
  return { text: binding.what, key: keyText(key), act: () => binding.act(context) };
}

// Downloads a picture of the drawing.

export type Suffix = PictureRequest["suffix"];

const TYPES: Record<Suffix, string> = {
  png: "image/png",
  svg: "image/svg+xml",
  pdf: "application/pdf",
};
/** Milliseconds until the browser has surely begun to read the file. */
const READ = 10_000;

/** Request a picture of the whole graph or the visible part, and download it. */
export async function savePicture(parts: Parts, suffix: Suffix, whole: boolean): Promise<void> {
  const { store, stage, actions } = parts;
  const { x, y, width, height } = inView(store.value.camera, stage.viewport);
  const area = whole ? [] : [x, y, width, height];
  actions.showStatus({ kind: "notice", text: "Drawing the picture …" });
  try {
    const answer = await actions.picture({ suffix, whole, area, dark: stage.palette.dark });
    if (answer?.type === "pictured") {
      download(answer.name, answer.buffer, TYPES[suffix]);
      actions.showStatus({ kind: "notice", text: `Downloaded ${answer.name}.` });
    } else if (answer?.type === "refused") actions.showStatus({ kind: "refused", text: answer.why });
  } catch (error) {
    actions.showStatus({ kind: "error", text: error instanceof Error ? error.message : String(error) });
  }
}

function download(name: string, buffer: DataView, type: string): void {
  // A copy: the message's buffer may be a part of a larger one.
  const bytes = new Uint8Array(buffer.byteLength);
  bytes.set(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), READ);
}
