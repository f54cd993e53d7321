// Downloads a picture of the drawing.
import { download } from "../../interaction/download";
import type { Parts } from "../../interaction/parts";
import type { PictureRequest } from "../../protocol/messages";
import { inView } from "../../render/camera/camera";

export type Suffix = PictureRequest["suffix"];

const SUFFIXES: readonly string[] = ["png", "svg", "pdf"] satisfies Suffix[];

export function isPicture(kind: string): kind is Suffix {
  return SUFFIXES.includes(kind);
}

/** The last part of a path, with the ending of the format. */
export function fileName(path: string, suffix: Suffix): string {
  const typed = path.slice(path.lastIndexOf("/") + 1).trim();
  return typed.toLowerCase().endsWith(`.${suffix}`) ? typed : `${typed || "graph"}.${suffix}`;
}

/** The colors of a picture: those of the page. */
export function colorsOf({ palette }: Parts["stage"]): string[] {
  return [palette.background, palette.text];
}

/** Left, top, width and height of the visible part in the drawing. */
export function visibleArea({ store, stage }: Parts): number[] {
  const { x, y, width, height } = inView(store.value.camera, stage.viewport);
  return [x, y, width, height];
}

/**
 * Request a picture of an area, or (empty) of the whole graph, and download it with the last part
 * of `path` as name; resolves to whether it was.
 */
export async function savePicture(
  parts: Parts,
  suffix: Suffix,
  path: string,
  area: number[],
): Promise<boolean> {
  const { stage, actions } = parts;
  const whole = area.length === 0;
  actions.showStatus({ kind: "notice", text: "Drawing the picture …" });
  try {
    const answer = await actions.picture({ suffix, whole, area, colors: colorsOf(stage) });
    if (answer?.type === "refusal") throw new Error(answer.why);
    if (answer?.type !== "picture_reply") return false;
    const name = fileName(path, suffix);
    download(name, answer.buffer);
    actions.showStatus({ kind: "notice", text: `Downloaded ${name}.` });
    return true;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    actions.showStatus({ kind: "refused", text, argument: "path" });
    return false;
  }
}
