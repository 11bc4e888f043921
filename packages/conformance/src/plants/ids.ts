// Chooses the ids of a run by its seed, so that the plants of earlier runs and of others do not
// matter.

import { createHash } from "node:crypto";
import { type IdLimits, isWide } from "./id-limits.ts";

/** A run uses fewer ids, one after another. */
const rangeSize = 2n ** 20n;

/** Ids that are equal as doubles lie in one of these. */
const groupSize = 2n ** 12n;

/** The ids of one run, each of which is used once. */
export class IdSource {
  /** Exact as doubles, beyond 32 bits, and beyond what people number plants with. */
  readonly #exact: bigint;
  /** Neighbours are equal as doubles. */
  readonly #wide: bigint;
  /** Distances of ids from the limits of int64. */
  readonly #distance: bigint;
  /** Whether the contract allows ids beyond doubles, and with them all that are not negative. */
  readonly #isWide: boolean;
  #exactUsed = 0n;
  #groupsUsed = 0n;
  #distancesUsed = 0n;

  constructor(seed: number, limits: IdLimits) {
    const bytes = createHash("sha256").update(String(seed)).digest();
    const [first, second, third] = [0, 8, 16].map((at) => bytes.readBigUInt64LE(at)) as [
      bigint,
      bigint,
      bigint,
    ];
    this.#isWide = isWide(limits);
    this.#exact = this.#isWide ? 2n ** 34n + (first % 2n ** 50n) : idWithin(limits, first);
    this.#wide = 2n ** 60n + ((second % 2n ** 61n) / groupSize) * groupSize;
    this.#distance = 2n ** 30n + ((third % 2n ** 40n) / groupSize) * groupSize;
  }

  /** A new id, below 2^53 if larger ones are allowed, too. */
  next(): bigint {
    return this.#exact + this.#exactUsed++;
  }

  /** Three new ids above 2^60 that are equal as doubles, where such ids are allowed. */
  nextGroup(): readonly [bigint, bigint, bigint] {
    if (!this.#isWide) return [this.next(), this.next(), this.next()];
    const first = this.#wide + groupSize * this.#groupsUsed++;
    return [first, first + 1n, first + 2n];
  }

  /** A new distance from a limit of int64. Ids at two distances differ also as doubles. */
  nextDistance(): bigint {
    return this.#distance + groupSize * this.#distancesUsed++;
  }
}

/** The start of a range, in the upper half of those that are allowed: they have the most digits. */
function idWithin({ least, greatest }: IdLimits, random: bigint): bigint {
  const first = least > greatest / 2n ? least : greatest / 2n;
  return first + (random % (greatest - rangeSize - first));
}
