// The licenses of the packages in a bundle: they must go along with every copy.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

/**
 * One comment for the top of a bundle, of which `metafile` is esbuild's; "" when only our own
 * modules are in it.
 */
export async function licenseComment(here, { inputs }) {
  const names = Object.keys(inputs).map(
    (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1],
  );
  const texts = [...new Set(names.filter(Boolean))].sort().map(async (name) => {
    const text = await readFile(resolve(here, "node_modules", name, "LICENSE"), "utf8");
    return `${name}\n\n${text.trim()}`;
  });
  return texts.length > 0 ? `/*!\n${(await Promise.all(texts)).join("\n\n")}\n*/\n` : "";
}
