// Every path of both listeners under connections that never read, never complete a request, or send
// requests as fast as they can: creates of others continue, and memory stays bounded.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { ConsoleClient } from "../../support/console.ts";
import { plantJson, post } from "../../support/http.ts";
import { type AttackedRequest, behaviours } from "./attacker.ts";
import { HostileSession, residentBytesMoreMax, sendsAll, startAttack } from "./hostile-session.ts";

const createsUnderAttack = 40;

interface Path {
  /** The listener, the method and the path. */
  readonly request: `${"public" | "admin"} ${"GET" | "POST" | "OPTIONS"} /${string}`;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The status of its response, if not 200. */
  readonly status?: number;
  /** Distinguishes it from other rows of the path. */
  readonly note?: string;
}

// Filled in when the server runs.
const token = "$TOKEN";
const cookie = "$COOKIE";

const json = { "Content-Type": "application/json" };
const bearer = { Authorization: `Bearer ${token}` };
const preflight = { Origin: "https://a.example", "Access-Control-Request-Method": "POST" };
const inSession = { Cookie: cookie };
const password = "four random words it is";
const plant = plantJson(1n, "Monstera");
const createInConsole = JSON.stringify({ body: plant });

const paths: readonly Path[] = [
  { request: "public POST /plants", headers: { ...json, ...bearer }, body: plant, note: "a token" },
  { request: "public POST /plants", headers: json, body: plant, status: 401, note: "no token" },
  { request: "public GET /plants", status: 401 },
  { request: "public OPTIONS /plants", headers: preflight, status: 204 },
  { request: "public GET /openapi.json" },
  { request: "public GET /" },
  { request: "public GET /docs/page.js" },
  { request: "public GET /docs/scalar.js" },
  { request: "public GET /nothing", headers: bearer, status: 404, note: "a token" },
  { request: "admin GET /livez" },
  { request: "admin GET /readyz" },
  { request: "admin GET /metrics" },
  { request: "admin GET /console/" },
  { request: "admin GET /console/api/session" },
  {
    request: "admin POST /console/api/session",
    headers: json,
    body: '{"password":"x"}',
    status: 403,
    note: "a wrong password",
  },
  { request: "admin GET /console/api/tokens", status: 401, note: "no session" },
  { request: "admin GET /console/api/history", headers: inSession },
  { request: "admin GET /console/api/plants?count=50", headers: inSession },
  { request: "admin GET /console/api/export?format=csv", headers: inSession },
  { request: "admin GET /console/api/tokens", headers: inSession },
  {
    request: "admin POST /console/api/plants",
    headers: { ...json, ...inSession },
    body: createInConsole,
  },
];

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

let session: HostileSession;
/** The value of a placeholder in the table. */
const values = new Map<string, string>();

beforeAll(async () => {
  session = resources.use(
    await HostileSession.start(["--admin-password-hash", await Bun.password.hash(password, "argon2id")]),
  );
  expect((await post(session.target, plant)).status).toBe(200);
  session.load.sent.set(1n, plant);
  values.set(token, await session.server.createToken());
  const logIn = await (await ConsoleClient.of(session.server)).write("session", { password });
  values.set(cookie, logIn.headers.get("set-cookie")?.split(";")[0] ?? "");
});

// Otherwise a row might attack only a rejection.
test("each path is answered as its row means", async () => {
  for (const path of paths) {
    const { url, path: target, body, ...init } = await requestOf(path);
    const { status } = await fetch(url + target, { ...init, ...(body === "" ? {} : { body }) });
    expect([nameOf(path), status]).toEqual([nameOf(path), path.status ?? 200]);
  }
});

/** The rows that are attacked together: `npm run hostile` attacks one after the other. */
const attacks: readonly (readonly [name: string, paths: readonly Path[]])[] = sendsAll
  ? paths.map((path) => [nameOf(path), [path]])
  : [["all paths at once", paths]];

test.each(
  attacks.flatMap(([name, paths]) => behaviours.map((behaviour) => [name, behaviour, paths] as const)),
)(
  "%s, by connections of which each %s: creates continue, and memory is bounded",
  async (_, behaviour, attacked) => {
    const requests = await Promise.all(attacked.map(requestOf));
    const calmMs = await createsMs();
    const residentBytes = await residentBytesNow();
    {
      await using _attacker = await startAttack({ requests, behaviour, connections: sendsAll ? 200 : 30 });
      const attackedMs = await createsMs();
      expect((await residentBytesNow()) - residentBytes).toBeLessThan(residentBytesMoreMax);
      if (sendsAll) process.stdout.write(`pace under the attack: ${(calmMs / attackedMs).toFixed(2)}\n`);
    }
    // The last requests of the attacker have ended by then.
    await session.load.acknowledgedMore(5);
  },
);

test("afterwards every acknowledged plant is in the store, and no request has failed", async () => {
  // A request that crosses the closing of its idle connection is sent again (RFC 9112, section
  // 9.3.1).
  session.load.unanswered.splice(0);
  expect(await session.faults()).toEqual([]);
});

function nameOf({ request, note }: Path): string {
  return note === undefined ? request : `${request} (${note})`;
}

async function requestOf({ request, headers = {}, body = "" }: Path): Promise<AttackedRequest> {
  const filled = (text: string) => text.replace(/\$[A-Z]+/, (name) => values.get(name) ?? name);
  const [listener, method = "", path = ""] = request.split(" ");
  return {
    url: listener === "public" ? session.target.url : await session.server.adminUrl(),
    method,
    path: filled(path),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value)])),
    body: filled(body),
  };
}

/** How long the well-behaved client takes for some creates. */
async function createsMs(): Promise<number> {
  const begin = performance.now();
  await session.load.acknowledgedMore(createsUnderAttack);
  return performance.now() - begin;
}

/** Not from /metrics, which is attacked as well. */
async function residentBytesNow(): Promise<number> {
  return Number(await Bun.$`ps -o rss= -p ${session.server.pid}`.text()) * 1_024;
}
