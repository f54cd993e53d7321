/** What is thrown where a request cannot be answered: one sentence for the person. */
export class Refusal extends Error {}

export const NO_KERNEL = "This page has no kernel; open the graph with tgw.edit(…) to change it.";
