// Whether a view is visible: in a visible tab, and on the screen or at most one screen height away.

export class Visibility {
  readonly #target: Element;
  readonly #observer: IntersectionObserver;
  readonly #shown: () => void;

  /** `shown` is called whenever the view becomes visible. */
  constructor(target: Element, shown: () => void) {
    this.#target = target;
    this.#shown = shown;
    this.#observer = new IntersectionObserver((entries) => {
      if (entries.at(-1)?.isIntersecting) this.#notify();
    });
    this.#observer.observe(target);
    document.addEventListener("visibilitychange", this.#notify);
  }

  /** Measured, not observed: an observer's margins end at the notebook's own scroll area. */
  get isVisible(): boolean {
    const { top, bottom, width } = this.#target.getBoundingClientRect();
    return !document.hidden && width > 0 && bottom > -innerHeight && top < 2 * innerHeight;
  }

  close(): void {
    this.#observer.disconnect();
    document.removeEventListener("visibilitychange", this.#notify);
  }

  readonly #notify = () => {
    if (this.isVisible) this.#shown();
  };
}
