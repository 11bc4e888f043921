// Request lines and headers (RFC 9112, sections 3 and 5), and credentials (RFC 6750), misleading or
// larger than the limits. What only Bun's HTTP parser decides is Bun's to test.

import { bodyBytes, create, type HostileRequest, type Outcome, row } from "./hostile-request.ts";

const length = `Content-Length: ${bodyBytes}`;

type Rows = readonly [part: string, ...Outcome[]][];

const lines: Rows = [
  ["POST http://plants.example/plants HTTP/1.1", "created"],
  ["POST http://elsewhere.example/plants HTTP/1.1", "created"],
  ["POST /plants? HTTP/1.1", "created"],
  ["POST /plants?token=$TOKEN HTTP/1.1", "created"],
  // RFC 3986, section 6.2.2.3: these are equivalent forms of one URI.
  ["POST /./plants HTTP/1.1", "created"],
  ["POST /x/../plants HTTP/1.1", "created"],
  ["POST /../../plants HTTP/1.1", "created"],
  ["POST /x/%2e%2e/plants HTTP/1.1", "created"],
  ["POST /plants/.. HTTP/1.1", "methodNotAllowed"],
  ["POST //plants HTTP/1.1", "notFound"],
  ["POST /plants/ HTTP/1.1", "notFound"],
  ["POST /%70lants HTTP/1.1", "notFound"],
  ["POST /plants%00 HTTP/1.1", "notFound"],
  ["POST /plants%2f HTTP/1.1", "notFound"],
  ["POST /plants;a=b HTTP/1.1", "notFound"],
  ["POST /plants#x HTTP/1.1", "notFound"],
  ["POST /Plants HTTP/1.1", "notFound"],
  ["POST /plants\xc3\xa9 HTTP/1.1", "notFound", "bare"],
  ["POST /pl\xffnts HTTP/1.1", "notFound", "bare"],
  ["POST /\\plants HTTP/1.1", "notFound", "bare"],
  ["POST plants HTTP/1.1", "bare"],
  ["POST ftp://plants.example/plants HTTP/1.1", "bare", "notFound"],
  ["POST /plants HTTP/2.0", "bare"],
  ["P\0ST /plants HTTP/1.1", "bare"],
  ["CONNECT plants.example:80 HTTP/1.1", "methodNotAllowed", "bare"],
  ["PATCH /plants HTTP/1.1", "methodNotAllowed"],
  ["M-SEARCH /plants HTTP/1.1", "methodNotAllowed", "bare"],
  ["POST /plants HTTP/1.0", "created"],
  ["POST /openapi.json HTTP/1.1", "methodNotAllowed"],
];

const headers: Rows = [
  ["X: a\r\n b", "bare"],
  ["X:", "created"],
  ["X: \t ", "created"],
  ["X: a\xffb", "created"],
  ["Expect: 100-continue", "created"],
  ["Expect: 200-ok", "created", "bare"],
  ["Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", "created"],
  [
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "created",
  ],
  ["Content-Encoding: gzip", "unsupportedMediaType"],
  ["Content-Encoding: identity", "created"],
  ["X-HTTP-Method-Override: GET", "created"],
  ["X-Original-URL: /other", "created"],
  ["X-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1", "created"],
  [`X-Request-Id: ${"a".repeat(5_000)}`, "created"],
  ["traceparent: 00-00000000000000000000000000000000-0000000000000000-00", "created"],
  ["Range: bytes=0-0", "created"],
  ["If-None-Match: *", "created"],
  ["Cookie: a=b; Authorization: Bearer x", "created"],
  ["Proxy-Authorization: Bearer x", "created"],
];

/** Other values are in the fuzzer's corpus. */
const authorizations: Rows = [
  ["Authorization: bearer $TOKEN", "created"],
  ["Authorization:Bearer $TOKEN", "created"],
  ["AUTHORIZATION: Bearer $TOKEN", "created"],
  ["Authorization: Bearer $TOKEN ", "created"],
  ["", "missingToken"],
  ["Authorization:", "missingToken"],
  ["Authorization: Bearer$TOKEN", "missingToken"],
  ["Authorization: Bearer\t$TOKEN", "missingToken", "invalidToken"],
  ["Authorization: Bearer $TOKEN\r\nAuthorization: Bearer $TOKEN", "invalidToken"],
  ["Authorization: Bearer x\r\nAuthorization: Bearer $TOKEN", "invalidToken"],
  ["Authorization: Bearer $TOKEN\r\nAuthorization: Basic x", "invalidToken"],
  ["Authorization: Bearer $TOKEN\xa0", "invalidToken"],
  ["Authorization: Bearer \xa0$TOKEN", "invalidToken"],
  [`Authorization: Bearer ${"x".repeat(9_000)}`, "invalidToken"],
  [`Authorization: Bearer ${".".repeat(9_000)}`, "invalidToken"],
  ["Authorization : Bearer $TOKEN", "bare"],
  ["Authorization_: Bearer $TOKEN", "missingToken"],
  ["Cookie: Authorization=Bearer $TOKEN", "missingToken"],
];

const mediaTypes: Rows = [
  ["content-type: APPLICATION/JSON", "created"],
  ["Content-Type: application/json;charset=utf-8", "created"],
  ['Content-Type: application/json; a="\\""; charset="UTF-8"', "created"],
  ["Content-Type: application/json;", "created"],
  ["Content-Type: application/json; charset=utf-16", "unsupportedMediaType"],
  ["Content-Type: application/json; charset=utf-7", "unsupportedMediaType"],
  ["Content-Type: application/json\r\nContent-Type: application/json", "unsupportedMediaType"],
  ["Content-Type: application/json\r\nContent-Type: text/plain", "unsupportedMediaType"],
  ["Content-Type: application/json, text/plain", "unsupportedMediaType"],
  ["Content-Type: text/plain; a=application/json", "unsupportedMediaType"],
  ["Content-Type: application/json\xa0", "unsupportedMediaType"],
  ["Content-Type: application /json", "unsupportedMediaType"],
  ["Content-Type: application/x-www-form-urlencoded", "unsupportedMediaType"],
  ["Content-Type: multipart/form-data; boundary=x", "unsupportedMediaType"],
  ["Content-Type: */*", "unsupportedMediaType"],
  ["Content-Type:", "unsupportedMediaType"],
  ["", "unsupportedMediaType"],
  [`Content-Type: ${"a".repeat(8_000)}`, "unsupportedMediaType"],
  [`Content-Type: application/json${";".repeat(8_000)}`, "created", "unsupportedMediaType"],
];

const otherProtocols = [
  row("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "bare"),
  row("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "bare"),
  row("zeros", "\0".repeat(10_000), "bare"),
  row("bytes of every value", String.fromCharCode(...Array(256).keys()).repeat(10), "bare"),
];

const flood = (count: number) => Array.from({ length: count }, (_, index) => `X${index}: y`).join("\r\n");

const floods = [
  create("100 headers", { framing: `${length}\r\n${flood(100)}` }, "created"),
  create("250 headers", { framing: `${length}\r\n${flood(250)}` }, "bare"),
  create("10,000 headers", { framing: `${length}\r\n${flood(10_000)}` }, "bare"),
  create("10,000 times one header", { framing: `${length}\r\n${"X: y\r\n".repeat(10_000)}Y: z` }, "bare"),
  create("a header of 10 KB", { framing: `${length}\r\nX: ${"y".repeat(10_000)}` }, "created"),
  create("a header of 1 MB", { framing: `${length}\r\nX: ${"y".repeat(1_000_000)}` }, "bare"),
  create("a header's name of 1 MB", { framing: `${length}\r\n${"X".repeat(1_000_000)}: y` }, "bare"),
  create("a path of 1 MB", { line: `POST /${"a".repeat(1_000_000)} HTTP/1.1` }, "bare"),
  create("a query of 10 KB", { line: `POST /plants?${"a".repeat(10_000)} HTTP/1.1` }, "created"),
  create(
    "a path of 4,000 steps up",
    { line: `POST /${"../..".repeat(4_000)}plants HTTP/1.1` },
    "created",
    "bare",
  ),
  row("a megabyte without a line", "x".repeat(1_000_000), "bare"),
  row("a megabyte of empty lines", "\r\n".repeat(500_000), "bare"),
];

/** Creates named by the part that is as a row says. */
const withPart = (rows: Rows, toParts: (part: string) => Parameters<typeof create>[1]) =>
  rows.map(([part, ...allowed]) => create(JSON.stringify(part).slice(0, 80), toParts(part), ...allowed));

export const heads: readonly HostileRequest[] = [
  ...withPart(lines, (line) => ({ line })),
  ...withPart(headers, (added) => ({ framing: `${added}\r\n${length}` })),
  ...withPart(authorizations, (authorization) => ({ authorization })),
  ...withPart(mediaTypes, (contentType) => ({ contentType })),
  ...otherProtocols,
  ...floods,
];
