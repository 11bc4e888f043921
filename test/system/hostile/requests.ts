// Hostile requests as data: a name, bytes, and the allowed outcomes. What a rule of conformance
// checks, or the fuzzer compares with an oracle, is not here.

import type { ErrorCode } from "../../../src/base/errors.ts";

/**
 * `created` is a 200 with the Plant, and the plant in the store. `bare` is a rejection by the HTTP
 * parser: the connection is closed, after a status without a body or without a response.
 * `destroySockets` is the same after a complete plant, which may be stored: creating it again is
 * safe. `served` is a 200 with the OpenAPI document or its page. An error code is the status and
 * the Error body of that code.
 */
type Outcome = "created" | "bare" | "destroySockets" | "served" | ErrorCode;

export interface HostileRequest {
  readonly name: string;
  /** In Latin-1. $ID, $BODY, $TOKEN and $SMUGGLED differ from run to run. */
  readonly bytes: string;
  readonly allowed: readonly Outcome[];
}

/** Parts of a create. Those left undefined have valid defaults; "" omits a part. */
interface CreateParts {
  readonly line?: string;
  readonly authorization?: string;
  readonly contentType?: string;
  readonly framing?: string;
  readonly body?: string;
}

/** The id of requests that are hidden in other requests: it must never be stored. */
export const smuggledId = 999_999n;

/** Ids have six digits, so that all values of $BODY have the same length. */
export const firstId = 100_000n;

/** The Plant that is returned for $BODY. */
export const createdPlant = '{"name":"Monstera"}';

export function bodyOf(id: bigint): string {
  return `{"id":${id},"name":"Monstera"}`;
}

const bodyBytes = bodyOf(firstId).length;
const smuggled = createBytes({ body: `{"id":${smuggledId},"name":"smuggled"}` });
/** The length of $SMUGGLED, with a token of the usual length. */
const smuggledBytes = fill(smuggled, { id: firstId, token: `pst_${"x".repeat(43)}` }).length;

/** Substitutes the placeholders in the bytes of a request. */
export function fill(bytes: string, { id, token }: { id: bigint; token: string }): string {
  return bytes
    .replaceAll("$SMUGGLED", smuggled)
    .replaceAll("$BODY", bodyOf(id))
    .replaceAll("$ID", String(id))
    .replaceAll("$TOKEN", token);
}

/** The bytes of a create that is valid except for the given parts. */
function createBytes({ body = "$BODY", ...parts }: CreateParts = {}): string {
  const length = body.replaceAll("$BODY", bodyOf(firstId)).replaceAll("$ID", String(firstId)).length;
  const head = [
    parts.line ?? "POST /plants HTTP/1.1",
    "Host: plants.example",
    parts.authorization ?? "Authorization: Bearer $TOKEN",
    parts.contentType ?? "Content-Type: application/json",
    parts.framing ?? `Content-Length: ${length}`,
  ].filter((line) => line !== "");
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

function raw(name: string, bytes: string, ...allowed: Outcome[]): HostileRequest {
  return { name, bytes, allowed };
}

function create(name: string, parts: CreateParts, ...allowed: Outcome[]): HostileRequest {
  return raw(name, createBytes(parts), ...allowed);
}

const length = `Content-Length: ${bodyBytes}`;
const chunked = "Transfer-Encoding: chunked";
const announced = { framing: `Content-Length: ${smuggledBytes}`, body: "$SMUGGLED" };
const inOneChunk = { framing: chunked, body: `${smuggledBytes.toString(16)}\r\n$SMUGGLED\r\n0\r\n\r\n` };
const sizeLine = bodyBytes.toString(16);

/** Creates whose body is not read, or is no plant: a request in it must not be found. */
const unread: readonly [name: string, parts: CreateParts, outcome: Outcome][] = [
  ["no credentials", { authorization: "" }, "missingToken"],
  ["unknown credentials", { authorization: "Authorization: Bearer unknown" }, "invalidToken"],
  ["no such path", { line: "POST /plant HTTP/1.1" }, "notFound"],
  ["GET", { line: "GET /plants HTTP/1.1" }, "methodNotAllowed"],
  ["TRACE", { line: "TRACE /plants HTTP/1.1" }, "methodNotAllowed"],
  ["GET of the description", { line: "GET /openapi.json HTTP/1.1" }, "served"],
  ["GET of the documentation page", { line: "GET / HTTP/1.1" }, "served"],
  ["another media type", { contentType: "Content-Type: text/plain" }, "unsupportedMediaType"],
  ["no plant", {}, "invalidJson"],
];

/** Framing that hides a request in another one, or contradicts itself (RFC 9112, section 6). */
export const framing: readonly HostileRequest[] = [
  ...unread.flatMap(([name, parts, outcome]) => [
    create(`a request in the body of ${name}`, { ...parts, ...announced }, outcome),
    create(`a request in a chunk of ${name}`, { ...parts, ...inOneChunk }, outcome),
  ]),
  create("two unequal lengths", { framing: `${length}\r\nContent-Length: 3` }, "bare"),
  create(
    "a length that ends a chunked body early, and a request behind it",
    { framing: `Content-Length: 5\r\n${chunked}`, body: "0\r\n\r\n$SMUGGLED" },
    "bare",
  ),
  create(
    "chunks that end an announced body early, and a request behind it",
    { framing: `${chunked}\r\nContent-Length: ${smuggledBytes + 5}`, body: "0\r\n\r\n$SMUGGLED" },
    "bare",
  ),
  create(
    "a request in a chunk extension",
    { framing: chunked, body: `${sizeLine};$SMUGGLED\r\n$BODY\r\n0\r\n\r\n` },
    "bare",
  ),
  create(
    "a request in the trailers",
    { framing: chunked, body: `${sizeLine}\r\n$BODY\r\n0\r\n$SMUGGLED` },
    "destroySockets",
  ),
  create("a chunk longer than its size", { framing: chunked, body: "1\r\n$BODY\r\n0\r\n\r\n" }, "bare"),
  create(
    "a request behind a body that is too large",
    { framing: `Content-Length: ${2 ** 20 + smuggledBytes}`, body: `${" ".repeat(2 ** 20)}$SMUGGLED` },
    "contentTooLarge",
  ),
  raw("a second request behind the first", createBytes().repeat(2), "created", "destroySockets"),
];

const flood = (count: number) => Array.from({ length: count }, (_, index) => `X${index}: y`).join("\r\n");

/** Request lines, headers and credentials that are misleading, or larger than the limits. */
export const heads: readonly HostileRequest[] = [
  create("a host in the target", { line: "POST http://elsewhere.example/plants HTTP/1.1" }, "created"),
  // RFC 3986, section 6.2.2.3: an equivalent form of one URI.
  create("steps up", { line: "POST /x/%2e%2e/../plants HTTP/1.1" }, "created"),
  create("4,000 steps up", { line: `POST /${"../..".repeat(4_000)}plants HTTP/1.1` }, "created", "bare"),
  // Section 6.2.2.2: another one.
  create("an encoded letter", { line: "POST /%70lants HTTP/1.1" }, "created"),
  ...["//plants", "/plants/", "/plants%00", "/plants;a=b", "/Plants"].map((path) =>
    create(path, { line: `POST ${path} HTTP/1.1` }, "notFound"),
  ),
  create("a byte in the path", { line: "POST /pl\xffnts HTTP/1.1" }, "notFound", "bare"),
  create("another version", { line: "POST /plants HTTP/2.0" }, "bare"),
  create("NUL in the method", { line: "P\0ST /plants HTTP/1.1" }, "bare"),
  create("CONNECT", { line: "CONNECT plants.example:80 HTTP/1.1" }, "methodNotAllowed", "bare"),
  create("another method by a header", { framing: `X-HTTP-Method-Override: GET\r\n${length}` }, "created"),
  create("another path by a header", { framing: `X-Original-URL: /other\r\n${length}` }, "created"),
  create("a request id of 5 KB", { framing: `X-Request-Id: ${"a".repeat(5_000)}\r\n${length}` }, "created"),
  create(
    "two tokens",
    { authorization: "Authorization: Bearer x\r\nAuthorization: Bearer $TOKEN" },
    "invalidToken",
  ),
  create("a token of 9 KB", { authorization: `Authorization: Bearer ${".".repeat(9_000)}` }, "invalidToken"),
  create("a space before the colon", { authorization: "Authorization : Bearer $TOKEN" }, "bare"),
  create("a similar name", { authorization: "Authorization_: Bearer $TOKEN" }, "missingToken"),
  create(
    "two media types",
    { contentType: "Content-Type: application/json\r\nContent-Type: text/plain" },
    "unsupportedMediaType",
  ),
  create(
    "8,000 parameters",
    { contentType: `Content-Type: application/json${";".repeat(8_000)}` },
    "created",
    "unsupportedMediaType",
  ),
  create("100 headers", { framing: `${length}\r\n${flood(100)}` }, "created"),
  create("10,000 headers", { framing: `${length}\r\n${flood(10_000)}` }, "bare"),
  create("a header of 1 MB", { framing: `${length}\r\nX: ${"y".repeat(1_000_000)}` }, "bare"),
  create("a path of 1 MB", { line: `POST /${"a".repeat(1_000_000)} HTTP/1.1` }, "bare"),
  raw("a megabyte without a line", "x".repeat(1_000_000), "bare"),
  raw("a megabyte of empty lines", "\r\n".repeat(500_000), "bare"),
  raw("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "bare"),
  raw("bytes of every value", String.fromCharCode(...Array(256).keys()).repeat(10), "bare"),
];

const digits = "9".repeat(1_000_000);

/** Bodies, each with what it holds. */
const bodies: readonly [name: string, body: string, ...Outcome[]][] = [
  ["nothing", "", "invalidJson"],
  ["gzip", "\x1f\x8b\x08\0\0\0\0\0", "invalidJson"],
  ["a name twice, the last one good", '{"id":$ID,"name":"smuggled","name":"Monstera"}', "created"],
  ["a prototype", '{"id":$ID,"name":"Monstera","__proto__":{"tag":"smuggled"}}', "created"],
  ["an id of a million digits", `{"id":${digits},"name":"Monstera"}`, "invalidPlant"],
  ["an id with an exponent of a million digits", `{"id":1e${digits},"name":"Monstera"}`, "invalidPlant"],
  ["an id with a million zeros", `{"id":$ID.${"0".repeat(1_000_000)},"name":"Monstera"}`, "created"],
  ["NULs in the name", `{"id":$ID,"name":"${"\\u0000".repeat(160_000)}"}`, "unstorableText"],
  ["400,000 arrays", withMember(`${"[".repeat(400_000)}${"]".repeat(400_000)}`), "created"],
  ["a megabyte of brackets that stay open", withMember("[".repeat(1_000_000)), "invalidJson"],
  ["a million zeros", withMember(`[${"0,".repeat(500_000)}0]`), "created"],
  ["one member 60,000 times", withMember(`{${'"a":0,'.repeat(60_000)}"a":0}`), "created"],
];

function withMember(value: string): string {
  return `{"id":$ID,"name":"Monstera","x":${value}}`;
}

export const badBodies: readonly HostileRequest[] = bodies.map(([name, body, ...allowed]) =>
  create(`a body: ${name}`, { body }, ...allowed),
);
