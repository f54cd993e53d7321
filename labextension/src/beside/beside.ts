// Two views in one: a pane for each graph, the list of differences, and the link between them.
import { createView, type View } from "../app";
import { fullScreenButton } from "../panels/controls/toolbar";
import { button, element, setAttributes } from "../panels/dom";
import { at, isScope, OPEN, type Scene } from "../protocol/scene";
import { hasControl } from "../render/gestures/pointer";
import type { Channel } from "../rpc/model-channel";
import { followColorScheme } from "../state/preferences";
import type { Store } from "../state/store";
import { styles } from "../styles";
import style from "./beside.css";
import type { BesideDocument, Step } from "./document";
import { Link } from "./link";
import { StepList } from "./list";
import { PAIR_KEY, Pairing } from "./pairing";
import { otherSide, Partners, SIDES, type Side } from "./partners";

export interface BesideSettings {
  readonly height: number;
  readonly software: boolean;
  /** Shows the right graph alone again; a saved page has always two. */
  readonly leave?: () => void;
  /** Pairs two ops by hand; of two empty names undoes the last pair. A saved page cannot. */
  readonly pair?: (before: string, after: string) => Promise<string>;
  /** The kernel's, of a pane. */
  readonly revision: (side: Side) => number;
}

export interface BesideView {
  /** A graph has changed. */
  catchUp(): void;
  setHeight(pixels: number): void;
  /** The graphs were compared again. */
  setDocument(document: BesideDocument): void;
  close(): void;
}

const NEXT = "n";
const PREVIOUS = "p";

export function createBeside(
  el: HTMLElement,
  channels: readonly [Channel, Channel],
  document: BesideDocument,
  settings: BesideSettings,
): BesideView {
  el.classList.add("tgw-host");
  const link = new Link(new Partners(document));
  const list = new StepList((step) => show(step));
  const pairing = settings.pair && new Pairing({ pair: settings.pair, lead: () => link.lead });
  const head = createHead(list, (isOn) => showOnly(isOn), settings.leave, pairing?.root);
  const body = element("div", { class: "tgw-beside-body" }, list.root);
  const root = element(
    "div",
    {
      class: "tfgraphwidget tgw-beside",
      tabindex: -1,
      role: "group",
      "aria-label": "Two graphs beside each other",
    },
    element("style", {}, `${styles}\n${style}`),
    head.root,
    body,
  );
  el.append(root);
  const unfollow = followColorScheme(root);
  let shown = document;
  const matchedBy = () => element("output", { class: "tgw-matched-by" });
  const shownBy = [matchedBy(), matchedBy()] as const;
  const titles = SIDES.map(() => element("h3", { class: "tgw-pane-title" }));
  const views = SIDES.map((side) => {
    const place = element("div", { class: "tgw-pane-view" });
    const pane = element("section", { class: "tgw-pane", "data-side": side });
    pane.append(titles[side] ?? "", place);
    body.append(pane);
    const view = createView(place, link.channel(side, channels[side] as Channel), {
      height: settings.height,
      software: settings.software,
      readOnly: true,
      isPane: true,
      pair: pairing && ((name) => pairing.take(side, name)),
      revision: () => settings.revision(side),
      isAlone: () => true,
    });
    link.add(side, view.parts, place);
    pairing?.add(side, view.parts, place);
    withoutAlike(view.parts.store);
    return view;
  }) as [View, View];
  /** The scopes that were open before only those with differences were. */
  let opened: readonly string[][] = [];

  function say(): void {
    head.say(shown);
    list.fill(shown);
    pairing?.say(shown.pairs.length);
    for (const side of SIDES)
      titles[side]?.replaceChildren(
        element("span", { title: shown.titles[side] }, shown.titles[side]),
        shownBy[side],
      );
  }

  /** Say in the other pane what shows that its op is the current one of the pane that leads. */
  function sayEvidence(): void {
    const [left, right] = views.map(({ parts }) => parts.store.value);
    const name = right?.picked ?? "";
    const item = right?.scene?.byKey.get(name);
    const isOp = item !== undefined && right?.scene && !isScope(at(right.scene.kind, item));
    const isPair = isOp && link.partners.of(1, name) === left?.picked;
    const evidence = isPair ? link.partners.evidenceOf(name) : null;
    for (const side of SIDES)
      shownBy[side].textContent = evidence && side !== link.lead ? `matched by ${evidence}` : "";
  }

  /** Bring both ops of a step into view; where one graph has none, what is beside it. */
  function show(step: Step): void {
    const side: Side = step.kind === "removed" ? 0 : 1;
    const [name, other] = side === 0 ? [step.before, step.after] : [step.after, step.before];
    const isAlone = step.kind === "removed" || step.kind === "added";
    link.lead = side;
    if (isAlone && other)
      void views[otherSide(side)].parts.actions.echo({ type: "reveal", name: other });
    void views[side].parts.actions.reveal(name);
  }

  /** Open the scopes in which something differs, and close all others; or what was open before. */
  function showOnly(isOn: boolean): void {
    const before = opened;
    if (isOn) opened = views.map(({ parts }) => openScopes(parts.store.value.scene));
    for (const side of SIDES) {
      const names = shown.steps.map((step) => (side === 0 ? step.before : step.after));
      void views[side].parts.actions.echo(
        {
          type: "open_only",
          scopes: isOn ? [] : [...(before[side] ?? [])],
          names: isOn ? [...new Set(names.filter(Boolean))] : [],
        },
        { fit: true },
      );
    }
  }

  root.addEventListener(
    "keydown",
    (event) => {
      const isTyped = event.target instanceof HTMLInputElement;
      if (isTyped || hasControl(event) || event.altKey) return;
      if (event.key === NEXT || event.key === PREVIOUS) list.step(event.key === NEXT ? 1 : -1);
      else if (event.key === PAIR_KEY && pairing) pairing.press();
      else if (event.key !== "Escape" || !pairing?.cancel()) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
  const { store } = views[1].parts;
  let isBegun = false;
  const unwatch = store.watch(["drawn"], ({ drawn }) => {
    const theme = root.querySelector<HTMLElement>(".tgw-pane .tfgraphwidget")?.dataset["theme"];
    setAttributes(root, { "data-theme": theme });
    // The first divergence is what one wants to see; what else differs is not more important.
    if (!drawn || isBegun) return;
    isBegun = true;
    if (shown.steps[0]?.kind === "first") list.go(0);
  });
  const stops = views.map(({ parts }) => parts.store.watch(["picked"], sayEvidence));
  const setHeight = (pixels: number) => root.style.setProperty("--tgw-height", `${pixels}px`);
  setHeight(settings.height);
  say();
  return {
    catchUp: () => {
      for (const view of views) view.catchUp();
    },
    setHeight,
    setDocument: (compared) => {
      shown = compared;
      link.partners = new Partners(compared);
      say();
    },
    close: () => {
      unwatch();
      for (const stop of stops) stop();
      unfollow();
      link.close();
      pairing?.close();
      for (const view of views) view.close();
      root.remove();
    },
  };
}

/** What is like the current op is outlined where the panel says so; here what differs counts. */
function withoutAlike(store: Store): void {
  store.watch(["details", "panelOpen"], ({ details, panelOpen }) => {
    if (!panelOpen && details && details.alike.length > 0)
      store.set({ details: { ...details, alike: [] } });
  });
}

interface Head {
  readonly root: HTMLElement;
  say(document: BesideDocument): void;
}

/** What differs, in sentences, and the buttons of the list. */
function createHead(
  list: StepList,
  showOnly: (isOn: boolean) => void,
  leave: (() => void) | undefined,
  pairing: HTMLElement | undefined,
): Head {
  const said = element("div", { class: "tgw-beside-said", role: "status" });
  const only = button(
    {
      class: "tgw-diff-button tgw-only",
      "aria-pressed": "false",
      title: "Open only scopes in which something differs",
    },
    () => {
      const isOn = only.getAttribute("aria-pressed") !== "true";
      setAttributes(only, { "aria-pressed": String(isOn) });
      showOnly(isOn);
    },
    "Only differences",
  );
  const root = element(
    "header",
    { class: "tgw-beside-head" },
    said,
    ...(pairing ? [pairing] : []),
    only,
    list.controls(),
    fullScreenButton(),
    ...(leave ? [closeButton(leave)] : []),
  );
  return {
    root,
    say: ({ summary, sentences }) =>
      said.replaceChildren(
        element("strong", {}, summary),
        ...sentences.map((text) => element("p", { class: "tgw-explained" }, text)),
      ),
  };
}

function closeButton(leave: () => void): HTMLElement {
  const title = "Show the right graph alone";
  return button({ class: "tgw-tool", title, "aria-label": title }, leave, "×");
}

function openScopes(scene: Scene | null): string[] {
  if (!scene) return [];
  return scene.names.filter((name, item) => item > 0 && at(scene.kind, item) === OPEN && name);
}
