// Which op or scope of one graph is which of the other.
import type { BesideDocument, Evidence } from "./document";

/** The left pane and the right one. */
export type Side = 0 | 1;
export const SIDES: readonly Side[] = [0, 1];

export function otherSide(side: Side): Side {
  return side === 0 ? 1 : 0;
}

/** The names of one side and what they are on the other one. */
interface Way {
  readonly scopes: ReadonlyMap<string, string>;
  readonly ops: ReadonlyMap<string, string | null>;
}

export class Partners {
  readonly #ways: readonly [Way, Way];
  readonly #evidence = new Map<string, Evidence>();
  /** What shows most of the pairs. */
  readonly #usual: Evidence | null;

  constructor({ scopes, ops, evidence }: Pick<BesideDocument, "scopes" | "ops" | "evidence">) {
    const kinds = Object.entries(evidence) as [Evidence, readonly string[]][];
    for (const [kind, names] of kinds) for (const name of names) this.#evidence.set(name, kind);
    this.#usual = kinds.find(([, names]) => names.length === 0)?.[0] ?? null;
    const way = (from: Side): Way => ({
      scopes: new Map(scopes.map((pair) => [pair[from], pair[otherSide(from)]])),
      ops: new Map(
        ops.flatMap((pair) => {
          const own = pair[from];
          return own === null ? [] : [[own, pair[otherSide(from)]] as const];
        }),
      ),
    });
    this.#ways = [way(0), way(1)];
  }

  /**
   * The name on the other side of an op, a tensor or a scope ("net/") of this side; null for an op
   * that is known to have no partner. The name need not be there: who asks looks it up.
   */
  of(side: Side, name: string): string | null {
    const [, control = "", plain = "", rest = ""] = /^(\^?)(.*?)((?::\d+|\/)?)$/s.exec(name) ?? [];
    const partner = this.#plain(this.#ways[side], plain, rest === "/");
    return partner === null ? null : `${control}${partner}${rest}`;
  }

  /** What shows which op of the left graph an op of the right one is; null for one without. */
  evidenceOf(name: string): Evidence | null {
    return this.of(1, name) === null ? null : (this.#evidence.get(name) ?? this.#usual);
  }

  /** The partners of several names, of those that have one. */
  all(side: Side, names: readonly string[]): string[] {
    return names.flatMap((name) => this.of(side, name) ?? []);
  }

  #plain({ scopes, ops }: Way, name: string, isScope: boolean): string | null {
    const own = isScope ? undefined : ops.get(name);
    if (own !== undefined) return own;
    if (scopes.size === 0) return name;
    const whole = isScope ? scopes.get(name) : undefined;
    if (whole !== undefined) return whole;
    for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
      const around = scopes.get(name.slice(0, end));
      if (around !== undefined) return around + name.slice(end);
    }
    return name;
  }
}
