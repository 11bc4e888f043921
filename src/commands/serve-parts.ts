// The parts of a running server: each is started with its settings, and taken down with the house.

import type { Command } from "commander";
import packageJson from "../../package.json";
import type { OperatorConsole } from "../admin/console/operator-console.ts";
import { type AdminServer, startAdminServer } from "../admin/server.ts";
import { type Certificate, type CertificateFiles, CertificateReloader } from "../api/certificate.ts";
import type { ConnectionShedder } from "../api/connection-shedder.ts";
import { type PublicServer, type ServerOptions, startServer } from "../api/server.ts";
import { Authenticator } from "../auth/authenticator.ts";
import { JwtVerifier } from "../auth/jwt-verifier.ts";
import { TokenCache } from "../auth/token-cache.ts";
import { settingOf } from "../config/command-config.ts";
import { type Gauges, Metrics } from "../observability/metrics.ts";
import type { Emit, ServerEvent } from "../observability/server-event.ts";
import { Tracing } from "../observability/tracing.ts";
import { OperatorError } from "../operator-error.ts";
import { GroupCommit, scheduleWithSetImmediate } from "../store/group-commit.ts";
import { withCommitHook } from "../store/observed-commits.ts";
import { openServerStore } from "../store/open-store.ts";
import type { PlantStore, StoreEvents } from "../store/plant-store.ts";
import type { Readiness } from "../store/readiness.ts";
import type { RecentCreates } from "../store/recent-creates.ts";
import { identityProviderOf } from "./serve-options.ts";

/** What every part is given. */
export interface House {
  /** Has the settings. */
  readonly command: Command;
  /** Takes the parts down, the last one first. */
  readonly rooms: AsyncDisposableStack;
  readonly observe: Emit;
  /** Whoever is added sees every event from then on. */
  readonly observers: Emit[];
  /** Ends the process without answering what was accepted. */
  readonly endAtOnce: (why: ServerEvent) => void;
}

/** Enough for full batches; more would make the first plant of a batch wait for the last. */
const batchPlantsMax = 1_024;

/** Names and tags that may wait: at two bytes a unit 64 MiB, beside the 200 MB that the whole server is to stay under. */
const queueCodeUnitsMax = 32 * 2 ** 20;

/** Longer than a body may take to arrive, or a database to fail over: Bun closes the connection then without a word. */
const idleSecondsMin = 30;

export const now = () => performance.now();

/** Where no collector is configured, nothing of OpenTelemetry is loaded. */
export async function beginTraces({ command, rooms, observe, observers }: House): Promise<void> {
  const endpoint = settingOf(command, "otlpEndpoint");
  if (endpoint === undefined) return;
  const traces = await Tracing.start({
    endpoint,
    version: packageJson.version,
    now,
    wallNow: Date.now,
    onExportFailed: (reason) => observe({ kind: "traceExportFailed", reason }),
  });
  observers.push((event) => traces.handle(event));
  rooms.defer(() => traces.end());
}

/** @param signal ends the wait for a store that is away. */
export async function openServedStore(
  { command, rooms, observe, endAtOnce }: House,
  signal: AbortSignal,
): Promise<PlantStore> {
  const mode = settingOf(command, "migrate") === "on" ? "create" : "writable";
  const observer: StoreEvents = {
    onUnavailable: (reason) => observe({ kind: "storeUnavailable", reason }),
    onFailed: ({ message }) => endAtOnce({ kind: "storeFailed", reason: message }),
  };
  const report = (waitingFor: string) => observe({ kind: "storeWaiting", waitingFor });
  const store = await openServerStore(settingOf(command, "database"), mode, observer, { report, signal });
  rooms.defer(() => store.close());
  return store;
}

export async function keepCredentials(
  { command, rooms, observe }: House,
  store: PlantStore,
): Promise<Authenticator> {
  const tokens = new TokenCache(store.tokens, Date.now, (kind, error) =>
    observe({ kind, reason: reasonOf(error) }),
  );
  await tokens.start();
  rooms.defer(() => tokens.stop());

  const identityProvider = identityProviderOf(command);
  if (identityProvider === undefined) return new Authenticator(tokens, undefined);
  const jwts = new JwtVerifier(identityProvider, Date.now, (error) =>
    observe({ kind: "jwksRefreshFailed", reason: reasonOf(error) }),
  );
  jwts.start();
  rooms.defer(() => jwts.stop());
  return new Authenticator(tokens, jwts);
}

/** @param latest remembers what is created, where somebody looks. */
export function takeCreates(
  { command, rooms, observe }: House,
  parts: { store: PlantStore; readiness: Readiness; latest: RecentCreates | undefined },
): GroupCommit {
  const { store, readiness, latest } = parts;
  const limits = {
    queuePlantsMax: settingOf(command, "queuePlantsMax"),
    queueCodeUnitsMax,
    batchPlantsMax,
    batchesInFlightMax: store.batchesInFlightMax,
  };
  const observed = withCommitHook(readiness, now, observe);
  const groupCommit = new GroupCommit(
    latest?.remembering(observed) ?? observed,
    limits,
    scheduleWithSetImmediate,
  );
  rooms.defer(() => groupCommit.close());
  return groupCommit;
}

/** Nothing where the admin listener is off: then nobody reads metrics, and none are kept. */
export function openAdminListener(
  { command, rooms, observe, observers }: House,
  parts: {
    connections: ConnectionShedder;
    store: PlantStore;
    readiness: Readiness;
    readings: Gauges;
    isStopping: () => boolean;
    operatorConsole: OperatorConsole | undefined;
  },
): AdminServer | undefined {
  const port = settingOf(command, "adminPort");
  if (port === "off") return undefined;
  const { connections, store, readiness, readings, isStopping, operatorConsole } = parts;
  const buildInfo = { version: packageJson.version, bun: Bun.version, engine: store.engine };
  const metrics = new Metrics(readings, buildInfo, now);
  observers.push((event) => metrics.handle(event));
  const address = { host: settingOf(command, "adminHost"), port };
  const assertReady = () =>
    isStopping() ? Promise.reject(new Error("the server is stopping")) : readiness.assertReady();
  const observeShedding = (open: number) => observe({ kind: "connectionsShed", listener: "admin", open });
  const options = { ...address, assertReady, metrics, operatorConsole, connections, observeShedding };
  const admin = listen(() => startAdminServer(options), address, "--admin-port");
  rooms.defer(() => admin.stop());
  return admin;
}

export function openPublicListener(
  { command, rooms, observe }: House,
  parts: Pick<
    ServerOptions,
    "certificate" | "connections" | "credentials" | "groupCommit" | "bodies" | "rateLimit"
  >,
): PublicServer {
  const address = { host: settingOf(command, "host"), port: settingOf(command, "port") };
  const options: ServerOptions = {
    ...address,
    ...parts,
    basePath: settingOf(command, "basePath"),
    publicUrl: settingOf(command, "publicUrl"),
    corsOrigins: settingOf(command, "cors"),
    docs: settingOf(command, "docs") === "on",
    idleSecondsMax: Math.max(idleSecondsMin, settingOf(command, "arrivalSecondsMax") + 10),
    connectionsMax: settingOf(command, "connectionsMax"),
    requestIdPrefix: crypto.randomUUID().slice(0, 8),
    now,
    observe,
  };
  const server = listen(() => startServer(options), address, "--port");
  rooms.defer(() => server.stop(settingOf(command, "drainSecondsMax") * 1_000));
  return server;
}

/** Gives the server the certificate in the files whenever they change. */
export function watchCertificate(
  { rooms, observe }: House,
  files: CertificateFiles,
  certificate: Certificate,
  server: PublicServer,
): void {
  const observeInUse = ({ subject, expiresAt }: Certificate) =>
    observe({ kind: "certificateLoaded", subject, expiresAt });
  const watch = new CertificateReloader(files, certificate, {
    changed: (renewed) => {
      server.reloadCertificate(renewed);
      observeInUse(renewed);
    },
    refused: (reason) => observe({ kind: "certificateReloadFailed", reason }),
  });
  rooms.defer(() => watch.stop());
  observeInUse(certificate);
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
