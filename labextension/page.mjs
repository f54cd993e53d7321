// Bundles src/offline/page.ts into ../tfgraphwidget/static/page.js, the script of a page that
// editor.save("view.html") writes.
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";
import { licenseComment } from "./licenses.mjs";

/** Returns one line with the sizes. */
export async function buildPage(here, plugins) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: ["src/offline/page.ts"],
    bundle: true,
    format: "iife",
    target: "es2022",
    minify: true,
    charset: "ascii",
    legalComments: "inline",
    loader: { ".css": "text" },
    plugins,
    metafile: true,
    write: false,
    outfile: "page.js",
  });
  const shrunk = await minify(result.outputFiles[0].text, {
    ecma: 2020,
    compress: { passes: 3 },
    // It stands between <script> and </script>.
    format: { comments: /^!|@license/, inline_script: true, ascii_only: true },
  });
  const code = (await licenseComment(here, result.metafile)) + shrunk.code;
  await writeFile(resolve(here, "../tfgraphwidget/static/page.js"), code);
  const kilobytes = (bytes) => (bytes / 1024).toFixed(1);
  return `page.js: ${kilobytes(code.length)} KB, ${kilobytes(gzipSync(code).length)} KB gzipped`;
}
