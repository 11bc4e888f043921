// The body of a request: its media type, and its bytes up to a limit.

import { MIMEType } from "node:util";
import { ContractError } from "../contract/errors.ts";

/** Why a request's media type cannot be accepted, or undefined if it is JSON in UTF-8. */
export function judgeMediaType(headers: Headers): ContractError | undefined {
  const contentType = headers.get("content-type");
  if (contentType === "application/json") return undefined;
  if (contentType === null) return notJsonMediaType("The Content-Type is missing; send application/json.");

  const mediaType = parseMediaType(contentType);
  if (mediaType?.essence !== "application/json") {
    return notJsonMediaType(`The Content-Type is ${contentType}; send application/json.`);
  }
  const charset = mediaType.params.get("charset");
  if (charset !== null && charset.toLowerCase() !== "utf-8") {
    return notJsonMediaType(
      `The Content-Type has charset ${charset}; send application/json, which is UTF-8.`,
    );
  }
  return undefined;
}

/** The bytes of a body, or bodyTooLarge. What is over the limit is not read, whether it was announced or not. */
export async function readBody(request: Request, bodyBytesMax: number): Promise<Uint8Array | ContractError> {
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    return Number(announced) > bodyBytesMax ? tooLarge(bodyBytesMax) : request.bytes();
  }
  if (request.body === null) return new Uint8Array();

  return readChunked(request.body, bodyBytesMax);
}

/** Copies chunks into one buffer that doubles: kept as they come, a megabyte in chunks of one byte would hold 100. */
async function readChunked(
  body: ReadableStream<Uint8Array>,
  bodyBytesMax: number,
): Promise<Uint8Array | ContractError> {
  let buffer = new Uint8Array(Math.min(bodyBytesMax, 4_096));
  let bytes = 0;
  for await (const chunk of body) {
    const needed = bytes + chunk.length;
    if (needed > bodyBytesMax) return tooLarge(bodyBytesMax);
    if (needed > buffer.length) {
      const larger = new Uint8Array(Math.min(bodyBytesMax, 2 * needed));
      larger.set(buffer.subarray(0, bytes));
      buffer = larger;
    }
    buffer.set(chunk, bytes);
    bytes = needed;
  }
  return buffer.subarray(0, bytes);
}

function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    // MIMEType throws on what is no media type, and on nothing else.
    return undefined;
  }
}

function notJsonMediaType(message: string): ContractError {
  return new ContractError("notJsonMediaType", message);
}

function tooLarge(bodyBytesMax: number): ContractError {
  return new ContractError(
    "bodyTooLarge",
    `The body is over the limit of ${bodyBytesMax} bytes; send a smaller plant.`,
  );
}
