// Downloads a picture of the drawing.
import { download } from "../../interaction/download";
import type { Outcome } from "../../interaction/exports";
import type { Parts } from "../../interaction/parts";
import type { PictureRequest } from "../../protocol/messages";
import { inView } from "../../render/camera/camera";

export type Suffix = PictureRequest["suffix"];

const SUFFIXES: readonly string[] = ["png", "svg", "pdf"] satisfies Suffix[];

export function isPicture(kind: string): kind is Suffix {
  return SUFFIXES.includes(kind);
}

/** The colors of a picture: those of the page. */
export function colorsOf({ palette }: Parts["stage"]): string[] {
  return [palette.background, palette.text];
}

/** Request a picture of the whole graph or the visible part, and download it. */
export async function savePicture(parts: Parts, suffix: Suffix, whole: boolean): Promise<Outcome> {
  const { store, stage, actions } = parts;
  const { x, y, width, height } = inView(store.value.camera, stage.viewport);
  const area = whole ? [] : [x, y, width, height];
  actions.showStatus({ kind: "notice", text: "Drawing the picture …" });
  try {
    const answer = await actions.picture({ suffix, whole, area, colors: colorsOf(stage) });
    if (answer?.type === "refusal") return { done: false, why: answer.why };
    if (answer?.type !== "picture_reply") return { done: false };
    download(answer.name, answer.buffer);
    actions.showStatus({ kind: "notice", text: `Downloaded ${answer.name}.` });
    return { done: true };
  } catch (error) {
    return { done: false, why: error instanceof Error ? error.message : String(error) };
  }
}
