// Known bugs of servers, each with the rules that it breaks, and habits that break none. Most were
// found in real services.

import { type Bug, headerValues, type Message, setHeader, setText, textOf } from "./buggy-server.ts";
import {
  altersErrors,
  altersHeader,
  altersPlants,
  altersRequestHeader,
  altersStatus,
  altersText,
  fieldOf,
  headerOf,
  misreadStart,
  misreadText,
  parse,
  rejection,
  rejects,
  statusOf,
} from "./kinds-of-bugs.ts";

const idPattern = /("id"\s*:\s*)(-?[\d.]+(?:[eE][+-]?\d+)?)(?=\s*[,}])/;

const isCreate = ({ start }: Message) => /^POST \S*\/plants(?:\?\S*)? /.test(start);
const idOf = (message: Message) => idPattern.exec(textOf(message))?.[2];
const plantOf = (request: Message) => ({ ...parse(textOf(request)), id: undefined });

/** A bug in the id that is read from a body. */
function misreadId(breaks: readonly string[], read: (id: string) => string): Bug {
  return misreadText(breaks, (text) =>
    text.replace(idPattern, (_, before: string, id: string) => before + read(id)),
  );
}

/** Remembers the body of each create that was accepted. */
const remembersAccepted: Bug["response"] = (response, request, { seen }) => {
  const id = idOfCreate(request);
  if (id !== undefined && statusOf(response) === 200) seen.set(id, seen.get(id) ?? request.body);
};

/** Bodies and ids that are rejected by their text. */
const rejectsText = (breaks: readonly string[], error: number, text: RegExp) =>
  rejects(breaks, error, (request) => text.test(textOf(request)));
const rejectsIds = (breaks: readonly string[], id: RegExp) =>
  rejects(breaks, 40002, (request) => id.test(idOf(request) ?? ""));

const withoutToken = (request: Message) => !headerOf(request, "authorization")?.match(/^bearer ./i);
/** The id of a create with a token. */
const idOfCreate = (request: Message) =>
  isCreate(request) && !withoutToken(request) ? idOf(request) : undefined;

export const bugs: Readonly<Record<string, Bug>> = {
  // Ids.
  readsIdsAsDoubles: misreadId(["ids.beyond-53-bits", "errors.conflict"], (id) =>
    /^-?\d+$/.test(id) && id.length > 15 && id.length < 20 ? String(BigInt(Number(id))) : id,
  ),
  readsIdsAsInt32: misreadId(["ids.beyond-32-bits"], (id) =>
    /^-?\d{1,18}$/.test(id) ? String(BigInt.asIntN(32, BigInt(id))) : id,
  ),
  dropsTheSignOfIds: misreadId(["ids.negative"], (id) => id.replace("-", "")),
  rejectsIdsBelowZero: rejectsIds(["ids.limits", "ids.negative", "ids.beyond-53-bits"], /^-/),
  cutsFractionsOff: misreadId(["ids.fraction"], (id) => id.replace(/\.\d+$/, "")),
  roundsLongFractions: misreadId(["ids.exact-fraction"], (id) =>
    id.length > 20 && id.includes(".") ? String(Math.round(Number(id))) : id,
  ),
  clampsIds: misreadId(["ids.above-range"], (id) => (Number(id) > 2 ** 63 ? "9223372036854775807" : id)),
  rejectsIdsWithAPoint: rejectsIds(["ids.notations"], /[.eE]/),
  rejectsPlusInExponents: rejectsIds(["ids.notations"], /[eE]\+/),
  readsExponentsAsDoubles: misreadId(["ids.notations"], (id) =>
    /[.eE]/.test(id) && Number.isInteger(Number(id)) ? String(BigInt(Number(id))) : id,
  ),
  rejectsMinusZero: rejectsIds(["ids.zero-notations"], /^-0/),
  acceptsIdsAsStrings: misreadText(["ids.string-is-no-id", "errors.invalid-plant"], (text) =>
    text.replace(/("id":)"(\d+)"/, "$1$2"),
  ),

  // Idempotence.
  rejectsTheSamePlantAgain: {
    breaks: ["idempotence.same-again"],
    request: (request, { seen }) => (seen.has(idOfCreate(request) ?? "-") ? rejection(40009) : undefined),
    response: remembersAccepted,
  },
  overwrites: {
    breaks: ["idempotence.different-content", "ids.notations", "errors.conflict"],
    response: (response, request) => {
      if (fieldOf(response, "error") !== 40009) return;
      response.start = "HTTP/1.1 200 OK";
      setText(response, JSON.stringify(plantOf(request)));
    },
  },
  storesNothing: {
    breaks: ["idempotence.different-content", "ids.notations", "ids.above-range"],
    request: (request, { seen }) => {
      if (!isCreate(request)) return undefined;
      const id = BigInt(seen.size);
      seen.set(String(id), "");
      setText(
        request,
        textOf(request).replace(idPattern, `$1${2n ** 55n + BigInt(Date.now()) * 1_000n + id}`),
      );
    },
  },
  comparesNamesOnly: misreadText(["idempotence.different-content", "contract.create"], (text) =>
    text.replace(/,"tag":"[^"]*"/, ""),
  ),
  comparesWithoutCase: {
    breaks: ["idempotence.similar-content"],
    request: (request) => {
      setText(
        request,
        textOf(request).replace(/(?<="name":")[^"\\]*(?=")/, (name) => name.toLowerCase()),
      );
    },
    response: (response, request) => {
      const name = fieldOf(request, "name");
      if (statusOf(response) === 200 && typeof name === "string")
        setText(response, JSON.stringify({ ...parse(textOf(response)), name }));
    },
  },
  comparesTheFirstKilobyte: misreadText(["idempotence.similar-content", "contract.largest-body"], (text) =>
    text.replace(/(?<="name":"[^"]{1000})[^"]+/, ""),
  ),
  comparesTheBytesOfTheBody: {
    breaks: ["idempotence.same-in-another-form"],
    request: (request, { seen }) =>
      (seen.get(idOfCreate(request) ?? "-") ?? request.body) === request.body ? undefined : rejection(40009),
    response: remembersAccepted,
  },
  checksBeforeItInserts: {
    breaks: ["idempotence.race-of-different"],
    request: async (request, { seen }) => {
      const id = idOfCreate(request);
      if (id === undefined) return undefined;
      const isTaken = seen.has(id);
      await new Promise(setImmediate);
      if (!isTaken && seen.has(id)) return Response.json(plantOf(request));
      seen.set(id, "");
      return undefined;
    },
  },
  losesConcurrentCreates: {
    breaks: ["idempotence.concurrent-stored"],
    request: async (request, state) => {
      state.count++;
      await new Promise(setImmediate);
      const isAlone = state.count === 1;
      state.count--;
      return isAlone ? undefined : Response.json(plantOf(request));
    },
  },
  failsWhereAnotherInsertedFirst: {
    breaks: ["idempotence.race-of-equal", "idempotence.race-of-different"],
    request: async (request, { seen }) => {
      const id = idOfCreate(request);
      if (id === undefined) return undefined;
      if (seen.has(id)) return rejection(50000);
      seen.set(id, "");
      await Bun.sleep(50);
      seen.delete(id);
      return undefined;
    },
  },
  locksTheIdOfALostCreate: {
    breaks: ["idempotence.same-again"],
    lost: (request, { seen }) => void seen.set(idOf(request) ?? "", ""),
    request: (request, { seen }) => (seen.has(idOf(request) ?? "-") ? rejection(40009) : undefined),
  },
  storesBeforeItValidates: {
    breaks: ["idempotence.rejected-not-stored"],
    request: (request, { seen }) => {
      const id = idOf(request) ?? "";
      const before = seen.get(id);
      if (before !== undefined && before !== request.body) return rejection(40009);
      seen.set(id, request.body);
      return undefined;
    },
  },

  // The operation.
  authenticatesTheConnection: {
    breaks: ["contract.token-of-each-request"],
    request: (request, { token }, connection) => {
      if (headerOf(request, "authorization") === `Bearer ${token}`) connection.isAccepted = true;
      if (connection.isAccepted) setHeader(request, "Authorization", `Bearer ${token}`);
    },
  },
  readsTheTokenToASpace: altersRequestHeader(["contract.token-required"], "Authorization", ([first]) =>
    first?.split(" ").slice(0, 2).join(" "),
  ),
  readsTheTokenToAComma: altersRequestHeader(["contract.token-required"], "Authorization", ([first]) =>
    first?.replace(/,.*/, ""),
  ),
  failsOnSurrogates: rejectsText(["contract.no-server-error"], 50000, /\\ud800/),
  declaresLatin1: altersHeader(
    ["contract.plant-members"],
    "Content-Type",
    "application/json; charset=iso-8859-1",
  ),
  returnsTheId: altersPlants(["contract.unknown-members"], (body, request) => ({
    id: Number(idOf(request)),
    ...body,
  })),
  returnsNullForNoTag: altersPlants(["contract.create"], (body) => ({ tag: null, ...body })),
  returns201: altersStatus(["contract.create"], 200, "201 Created"),
  returnsText: altersHeader(
    ["contract.plant-members", "contract.error-members", "contract.as-described"],
    "Content-Type",
    "text/plain",
  ),
  normalizesText: misreadText(["contract.text-unchanged", "idempotence.similar-content"], (text) =>
    text.normalize("NFC"),
  ),
  trimsText: misreadText(["contract.text-unchanged", "idempotence.similar-content"], (text) =>
    text.replaceAll(/(?<=:")\s+|\s+(?="[,}])/g, ""),
  ),
  normalizesLineEnds: misreadText(["contract.text-unchanged"], (text) => text.replaceAll("\\r\\n", "\\n")),
  readsC1AsWindows1252: misreadText(["contract.text-unchanged"], (text) => text.replaceAll("\u0080", "€")),
  replacesNoncharacters: misreadText(["contract.text-unchanged"], (text) =>
    text.replaceAll("\uffff", "\ufffd"),
  ),
  comparesMembersWithoutCase: altersPlants(["contract.unknown-members"], (body, request) => ({
    ...body,
    name: fieldOf(request, "Name") ?? body.name,
  })),
  rejectsEscapedSlashes: rejectsText(["contract.json-forms", "contract.text-unchanged"], 40001, /\\\//),
  storesThreeBytesOfACharacter: misreadText(
    ["contract.text-unchanged", "idempotence.similar-content"],
    (text) => text.replaceAll(/[\u{10000}-\u{10ffff}]/gu, "?"),
  ),
  escapesMarkup: altersPlants(["contract.text-unchanged"], (body) => ({
    ...body,
    name: String(body.name).replaceAll("<", "&lt;"),
  })),
  countsTheLimitWrongly: rejects(["contract.largest-body"], 41300, ({ body }) => body.length >= 2 ** 20),
  doesNotReadEscapes: rejectsText(["contract.json-forms"], 40001, /\\u00[46]/),
  rejectsUnknownMembers: rejectsText(
    ["contract.unknown-members", "idempotence.same-in-another-form"],
    40002,
    /"colour"/,
  ),
  returnsUnknownMembers: altersPlants(["contract.unknown-members"], (body, request) => ({
    // JSON.stringify does not write the deep nesting that some rules send.
    ...(request.body.length < 10_000 ? parse(textOf(request)) : {}),
    ...body,
    id: undefined,
  })),
  takesTheFirstOfDuplicates: misreadText(["contract.duplicate-members"], (text) =>
    text.replace('"name":"last"', '"name":"first"'),
  ),
  rejectsAByteOrderMark: rejectsText(["contract.byte-order-mark"], 40001, /^\ufeff/),
  comparesTheContentType: rejects(
    ["contract.media-type-forms"],
    41500,
    (request) => isCreate(request) && headerOf(request, "content-type") !== "application/json",
  ),
  needsNoToken: altersRequestHeader(
    ["contract.token-required", "errors.missing-token", "errors.authentication-first"],
    "Authorization",
    ([first], token) => first ?? `Bearer ${token}`,
  ),
  acceptsAnyToken: altersRequestHeader(
    ["contract.token-required", "errors.invalid-token"],
    "Authorization",
    ([first], token) => (first === undefined ? undefined : `Bearer ${token}`),
  ),
  acceptsAnyOtherScheme: altersRequestHeader(
    ["contract.token-required", "errors.missing-token"],
    "Authorization",
    ([first], token) => (first?.startsWith("Basic ") ? `Bearer ${token}` : first),
  ),
  comparesTheScheme: altersRequestHeader(["contract.scheme-case"], "Authorization", ([first]) =>
    first?.startsWith("Bearer") ? first : undefined,
  ),
  inventsWhatIsMissing: misreadText(["contract.required-members", "errors.invalid-plant"], (text) =>
    text.replace(/^\{"id":(\d+)\}$/, '{"id":$1,"name":""}'),
  ),
  convertsTypes: misreadText(["contract.member-types", "errors.invalid-plant"], (text) =>
    text.replace(/("name":)(\d+|true)(?=[,}])/, '$1"$2"'),
  ),
  returnsProblemDetails: altersErrors(
    ["contract.error-members", "errors.body-members"],
    ({ error, message }) => ({ type: "about:blank", title: message, code: error }),
  ),
  sendsTheErrorOfATagAsAString: altersErrors(["contract.error-members"], (body, request) =>
    typeof (fieldOf(request, "tag") ?? "") === "string" ? body : { ...body, error: `${body.error}` },
  ),
  sendsNoMessageInAConflict: altersErrors(["contract.error-members"], ({ error, message }) =>
    error === 40009 ? { error } : { error, message },
  ),
  returnsAnEmptyTagAsNull: altersPlants(["contract.plant-members", "contract.text-unchanged"], (body) => ({
    ...body,
    ...(body.tag === "" && { tag: null }),
  })),

  // Errors.
  addsAMember: altersErrors(["errors.body-members"], (body) => ({
    ...body,
    timestamp: 0,
  })),
  usesTheStatusAsTheCode: altersErrors(
    ["errors.body-members", "errors.invalid-json", "errors.invalid-plant"],
    ({ error, message }) => ({ error: Math.trunc(Number(error) / 100), message }),
  ),
  acceptsCommasAtTheEnd: misreadText(["errors.invalid-json"], (text) => text.replace(/,(?=\s*\}$)/, "")),
  acceptsComments: misreadText(["errors.invalid-json"], (text) => text.replaceAll(/\/\*.*?\*\//g, "")),
  replacesInvalidUtf8: misreadText(["errors.invalid-utf8"], (text) => text),
  takesNullForNoTag: misreadText(["errors.invalid-plant"], (text) => text.replace(',"tag":null', "")),
  namesTheFirstInvalidMember: altersErrors(["errors.message-names-fields"], ({ error, message }) => ({
    error,
    message: String(message).replace(/; .*$/, "."),
  })),
  dropsControlCharacters: misreadText(["errors.unstorable-text"], (text) => text.replaceAll("\\u0000", "")),
  replacesSurrogates: misreadText(["errors.unstorable-text"], (text) =>
    text.replaceAll(/\\ud800|\\udc00/g, "\\ufffd"),
  ),
  namesRoundedIds: altersErrors(["errors.conflict"], ({ error, message }) => ({
    error,
    message: String(message).replace(/\d{16,}/, (id) => String(Number(id))),
  })),
  sendsNoChallenge: altersHeader(["errors.missing-token", "errors.invalid-token"], "WWW-Authenticate"),
  returns403: altersStatus(["errors.invalid-token"], 40101, "403 Forbidden"),
  comparesTheStartOfTheToken: altersRequestHeader(
    ["errors.invalid-token", "contract.token-required"],
    "Authorization",
    ([first], token) => (first?.includes(token.slice(0, -1)) ? `Bearer ${token}` : first),
  ),
  readsTheTokenOfTheQuery: {
    breaks: ["errors.missing-token"],
    request: (request) => {
      const [, token] = /[?&]access_token=([^& ]+)/.exec(request.start) ?? [];
      if (token !== undefined) setHeader(request, "Authorization", `Bearer ${token}`);
    },
  },
  routesBeforeItAuthenticates: rejects(
    ["errors.authentication-first"],
    40400,
    (request) =>
      withoutToken(request) && request.start.includes("/nowhere") && !request.start.startsWith("OPTIONS"),
  ),
  ignoresASlashAtTheEnd: misreadStart(["errors.unknown-path"], (start) =>
    start.replace("/plants/ ", "/plants "),
  ),
  ignoresTheCaseOfPaths: misreadStart(["errors.unknown-path"], (start) =>
    start.replace("/PLANTS", "/plants"),
  ),
  sendsNoAllow: altersHeader(["errors.other-method"], "Allow"),
  returns404ForAMethod: altersStatus(["errors.other-method"], 405, "404 Not Found"),
  ignoresTheMediaType: altersRequestHeader(["errors.media-type"], "Content-Type", () => "application/json"),
  ignoresTheCharset: altersRequestHeader(["errors.media-type"], "Content-Type", ([first]) =>
    first?.replace(/;.*/, ""),
  ),
  sendsABare413: {
    breaks: ["errors.too-large", "errors.body-members"],
    response: (response) => {
      if (statusOf(response) === 413) setText(response, "");
    },
  },
  returns400ForALargeBody: altersStatus(["errors.too-large"], 413, "400 Bad Request"),
  overflowsItsStack: rejects(["errors.invalid-json", "contract.no-server-error"], 50000, ({ body }) =>
    body.includes("[".repeat(10_000)),
  ),
  limitsTheRateWithoutRetryAfter: {
    breaks: ["errors.retry-after"],
    request: (_, state) => (state.count++ === 0 ? rejection(42900) : undefined),
  },
  isUnavailableWithoutAnError: {
    breaks: ["errors.retry-after"],
    request: (_, state) => (state.count++ === 0 ? new Response("down", { status: 503 }) : undefined),
  },

  isUnavailableOnConnectionsThatStayOpen: rejects(
    ["http.keep-alive", "errors.retry-after", "contract.token-of-each-request"],
    50300,
    (request) => headerOf(request, "connection") === undefined,
  ),

  // HTTP.
  closesAfterFiveRequests: { breaks: ["http.keep-alive"], closesSilentlyAfter: 5 },
  needsAccept: rejects(
    ["http.optional-fields"],
    40600,
    (request) => headerOf(request, "accept") === undefined,
  ),
  comparesAccept: rejects(
    ["http.optional-fields"],
    40600,
    (request) => headerOf(request, "accept") !== "application/json",
  ),
  losesItsPlaceAfterAnError: {
    breaks: ["http.keep-alive-after-unread-body"],
    request: (request, _, connection) => {
      if (connection.isAccepted) return "hang";
      connection.isAccepted = withoutToken(request) && request.body.length > 4_000;
      return undefined;
    },
  },
  neverClosesConnections: altersRequestHeader(["http.connection-close"], "Connection", () => "keep-alive"),
  keepsConnectionsOfHttp10: misreadStart(["http.http-1.0"], (start) => start.replace("HTTP/1.0", "HTTP/1.1")),
  acceptsTenConnections: { breaks: ["idempotence.concurrent-stored"], connectionsMax: 10 },
  sendsChunksToHttp10: {
    breaks: ["http.http-1.0"],
    response: (response, request) => {
      if (!request.start.endsWith("HTTP/1.0")) return;
      setHeader(response, "Content-Length");
      setHeader(response, "Transfer-Encoding", "chunked");
      response.body = `${response.body.length.toString(16)}\r\n${response.body}\r\n0\r\n\r\n`;
    },
  },
  comparesTheCodingOfChunks: rejects(
    ["http.chunked-request"],
    50100,
    (request) => headerOf(request, "transfer-encoding") === "Chunked",
  ),
  rejectsChunks: rejects(
    ["http.chunked-request"],
    41100,
    (request) => headerValues(request, "transfer-encoding").length > 0,
  ),
  ignoresExpect: {
    breaks: ["http.expect-continue", "http.expect-continue-case"],
    ignoresExpect: () => true,
  },
  comparesExpectWithCase: {
    breaks: ["http.expect-continue-case"],
    ignoresExpect: (value) => value !== "100-continue",
  },
  routesByTheQuery: rejects(["http.query-ignored"], 40400, ({ start }) => start.includes("/plants?")),
  needsNoHost: altersRequestHeader(["http.malformed-request"], "Host", ([first]) => first ?? "localhost"),
  takesTheLastLength: altersRequestHeader(
    ["http.malformed-request", "http.equal-lengths"],
    "Content-Length",
    (lengths) => lengths.at(-1),
  ),
  readsBothLengthAndChunks: {
    breaks: ["http.length-and-chunks"],
    request: (request) => {
      if (headerValues(request, "transfer-encoding").length > 0) setHeader(request, "Content-Length");
    },
  },
  storesTruncatedBodies: {
    breaks: ["http.truncated-body"],
    readsIncomplete: true,
  },
  hangsOnUnknownMethods: {
    breaks: ["http.unknown-method"],
    request: ({ start }) => (start.startsWith("BREW") ? "hang" : undefined),
  },
  sendsABodyToHead: {
    breaks: ["http.head"],
    response: (response, request) => {
      if (request.start.startsWith("HEAD")) response.body = "{}";
    },
  },
  sendsNoLength: altersHeader(["http.response-framing", "contract.token-of-each-request"], "Content-Length"),
  sendsNoDate: altersHeader(["http.date"], "Date"),
  allowsCaches: altersHeader(["http.no-store"], "Cache-Control", "max-age=60"),
};

/** Habits of correct servers, each with the rules that could mistake it for a bug. */
export const habits: readonly (readonly [name: string, keeps: readonly string[], habit: Bug])[] = [
  [
    "closes every connection, and says so",
    ["http.keep-alive"],
    {
      breaks: [],
      request: (request) => setHeader(request, "Connection", "close"),
      response: (response) => setHeader(response, "Connection", "close"),
    },
  ],
  [
    "writes an integer with a fraction of zero",
    ["contract.error-members", "errors.invalid-plant"],
    altersText([], (text) => text.replace(/("error":\d+)/, "$1.0")),
  ],
];
