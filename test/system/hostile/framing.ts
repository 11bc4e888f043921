// Message framing (RFC 9112, section 6) that two parsers may read differently.

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

const goodLengths = [`${bodyBytes}`, `000000${bodyBytes}`, `${bodyBytes} `, `\t${bodyBytes}\t`];

// Separated by spaces, except those that contain one.
const badLengths = [
  ...`+$N -$N -1 -0 0x$X 0o37 $N.0 $Ne0 3_1 3,1 $N, ,$N $N; "$N" x NaN Infinity`
    .replaceAll("$N", String(bodyBytes))
    .replaceAll("$X", bodyBytesHex)
    .split(" "),
  ...["", " ", "3 1", "3\t1", `${bodyBytes}, ${bodyBytes}`, "99999999999999999999999", "9".repeat(1_000)],
  ...["18446744073709551616", `1844674407370955${1616 + bodyBytes}`],
  ...["\x0b", "\x0c", "\xa0"].map((space) => `${space}${bodyBytes}`),
  "\xb2",
];

const badCodings = [
  ...'xchunked chunkedx chunked;q=1 "chunked" identity gzip deflate chunk'.split(" "),
  ...["chunked, chunked", "chunked, identity", "identity, chunked", "gzip, chunked", "chunked, gzip"],
  ...["", " ", "ch\tunked", "\x0bchunked", "\x0cchunked", "chunked\x00", "chunked\xa0", "\xffchunked"],
];

const badSizeLines = [
  ...["", " ", "g", "-1", "1_f"],
  ...["0x", "+", "-", " ", "\t"].map((start) => `${start}${bodyBytesHex}`),
  ...[" ", "\t", "\x00", "\x0b", ",", ".0", "\r", "\n", ";\n", ";a\rb", ';a="\r\n"', ";a=\x00"].map(
    (end) => `${bodyBytesHex}${end}`,
  ),
  ...["ffffffffffffffff", "7fffffffffffffff", "ffffffff0000001f", "10000000000000001f", "f".repeat(1_000)],
];

const framed = (name: string, framing: string, ...allowed: Outcome[]) =>
  create(name, { framing }, ...allowed);

const inChunks = (name: string, body: string, ...allowed: Outcome[]) =>
  create(name, { framing: `${te}: chunked`, body }, ...allowed);

/** $BODY as the only chunk, under framing that may contradict it. */
const chunkedBy = (name: string, framing: string, ...allowed: Outcome[]) =>
  create(name, { framing, body: chunked() }, ...allowed);

const contradictions = [
  framed("Content-Length and chunked", `${length}\r\n${te}: chunked`, "bare"),
  chunkedBy("chunked and Content-Length", `${te}: chunked\r\n${length}`, "bare"),
  chunkedBy("chunked and Content-Length 0", `${te}: chunked\r\nContent-Length: 0`, "bare"),
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
  framed("two unequal Content-Lengths, short first", `Content-Length: 3\r\n${length}`, "bare"),
  // RFC 9112, section 6.3: equal ones may be treated as one, or rejected.
  framed("two equal Content-Lengths", `${length}\r\n${length}`, "badRequest"),
  framed("three equal Content-Lengths", [length, length, length].join("\r\n"), "badRequest"),
  framed(
    "two Content-Lengths that differ in zeros",
    `${length}\r\nContent-Length: 0${bodyBytes}`,
    "badRequest",
    "bare",
  ),
  chunkedBy("two Transfer-Encodings", `${te}: chunked\r\n${te}: chunked`, "bare"),
  chunkedBy("two Transfer-Encodings, one unknown", `${te}: chunked\r\n${te}: x`, "bare"),
  create(
    "chunked in HTTP/1.0",
    { line: "POST /plants HTTP/1.0", framing: `${te}: chunked`, body: chunked() },
    "bare",
  ),
  framed("Transfer-Encoding with a space before its colon", `${te} : chunked\r\n${length}`, "bare"),
  framed("Transfer-Encoding on a folded line", `X: y\r\n ${te}: chunked\r\n${length}`, "bare"),
  chunkedBy("Transfer-Encoding with a folded value", `${te}:\r\n chunked`, "bare"),
  framed("Transfer_Encoding, which is another header", `Transfer_Encoding: chunked\r\n${length}`, "created"),
  framed("Content_Length, which is another header", `Content_Length: 3\r\n${length}`, "created"),
  framed("X-Transfer-Encoding behind a bare CR", `X: a\r${te}: chunked\r\n${length}`, "bare"),
  framed("Transfer-Encoding behind a bare LF", `X: a\n${te}: chunked\r\n${length}`, "bare"),
  framed("Content-Length named by Connection", `Connection: Content-Length\r\n${length}`, "created"),
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
  chunkedBy("a chunk of Chunked", `${te}: ChUnKeD`, "created"),
  inChunks("a size in capitals", chunked(bodyBytesHex.toUpperCase()), "created"),
  inChunks("a size with zeros", chunked(`0000${bodyBytesHex}`), "created"),
  inChunks("an extension", chunked(`${bodyBytesHex};a=b`), "created"),
  inChunks("an extension of 20 KB", chunked(`${bodyBytesHex};${"a".repeat(20_000)}`), "created", "bare"),
  inChunks("a last size of zeros", chunked(undefined, "\r\n", "0000\r\n\r\n"), "created"),
  inChunks("a trailer", chunked(undefined, "\r\n", "0\r\nX: y\r\n\r\n"), "created", "destroySockets"),
  inChunks(
    "a trailer that is framing",
    chunked(undefined, "\r\n", "0\r\nContent-Length: 5\r\n\r\n"),
    "created",
    "destroySockets",
  ),
  inChunks("no line end behind the data", chunked(undefined, ""), "bare"),
  inChunks("more data than the size", chunked("1"), "bare"),
  inChunks("line ends without CR", `${bodyBytesHex}\n$BODY\n0\n\n`, "bare"),
  inChunks("line ends without LF", `${bodyBytesHex}\r$BODY\r0\r\r`, "bare"),
  // RFC 9110, section 5.6.1.2: empty elements of a list are ignored.
  chunkedBy("a list of chunked and nothing", `${te}: chunked,`, "created", "bare"),
  chunkedBy("a list of nothing and chunked", `${te}: ,chunked`, "created", "bare"),
  inChunks("an empty chunked body", "0\r\n\r\n", "invalidJson"),
  framed("no framing at all", "", "invalidJson"),
  row("a second request behind the first", createBytes().repeat(2), "created", "destroySockets"),
];

export const framing: readonly HostileRequest[] = [
  ...goodLengths.map((value) =>
    framed(`Content-Length: ${JSON.stringify(value)}`, `Content-Length: ${value}`, "created"),
  ),
  ...badLengths.map((value) =>
    framed(`Content-Length: ${JSON.stringify(value).slice(0, 40)}`, `Content-Length: ${value}`, "bare"),
  ),
  ...badCodings.flatMap((value) => [
    chunkedBy(`${te}: ${JSON.stringify(value)}`, `${te}: ${value}`, "bare"),
    framed(`${te}: ${JSON.stringify(value)} beside Content-Length`, `${length}\r\n${te}: ${value}`, "bare"),
  ]),
  ...badSizeLines.map((line) =>
    inChunks(`chunk size ${JSON.stringify(line).slice(0, 40)}`, chunked(line), "bare"),
  ),
  ...contradictions,
  ...hidden,
  ...read,
  ...chunks,
];
