// Prefetches drawings: requests the drawing with a scope open before it is opened, so that opening
// is immediate. The scope under the pointer comes first, then those that the kernel reports as slow
// to lay out, while nothing else is requested.
import { CLOSED, decodePaint, decodeScene, type Paint, type Scene } from "../protocol/scene";
import type { Arrival } from "../render/camera/destination";
import type { Answer } from "../rpc/model-channel";
import type { SceneTarget } from "../state/reply-handler";
import type { RequestQueue } from "../state/request-queue";
import type { Store } from "../state/store";

/**
 * Milliseconds that the pointer rests on a scope before its drawing is requested; and without other
 * requests.
 */
const REST = 60;
const IDLE = 300;
/** The kernel does not prefetch drawings with more boxes. */
const MOST = 2500;
/**
 * Milliseconds to the kernel and back from which on nothing is prefetched: a slow connection is
 * left to the user.
 */
const FAR = 100;

/**
 * The drawing with a scope open; null if it was requested and is not available, or no longer valid.
 */
type PrefetchedScene = { readonly scene: Scene; readonly paint: Paint } | null;

export class Prefetch {
  readonly #store: Store;
  readonly #queue: RequestQueue;
  readonly #stage: SceneTarget;
  readonly #known = new Map<string, PrefetchedScene>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asks = false;
  #isNew = false;

  constructor(store: Store, turns: RequestQueue, stage: SceneTarget) {
    this.#store = store;
    this.#queue = turns;
    this.#stage = stage;
    store.watch(["paint"], () => {
      for (const scope of this.#known.keys()) this.#known.set(scope, null);
    });
    store.watch(["scene"], () => this.#known.clear());
    // Once per scope that the pointer enters, not for each selection made while it stays there.
    store.watch(["hover", "picked"], () => {
      this.#isNew = true;
    });
    store.watch(["hover", "picked", "pending", "drawn"], () => this.#schedule());
  }

  /** Show the prefetched drawing of a scope, and return its stamp; "" if there is none. */
  show(scope: string, arrival: Arrival): string {
    const known = this.#known.get(scope);
    if (!known) return "";
    this.#stage.show(known.scene, { paint: known.paint }, arrival);
    return known.scene.stamp;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#fetchNext(), this.#isNew ? REST : IDLE);
  }

  async #fetchNext(): Promise<void> {
    const { scene, paint } = this.#store.value;
    const scope = this.#nextScope();
    if (!scope) return;
    this.#asks = true;
    this.#isNew = false;
    this.#known.set(scope, null);
    const answer = await this.#queue.query({ type: "prefetch_scene", scope }).catch(() => null);
    this.#asks = false;
    const now = this.#store.value;
    if (now.scene === scene && now.paint === paint)
      this.#known.set(scope, decodePrefetched(answer));
    void this.#fetchNext();
  }

  /**
   * The scope to prefetch next: the closed scope that is hovered or inspected, else a likely one,
   * or "".
   */
  #nextScope(): string {
    const { scene, hover, picked, pending, drawn, kernelGone, connecting, state } =
      this.#store.value;
    if (
      this.#asks ||
      pending > 0 ||
      !drawn ||
      kernelGone ||
      connecting ||
      !scene ||
      scene.length > MOST
    )
      return "";
    if (this.#queue.latency > FAR) return "";
    const item = [hover, scene.byKey.get(picked) ?? 0].find((one) => scene.kind[one] === CLOSED);
    const near = this.#isNew && scene.names[item ?? 0];
    if (near && !this.#known.get(near)) return near;
    return state?.likely.find((scope) => !this.#known.has(scope)) ?? "";
  }
}

function decodePrefetched(answer: Answer | null): PrefetchedScene {
  if (answer?.type !== "next_scene" || !answer.stamp) return null;
  const { stamp, fields, buffer } = answer;
  const scene = decodeScene(fields, buffer, stamp);
  return { scene, paint: decodePaint(fields, buffer, scene.length) };
}
