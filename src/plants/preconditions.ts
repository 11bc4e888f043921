// Checks the conditions of requests, which name entity tags (RFC 9110, section 8.8.3).

import { ApiError } from "../base/errors.ts";

/** Whether a request has conditions: without them no tag is needed. */
export function isConditional(headers: Headers): boolean {
  return headers.has("if-match") || headers.has("if-none-match");
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
  const excluded = headers.get("if-none-match");
  return excluded !== null && hasTag(excluded.replaceAll("W/", ""), current);
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
