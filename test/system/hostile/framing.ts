// Message framing (RFC 9112, section 6) that hides a request in another one, or contradicts itself.

import {
  bodyBytes,
  bodyBytesHex,
  chunked,
  create,
  createBytes,
  type HostileRequest,
  type Outcome,
  row,
  smuggledBytes,
} from "./hostile-request.ts";

const length = `Content-Length: ${bodyBytes}`;
const te = "Transfer-Encoding";

const framed = (name: string, framing: string, ...allowed: Outcome[]) =>
  create(name, { framing }, ...allowed);

const inChunks = (name: string, body: string, ...allowed: Outcome[]) =>
  create(name, { framing: `${te}: chunked`, body }, ...allowed);

const contradictions = [
  framed("Content-Length and chunked", `${length}\r\n${te}: chunked`, "bare"),
  create(
    "Content-Length that ends a chunked body early, and a request behind it",
    { framing: `Content-Length: 5\r\n${te}: chunked`, body: "0\r\n\r\n$SMUGGLED" },
    "bare",
  ),
  create(
    "chunked that ends an announced body early, and a request behind it",
    { framing: `${te}: chunked\r\nContent-Length: ${smuggledBytes + 5}`, body: "0\r\n\r\n$SMUGGLED" },
    "bare",
  ),
  framed("two unequal Content-Lengths", `${length}\r\nContent-Length: 3`, "bare"),
  // RFC 9112, section 6.3: equal ones may be treated as one, or rejected.
  framed("two equal Content-Lengths", `${length}\r\n${length}`, "badRequest"),
  framed("Content_Length, which is another header", `Content_Length: 3\r\n${length}`, "created"),
];

const unreadBodies: readonly [
  name: string,
  line: string,
  authorization: string | undefined,
  ...HostileRequest["allowed"],
][] = [
  ["no credentials", "POST /plants HTTP/1.1", "", "missingToken"],
  ["unknown credentials", "POST /plants HTTP/1.1", "Authorization: Bearer unknown", "invalidToken"],
  ["no such path", "POST /plant HTTP/1.1", undefined, "notFound"],
  ["a method that is not offered", "PUT /plants HTTP/1.1", undefined, "methodNotAllowed"],
  ["GET", "GET /plants HTTP/1.1", undefined, "methodNotAllowed"],
  ["DELETE", "DELETE /plants HTTP/1.1", undefined, "methodNotAllowed"],
  ["OPTIONS", "OPTIONS /plants HTTP/1.1", undefined, "methodNotAllowed"],
  ["TRACE", "TRACE /plants HTTP/1.1", undefined, "methodNotAllowed"],
  ["GET of the description", "GET /openapi.json HTTP/1.1", undefined, "served"],
  ["GET of the documentation page", "GET / HTTP/1.1", undefined, "served"],
];

/** A request as the body of another one, which is rejected before its body is read. */
const hidden = unreadBodies.flatMap(([name, line, authorization, ...allowed]) => {
  const parts = { line, ...(authorization === undefined ? {} : { authorization }) };
  const announced = { ...parts, framing: `Content-Length: ${smuggledBytes}`, body: "$SMUGGLED" };
  const inChunks = {
    ...parts,
    framing: `${te}: chunked`,
    body: `${smuggledBytes.toString(16)}\r\n$SMUGGLED\r\n0\r\n\r\n`,
  };
  return [
    create(`a request in the body of ${name}`, announced, ...allowed),
    create(`a request in a chunk of ${name}`, inChunks, ...allowed),
  ];
});

const read = [
  create(
    "a request as the body",
    { framing: `Content-Length: ${smuggledBytes}`, body: "$SMUGGLED" },
    "invalidJson",
  ),
  create(
    "a request as the body of another media type",
    {
      contentType: "Content-Type: text/plain",
      framing: `Content-Length: ${smuggledBytes}`,
      body: "$SMUGGLED",
    },
    "unsupportedMediaType",
  ),
  create(
    "a request in a body that is too large",
    { framing: `Content-Length: ${2 ** 20 + smuggledBytes}`, body: `${" ".repeat(2 ** 20)}$SMUGGLED` },
    "contentTooLarge",
  ),
  inChunks("a request in a chunk extension", chunked(`${bodyBytesHex};$SMUGGLED`), "bare"),
  inChunks("a request in the trailers", chunked(undefined, "\r\n", "0\r\n$SMUGGLED"), "destroySockets"),
  create(
    "a request behind a body, which is not waited for",
    { framing: "Content-Length: 0", body: "" },
    "invalidJson",
  ),
];

const chunks = [
  inChunks("a chunk", chunked(), "created"),
  inChunks("a chunk that is longer than its size", chunked("1"), "bare"),
  inChunks("an extension of 20 KB", chunked(`${bodyBytesHex};${"a".repeat(20_000)}`), "created", "bare"),
  inChunks("an empty chunked body", "0\r\n\r\n", "invalidJson"),
  framed("no framing at all", "", "invalidJson"),
  row("a second request behind the first", createBytes().repeat(2), "created", "destroySockets"),
];

export const framing: readonly HostileRequest[] = [...contradictions, ...hidden, ...read, ...chunks];
