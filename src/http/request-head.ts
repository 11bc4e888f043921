// Checks the head of a request before its body is read: the parameters that the contract describes, and
// then the format of the body.

import { MIMEType } from "node:util";
import { ApiError } from "../base/errors.ts";
import { type CheckedParameter, isMatch } from "../contract/contract.ts";
import { acceptsText } from "../contract/schema-check.ts";

/** The media types of most bodies. */
export const jsonOnly: readonly string[] = ["application/json"];

/**
 * The error of a head.
 *
 * @param types the media types of the body; undefined if none is read.
 */
export function checkHead(
  request: Pick<Request, "headers" | "url">,
  checked: readonly CheckedParameter[] | undefined,
  types: readonly string[] | undefined,
): ApiError | undefined {
  return (checked && checkParameters(request, checked)) ?? (types && checkMediaType(request.headers, types));
}

function checkParameters(
  { headers, url }: Pick<Request, "headers" | "url">,
  checked: readonly CheckedParameter[],
): ApiError | undefined {
  const query = new URLSearchParams(url.split("?", 2)[1]);
  for (const { in: where, name, isRequired, check } of checked) {
    const value = where === "header" ? headers.get(name) : query.get(name);
    if (value === null && isRequired && where === "header") return missingHeader(name, check.expected);
    if (value === null ? isRequired : !acceptsText(check, value))
      return new ApiError("invalidParameter", `The ${nouns[where]} ${name} must be ${check.expected}.`);
  }
  return undefined;
}

const nouns = { header: "header", query: "parameter" };

/** @param expected the values that it may have, in words. */
export function missingHeader(name: string, expected: string): ApiError {
  const code = isMatch(name) ? "preconditionRequired" : "invalidParameter";
  return new ApiError(code, `The header ${name} is missing, which must be ${expected}.`);
}

/** Why a body's format is not accepted; undefined if it is plain JSON in UTF-8. */
function checkMediaType(headers: Headers, types: readonly string[]): ApiError | undefined {
  const contentEncoding = headers.get("content-encoding");
  if (contentEncoding !== null && contentEncoding.toLowerCase() !== "identity")
    return unsupportedMediaType(`The Content-Encoding is ${contentEncoding}; send the JSON as it is.`);

  const contentType = headers.get("content-type");
  if (contentType !== null && types.includes(contentType)) return undefined;
  const wanted = types.join(" or ");
  if (contentType === null) return unsupportedMediaType(`The Content-Type is missing; send ${wanted}.`);

  const mediaType = parseMediaType(contentType);
  // Several header lines come as one, joined by commas.
  if (mediaType === undefined || !types.includes(mediaType.essence)) {
    const several = contentType.includes(",") ? `has several values, ${contentType}; send one,` : undefined;
    return unsupportedMediaType(`The Content-Type ${several ?? `is ${contentType}; send`} ${wanted}.`);
  }
  const charset = mediaType.params.get("charset");
  if (charset !== null && !/^utf-?8$/i.test(charset)) {
    return unsupportedMediaType(`The Content-Type has charset ${charset}; send ${wanted}, which is UTF-8.`);
  }
  return undefined;
}

function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    // MIMEType throws for a malformed media type, and for nothing else.
    return undefined;
  }
}

function unsupportedMediaType(message: string): ApiError {
  return new ApiError("unsupportedMediaType", message);
}
