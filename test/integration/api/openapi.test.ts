// openapi.yaml compared with the server: every example of a response is what the server sends.

import { afterAll, beforeAll, expect, test } from "bun:test";
import openapi from "../../../openapi.yaml";
import { type ErrorCode, errorRegistry, statusOf } from "../../../src/contract/errors.ts";
import { type Answer, plantJson, post, send, type Target } from "../../support/http.ts";
import { rawAnswers } from "../../support/raw-answers.ts";
import { stuckCreate } from "../../support/raw-connection.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

interface Example {
  readonly summary: string;
  readonly value: { readonly error?: number };
}

interface DescribedAnswer {
  readonly description?: string;
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: {
    readonly "application/json": { readonly examples: Readonly<Record<string, Example>> };
  };
}

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
        readonly responses: Readonly<Record<string, DescribedAnswer>>;
      };
    };
  };
  readonly components: { readonly responses: Readonly<Record<string, DescribedAnswer>> };
};

const { requestBody, responses } = described.paths["/plants"].post;
const requestExamples = requestBody.content["application/json"].examples;

const answers = Object.entries(responses).map(([status, answer]) => {
  const referred = described.components.responses[answer.$ref?.split("/").at(-1) ?? ""];
  return [status, referred ?? answer] as const;
});

const examples = answers.flatMap(([status, referred]) => {
  const named = Object.entries(referred.content?.["application/json"].examples ?? {});
  const headers = Object.keys(referred.headers ?? {}).map((header) => header.toLowerCase());
  return named.map(([name, { value, summary }]) => ({
    status: Number(status),
    name,
    value,
    summary,
    headers,
  }));
});

/** Fields of HTTP itself, of CORS, and for browsers, which are not described. */
const undescribed = /^(?:content-(?:type|length)|date|connection|x-content-type-options|access-control-.*)$/;

const resources = new AsyncDisposableStack();
let target: Target;
beforeAll(async () => {
  target = await targetOf(["--token-rate", "0"]);
});
afterAll(() => resources.disposeAsync());

async function targetOf(args: readonly string[]): Promise<Target> {
  const folder = resources.use(new TemporaryFolder());
  const server = resources.use(
    await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args }),
  );
  return { url: server.url, token: await server.createToken() };
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

/** Provokes the response of each example; an internal error cannot be provoked from outside. */
const provoke: Record<string, () => Promise<Answer>> = {
  withTag: () => post(target, JSON.stringify(requestExamples.withTag?.value)),
  withoutTag: () => post(target, JSON.stringify(requestExamples.withoutTag?.value)),
  badRequest: async () => {
    // No HTTP client library sends it.
    const connection = await stuckCreate(target, "Content-Length: 26\r\nContent-Length: 26", "");
    const [answer] = rawAnswers(await connection.closed).answers;
    if (answer === undefined) throw new Error("There was no answer");
    return {
      ...answer,
      headers: new Headers([...answer.headers]),
      text: answer.body,
      json: JSON.parse(answer.body),
    };
  },
  invalidJson: () => post(target, '{"name": }'),
  invalidPlant: () => post(target, '{"id": "1"}'),
  unstorableText: () => post(target, '{"id": 1, "name": "Monst\\u0000era"}'),
  conflict: async () => {
    await provoke.withTag?.();
    return post(target, '{"id": 1, "name": "Ficus"}');
  },
  missing: () => post(target, "{}", { Authorization: "" }),
  notAccepted: () => post(target, "{}", { Authorization: "Bearer unknown" }),
  notFound: () => send(`${target.url}/plant`, { headers: { Authorization: `Bearer ${target.token}` } }),
  methodNotAllowed: () =>
    send(`${target.url}/plants`, { headers: { Authorization: `Bearer ${target.token}` } }),
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
  overloaded: async () => firstRefusal(await targetOf(["--queue-plants-max", "1"]), 503),
};

const provoked = examples.filter(({ name }) => name !== "internalError");
test.each(provoked.map((example) => [example.status, example.name, example] as const))(
  "the example %d %s is what is sent",
  async (status, name, { value, headers }) => {
    const answer = await provoke[name]?.();
    expect(answer).toMatchObject({ status });
    expect(answer?.text).toBe(JSON.stringify(value));
    const sent = [...(answer?.headers.keys() ?? [])].filter((header) => !undescribed.test(header));
    expect(sent.filter((header) => !headers.includes(header))).toEqual([]);
  },
);

test("every code of the registry has an example under its status, and every example is of the registry", () => {
  const fromRegistry = Object.entries(errorRegistry).map(
    ([code, { error }]) => `${statusOf(code as ErrorCode)} ${error}`,
  );
  const fromExamples = examples
    .filter(({ value }) => value.error !== undefined)
    .map(({ status, value }) => `${status} ${value.error}`);
  expect(fromExamples.toSorted()).toEqual(fromRegistry.toSorted());
});

test("every example of a request has a response among the examples", () => {
  expect(examples.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(requestExamples)));
});

test("the table of errors has every code of the registry with its meaning, and no other", () => {
  const rows = [...described.info.description.matchAll(/^\| (\d{5}) \| ([^|]+) \| [^|]+ \|$/gm)];
  expect(rows.map(([, error, meaning]) => [Number(error), meaning])).toEqual(
    Object.values(errorRegistry).map(({ error, meaning }) => [error, meaning]),
  );
});

test("every code is explained in the description of the response with its status", () => {
  const unexplained = Object.entries(errorRegistry).filter(([code, { error, meaning }]) => {
    const described = answers.find(([status]) => Number(status) === statusOf(code as ErrorCode));
    const explanation = `${error}: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`;
    return !described?.[1].description?.includes(explanation);
  });
  expect(unexplained).toEqual([]);
});
