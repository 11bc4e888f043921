// plantstore serve: opens the store, starts the server with its console, and runs until a signal.

import packageJson from "../../package.json";
import type { AdminRoutes } from "../core/admin/server.ts";
import { makeToken, randomBytes } from "../core/auth/token.ts";
import { readCertificate } from "../core/http/certificate.ts";
import type { Emit } from "../core/observability/server-event.ts";
import { hasColours } from "../core/observability/terminal.ts";
import { OperatorError } from "../core/operator-error.ts";
import { ListenError, type RunningServer, type ServerOptions, startServer } from "../core/server.ts";
import type { ServerStore } from "../core/store/group-commit.ts";
import { openServerStore, storeAt } from "../core/store/open-store.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { documentation } from "../docs-page/documentation.ts";
import { sampleOperations } from "../sample-operations/index.ts";
import { bannerLines, plainLines, type ServerAddresses } from "./banner.ts";
import { changedSettings, type ServeConfig, type ServeSettings } from "./config/resolve.ts";
import { host } from "./host.ts";
import { printLines } from "./output.ts";
import { issueToken } from "./print-token.ts";
import { createConsole } from "./serve-console.ts";
import { ServerProcess } from "./server-process.ts";

/** A key that the identity provider removes is rejected after this time at the latest. */
const keysAgeMsMax = 300_000;

/** Routes of the admin listener. They are closed after the server, and before the store. */
type AdminExtra = AdminRoutes & { close(): Promise<void> };

/**
 * Runs the server until a signal stops it.
 *
 * @param accompany starts a companion of the server, which is disposed before the server stops.
 */
export async function serve(
  config: ServeConfig,
  accompany?: (addresses: ServerAddresses, store: PlantStore) => AsyncDisposable,
): Promise<void> {
  // Validate settings before opening anything.
  const { tlsCertificate, tlsKey } = config;
  const certificate =
    tlsCertificate === undefined || tlsKey === undefined
      ? undefined
      : await readCertificate({ certificate: tlsCertificate, key: tlsKey });

  const now = performance.now.bind(performance);
  await using ownProcess = new ServerProcess(config, now);
  await ownProcess.startTracing();
  const store = await openStoreUnlessStopped(config, ownProcess);
  if (store === undefined) return await ownProcess.waitForStop();
  ownProcess.resources.use(store);

  const parts = { store, events: ownProcess.events, now, wallNow: Date.now };
  const extras: readonly (AdminExtra | undefined)[] = [
    // Each in a line of its own.
    createConsole(config, parts),
  ];
  const adminRoutes = extras.filter((extra) => extra !== undefined);
  for (const extra of adminRoutes) ownProcess.resources.defer(() => extra.close());
  const server: RunningServer = await withListenAdvice(() =>
    startServer({
      ...serverOptions(config),
      ...parts,
      listener: { host: config.host, port: config.port, certificate },
      adminRoutes,
    }),
  );
  ownProcess.resources.use(server);

  const addresses = addressesOf(config, server);
  ownProcess.logStart(config, addresses);
  // Last, because a first token that is not shown cannot be issued again.
  await printServerStart(config, addresses, { store, server, emit: ownProcess.events.emit });
  await using _ = accompany?.(addresses, store);
  await ownProcess.waitForStop();
}

/** The server options that come from settings, except the public address. */
export function serverOptions(config: ServeSettings): Omit<ServerOptions, "store"> {
  const { adminHost, adminPort, tokenRate, tokenBurst } = config;
  const operations = Object.entries(sampleOperations).flatMap(([name, operation]) =>
    config.operations.includes(name) ? [operation] : [],
  );
  const { jwtIssuer: issuer, jwtAudience: audience, jwksUrl } = config;
  return {
    admin: adminPort === "off" ? undefined : { host: adminHost, port: adminPort },
    basePath: config.basePath,
    operations,
    wrapHandler: documentation({ ...config, operations, hasPage: config.docs === "on" }),
    cors: config.cors,
    // The settings of limits have the names of the options.
    limits: config,
    rateLimit: tokenRate === 0 ? undefined : { createsPerSecond: tokenRate, burst: tokenBurst ?? tokenRate },
    identityProvider:
      issuer === undefined || audience === undefined
        ? undefined
        : { issuer, audience, jwksUrl, keysAgeMsMax },
  };
}

/** Rejects with an OperatorError, with advice, if an address cannot be bound. */
export async function withListenAdvice<Listener>(start: () => Promise<Listener>): Promise<Listener> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    const flag = error.listener === "admin" ? "--admin-port" : "--port";
    throw new OperatorError(`${error.message}; ${listenAdvice(error.code, flag)}`);
  }
}

export function addressesOf(
  config: Pick<ServeConfig, "docs" | "console">,
  { url, adminUrl }: Pick<RunningServer, "url" | "adminUrl">,
): ServerAddresses {
  return {
    url,
    adminUrl,
    documentationUrl: config.docs === "on" ? `${url}/` : undefined,
    consoleUrl: adminUrl === undefined || config.console === "off" ? undefined : `${adminUrl}/console/`,
  };
}

/** Prints the addresses, and a first token if the store never had one. */
async function printServerStart(
  config: ServeConfig,
  addresses: ServerAddresses,
  {
    store,
    server,
    emit,
  }: { readonly store: PlantStore; readonly server: RunningServer; readonly emit: Emit },
): Promise<void> {
  const { output, environment } = host();
  const { columns } = output;
  const started = {
    ...addresses,
    version: packageJson.version,
    publicUrl: config.publicUrl,
    changed: changedSettings(config).map(({ flag }) => flag),
    store: storeAt(config.database).location,
  };
  const render = (token: string | undefined) =>
    columns === undefined
      ? plainLines(started, token)
      : bannerLines(started, token, hasColours(true, environment));
  const identity = { name: "first", expiresAt: null };
  const { token, record } = makeToken(identity, { now: Date.now(), randomBytes });
  if (config.bootstrapToken === "off" || !(await store.tokens.isEmpty()))
    return await printLines(render(undefined));
  const issuing = issueToken(render(token), async () => {
    if (await store.tokens.add(record)) return;
    const message = "the first token that was printed is void: another server has issued one first";
    emit({ kind: "notice", message, fields: {} });
  });
  // Whoever reads the token may send it before it is stored.
  await server.reloadTokens(issuing);
}

/** Opens the store; undefined if a signal ends the wait for a database that cannot be reached. */
async function openStoreUnlessStopped(
  { database, migrate }: ServeConfig,
  { stopSignal, storeEvents, events }: ServerProcess,
): Promise<ServerStore | undefined> {
  const opening = new AbortController();
  // An open store continues to retry, because accepted plants are still to be committed.
  let isOpen = false;
  void stopSignal.then(() => {
    if (!isOpen) opening.abort();
  });
  const report = (waitingFor: string) => events.emit({ kind: "storeWaiting", waitingFor });
  try {
    const mode = migrate === "on" ? "create" : "writable";
    const store = await openServerStore(database, mode, storeEvents, { report, signal: opening.signal });
    isOpen = true;
    return store;
  } catch (error) {
    if (opening.signal.aborted && error instanceof OperatorError) return undefined;
    throw error;
  }
}

function listenAdvice(code: string, flag: string): string {
  if (code === "EACCES") return `this user may not open that port; choose one above 1023 with ${flag}`;
  if (code === "EADDRINUSE") return `stop the program that uses it, or choose another with ${flag}`;
  return `choose an address of this machine with ${flag.replace("port", "host")}`;
}
