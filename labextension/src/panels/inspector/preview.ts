// Small gray images of a value: filters of a kernel, a matrix, an activation.
import type { Image } from "../../protocol/messages";
import { element } from "../dom";

/** A preview's longer side, in pixels of the page; one pixel of it is a whole number of them. */
const SIDE = 96;
/** The same where there are several. */
const SMALL = 54;
const LEAST = 2;

/** How many pixels of the page one of an image is. */
export function scaleOf({ width, height }: Pick<Image, "width" | "height">, count = 1): number {
  return Math.max(LEAST, Math.floor((count > 1 ? SMALL : SIDE) / Math.max(width, height, 1)));
}

/** The pixels as a canvas has them: red, green, blue and opaque, each four bytes. */
export function rgba(pixels: string, size: number): Uint8ClampedArray<ArrayBuffer> {
  const gray = atob(pixels);
  const bytes = new Uint8ClampedArray(4 * size);
  for (let i = 0; i < size; i += 1)
    bytes.fill(gray.charCodeAt(i), 4 * i, 4 * i + 3).fill(255, 4 * i + 3, 4 * i + 4);
  return bytes;
}

export function preview(image: Image, scale: number): HTMLElement {
  const { title, width, height } = image;
  const canvas = element("canvas", { width, height, role: "img", "aria-label": title, title });
  Object.assign(canvas.style, { width: `${width * scale}px`, height: `${height * scale}px` });
  canvas
    .getContext("2d")
    ?.putImageData(new ImageData(rgba(image.pixels, width * height), width, height), 0, 0);
  return canvas;
}
