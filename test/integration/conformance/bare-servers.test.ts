// Servers that follow only the contract, or do so in their own way: the verdicts of a run are those
// of the next one.

import { expect, test } from "bun:test";
import type { Outcome } from "../../../packages/conformance/src/run/run.ts";
import { checkConformance, reportText, rulesNamed } from "../../support/conformance.ts";

const token = "s3cret";

interface BareBody {
  readonly id?: unknown;
  readonly name?: unknown;
  readonly tag?: unknown;
}

/** A service that responds to a body; to what is not JSON as to an empty object. */
const serve = (respond: (body: BareBody, request: Request) => Response) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => respond((await request.json().catch(() => undefined)) ?? {}, request),
  });

const errorOf = (error: number, message = "an error", status = 400) =>
  Response.json({ error, message }, { status });

interface Habits {
  /** Ids are cut and clamped to int64, and 0 if there is none. */
  readonly clampsIds?: boolean;
  /** An id that is missing, or is null, is 0. */
  readonly defaultsId?: boolean;
  /** The status of an invalid body; that of a conflict is always 400. */
  readonly invalidStatus?: number;
  /** A plant replaces another one with its id. */
  readonly overwrites?: boolean;
}

/** A service in memory: a duplicate id is 400, whatever it holds. */
function serveBare({
  clampsIds = false,
  defaultsId = clampsIds,
  invalidStatus = 400,
  overwrites = false,
}: Habits) {
  const taken = new Set<number>();
  const error = (status: number) => errorOf(status, "an error", status);
  return serve(({ id: given, name, tag }, request) => {
    if (request.headers.get("authorization") !== `Bearer ${token}`) return error(401);
    const id = given ?? (defaultsId ? 0 : undefined);
    if (typeof id !== "number" || typeof name !== "string" || (tag ?? "") !== `${tag ?? ""}`)
      return error(invalidStatus);
    if (!clampsIds && !Number.isInteger(id)) return error(invalidStatus);
    const stored = clampsIds ? Math.max(-(2 ** 63), Math.min(2 ** 63, Math.trunc(id))) : id;
    if (taken.has(stored) && !overwrites) return error(400);
    taken.add(stored);
    return Response.json({ name, tag });
  });
}

/** The outcomes of two runs, of the rules that are named. */
async function runTwice(url: string, ids: readonly string[]): Promise<Record<string, Outcome>[]> {
  const runs = [];
  for (let run = 0; run < 2; run++) {
    const { results } = await checkConformance({ url, token }, { rules: rulesNamed(...ids) });
    runs.push(Object.fromEntries(results.map(({ rule, outcome }) => [rule.id, outcome])));
  }
  return runs;
}

const doubles: Record<string, Outcome> = {
  "contract.create": "holds",
  "contract.invalid-members": "holds",
  "contract.as-described": "holds",
  "ids.limits": "holds",
  "ids.beyond-53-bits": "fails",
  "ids.above-range": "fails",
  "ids.fraction": "holds",
  "ids.exact-fraction": "fails",
  "idempotence.race-of-different": "holds",
  "idempotence.concurrent-stored": "holds",
  "idempotence.rejected-not-stored": "holds",
};

test.each<[name: string, habits: Habits, verdicts: Record<string, Outcome>]>([
  ["has ids as doubles", {}, doubles],
  ["has ids as doubles, and 422 for what is invalid", { invalidStatus: 422 }, doubles],
  [
    "changes ids to int64, and has 422 for what is invalid",
    { clampsIds: true, invalidStatus: 422 },
    {
      ...doubles,
      "contract.invalid-members": "fails",
      "ids.fraction": "fails",
    },
  ],
  // As a server in Go that decodes the body into a struct, and has one message for all errors.
  [
    "takes 0 for a missing id, and responds to all errors alike",
    { defaultsId: true },
    { "contract.invalid-members": "holds", "ids.limits": "holds", "ids.negative": "holds" },
  ],
  [
    "overwrites, so that any two ids pass for two plants",
    { overwrites: true, defaultsId: true },
    {
      "contract.invalid-members": "fails",
      "ids.negative": "skipped",
      "ids.beyond-32-bits": "skipped",
      "ids.beyond-53-bits": "skipped",
      "idempotence.race-of-different": "skipped",
      "idempotence.rejected-not-stored": "skipped",
    },
  ],
])("two runs on a server that %s have the same verdicts", async (_, habits, verdicts) => {
  await using server = serveBare(habits);
  expect(await runTwice(server.url.href, Object.keys(verdicts))).toEqual([verdicts, verdicts]);
});

test("cases that cannot be told from a conflict are named, where the others hold", async () => {
  await using server = serveBare({ defaultsId: true });
  const rules = rulesNamed("contract.invalid-members");
  const { results } = await checkConformance({ url: server.url.href, token }, { rules });
  expect(results[0]?.reason).toBe(
    'an id that is taken cannot be told from one that is rejected (no id; no members; "id": true; "id": {}; "id": null)',
  );
});

test("a server that is busy at times is waited for", async () => {
  let requests = 0;
  await using server = serve(({ name, tag }) => {
    if (++requests % 5 === 3) return new Response("busy", { status: 503, headers: { "Retry-After": "0" } });
    return name === undefined ? errorOf(400, "no name") : Response.json({ name, tag });
  });
  const rules = rulesNamed("contract.create", "contract.scheme-case");
  const report = await checkConformance({ url: server.url.href, token }, { rules });
  const held = report.results.filter(({ outcome, reason }) => outcome === "holds" && reason === undefined);
  if (held.length < rules.length) throw new Error(reportText(report));
  expect(requests).toBeGreaterThan(rules.length + 3);
});

test.each<
  [name: string, reject: (body: BareBody, taken: Set<unknown>) => [number, string] | undefined, Outcome]
>([
  [
    "a conflict is recognized by its message, where its code is that of an invalid body",
    ({ id, name }, taken) => {
      if (typeof name !== "string") return [400, "a name is required"];
      return taken.has(id ?? 0) ? [400, `the id ${id ?? 0} is taken`] : undefined;
    },
    "fails",
  ],
  [
    "a code that a conflict and an invalid id share is no conflict",
    ({ id, name }, taken) => {
      if (typeof id !== "number") return [2, "the id must be an integer"];
      if (typeof name !== "string") return [3, "the name must be a string"];
      // A message that is another one each time cannot be compared.
      return taken.has(id) ? [2, `the id is taken: ${crypto.randomUUID()}`] : undefined;
    },
    "holds",
  ],
])("%s", async (_, reject, outcome) => {
  const taken = new Set<unknown>();
  await using server = serve((body) => {
    if (typeof (body.tag ?? "") !== "string") return errorOf(4, "the tag must be a string");
    const rejection = reject(body, taken);
    if (rejection !== undefined) return errorOf(...rejection);
    taken.add(body.id ?? 0);
    return Response.json({ name: body.name });
  });
  const id = "contract.invalid-members";
  expect(await runTwice(server.url.href, [id])).toEqual([{ [id]: outcome }, { [id]: outcome }]);
});

/** A server with a plant for every create, but for what `respond` returns. */
const serveOr = (respond: (body: BareBody, request: Request) => Response | undefined) =>
  serve((body, request) => respond(body, request) ?? Response.json({ name: body.name, tag: body.tag }));

const reportOf = async (url: URL, ...ids: readonly string[]) =>
  await checkConformance({ url: url.href, token }, { rules: rulesNamed(...ids) });

test("what builds on a plain create that goes wrong is blocked, and what does not is checked", async () => {
  await using server = serve((_, { headers }) =>
    headers.has("authorization") ? Response.json({ name: "an example" }) : errorOf(1, "no token", 401),
  );
  const blocked = ["contract.text-unchanged", "ids.negative", "idempotence.same-again"];
  const { results } = await reportOf(server.url, "contract.create", "contract.token-required", ...blocked);
  expect(results.map(({ outcome }) => outcome)).toEqual(["fails", "fails", "blocked", "blocked", "blocked"]);
  expect(results[1]?.failures.map((failure) => failure.case)).toContain("an unknown token");
  expect(results[2]?.reason).toBe("blocked by contract.create");
});

test("a rejection does not count if the same request without the fault is rejected, too", async () => {
  await using server = serveOr(({ name, tag }) =>
    tag !== undefined || typeof name !== "string" ? errorOf(1, "no tags, please") : undefined,
  );
  const { results } = await reportOf(server.url, "contract.invalid-members");
  expect(results[0]?.reason).toStartWith("blocked: the same request without the fault is rejected, too: ");
  expect(results[0]?.reason).toContain('"tag": 5');
});

test("texts that look alike are shown with code points", async () => {
  await using server = serve(({ name, tag }) => Response.json({ name: `${name}`.normalize("NFC"), tag }));
  const { results } = await reportOf(server.url, "contract.text-unchanged");
  const messages = results.flatMap(({ failures }) => failures.map(({ message }) => message));
  expect(messages).toContain('expected the name "Fouge\\u{300}re", received "Foug\\u{e8}re"');
});

test("a token that is checked too late: the headline says that the plant is stored", async () => {
  const taken = new Set<unknown>();
  await using server = serveOr(({ id }, { headers }) => {
    if (taken.has(id)) return errorOf(1, "taken");
    taken.add(id);
    return headers.get("authorization") === `Bearer ${token}` ? undefined : errorOf(1, "no token", 401);
  });
  const { results } = await reportOf(server.url, "contract.token-required");
  expect(results[0]?.failures[0]?.message).toBe(
    "the plant is stored, although its create got 401: received the status 400",
  );
});
