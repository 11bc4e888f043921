// Finds the smallest and the largest id that a contract allows, from which a run chooses its own.

import { OperatorError } from "../../../../src/base/operator-error.ts";
import type { Collection } from "../../../../src/contract/contract.ts";
import { int64Max, int64Min } from "../../../../src/json/int64.ts";

/** The smallest and the largest id. */
export interface IdLimits {
  readonly least: bigint;
  readonly greatest: bigint;
}

/** The numbers of ids that fit into each kind of text. */
const textLimits: IdLimits = { least: 0n, greatest: 2n ** 47n };

/** A run needs this many consecutive ids. */
const idsMin = 2n ** 22n;

/** Finds the limits of a contract's ids. Throws an OperatorError if a run cannot make them. */
export function idLimitsOf({ id, examples, words }: Collection): IdLimits {
  const unfit = (needed: string) =>
    new OperatorError(`${needed}, but the id of a ${words.one} must be ${id.type.expected}`, 2);
  if (id.type.kind.name !== "integer") {
    if (id.format !== undefined) return textLimits;
    throw unfit("the rules need ids that they can make, such as UUIDs");
  }
  const isAllowed = (value: bigint) => id.type.parse(String(value)) !== undefined;
  const start = BigInt(examples[0]?.id ?? 1n);
  const least = furthest(start, int64Min, isAllowed);
  const greatest = furthest(start, int64Max, isAllowed);
  const first = least > 0n ? least : 0n;
  if (greatest - first < idsMin || !isAllowed(greatest - 1n) || !isAllowed(greatest - 12_345n))
    throw unfit(`the rules need ${idsMin} ids one after another`);
  return { least, greatest };
}

/** Bisects for the last allowed id on the way from `start`, which is allowed, to `end`. */
function furthest(start: bigint, end: bigint, isAllowed: (id: bigint) => boolean): bigint {
  if (isAllowed(end)) return end;
  let [inside, outside] = [start, end];
  for (;;) {
    const middle = (inside + outside) / 2n;
    if (middle === inside || middle === outside) return inside;
    if (isAllowed(middle)) inside = middle;
    else outside = middle;
  }
}

/** Whether every allowed positive id is also allowed with a minus sign. */
export function hasNegative({ least, greatest }: IdLimits): boolean {
  return least <= -greatest;
}

/** Whether ids may be so large that doubles lose their digits. */
export function isWide({ least, greatest }: IdLimits): boolean {
  return greatest >= 2n ** 62n && least <= 2n ** 34n;
}

export function isAllInt64({ least, greatest }: IdLimits): boolean {
  return least === int64Min && greatest === int64Max;
}
