// The description that is served, compared with the server: every response that it declares is
// provoked and matches its schema and headers, every example of a response is what the server
// sends, and nothing undeclared is sent.

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { type ErrorCode, errorRegistry, statusOf } from "../../../src/base/errors.ts";
import { plantJson as bodyOf } from "../../../src/contract/plant.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { placeholder } from "../../../src/docs-page/server-address.ts";
import { createRow } from "../../../src/plants/create-plant.ts";
import { plantStore } from "../../support/contracts.ts";
import { failing } from "../../support/failing.ts";
import { type Answer, plantJson, post, send, sendTo, type Target } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { anyPlant, anyString } from "../../support/random.ts";
import { createHead, rawAnswers, sendRaw } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";
import { describedResponses, differences, matchesSchema } from "./described-responses.ts";

const openapi = servedDocument(plantStore, []);

const described = openapi as unknown as {
  readonly info: { readonly description: string };
  readonly paths: {
    readonly "/plants": {
      readonly post: {
        readonly requestBody: {
          readonly content: {
            readonly "application/json": {
              readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
            };
          };
        };
      };
    };
  };
};

const requestExamples = described.paths["/plants"].post.requestBody.content["application/json"].examples;

const examples = [...describedResponses].flatMap(([status, { content }]) =>
  Object.entries(content?.["application/json"].examples ?? {}).map(([name, { value }]) => ({
    status: Number(status),
    name,
    value,
  })),
);

const resources = new AsyncDisposableStack();
let target: Target;
beforeAll(async () => {
  target = await targetOf(["--token-rate", "0"]);
});
afterAll(() => resources.disposeAsync());

async function targetOf(args: readonly string[]): Promise<Target> {
  const server = resources.use(await RunningServer.startInProcess({ args }));
  return await server.target();
}

/** Sends enough concurrent creates that one is rejected, and returns that response. */
async function firstRefusal(of: Target, wanted: number): Promise<Answer> {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, id) => post(of, plantJson(BigInt(id), "x".repeat(2_000)))),
  );
  const refusal = answers.find(({ status }) => status === wanted);
  if (refusal === undefined) throw new Error(`Nothing was answered ${wanted}`);
  return refusal;
}

/** A response to raw bytes, which no HTTP client library sends. */
async function rawResponse(bytes: string): Promise<Answer> {
  const [answer] = rawAnswers(await sendRaw(target.url, bytes)).answers;
  if (answer === undefined) throw new Error("There was no answer");
  return {
    ...answer,
    headers: new Headers([...answer.headers]),
    text: answer.body,
    json: answer.body === "" ? undefined : JSON.parse(answer.body),
  };
}

/**
 * The response to a create whose commit throws: an internal error cannot be provoked from outside.
 */
async function internalError(): Promise<Answer> {
  await using server = await startInProcess();
  using _ = failing(server.store, "create", new Error());
  return await post(await server.target(), plantJson(1n, "Monstera"));
}

/** Provokes the response of each example. */
const provoke: Record<string, () => Promise<Answer>> = {
  withTag: () => post(target, JSON.stringify(requestExamples.withTag?.value)),
  withoutTag: () => post(target, JSON.stringify(requestExamples.withoutTag?.value)),
  badRequest: () =>
    rawResponse(
      `${createHead(target, "Content-Length: 26\r\nContent-Length: 26")}${plantJson(1n, "Monstera")}`,
    ),
  invalidJson: () => post(target, '{"name": }'),
  invalidPlant: () => post(target, '{"id": "1"}'),
  unstorableText: () => post(target, '{"id": 1, "name": "Monst\\u0000era"}'),
  conflict: async () => {
    await provoke.withTag?.();
    return post(target, '{"id": 1, "name": "Ficus"}');
  },
  missing: () => post(target, "{}", { Authorization: "" }),
  notAccepted: () => post(target, "{}", { Authorization: "Bearer unknown" }),
  notFound: () => sendTo(target, "GET", "/plant"),
  methodNotAllowed: async () =>
    sendTo(await targetOf(["--operations", "create,list,delete"]), "PUT", "/plants"),
  tooLarge: () => post(target, "x".repeat(2 ** 20 + 1)),
  requestTimeout: async () => {
    const impatient = await targetOf(["--arrival-seconds-max", "1"]);
    const answer = await send(`${impatient.url}/plants`, {
      method: "POST",
      headers: { Authorization: `Bearer ${impatient.token}`, "Content-Type": "application/json" },
      body: new ReadableStream(),
    });
    // The example has the default, for which the test would wait.
    return { ...answer, text: answer.text.replace("within 1 second;", "within 20 seconds;") };
  },
  unsupportedMediaType: () => post(target, "{}", { "Content-Type": "text/plain" }),
  tooManyRequests: async () => firstRefusal(await targetOf(["--token-rate", "10"]), 429),
  internalError,
  overloaded: async () => firstRefusal(await targetOf(["--queue-plants-max", "1"]), 503),
};

test.each(examples.map((example) => [example.status, example.name, example] as const))(
  "the example %d %s is what is sent, and matches the description",
  async (status, name, { value }) => {
    const answer = await provoke[name]?.();
    expect(answer).toMatchObject({ status });
    expect(answer?.text).toBe(JSON.stringify(value));
    expect(answer && differences(answer)).toEqual([]);
  },
);

const bareRequests = [
  [400, "no HTTP", "nonsense\r\n\r\n"],
  [400, "two lengths", "POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
  [431, "a large header field", `POST /plants HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`],
  [505, "another version", "POST /plants HTTP/2.0\r\nHost: x\r\n\r\n"],
] as const;

test.each(bareRequests)("%d to %s is bare, as it is declared", async (status, _, bytes) => {
  const answer = await rawResponse(bytes);
  expect(answer).toMatchObject({ status, text: "" });
  expect([...answer.headers]).toEqual([["connection", "close"]]);
  expect(differences(answer)).toEqual([]);
});

test("every declared response is provoked by one of these tests, or is bare and named by the default", () => {
  // The server itself sends no other: the next test. That of a proxy is in nginx.test.ts.
  const provoked = examples.map(({ status }) => String(status));
  expect([...new Set(provoked), "default"].toSorted()).toEqual([...describedResponses.keys()].toSorted());
  const bare = bareRequests.map(([status]) => String(status)).filter((status) => !provoked.includes(status));
  for (const status of bare) expect(describedResponses.get("default")?.description).toContain(`${status} (`);
});

test("the create is the one operation that is described", () => {
  const { method, path } = createRow(plantStore);
  expect(Object.entries(described.paths).map(([at, methods]) => [at, Object.keys(methods)])).toEqual([
    [path, [method.toLowerCase()]],
  ]);
});

test("the first example of 400 is that of a body that is no NewPlant: mocks answer every invalid body with it", () => {
  expect(examples.find(({ status }) => status === 400)?.name).toBe("invalidPlant");
});

test("where a rate is set, the RateLimit fields are sent where they are declared, and nowhere else", async () => {
  const limited = await targetOf(["--token-rate", "1000"]);
  const responses = await Promise.all([
    post(limited, plantJson(7n, "Monstera")),
    post(limited, "{}"),
    post(limited, "x".repeat(2 ** 20 + 1)),
    post(limited, "{}", { "Content-Type": "text/plain" }),
    post(limited, "{}", { Authorization: "" }),
    sendTo(limited, "GET", "/plant"),
    sendTo(limited, "GET", "/plants"),
    firstRefusal(await targetOf(["--token-rate", "10"]), 429),
    firstRefusal(await targetOf(["--token-rate", "1000", "--queue-plants-max", "1"]), 503),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 413, 415, 401, 404, 405, 429, 503]);
  for (const response of responses) {
    const declared = describedResponses.get(String(response.status))?.headers ?? {};
    for (const name of ["RateLimit", "RateLimit-Policy"])
      expect({ status: response.status, name, isSent: response.headers.has(name) }).toEqual({
        status: response.status,
        name,
        isSent: name in declared,
      });
    expect(differences(response)).toEqual([]);
  }
});

/** Any request for the operation: with and without a token, of any method, media type and body. */
const anyRequest = fc.record({
  method: fc.constantFrom("POST", "POST", "POST", "POST", "GET", "PUT", "PATCH", "DELETE", "OPTIONS"),
  path: fc.constantFrom(
    "/plants",
    "/plants",
    "/plants",
    "/plants?x=1",
    "/plants/",
    "/plants/1",
    "/Plants",
    "/%00",
  ),
  authorization: fc.constantFrom("token", "token", "token", "token", "", "Bearer", "Bearer x", "Basic eDp5"),
  contentType: fc.constantFrom(
    "application/json",
    "application/json",
    "application/json; charset=utf-8",
    "application/json; charset=latin1",
    "text/plain",
    "",
  ),
  body: fc.oneof(
    anyPlant.map((plant) => bodyOf(plantStore, plant)),
    fc.json(),
    anyString,
  ),
});

test("whatever is sent, the response is a declared one and matches its description", async () => {
  // The ids of the examples are free in the store of the others.
  const fuzzed = await targetOf(["--token-rate", "0"]);
  await fc.assert(
    fc.asyncProperty(anyRequest, async ({ method, path, authorization, contentType, body }) => {
      const headers = {
        ...(authorization === ""
          ? {}
          : { Authorization: authorization === "token" ? `Bearer ${fuzzed.token}` : authorization }),
        ...(contentType === "" ? {} : { "Content-Type": contentType }),
      };
      const hasBody = method !== "GET" && method !== "OPTIONS";
      const init = { method, headers, ...(hasBody ? { body: new Blob([body]) } : {}) };
      const response = await send(fuzzed.url + path, init);
      expect(differences(response, { method, path: path.replace(/\?.*/, "") })).toEqual([]);
    }),
    { numRuns: 250 },
  );
});

test("what a schema names as an example matches it", () => {
  const { schemas } = openapi.components;
  for (const name of ["Plant", "NewPlant", "Error"] as const) {
    const schema = schemas[name] ?? {};
    const parts = [schema, ...(schema.allOf ?? [])].flatMap((part) => Object.entries(part.properties ?? {}));
    const fields = parts.map(([field, property]) => [
      field,
      (property as { examples?: unknown[] }).examples?.[0],
    ]);
    const example = { name: "Monstera deliciosa", ...Object.fromEntries(fields) };
    expect(fields.filter(([, value]) => value === undefined)).toEqual([]);
    expect(matchesSchema(name, example)).toBe(true);
  }
});

test("openapi.yaml is what openapi.json is", async () => {
  const response = await fetch(`${target.url}/openapi.yaml`);
  expect(response.headers.get("content-type")).toBe("application/yaml");
  const text = await response.text();
  const served = JSON.stringify(openapi).replaceAll(placeholder, target.url);
  expect(Bun.YAML.parse(text)).toEqual(JSON.parse(served));
  expect(Bun.YAML.parse(text)).toEqual((await send(`${target.url}/openapi.json`)).json as object);
});

/** The codes of the create: parameters, scopes and conditions of other operations have some of their own. */
const codesOfOthers: readonly string[] = [
  ...[
    "invalidParameter",
    "insufficientScope",
    "preconditionFailed",
    "preconditionRequired",
    "notImplemented",
  ],
];
const codes = Object.entries(errorRegistry).filter(([code]) => !codesOfOthers.includes(code));

test("every code of the registry has an example under its status, and every example is of the registry", () => {
  const fromRegistry = codes.map(([code, { error }]) => `${statusOf(code as ErrorCode)} ${error}`);
  const fromExamples = examples
    .filter(({ value }) => value.error !== undefined)
    .map(({ status, value }) => `${status} ${value.error}`);
  expect(fromExamples.toSorted()).toEqual(fromRegistry.toSorted());
});

test("the table of errors has every code of the registry with its meaning, and no other", () => {
  const rows = [...described.info.description.matchAll(/^\| (\d{5}) \| ([^|]+) \| [^|]+ \|$/gm)];
  expect(rows.map(([, error, meaning]) => [Number(error), meaning])).toEqual(
    codes.map(([, { error, meaning }]) => [error, meaning]),
  );
});

test("every code is explained in the description of the response with its status", () => {
  const unexplained = codes.filter(([code, { error, meaning }]) => {
    const described = describedResponses.get(String(statusOf(code as ErrorCode)));
    const explanation = `${error}: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`;
    return !described?.description.includes(explanation);
  });
  expect(unexplained).toEqual([]);
});
