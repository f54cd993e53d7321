// The module-federation container that JupyterLab loads; federated.mjs calls this function with the
// bundled code. Modules that JupyterLab shares (its own, Lumino's) come from its share scope, never
// from a second copy. A part is { needs: names of shared modules, run(result, require,
// importLazyBundle) }; `entry` runs when the page is loaded, the file `lazyFile` is loaded when the
// user first needs it.
(name, lazyFile, entry) => {
  const place = document.currentScript.src;
  let scope = {};
  let lazyBundle;
  let failures = 0;

  /**
   * The version that is loaded already, else the newest: what webpack does for a singleton module.
   */
  function chooseVersion(versions) {
    const number = new Intl.Collator("en", { numeric: true });
    const [first] = Object.keys(versions).sort(
      (a, b) => !versions[a].loaded - !versions[b].loaded || number.compare(b, a),
    );
    return versions[first];
  }

  async function loadShared(wanted) {
    const offer = scope[wanted] && chooseVersion(scope[wanted]);
    if (!offer) throw new Error(`${name} needs ${wanted}, which this application does not share.`);
    return [wanted, (await offer.get())()];
  }

  async function runPart(part) {
    // A module that is missing matters only to the code that requires it: its import() fails alone.
    const shares = part.needs.map((wanted) => loadShared(wanted).catch((error) => [wanted, error]));
    const modules = new Map(await Promise.all(shares));
    const result = { exports: {} };
    const require = (wanted) => {
      const shared = modules.get(wanted);
      if (shared instanceof Error) throw shared;
      return shared;
    };
    part.run(result, require, importLazyBundle);
    return result.exports;
  }

  function importLazyBundle() {
    const file = failures ? `${lazyFile}?again=${failures}` : lazyFile;
    lazyBundle ??= import(new URL(file, place).href).then(({ part }) => runPart(part));
    // The next click tries again, at another address: browsers may remember that a module could not
    // be loaded.
    lazyBundle.catch(() => {
      lazyBundle = undefined;
      failures++;
    });
    return lazyBundle;
  }

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB[name] = {
    init: (shareScope) => {
      scope = shareScope;
    },
    get: async () => {
      const module = await runPart(entry);
      return () => module;
    },
  };
};
