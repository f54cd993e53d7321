// Foresight: the drawing with a scope open, asked for beforehand, so that it stands there at once. What a hand is over comes
// first, then what the kernel says takes a while to lay out, as long as nobody asks for anything else.
import type { Answer } from "./channel";
import type { Arrival } from "./render/arrival";
import type { Show } from "./replies";
import { CLOSED, decodePaint, decodeScene, type Paint, type Scene } from "./scene";
import type { Store } from "./store";
import type { Turns } from "./turns";

/** Milliseconds that a hand is over a scope before somebody thinks of its inside; that nobody asks for anything else. */
const REST = 60;
const IDLE = 300;
/** Of a drawing of more boxes the kernel tells nothing beforehand. */
const MOST = 2500;

/** What opening a scope of the present drawing shows; null when it was asked, and there is nothing to know any more. */
type Known = { readonly stamp: string; readonly scene: Scene; readonly paint: Paint } | null;

export class Foresight {
  readonly #store: Store;
  readonly #turns: Turns;
  readonly #stage: Show;
  readonly #known = new Map<string, Known>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asks = false;
  #isNew = false;

  constructor(store: Store, turns: Turns, stage: Show) {
    this.#store = store;
    this.#turns = turns;
    this.#stage = stage;
    store.watch(["paint"], () => {
      for (const scope of this.#known.keys()) this.#known.set(scope, null);
    });
    store.watch(["scene"], () => this.#known.clear());
    // Once for each scope that a hand comes to, not for each selection that is made while it stays.
    store.watch(["hover", "picked"], () => {
      this.#isNew = true;
    });
    store.watch(["hover", "picked", "pending", "drawn"], () => this.#think());
  }

  /** Show what opening a scope shows, if that is known: its stamp, else "". */
  show(scope: string, arrival: Arrival): string {
    const known = this.#known.get(scope);
    if (!known) return "";
    this.#stage.show(known.scene, { paint: known.paint }, arrival);
    return known.stamp;
  }

  #think(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), this.#isNew ? REST : IDLE);
  }

  async #look(): Promise<void> {
    const { scene, paint } = this.#store.value;
    const scope = this.#scope();
    if (!scope) return;
    this.#asks = true;
    this.#isNew = false;
    this.#known.set(scope, null);
    const answer = await this.#turns.question({ type: "foresee", scope }).catch(() => null);
    this.#asks = false;
    const now = this.#store.value;
    if (now.scene === scene && now.paint === paint) this.#known.set(scope, decoded(answer));
    void this.#look();
  }

  /** What to ask about when nothing else is going on: a closed scope that is under the pointer, or looked at; or "". */
  #scope(): string {
    const { scene, hover, picked, pending, drawn, gone, aim, state } = this.#store.value;
    if (this.#asks || pending > 0 || !drawn || gone || aim || !scene || scene.length > MOST) return "";
    const item = [hover, scene.byKey.get(picked) ?? 0].find((one) => scene.kind[one] === CLOSED);
    const near = this.#isNew && scene.names[item ?? 0];
    if (near && !this.#known.get(near)) return near;
    return state?.likely.find((scope) => !this.#known.has(scope)) ?? "";
  }
}

function decoded(answer: Answer | null): Known {
  if (answer?.type !== "foreseen" || !answer.stamp) return null;
  const { stamp, fields, buffer } = answer;
  const scene = decodeScene(fields, buffer);
  return { stamp, scene, paint: decodePaint(fields, buffer, scene.length) };
}
