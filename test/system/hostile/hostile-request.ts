// Hostile requests as data: a name, bytes, and the allowed outcomes.

import type { ErrorCode } from "../../../src/contract/errors.ts";

/**
 * `created` is a 200 with the Plant, and the plant in the store. `bare` is the HTTP parser's refusal: the connection is
 * closed, with a status and no body or without a response. `destroySockets` is the same behind a plant that was whole, so that it may
 * be stored: creating it again is safe. The name of an error is its status and its Error body. `served`
 * is a 200 of the description or its page.
 */
export type Outcome = "created" | "bare" | "destroySockets" | "served" | ErrorCode;

export interface HostileRequest {
  readonly name: string;
  /** A character a byte. $ID, $BODY, $TOKEN and $SMUGGLED stand for what differs from run to run. */
  readonly bytes: string;
  readonly allowed: readonly Outcome[];
}

/** The parts of a create that a row does not give are those of a good one. "" leaves a part out. */
interface CreateParts {
  readonly line?: string;
  readonly host?: string;
  readonly authorization?: string;
  readonly contentType?: string;
  readonly framing?: string;
  readonly body?: string;
}

/** The id of no request but those that hide in others: it must never be stored. */
export const smuggledId = 999_999n;

/** Ids of six digits, so that every $BODY is as long as any other. */
export const firstId = 100_000n;
export const bodyBytes = bodyOf(firstId).length;
export const bodyBytesHex = bodyBytes.toString(16);

const smuggledBody = `{"id":${smuggledId},"name":"smuggled"}`;
const smuggled = createBytes({ body: smuggledBody });
/** Of $SMUGGLED, with a token of the length that tokens have. */
export const smuggledBytes = fill(smuggled, { id: firstId, token: `pst_${"x".repeat(43)}` }).length;

/** One row of a table. */
export function row(name: string, bytes: string, ...allowed: Outcome[]): HostileRequest {
  return { name, bytes, allowed };
}

/** One row of a table: a create that is good but for the parts that are given. */
export function create(name: string, parts: CreateParts, ...allowed: Outcome[]): HostileRequest {
  return row(name, createBytes(parts), ...allowed);
}

/** The bytes of a create that is good but for the parts that are given. */
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

/** $BODY as the only chunk, with the lines around it as given. */
export function chunked(
  sizeLine: string = bodyBytesHex,
  afterData: string = "\r\n",
  end: string = "0\r\n\r\n",
): string {
  return `${sizeLine}\r\n$BODY${afterData}${end}`;
}

/** The bytes of a row, for one id and token. */
export function fill(bytes: string, { id, token }: { id: bigint; token: string }): string {
  return bytes
    .replaceAll("$SMUGGLED", smuggled)
    .replaceAll("$BODY", bodyOf(id))
    .replaceAll("$ID", String(id))
    .replaceAll("$TOKEN", token);
}

/** $BODY. */
export function bodyOf(id: bigint): string {
  return `{"id":${id},"name":"Monstera"}`;
}

/** The Plant of $BODY. */
export const createdPlant = '{"name":"Monstera"}';
