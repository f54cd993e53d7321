// Connect by dragging: a tensor is dragged from the port of an op to the op that will read it.
import type { Slot } from "../protocol/messages";
import { at, CLOSED, OP } from "../protocol/scene";
import type { Point } from "../render/camera/camera";
import type { Stage } from "../render/stage";
import type { Status, Store } from "../state/store";
import type { Edits } from "./edits";

/** An entry of a menu. */
export interface Choice {
  /** The name by which it is found in its menu, whatever its text is. */
  readonly id: string;
  readonly text: string;
  /** Why the kernel will refuse it, or "". */
  readonly why?: string;
  readonly act: () => unknown;
}

interface DragContext {
  readonly store: Store;
  readonly stage: Pick<Stage, "itemAt">;
  readonly edits: Pick<Edits, "targets" | "change">;
  say(status: Status): void;
  /** Let the user choose. */
  menu(title: string, choices: readonly Choice[], point: Point): void;
}

export class DragConnect {
  readonly #context: DragContext;

  constructor(needs: DragContext) {
    this.#context = needs;
  }

  get active(): boolean {
    return this.#context.store.value.connecting !== null;
  }

  /** Start a connection from an op; the user chooses one of several outputs. */
  async begin(op: string, point: Point, tensor = ""): Promise<void> {
    const { store, edits, menu, say } = this.#context;
    store.set({ connecting: { op, tensor, point, refused: null } });
    const targets = await edits.targets(tensor || op);
    const { connecting } = store.value;
    if (connecting?.op !== op || connecting.tensor !== tensor) return; // given up meanwhile
    if (!targets) this.cancel();
    else if (targets.tensor)
      store.set({
        connecting: { ...connecting, tensor: targets.tensor, refused: new Map(targets.refused) },
      });
    else {
      this.cancel();
      if (targets.outputs.length === 0)
        say({ kind: "refused", text: `"${op}" has no output tensor.` });
      const take = (name: string) => ({
        id: name,
        text: name,
        act: () => this.begin(op, point, name),
      });
      if (targets.outputs.length > 1) menu("Which tensor?", targets.outputs.map(take), point);
    }
  }

  move(point: Point): void {
    const { store } = this.#context;
    const { connecting } = store.value;
    if (connecting) store.set({ connecting: { ...connecting, point } });
  }

  /** Why the op under the pointer cannot be connected, or "". */
  whyNot(item: number): string {
    const { connecting, scene } = this.#context.store.value;
    return connecting?.refused?.get(scene?.names[item] ?? "") ?? "";
  }

  cancel(): void {
    this.#context.store.set({ connecting: null });
  }

  /**
   * Drop: connect the op there to the tensor, at the only input that fits, or at the one that the
   * user chooses.
   */
  async drop(point: Point): Promise<void> {
    const { store, stage, edits, menu, say } = this.#context;
    const { connecting, scene } = store.value;
    const item = stage.itemAt(point);
    this.cancel();
    if (!connecting || !scene || item <= 0) return;
    const consumer = scene.names[item] ?? "";
    const kind = at(scene.kind, item);
    if (kind === CLOSED)
      say({
        kind: "refused",
        text: `"${consumer}" is a closed scope: open it with a double click, then drag to an op.`,
      });
    if (kind !== OP || consumer === connecting.op) return;
    const tensor = connecting.tensor || connecting.op;
    const slots = (await edits.targets(tensor, consumer))?.slots ?? [];
    const connect = (k: number) =>
      void edits.change("connect", [tensor, consumer], { k: String(k) });
    const only = onlySlot(slots);
    if (only >= 0) connect(only);
    else if (slots.length === 0) say({ kind: "refused", text: `"${consumer}" has no inputs.` });
    else
      menu(
        "Which input?",
        slots.map(({ tensor: replaced, why }, k) => ({
          id: `input-${k}`,
          text: `Input ${k}, replaces ${replaced}`,
          why,
          act: () => connect(k),
        })),
        point,
      );
  }
}

/** The input to connect without a menu: the only one, or the only one that fits; else -1. */
export function onlySlot(slots: readonly Slot[]): number {
  if (slots.length === 1) return 0; // the kernel says why it cannot, and what would do
  const legal = slots.flatMap(({ why }, k) => (why === "" ? [k] : []));
  return legal.length === 1 ? (legal[0] ?? -1) : -1;
}
