// Whichever way Jupyter starts a document's kernel, it is one that belongs to no folder.
import type { ISessionContext } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import { beforeEach, expect, test, vi } from "vitest";
import { isolateKernels } from "../../src/jupyterlab/file-kernel";

const asked: { url: string; body: unknown }[] = [];
const shutdown = vi.fn(async (_: string) => {});

/** A document, as far as it is used; its server gives each kernel a number. */
function document(refuses = false) {
  const model = { id: "s", kernel: { id: "0" } };
  const session = { changeKernel: vi.fn(async (kernel: unknown) => kernel) };
  const serverSettings = {
    baseUrl: "http://server/",
    appendToken: false,
    init: {},
    Headers,
    Request,
    fetch: async (request: Request) => {
      asked.push({ url: request.url, body: await request.json() });
      return new Response(JSON.stringify({ id: `k${asked.length}` }), { status: 201 });
    },
  };
  const manager = {
    serverSettings,
    startNew: vi.fn(async (_: unknown) => {
      if (refuses) throw new Error("no session");
      return session;
    }),
    connectTo: vi.fn((_: unknown) => session),
    running: () => [model],
  };
  const context = {
    path: "mail/g.pb",
    name: "g.pb",
    sessionManager: manager,
    kernelManager: { shutdown },
  };
  isolateKernels(context as unknown as ISessionContext);
  return { manager, session, used: (context as unknown as ISessionContext).sessionManager };
}

beforeEach(() => {
  asked.length = 0;
  PageConfig.setOption("tfgraphwidgetKernels", "tfgraphwidget/kernels");
});

const options = { path: "mail/0123", name: "g.pb", type: "file", kernel: { name: "python3" } };

test("a session gets a kernel that the server's extension has started already", async () => {
  const { manager, used } = document();
  await used.startNew(options);
  const body = { name: "python3", path: "mail/g.pb", file: "g.pb" };
  expect(asked).toEqual([{ url: "http://server/tfgraphwidget/kernels", body }]);
  expect(manager.startNew).toHaveBeenCalledWith({ ...options, kernel: { id: "k1" } }, undefined);
  expect([...used.running()]).toHaveLength(1);
});

test("a server without the extension is asked for a kernel without a path", async () => {
  PageConfig.setOption("tfgraphwidgetKernels", "");
  await document().used.startNew(options);
  expect(asked).toEqual([{ url: "http://server/api/kernels", body: { name: "python3" } }]);
});

test("another kernel of a session is started so too, and a running one is kept", async () => {
  const { session, used } = document();
  const change = session.changeKernel;
  const joined = used.connectTo({ model: {} } as never);
  await joined.changeKernel({ name: "python3" });
  expect(change).toHaveBeenLastCalledWith({ id: "k1" });
  await joined.changeKernel({ id: "a notebook's" });
  expect(change).toHaveBeenLastCalledWith({ id: "a notebook's" });
  expect(asked).toHaveLength(1);
});

test("a kernel whose session is refused is ended", async () => {
  await expect(document(true).used.startNew(options)).rejects.toThrow("no session");
  expect(shutdown).toHaveBeenCalledWith("k1");
});
