// Requests that a page cannot fulfil.
/** A request cannot be fulfilled; the message is a sentence for the user. */
export class Refusal extends Error {}

export const NO_KERNEL = "This page has no kernel; open the graph in a notebook to change it.";
