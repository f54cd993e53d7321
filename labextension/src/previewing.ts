// When the kernel is asked what a clone would do: once the form and the selection have been left alone for a moment.
import type { Actions, CloneForm } from "./actions";
import type { Store } from "./store";

/** Milliseconds. Of a large part a preview takes a second, in which the kernel does nothing else. */
const PAUSE = 200;
const LONGEST_PAUSE = 1500;

export class Previewing {
  readonly #store: Store;
  readonly #actions: Pick<Actions, "preview">;
  #asking = new AbortController();
  #pause = PAUSE;
  #asked = "";

  constructor(store: Store, actions: Pick<Actions, "preview">) {
    this.#store = store;
    this.#actions = actions;
  }

  /** Have the preview of this form and the present selection; null when there is nothing to clone. */
  want(form: CloneForm | null): void {
    const { state } = this.#store.value;
    const asked = form && state ? JSON.stringify([state.revision, state.inputs, state.outputs, form]) : "";
    if (asked === this.#asked) return;
    this.close();
    this.#asked = asked;
    if (!form || !asked) this.#store.set({ preview: null, previewing: false });
    else {
      this.#store.set({ previewing: true });
      const { signal } = this.#asking;
      setTimeout(() => void this.#ask(form, signal), this.#pause);
    }
  }

  /** No answer is waited for any more. */
  close(): void {
    this.#asking.abort();
    this.#asking = new AbortController();
  }

  async #ask(form: CloneForm, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const start = performance.now();
    try {
      await this.#actions.preview(form, signal);
    } catch {
      // Given up for a newer one; or the kernel is gone, which the next click will say.
      if (!signal.aborted) this.#store.set({ preview: null });
    }
    if (signal.aborted) return;
    this.#pause = Math.min(Math.max(PAUSE, performance.now() - start), LONGEST_PAUSE);
    this.#store.set({ previewing: false });
  }
}
