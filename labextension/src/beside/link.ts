// Links two views: what a person does in one pane is done in the other one, by the names that
// things have there.
import type { Parts } from "../interaction/parts";
import type { ToggleRequest } from "../protocol/messages";
import { at, CLOSED, isScope, keyOf, OPEN, type Scene } from "../protocol/scene";
import type { AddressedRequest, Answer, Channel } from "../rpc/model-channel";
import { type Anchors, alignedCamera, anchorsOf } from "./align";
import { forwarded } from "./forward";
import { otherSide, type Partners, type Side } from "./partners";

export type LinkedParts = Pick<Parts, "store" | "actions" | "stage">;

export class Link {
  #partners: Partners;
  readonly #views: (LinkedParts | undefined)[] = [];
  readonly #stop: (() => void)[] = [];
  #anchors: { scenes: readonly [Scene, Scene]; anchors: Anchors | null } | null = null;
  #isScheduled = false;
  /** The pane that the person acts in: the other one follows. */
  lead: Side = 1;

  constructor(partners: Partners) {
    this.#partners = partners;
  }

  get partners(): Partners {
    return this.#partners;
  }

  set partners(partners: Partners) {
    this.#partners = partners;
    this.#anchors = null;
    this.#schedule();
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  /** The channel of a view: what it requests is done in the other pane too. */
  channel(side: Side, channel: Channel): Channel {
    const request: Channel["request"] = ({ echo, ...message }, options) => {
      if (!echo) this.#forward(side, message as AddressedRequest);
      const reply = channel.request(message as AddressedRequest, options);
      return echo ? reply.then(withoutRefusal) : reply;
    };
    return {
      request,
      close: () => channel.close(),
      ...(channel.watch ? { watch: (listener) => channel.watch?.(listener) ?? (() => {}) } : {}),
      get latency() {
        return channel.latency ?? 0;
      },
    };
  }

  /** Link a view, whose channel is that of `channel`. */
  add(side: Side, view: LinkedParts, root: HTMLElement): void {
    const { store } = view;
    this.#views[side] = view;
    const lead = () => {
      this.lead = side;
    };
    for (const event of ["pointerenter", "pointerdown", "wheel", "focusin"])
      root.addEventListener(event, lead, { capture: true, passive: true });
    this.#stop.push(
      store.watch(["camera", "scene"], () => this.#schedule()),
      store.watch(["hover", "picked"], ({ hover, picked }) => this.#point(side, hover, picked)),
    );
  }

  /** Do in the other pane what a view requests. */
  #forward(side: Side, message: AddressedRequest): void {
    const other = this.#views[otherSide(side)];
    if (!other) return;
    if (message.type === "toggle") this.#toggle(side, other, message);
    const request = forwarded(message, side, this.#partners);
    if (request) void other.actions.echo(request);
  }

  /** Open or close the partner of a scope, if it is not as it should be. */
  #toggle(side: Side, other: LinkedParts, { scope, deep, stamp }: ToggleRequest): void {
    const [own, theirs] = [this.#views[side]?.store.value.scene, other.store.value.scene];
    const partner = this.#partners.of(side, `${scope}/`);
    const [item, there] = [own?.byKey.get(`${scope}/`), theirs?.byKey.get(partner ?? "")];
    if (!own || !theirs || item === undefined || there === undefined) return;
    // With a stamp the view shows already what it asks for.
    const opens = (at(own.kind, item) === CLOSED) === (stamp === "");
    if (at(theirs.kind, there) !== (opens ? CLOSED : OPEN)) return;
    const anchor = other.stage.anchorAt(there);
    void other.actions.echo(
      { type: "toggle", scope: theirs.names[there] ?? "", deep, stamp: "" },
      anchor ? { anchor } : {},
    );
  }

  /** Mark the partner of what is under the pointer, and of what is inspected. */
  #point(side: Side, hover: number, picked: string): void {
    const [own, other] = [this.#views[side], this.#views[otherSide(side)]];
    if (side !== this.lead || !own || !other) return;
    const { scene } = own.store.value;
    const there = other.store.value;
    if (!scene || !there.scene) return;
    const name = hover > 0 ? this.#partners.of(side, keyOf(scene, hover)) : null;
    const item = name === null ? -1 : (there.scene.byKey.get(name) ?? -1);
    if (item !== there.hover && own.stage.viewport.width > 0) other.store.set({ hover: item });
    const partner = picked === "" ? null : this.#partners.of(side, picked);
    const known = partner !== null && isDrawn(there.scene, partner) ? partner : "";
    if (known === there.picked) return;
    if (known) void other.actions.inspect(known);
    else other.store.set({ picked: "", details: null });
  }

  /** Move the other camera once all that happens now is done. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#follow();
    });
  }

  #follow(): void {
    const [own, other] = [this.#views[this.lead], this.#views[otherSide(this.lead)]];
    const [scene, theirs] = [own?.store.value.scene, other?.store.value.scene];
    if (!own || !other || !scene || !theirs || own.stage.viewport.width === 0) return;
    const scenes = [scene, theirs] as const;
    if (this.#anchors?.scenes.some((each, k) => each !== scenes[k]) ?? true)
      this.#anchors = { scenes, anchors: anchorsOf(scene, theirs, this.lead, this.#partners) };
    const anchors = this.#anchors?.anchors;
    // Graphs that have nothing in common are looked at each by itself.
    if (!anchors) return;
    const camera = alignedCamera(own.store.value.camera, own.stage.viewport, anchors);
    const now = other.store.value.camera;
    if (camera.x !== now.x || camera.y !== now.y || camera.zoom !== now.zoom)
      other.stage.setCamera(camera);
  }
}

/** What the person did in the other pane was done there; that it cannot be done here is no news. */
function withoutRefusal(answer: Answer): Answer {
  return answer.type === "refusal" ? { type: "pong", revision: 0, buffer: answer.buffer } : answer;
}

/** Whether the drawing has an item of that key, or a closed scope that holds it. */
function isDrawn(scene: Scene, key: string): boolean {
  const item = scene.byKey.get(key);
  return item !== undefined && (isScope(at(scene.kind, item)) || item > 0);
}
