// Aiming: a tensor is dragged from an op's port to the op that shall read it.
import type { Edits } from "./edits";
import type { Slot } from "./protocol";
import type { Point } from "./render/camera";
import type { Stage } from "./render/stage";
import { at, CLOSED, OP } from "./scene";
import type { Status, Store } from "./store";

/** A line of a small menu at the pointer. */
export interface Entry {
  readonly text: string;
  /** Why it will be refused, or "". */
  readonly why: string;
  choose(): void;
}

interface Needs {
  readonly store: Store;
  readonly stage: Pick<Stage, "itemAt">;
  readonly edits: Pick<Edits, "targets" | "change">;
  say(status: Status): void;
  /** Let the person choose. */
  menu(title: string, entries: readonly Entry[], point: Point): void;
}

export class Aiming {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  get active(): boolean {
    return this.#needs.store.value.aim !== null;
  }

  /** Take hold of what an op gives; of several tensors one is to be chosen. */
  async begin(op: string, point: Point, tensor = ""): Promise<void> {
    const { store, edits, menu, say } = this.#needs;
    store.set({ aim: { op, tensor, point, refused: null } });
    const told = await edits.targets(tensor || op);
    const { aim } = store.value;
    if (aim?.op !== op || aim.tensor !== tensor) return; // given up meanwhile
    if (!told) this.cancel();
    else if (told.tensor) store.set({ aim: { ...aim, tensor: told.tensor, refused: new Map(told.refused) } });
    else {
      this.cancel();
      if (told.outputs.length === 0)
        say({ kind: "refused", text: `"${op}" gives no tensor that could be read.` });
      const take = (name: string) => ({
        text: name,
        why: "",
        choose: () => void this.begin(op, point, name),
      });
      if (told.outputs.length > 1) menu("Which tensor?", told.outputs.map(take), point);
    }
  }

  move(point: Point): void {
    const { store } = this.#needs;
    const { aim } = store.value;
    if (aim) store.set({ aim: { ...aim, point } });
  }

  /** Why the op under the pointer cannot read what is dragged, or "". */
  whyNot(item: number): string {
    const { aim, scene } = this.#needs.store.value;
    return aim?.refused?.get(scene?.names[item] ?? "") ?? "";
  }

  cancel(): void {
    this.#needs.store.set({ aim: null });
  }

  /** Let go: the op there reads the tensor at the input that can, or that the person chooses. */
  async drop(point: Point): Promise<void> {
    const { store, stage, edits, menu, say } = this.#needs;
    const { aim, scene } = store.value;
    const item = stage.itemAt(point);
    this.cancel();
    if (!aim || !scene || item <= 0) return;
    const reader = scene.names[item] ?? "";
    const kind = at(scene.kind, item);
    if (kind === CLOSED)
      say({
        kind: "refused",
        text: `"${reader}" is a closed scope: open it with a double click, then drag to an op.`,
      });
    if (kind !== OP || reader === aim.op) return;
    const tensor = aim.tensor || aim.op;
    const slots = (await edits.targets(tensor, reader))?.slots ?? [];
    const connect = (k: number) => void edits.change("connect", [tensor, reader], { k: String(k) });
    const only = onlySlot(slots);
    if (only >= 0) connect(only);
    else if (slots.length === 0)
      say({ kind: "refused", text: `"${reader}" has no input, so it can read nothing.` });
    else
      menu(
        "Which input?",
        slots.map((slot, k) => entryOf(slot, k, () => connect(k))),
        point,
      );
  }
}

/** The input to take without asking: the only one, or the only one that can read the tensor; else -1. */
export function onlySlot(slots: readonly Slot[]): number {
  if (slots.length === 1) return 0; // the kernel says why it cannot, and what would do
  const legal = slots.flatMap(({ why }, k) => (why === "" ? [k] : []));
  return legal.length === 1 ? (legal[0] ?? -1) : -1;
}

function entryOf({ tensor, why }: Slot, k: number, choose: () => void): Entry {
  return { text: `Input ${k}, instead of ${tensor}`, why, choose };
}
