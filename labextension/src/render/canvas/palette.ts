// The colors of the canvas. Python twin: tfgraphwidget/scene/coloring/palette.py; background and
// text follow the theme.
import { FAMILIES } from "../../protocol/scene";
import { SETTINGS_CHANGED } from "../../state/preferences";

type Rgb = readonly [number, number, number];

export interface BoxColors {
  readonly fill: string;
  readonly border: string;
  readonly text: string;
  readonly faint: string;
}

export interface Palette {
  readonly dark: boolean;
  readonly background: string;
  readonly text: string;
  readonly faint: string;
  readonly edge: string;
  readonly controlEdge: string;
  readonly selected: string;
  readonly partly: string;
  readonly inputMark: string;
  readonly outputMark: string;
  /** Text on a mark. */
  readonly onMark: string;
  readonly fresh: string;
  readonly added: string;
  readonly changed: string;
  readonly removed: string;
  readonly renamed: string;
  readonly warned: string;
  readonly font: string;
  /**
   * By family number; `quiet` is for auxiliary ops, and for unselected ones while there is a
   * selection.
   */
  readonly box: readonly BoxColors[];
  readonly quiet: readonly BoxColors[];
  readonly selection: readonly BoxColors[];
  /** By `differs` of a Paint. */
  readonly differs: readonly (BoxColors | null)[];
  /** What cannot read the tensor that is being dragged. */
  readonly barred: BoxColors;
  /** Open scopes by depth, the root first; those of the training part. */
  readonly levels: readonly BoxColors[];
  readonly training: readonly BoxColors[];
  /** Closed scopes and groups of the training part. */
  readonly trainingBox: BoxColors;
  /** A loop's way back. */
  readonly back: string;
  /** Edges to the inputs of the inspected item. */
  readonly upstream: string;
  /** Edges to its consumers; blue is what is selected. */
  readonly downstream: string;
  /** The ring around search hits. */
  readonly found: string;
  /** By `tint` of a Paint; the first, for 0, is for ops without a value. */
  readonly tints: readonly BoxColors[];
}

// family -> fill in a light theme, fill in a dark theme.
export const FILLS: Record<(typeof FAMILIES)[number], readonly [string, string]> = {
  other: ["#f1f3f5", "#3b4148"],
  input: ["#ffe8b3", "#6b5314"],
  constant: ["#e6e6e6", "#4a4a4a"],
  variable: ["#ffd9c2", "#7a4426"],
  linear: ["#c5dcf7", "#234f80"],
  activation: ["#f9d0e0", "#75304f"],
  normalization: ["#d5cff4", "#483d85"],
  arithmetic: ["#d9eed0", "#35592b"],
  shape: ["#cdeeed", "#1d595c"],
  control: ["#f4efc0", "#55501f"],
  state: ["#ead3b6", "#5e4529"],
  pooling: ["#eecbf2", "#6b2f75"],
};
const LIGHT = {
  faint: "#59636e",
  edge: "#6b7783",
  controlEdge: "#868f99",
  selected: "#0b63ce",
  partly: "#6ea6e8",
  inputMark: "#0f7b3e",
  outputMark: "#b45309",
  onMark: "#ffffff",
  fresh: "#8a3ffc",
  added: "#0f7b3e",
  changed: "#9a5b00",
  removed: "#b3261e",
  renamed: "#007a7a",
  warned: "#b3261e",
  back: "#a8328f",
  upstream: "#9a5b00",
  downstream: "#007a7a",
  found: "#c026a3",
  training: "#8a6d1f",
};
const DARK: typeof LIGHT = {
  faint: "#b0bac4",
  edge: "#9aa5b1",
  controlEdge: "#727c87",
  selected: "#5aa9ff",
  partly: "#2f6aa8",
  inputMark: "#4cc38a",
  outputMark: "#ffb454",
  onMark: "#10141a",
  fresh: "#c9a6ff",
  added: "#4cc38a",
  changed: "#e9a23b",
  removed: "#ff8a80",
  renamed: "#35d0c6",
  warned: "#ff8a80",
  back: "#f08fd8",
  upstream: "#e9a23b",
  downstream: "#35d0c6",
  found: "#ff7ae0",
  training: "#d6b14e",
};
const LEVELS = 6;
// Categories: fill in a light theme, fill in a dark theme.
export const TINTS: readonly (readonly [string, string])[] = [
  ["#f3be61", "#7c5b1d"],
  ["#a6bad9", "#0c64a2"],
  ["#94f6c6", "#02452c"],
  ["#fee092", "#6a6047"],
  ["#ceaaf4", "#492e6a"],
  ["#02d1a6", "#44685c"],
  ["#d5b483", "#4d3810"],
  ["#c5bb6b", "#4c4900"],
  ["#f0a5a7", "#6f3539"],
  ["#d8d0f2", "#544c79"],
  ["#e1bcd2", "#744262"],
  ["#a7e4a0", "#275e27"],
];
// A ramp's colors at 0, a half and 1, in a light and in a dark theme.
export const RAMP = [
  ["#f3f6f9", "#ffdf80", "#f7a566"],
  ["#22272d", "#5b4a14", "#9c4a10"],
] as const;
/** The first of the ramp's steps in a Paint. */
const RAMP_START = 128;

/** The palette for the theme that `root`, styled by theme.css, finds itself in. */
export function readPalette(root: Element): Palette {
  const style = getComputedStyle(root);
  const background = parse(style.backgroundColor, [255, 255, 255], [255, 255, 255]);
  const text = parse(style.color, [28, 33, 38], background);
  const dark = luminance(background) < 0.25;
  const colors = dark ? DARK : LIGHT;
  const fills = FAMILIES.map((family) => hex(FILLS[family][dark ? 1 : 0]));
  const shade = (fill: Rgb, border: Rgb, ink: Rgb): BoxColors => ({
    fill: css(fill),
    border: css(border),
    text: css(ink),
    faint: css(mix(ink, fill, 0.22)),
  });
  const edge = hex(colors.edge);
  const selected = hex(colors.selected);
  const training = hex(colors.training);
  const area = (fill: Rgb, line: Rgb) => shade(fill, mix(fill, line, 0.55), text);
  const pale = mix(background, text, 0.03);
  const untinted = shade(pale, mix(pale, text, 0.22), mix(text, pale, 0.3));
  const { training: _, ...plain } = colors;
  return {
    ...plain,
    dark,
    background: css(background),
    text: css(text),
    font: style.fontFamily,
    box: fills.map((fill) => shade(fill, mix(fill, text, dark ? 0.34 : 0.38), text)),
    quiet: fills.map((fill) => {
      const pale = mix(fill, background, 0.6);
      return shade(pale, mix(pale, text, 0.2), mix(text, pale, 0.3));
    }),
    selection: fills.map((fill) => shade(mix(fill, selected, dark ? 0.3 : 0.16), selected, text)),
    differs: [null, colors.added, colors.changed, colors.removed, colors.renamed].map((color) => {
      const hue = color === null ? null : hex(color);
      return hue && shade(mix(background, hue, dark ? 0.4 : 0.24), hue, text);
    }),
    barred: shade(
      mix(background, text, 0.05),
      mix(background, text, 0.16),
      mix(text, background, 0.62),
    ),
    levels: Array.from({ length: LEVELS }, (_, depth) =>
      area(mix(background, edge, 0.055 * depth), edge),
    ),
    training: Array.from({ length: LEVELS }, (_, depth) =>
      area(mix(background, training, 0.045 + 0.05 * depth), training),
    ),
    trainingBox: shade(mix(background, training, 0.2), mix(background, training, 0.75), text),
    tints: tintsOf(dark).map((fill) => (fill ? shade(fill, mix(fill, text, 0.4), text) : untinted)),
  };
}

/** Fills by number of tint; null where there is none. */
function tintsOf(dark: boolean): (Rgb | null)[] {
  const [low, middle, high] = RAMP[dark ? 1 : 0].map(hex) as [Rgb, Rgb, Rgb];
  return Array.from({ length: 256 }, (_, tint) => {
    const category = TINTS[tint - 1];
    if (category) return hex(category[dark ? 1 : 0]);
    if (tint < RAMP_START) return null;
    const place = (2 * (tint - RAMP_START)) / (255 - RAMP_START);
    return place < 1 ? mix(low, middle, place) : mix(middle, high, place - 1);
  });
}

/** A computed color, blended with its background. */
function parse(text: string, otherwise: Rgb, behind: Rgb): Rgb {
  const numbers = text.match(/[\d.]+/g)?.map(Number) ?? [];
  const [red, green, blue, alpha = 1] = numbers;
  if (red === undefined || green === undefined || blue === undefined || alpha === 0)
    return otherwise;
  const scale = text.startsWith("color(") ? 255 : 1;
  return mix(behind, [red * scale, green * scale, blue * scale], alpha);
}

function hex(text: string): Rgb {
  const value = Number.parseInt(text.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

function mix(a: Rgb, b: Rgb, t: number): Rgb {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];
}

function css([red, green, blue]: Rgb): string {
  return `rgb(${Math.round(red)},${Math.round(green)},${Math.round(blue)})`;
}

/** 0 to 1, near enough to tell a dark theme from a light one. */
function luminance([red, green, blue]: Rgb): number {
  return (0.2126 * red ** 2 + 0.7152 * green ** 2 + 0.0722 * blue ** 2) / 255 ** 2;
}

/**
 * Call back when the theme changes: JupyterLab says so on the body, and its style sheet arrives a
 * little later.
 */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  const names = [
    "data-jp-theme-light",
    "data-jp-theme-name",
    "data-vscode-theme-kind",
    "class",
    "style",
  ];
  observer.observe(document.body, { attributes: true, attributeFilter: names });
  observer.observe(document.head, { childList: true });
  document.head.addEventListener("load", changed, true);
  document.addEventListener(SETTINGS_CHANGED, changed);
  const forced = matchMedia("(forced-colors: active)");
  forced.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    forced.removeEventListener("change", changed);
    document.head.removeEventListener("load", changed, true);
    document.removeEventListener(SETTINGS_CHANGED, changed);
  };
}
