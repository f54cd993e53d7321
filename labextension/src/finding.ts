// What was found, scope by scope; and going from one hit to the next.
import type { Actions } from "./actions";
import type { Found, GatherRequest, Hit } from "./protocol";
import type { Screen, Store } from "./store";

/** Hits that are asked for while one types; and when one comes to the end of them. */
export const FIRST = 200;
export const MOST = 1000;

interface Parts {
  readonly store: Store;
  readonly actions: Pick<Actions, "search" | "reveal" | "look">;
}

export interface Scope {
  /** "" is the graph itself. */
  readonly name: string;
  readonly hits: readonly Hit[];
}

/** The hits by the scope around them; the scope of the nearest hit first. */
export function scopesOf(hits: readonly Hit[]): Scope[] {
  const scopes = new Map<string, Hit[]>();
  for (const hit of hits) {
    const name = scopeOf(hit.name);
    const held = scopes.get(name);
    if (held) held.push(hit);
    else scopes.set(name, [hit]);
  }
  return [...scopes].map(([name, held]) => ({ name, hits: held }));
}

function scopeOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf("/"), 0));
}

/** What the store holds of an answer: where one has come to stays where it is, at whatever place of the list. */
export function listed(found: Found, before: Screen): Pick<Screen, "found" | "hitNames" | "hit"> {
  const hitNames = scopesOf(found.hits).flatMap(({ hits }) => hits.map(({ name }) => name));
  const here = before.hitNames[before.hit];
  return { found, hitNames, hit: here === undefined ? -1 : hitNames.indexOf(here) };
}

/** Go to the next hit, or with -1 to the one before; around at either end. */
export async function step(parts: Parts, by: 1 | -1): Promise<void> {
  const { hit, hitNames } = parts.store.value;
  if (hitNames.length > 0 && hit + by >= hitNames.length) await more(parts);
  const { hit: here, hitNames: names } = parts.store.value;
  const first = by > 0 ? 0 : names.length - 1;
  if (names.length > 0) await visit(parts, here < 0 ? first : (here + by + names.length) % names.length);
}

/** Go to a hit by its place in the list. */
export async function visit({ store, actions }: Parts, place: number): Promise<void> {
  const name = store.value.hitNames[place];
  if (name === undefined) return;
  store.set({ hit: place });
  await actions.reveal(name);
}

/** Ask for as many hits as can be shown. */
export async function more({ store, actions }: Parts): Promise<void> {
  const { found, query } = store.value;
  if (canHaveMore(found)) await actions.search(query, MOST);
}

/** Whether there are hits that were not asked for. */
export function canHaveMore(found: Found | null): boolean {
  return found !== null && found.hits.length < Math.min(found.total, MOST);
}

/** Select all that was found, also what the list does not hold; or hide it, or show nothing else. */
export function gather({ store, actions }: Parts, use: GatherRequest["use"]): Promise<void> {
  return actions.look({ type: "gather", text: store.value.query.trim(), use });
}

/** "37 found in 5 scopes", or what is wrong with the query. */
export function totalText(found: Found | null): string {
  if (!found) return "";
  const { why, total, scopes, hits } = found;
  if (total === 0) return why || "No op fits.";
  const where = scopes === 1 ? "one scope" : `${counted(scopes)} scopes`;
  const shown = hits.length < total ? `, the first ${counted(hits.length)} shown` : "";
  return [`${counted(total)} found in ${where}${shown}`, why].filter(Boolean).join(". ");
}

/** "3 of 37"; before one has gone to a hit, how many there are. */
export function placeText({ found, hit }: Screen): string {
  if (!found) return "";
  return hit < 0 ? counted(found.total) : `${counted(hit + 1)} of ${counted(found.total)}`;
}

function counted(number: number): string {
  return number.toLocaleString("en");
}
