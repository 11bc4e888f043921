// Makes the entity tags (RFC 9110, section 8.8.3) of single resources, and checks the conditions
// that name them.

import { ApiError } from "../base/errors.ts";
import type { Collection } from "../contract/contract.ts";
import { plantJson } from "../contract/plant.ts";
import { createdVersion, type StoredPlant } from "../store/shared/plant-rows.ts";

/**
 * A strong tag, which never comes back: 132 bits of SHA-256 of the version, of the contract, which
 * makes the response, and, as two creations may share a millisecond, of a plant that was not changed.
 */
export function entityTag(
  collection: Collection,
  plant: Pick<StoredPlant, "id" | "values" | "createdAt" | "version">,
): string {
  const isCreated = plant.version === createdVersion(plant.createdAt);
  const content = isCreated ? plantJson(collection, plant) : "";
  const hash = Bun.SHA256.hash(`${collection.digest} ${plant.version} ${content}`, "base64url");
  return `"${hash.slice(0, 22)}"`;
}

/**
 * The error of a condition that does not hold: preconditionFailed.
 *
 * @param current the tag of what is stored; undefined if there is nothing.
 */
export function checkPreconditions(headers: Headers, current: string | undefined): ApiError | undefined {
  const failed = checkMatch(headers, current, "get it again, and repeat the change with its ETag");
  if (failed === undefined && excludes(headers, current))
    return preconditionFailed("If-None-Match", current, "leave the header out to change it");
  return failed;
}

/** The error of an If-Match that does not hold, also of a GET (section 13.1.1). */
export function checkMatch(headers: Headers, current: string | undefined, advice: string) {
  const match = headers.get("if-match");
  // The section compares strongly, so that a weak tag matches nothing.
  return match === null || hasTag(match, current)
    ? undefined
    : preconditionFailed("If-Match", current, advice);
}

/**
 * Whether If-None-Match names what is stored, so that it does not hold: a GET is answered with 304
 * (section 13.1.2, which compares weakly).
 *
 * @param current the tag of what is stored; undefined if there is nothing.
 */
export function excludes(headers: Headers, current: string | undefined): boolean {
  return hasTag((headers.get("if-none-match") ?? "").replaceAll("W/", ""), current);
}

/** Whether a list of tags has the current one; * stands for any. */
function hasTag(list: string, current: string | undefined): boolean {
  if (current === undefined) return false;
  return list
    .split(",")
    .map((tag) => tag.trim())
    .some((tag) => tag === "*" || tag === current);
}

function preconditionFailed(header: string, current: string | undefined, advice: string): ApiError {
  const found = current === undefined ? "there is nothing stored" : `the ETag is ${current}`;
  return new ApiError("preconditionFailed", `${header} does not hold, as ${found}; ${advice}.`);
}
