// Bundles src/jupyterlab/plugin.ts into ../tfgraphwidget/labextension/, a federated extension of
// JupyterLab: an entry that every page loads, so it is small, and a second file that is loaded when
// the user first needs it.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { build } from "esbuild";
import { minify } from "terser";

/** Bytes that every page loads. */
const LIMIT = 10 * 1024;
const NAME = "tfgraphwidget";
/** What container.js takes from the sources; esbuild's own way to export it is half a kilobyte. */
const ENTRY = `import plugins from "./src/jupyterlab/plugin.ts";
result.exports = { default: plugins, __esModule: true };`;
const LAZY = `import { lazyBundle } from "./src/jupyterlab/lazy-bundle.ts";
result.exports = { lazyBundle };`;

/** Returns one line with the sizes; throws when the entry exceeds its limit. */
export async function buildExtension(here, plugins) {
  const folder = resolve(here, "../tfgraphwidget/labextension");
  const lazy = await part(here, LAZY, plugins);
  const lazyFile = hashed("lazy", await shrunk(`export const part = ${lazy};`, true));
  const container = (await readFile(resolve(here, "container.js"), "utf8"))
    .replace(/^(\/\/.*\n)+/, "")
    .replace(/;\s*$/, "");
  const entry = await part(here, ENTRY, plugins);
  const call = `(${container})(${JSON.stringify(NAME)}, ${JSON.stringify(lazyFile.name)}, ${entry});`;
  const entryFile = hashed("remoteEntry", await shrunk(call, false));
  if (entryFile.code.length > LIMIT) {
    throw new Error(
      `The extension's entry is ${entryFile.code.length} bytes; more than ${LIMIT} slows every page down.`,
    );
  }
  await mkdir(resolve(folder, "static"), { recursive: true });
  for (const { name, code } of [lazyFile, entryFile])
    await writeFile(resolve(folder, "static", name), code);
  await describe(here, folder, entryFile.name);
  // The old files are removed last, so that a page that is loading meanwhile still finds them.
  const stale = (await readdir(resolve(folder, "static"))).filter(
    (name) => ![lazyFile.name, entryFile.name].includes(name),
  );
  for (const name of stale) await rm(resolve(folder, "static", name));
  const kilobytes = (file) => `${(file.code.length / 1024).toFixed(1)} KB`;
  return `extension: ${kilobytes(entryFile)} on each page, ${kilobytes(lazyFile)} when it is used`;
}

/**
 * One part for container.js, as JavaScript: its code as a function, and the shared modules that it
 * needs.
 */
async function part(here, contents, plugins) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: here,
    stdin: { contents, resolveDir: here, sourcefile: "part" },
    bundle: true,
    format: "cjs",
    target: "es2022",
    // import("@jupyterlab/…") becomes a look-up too: the container has loaded it.
    supported: { "dynamic-import": false },
    external: ["@jupyterlab/*", "@lumino/*", "@jupyter-widgets/*"],
    metafile: true,
    charset: "utf8",
    loader: { ".css": "text" },
    plugins,
    outfile: "part.js",
    write: false,
  });
  const [output] = Object.values(metafile.outputs);
  const needs = [
    ...new Set(output.imports.filter((one) => one.external).map((one) => one.path)),
  ].sort();
  return `{ needs: ${JSON.stringify(needs)}, run: (result, require, importLazyBundle) => {\n${requiredOnce(outputFiles[0].text)}\n} }`;
}

/**
 * Each source file looks its modules up under names of its own, "import_apputils2": all become the
 * first one's.
 */
function requiredOnce(code) {
  const names = new Map();
  const renamed = new Map();
  const once = code.replace(/^var (\w+) = require\("([^"]+)"\);\n/gm, (line, name, path) => {
    if (!names.has(path)) names.set(path, name);
    else renamed.set(name, names.get(path));
    return renamed.has(name) ? "" : line;
  });
  return once.replace(/\bimport_\w+/g, (name) => renamed.get(name) ?? name);
}

async function shrunk(code, module) {
  const options = {
    module,
    toplevel: true,
    ecma: 2020,
    compress: { passes: 3 },
    format: { comments: false },
  };
  return Buffer.from((await minify(code, options)).code, "utf8");
}

/** The name changes with the content, so that no browser uses an old file. */
function hashed(stem, code) {
  const hash = createHash("sha256").update(code).digest("hex").slice(0, 20);
  return { name: `${stem}.${hash}.js`, code };
}

/** Writes what JupyterLab's server reads: which file to load, and the schema of the settings. */
async function describe(here, folder, entryName) {
  const { name, version, description, license, jupyterlab } = JSON.parse(
    await readFile(resolve(here, "package.json"), "utf8"),
  );
  const schemas = resolve(folder, "schemas", name);
  const built = { load: `static/${entryName}`, extension: "./extension" };
  const text = JSON.stringify(
    { name, version, description, license, jupyterlab: { ...jupyterlab, _build: built } },
    null,
    2,
  );
  await mkdir(schemas, { recursive: true });
  await writeFile(resolve(schemas, "package.json.orig"), `${text}\n`);
  await cp(resolve(here, jupyterlab.schemaDir, "plugin.json"), resolve(schemas, "plugin.json"));
  const from = { packageManager: "python", packageName: name };
  await writeFile(
    resolve(folder, "install.json"),
    `${JSON.stringify({ ...from, uninstallInstructions: `pip uninstall ${name}` }, null, 2)}\n`,
  );
  await writeFile(resolve(folder, "package.json"), `${text}\n`);
}
