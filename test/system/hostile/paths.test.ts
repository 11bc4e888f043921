// Every path of both listeners under 200 connections that never read, never complete a request, or send requests as
// fast as they can: concurrent creates keep at least half of their rate, and memory stays bounded.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { type Attack, type Behaviour, behaviours } from "./attacker.ts";
import { HostileSession } from "./hostile-session.ts";

const connections = 200;
/** The minimum fraction of the rate without the attack, which is measured in alternate phases. */
const paceMin = 0.5;
const residentBytesMoreMax = 128 * 2 ** 20;
/** Each phase has some 40 creates without an attack. */
const phaseMs = 500;
/** Other load on the machine may affect one attempt; a defect of the server affects every attempt. */
const roundsMax = 4;

interface Path {
  readonly listener: "public" | "admin";
  readonly method: "GET" | "POST" | "OPTIONS";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The status of its response, if not 200. */
  readonly status?: number;
  /** Whether the console has a password. */
  readonly hasPassword?: boolean;
  /** Distinguishes it from other rows of the path. */
  readonly note?: string;
}

/** Filled in when the server runs. */
const token = "$TOKEN";
const bundle = "$BUNDLE";
const start = "$START";

const json = { "Content-Type": "application/json" };
const consoleWrite = { ...json, "X-Plantstore-Console": "1" };
const plant = plantJson(1n, "Monstera");

const paths: readonly Path[] = [
  {
    listener: "public",
    method: "POST",
    path: "/plants",
    headers: { ...json, Authorization: `Bearer ${token}` },
    body: plant,
    note: "a token",
  },
  {
    listener: "public",
    method: "POST",
    path: "/plants",
    headers: json,
    body: plant,
    status: 401,
    note: "no token",
  },
  { listener: "public", method: "GET", path: "/plants", status: 401 },
  {
    listener: "public",
    method: "OPTIONS",
    path: "/plants",
    headers: { Origin: "https://a.example", "Access-Control-Request-Method": "POST" },
    status: 204,
  },
  { listener: "public", method: "GET", path: "/openapi.json" },
  { listener: "public", method: "GET", path: "/" },
  { listener: "public", method: "GET", path: start },
  { listener: "public", method: "GET", path: bundle, headers: { "Accept-Encoding": "gzip" }, note: "gzip" },
  {
    listener: "public",
    method: "GET",
    path: bundle,
    headers: { "Accept-Encoding": "identity" },
    note: "identity",
  },
  { listener: "public", method: "GET", path: "/nothing", status: 401, note: "no token" },
  {
    listener: "public",
    method: "GET",
    path: "/nothing",
    headers: { Authorization: `Bearer ${token}` },
    status: 404,
    note: "a token",
  },
  { listener: "admin", method: "GET", path: "/livez" },
  { listener: "admin", method: "GET", path: "/readyz" },
  { listener: "admin", method: "GET", path: "/metrics" },
  { listener: "admin", method: "GET", path: "/nothing", status: 404 },
  { listener: "admin", method: "GET", path: "/console/" },
  { listener: "admin", method: "GET", path: "/console/style.css" },
  { listener: "admin", method: "GET", path: "/console/library/uplot.js" },
  { listener: "admin", method: "GET", path: "/console/api/session" },
  {
    listener: "admin",
    method: "POST",
    path: "/console/api/session",
    headers: consoleWrite,
    body: '{"password":"x"}',
    status: 403,
    hasPassword: true,
    note: "a wrong password",
  },
  {
    listener: "admin",
    method: "GET",
    path: "/console/api/tokens",
    status: 401,
    hasPassword: true,
    note: "no session",
  },
  { listener: "admin", method: "GET", path: "/console/api/history" },
  { listener: "admin", method: "GET", path: "/console/api/plants?by=id" },
  { listener: "admin", method: "GET", path: "/console/api/plants/export?by=id" },
  { listener: "admin", method: "GET", path: "/console/api/plant?id=1" },
  { listener: "admin", method: "GET", path: "/console/api/tokens" },
  { listener: "admin", method: "GET", path: "/console/api/indexes" },
  {
    listener: "admin",
    method: "POST",
    path: "/console/api/plants",
    headers: consoleWrite,
    body: JSON.stringify({ token, body: plant }),
  },
];

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

let openSession: HostileSession;
/** Its console has a password. */
let lockedSession: HostileSession;
let attacker: Bun.Subprocess;
let attackerDone = Promise.withResolvers<void>();
/** The value of a placeholder in the table. */
const values = new Map<string, string>();

beforeAll(async () => {
  openSession = resources.use(await HostileSession.start());
  lockedSession = resources.use(
    await HostileSession.start(["--admin-password-hash", await Bun.password.hash("four random words it is")]),
  );
  attacker = Bun.spawn([process.execPath, new URL("attacker.ts", import.meta.url).pathname], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: () => attackerDone.resolve(),
  });
  resources.defer(async () => {
    attacker.kill();
    await attacker.exited;
  });
  expect((await post(openSession.target, plant)).status).toBe(200);
  openSession.load.sent.set(1n, plant);
  const html = await (await fetch(`${openSession.target.url}/`)).text();
  const [startPath = "", bundlePath = ""] = [...html.matchAll(/<script src="([^"]+)"/g)].map(
    ([, path = ""]) => `/${path}`,
  );
  for (const [name, value] of [
    [token, await openSession.server.createToken()],
    [start, startPath],
    [bundle, bundlePath],
  ] as const)
    values.set(name, value);
});

// Otherwise a row might attack only a rejection.
test.each(paths.map((path) => [nameOf(path), path] as const))(
  "%s is answered as its row means",
  async (_, path) => {
    const {
      url,
      method,
      path: target,
      headers,
      body,
    } = await attackOf(path.hasPassword ? lockedSession : openSession, path, "floods");
    const { status } = await fetch(url + target, { method, headers, ...(body === "" ? {} : { body }) });
    expect(status).toBe(path.status ?? 200);
  },
);

const rows = paths.flatMap((path) => behaviours.map((behaviour) => ({ path, behaviour })));

describe.each(rows.map((row) => [nameOf(row.path), row.behaviour, row.path] as const))(
  "%s under connections of which each %s",
  (name, behaviour, path) => {
    test("concurrent creates continue, and memory is bounded", async () => {
      const session = path.hasPassword ? lockedSession : openSession;
      const residentBytes = await residentBytesOf(session);
      const found: { pace: number; more: number }[] = [];
      while (found.length < roundsMax) {
        // The last requests of the attacker have ended by then.
        await session.load.acknowledgedMore(5);
        const calm = await createsInPhase(session);
        await tellAttacker(await attackOf(session, path, behaviour));
        const attacked = await createsInPhase(session);
        const more = (await residentBytesOf(session)) - residentBytes;
        await tellAttacker("stop");
        found.push({ pace: attacked / Math.max(1, calm), more });
        expect(more).toBeLessThan(residentBytesMoreMax);
        if (attacked >= calm * paceMin) break;
      }
      const best = Math.max(...found.map(({ pace }) => pace));
      noteFigures([name, behaviour, best, Math.max(...found.map(({ more }) => more))]);
      expect(best).toBeGreaterThanOrEqual(paceMin);
    }, 60_000);
  },
);

test("afterwards every acknowledged plant is in the store, and no request has failed", async () => {
  // A request that crosses the closing of its idle connection is sent again (RFC 9112, section 9.3.1).
  for (const session of [openSession, lockedSession]) {
    session.load.unanswered.splice(0);
    expect(await session.faults()).toEqual([]);
  }
}, 60_000);

function nameOf({ listener, method, path, note }: Path): string {
  return `${listener} ${method} ${path}${note === undefined ? "" : ` (${note})`}`;
}

async function attackOf(
  session: HostileSession,
  { listener, method, path, headers = {}, body = "" }: Path,
  behaviour: Behaviour,
): Promise<Attack> {
  const filled = (text: string) => text.replace(/\$[A-Z]+/, (name) => values.get(name) ?? name);
  return {
    url: listener === "public" ? session.target.url : await session.server.adminUrl(),
    method,
    path: filled(path),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value)])),
    body: filled(body),
    behaviour,
    connections,
  };
}

async function tellAttacker(what: Attack | "stop"): Promise<void> {
  attackerDone = Promise.withResolvers();
  attacker.send(what);
  await attackerDone.promise;
}

async function createsInPhase(session: HostileSession): Promise<number> {
  const before = session.load.acknowledged.size;
  await Bun.sleep(phaseMs);
  return session.load.acknowledged.size - before;
}

/** Not from /metrics, which is attacked as well. */
async function residentBytesOf(session: HostileSession): Promise<number> {
  return Number(await Bun.$`ps -o rss= -p ${session.server.pid}`.text()) * 1_024;
}

/** For the table of docs/reliability.md. */
function noteFigures(figures: readonly (string | number)[]): void {
  const file = process.env.PLANTSTORE_TEST_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figures)}\n`);
}
