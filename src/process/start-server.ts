// Starts the server that the settings describe, with its extras.

import type { AdminRoutes } from "../admin/admin-server.ts";
import { listed } from "../base/listed.ts";
import { isLoopback } from "../base/loopback.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import { type Contract, openOperations } from "../contract/contract.ts";
import { documentation } from "../docs-page/documentation.ts";
import { type Certificate, serveOptions, tlsOptions } from "../http/listener.ts";
import type { Operation } from "../http/operation.ts";
import { withoutThose } from "../http/unserved-operations.ts";
import { createRow } from "../plants/create-plant.ts";
import {
  ListenError,
  type ListenerAddress,
  listen,
  type RunningServer,
  type ServerOptions,
  startServer,
} from "../service/server.ts";
import type { ServeConfig, ServeSettings } from "./config/resolve.ts";
import { assertDistinct, type Extension } from "./extension.ts";
import { createConsole } from "./serve-console.ts";

/** A key that the identity provider removes is rejected after this time at the latest. */
const keysAgeMsMax = 300_000;

/** The server's parts that do not come from settings. */
interface ServerParts extends Required<Pick<ServerOptions, "store" | "events" | "now" | "wallNow">> {
  readonly certificate: Certificate | undefined;
  /** Makes the operations of --extend for a contract. */
  readonly extension: Extension;
  /** Rejects with an OperatorError if a contract that the store gets must not be served. */
  readonly assertWanted: (contract: Contract) => void;
}

/** Rejects with an OperatorError if a contract cannot be served with these settings. */
export async function assertServable(
  config: ServeConfig,
  contract: Contract,
  own: readonly Operation[],
): Promise<void> {
  assertTokens(config, contract, own);
  await offeredOperations(config, contract, own);
}

/**
 * Binds the addresses of the listeners, and responds with 503 there until it is disposed. Rejects with
 * an OperatorError if an address cannot be bound.
 */
export function holdAddresses(
  { host, port, adminHost, adminPort }: ServeConfig,
  certificate: Certificate | undefined,
): Promise<Disposable> {
  return withListenAdvice(async () => {
    using held = new DisposableStack();
    const hold = ({ host: hostname, port }: ListenerAddress, tls = {}) => {
      const fetch = () => new Response(null, { status: 503, headers: { "Retry-After": "1" } });
      const server = Bun.serve({ ...serveOptions, hostname, port, fetch, ...tls });
      held.defer(() => void server.stop(true));
    };
    if (adminPort !== "off") listen("admin", { host: adminHost, port: adminPort }, hold);
    listen("public", { host, port }, (address) => hold(address, tlsOptions(certificate)));
    return held.move();
  });
}

/** Starts the server; its extras and itself are closed with the resources. */
export async function startConfigured(
  config: ServeConfig,
  { certificate, extension, assertWanted, ...parts }: ServerParts,
  resources: AsyncDisposableStack,
): Promise<RunningServer> {
  const extras: readonly ((AdminRoutes & { close(): Promise<void> }) | undefined)[] = [
    // Each in a line of its own; closed after the server, and before the store.
    createConsole(config, parts),
  ];
  const adminRoutes = extras.filter((extra) => extra !== undefined);
  for (const extra of adminRoutes) resources.defer(() => extra.close());
  const optionsFor = async (contract: Contract, own: readonly Operation[]) => {
    assertTokens(config, contract, own);
    const options = await serverOptions(config, contract, own);
    if (allOpen(contract, own).length === 0) return options;
    const { localPagesOnly } = await import("./local-pages.ts");
    return localPagesOnly(options, config);
  };
  const { contract } = parts.store;
  const options = await optionsFor(contract, await extension(contract));
  const server = await withListenAdvice(() =>
    startServer({
      ...options,
      ...parts,
      forContract: async (changed) => {
        assertWanted(changed);
        return optionsFor(changed, await ownOperations(extension, changed, parts.events.emit));
      },
      listener: { host: config.host, port: config.port, certificate },
      adminRoutes,
    }),
  );
  return resources.use(server);
}

/**
 * The operations of --extend for a contract that a running server takes over. Without those of a module
 * that cannot make them: creates go on.
 */
async function ownOperations(
  extension: Extension,
  contract: Contract,
  emit: Emit,
): Promise<readonly Operation[]> {
  try {
    return await extension(contract);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const message = `without the operations of --extend, as the store has another contract: ${error.message}`;
    emit({ kind: "notice", message });
    return [];
  }
}

/**
 * Throws an OperatorError if everybody could use an operation, unless the operator wants it on this
 * machine.
 */
function assertTokens({ open, host }: ServeConfig, contract: Contract, own: readonly Operation[]): void {
  const operations = allOpen(contract, own);
  if (operations.length === 0 || (open && isLoopback(host))) return;
  const names = listed(operations.map(({ operationId }) => operationId));
  const described =
    operations.length === 1
      ? `the contract's operation ${names} needs no token`
      : `the contract's operations ${names} need no token`;
  throw new OperatorError(
    open
      ? `${described}, so --open serves it on loopback only, but --host is ${host}; use 127.0.0.1`
      : `${described}; describe a bearer token as ${operations.length === 1 ? "its" : "their"} "security", or serve it on loopback only with --open`,
    2,
  );
}

/** The operations that need no token: those of the contract, and of --extend. */
export function allOpen(contract: Contract, own: readonly Operation[]): { readonly operationId: string }[] {
  return [...openOperations(contract), ...own.filter(({ access }) => access?.isOpen === true)];
}

/**
 * The server options that come from settings, except the addresses to listen on. Rejects with an
 * OperatorError if an operation of --extend is served already.
 *
 * @param simulate makes the operations that are described, and that nothing serves.
 */
export async function serverOptions(
  config: ServeSettings,
  described: Contract,
  own: readonly Operation[],
  simulate: (described: Contract["otherOperations"]) => readonly Operation[] = () => [],
): Promise<Omit<ServerOptions, "store">> {
  const { adminHost, adminPort, adminNames, tokenRate, tokenBurst } = config;
  const offered = await offeredOperations(config, described, own);
  const operations = [...offered, ...simulate(withoutThose(described.otherOperations, offered))];
  const contract = { ...described, otherOperations: withoutThose(described.otherOperations, operations) };
  const basePath = config.basePath + contract.basePath;
  const { jwtIssuer: issuer, jwtAudience: audience, jwtAudienceClaim, jwtClaim: claims, jwksUrl } = config;
  return {
    admin: adminPort === "off" ? undefined : { host: adminHost, port: adminPort, names: adminNames },
    basePath,
    publicUrl: config.publicUrl,
    operations,
    wrapHandler: documentation({ ...config, contract, basePath, operations, hasPage: config.docs === "on" }),
    cors: config.cors,
    // The settings of limits have the names of the options.
    limits: config,
    rateLimit: tokenRate === 0 ? undefined : { requestsPerSecond: tokenRate, burst: tokenBurst ?? tokenRate },
    identityProvider:
      issuer === undefined || audience === undefined
        ? undefined
        : { issuer, audience, audienceClaim: jwtAudienceClaim, claims, jwksUrl, keysAgeMsMax },
  };
}

/** The operations besides the creates. Rejects with an OperatorError if two are one. */
async function offeredOperations(
  { operations }: Pick<ServeSettings, "operations">,
  described: Contract,
  own: readonly Operation[],
): Promise<Operation[]> {
  const offered = [...withoutThose(await otherOperations(described, operations), own), ...own];
  const creates = described.collections.map(createRow);
  if (own.length > 0) assertDistinct([...withoutThose(creates, own), ...offered]);
  return offered;
}

/** The operations of collections besides the creates, whose files are loaded only if there is one. */
async function otherOperations({ collections }: Contract, names: readonly string[]): Promise<Operation[]> {
  const all = [...collections.flatMap(({ operations }) => Object.keys(operations)), ...names];
  if (all.every((name) => name === "create")) return [];
  if (collections.length > 1 && names.some((name) => name !== "create"))
    throw new OperatorError(
      "--operations is for a contract with one collection; describe the operations of each in this one",
      2,
    );
  const { collectionOperations } = await import("../plants/index.ts");
  return collections.flatMap((collection) => collectionOperations(collection, names));
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

function listenAdvice(code: string, flag: string): string {
  if (code === "EACCES") return `this user may not open that port; choose one above 1023 with ${flag}`;
  if (code === "EADDRINUSE") return `stop the program that uses it, or choose another with ${flag}`;
  return `choose an address of this machine with ${flag.replace("port", "host")}`;
}
