// Chooses the ids of a run by its seed, so that the plants of earlier runs and of others do not
// matter.

import { createHash } from "node:crypto";
import { type IdFormat, isTextFormat } from "../../../../src/contract/plant-id.ts";
import { hasNegative, type IdLimits, isWide } from "./id-limits.ts";
import { replaceIds } from "./text-ids.ts";

/** A range of ids, both ends included. */
export interface IdRange {
  readonly from: bigint;
  readonly to: bigint;
  /** The distance from an id of the run to one that it has not used. */
  readonly unused: bigint;
  /** How the ids are written. */
  readonly format: IdFormat;
}

/** A run uses less than half of it: the rest is for sending its requests again. */
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
  readonly #hasNegative: boolean;
  readonly #format: IdFormat;
  #exactUsed = 0n;
  #groupsUsed = 0n;
  #distancesUsed = 0n;

  constructor(seed: number, limits: IdLimits, format: IdFormat) {
    this.#format = format;
    const bytes = createHash("sha256").update(String(seed)).digest();
    const [first, second, third] = [0, 8, 16].map((at) => bytes.readBigUInt64LE(at)) as [
      bigint,
      bigint,
      bigint,
    ];
    this.#isWide = isWide(limits);
    this.#hasNegative = hasNegative(limits);
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

  /** The ranges of a run's ids. It also uses 0 and the limits of int64. */
  get ranges(): readonly IdRange[] {
    const unused = rangeSize / 2n;
    const format = this.#format;
    const rangeAt = (from: bigint): IdRange => ({ from, to: from + rangeSize - 1n, unused, format });
    const exact = rangeAt(this.#exact);
    if (!this.#isWide) return [exact];
    const wide = rangeAt(this.#wide);
    const shifted = rangeAt(exact.from + 2n ** 32n);
    const low = rangeAt(this.#distance - 2n ** 63n);
    // Ids are also sent with an exponent of 2.
    const hundredfold = { from: 100n * exact.from, to: 100n * exact.to, unused: 100n * unused, format };
    const positive = [exact, shifted, hundredfold, wide, negated(low)];
    return this.#hasNegative ? [low, negated(wide), negated(exact), ...positive] : positive;
  }
}

/** The start of a range, in the upper half of those that are allowed: they have the most digits. */
function idWithin({ least, greatest }: IdLimits, random: bigint): bigint {
  const first = least > greatest / 2n ? least : greatest / 2n;
  return first + (random % (greatest - rangeSize - first));
}

/** A text in which each id of the run is replaced by one that the run has not used. */
export function withUnusedIds(text: string, ranges: readonly IdRange[]): string {
  const unusedFor = (id: bigint) => {
    const range = ranges.find(({ from, to }) => from <= id && id <= to);
    return range === undefined ? id : id + range.unused;
  };
  const format = ranges[0]?.format ?? "int64";
  if (isTextFormat(format)) return replaceIds(text, format, unusedFor);
  return text.replaceAll(/-?\d{7,30}/g, (digits) => {
    const id = BigInt(digits);
    const unused = unusedFor(id);
    return unused === id ? digits : String(unused);
  });
}

function negated({ from, to, unused, format }: IdRange): IdRange {
  return { from: -to, to: -from, unused: -unused, format };
}
