// The media type of a body.

import { MIMEType } from "node:util";
import { ApiError } from "../contract/errors.ts";

/** Why a request's media type cannot be accepted, or undefined if it is JSON in UTF-8. */
export function checkMediaType(headers: Headers): ApiError | undefined {
  const contentType = headers.get("content-type");
  if (contentType === "application/json") return undefined;
  if (contentType === null)
    return unsupportedMediaType("The Content-Type is missing; send application/json.");

  const mediaType = parseMediaType(contentType);
  if (mediaType?.essence !== "application/json") {
    return unsupportedMediaType(`The Content-Type is ${contentType}; send application/json.`);
  }
  const charset = mediaType.params.get("charset");
  if (charset !== null && charset.toLowerCase() !== "utf-8") {
    return unsupportedMediaType(
      `The Content-Type has charset ${charset}; send application/json, which is UTF-8.`,
    );
  }
  return undefined;
}

function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    // MIMEType throws on what is no media type, and on nothing else.
    return undefined;
  }
}

function unsupportedMediaType(message: string): ApiError {
  return new ApiError("unsupportedMediaType", message);
}
