// What can be made of a selection without a kernel.
import * as original from "../../selecting";

export type { Derivation, Verb } from "../../selecting";

export const DERIVATIONS = original.DERIVATIONS.filter(({ verb }) => verb !== "whole" && verb !== "boundary");
export const { isSelecting, whyNot } = original;
