// Reads the bodies of requests to the console and to the sandbox's control.

import { ApiError, statusOf } from "../base/errors.ts";
import { type BodyLimits, BodyReader } from "../http/body-reader.ts";
import { parseExactJson } from "../json/exact-json.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { AdminError } from "./admin-responses.ts";

/** Reads bodies within limits. Throws an AdminError for one that it rejects. */
export class RequestBodies {
  readonly #limits: BodyLimits;
  readonly #reader: BodyReader;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#reader = new BodyReader(limits);
  }

  /**
   * Reads a JSON object, in which an integer that is not safe is a bigint.
   *
   * @param peer the address at the other end of the connection.
   */
  async json(request: Request, peer: string): Promise<Readonly<Record<string, unknown>>> {
    const value = parseJson(await this.#bytes(request, peer));
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new AdminError(400, "The body must be a JSON object.");
    return value as Readonly<Record<string, unknown>>;
  }

  async #bytes(request: Request, peer: string): Promise<Uint8Array> {
    // Rejects if the client disconnects before its body has arrived.
    const bytes = await this.#reader.read(request, { key: peer }).catch(() => undefined);
    if (bytes === undefined) throw new AdminError(400, "The body has not arrived.");
    if (!(bytes instanceof ApiError)) return bytes;
    const isTooLarge = bytes.code === "contentTooLarge";
    const message = isTooLarge
      ? `The body is larger than ${this.#limits.bodyBytesMax} bytes.`
      : bytes.message;
    // The rest of the body is not read.
    throw new AdminError(statusOf(bytes.code), message, { Connection: "close" });
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseExactJson(decodeUtf8(bytes) ?? "");
  } catch {
    return undefined;
  }
}
