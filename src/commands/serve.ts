// plantstore serve: opens the store, opens the listeners, and runs until it is told to stop.

import { Command } from "commander";
import packageJson from "../../package.json";
import { startAdminServer } from "../admin/server.ts";
import { Bodies } from "../api/body.ts";
import { type Certificate, CertificateWatch, readCertificate } from "../api/certificate.ts";
import { type PublicServer, type ServerOptions, startServer } from "../api/server.ts";
import { settingOf } from "../config/command-config.ts";
import { configurationOf, withServerSettings } from "../config/server-config.ts";
import type { Event, Observe } from "../events/event.ts";
import { Metrics } from "../events/metrics.ts";
import { Traces } from "../events/traces.ts";
import { OperatorError } from "../operator-error.ts";
import { printLines } from "../operator-output.ts";
import { endOfTurn, GroupCommit } from "../store/group-commit.ts";
import { observedCommits } from "../store/observed-commits.ts";
import { serveStore } from "../store/open-store.ts";
import { Credentials } from "../tokens/credentials.ts";
import { JwtVerifier } from "../tokens/jwt-verifier.ts";
import { KnownTokens } from "../tokens/known-tokens.ts";
import { firstTokenLines } from "./first-token.ts";
import { bodyLimitsOf, certificateFilesOf, identityProviderOf, logOf, rateLimitOf } from "./serve-options.ts";
import { firstStopSignal } from "./stop-signals.ts";

/** Enough for full batches; more would make the first plant of a batch wait for the last. */
const batchPlantsMax = 1_024;

/** Names and tags that may wait: at two bytes a unit 64 MiB, beside the 200 MB that the whole server is to stay under. */
const queueUnitsMax = 32 * 2 ** 20;

/** Longer than a body may take to arrive, or a database to fail over: Bun closes the connection then without a word. */
const idleSecondsMin = 30;

const now = () => performance.now();

export function serveCommand(): Command {
  const command = new Command("serve").description(
    "run the server; the first line on standard output is its address",
  );
  return withServerSettings(command).action(() => serve(command));
}

async function serve(command: Command): Promise<void> {
  const bodyLimits = bodyLimitsOf(command);
  const rateLimit = rateLimitOf(command);
  const certificateFiles = certificateFilesOf(command);
  const certificate = certificateFiles && (await readCertificate(certificateFiles));
  const log = logOf(command, now);
  const observers: Observe[] = [(event) => log.observe(event)];
  const observe = (event: Event) => {
    for (const each of observers) each(event);
  };
  // What was acknowledged is on disk.
  const endAtOnce = (why: Event) => {
    observe(why);
    void log.end().then(() => process.exit(1));
  };
  // Ahead of everything that takes time, so that a signal during the start is not lost.
  const stopSignal = firstStopSignal(now, (signal) => endAtOnce({ kind: "cutShort", signal }));
  let stopping = false;
  // Taken down in the opposite order, also where the start goes wrong half-way.
  await using house = new AsyncDisposableStack();
  house.defer(async () => {
    if (stopping) observe({ kind: "stopped" });
    // What its reader does not take would keep the process alive.
    if (!(await log.end())) process.exit();
  });

  const otlpEndpoint = settingOf(command, "otlpEndpoint");
  if (otlpEndpoint !== undefined) {
    const traces = await Traces.start({
      endpoint: otlpEndpoint,
      version: packageJson.version,
      now,
      wallNow: Date.now,
      observeUnsent: (reason) => observe({ kind: "tracesUnsent", reason }),
    });
    observers.push((event) => traces.observe(event));
    house.defer(() => traces.end());
  }

  const mode = settingOf(command, "migrate") === "on" ? "create" : "existing";
  const store = await serveStore(settingOf(command, "database"), mode, {
    unavailable: (reason) => observe({ kind: "storeUnavailable", reason }),
    failed: ({ message }) => endAtOnce({ kind: "storeFailed", reason: message }),
  });
  house.defer(() => store.close());

  const tokens = new KnownTokens(store.tokens, Date.now, (kind, error) =>
    observe({ kind, reason: reasonOf(error) }),
  );
  await tokens.start();
  house.defer(() => tokens.stop());

  const identityProvider = identityProviderOf(command);
  const jwts =
    identityProvider &&
    new JwtVerifier(identityProvider, Date.now, (error) =>
      observe({ kind: "providerKeysUnusable", reason: reasonOf(error) }),
    );
  jwts?.start();
  house.defer(() => jwts?.stop());

  const groupCommit = new GroupCommit(
    observedCommits(store, now, observe),
    {
      queuePlantsMax: settingOf(command, "queuePlantsMax"),
      queueUnitsMax,
      batchPlantsMax,
      batchesInFlightMax: store.batchesInFlightMax,
    },
    endOfTurn,
  );
  house.defer(() => groupCommit.close());
  const bodies = new Bodies(bodyLimits);

  let server: PublicServer | undefined;
  let adminUrl: string | undefined;
  const adminPort = settingOf(command, "adminPort");
  if (adminPort !== "off") {
    const metrics = new Metrics(
      {
        queuePlants: () => groupCommit.waitingPlants,
        bodyBytesInFlight: () => bodies.bytesInFlight,
        connections: () => server?.connectionsOpen() ?? 0,
      },
      { version: packageJson.version, bun: Bun.version, engine: store.engine },
    );
    observers.push((event) => metrics.observe(event));
    const address = { host: settingOf(command, "adminHost"), port: adminPort };
    const assertReady = () =>
      stopping ? Promise.reject(new Error("the server is stopping")) : store.assertWritable();
    const admin = listen(
      () => startAdminServer({ ...address, assertReady, metrics }),
      address,
      "--admin-port",
    );
    house.defer(() => admin.stop());
    adminUrl = admin.url;
  }

  const address = { host: settingOf(command, "host"), port: settingOf(command, "port") };
  const options: ServerOptions = {
    ...address,
    basePath: settingOf(command, "basePath"),
    publicUrl: settingOf(command, "publicUrl"),
    corsOrigins: settingOf(command, "cors"),
    certificate,
    idleSecondsMax: Math.max(idleSecondsMin, settingOf(command, "arrivalSecondsMax") + 10),
    connectionsMax: settingOf(command, "connectionsMax"),
    requestIdPrefix: crypto.randomUUID().slice(0, 8),
    credentials: new Credentials(tokens, jwts),
    groupCommit,
    bodies,
    rateLimit,
    now,
    observe,
  };
  const started = listen(() => startServer(options), address, "--port");
  server = started;
  house.defer(() => started.stop(settingOf(command, "drainSecondsMax") * 1_000));
  // Logged now, so that a start that fails says one thing: what is wrong.
  observe({ kind: "configured", version: packageJson.version, settings: configurationOf(command) });
  if (adminUrl !== undefined) observe({ kind: "listening", listener: "admin", url: adminUrl });
  observe({ kind: "listening", listener: "public", url: started.url });
  if (certificateFiles !== undefined && certificate !== undefined) {
    const observeInUse = ({ subject, expiresAt }: Certificate) =>
      observe({ kind: "certificateInUse", subject, expiresAt });
    const watch = new CertificateWatch(certificateFiles, certificate, {
      changed: (renewed) => {
        started.exchangeCertificate(renewed);
        observeInUse(renewed);
      },
      refused: (reason) => observe({ kind: "certificateRefused", reason }),
    });
    house.defer(() => watch.stop());
    observeInUse(certificate);
  }

  // Made when nothing can fail any more: a token that nobody was shown would be the only one for good.
  await printLines([started.url, ...(await firstTokenLines(store.tokens, started.url))]);
  observe({ kind: "stopping", signal: await stopSignal });
  stopping = true;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
