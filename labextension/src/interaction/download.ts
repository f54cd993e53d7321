// Downloads bytes as a file.

const TYPES: Record<string, string> = {
  png: "image/png",
  svg: "image/svg+xml",
  pdf: "application/pdf",
  html: "text/html",
  json: "application/json",
  zip: "application/zip",
};
/** Milliseconds until the browser has surely begun to read the file. */
const READ = 10_000;

export function download(name: string, buffer: DataView): void {
  // A copy: the message's buffer may be a part of a larger one.
  const bytes = new Uint8Array(buffer.byteLength);
  bytes.set(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), READ);
}
