// From reply to store: what Python said becomes what the screen shows.
import { type Answer, assertNever } from "./channel";
import { listed } from "./finding";
import type { Drawn, Inspected, Painted, Refused } from "./protocol";
import type { Arrival } from "./render/arrival";
import { moved, roomOf } from "./rooms";
import { decodePaint, decodeScene, type Scene } from "./scene";
import type { Screen, Status, Store } from "./store";

/** What is needed of the stage. */
export interface Show {
  show(scene: Scene, change: Partial<Screen>, arrival: Arrival): void;
}

export class Replies {
  readonly #store: Store;
  readonly #stage: Show;
  readonly #reopen: () => void;

  /** `reopen` asks for the whole drawing. */
  constructor(store: Store, stage: Show, reopen: () => void) {
    this.#store = store;
    this.#stage = stage;
    this.#reopen = reopen;
  }

  /** `isAsked`: by the person, who has read what was refused before. */
  accept(answer: Answer, arrival: Arrival, isAsked = true): void {
    switch (answer.type) {
      case "drawn":
        this.#draw(answer, arrival, isAsked);
        break;
      case "painted":
        this.#paint(answer);
        break;
      case "inspected":
        // Asked again after a drawing it mostly says the same: whoever reads it there is left in peace.
        if (!same(answer, this.#store.value.details)) this.#store.set({ details: answer });
        break;
      case "examined":
        this.#store.set({ examined: answer });
        break;
      case "found":
        this.#store.set(listed(answer, this.#store.value));
        break;
      case "previewed":
        this.#store.set({ preview: answer, ...(answer.refusal ? { warned: answer.warned } : {}) });
        break;
      case "refused":
        this.#store.set({ status: refusal(answer), warned: answer.ops });
        break;
      case "foreseen":
      case "targeted":
      case "scripted":
      case "pictured":
      case "there":
        break; // whoever asked has them
      default:
        assertNever(answer);
    }
  }

  #draw(answer: Drawn & { buffer: DataView }, arrival: Arrival, isAsked: boolean): void {
    const scene = decodeScene(answer.fields, answer.buffer);
    const paint = decodePaint(answer.fields, answer.buffer, scene.length);
    const room = moved(this.#store.value, answer.state);
    const isToRead = !isAsked && this.#store.value.status?.kind === "refused";
    const said = isToRead ? {} : spoken(answer.state.notice);
    const change = { paint, state: answer.state, ...room?.change, ...said };
    this.#stage.show(scene, change, { ...arrival, focus: answer.focus, entrance: room?.entrance });
  }

  #paint(answer: Painted & { buffer: DataView }): void {
    const { scene, state } = this.#store.value;
    const length = answer.fields.find((field) => field.name === "coverage")?.shape[0];
    if (scene?.length === length && scene && roomOf(state) === roomOf(answer.state)) {
      const paint = decodePaint(answer.fields, answer.buffer, scene.length);
      this.#store.set({ state: answer.state, ...spoken(answer.state.notice), paint, drawn: false });
    } else {
      // Another view has opened a scope or entered a function meanwhile: this is for a drawing that we do not have.
      this.#store.set(spoken(answer.state.notice));
      this.#reopen();
    }
  }
}

/** Whether they say the same; the number of the message and its empty buffer are not part of it. */
function same(a: Inspected, b: Inspected | null): boolean {
  const text = (said: Inspected | null) =>
    JSON.stringify(said, (key, value) => (key === "id" || key === "buffer" ? undefined : value));
  return text(a) === text(b);
}

function refusal({ why, mends }: Refused): Status {
  return { kind: "refused", text: why, ...(mends.length > 0 ? { mends } : {}) };
}

function spoken(notice: string): Pick<Screen, "status" | "warned"> {
  return { status: notice ? { kind: "notice", text: notice } : null, warned: [] };
}
