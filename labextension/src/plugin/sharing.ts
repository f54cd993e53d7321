// One file in several tabs of a browser: they share a kernel, which lives as long as one of them shows the file. Each
// page that shows it holds a lock of the kernel's name, which the browser takes back from a page that is gone.

/** A page's own lock; where pages come over plain http from another machine the browser has none to give. */
export class Share {
  #name = "";
  #release = () => {};

  /** Show what this kernel has, and nothing else any more. */
  take(kernel: string): void {
    const name = `tfgraphwidget-kernel:${kernel}`;
    if (name === this.#name) return;
    this.leave();
    this.#name = name;
    const held = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    void locks()
      ?.request(name, { mode: "shared" }, () => held)
      .catch(() => {});
  }

  leave(): void {
    this.#release();
    this.#name = "";
  }

  /** Whether another page shows it too. */
  async isShared(): Promise<boolean> {
    const { held = [] } = (await locks()?.query()) ?? {};
    return held.filter(({ name }) => name === this.#name).length > 1;
  }
}

function locks(): LockManager | undefined {
  return (navigator as { locks?: LockManager }).locks;
}
