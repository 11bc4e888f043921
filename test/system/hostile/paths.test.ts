// Every path of both listeners under connections that never read, never complete a request, or send
// requests as fast as they can: concurrent creates keep at least half of their rate, and memory
// stays bounded.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ConsoleClient } from "../../support/console.ts";
import { plantJson, post } from "../../support/http.ts";
import { type Attack, type AttackedRequest, type Behaviour, behaviours } from "./attacker.ts";
import { HostileSession, sendsAll } from "./hostile-session.ts";

/** The minimum fraction of the rate without the attack, which is measured in alternate phases. */
const paceMin = 0.5;
const residentBytesMoreMax = 128 * 2 ** 20;
/** Takes a quarter of a second without an attack. */
const createsInPhase = 20;
/**
 * Other load on the machine may affect one attempt; a defect of the server affects every attempt.
 */
const roundsMax = 6;

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
const script = "$SCRIPT";

const json = { "Content-Type": "application/json" };
const bearer = { Authorization: `Bearer ${token}` };
const preflight = { Origin: "https://a.example", "Access-Control-Request-Method": "POST" };
const inSession = { Cookie: cookie };
const consoleWrite = { ...json, "X-Plantstore-Console": "1" };
const password = "four random words it is";
const plant = plantJson(1n, "Monstera");
const createInConsole = JSON.stringify({ token, body: plant });

const paths: readonly Path[] = [
  { request: "public POST /plants", headers: { ...json, ...bearer }, body: plant, note: "a token" },
  { request: "public POST /plants", headers: json, body: plant, status: 401, note: "no token" },
  { request: "public GET /plants", status: 401 },
  { request: "public OPTIONS /plants", headers: preflight, status: 204 },
  { request: "public GET /openapi.json" },
  { request: "public GET /" },
  { request: `public GET /${script}` },
  { request: "public GET /nothing", status: 401, note: "no token" },
  { request: "public GET /nothing", headers: bearer, status: 404, note: "a token" },
  { request: "admin GET /livez" },
  { request: "admin GET /readyz" },
  { request: "admin GET /metrics" },
  { request: "admin GET /nothing", status: 404 },
  { request: "admin GET /console/" },
  { request: "admin GET /console/style.css" },
  { request: "admin GET /console/app.js" },
  { request: "admin GET /console/api/session" },
  {
    request: "admin POST /console/api/session",
    headers: consoleWrite,
    body: '{"password":"x"}',
    status: 403,
    note: "a wrong password",
  },
  { request: "admin GET /console/api/tokens", status: 401, note: "no session" },
  { request: "admin GET /console/api/history", headers: inSession },
  { request: "admin GET /console/api/plants?sort=id", headers: inSession },
  { request: "admin GET /console/api/plant?id=1", headers: inSession },
  { request: "admin GET /console/api/inventory", headers: inSession },
  { request: "admin GET /console/api/requests", headers: inSession },
  { request: "admin GET /console/api/export?format=csv", headers: inSession },
  { request: "admin GET /console/api/tokens", headers: inSession },
  {
    request: "admin POST /console/api/plants",
    headers: { ...consoleWrite, ...inSession },
    body: createInConsole,
  },
];

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

let session: HostileSession;
let attacker: Bun.Subprocess;
let attackerDone = Promise.withResolvers<void>();
/** The value of a placeholder in the table. */
const values = new Map<string, string>();

beforeAll(async () => {
  session = resources.use(
    await HostileSession.start(["--admin-password-hash", await Bun.password.hash(password, "argon2id")]),
  );
  attacker = Bun.spawn([process.execPath, new URL("attacker.ts", import.meta.url).pathname], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: () => attackerDone.resolve(),
  });
  resources.defer(async () => {
    attacker.kill();
    await attacker.exited;
  });
  expect((await post(session.target, plant)).status).toBe(200);
  session.load.sent.set(1n, plant);
  values.set(token, await session.server.createToken());
  const logIn = await (await ConsoleClient.of(session.server)).write("session", { password });
  values.set(cookie, logIn.headers.get("set-cookie")?.split(";")[0] ?? "");
  const html = await (await fetch(`${session.target.url}/`)).text();
  const [, scriptPath = ""] = /<script src="([^"]+)"/.exec(html) ?? [];
  values.set(script, scriptPath);
});

// Otherwise a row might attack only a rejection.
test.each(paths.map((path) => [nameOf(path), path] as const))(
  "%s is answered as its row means",
  async (_, path) => {
    const { url, method, path: target, headers, body } = await requestOf(path);
    const { status } = await fetch(url + target, { method, headers, ...(body === "" ? {} : { body }) });
    expect(status).toBe(path.status ?? 200);
  },
);

/** The rows that are attacked together, and how. */
const attacks: readonly (readonly [
  name: string,
  paths: readonly Path[],
  behaviours: readonly Behaviour[],
])[] = sendsAll
  ? paths.map((path) => [nameOf(path), [path], behaviours])
  : [
      ["all at once", paths, ["never reads", "never finishes"]],
      ...["public", "admin GET /", "admin POST"].map(
        (start) => [start, paths.filter(({ request }) => request.startsWith(start)), ["floods"]] as const,
      ),
    ];

describe.each(attacks)("%s", (_, attacked, behaviours) => {
  test.each(behaviours)(
    "creates continue and memory is bounded under connections of which each %s",
    async (behaviour) => {
      const attack: Attack = {
        requests: await Promise.all(attacked.map(requestOf)),
        behaviour,
        connections: attacked.length === 1 ? 200 : 30,
      };
      let calmMs = await phaseMs();
      const residentBytes = await residentBytesNow();
      const paces: number[] = [];
      for (;;) {
        await tellAttacker(attack);
        const attackedMs = await phaseMs();
        const more = (await residentBytesNow()) - residentBytes;
        await tellAttacker("stop");
        expect(more).toBeLessThan(residentBytesMoreMax);
        // The last requests of the attacker have ended by then.
        await session.load.acknowledgedMore(5);
        paces.push(calmMs / attackedMs);
        if (calmMs / attackedMs >= paceMin || paces.length === roundsMax) break;
        calmMs = await phaseMs();
      }
      expect(Math.max(...paces)).toBeGreaterThanOrEqual(paceMin);
    },
  );
});

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

async function tellAttacker(what: Attack | "stop"): Promise<void> {
  attackerDone = Promise.withResolvers();
  attacker.send(what);
  await attackerDone.promise;
}

/** How long the well-behaved client takes for the creates of a phase. */
async function phaseMs(): Promise<number> {
  const begin = performance.now();
  await session.load.acknowledgedMore(createsInPhase);
  return performance.now() - begin;
}

/** Not from /metrics, which is attacked as well. */
async function residentBytesNow(): Promise<number> {
  return Number(await Bun.$`ps -o rss= -p ${session.server.pid}`.text()) * 1_024;
}
