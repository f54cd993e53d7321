// Bundles src/page.ts into ../tfgraphwidget/static/page.js: what a page that editor.save("view.html") writes runs.
import { writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";

// Modules of src/ and src/panels/ that need a kernel, and what a page has instead, in src/page/instead/.
const INSTEAD = {
  changes: "nothing",
  clone: "nothing",
  forms: "nothing",
  history: "nothing",
  port: "nothing",
  bindings: "bindings",
  empty: "empty",
  inspector: "inspector",
  outline: "outline",
  selecting: "selecting",
  selection: "selection",
  view: "view",
};

/** Builds it; a line that says how large it is. */
export async function buildPage(here, plugins) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: ["src/page.ts"],
    bundle: true,
    format: "iife",
    target: "es2022",
    minify: true,
    charset: "ascii",
    legalComments: "inline",
    loader: { ".css": "text" },
    plugins: [instead(here), ...plugins],
    write: false,
    outfile: "page.js",
  });
  const shrunk = await minify(result.outputFiles[0].text, {
    ecma: 2020,
    compress: { passes: 3, pure_getters: true, unsafe_arrows: true },
    // It stands between <script> and </script>.
    format: { comments: /^!|@license/, inline_script: true, ascii_only: true },
  });
  await writeFile(resolve(here, "../tfgraphwidget/static/page.js"), shrunk.code);
  const kilobytes = (bytes) => (bytes / 1024).toFixed(1);
  return `page.js: ${kilobytes(shrunk.code.length)} KB, ${kilobytes(gzipSync(shrunk.code).length)} KB gzipped`;
}

function instead(here) {
  const folder = resolve(here, "src/page/instead");
  return {
    name: "without-a-kernel",
    setup(setup) {
      setup.onResolve({ filter: /^\.\.?\// }, ({ path, importer, resolveDir }) => {
        const other = INSTEAD[basename(path)];
        const place = dirname(resolve(resolveDir, path));
        const known = place === resolve(here, "src") || place === resolve(here, "src/panels");
        if (!other || !known || importer.startsWith(folder)) return undefined;
        return { path: resolve(folder, `${other}.ts`) };
      });
    },
  };
}
