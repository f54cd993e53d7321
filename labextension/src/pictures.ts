// The drawing as a file, handed to the browser's downloads.
import type { Parts } from "./panels/parts";
import type { PictureRequest } from "./protocol";
import { inView } from "./render/camera";

export type Suffix = PictureRequest["suffix"];

const TYPES: Record<Suffix, string> = {
  png: "image/png",
  svg: "image/svg+xml",
  pdf: "application/pdf",
};
/** Milliseconds until the browser has surely begun to read the file. */
const READ = 10_000;

/** Have the kernel draw the whole, or what is in view, and save it. */
export async function savePicture(parts: Parts, suffix: Suffix, whole: boolean): Promise<void> {
  const { store, stage, actions } = parts;
  const { x, y, width, height } = inView(store.value.camera, stage.viewport);
  const area = whole ? [] : [x, y, width, height];
  actions.say({ kind: "notice", text: "Drawing the picture …" });
  try {
    const answer = await actions.picture({ suffix, whole, area, dark: stage.palette.dark });
    if (answer?.type === "pictured") {
      download(answer.name, answer.buffer, TYPES[suffix]);
      actions.say({ kind: "notice", text: `${answer.name} is among the browser's downloads.` });
    } else if (answer?.type === "refused") actions.say({ kind: "refused", text: answer.why });
  } catch (error) {
    actions.say({ kind: "error", text: error instanceof Error ? error.message : String(error) });
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
