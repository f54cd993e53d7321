// Search results, grouped by scope.
import type { Hit, PatternMatches, SearchReply } from "../protocol/messages";
import type { Screen } from "./store";

/** Number of hits requested while typing; and at the end of the list. */
export const FIRST = 200;
export const MOST = 1000;

export interface Scope {
  /** "" is the top level. */
  readonly name: string;
  readonly hits: readonly Hit[];
}

/** The hits by the scope around them; the scope of the nearest hit first. */
export function scopesOf(hits: readonly Hit[]): Scope[] {
  const scopes = new Map<string, Hit[]>();
  for (const hit of hits) {
    const name = scopeOf(hit.name);
    const known = scopes.get(name);
    if (known) known.push(hit);
    else scopes.set(name, [hit]);
  }
  return [...scopes].map(([name, held]) => ({ name, hits: held }));
}

function scopeOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf("/"), 0));
}

/** The change of the store for a reply: the current hit stays current at its new position. */
export function foundChange(
  found: SearchReply,
  before: Screen,
): Pick<Screen, "found" | "hitNames" | "hitOps" | "hit"> {
  const hits = scopesOf(found.hits).flatMap((scope) => scope.hits);
  const opsOf = new Map(found.hits.map((hit, k) => [hit, found.matches?.ops[k] ?? []]));
  const hitNames = hits.map(({ name }) => name);
  const hitOps = found.matches ? hits.map((hit) => opsOf.get(hit) ?? []) : [];
  const here = before.hitNames[before.hit];
  return { found, hitNames, hitOps, hit: here === undefined ? -1 : hitNames.indexOf(here) };
}

/** The name scope whose full name the query is, or "": Enter goes there. */
export function typedScope(found: SearchReply | null, query: string): string {
  const typed = query.trim().replace(/\/+$/, "");
  return found?.name_scopes.find(({ name }) => name === typed)?.name ?? "";
}

/**
 * How many hits of a query are requested while it is typed: of a pattern all that the drawing
 * frames.
 */
export function firstLimit(query: string): number {
  return /^\s*pattern:/i.test(query) ? MOST : FIRST;
}

/** Whether there are more hits than were requested. */
export function canHaveMore(found: SearchReply | null): boolean {
  return found !== null && found.hits.length < Math.min(found.total, MOST);
}

/** "37 found in 5 scopes", or the error in the query. */
export function totalText(found: SearchReply | null): string {
  if (!found) return "";
  const { why, excerpt, total, scopes, hits, matches } = found;
  if (total === 0) return [why || "No matches", excerpt].filter(Boolean).join("\n");
  if (matches) return matchesText(found, matches);
  const where = scopes === 1 ? "one scope" : `${formatCount(scopes)} scopes`;
  const shown = hits.length < total ? `, the first ${formatCount(hits.length)} shown` : "";
  return [`${formatCount(total)} found in ${where}${shown}`, why].filter(Boolean).join(". ");
}

/** "96 matches in 94 scopes, 94 of them replaceable". */
function matchesText(
  { total, scopes, hits, why }: SearchReply,
  { replaceable }: PatternMatches,
): string {
  const few =
    replaceable === total ? "all replaceable" : `${formatCount(replaceable)} of them replaceable`;
  const shown = hits.length < total ? `, the first ${formatCount(hits.length)} shown` : "";
  const where = scopes === 1 ? "one scope" : `${formatCount(scopes)} scopes`;
  const count = `${formatCount(total)} match${total === 1 ? "" : "es"}`;
  return [`${count} in ${where}, ${few}${shown}`, why].filter(Boolean).join(". ");
}

/** "3 of 37"; before the first step the number of hits. */
export function placeText({ found, hit }: Pick<Screen, "found" | "hit">): string {
  if (!found) return "";
  return hit < 0
    ? formatCount(found.total)
    : `${formatCount(hit + 1)} of ${formatCount(found.total)}`;
}

function formatCount(number: number): string {
  return number.toLocaleString("en");
}
