// Two panes with made-up kernels: what is done in one is done in the other, once.
import { describe, expect, test } from "vitest";
import { Link, type LinkedParts } from "../../src/beside/link";
import { Partners, type Side } from "../../src/beside/partners";
import { Actions } from "../../src/interaction/actions";
import type { Camera } from "../../src/render/camera/camera";
import type { Answer, Channel } from "../../src/rpc/model-channel";
import { Store } from "../../src/state/store";
import { drawn } from "../example-graph";
import { inspected, refused } from "../kernel";

type Asked = Readonly<Record<string, unknown>>;

interface Pane {
  readonly store: Store;
  readonly actions: Actions;
  readonly asked: Asked[];
  readonly root: EventTarget;
}

function paneOf(link: Link, side: Side): Pane {
  const asked: Asked[] = [];
  const store = new Store();
  const kernel: Channel = {
    request: async (message) => {
      const { pane: _, ...request } = message;
      asked.push(request as unknown as Asked);
      if (message.type === "select_matching") return refused("There is no such query.");
      return (
        message.type === "inspect" ? inspected(message.name) : { ...drawn(), stamp: "s" }
      ) as Answer;
    },
    close: () => undefined,
  };
  const stage = {
    viewport: { width: 400, height: 300 },
    show: (scene: unknown, change: object) => store.set({ ...change, scene } as never),
    setCamera: (camera: Camera) => store.set({ camera }),
    anchorAt: () => undefined,
  };
  const actions = new Actions(store, link.channel(side, kernel), stage as never);
  const root = new EventTarget();
  link.add(side, { store, actions, stage } as unknown as LinkedParts, root as HTMLElement);
  return { store, actions, asked, root };
}

async function panes(): Promise<[Pane, Pane]> {
  const link = new Link(new Partners({ scopes: [], ops: [["input", null]], evidence: {} }));
  const both: [Pane, Pane] = [paneOf(link, 0), paneOf(link, 1)];
  for (const { actions } of both) await actions.open({ width: 400, height: 300 }, true);
  for (const { asked } of both) asked.length = 0;
  return both;
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("two panes", () => {
  test("expand and select together, each once", async () => {
    const [left, right] = await panes();
    const { scene } = right.store.value;
    const closed = scene?.kind.indexOf(1) ?? -1;
    expect(closed).toBeGreaterThan(0);
    await right.actions.toggle(closed);
    await settle();
    const scope = scene?.names[closed];
    const toggles = left.asked.filter(({ type }) => type === "toggle");
    expect(toggles).toEqual([{ type: "toggle", scope, deep: false, stamp: "" }]);
    expect(right.asked.filter(({ type }) => type === "toggle")).toHaveLength(1);

    await left.actions.selectAll([`${scope}/`]);
    await settle();
    const select = { type: "select", command: "set", ops: [], scopes: [scope] };
    expect(right.asked.filter(({ type }) => type === "select")).toEqual([select]);
    expect(left.asked.filter(({ type }) => type === "select")).toEqual([select]);
  });

  test("the other one of an op without a partner selects nothing", async () => {
    const [left, right] = await panes();
    await left.actions.selectAll(["input"]);
    await settle();
    expect(right.asked).toEqual([{ type: "derive", command: "clear" }]);
  });

  test("a refusal is said where the person asked, and not in the other one", async () => {
    const [left, right] = await panes();
    await left.actions.changeView({ type: "select_matching", text: "(", use: "select" });
    await settle();
    expect(right.asked).toHaveLength(1);
    expect(left.store.value.status?.text).toBe("There is no such query.");
    expect(right.store.value.status).toBeNull();
  });

  test("the camera of the pane that the pointer is in leads", async () => {
    const [left, right] = await panes();
    left.root.dispatchEvent(new Event("pointerenter"));
    left.store.set({ camera: { x: 11, y: 22, zoom: 2 } });
    await settle();
    expect(right.store.value.camera).toEqual({ x: 11, y: 22, zoom: 2 });
    right.store.set({ camera: { x: 1, y: 2, zoom: 1 } });
    await settle();
    expect(left.store.value.camera).toEqual({ x: 11, y: 22, zoom: 2 });
    right.root.dispatchEvent(new Event("pointerenter"));
    right.store.set({ camera: { x: 5, y: 6, zoom: 0.5 } });
    await settle();
    expect(left.store.value.camera).toEqual({ x: 5, y: 6, zoom: 0.5 });
  });

  test("point at the same op, and inspect it", async () => {
    const [left, right] = await panes();
    left.root.dispatchEvent(new Event("pointerenter"));
    const key =
      [...(left.store.value.scene?.byKey.keys() ?? [])].find(
        (name) => name !== "input" && name !== "/" && !name.endsWith("/"),
      ) ?? "";
    const item = left.store.value.scene?.byKey.get(key) ?? -1;
    left.store.set({ hover: item });
    expect(right.store.value.hover).toBe(item);
    left.store.set({ hover: left.store.value.scene?.byKey.get("input") ?? -1 });
    expect(right.store.value.hover).toBe(-1);
    await left.actions.inspect(key);
    await settle();
    expect(right.store.value.picked).toBe(key);
    expect(right.store.value.details?.name).toBe(key);
    expect(left.asked.filter(({ type }) => type === "inspect")).toHaveLength(1);
  });
});
