// The table of planted faults: known bugs of servers of each contract, with the rules that they break,
// and habits that break none. Most were found in real services.

import { readFileSync } from "node:fs";
import { plantStoreSource } from "../../../src/openapi/default-contract.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { type Bug, headerValues, type Message, setHeader, setText, textOf } from "./buggy-server.ts";
import {
  altersErrors,
  altersHeader,
  altersPlants,
  altersRequestHeader,
  altersStatus,
  altersText,
  answers,
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

const plantBugs: Readonly<Record<string, Bug>> = {
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
  readsExponentsAsDoubles: misreadId(["ids.notations"], (id) =>
    /[.eE]/.test(id) && Number.isInteger(Number(id)) ? String(BigInt(Number(id))) : id,
  ),
  rejectsMinusZero: rejectsIds(["ids.zero-notations"], /^-0/),
  acceptsIdsAsStrings: misreadText(["ids.string-is-no-id"], (text) => text.replace(/("id":)"(\d+)"/, "$1$2")),

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
  storesThePlantOfAConflict: {
    breaks: ["idempotence.different-content"],
    request: (request, { seen }) => (seen.has(idOfCreate(request) ?? "-") ? rejection(40009) : undefined),
    response: (response, request, { seen }) => {
      if (fieldOf(response, "error") === 40009) seen.set(idOf(request) ?? "", "");
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
    request: (request, { token, seen }) => {
      const client = request.client ?? "";
      if (headerOf(request, "authorization") === `Bearer ${token}`) seen.set(client, "");
      if (seen.has(client)) setHeader(request, "Authorization", `Bearer ${token}`);
    },
  },
  readsTheTokenToASpace: altersRequestHeader(["contract.token-required"], "Authorization", ([first]) =>
    first?.split(" ").slice(0, 2).join(" "),
  ),
  failsOnSurrogates: rejectsText(["contract.no-server-error"], 50000, /\\ud800/),
  declaresLatin1: altersHeader(
    ["contract.as-described"],
    "Content-Type",
    "application/json; charset=iso-8859-1",
  ),
  returnsNullForNoTag: altersPlants(["contract.create"], (body) => ({ tag: null, ...body })),
  returns201: altersStatus(["contract.create"], 200, "201 Created"),
  normalizesText: misreadText(["contract.text-unchanged", "idempotence.similar-content"], (text) =>
    text.normalize("NFC"),
  ),
  trimsText: misreadText(["contract.text-unchanged", "idempotence.similar-content"], (text) =>
    text.replaceAll(/(?<=:")\s+|\s+(?="[,}])/g, ""),
  ),
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
  comparesTheContentType: rejects(
    ["contract.media-type-forms"],
    41500,
    (request) => isCreate(request) && headerOf(request, "content-type") !== "application/json",
  ),
  needsNoToken: altersRequestHeader(
    ["contract.token-required", "errors.token"],
    "Authorization",
    ([first], token) => first ?? `Bearer ${token}`,
  ),
  acceptsAnyOtherScheme: altersRequestHeader(
    ["contract.token-required"],
    "Authorization",
    ([first], token) => (first?.startsWith("Basic ") ? `Bearer ${token}` : first),
  ),
  comparesTheScheme: altersRequestHeader(["contract.scheme-case"], "Authorization", ([first]) =>
    first?.startsWith("Bearer") ? first : undefined,
  ),
  inventsWhatIsMissing: misreadText(["contract.invalid-members"], (text) =>
    text.replace(/^\{"id":(\d+)\}$/, '{"id":$1,"name":""}'),
  ),
  convertsTypes: misreadText(["contract.invalid-members"], (text) =>
    text.replace(/("name":)(\d+|true)(?=[,}])/, '$1"$2"'),
  ),
  returnsProblemDetails: altersErrors(
    ["contract.as-described", "errors.body-members"],
    ({ error, message }) => ({ type: "about:blank", title: message, code: error }),
  ),
  sendsNoMessageInAConflict: altersErrors(["contract.as-described"], ({ error, message }) =>
    error === 40009 ? { error } : { error, message },
  ),

  // Errors.
  usesTheStatusAsTheCode: altersErrors(
    ["errors.body-members", "errors.invalid-json"],
    ({ error, message }) => ({ error: Math.trunc(Number(error) / 100), message }),
  ),
  acceptsCommasAtTheEnd: misreadText(["errors.invalid-json"], (text) => text.replace(/,(?=\s*\}$)/, "")),
  replacesInvalidUtf8: misreadText(["errors.invalid-json"], (text) => text),
  dropsControlCharacters: misreadText(["errors.unstorable-text"], (text) => text.replaceAll("\\u0000", "")),
  namesRoundedIds: altersErrors(["errors.conflict"], ({ error, message }) => ({
    error,
    message: String(message).replace(/\d{16,}/, (id) => String(Number(id))),
  })),
  sendsNoChallenge: altersHeader(["errors.token"], "WWW-Authenticate"),
  returns403: altersStatus(["errors.token"], 40101, "403 Forbidden"),
  comparesTheStartOfTheToken: altersRequestHeader(
    ["contract.token-required"],
    "Authorization",
    ([first], token) => (first?.includes(token.slice(0, -1)) ? `Bearer ${token}` : first),
  ),
  readsTheTokenOfTheQuery: {
    breaks: ["contract.token-required"],
    request: (request) => {
      const [, token] = /[?&]access_token=([^& ]+)/.exec(request.start) ?? [];
      if (token !== undefined) setHeader(request, "Authorization", `Bearer ${token}`);
    },
  },
  ignoresASlashAtTheEnd: misreadStart(["errors.unknown-path"], (start) =>
    start.replace("/plants/ ", "/plants "),
  ),
  sendsNoAllow: altersHeader(["errors.other-method"], "Allow"),
  ignoresTheMediaType: altersRequestHeader(["errors.media-type"], "Content-Type", () => "application/json"),
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

  allowsCaches: altersHeader(["errors.no-store"], "Cache-Control", "max-age=60"),
};

const isPost = ({ start }: Message) => start.startsWith("POST ");
const isList = ({ start }: Message) => /^GET \/\w+(?:\?| )/.test(start);
const isItem = ({ start }: Message) => /^GET \/\w+\//.test(start);
const isError = ({ start }: Message) => / [45]\d\d /.test(start);

/** Bugs of a server that chooses its ids. */
const keyBugs: Readonly<Record<string, Bug>> = {
  "keys are forgotten": altersRequestHeader(
    ["idempotence.same-key", "idempotence.key-race"],
    "Idempotency-Key",
    () => undefined,
  ),
  "every create has one key": altersRequestHeader(
    ["idempotence.new-id-each"],
    "Idempotency-Key",
    () => "one",
  ),
  "another content with a key is another plant": {
    breaks: ["idempotence.key-of-another"],
    request(request) {
      const [key] = headerValues(request, "idempotency-key");
      if (key !== undefined) setHeader(request, "Idempotency-Key", key + Bun.hash(request.body));
    },
  },
  "the response has no id": altersText(
    ["contract.create"],
    (text) => text.replace(/"(?:id|visitId)":(?:\d+|"[^"]*"),/, ""),
    (_, request) => isPost(request),
  ),
};

const noLocation = altersHeader(["contract.location"], "Location");

const operationBugs: Readonly<Record<string, Bug>> = {
  "no Location": noLocation,
  "a GET has another content": altersText(
    ["contract.get"],
    (text) => text.replace("Monstera", "Ficus"),
    (_, request) => isItem(request),
  ),
  "a deletion does nothing": answers(["contract.delete"], 204, ({ start }) => start.startsWith("DELETE ")),
};

const ignoresLimit = {
  "a list ignores its limit": misreadStart(["contract.list"], (start) =>
    start.replace("limit=1", "limit=50"),
  ),
};

/** Bugs of a server whose resources can be replaced. */
const editBugs: Readonly<Record<string, Bug>> = {
  "a replacement does nothing": answers(["contract.replace"], 204, ({ start }) => start.startsWith("PUT ")),
  "conditions are ignored": {
    breaks: ["contract.edit-conditions"],
    request(request) {
      setHeader(request, "If-Match");
      setHeader(request, "If-None-Match");
    },
  },
};

/** With ids that are limited, and with a response that has the id only. */
export const readingsText = JSON.stringify({
  openapi: "3.0.3",
  info: { title: "Meters", version: "1" },
  security: [{ token: [] }],
  paths: {
    "/meter-readings": {
      post: {
        requestBody: {
          content: {
            "application/json": {
              schema: {
                type: "object",
                additionalProperties: false,
                required: ["id", "unit", "meter", "value"],
                properties: {
                  id: { type: "integer", format: "int32", minimum: 1 },
                  unit: { type: "string", enum: ["kWh", "m³"] },
                  meter: { type: "string", pattern: "^[\\w ]{1,20}$" },
                  value: { type: "number", multipleOf: 0.001, example: 1.5 },
                },
              },
            },
          },
        },
        responses: {
          "200": {
            description: "Stored.",
            content: {
              "application/json": {
                schema: { type: "object", properties: { id: { type: "integer", format: "int32" } } },
              },
            },
          },
        },
      },
    },
  },
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
});

const limitedIds = "the contract limits its ids";
const ofReadings = {
  "ids.limits": limitedIds,
  "ids.negative": limitedIds,
  "ids.beyond-32-bits": limitedIds,
  "ids.beyond-53-bits": limitedIds,
  "ids.notations": limitedIds,
  "ids.zero-notations": limitedIds,
  "contract.unknown-members": "the contract allows no unknown members",
  "errors.unstorable-text": "the contract has no text that takes what they send",
};

/** Bugs of a server, given a required member with a value of its type. */
const bugsOf = (member: string, value: string): Readonly<Record<string, Bug>> => ({
  "another status of success": {
    breaks: ["contract.create"],
    response(response) {
      response.start = response.start.replace(/ 20[01] /, (status) =>
        status === " 200 " ? " 201 " : " 200 ",
      );
    },
  },
  "another id in the response": altersText(["contract.create"], (text) =>
    text.replace(/"id":(\d+)\d/, '"id":$19999'),
  ),
  "a member of another type is accepted": misreadText(["contract.invalid-members"], (text) =>
    text.replace(new RegExp(`("${member}"):(?:5|true|\\[\\]|\\{\\})`), `$1:${value}`),
  ),
  "a required member may be missing": misreadText(["contract.invalid-members"], (text) =>
    text.includes(`"${member}"`) ? text : text.replace(/("id":\d+)/, `$1,"${member}":${value}`),
  ),
});

const parcelBugs: Readonly<Record<string, Bug>> = {
  "a required member is not returned": altersText(["contract.as-described"], (text) =>
    text.replace(/,?"fragile":\w+/, ""),
  ),
  "a number is rounded": altersText(["contract.create"], (text) =>
    text.replace(/"weight":[\d.]+/, '"weight":1'),
  ),
  "an optional member is forgotten when a plant is sent again": misreadText(
    ["idempotence.different-content"],
    (text) => text.replace(/,"count":\d+/, ""),
  ),
  "ids are doubles": misreadText(["ids.beyond-53-bits"], (text) =>
    text.replace(/"id":(\d{17,19})\b(?![.eE])/, (_, id) => `"id":${BigInt(Number(id))}`),
  ),
};

const tasksSchema = (name: string) => ({
  content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
});
const wrappedTask = { description: "ok", ...tasksSchema("TaskData") };

/** Habits of frameworks: slashes at the ends of paths, resources in a member, and a required If-Match. */
const tasksText = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Tasks", version: "1" },
  security: [{ token: [] }],
  paths: {
    "/tasks/": { post: { requestBody: tasksSchema("TaskInput"), responses: { "201": wrappedTask } } },
    "/tasks/{id}/": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      get: { responses: { "200": wrappedTask } },
      put: {
        parameters: [{ name: "If-Match", in: "header", required: true, schema: { type: "string" } }],
        requestBody: tasksSchema("TaskInput"),
        responses: { "200": wrappedTask },
      },
    },
  },
  components: {
    securitySchemes: { token: { type: "http", scheme: "bearer" } },
    schemas: {
      Task: {
        type: "object",
        required: ["title"],
        properties: { id: { type: "integer", readOnly: true }, title: { type: "string" } },
      },
      TaskInput: {
        type: "object",
        required: ["task"],
        properties: { task: { $ref: "#/components/schemas/Task" } },
      },
      TaskData: {
        type: "object",
        required: ["data"],
        properties: { data: { $ref: "#/components/schemas/Task" } },
      },
    },
  },
});

/** Servers of a contract with one bug each. */
export interface PlantedBugs {
  readonly contract: string;
  readonly text: string;
  readonly bugs: Readonly<Record<string, Bug>>;
  /** Why rules do not apply to the contract; undefined where it does not matter. */
  readonly leftOut?: Readonly<Record<string, string>>;
}

const contractOf = (name: string) => ({ contract: name, text: readFileSync(contractFile(name), "utf8") });

export const planted: readonly PlantedBugs[] = [
  { contract: "plants", text: plantStoreSource.text, bugs: plantBugs, leftOut: {} },
  {
    ...contractOf("parcels.yaml"),
    bugs: { ...bugsOf("fragile", "true"), ...parcelBugs },
    leftOut: {},
  },
  { contract: "readings", text: readingsText, bugs: bugsOf("unit", '"kWh"'), leftOut: ofReadings },
  {
    ...contractOf("bookings.yaml"),
    bugs: {
      ...keyBugs,
      ...operationBugs,
      ...ignoresLimit,
      "every page is the first": misreadStart(["contract.list"], (start) => start.replace(/&page=\d+/, "")),
      "a list is an array": altersText(
        ["contract.list"],
        (text) => text.replace(/^\{"data":(\[.*\]).*$/, "$1"),
        (_, request) => isList(request),
      ),
      "the time of creation is another": altersText(["contract.created-time"], (text) =>
        text.replace(/"created_at":"\d{4}/, '"created_at":"1999'),
      ),
      "the time of creation is that of the client": {
        breaks: ["contract.readonly-ignored"],
        request(request, state) {
          state.seen.set("last", /"created_at":"([^"]*)"/.exec(textOf(request))?.[1] ?? "");
        },
        response(response, _, state) {
          const sent = state.seen.get("last") ?? "";
          if (sent !== "")
            setText(response, textOf(response).replace(/"created_at":"[^"]*"/, `"created_at":"${sent}"`));
        },
      },
      "the key is not checked": altersRequestHeader(
        ["contract.token-required", "contract.token-of-each-request", "errors.token"],
        "X-API-Key",
        (_, token) => token,
      ),
      "problems are plain JSON": {
        breaks: ["contract.as-described", "errors.body-members"],
        response(response) {
          if (isError(response)) setHeader(response, "Content-Type", "application/json");
        },
      },
      "problems have another status": altersText(
        ["errors.body-members", "errors.invalid-json"],
        (text) => text.replace(/"status":\d+/, '"status":499'),
        isError,
      ),
    },
  },
  {
    ...contractOf("visits.yaml"),
    bugs: { ...keyBugs, ...operationBugs },
  },
  {
    ...contractOf("members.yaml"),
    bugs: {
      ...keyBugs,
      ...operationBugs,
      ...ignoresLimit,
      ...editBugs,
      "a PUT creates nothing": {
        breaks: ["contract.replace-creates"],
        request: (request) => {
          if (request.start.startsWith("PUT ")) setHeader(request, "If-Match", "*");
        },
      },
      "a patch is a replacement": {
        breaks: ["contract.change"],
        request: (request) => {
          if (request.start.startsWith("PATCH ")) request.start = request.start.replace("PATCH", "PUT");
          setText(request, textOf(request).replace("Ficus", "Monstera"));
        },
      },
      "a GET of one needs no token": {
        breaks: ["contract.token-required"],
        request(request, { token }) {
          if (isItem(request) && headerOf(request, "authorization") === undefined)
            setHeader(request, "Authorization", `Bearer ${token}`);
        },
      },
      "a PATCH forgets other members": {
        breaks: ["contract.change"],
        request(request) {
          if (request.start.startsWith("PATCH "))
            setText(request, textOf(request).replace("{", '{"email":null,'));
        },
      },
    },
  },
  {
    ...contractOf("codes.yaml"),
    bugs: {
      ...editBugs,
      "an id may be a number": misreadText(["contract.invalid-members"], (text) =>
        text.replace(/"code":(\d+)/, '"code":"$1"'),
      ),
    },
  },
  {
    ...contractOf("pets.yaml"),
    bugs: {
      "no Location": noLocation,
      "codes are texts": altersText(
        ["errors.body-members"],
        (text) => text.replace(/"code":(\d+)/, '"code":"$1"'),
        isError,
      ),
    },
  },
  { contract: "tasks", text: tasksText, bugs: editBugs },
  {
    contract: "keyed visits",
    text: readFileSync(contractFile("visits.yaml"), "utf8").replace(
      "operationId: bookVisit",
      "operationId: bookVisit\n      parameters: [{ name: Idempotency-Key, in: header, required: true, schema: { type: string } }]",
    ),
    bugs: {
      "a key is made up": {
        breaks: ["idempotence.key-required"],
        request(request) {
          if (headerValues(request, "idempotency-key").length === 0)
            setHeader(request, "Idempotency-Key", "own");
        },
      },
    },
  },
];

/** Habits of correct servers, each with the rules that could mistake it for a bug. */
export const habits: readonly (readonly [name: string, keeps: readonly string[], habit: Bug])[] = [
  [
    "writes an integer with a fraction of zero",
    ["contract.as-described"],
    altersText([], (text) => text.replace(/("error":\d+)/, "$1.0")),
  ],
];
