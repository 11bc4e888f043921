// plantstore serve: opens the store, opens the public listener, and runs until it is told to stop.

import { Command } from "commander";
import { startAdminServer } from "../admin/server.ts";
import { RateLimit } from "../api/rate-limit.ts";
import { type ServerOptions, startServer } from "../api/server.ts";
import { settingOf, withSettings } from "../config/command-config.ts";
import { OperatorError } from "../operator-error.ts";
import { printLines, tell } from "../operator-output.ts";
import { endOfTurn, GroupCommit } from "../store/group-commit.ts";
import { serveStore } from "../store/open-store.ts";
import type { TokenStore } from "../store/token-store.ts";
import { KnownTokens } from "../tokens/known-tokens.ts";
import { makeToken, randomBytes } from "../tokens/token.ts";

/** Enough for full batches; more would make the first plant of a batch wait for the last. */
const batchPlantsMax = 1_024;

/** Names and tags that may wait: at two bytes a unit 64 MiB, beside the 200 MB that the whole server is to stay under. */
const queueUnitsMax = 32 * 2 ** 20;

export function serveCommand(): Command {
  const command = new Command("serve").description(
    "run the server; the first line on standard output is its address",
  );
  return withSettings(command, [
    "host",
    "port",
    "database",
    "basePath",
    "publicUrl",
    "cors",
    "bodyBytesMax",
    "migrate",
    "adminHost",
    "adminPort",
    "queuePlantsMax",
    "tokenRate",
    "drainSecondsMax",
  ]).action(() => serve(command));
}

async function serve(command: Command): Promise<void> {
  // Ahead of everything that takes time, so that a signal during the start is not lost.
  const stopSignal = nextStopSignal();
  let stopping = false;
  // Taken down in the opposite order, also where the start goes wrong half-way.
  await using house = new AsyncDisposableStack();

  const mode = settingOf(command, "migrate") === "on" ? "create" : "existing";
  const observer = { unavailable: seldom(storeTrouble), failed: endAtOnce };
  const store = await serveStore(settingOf(command, "database"), mode, observer);
  house.defer(() => store.close());

  const tokens = new KnownTokens(store.tokens, Date.now, seldom(tokenTrouble));
  await tokens.start();
  house.defer(() => tokens.stop());

  const limits = {
    queuePlantsMax: settingOf(command, "queuePlantsMax"),
    queueUnitsMax,
    batchPlantsMax,
    batchesInFlightMax: store.batchesInFlightMax,
  };
  const groupCommit = new GroupCommit(store, limits, endOfTurn);
  house.defer(() => groupCommit.close());

  const adminPort = settingOf(command, "adminPort");
  if (adminPort !== "off") {
    const address = { host: settingOf(command, "adminHost"), port: adminPort };
    const assertReady = () =>
      stopping ? Promise.reject(new Error("the server is stopping")) : store.assertWritable();
    const admin = listen(() => startAdminServer({ ...address, assertReady }), address, "--admin-port");
    house.defer(() => admin.stop());
    tell(`Admin listener on ${admin.url}`);
  }

  const address = { host: settingOf(command, "host"), port: settingOf(command, "port") };
  const options: ServerOptions = {
    ...address,
    basePath: settingOf(command, "basePath"),
    publicUrl: settingOf(command, "publicUrl"),
    corsOrigins: settingOf(command, "cors"),
    bodyBytesMax: settingOf(command, "bodyBytesMax"),
    rateLimit: rateLimitOf(settingOf(command, "tokenRate")),
    tokens,
    groupCommit,
    observeFault: (error) => tell(`fault: ${error instanceof Error ? error.stack : error}`),
  };
  const server = listen(() => startServer(options), address, "--port");
  house.defer(() => server.stop(settingOf(command, "drainSecondsMax") * 1_000));

  // Made when nothing can fail any more: a token that nobody was shown would be the only one for good.
  const firstToken = await makeFirstToken(store.tokens);
  await printLines([server.url]);
  if (firstToken !== undefined) greet(server.url, firstToken);
  tell(`${await stopSignal}: stopping`);
  stopping = true;
}

function rateLimitOf(createsPerSecond: number): RateLimit | undefined {
  return createsPerSecond === 0 ? undefined : new RateLimit(createsPerSecond);
}

function listen<Listener>(
  start: () => Listener,
  address: { host: string; port: number },
  flag: string,
): Listener {
  try {
    return start();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new OperatorError(
      `cannot listen on ${address.host}:${address.port} (${code}); free it, or choose another with ${flag}`,
    );
  }
}

/** On the first start with an empty store, a token to begin with. */
async function makeFirstToken(tokens: TokenStore): Promise<string | undefined> {
  const { token, record } = makeToken({ name: "first", expiresAt: null }, { now: Date.now(), randomBytes });
  return (await tokens.addFirst(record)) ? token : undefined;
}

function greet(url: string, token: string): void {
  tell(`
This store is new. Its first token, shown only this once:

  ${token}

Create a plant with it:

  curl -i ${url}/plants \\
    -H 'Authorization: Bearer ${token}' \\
    -H 'Content-Type: application/json' \\
    -d '{"id": 1, "name": "Monstera deliciosa", "tag": "tropical"}'
`);
}

function storeTrouble(reason: string): void {
  tell(`the store cannot be used at present: ${reason}; requests are answered 503 until it can`);
}

/** Ends the process, so that a supervisor starts it anew: what was acknowledged is on disk. */
function endAtOnce(error: Error): void {
  tell(`plantstore: ${error.message}; the server ends`);
  process.exit(1);
}

function tokenTrouble(error: unknown): void {
  storeTrouble(error instanceof Error ? error.message : String(error));
}

function nextStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    // Kept for good: npm passes on a signal that the terminal has sent already, and the second must not cut off
    // the answers that the first waits for.
    process.on("SIGTERM", () => resolve("SIGTERM"));
    process.on("SIGINT", () => resolve("SIGINT"));
  });
}

/** Calls at most once in ten seconds: trouble comes with every batch. */
function seldom<Argument>(call: (argument: Argument) => void): (argument: Argument) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (argument) => {
    if (performance.now() - last < 10_000) return;
    last = performance.now();
    call(argument);
  };
}
