// Starts the kernels of documents outside the folder of the file, so that no code beside a file
// runs: Python imports from its working folder before all others, even "ipykernel_launcher".
import type { ISessionContext } from "@jupyterlab/apputils";
import { PageConfig, URLExt } from "@jupyterlab/coreutils";
import { type Kernel, ServerConnection, type Session } from "@jupyterlab/services";

type Model = Partial<Kernel.IModel>;

/** Sessions of documents that were closed in this page and that the server has not ended yet. */
const ending = new Set<Promise<void>>();

/**
 * Have every kernel that Jupyter starts for a document, whichever way, start apart from its file:
 * by the server's extension, tfgraphwidget/jupyterlab/server_extension.py; where that is not
 * loaded, in no folder of a document. A document that is opened again at once waits until the
 * session of the closed one has ended, since the server goes on listing that session, and a page
 * that connects to its kernel finds none.
 */
export function isolateKernels(context: ISessionContext): void {
  const { sessionManager: manager } = context;
  const withKernel = async (model: Model): Promise<Model> =>
    model.name && !model.id ? { id: await startKernel(context, model.name) } : model;
  const watched = (session: Session.ISessionConnection): Session.ISessionConnection => {
    const change = session.changeKernel.bind(session);
    session.changeKernel = async (model) => change(await withKernel(model));
    return session;
  };
  const own: Pick<Session.IManager, "startNew" | "connectTo" | "shutdown" | "refreshRunning"> = {
    shutdown: async (id) => {
      const end = manager.shutdown(id);
      const settled = end.catch(() => {}).finally(() => ending.delete(settled));
      ending.add(settled);
      return end;
    },
    refreshRunning: async () => {
      await Promise.all(ending);
      return manager.refreshRunning();
    },
    startNew: async (options, connecting) => {
      const kernel = await withKernel(options.kernel ?? {});
      try {
        return watched(await manager.startNew({ ...options, kernel }, connecting));
      } catch (error) {
        if (kernel !== options.kernel && kernel.id)
          await context.kernelManager?.shutdown(kernel.id).catch(() => {});
        throw error;
      }
    },
    connectTo: (options) => watched(manager.connectTo(options)),
  };
  const sessionManager = new Proxy(manager, {
    get: (target, key) => Reflect.get(key in own ? own : target, key),
  });
  Object.assign(context, { sessionManager });
}

/** Start a kernel of that name; its id. */
async function startKernel(
  { path, name: file, sessionManager }: ISessionContext,
  name: string,
): Promise<string> {
  const settings = sessionManager.serverSettings ?? ServerConnection.makeSettings();
  const route = PageConfig.getOption("tfgraphwidgetKernels");
  const url = URLExt.join(settings.baseUrl, route || "api/kernels");
  const body = JSON.stringify(route ? { name, path, file } : { name });
  const reply = await ServerConnection.makeRequest(url, { method: "POST", body }, settings);
  if (!reply.ok) throw await ServerConnection.ResponseError.create(reply);
  return String((await reply.json()).id);
}

// A file in several browser tabs: they share a kernel, which lives until the last of them closes
// the file. Each page that shows it holds a lock with the kernel's name, which the browser releases
// when the page closes. Pages over plain http from another machine have no locks: they ask each
// other, which misses suspended pages.

const ASKS = "Does another page show it?";
const SHOWS = "This one does.";
/** Milliseconds in which a page that is awake has answered. */
const PATIENCE = 500;

export class KernelShare {
  #name = "";
  #release = () => {};
  #line: BroadcastChannel | null = null;

  /** Show what this kernel has, and nothing else any more. */
  join(kernel: string): void {
    const name = `tfgraphwidget-kernel:${kernel}`;
    if (name === this.#name) return;
    this.leave();
    this.#name = name;
    const released = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    void locks()
      ?.request(name, { mode: "shared" }, () => released)
      .catch(() => {});
    const line = new BroadcastChannel(name);
    line.onmessage = ({ data }) => data === ASKS && line.postMessage(SHOWS);
    this.#line = line;
  }

  leave(): void {
    this.#release();
    this.#line?.close();
    this.#line = null;
    this.#name = "";
  }

  /** Whether another page shows it too. */
  async isShared(): Promise<boolean> {
    const known = locks();
    if (!known) return this.#line !== null && hasAnswer(this.#line);
    const { held = [] } = await known.query();
    return held.filter(({ name }) => name === this.#name).length > 1;
  }
}

function hasAnswer(line: BroadcastChannel): Promise<boolean> {
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent) => data === SHOWS && end(true);
    const end = (isThere: boolean) => {
      line.removeEventListener("message", hear);
      resolve(isThere);
    };
    line.addEventListener("message", hear);
    line.postMessage(ASKS);
    setTimeout(end, PATIENCE, false);
  });
}

function locks(): LockManager | undefined {
  return (navigator as { locks?: LockManager }).locks;
}
