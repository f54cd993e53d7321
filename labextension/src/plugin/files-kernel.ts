// The kernels of documents start apart from the files, so that no code that lies beside a file is run: Python imports
// from the folder that it is started in before all others, even "ipykernel_launcher".
import type { ISessionContext } from "@jupyterlab/apputils";
import { PageConfig, URLExt } from "@jupyterlab/coreutils";
import { type Kernel, ServerConnection, type Session } from "@jupyterlab/services";

type Model = Partial<Kernel.IModel>;

/** Sessions of documents that were closed in this page and that the server has not ended yet. */
const ending = new Set<Promise<void>>();

/**
 * Have every kernel that Jupyter starts for a document, whichever way, start apart from its file: by the server's
 * extension, tfgraphwidget/jupyterlab/server_extension.py; where that is not loaded, in no folder that is a document's. A document
 * that is opened again at once waits until the session of the closed one has ended, since the server goes on listing
 * that session, and a page that connects to its kernel finds none.
 */
export function startApart(context: ISessionContext): void {
  const { sessionManager: manager } = context;
  const given = async (model: Model): Promise<Model> =>
    model.name && !model.id ? { id: await start(context, model.name) } : model;
  const watched = (session: Session.ISessionConnection): Session.ISessionConnection => {
    const change = session.changeKernel.bind(session);
    session.changeKernel = async (model) => change(await given(model));
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
      const kernel = await given(options.kernel ?? {});
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
async function start({ path, name: file, sessionManager }: ISessionContext, name: string): Promise<string> {
  const settings = sessionManager.serverSettings ?? ServerConnection.makeSettings();
  const route = PageConfig.getOption("tfgraphwidgetKernels");
  const url = URLExt.join(settings.baseUrl, route || "api/kernels");
  const body = JSON.stringify(route ? { name, path, file } : { name });
  const reply = await ServerConnection.makeRequest(url, { method: "POST", body }, settings);
  if (!reply.ok) throw await ServerConnection.ResponseError.create(reply);
  return String((await reply.json()).id);
}
