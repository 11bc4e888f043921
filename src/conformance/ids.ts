// The ids of a run: random ranges, so that the plants of earlier runs and of others do not matter.

import { fieldNames, groupField, isRequired, sample, titleField, typeOf } from "../core/contract/fields.ts";

/** A range of ids, both ends included. */
export interface IdRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** More ids than a run uses. */
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
  #exactUsed = 0n;
  #groupsUsed = 0n;
  #distancesUsed = 0n;

  constructor() {
    const [first = 0n, second = 0n, third = 0n] = crypto.getRandomValues(new BigUint64Array(3));
    this.#exact = 2n ** 34n + (first % 2n ** 50n);
    this.#wide = 2n ** 60n + ((second % 2n ** 61n) / groupSize) * groupSize;
    this.#distance = 2n ** 30n + ((third % 2n ** 40n) / groupSize) * groupSize;
  }

  /** A new id below 2^53. */
  next(): bigint {
    return this.#exact + this.#exactUsed++;
  }

  /** Three new ids above 2^60 that are equal as doubles. */
  nextGroup(): readonly [bigint, bigint, bigint] {
    const first = this.#wide + groupSize * this.#groupsUsed++;
    return [first, first + 1n, first + 2n];
  }

  /** A new distance from a limit of int64. Ids at two distances differ also as doubles. */
  nextDistance(): bigint {
    return this.#distance + groupSize * this.#distancesUsed++;
  }

  /** The ranges of a run's ids. It also uses 0 and the limits of int64. */
  get ranges(): readonly IdRange[] {
    const exact = { from: this.#exact, to: this.#exact + rangeSize - 1n };
    const wide = { from: this.#wide, to: this.#wide + rangeSize - 1n };
    const shifted = { from: exact.from + 2n ** 32n, to: exact.to + 2n ** 32n };
    const largest = 2n ** 63n - 1n - this.#distance;
    const high = { from: largest - rangeSize, to: largest };
    const low = { from: -high.to - 1n, to: -high.from - 1n };
    // Ids are also sent with an exponent of 2.
    const hundredfold = { from: 100n * exact.from, to: 100n * exact.to };
    return [low, negated(wide), negated(exact), exact, shifted, hundredfold, wide, high];
  }
}

function negated({ from, to }: IdRange): IdRange {
  return { from: -to, to: -from };
}

/** The fields that a plant of the rules has besides its title: those that are required. */
const requiredFields = fieldNames.filter((field) => field !== titleField && isRequired(field));
const requiredValues = requiredFields.map(
  (field) => [field, JSON.stringify(typeOf(field).toJson(sample()[field]))] as const,
);

/** The required values of a plant of the rules besides its title, as JSON.parse has them. */
export const otherValues: readonly (readonly [field: string, value: unknown])[] = requiredValues.map(
  ([field, text]) => [field, JSON.parse(text)],
);

/** The start of a plant's members up to the value of its title, such as `"name":`. */
export const named = `${requiredValues.map(([field, text]) => `"${field}":${text},`).join("")}"${titleField}":`;

/** The field that groups plants, if there is one. */
export const groupFields = groupField === undefined ? [] : [groupField];

/** The start of the member that groups plants. Without a group it is an unknown member. */
export const tagged = `"${groupField ?? "tag"}":`;

export function plantJson(id: bigint, name: string, tag?: string): string {
  const rest = tag === undefined ? "" : `,${tagged}${JSON.stringify(tag)}`;
  return `{"id":${id},${named}${JSON.stringify(name)}${rest}}`;
}
