// What few clones need: placeholders, new seeds, several copies, a device.
import type { CloneForm } from "../actions";
import { element } from "../dom";
import { row, TEXT, tick } from "./choice";

type Options = Pick<CloneForm, "placeholders" | "reseed" | "times" | "device">;

export class MoreOptions {
  readonly #placeholders = element("input", { type: "checkbox", name: "placeholders" });
  readonly #reseed = element("input", { type: "checkbox", name: "reseed" });
  readonly #times = element("input", {
    ...TEXT,
    type: "number",
    name: "times",
    min: 1,
    max: 1000,
    placeholder: "1",
  });
  readonly #device = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    name: "device",
    placeholder: "/device:CPU:0",
    title: "Left empty, each op keeps the device of its original",
  });
  readonly #summary = element("summary", { class: "tgw-fold" });
  readonly root = element(
    "details",
    { class: "tgw-details" },
    this.#summary,
    element(
      "div",
      { class: "tgw-inner" },
      tick("New placeholders for inputs", this.#placeholders),
      tick("New random seeds", this.#reseed),
      row("Copies", this.#times),
      row("Device", this.#device),
    ),
  );

  constructor() {
    this.root.addEventListener("input", () => this.#count());
    this.#count();
  }

  value(): Options {
    return {
      placeholders: this.#placeholders.checked,
      reseed: this.#reseed.checked,
      times: copies(this.#times.value),
      device: this.#device.value.trim(),
    };
  }

  #count(): void {
    this.#summary.textContent = optionsText(this.value());
  }
}

/** One copy needs no number behind its name. */
export function copies(text: string): number | null {
  const count = Number.parseInt(text, 10);
  return count > 1 ? count : null;
}

/** What is set is not forgotten when the options are closed. */
export function optionsText({ placeholders, reseed, times, device }: Options): string {
  const set = [
    placeholders ? "placeholders" : "",
    reseed ? "new seeds" : "",
    times === null ? "" : `${times} copies`,
    device,
  ].filter(Boolean);
  return set.length > 0 ? `More: ${set.join(", ")}` : "More options";
}
