// The server: starts the components of a server in the order of this file, and runs until a signal.

import packageJson from "../../package.json";
import { RecentCreates } from "../console/recent-creates.ts";
import { Sessions } from "../console/sessions.ts";
import { type AdminRoutes, startAdminServer } from "../core/admin/server.ts";
import { Authenticator } from "../core/auth/authenticator.ts";
import { randomBytes } from "../core/auth/token.ts";
import { TokenCache } from "../core/auth/token-cache.ts";
import { BodyReader } from "../core/http/body-reader.ts";
import {
  type Certificate,
  type CertificateFiles,
  CertificateReloader,
  readCertificate,
} from "../core/http/certificate.ts";
import { ConnectionShedder } from "../core/http/connection-shedder.ts";
import { createHandler, type HandlerDependencies, type PublicHandler } from "../core/http/handler.ts";
import { type PublicServer, startPublicListener } from "../core/http/listener.ts";
import { RateLimit } from "../core/http/rate-limit.ts";
import { Log } from "../core/observability/log.ts";
import { Metrics } from "../core/observability/metrics.ts";
import type { Clock, Emit, ServerEvent } from "../core/observability/server-event.ts";
import { textStyle } from "../core/observability/terminal.ts";
import { Tracing } from "../core/observability/tracing.ts";
import { errorMessage, OperatorError } from "../core/operator-error.ts";
import { type FinishedBatch, GroupCommit, scheduleWithSetImmediate } from "../core/store/group-commit.ts";
import { openServerStore, storeLocation } from "../core/store/open-store.ts";
import type { PlantStore, StoreEvents } from "../core/store/plant-store.ts";
import { bannerLines, plainLines } from "./banner.ts";
import { printStart } from "./bootstrap-token.ts";
import {
  changedSettings,
  type EffectiveSetting,
  effectiveConfig,
  type ServeConfig,
} from "./config/resolve.ts";
import { serverSettingNames } from "./config/settings.ts";
import { isErrorTerminal, outputColumns, printLines } from "./output.ts";
import { createConsole } from "./serve-console.ts";
import { waitForStopSignal } from "./signals.ts";

/** Enough for full batches; with more, the first plant of a batch would wait for the last. */
const batchPlantsMax = 1_024;

/** Names and tags in the queue, in UTF-16 code units: 64 MiB, beside the 200 MB that the whole server is to stay under. */
const queueCodeUnitsMax = 32 * 2 ** 20;

/** Longer than a database takes to fail over: Bun closes an idle connection without a response. */
const idleSecondsMin = 30;

/** A few pages of the console. */
const recentCreatesMax = 1_000;

const now: Clock = performance.now.bind(performance);

/** What a command changes in the server that it runs. */
export interface ServerVariant {
  /** The settings of the command, for the log: all of them, and as flags those that differ from their defaults. */
  readonly configured: {
    readonly settings: readonly EffectiveSetting[];
    readonly changed: readonly string[];
  };
  /** Milliseconds since the epoch: the clock by which tokens expire. */
  readonly wallNow: () => number;
  /** Opens the store, in place of --database. */
  openStore(events: StoreEvents): Promise<PlantStore>;
  /** Resolves with the reason to stop, as a signal does. */
  readonly stopRequest: Promise<string>;
  /** Called once, before a listener is opened. */
  extend(core: ServerCore): ServerExtension;
  /** Called when the listeners are open, in place of printing the addresses and a first token. */
  announce(addresses: ServerAddresses): Promise<void>;
}

/** The parts of a server that a variant builds on. */
interface ServerCore {
  readonly handler: PublicHandler;
  /** Of the handler. */
  readonly handlerDependencies: HandlerDependencies;
  /** Reads the tokens of the store again: a change is effective when it resolves. */
  readonly reloadTokens: () => Promise<void>;
  /** Makes the console forget what it knows of plants: to be called when all of them were replaced. */
  readonly forgetPlants: () => void;
  /** Of the console's password. */
  readonly sessions: Sessions;
  /** Released when the server stops, the latest first. */
  readonly resources: AsyncDisposableStack;
  readonly emit: Emit;
  readonly now: Clock;
}

/** The parts of a server that a variant adds or replaces. */
interface ServerExtension {
  /** What the public listener calls. */
  readonly handler: PublicHandler;
  /** Routes of the admin listener, which come before those of the console. */
  readonly adminRoutes: AdminRoutes;
  readonly startPublicListener: (...args: Parameters<typeof startPublicListener>) => PublicServer;
}

/** The base URLs of a server; undefined for what is off. */
export interface ServerAddresses {
  readonly url: string;
  readonly adminUrl: string | undefined;
  readonly documentationUrl: string | undefined;
  readonly consoleUrl: string | undefined;
}

/** Runs the server until a signal stops it. */
export async function serve(config: ServeConfig, variant?: ServerVariant): Promise<void> {
  // Validate settings before opening anything.
  const bodyReader = new BodyReader({
    bodyBytesMax: config.bodyBytesMax,
    inFlightBytesMax: config.inFlightBytesMax,
    arrivalMsMax: config.arrivalSecondsMax * 1_000,
  });
  const rateLimit = createRateLimit(config);
  const { tlsCertificate, tlsKey } = config;
  const certificateFiles =
    tlsCertificate === undefined || tlsKey === undefined
      ? undefined
      : { certificate: tlsCertificate, key: tlsKey };
  const certificate = certificateFiles && (await readCertificate(certificateFiles));

  // Events
  const columns = outputColumns();
  const onTerminal = isErrorTerminal();
  const log = new Log({
    format: config.logFormat === "auto" ? (onTerminal ? "pretty" : "json") : config.logFormat,
    style: textStyle(onTerminal, process.env),
    hasBanner: onTerminal && columns !== undefined,
    level: config.logLevel,
    accessLinesPerSecond: config.accessLog,
    now,
  });
  const subscribers: Emit[] = [(event) => log.handle(event)];
  const emit = (event: ServerEvent) => {
    for (const handle of subscribers) handle(event);
  };

  // Signals, before anything that takes time. Acknowledged plants are on disk, so that exiting loses none.
  const exitImmediately = (reason: ServerEvent) => {
    emit(reason);
    void log.end().then(() => process.exit(1));
  };
  const signal = waitForStopSignal(now, (second) => exitImmediately({ kind: "forcedExit", signal: second }));
  const stopSignal = variant === undefined ? signal : Promise.race([signal, variant.stopRequest]);
  let isStopping = false;

  // Released in the reverse order, also if the start fails.
  await using resources = new AsyncDisposableStack();
  resources.defer(async () => {
    if (isStopping) emit({ kind: "stopped" });
    // Log lines that are not read would keep the process running.
    if (!(await log.end())) process.exit();
  });

  if (config.otlpEndpoint !== undefined) {
    const tracing = await Tracing.start({
      endpoint: config.otlpEndpoint,
      version: packageJson.version,
      now,
      wallNow: Date.now,
      onExportFailed: (reason) => emit({ kind: "traceExportFailed", reason }),
    });
    subscribers.push((event) => tracing.handle(event));
    resources.defer(() => tracing.end());
  }

  // Store
  const storeEvents: StoreEvents = {
    onUnavailable: (reason) => emit({ kind: "storeUnavailable", reason }),
    onDegraded: (reason) => emit({ kind: "storeDegraded", reason }),
    onFailed: ({ message }) => exitImmediately({ kind: "storeFailed", reason: message }),
  };
  const store = await (variant?.openStore(storeEvents) ??
    openStoreUnlessStopped(config, stopSignal, storeEvents, (waitingFor) =>
      emit({ kind: "storeWaiting", waitingFor }),
    ));
  if (store === undefined) {
    emit({ kind: "shuttingDown", signal: await stopSignal });
    isStopping = true;
    return;
  }
  resources.defer(() => store.close());

  // Creates: authentication, group commit
  const wallNow = variant?.wallNow ?? Date.now;
  const tokens = new TokenCache(store.tokens, wallNow, (kind, error) =>
    emit({ kind, reason: errorMessage(error) }),
  );
  await tokens.start();
  resources.defer(() => tokens.stop());
  const authenticator = await createAuthenticator(config, tokens, { wallNow, resources, emit });
  const hasConsole = config.console === "on" && config.adminPort !== "off";
  const recentCreates = hasConsole ? new RecentCreates(recentCreatesMax) : undefined;
  const afterBatch = (batch: FinishedBatch) => {
    recentCreates?.add(batch);
    const { entries, outcomes, startedAt, endedAt } = batch;
    if (outcomes !== undefined) emit({ kind: "batchCommitted", plants: entries.length, startedAt, endedAt });
  };
  const groupCommit = new GroupCommit(
    store,
    {
      queuePlantsMax: config.queuePlantsMax,
      queueCodeUnitsMax,
      batchPlantsMax,
      batchesInFlightMax: store.batchesInFlightMax,
    },
    scheduleWithSetImmediate,
    { now, afterBatch },
  );
  resources.defer(() => groupCommit.close());

  // The handler, which both listeners call
  const handlerDependencies: HandlerDependencies = {
    authenticator,
    rateLimit,
    bodyReader,
    groupCommit,
    basePath: config.basePath,
    publicUrl: config.publicUrl,
    corsOrigins: config.cors,
    docs: config.docs === "on",
    requestIdPrefix: crypto.randomUUID().slice(0, 8),
    now,
    emit,
  };
  const handler = createHandler(handlerDependencies);

  // Admin listener. Without it nothing collects metrics.
  const connections = new ConnectionShedder();
  const { create } = handler;
  const sessions = new Sessions({ passwordHash: config.adminPasswordHash, now, randomBytes });
  const operatorConsole =
    recentCreates &&
    createConsole(config, {
      ...{ store, recentCreates, resources, emit, subscribers, now, wallNow },
      ...{ authenticator, groupCommit, create, sessions },
    });
  const extension = variant?.extend({
    ...{ handler, handlerDependencies, sessions, resources, emit, now },
    reloadTokens: () => tokens.reload(),
    forgetPlants() {
      recentCreates?.clear();
      operatorConsole?.forgetPlants();
    },
  });
  const { adminHost, adminPort } = config;
  const admin =
    adminPort === "off"
      ? undefined
      : listen(adminHost, adminPort, "--admin-port", () => {
          const gauges = {
            queuePlants: () => groupCommit.queueLength,
            bodyBytesInFlight: () => bodyReader.bytesInFlight,
            connections: () => connections.openConnections("public"),
            storeBytes: () => store.bytesOnDisk(),
            walBytes: () => store.walBytes(),
          };
          const buildInfo = { version: packageJson.version, bun: Bun.version, engine: store.engine };
          const metrics = new Metrics(gauges, buildInfo, now);
          subscribers.push((event) => metrics.handle(event));
          return startAdminServer({
            host: adminHost,
            port: adminPort,
            assertReady: async () => {
              if (isStopping) throw new Error("the server is stopping");
              return groupCommit.assertReady();
            },
            metrics,
            routes: [extension?.adminRoutes, operatorConsole].filter((routes) => routes !== undefined),
            connections,
            onShed: (open) => emit({ kind: "connectionsShed", listener: "admin", open }),
            onInternalError: (error) => emit({ kind: "internalError", requestId: "admin", error }),
          });
        });
  if (admin !== undefined) resources.defer(() => admin.stop());

  // Public listener
  const startListener = extension?.startPublicListener ?? startPublicListener;
  const listener = listen(config.host, config.port, "--port", () =>
    startListener(extension?.handler ?? handler, {
      host: config.host,
      port: config.port,
      certificate,
      idleSecondsMax: Math.max(idleSecondsMin, config.arrivalSecondsMax + 10),
      connectionsMax: config.connectionsMax,
      connections,
      emit,
    }),
  );
  resources.defer(() => listener.stop(config.drainSecondsMax * 1_000));
  const { url } = listener;

  // Logged after the listeners are open, so that a failed start prints nothing but its error.
  const { version } = packageJson;
  const { settings, changed } = variant?.configured ?? {
    settings: effectiveConfig(config),
    changed: changedSettings(config, serverSettingNames),
  };
  emit({ kind: "configured", version, settings, changed });
  if (connections.shortage !== undefined) emit({ kind: "openFileLimitTooLow", ...connections.shortage });
  if (admin !== undefined) emit({ kind: "listening", listener: "admin", url: admin.url });
  emit({ kind: "listening", listener: "public", url });
  if (certificateFiles !== undefined && certificate !== undefined)
    reloadCertificate(certificateFiles, certificate, { listener, resources, emit });

  // Last, because a first token that is not shown could not be issued again.
  const addresses: ServerAddresses = {
    url,
    adminUrl: admin?.url,
    documentationUrl: config.docs === "on" ? `${url}/` : undefined,
    consoleUrl: admin === undefined || operatorConsole === undefined ? undefined : `${admin.url}/console/`,
  };
  if (variant === undefined) await printServerStart(config, addresses, store);
  else await variant.announce(addresses);
  emit({ kind: "shuttingDown", signal: await stopSignal });
  isStopping = true;
}

/** Prints the addresses, and a first token if the store never had one. */
async function printServerStart(
  config: ServeConfig,
  addresses: ServerAddresses,
  store: PlantStore,
): Promise<void> {
  const columns = outputColumns();
  const started = {
    ...addresses,
    ...{
      version: packageJson.version,
      publicUrl: config.publicUrl,
      changed: changedSettings(config, serverSettingNames),
    },
    store: storeLocation(config.database),
  };
  const render = (token: string | undefined) =>
    columns === undefined
      ? plainLines(started, token)
      : bannerLines(started, token, { columns, style: textStyle(true, process.env) });
  if (config.bootstrapToken === "on") await printStart(store.tokens, render);
  else await printLines(render(undefined));
}

function createRateLimit({ tokenRate, tokenBurst }: ServeConfig): RateLimit | undefined {
  if (tokenRate === 0) return undefined;
  return new RateLimit({ createsPerSecond: tokenRate, burst: tokenBurst ?? tokenRate }, now);
}

/** Opens the store; undefined if a signal ends the wait for a database that cannot be reached. */
async function openStoreUnlessStopped(
  { database, migrate }: ServeConfig,
  stopSignal: Promise<string>,
  events: StoreEvents,
  report: (waitingFor: string) => void,
): Promise<PlantStore | undefined> {
  const opening = new AbortController();
  // An open store continues to retry, because accepted plants are still to be committed.
  let isOpen = false;
  void stopSignal.then(() => {
    if (!isOpen) opening.abort();
  });
  try {
    const mode = migrate === "on" ? "create" : "writable";
    const store = await openServerStore(database, mode, events, { report, signal: opening.signal });
    isOpen = true;
    return store;
  } catch (error) {
    if (opening.signal.aborted && error instanceof OperatorError) return undefined;
    throw error;
  }
}

async function createAuthenticator(
  { jwtIssuer: issuer, jwtAudience: audience, jwksUrl, jwksAgeSecondsMax }: ServeConfig,
  tokens: TokenCache,
  {
    wallNow,
    resources,
    emit,
  }: { readonly wallNow: () => number; readonly resources: AsyncDisposableStack; readonly emit: Emit },
): Promise<Authenticator> {
  if (issuer === undefined || audience === undefined) return new Authenticator(tokens, undefined);

  // Loading it takes 11 ms of processor time.
  const { JwtVerifier } = await import("../core/auth/jwt-verifier.ts");
  const identityProvider = { issuer, audience, jwksUrl, keysAgeMsMax: jwksAgeSecondsMax * 1_000 };
  const jwts = new JwtVerifier(identityProvider, wallNow, (error) =>
    emit({ kind: "jwksRefreshFailed", reason: errorMessage(error) }),
  );
  jwts.start();
  resources.defer(() => jwts.stop());
  return new Authenticator(tokens, jwts);
}

/** Reloads the certificate when one of its files changes. */
function reloadCertificate(
  files: CertificateFiles,
  current: Certificate,
  { listener, resources, emit }: { listener: PublicServer; resources: AsyncDisposableStack; emit: Emit },
): void {
  const emitInUse = ({ subject, expiresAt }: Certificate) =>
    emit({ kind: "certificateLoaded", subject, expiresAt });
  const reloader = new CertificateReloader(files, current, {
    onReload: (certificate) => {
      listener.reloadCertificate(certificate);
      emitInUse(certificate);
    },
    onError: (reason) => emit({ kind: "certificateReloadFailed", reason }),
  });
  resources.defer(() => reloader.stop());
  emitInUse(current);
}

/** Starts a listener. Throws an OperatorError if the address cannot be bound. */
function listen<Listener>(host: string, port: number, flag: string, start: () => Listener): Listener {
  try {
    return start();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new OperatorError(`cannot listen on ${host}:${port} (${code}); ${listenAdvice(code, flag)}`);
  }
}

function listenAdvice(code: string, flag: string): string {
  if (code === "EACCES") return `this user may not open that port; choose one above 1023 with ${flag}`;
  if (code === "EADDRINUSE") return `stop the program that uses it, or choose another with ${flag}`;
  return `choose an address of this machine with ${flag.replace("port", "host")}`;
}
