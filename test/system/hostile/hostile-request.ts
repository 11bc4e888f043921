// Hostile requests as data: a name, bytes, and the allowed outcomes.

import type { ErrorCode } from "../../../src/core/contract/errors.ts";

/**
 * `created` is a 200 with the Plant, and the plant in the store. `bare` is a rejection by the HTTP
 * parser: the connection is closed, after a status without a body or without a response.
 * `destroySockets` is the same after a complete plant, which may be stored: creating it again is
 * safe. `served` is a 200 with the OpenAPI document or its page. An error code is the status and
 * the Error body of that code.
 */
export type Outcome = "created" | "bare" | "destroySockets" | "served" | ErrorCode;

export interface HostileRequest {
  readonly name: string;
  /**
   * In Latin-1. $ID, $BODY, $TOKEN and $SMUGGLED are placeholders for values that differ from run
   * to run.
   */
  readonly bytes: string;
  readonly allowed: readonly Outcome[];
}

/** Parts of a create. Those left undefined have valid defaults; "" omits a part. */
interface CreateParts {
  readonly line?: string;
  readonly host?: string;
  readonly authorization?: string;
  readonly contentType?: string;
  readonly framing?: string;
  readonly body?: string;
}

/** The id of requests that are hidden in other requests: it must never be stored. */
export const smuggledId = 999_999n;

/** Ids have six digits, so that all values of $BODY have the same length. */
export const firstId = 100_000n;
export const bodyBytes = bodyOf(firstId).length;
export const bodyBytesHex = bodyBytes.toString(16);

const smuggledBody = `{"id":${smuggledId},"name":"smuggled"}`;
const smuggled = createBytes({ body: smuggledBody });
/** The length of $SMUGGLED, with a token of the usual length. */
export const smuggledBytes = fill(smuggled, { id: firstId, token: `pst_${"x".repeat(43)}` }).length;

export function row(name: string, bytes: string, ...allowed: Outcome[]): HostileRequest {
  return { name, bytes, allowed };
}

/** One row of a table: a create that is valid except for the given parts. */
export function create(name: string, parts: CreateParts, ...allowed: Outcome[]): HostileRequest {
  return row(name, createBytes(parts), ...allowed);
}

/** The bytes of a create that is valid except for the given parts. */
export function createBytes(parts: CreateParts = {}): string {
  const body = parts.body ?? "$BODY";
  const length = body === "$BODY" ? bodyBytes : body.length;
  const head = [
    parts.line ?? "POST /plants HTTP/1.1",
    parts.host ?? "Host: plants.example",
    parts.authorization ?? "Authorization: Bearer $TOKEN",
    parts.contentType ?? "Content-Type: application/json",
    parts.framing ?? `Content-Length: ${length}`,
  ].filter((line) => line !== "");
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** $BODY as the only chunk, between the given lines. */
export function chunked(
  sizeLine: string = bodyBytesHex,
  afterData: string = "\r\n",
  end: string = "0\r\n\r\n",
): string {
  return `${sizeLine}\r\n$BODY${afterData}${end}`;
}

/** Substitutes the placeholders in the bytes of a row. */
export function fill(bytes: string, { id, token }: { id: bigint; token: string }): string {
  return bytes
    .replaceAll("$SMUGGLED", smuggled)
    .replaceAll("$BODY", bodyOf(id))
    .replaceAll("$ID", String(id))
    .replaceAll("$TOKEN", token);
}

export function bodyOf(id: bigint): string {
  return `{"id":${id},"name":"Monstera"}`;
}

/** The Plant that is returned for $BODY. */
export const createdPlant = '{"name":"Monstera"}';
