// Bundles src/widget.ts into ../tfgraphwidget/static/widget.js, the one file that anywidget sends
// to the browser, and the JupyterLab extension into ../tfgraphwidget/labextension/ (federated.mjs).
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";
import { buildExtension } from "./federated.mjs";
import { licenseComment } from "./licenses.mjs";
import { buildPage } from "./page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const bundle = resolve(here, "../tfgraphwidget/static/widget.js");
// anywidget sends the bundle once for every widget in a notebook.
const limit = 150 * 1024;

const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/widget.ts"],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "inline",
  loader: { ".css": "text" },
  plugins: [minifiedCss()],
  outfile: bundle,
  metafile: true,
  write: false,
});
// esbuild joins, terser shrinks. It does nothing "unsafe" here, nor with pure_getters, which would
// drop a property that is read for its effect: the 0.9 % that they save could change what the page
// does.
const shrunk = await minify(result.outputFiles[0].text, {
  module: true,
  ecma: 2020,
  compress: { passes: 3 },
  format: { comments: /^!|@license/ },
});
const code = Buffer.from((await licenseComment(here, result.metafile)) + shrunk.code, "utf8");
const size = gzipSync(code, { level: 9 }).length;
if (size > limit) {
  console.error(
    `widget.js is ${size} bytes gzipped; more than ${limit} slows every notebook down.`,
  );
  process.exit(1);
}
await mkdir(dirname(bundle), { recursive: true });
await writeFile(bundle, code);
console.log(
  `widget.js: ${(code.length / 1024).toFixed(1)} KB, ${(size / 1024).toFixed(1)} KB gzipped`,
);
console.log(await buildPage(here, [minifiedCss()]));
console.log(await buildExtension(here, [minifiedCss()]));

/** Style sheets become minified strings: the widget puts them into a <style> of its own. */
function minifiedCss() {
  return {
    name: "minified-css",
    setup(setup) {
      setup.onLoad({ filter: /\.css$/ }, async ({ path }) => {
        const css = await build({ entryPoints: [path], bundle: true, minify: true, write: false });
        return { contents: css.outputFiles[0].text.trim(), loader: "text" };
      });
    },
  };
}
