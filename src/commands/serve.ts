// The server: starts the components of a server in the order of this file, and runs until a signal.

import packageJson from "../../package.json";
import { startAdminServer } from "../admin/server.ts";
import { BodyReader } from "../api/body-reader.ts";
import {
  type Certificate,
  type CertificateFiles,
  CertificateReloader,
  readCertificate,
} from "../api/certificate.ts";
import { ConnectionShedder } from "../api/connection-shedder.ts";
import { createHandler } from "../api/handler.ts";
import { type PublicListener, startPublicListener } from "../api/listener.ts";
import { RateLimit } from "../api/rate-limit.ts";
import { Authenticator } from "../auth/authenticator.ts";
import { TokenCache } from "../auth/token-cache.ts";
import { changedSettings, effectiveConfig, type ServeConfig } from "../config/resolve.ts";
import { Log } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import type { Clock, Emit, ServerEvent } from "../observability/server-event.ts";
import { Tracing } from "../observability/tracing.ts";
import { errorMessage, OperatorError } from "../operator-error.ts";
import { isErrorTerminal, outputColumns, printLines } from "../output.ts";
import { type FinishedBatch, GroupCommit, scheduleWithSetImmediate } from "../store/group-commit.ts";
import { openServerStore, storeLocation } from "../store/open-store.ts";
import type { PlantStore, StoreEvents } from "../store/plant-store.ts";
import { Readiness } from "../store/readiness.ts";
import { RecentCreates } from "../store/recent-creates.ts";
import { textStyle } from "../terminal.ts";
import { bannerLines, plainLines } from "./banner.ts";
import { printStart } from "./bootstrap-token.ts";
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

/** Runs the server until a signal stops it. */
export async function serve(config: ServeConfig): Promise<void> {
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
  const stopSignal = waitForStopSignal(now, (signal) => exitImmediately({ kind: "forcedExit", signal }));
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
  const store = await openStoreUnlessStopped(
    config,
    stopSignal,
    {
      onUnavailable: (reason) => emit({ kind: "storeUnavailable", reason }),
      onDegraded: (reason) => emit({ kind: "storeDegraded", reason }),
      onFailed: ({ message }) => exitImmediately({ kind: "storeFailed", reason: message }),
    },
    (waitingFor) => emit({ kind: "storeWaiting", waitingFor }),
  );
  if (store === undefined) {
    emit({ kind: "shuttingDown", signal: await stopSignal });
    isStopping = true;
    return;
  }
  resources.defer(() => store.close());

  // Creates: authentication, group commit
  const authenticator = await startAuthenticator(config, store, resources, emit);
  const readiness = new Readiness(store, now);
  const hasConsole = config.console === "on" && config.adminPort !== "off";
  const recentCreates = hasConsole ? new RecentCreates(recentCreatesMax) : undefined;
  const afterBatch = (batch: FinishedBatch) => {
    readiness.update(batch);
    recentCreates?.add(batch);
    const { plants, outcomes, startedAt, endedAt, lane } = batch;
    if (outcomes !== undefined)
      emit({ kind: "batchCommitted", plants: plants.length, startedAt, endedAt, lane });
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
  const bodyCapture = { isOn: false };
  const handler = createHandler({
    bodyCapture,
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
  });

  // Admin listener. Without it nothing collects metrics.
  const connections = new ConnectionShedder();
  const { create } = handler;
  const operatorConsole =
    recentCreates &&
    createConsole(config, {
      ...{ store, recentCreates, resources, emit, subscribers, now },
      ...{ authenticator, groupCommit, bodyCapture, create },
    });
  const { adminHost, adminPort } = config;
  const admin =
    adminPort === "off"
      ? undefined
      : listen(adminHost, adminPort, "--admin-port", () => {
          const gauges = {
            queuePlants: () => groupCommit.queueLengths,
            lanesUp: () =>
              store.lanes
                ?.names()
                .map((lane) => [lane, store.lanes?.downReason(lane) === undefined] as const),
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
              return readiness.assertReady();
            },
            metrics,
            operatorConsole,
            connections,
            onShed: (open) => emit({ kind: "connectionsShed", listener: "admin", open }),
            onInternalError: (error) => emit({ kind: "internalError", requestId: "admin", error }),
          });
        });
  if (admin !== undefined) resources.defer(() => admin.stop());

  // Public listener
  const listener = listen(config.host, config.port, "--port", () =>
    startPublicListener(handler, {
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
  const changed = changedSettings(config);
  emit({ kind: "configured", version, settings: effectiveConfig(config), changed });
  if (connections.shortage !== undefined) emit({ kind: "openFileLimitTooLow", ...connections.shortage });
  if (admin !== undefined) emit({ kind: "listening", listener: "admin", url: admin.url });
  emit({ kind: "listening", listener: "public", url });
  if (certificateFiles !== undefined && certificate !== undefined)
    reloadCertificate(certificateFiles, certificate, { listener, resources, emit });

  // Last, because a first token that is not shown could not be issued again.
  const started = {
    ...{ version, url, changed, publicUrl: config.publicUrl, store: storeLocation(config.database) },
    documentationUrl: config.docs === "on" ? `${url}/` : undefined,
    consoleUrl: admin === undefined || operatorConsole === undefined ? undefined : `${admin.url}/console/`,
  };
  const render = (token: string | undefined) =>
    columns === undefined
      ? plainLines(started, token)
      : bannerLines(started, token, { columns, style: textStyle(true, process.env) });
  if (config.bootstrapToken === "on") await printStart(store.tokens, render);
  else await printLines(render(undefined));
  emit({ kind: "shuttingDown", signal: await stopSignal });
  isStopping = true;
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

async function startAuthenticator(
  { jwtIssuer: issuer, jwtAudience: audience, jwksUrl, jwksAgeSecondsMax }: ServeConfig,
  store: PlantStore,
  resources: AsyncDisposableStack,
  emit: Emit,
): Promise<Authenticator> {
  const tokens = new TokenCache(store.tokens, Date.now, (kind, error) =>
    emit({ kind, reason: errorMessage(error) }),
  );
  await tokens.start();
  resources.defer(() => tokens.stop());
  if (issuer === undefined || audience === undefined) return new Authenticator(tokens, undefined);

  // Loading it takes 11 ms of processor time.
  const { JwtVerifier } = await import("../auth/jwt-verifier.ts");
  const identityProvider = { issuer, audience, jwksUrl, keysAgeMsMax: jwksAgeSecondsMax * 1_000 };
  const jwts = new JwtVerifier(identityProvider, Date.now, (error) =>
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
  { listener, resources, emit }: { listener: PublicListener; resources: AsyncDisposableStack; emit: Emit },
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
