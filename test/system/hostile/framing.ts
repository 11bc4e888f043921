// Message framing (RFC 9112, section 6) that two parsers may read differently.

import {
  bodyBytes,
  bodyBytesHex,
  chunked,
  create,
  createBytes,
  type HostileRequest,
  row,
  smuggledBytes,
} from "./hostile-request.ts";

const length = `Content-Length: ${bodyBytes}`;
const te = "Transfer-Encoding";

const goodLengths = [`${bodyBytes}`, `000000${bodyBytes}`, `${bodyBytes} `, `\t${bodyBytes}\t`];

const badLengths = [
  `+${bodyBytes}`,
  `-${bodyBytes}`,
  "-1",
  "-0",
  `0x${bodyBytesHex}`,
  `0o37`,
  `${bodyBytes}.0`,
  `${bodyBytes}e0`,
  "3 1",
  "3\t1",
  "3_1",
  "3,1",
  `${bodyBytes}, ${bodyBytes}`,
  `${bodyBytes},`,
  `,${bodyBytes}`,
  `${bodyBytes};`,
  `"${bodyBytes}"`,
  "",
  " ",
  "x",
  "NaN",
  "Infinity",
  "99999999999999999999999",
  "18446744073709551616",
  `1844674407370955${1616 + bodyBytes}`,
  "9".repeat(1_000),
  `\x0b${bodyBytes}`,
  `\x0c${bodyBytes}`,
  `\xa0${bodyBytes}`,
  "\xb2",
];

const badCodings = [
  "xchunked",
  "chunkedx",
  "chunked;q=1",
  '"chunked"',
  "chunked, chunked",
  "chunked, identity",
  "identity",
  "identity, chunked",
  "gzip",
  "gzip, chunked",
  "chunked, gzip",
  "deflate",
  "",
  " ",
  "chunk",
  "ch\tunked",
  "\x0bchunked",
  "\x0cchunked",
  "chunked\x00",
  "chunked\xa0",
  "\xffchunked",
];

const badSizeLines = [
  "",
  " ",
  "g",
  `0x${bodyBytesHex}`,
  `+${bodyBytesHex}`,
  `-${bodyBytesHex}`,
  "-1",
  ` ${bodyBytesHex}`,
  `${bodyBytesHex} `,
  `\t${bodyBytesHex}`,
  `${bodyBytesHex}\t`,
  `${bodyBytesHex}\x00`,
  `${bodyBytesHex}\x0b`,
  `${bodyBytesHex},`,
  `${bodyBytesHex}.0`,
  "1_f",
  "ffffffffffffffff",
  "7fffffffffffffff",
  "ffffffff0000001f",
  "10000000000000001f",
  "f".repeat(1_000),
  `${bodyBytesHex}\r`,
  `${bodyBytesHex}\n`,
  `${bodyBytesHex};\n`,
  `${bodyBytesHex};a\rb`,
  `${bodyBytesHex};a="\r\n"`,
  `${bodyBytesHex};a=\x00`,
];

const contradictions = [
  create("Content-Length and chunked", { framing: `${length}\r\n${te}: chunked` }, "bare"),
  create("chunked and Content-Length", { framing: `${te}: chunked\r\n${length}`, body: chunked() }, "bare"),
  create(
    "chunked and Content-Length 0",
    { framing: `${te}: chunked\r\nContent-Length: 0`, body: chunked() },
    "bare",
  ),
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
  create("two unequal Content-Lengths", { framing: `${length}\r\nContent-Length: 3` }, "bare"),
  create("two unequal Content-Lengths, short first", { framing: `Content-Length: 3\r\n${length}` }, "bare"),
  // RFC 9112, section 6.3: equal ones may be treated as one, or rejected.
  create("two equal Content-Lengths", { framing: `${length}\r\n${length}` }, "badRequest"),
  create("three equal Content-Lengths", { framing: [length, length, length].join("\r\n") }, "badRequest"),
  create(
    "two Content-Lengths that differ in zeros",
    { framing: `${length}\r\nContent-Length: 0${bodyBytes}` },
    "badRequest",
    "bare",
  ),
  create("two Transfer-Encodings", { framing: `${te}: chunked\r\n${te}: chunked`, body: chunked() }, "bare"),
  create(
    "two Transfer-Encodings, one unknown",
    { framing: `${te}: chunked\r\n${te}: x`, body: chunked() },
    "bare",
  ),
  create(
    "chunked in HTTP/1.0",
    { line: "POST /plants HTTP/1.0", framing: `${te}: chunked`, body: chunked() },
    "bare",
  ),
  create(
    "Transfer-Encoding with a space before its colon",
    { framing: `${te} : chunked\r\n${length}` },
    "bare",
  ),
  create("Transfer-Encoding on a folded line", { framing: `X: y\r\n ${te}: chunked\r\n${length}` }, "bare"),
  create("Transfer-Encoding with a folded value", { framing: `${te}:\r\n chunked`, body: chunked() }, "bare"),
  create(
    "Transfer_Encoding, which is another header",
    { framing: `Transfer_Encoding: chunked\r\n${length}` },
    "created",
  ),
  create("Content_Length, which is another header", { framing: `Content_Length: 3\r\n${length}` }, "created"),
  create("X-Transfer-Encoding behind a bare CR", { framing: `X: a\r${te}: chunked\r\n${length}` }, "bare"),
  create("Transfer-Encoding behind a bare LF", { framing: `X: a\n${te}: chunked\r\n${length}` }, "bare"),
  create(
    "Content-Length named by Connection",
    { framing: `Connection: Content-Length\r\n${length}` },
    "created",
  ),
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
    {
      framing: `Content-Length: ${2 ** 20 + smuggledBytes}`,
      body: `${" ".repeat(2 ** 20)}$SMUGGLED`,
    },
    "contentTooLarge",
  ),
  create(
    "a request in a chunk extension",
    { framing: `${te}: chunked`, body: chunked(`${bodyBytesHex};$SMUGGLED`) },
    "bare",
  ),
  create(
    "a request in the trailers",
    { framing: `${te}: chunked`, body: chunked(undefined, "\r\n", "0\r\n$SMUGGLED") },
    "destroySockets",
  ),
  create(
    "a request behind a body, which is not waited for",
    { framing: "Content-Length: 0", body: "" },
    "invalidJson",
  ),
];

const chunks = [
  create("a chunk", { framing: `${te}: chunked`, body: chunked() }, "created"),
  create("a chunk of Chunked", { framing: `${te}: ChUnKeD`, body: chunked() }, "created"),
  create(
    "a size in capitals",
    { framing: `${te}: chunked`, body: chunked(bodyBytesHex.toUpperCase()) },
    "created",
  ),
  create("a size with zeros", { framing: `${te}: chunked`, body: chunked(`0000${bodyBytesHex}`) }, "created"),
  create("an extension", { framing: `${te}: chunked`, body: chunked(`${bodyBytesHex};a=b`) }, "created"),
  create(
    "an extension of 20 KB",
    { framing: `${te}: chunked`, body: chunked(`${bodyBytesHex};${"a".repeat(20_000)}`) },
    "created",
    "bare",
  ),
  create(
    "a last size of zeros",
    { framing: `${te}: chunked`, body: chunked(undefined, "\r\n", "0000\r\n\r\n") },
    "created",
  ),
  create(
    "a trailer",
    { framing: `${te}: chunked`, body: chunked(undefined, "\r\n", "0\r\nX: y\r\n\r\n") },
    "created",
    "destroySockets",
  ),
  create(
    "a trailer that is framing",
    { framing: `${te}: chunked`, body: chunked(undefined, "\r\n", "0\r\nContent-Length: 5\r\n\r\n") },
    "created",
    "destroySockets",
  ),
  create("no line end behind the data", { framing: `${te}: chunked`, body: chunked(undefined, "") }, "bare"),
  create("more data than the size", { framing: `${te}: chunked`, body: chunked("1") }, "bare"),
  create(
    "line ends without CR",
    { framing: `${te}: chunked`, body: `${bodyBytesHex}\n$BODY\n0\n\n` },
    "bare",
  ),
  create(
    "line ends without LF",
    { framing: `${te}: chunked`, body: `${bodyBytesHex}\r$BODY\r0\r\r` },
    "bare",
  ),
  // RFC 9110, section 5.6.1.2: empty elements of a list are ignored.
  create("a list of chunked and nothing", { framing: `${te}: chunked,`, body: chunked() }, "created", "bare"),
  create("a list of nothing and chunked", { framing: `${te}: ,chunked`, body: chunked() }, "created", "bare"),
  create("an empty chunked body", { framing: `${te}: chunked`, body: "0\r\n\r\n" }, "invalidJson"),
  create("no framing at all", { framing: "" }, "invalidJson"),
  row("a second request behind the first", createBytes().repeat(2), "created", "destroySockets"),
];

export const framing: readonly HostileRequest[] = [
  ...goodLengths.map((value) =>
    create(`Content-Length: ${JSON.stringify(value)}`, { framing: `Content-Length: ${value}` }, "created"),
  ),
  ...badLengths.map((value) =>
    create(
      `Content-Length: ${JSON.stringify(value).slice(0, 40)}`,
      { framing: `Content-Length: ${value}` },
      "bare",
    ),
  ),
  ...badCodings.flatMap((value) => [
    create(`${te}: ${JSON.stringify(value)}`, { framing: `${te}: ${value}`, body: chunked() }, "bare"),
    create(
      `${te}: ${JSON.stringify(value)} beside Content-Length`,
      { framing: `${length}\r\n${te}: ${value}` },
      "bare",
    ),
  ]),
  ...badSizeLines.map((line) =>
    create(
      `chunk size ${JSON.stringify(line).slice(0, 40)}`,
      { framing: `${te}: chunked`, body: chunked(line) },
      "bare",
    ),
  ),
  ...contradictions,
  ...hidden,
  ...read,
  ...chunks,
];
