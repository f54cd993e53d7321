// The module-federation container that JupyterLab loads, written by hand; build.mjs calls this function with what it
// bundled. Modules that JupyterLab shares (its own, Lumino's) come from its share scope, never from a second copy.
// A part is { needs: names of shared modules, run(module, require, later) }; `entry` runs when the page is loaded,
// the file `later` is fetched when the person first asks for something of ours.
(name, later, entry) => {
  const place = document.currentScript.src;
  let scope = {};
  let second;
  let tries = 0;

  /** Whoever has loaded it already, else the newest: what webpack does for a module that must be one. */
  function offered(versions) {
    const number = new Intl.Collator("en", { numeric: true });
    const [first] = Object.keys(versions).sort(
      (a, b) => !versions[a].loaded - !versions[b].loaded || number.compare(b, a),
    );
    return versions[first];
  }

  async function shared(wanted) {
    const offer = scope[wanted] && offered(scope[wanted]);
    if (!offer) throw new Error(`${name} needs ${wanted}, which this application does not share.`);
    return [wanted, (await offer.get())()];
  }

  async function made(part) {
    // What cannot be had matters to who asks for it: an import() of it fails alone.
    const shares = part.needs.map((wanted) => shared(wanted).catch((why) => [wanted, why]));
    const modules = new Map(await Promise.all(shares));
    const module = { exports: {} };
    const require = (wanted) => {
      const found = modules.get(wanted);
      if (found instanceof Error) throw found;
      return found;
    };
    part.run(module, require, fetched);
    return module.exports;
  }

  function fetched() {
    second ??= import(new URL(tries ? `${later}?again=${tries}` : later, place).href).then((file) =>
      made(file.part),
    );
    // So that the next click tries again, by another address: browsers may remember that one could not be fetched.
    second.catch(() => {
      second = undefined;
      tries++;
    });
    return second;
  }

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB[name] = {
    init: (given) => {
      scope = given;
    },
    get: async () => {
      const module = await made(entry);
      return () => module;
    },
  };
};
