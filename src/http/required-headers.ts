// Checks the header fields that a contract requires of a request.

import { ApiError } from "../base/errors.ts";
import { isMatch, type RequiredHeader } from "../contract/contract.ts";
import { acceptsText } from "../contract/schema-check.ts";

/** The error of a header field that is missing, or that does not fit its schema. */
export function checkHeaders(
  headers: Headers,
  required: readonly RequiredHeader[] | undefined,
): ApiError | undefined {
  for (const { name, check } of required ?? []) {
    const value = headers.get(name);
    if (value === null) return missingHeader(name, check.expected);
    if (!acceptsText(check, value))
      return new ApiError("invalidParameter", `The header ${name} must be ${check.expected}.`);
  }
  return undefined;
}

/** @param expected the values that it may have, in words. */
export function missingHeader(name: string, expected: string): ApiError {
  const code = isMatch(name) ? "preconditionRequired" : "invalidParameter";
  return new ApiError(code, `The header ${name} is missing, which must be ${expected}.`);
}
