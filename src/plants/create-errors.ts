// Makes the errors with which the queue and the store end a create.

import { ApiError, unavailable } from "../base/errors.ts";
import type { Collection, Plant } from "../contract/contract.ts";
import { conflictError } from "../contract/plant.ts";
import type { CreateOutcome } from "../store/group-commit.ts";
import type { NewEntry } from "../store/plant-store.ts";

/**
 * The error of a plant that was not stored, or of which this is not known.
 *
 * @param key that of its create.
 */
export function errorOfOutcome(
  outcome: Exclude<CreateOutcome, "created" | "unchanged">,
  collection: Collection,
  plant: Plant,
  key?: NewEntry["key"],
): ApiError {
  const { one } = collection.words;
  switch (outcome) {
    case "conflict":
      return conflictError(collection, plant, typeof key === "string");
    case "taken":
      return new ApiError(
        "unavailable",
        `No id is left for another ${one}: all that the contract allows are taken. Nothing was stored.`,
      );
    case "tooLarge":
      return rowTooLarge;
    case "overloaded":
      return overloaded(collection);
    case "closed":
      return unavailable(`The server is stopping and did not store the ${one}`);
    case "unavailable":
      // Sent again, the plant would get another id.
      if (key === null)
        return new ApiError(
          "unavailable",
          `The store cannot be written now, and the ${one} may have been stored; check before you send it again, or send an Idempotency-Key.`,
        );
      return unavailable(
        `The store cannot be written now, and it is not known whether the ${one} was stored`,
      );
  }
}

/** The error of what the store has no room for in one row: on PostgreSQL some 8 KB of short values. */
export const rowTooLarge = new ApiError(
  "contentTooLarge",
  "The values are more than the store can keep in one row; send fewer or shorter ones.",
);

/** The error of a create that finds the queue full, or its caller's share of it. */
export function overloaded({ words }: Collection): ApiError {
  return unavailable(`The server is overloaded and did not store the ${words.one}`);
}

/** The error of a create whose plant was stored before, and cannot be read. */
export function unreadable({ words }: Collection): ApiError {
  return unavailable(`The ${words.one} was stored before, and cannot be read now`);
}
