// What the page knows of two graphs together. Python twin: tfgraphwidget/editor/beside.py.

type StepKind = "first" | "value" | "added" | "removed" | "changed" | "renamed";

/** What shows that two ops are one. */
export type Evidence = "name" | "structure" | "values" | "hand";

/** One difference in the list. */
export interface Step {
  readonly kind: StepKind;
  /** The name scope that it is listed under. */
  readonly scope: string;
  /** The op of the left graph, or a scope with its slash; of an added op one beside it that both have, or "". */
  readonly before: string;
  /** The op of the right graph, or a scope with its slash; of a removed op one beside it that both have, or "". */
  readonly after: string;
  readonly details: readonly (readonly [what: string, before: string, after: string])[];
  /** How far values are apart; how many ops were renamed at once. */
  readonly note: string;
}

export interface BesideDocument {
  readonly titles: readonly [before: string, after: string];
  readonly summary: string;
  readonly sentences: readonly string[];
  /** Scopes that were renamed; what is in one is in the other by the same name. */
  readonly scopes: readonly (readonly [before: string, after: string])[];
  /** Ops that the scopes do not say; null for no op. */
  readonly ops: readonly (readonly [before: string | null, after: string | null])[];
  /** Ops that a person has paired. */
  readonly pairs: readonly (readonly [before: string, after: string])[];
  /** The ops of the right graph by what shows which op of the left one they are: all but the most. */
  readonly evidence: Readonly<Partial<Record<Evidence, readonly string[]>>>;
  readonly steps: readonly Step[];
  /** Of which `steps` has the first. */
  readonly total: number;
  /** Whether the graphs were run, and their tensors compared. */
  readonly compared: boolean;
}

/** The document of gzipped JSON. */
export async function readDocument(bytes: BlobPart): Promise<BesideDocument> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
