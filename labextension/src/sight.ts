// Whether a view can be seen: on the screen or within a screen's height of it, in a tab that is shown.

export class Sight {
  readonly #target: Element;
  readonly #observer: IntersectionObserver;
  readonly #shown: () => void;

  /** `shown` is called whenever the view comes onto the screen. */
  constructor(target: Element, shown: () => void) {
    this.#target = target;
    this.#shown = shown;
    this.#observer = new IntersectionObserver((entries) => {
      if (entries.at(-1)?.isIntersecting) this.#tell();
    });
    this.#observer.observe(target);
    document.addEventListener("visibilitychange", this.#tell);
  }

  /** Measured, not observed: an observer's margins end at the notebook's own scroll area. */
  get seen(): boolean {
    const { top, bottom, width } = this.#target.getBoundingClientRect();
    return !document.hidden && width > 0 && bottom > -innerHeight && top < 2 * innerHeight;
  }

  close(): void {
    this.#observer.disconnect();
    document.removeEventListener("visibilitychange", this.#tell);
  }

  readonly #tell = () => {
    if (this.seen) this.#shown();
  };
}
