// One file in several tabs of a browser: they share a kernel, which lives as long as one of them shows the file. Each
// page that shows it holds a lock of the kernel's name, which the browser takes back from a page that is gone. Pages
// that come over plain http from another machine have no locks: they ask each other, and one that sleeps is not heard.

const ASKS = "Does another page show it?";
const SHOWS = "This one does.";
/** Milliseconds in which a page that is awake has answered. */
const PATIENCE = 500;

export class Share {
  #name = "";
  #release = () => {};
  #line: BroadcastChannel | null = null;

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
    const line = new BroadcastChannel(name);
    line.onmessage = ({ data }) => data === ASKS && line.postMessage(SHOWS);
    this.#line = line;
  }

  leave(): void {
    this.#release();
    this.#line?.close();
    this.#line = null;
    this.#name = "";
  }

  /** Whether another page shows it too. */
  async isShared(): Promise<boolean> {
    const known = locks();
    if (!known) return this.#line !== null && isAnswered(this.#line);
    const { held = [] } = await known.query();
    return held.filter(({ name }) => name === this.#name).length > 1;
  }
}

function isAnswered(line: BroadcastChannel): Promise<boolean> {
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent) => data === SHOWS && end(true);
    const end = (isThere: boolean) => {
      line.removeEventListener("message", hear);
      resolve(isThere);
    };
    line.addEventListener("message", hear);
    line.postMessage(ASKS);
    setTimeout(end, PATIENCE, false);
  });
}

function locks(): LockManager | undefined {
  return (navigator as { locks?: LockManager }).locks;
}
