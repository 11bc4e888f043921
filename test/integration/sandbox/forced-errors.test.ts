// Forced errors are those of the real fault: status, header fields and body, for every code of the
// registry.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ErrorCode } from "../../../src/base/errors.ts";
import { errorCodes } from "../../../src/sandbox/response-examples.ts";
import { freshId, plantJson, type Target } from "../../support/http.ts";
import { type RawAnswer, RawConnection, rawAnswers } from "../../support/raw-connection.ts";
import { RunningSandbox, requestPage } from "../../support/sandbox.ts";

const resources = new AsyncDisposableStack();
/** One with a rate and a short time for bodies, and one with the defaults. */
let limited: RunningSandbox;
let unlimited: RunningSandbox;
beforeAll(async () => {
  const limits = ["--token-rate", "1000", "--token-burst", "3000", "--arrival-seconds-max", "1"];
  const args = [...limits, "--operations", "create,list,delete"];
  limited = resources.use(await RunningSandbox.startInProcess({ args }));
  unlimited = resources.use(await RunningSandbox.startInProcess());
});
afterAll(() => resources.disposeAsync());

interface Sent {
  readonly line?: string;
  /** In place of the token of the sandbox; "" for none. */
  readonly authorization?: string;
  readonly contentType?: string;
  /** In place of the length of the body. */
  readonly framing?: string;
  readonly body?: string;
  readonly prefer?: string;
}

const requestId = "the-same";
const origin = "https://a.example";

function bytesOf(target: Target, sent: Sent): string {
  const { body = plantJson(freshId(), "Monstera"), contentType = "application/json" } = sent;
  const { authorization = `Bearer ${target.token}`, line = "POST /plants HTTP/1.1" } = sent;
  const fields = [
    "Host: x",
    `X-Request-Id: ${requestId}`,
    `Origin: ${origin}`,
    ...(authorization === "" ? [] : [`Authorization: ${authorization}`]),
    ...(contentType === "" ? [] : [`Content-Type: ${contentType}`]),
    ...(sent.prefer === undefined ? [] : [`Prefer: ${sent.prefer}`]),
    sent.framing ?? `Content-Length: ${body.length}`,
  ];
  return `${line}\r\n${fields.join("\r\n")}\r\n\r\n${body}`;
}

/** The first response, and whether the connection is closed after it, for which the test waits. */
async function send(target: Target, sent: Sent): Promise<RawAnswer & { readonly closes: boolean }> {
  const connection = await RawConnection.open(target.url);
  connection.write(bytesOf(target, sent));
  const answer = await connection.until((received) => rawAnswers(received).answers[0]);
  if (answer === undefined)
    throw new Error(`There was no response, but ${JSON.stringify(connection.received)}`);
  const closes = answer.headers.get("connection") === "close";
  if (closes) await connection.closed;
  else connection.terminate();
  return { ...answer, closes };
}

/**
 * The status, the code and the header fields; the message of a forced error is that of its example.
 */
function comparable({ headers, body, ...rest }: RawAnswer & { readonly closes: boolean }) {
  const varying = ["date", "content-length", "ratelimit", "preference-applied"];
  return {
    ...rest,
    error: JSON.parse(body).error,
    headers: Object.fromEntries([...headers].filter(([name]) => !varying.includes(name))),
  };
}

/** How each error really comes about; undefined for those that have a test of their own. */
const faults: Record<ErrorCode, Sent | undefined> = {
  badRequest: { framing: "Content-Length: 26\r\nContent-Length: 26", body: "x".repeat(26) },
  invalidJson: { body: '{"name": }' },
  invalidPlant: { body: '{"id": "1"}' },
  unstorableText: { body: '{"id": 1, "name": "Monst\\u0000era"}' },
  invalidParameter: { line: "GET /plants?limit=0 HTTP/1.1" },
  conflict: { body: plantJson(7n, "other") },
  missingToken: { authorization: "" },
  invalidToken: { authorization: "Bearer pst_unknown" },
  insufficientScope: undefined,
  notFound: { line: "POST /plant HTTP/1.1" },
  methodNotAllowed: { line: "PUT /plants HTTP/1.1" },
  requestTimeout: { framing: "Content-Length: 100" },
  preconditionFailed: undefined,
  preconditionRequired: undefined,
  contentTooLarge: { framing: `Content-Length: ${2 ** 20 + 1}`, body: "" },
  unsupportedMediaType: { contentType: "" },
  tooManyRequests: undefined,
  internalError: undefined,
  notImplemented: undefined,
  unavailable: undefined,
};

const codes = [...errorCodes];

test.each(codes.filter(([, code]) => faults[code] !== undefined))(
  "%d, forced by Prefer and by a rule, equals that of the real fault",
  async (error, code) => {
    await send(limited, { body: plantJson(7n, "first") });
    const real = await send(limited, faults[code] ?? {});
    expect(JSON.parse(real.body).error).toBe(error);

    const body = code === "conflict" ? plantJson(7n, "first") : plantJson(freshId(), "Monstera");
    const preferred = await send(limited, { body, prefer: `code=${error}` });
    expect(comparable(preferred)).toEqual(comparable(real));
    await limited.control("PUT", "/rules", { rules: [{ times: 1, outcome: { error } }] });
    expect(comparable(await send(limited, { body }))).toEqual(comparable(real));
    expect((await send(limited, { body })).status).toBe(200);
  },
);

test("42900 equals that of a token over its rate", async () => {
  await using sandbox = await RunningSandbox.startInProcess({
    args: ["--token-rate", "2", "--token-burst", "4"],
  });
  const forced = await send(sandbox, { prefer: "code=429" });
  expect((await send(sandbox, {})).headers.get("ratelimit")).toBe('"token";r=3;t=2');
  let real = await send(sandbox, {});
  while (real.status === 200) real = await send(sandbox, {});
  const withoutDelay = (answer: typeof real) => {
    const { headers, ...rest } = comparable(answer);
    const { "retry-after": _, ...others } = headers;
    return { ...rest, headers: others };
  };
  expect(withoutDelay(forced)).toEqual(withoutDelay(real));
  expect(JSON.parse(forced.body).message).toContain("The rate limit of 2 requests a second is exceeded");
  expect(forced.headers.get("retry-after")).toBe("2");
  expect(forced.headers.get("ratelimit")).toBe('"token";r=0;t=2');
  expect(forced.headers.get("ratelimit-policy")).toBe(real.headers.get("ratelimit-policy") ?? "");
});

test("42900 without a rate is that of the example in openapi.json", async () => {
  const outcome = { error: 42900, headers: { "retry-after": "30" } };
  await unlimited.control("PUT", "/rules", { rules: [{ times: 1, outcome }] });
  const forced = await send(unlimited, {});
  expect(JSON.parse(forced.body).message).toBe(
    "The rate limit of 10 requests a second is exceeded; try again in 1 second.",
  );
  const shown = ["ratelimit-policy", "retry-after"].map((name) => forced.headers.get(name));
  expect(shown).toEqual(['"token";q=10;w=1', "30"]);
  expect((await send(unlimited, {})).headers.has("ratelimit")).toBe(false);
});

test("50000 in a sandbox, with its line in the log", async () => {
  const forced = await send(limited, { prefer: "code=50000" });
  expect(comparable(forced)).toMatchObject({ status: 500, error: 50000, closes: false });
  expect(
    await limited.logged((text) => (text.includes('"error":"forced by the sandbox"') ? text : undefined)),
  ).toContain('"requestId":"the-same"');
});

test("a forced error does not depend on the request", async () => {
  const forced = await send(unlimited, { prefer: "code=503", authorization: "" });
  expect(comparable(forced)).toMatchObject({ status: 503, error: 50300, headers: { "retry-after": "1" } });
  expect((await send(limited, { prefer: "example=withTag", body: "{" })).status).toBe(200);
});

test("a preference that cannot be met is an error, and not a stored plant", async () => {
  const before = (await limited.resources()).length;
  const answer = await send(limited, { prefer: "example=plant, code=503" });
  expect([answer.status, JSON.parse(answer.body)]).toEqual([
    400,
    { error: 40010, message: expect.stringContaining("Prefer: ") },
  ]);
  expect(answer.headers.has("preference-applied")).toBe(false);
  expect(await limited.resources()).toHaveLength(before);
  const { requests } = await requestPage(limited, "?limit=1000");
  expect(requests.at(-1)).toMatchObject({ error: 40010, forced: { prefer: "code=503, example=plant" } });
});

test("Preference-Applied says what was honoured", async () => {
  const applied = async (prefer: string) =>
    (await send(limited, { prefer })).headers.get("preference-applied");
  expect(await applied("code=503, delay=0.01, wait=5")).toBe("code=503, delay=0.01");
  expect(await applied("example=withTag")).toBe("example=withTag");
  expect(await applied("delay=0")).toBe("delay=0");
  expect(await applied("return=minimal")).toBeUndefined();
});

test("any response: its status, its header fields and its body, also after a commit", async () => {
  const forced = async (response: object, more: object = {}) => {
    await limited.control("PUT", "/rules", { rules: [{ times: 1, outcome: { response, ...more } }] });
    return send(limited, { body: plantJson(4_711n, "Monstera") });
  };
  const headers = { "Content-Type": "text/html", "X-A": "b", "Content-length": "1" };
  const html = await forced({ status: 502, body: "<p>é" }, { headers });
  expect([html.status, html.headers.get("content-type"), html.headers.get("x-a")]).toEqual([
    502,
    "text/html",
    "b",
  ]);
  expect(Buffer.from(html.body, "latin1").toString()).toBe("<p>é");
  const json = await forced({ status: 200, body: { id: JSON.rawJSON(`${2n ** 63n}`) } });
  expect(json.body).toBe('{"id":9223372036854775808}');
  expect((await limited.control("GET", "/plants/4711")).status).toBe(404);
  expect(await forced({ status: 204, body: "x" }, { commit: true })).toMatchObject({ status: 204, body: "" });
  expect((await limited.control("GET", "/plants/4711")).status).toBe(200);
});

test("every error has an Error body", async () => {
  for (const status of [418, 502]) {
    const answer = await send(limited, { prefer: `code=${status}` });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      status,
      { error: status * 100, message: expect.stringMatching(/\.$/) },
    ]);
    expect(answer.headers.get("content-type")).toBe("application/json");
  }
});

test("examples of openapi.json are sent with the status and the fields of their response", async () => {
  const withTag = await send(limited, { prefer: "example=withTag" });
  expect(withTag.status).toBe(200);
  expect(JSON.parse(withTag.body)).toMatchObject({ name: "Monstera deliciosa", tag: "tropical" });
  const plain = await send(limited, {});
  const names = ({ headers }: RawAnswer) =>
    [...headers.keys()].filter((name) => name !== "preference-applied").toSorted();
  expect(names(withTag)).toEqual(names(plain));
  const conflict = await send(limited, { prefer: "code=400, example=conflict" });
  expect([conflict.status, JSON.parse(conflict.body)]).toEqual([
    400,
    {
      error: 40009,
      message: "The id 1 already holds a different plant, which is unchanged; choose another id.",
    },
  ]);
});

test("a page of another origin may send Prefer, and read the forced error", async () => {
  const preflight = await fetch(`${limited.url}/plants`, {
    method: "OPTIONS",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,content-type,prefer",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,content-type,prefer");
  const forced = await send(limited, { prefer: "code=503" });
  expect(forced.headers.get("access-control-allow-origin")).toBe("*");
  expect(forced.headers.get("access-control-expose-headers")).toContain("Retry-After");
});
