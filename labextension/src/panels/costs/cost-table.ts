// The table of costs: a row for each op or scope, sorted by the column whose head was clicked. A
// row shows its op in the drawing; what is selected there is the marked row.
import type { Parts } from "../../interaction/parts";
import type { CostRow, CostsRequest, CostTable } from "../../protocol/messages";
import { button, element, setAttributes, taskButton } from "../dom";
import { createFeedSlot } from "../forms/feed-form";

type By = CostsRequest["by"];
type What = CostsRequest["what"];

const COLUMNS: readonly { by: By; text: string; title: string }[] = [
  { by: "name", text: "Name", title: "Op or scope" },
  { by: "parameters", text: "Params", title: "Trainable parameters" },
  { by: "flops", text: "FLOPs", title: "Floating-point operations" },
  { by: "bytes", text: "Bytes", title: "Size of the outputs" },
  { by: "time", text: "Time", title: "Measured time" },
];
const TOP = 10;
const MORE = 100;
const MEASURE = { name: "", measure: true };

export function createCostTable(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const body = element("tbody", {});
  const foot = element("tfoot", {});
  const head = element("tr", {});
  const table = element(
    "table",
    { class: "tgw-costs", "aria-label": "Costs" },
    element("thead", {}, head),
    body,
    foot,
  );
  const notice = element("p", { class: "tgw-hint" });
  const feeding = createFeedSlot(MEASURE, parts);
  const root = element("div", { class: "tgw-cost-table", hidden: true });
  let request: Omit<CostsRequest, "type" | "current"> = {
    by: "flops",
    what: "ops",
    limit: TOP,
    ascending: false,
  };
  let turn = 0;

  const load = async () => {
    if (root.closest("[hidden]") !== null && root.isConnected && store.value.tab !== "costs")
      return;
    turn += 1;
    const mine = turn;
    const answer = await actions.edits.costs({ ...request, current: store.value.picked });
    if (answer && mine === turn) render(answer);
  };
  const change = (part: Partial<typeof request>) => {
    request = { ...request, ...part };
    return load();
  };
  const sort = (by: By) =>
    change({ by, ascending: by === request.by ? !request.ascending : by === "name" });
  for (const { by, text, title } of COLUMNS) {
    const control = button({ class: "tgw-cost-head", title, "data-by": by }, () => sort(by), text);
    head.append(element("th", { scope: "col" }, control));
  }
  const kinds = (["ops", "scopes"] as const).map((what: What) =>
    button(
      { class: "tgw-button tgw-toggle", "data-what": what },
      () => change({ what }),
      what === "ops" ? "Ops" : "Scopes",
    ),
  );
  const more = button({ class: "tgw-text-button" }, () =>
    change({ limit: request.limit === TOP ? MORE : TOP }),
  );
  const measured = taskButton(
    { class: "tgw-text-button", title: "Run the graph and measure the time of each op" },
    () => feeding.run(),
    "Measure time",
  );
  const tools = element(
    "div",
    { class: "tgw-cost-tools" },
    element("div", { class: "tgw-derive", role: "group", "aria-label": "Rows" }, ...kinds),
    measured,
  );
  root.append(tools, feeding.slot, table, more, notice);

  const render = (answer: CostTable) => {
    const most = Math.max(...answer.rows.map((row) => costOf(row, request.by)), 0);
    const total = costOf(answer.total, request.by);
    body.replaceChildren(
      ...answer.rows.map((row) => rowOf(row, request.by, { most, total }, parts)),
    );
    foot.replaceChildren(totalOf(answer.total));
    table.toggleAttribute("data-measured", answer.measured !== "");
    for (const cell of head.children)
      setAttributes(cell, {
        "aria-sort": sortOf(cell.firstElementChild?.getAttribute("data-by"), request),
      });
    for (const kind of kinds)
      setAttributes(kind, {
        "aria-pressed": String(kind.getAttribute("data-what") === request.what),
      });
    more.textContent =
      request.limit === TOP
        ? `Show more (${answer.rows_total.toLocaleString("en")} in all)`
        : `Show the top ${TOP}`;
    more.hidden = answer.rows_total <= TOP;
    notice.textContent = [answer.notice, answer.measured && `time: ${answer.measured}`]
      .filter(Boolean)
      .join(" · ");
    mark();
  };
  const mark = () => {
    const { picked } = store.value;
    let current: HTMLElement | null = null;
    for (const row of body.querySelectorAll<HTMLElement>("tr")) {
      const isIt = picked !== "" && row.getAttribute("data-name") === picked;
      setAttributes(row, { "aria-selected": isIt ? "true" : undefined });
      if (isIt) current = row;
    }
    current?.scrollIntoView({ block: "nearest" });
    return current !== null;
  };
  store.watch(["tab"], ({ tab }) => {
    if (tab === "costs" && !parts.readOnly) {
      root.hidden = false;
      void load();
    }
  });
  store.watch(["state"], ({ state }) => {
    if (store.value.tab === "costs" && state) void load();
  });
  store.watch(["picked"], ({ picked }) => {
    if (store.value.tab === "costs" && !mark() && picked !== "") void load();
  });
  return root;
}

function sortOf(
  by: string | null | undefined,
  { by: current, ascending }: Pick<CostsRequest, "by" | "ascending">,
): string {
  if (by !== current) return "none";
  return ascending ? "ascending" : "descending";
}

function costOf(row: CostRow, by: By): number {
  return by === "name" ? 0 : row[by];
}

/**
 * The whole name above the numbers: of long ones the end is shown, which distinguishes ops of one kind
 * apart.
 */
function rowOf(
  row: CostRow,
  by: By,
  { most, total }: { most: number; total: number },
  parts: Parts,
): HTMLElement {
  const last = row.name.replace(/\/$/, "");
  const name = button(
    { class: "tgw-link tgw-cost-name", title: `${row.name}${row.type ? ` · ${row.type}` : ""}` },
    () => parts.actions.reveal(row.name),
    element("bdi", {}, last),
  );
  const cells = COLUMNS.slice(1).map(({ by: column }) => {
    const value = costOf(row, column);
    const cell = element("td", {}, costText(value, column));
    if (column === by && value > 0)
      cell.style.setProperty("--tgw-share", `${(100 * value) / most}%`);
    return cell;
  });
  const entry = element(
    "tr",
    { "data-name": row.name, "data-rank": row.rank },
    element(
      "th",
      { scope: "row" },
      name,
      element(
        "span",
        { class: "tgw-cost-share", title: "Share of the total" },
        shareText(costOf(row, by), total),
      ),
    ),
    ...cells,
  );
  entry.addEventListener("click", (event) => {
    if (!(event.target instanceof Element && event.target.closest("button"))) name.click();
  });
  return entry;
}

function totalOf(total: CostRow): HTMLElement {
  const cells = COLUMNS.slice(1).map(({ by }) =>
    element("td", {}, costText(costOf(total, by), by)),
  );
  return element("tr", {}, element("th", { scope: "row" }, "Total"), ...cells);
}

/** How much of the total: "12 %"; "" where nothing is known. */
function shareText(value: number, total: number): string {
  if (value <= 0 || total <= 0) return "";
  const percent = (100 * value) / total;
  if (percent < 0.1) return "< 0.1 %";
  return `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** A number with at most three digits and a prefix: "1.2M"; "" for 0, "?" where it is unknown. */
export function costText(value: number, by: By): string {
  if (value < 0) return by === "time" ? "" : "?";
  if (value === 0) return "";
  const scaled = by === "time" ? value / 1e6 : value;
  if (by === "time")
    return scaled < 1e-3
      ? `${(value).toFixed(0)} µs`
      : scaled < 1
        ? `${(value / 1e3).toPrecision(3)} ms`
        : `${scaled.toPrecision(3)} s`;
  const power = Math.min(Math.floor(Math.log10(value) / 3), PREFIXES.length - 1);
  const digits = value / 1000 ** power;
  return `${power === 0 ? digits.toFixed(0) : digits.toPrecision(3)}${PREFIXES[power] ?? ""}`;
}
