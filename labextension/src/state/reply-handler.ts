// Applies replies of the kernel to the store and the stage.
import type {
  EditReport,
  InspectReply,
  Offer,
  Refusal,
  SceneReply,
  SelectionReply,
} from "../protocol/messages";
import { decodePaint, decodeScene, type Scene } from "../protocol/scene";
import type { Arrival } from "../render/camera/destination";
import { type Answer, assertNever } from "../rpc/model-channel";
import { graphChange, graphKey } from "./navigation";
import { foundChange } from "./search-results";
import type { Screen, Status, Store } from "./store";

/** The part of the stage that shows a new scene. */
export interface SceneTarget {
  show(scene: Scene, change: Partial<Screen>, arrival: Arrival): void;
}

export class ReplyHandler {
  readonly #store: Store;
  readonly #stage: SceneTarget;
  readonly #reopen: () => void;

  /** `reopen` requests the whole drawing. */
  constructor(store: Store, stage: SceneTarget, reopen: () => void) {
    this.#store = store;
    this.#stage = stage;
    this.#reopen = reopen;
  }

  /** `isAsked`: whether the user caused the request, and so has read the previous refusal. */
  handle(answer: Answer, arrival: Arrival, isAsked = true): void {
    switch (answer.type) {
      case "scene_reply":
        this.#draw(answer, arrival, isAsked);
        break;
      case "selection_reply":
        this.#paint(answer);
        break;
      case "inspect_reply":
        this.#store.set(this.#inspectionChange(answer));
        break;
      case "examine_reply":
        this.#store.set({ examined: answer });
        break;
      case "search_reply":
        this.#store.set(foundChange(answer, this.#store.value));
        break;
      case "clone_preview":
        this.#store.set({ preview: answer, ...(answer.refusal ? { warned: answer.warned } : {}) });
        break;
      case "refusal":
        this.#store.set({ status: refusalStatus(answer), warned: answer.ops });
        break;
      case "next_scene":
      case "rewire_targets":
      case "boundary_tensors":
      case "sources":
      case "joints":
      case "kernel_path":
      case "upload_reply":
      case "script_reply":
      case "picture_reply":
      case "lint_reply":
      case "model_reply":
      case "signature_list":
      case "formats":
      case "export_reply":
      case "download_reply":
      case "edit_ops":
      case "hit_counts":
      case "op_type_list":
      case "form_reply":
      case "feeds":
      case "variable_reply":
      case "cost_table":
      case "likeness":
      case "previewed_edit":
      case "pong":
        break; // the caller handles these
      default:
        assertNever(answer);
    }
  }

  #draw(answer: SceneReply & { buffer: DataView }, arrival: Arrival, isAsked: boolean): void {
    const scene = decodeScene(answer.fields, answer.buffer, answer.stamp);
    const paint = decodePaint(answer.fields, answer.buffer, scene.length);
    const room = graphChange(this.#store.value, answer.state);
    const isToRead = !isAsked && this.#store.value.status?.kind === "refused";
    const notice = isToRead
      ? {}
      : noticeChange(answer.edited?.text, answer.state.offers, answer.edited?.is_nothing);
    const before = this.#store.value.picked;
    const edited = answer.edited ? this.#editChange(answer.edited) : {};
    const change = { paint, state: answer.state, ...room?.change, ...notice, ...edited };
    const still = edited.picked && before ? { before, after: edited.picked } : undefined;
    this.#stage.show(scene, change, {
      still,
      ...arrival,
      focus: answer.focus,
      graphEntry: room?.entrance,
    });
  }

  /**
   * The inspector after an edit: the op that it has made, or the same item by its new name, as the
   * edit left it.
   */
  #editChange({ renamed, inspected }: EditReport): Partial<Screen> {
    const picked = newName(this.#store.value.picked, renamed);
    const isIt = inspected?.name === picked;
    return {
      picked,
      ...(isIt && inspected ? this.#inspectionChange({ type: "inspect_reply", ...inspected }) : {}),
    };
  }

  /**
   * An equal reply does not replace the elements, so that a user who reads them is not disturbed.
   */
  #inspectionChange(details: InspectReply): Partial<Screen> {
    return isSameInspection(details, this.#store.value.details) ? {} : { details };
  }

  #paint(answer: SelectionReply & { buffer: DataView }): void {
    const { scene, state } = this.#store.value;
    if (scene?.stamp === answer.stamp && graphKey(state) === graphKey(answer.state)) {
      const paint = decodePaint(answer.fields, answer.buffer, scene.length);
      this.#store.set({ state: answer.state, ...noticeChange(answer.text), paint, drawn: false });
    } else {
      // Another view has opened a scope, moved something or entered a function meanwhile: this
      // paint belongs to a drawing that is not here.
      this.#store.set(noticeChange());
      this.#reopen();
    }
  }
}

/** Whether two replies are equal, except for the id and the empty buffer. */
function isSameInspection(a: InspectReply, b: InspectReply | null): boolean {
  const text = (said: InspectReply | null) =>
    JSON.stringify(said, (key, value) => (key === "id" || key === "buffer" ? undefined : value));
  return text(a) === text(b);
}

function refusalStatus({ why, fixes, argument, trust }: Refusal): Status {
  return {
    kind: "refused",
    text: why,
    ...(fixes.length > 0 ? { fixes } : {}),
    ...(argument ? { argument } : {}),
    ...(trust ? { trust } : {}),
  };
}

/** The key of an op or scope after a rename; a pair for a scope is for all that is in it, too. */
export function newName(key: string, renamed: EditReport["renamed"]): string {
  const [old, name] = renamed.find(([before]) => `${key}/`.startsWith(`${before}/`)) ?? [key, key];
  return `${name}${key.slice(old.length)}`;
}

/** What the status line says; of an edit that found nothing to do in gray. */
function noticeChange(
  text = "",
  fixes: readonly Offer[] = [],
  isNothing = false,
): Pick<Screen, "status" | "warned"> {
  const offered = fixes.length > 0 ? { fixes } : {};
  return {
    status: text ? { kind: isNothing ? "nothing" : "notice", text, ...offered } : null,
    warned: [],
  };
}
