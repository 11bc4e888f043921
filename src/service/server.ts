// Starts a server on an open store: the public listener and the admin listener. `plantstore serve`,
// `plantstore sandbox`, tests, benchmarks, and programs that embed the service all start one here.

import packageJson from "../../package.json";
import { type AdminRoutes, startAdminServer } from "../admin/admin-server.ts";
import { Metrics } from "../admin/metrics.ts";
import { Authenticator } from "../auth/authenticator.ts";
import { creatorResolver } from "../auth/caller.ts";
import type { IdentityProvider } from "../auth/jwks.ts";
import type { JwtVerifier } from "../auth/jwt-verifier.ts";
import { TokenCache } from "../auth/token-cache.ts";
import { internalError } from "../base/errors.ts";
import { errorMessage, OperatorError } from "../base/operator-error.ts";
import { type Clock, ServerEvents } from "../base/server-event.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { BodyReader } from "../http/body-reader.ts";
import { ConnectionLimit } from "../http/connection-limit.ts";
import { type AllowedOrigins, withCors } from "../http/cors.ts";
import { requestIdMaker } from "../http/exchange.ts";
import {
  createHandler,
  type Handler,
  type HandlerDependencies,
  inProcess,
  withTickBudget,
} from "../http/handler.ts";
import { type Certificate, startPublicListener, stopListener } from "../http/listener.ts";
import type { Operation } from "../http/operation.ts";
import { RateLimit } from "../http/rate-limit.ts";
import { errorResponse } from "../http/responses.ts";
import { unservedOperations, withoutThose } from "../http/unserved-operations.ts";
import { createOperation, itemPathOf } from "../plants/create-plant.ts";
import { freeIdsOf, idMaker, randomProcess } from "../plants/new-ids.ts";
import { type CreateTarget, readsRetries } from "../plants/pending-create.ts";
import { type CreateQueue, GroupCommit, type ServerStore } from "../store/group-commit.ts";
import { openOperationStore } from "../store/operation-store.ts";
import { keepsKeys } from "../store/shared/create-key.ts";

export interface ServerOptions {
  /** An open store. The caller closes it, after `stop`. */
  readonly store: ServerStore;
  /** False for none: then requests come in by `fetch` only. */
  readonly listener?:
    | (Partial<ListenerAddress> & {
        /** Undefined for HTTP. */
        readonly certificate?: Certificate | undefined;
      })
    | false;
  /** Undefined for no admin listener; then nothing collects metrics. */
  readonly admin?:
    | (ListenerAddress & {
        /** Host names by which a listener on loopback is called besides localhost. */
        readonly names?: readonly string[] | undefined;
      })
    | undefined;
  /** The path before those of the collections, such as "/v1"; that of the contract by default. */
  readonly basePath?: string;
  /** The base URL that clients use, where a proxy changes it, such as https://api.example/garden/v1. */
  readonly publicUrl?: string | undefined;
  /** The web origins whose pages may use the service; "*" by default. */
  readonly cors?: AllowedOrigins;
  readonly limits?: Partial<ServerLimits>;
  /** Undefined where callers have no rate. */
  readonly rateLimit?: { readonly requestsPerSecond: number; readonly burst: number } | undefined;
  /** Undefined where JWTs are not accepted. */
  readonly identityProvider?: IdentityProvider | undefined;
  /** Subscribe a log and other sinks before the start. */
  readonly events?: ServerEvents;
  /** The operations besides the creates, of which one with the method and path of a create stands for it. */
  readonly operations?: readonly Operation[];
  /** Puts a handler before that of the service. */
  readonly wrapHandler?: (next: Handler) => Handler;
  /**
   * Makes the options that follow from the contract, when the store has another one. Without it, a
   * server that has operations besides the creates cannot serve that. Rejects with an OperatorError
   * if it cannot be served.
   */
  readonly forContract?: (contract: Contract) => Promise<ContractOptions>;
  /** Further routes of the admin listener. */
  readonly adminRoutes?: readonly AdminRoutes[];
  /** performance.now by default. */
  readonly now?: Clock;
  /** Milliseconds since the epoch: the clock by which tokens expire. Date.now by default. */
  readonly wallNow?: () => number;
}

/** The options of a server that follow from the contract. */
type ContractOptions = Pick<ServerOptions, "basePath" | "operations" | "wrapHandler" | "cors">;

export interface ListenerAddress {
  /** 127.0.0.1 by default. */
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
}

interface ServerLimits {
  /** Bytes of one body. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are being received, parsed or sent. */
  readonly inFlightBytesMax: number;
  /** Time for a body to arrive. */
  readonly arrivalSecondsMax: number;
  /** Plants that wait for a commit. */
  readonly queuePlantsMax: number;
  /** Open connections of both listeners. */
  readonly connectionsMax: number;
  /**
   * Time without traffic after which a connection is closed, also without a response: longer than a
   * database takes to fail over, and than load balancers keep theirs. At least 10 seconds more than
   * arrivalSecondsMax count.
   */
  readonly idleSecondsMax: number;
  /** Time to finish accepted requests when the server stops. */
  readonly drainSecondsMax: number;
}

export interface RunningServer extends AsyncDisposable {
  /** The base address, such as http://127.0.0.1:8080/v1; http://localhost/v1 without a listener. */
  readonly url: string;
  /** Such as http://127.0.0.1:8081; undefined without an admin listener. */
  readonly adminUrl: string | undefined;
  /** Responds to a request as if it had come over the network. Only the path of its URL counts. */
  fetch(request: Request): Promise<Response>;
  /**
   * Reads the tokens of the store after a change, which is effective when it resolves. Meanwhile
   * unknown tokens wait. Rejects with the error of the change, or if they cannot be read.
   */
  reloadTokens(change?: Promise<unknown>): Promise<void>;
  /** Lets every caller begin a new window of its rate. */
  resetRates(): void;
  /** Stops listening; resolves when every accepted request has its response, or time is over. */
  stop(): Promise<void>;
}

/** A listener could not be opened. */
export class ListenError extends Error {
  readonly listener: "public" | "admin";
  readonly address: ListenerAddress;
  /** Such as EADDRINUSE. */
  readonly code: string;

  constructor(listener: "public" | "admin", address: ListenerAddress, code: string) {
    super(`cannot listen on ${address.host}:${address.port} (${code})`);
    this.listener = listener;
    this.address = address;
    this.code = code;
  }
}

const defaultLimits: ServerLimits = {
  bodyBytesMax: 2 ** 20,
  inFlightBytesMax: 64 * 2 ** 20,
  arrivalSecondsMax: 20,
  queuePlantsMax: 10_000,
  connectionsMax: 10_000,
  // Load balancers of AWS and nginx keep theirs for 60, and would send into a connection that
  // closes.
  idleSecondsMax: 75,
  drainSecondsMax: 10,
};

/** Enough for full batches; otherwise the first plant in a batch waits for the last. */
const batchPlantsMax = 1_024;

/** Rejects with a ListenError if an address cannot be bound, and with the store's error. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const setup = setupOf(options);
  // Closed in reverse order when the server stops, also if the start fails.
  await using resources = new AsyncDisposableStack();
  const callers = await startCallers(setup, resources);
  const { limits } = setup;
  const bodyReader = new BodyReader({
    bodyBytesMax: limits.bodyBytesMax,
    inFlightBytesMax: limits.inFlightBytesMax,
    arrivalMsMax: limits.arrivalSecondsMax * 1_000,
  });
  const parts = { ...callers, bodyReader };
  const current = { service: await startService(setup, options, parts) };
  resources.defer(() => current.service.resources.disposeAsync());
  const { exchange, ...addresses } = startListeners(setup, current, bodyReader, resources);
  const following = followContract(setup, async (changed) => {
    const former = current.service;
    current.service = await startService(setup, changed, parts);
    exchange();
    await former.resources.disposeAsync();
  });
  resources.defer(() => following.stop());
  const running = resources.move();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    setup.state.isStopping = true;
    stopped ??= running.disposeAsync();
    return stopped;
  };
  return {
    ...addresses,
    fetch: (request) => current.service.handle(request, inProcess),
    reloadTokens: (change) => callers.tokens.readAfter(change),
    resetRates: () => callers.rateLimit?.reset(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The options with their defaults, and what all parts of the server share. */
function setupOf(options: ServerOptions) {
  const { now = performance.now.bind(performance), wallNow = Date.now } = options;
  const events = options.events ?? new ServerEvents();
  return {
    ...options,
    now,
    wallNow,
    events,
    emit: events.emit,
    limits: { ...defaultLimits, ...options.limits },
    makeRequestId: requestIdMaker(),
    state: { isStopping: false },
  };
}

type Setup = ReturnType<typeof setupOf>;

/** Reads the tokens, and starts what tells callers and counts their rates. */
async function startCallers(
  { store, wallNow, now, emit, identityProvider, rateLimit }: Setup,
  resources: AsyncDisposableStack,
) {
  const tokens = new TokenCache(store.tokens, wallNow, emit);
  await tokens.start();
  resources.defer(() => tokens.stop());
  let jwts: JwtVerifier | undefined;
  if (identityProvider !== undefined) {
    // Few servers need jose, which takes long to load.
    const { JwtVerifier } = await import("../auth/jwt-verifier.ts");
    const verifier = new JwtVerifier(identityProvider, wallNow, emit);
    resources.defer(() => verifier.stop());
    jwts = verifier;
  }
  return {
    tokens,
    authenticator: new Authenticator(tokens, jwts),
    resolveCreator: creatorResolver(store.tokens, emit),
    rateLimit: rateLimit && new RateLimit(rateLimit, now),
  };
}

async function openGroupCommit(
  { store, limits: { queuePlantsMax }, now, emit }: Setup,
  resources: AsyncDisposableStack,
): Promise<CreateQueue> {
  const { batchesInFlightMax } = store;
  const limits = { queuePlantsMax, batchPlantsMax };
  const own = await store.openQueue?.(limits, { now, emit });
  const queue = own ?? new GroupCommit(store, { ...limits, batchesInFlightMax }, { now, emit });
  resources.defer(() => queue.close());
  return queue;
}

/** The parts that all services of a server have in common. */
type SharedParts = Pick<HandlerDependencies, "authenticator" | "resolveCreator" | "rateLimit" | "bodyReader">;

/** The parts that serve one contract. */
interface Service {
  readonly handle: Handler;
  readonly operations: readonly Operation[];
  readonly basePath: string;
  readonly groupCommit: CreateQueue;
  /** Closed when the server stops, or serves another contract. */
  readonly resources: AsyncDisposableStack;
}

/** Makes the handler of all requests from the operations of the contract and of the options. */
async function startService(setup: Setup, options: ContractOptions, shared: SharedParts): Promise<Service> {
  const { store, publicUrl, wallNow, now, emit, makeRequestId } = setup;
  await using resources = new AsyncDisposableStack();
  const groupCommit = await openGroupCommit(setup, resources);
  const parts = { ...shared, groupCommit };
  const { contract } = store;
  const basePath = options.basePath ?? contract.basePath;
  const { collections } = contract;
  const others = options.operations ?? [];
  // Reads of single plants must not wait for lists.
  const single =
    others.length > 0 || collections.some((each) => readsRetries(each) || keepsKeys(each))
      ? resources.use(await (store.openPlantReads ?? store.openSql).call(store))
      : undefined;
  const publicPath = publicUrl === undefined ? basePath : new URL(publicUrl).pathname.replace(/\/$/, "");
  const randomPart = randomProcess();
  const idMakers = new Map(
    collections.map((each) => [each, idMaker(each.id.format ?? "int64", wallNow, randomPart)] as const),
  );
  const targetOf = (collection: Collection): CreateTarget => ({
    collection,
    newId: idMakers.get(collection) as () => PlantId,
    itemPath: itemPathOf(collection, publicPath, others),
    sql: single,
    // Without an id a create may have an Idempotency-Key.
    freeIds:
      single && freeIdsOf(collection, single, () => emit({ kind: "idsExhausted", path: collection.path })),
  });
  const creates = collections.map((each) => createOperation(targetOf(each)));
  // An operation of one's own may stand for a create.
  const offered = [...withoutThose(creates, others), ...others];
  const operations = [...offered, ...unservedOperations(contract)];
  const service = createHandler({
    ...parts,
    contract,
    operations,
    newId: (collection) => (idMakers.get(collection) as () => PlantId)(),
    storeOf:
      single && others.length > 0
        ? await openOperationStore(store, single, resources, (...plant) =>
            parts.groupCommit.nodeOf?.(...plant),
          )
        : undefined,
    basePath,
    publicUrl,
    makeRequestId,
    now,
    emit,
  });
  const { cors = "*", wrapHandler = (next) => next } = options;
  return {
    handle: withTickBudget(service, (next) => withCors(cors, operations, wrapHandler(next))),
    operations,
    basePath,
    groupCommit,
    resources: resources.move(),
  };
}

/** How often a server looks whether its store has another contract. */
const contractLookMs = 500;

/**
 * Takes over the contract that the store has, when that is another one: at once after a batch that was
 * not committed, which may be the reason.
 *
 * @param serve starts to serve the store's contract.
 */
function followContract(
  { store, events, emit, ...options }: Setup,
  serve: (changed: ContractOptions) => Promise<void>,
): { readonly stop: () => Promise<void> } {
  if (store.takeOverContract === undefined) return { stop: async () => undefined };
  let isStopped = false;
  let looking: Promise<void> | undefined;
  const look = async () => {
    try {
      const contract = await store.takeOverContract?.();
      if (contract === undefined) return;
      await serve(await changedOptions(options, contract));
      emit({ kind: "contractChanged" });
    } catch (error) {
      emit({ kind: "contractRefused", reason: errorMessage(error) });
      isStopped = true;
    }
  };
  const start = () => {
    if (isStopped) return;
    looking ??= look().finally(() => {
      looking = undefined;
    });
  };
  const timer = setInterval(start, contractLookMs);
  events.subscribe(({ kind }) => {
    if (kind === "storeUnavailable") start();
  });
  return {
    stop: async () => {
      isStopped = true;
      clearInterval(timer);
      await looking;
    },
  };
}

/** The options for another contract than that of the start. Rejects with an OperatorError. */
async function changedOptions(
  { forContract, operations = [], ...kept }: Pick<ServerOptions, "forContract" | keyof ContractOptions>,
  contract: Contract,
): Promise<ContractOptions> {
  if (forContract !== undefined) return await forContract(contract);
  if (operations.length === 0) return kept;
  throw new OperatorError("this server has the operations of another contract; start it again");
}

/** Opens the listeners, and returns their addresses, and what makes them use the current service. */
function startListeners(
  { store, limits, events, emit, makeRequestId, state, ...options }: Setup,
  current: { readonly service: Service },
  bodyReader: BodyReader,
  resources: AsyncDisposableStack,
): Pick<RunningServer, "url" | "adminUrl"> & { readonly exchange: () => void } {
  const connectionLimit = new ConnectionLimit({
    connectionsMax: limits.connectionsMax,
    closeIdle() {
      listener?.server.closeIdleConnections();
      admin?.closeIdleConnections();
    },
    onExceeded: (open) => emit({ kind: "connectionsShed", open }),
  });
  resources.defer(() => connectionLimit.stop());
  const { host = "127.0.0.1", port = 0, certificate } = options.listener || {};
  const startAdmin = (address: ListenerAddress) => {
    const gauges = {
      operations: () => current.service.operations.filter(({ isServed }) => isServed),
      queuedPlants: () => current.service.groupCommit.queuedPlants,
      nodesUp: () => current.service.groupCommit.nodesUp,
      bodyBytesInFlight: () => bodyReader.memory.used,
      connections: () => connectionLimit.open,
      certificateExpiresAt: () => certificate?.expiresAt ?? 0,
      storeBytes: () => store.bytesOnDisk(),
      walBytes: () => store.walBytes?.(),
    };
    const buildInfo = { version: packageJson.version, bun: Bun.version, engine: store.engine };
    const metrics = new Metrics(gauges, buildInfo);
    events.subscribe((event) => metrics.handle(event));
    return startAdminServer({
      ...address,
      names: options.admin?.names ?? [],
      assertReady: async () => {
        if (state.isStopping) throw new Error("the server is stopping");
        return current.service.groupCommit.assertReady();
      },
      metrics,
      routes: options.adminRoutes ?? [],
      onInternalError: (error) => emit({ kind: "internalError", requestId: "admin", error }),
    });
  };
  const admin = options.admin && listen("admin", options.admin, startAdmin);
  if (admin !== undefined) resources.defer(() => admin.stop(true));

  const startPublic = (address: ListenerAddress) =>
    startPublicListener(current.service, {
      ...address,
      certificate,
      idleSecondsMax: Math.max(limits.idleSecondsMax, limits.arrivalSecondsMax + 10),
      shouldClose: () => state.isStopping || connectionLimit.isExceeded,
      onException(error) {
        const requestId = makeRequestId();
        emit({ kind: "internalError", requestId, error });
        return errorResponse(store.contract.errors, internalError(), requestId);
      },
    });
  const listener = options.listener === false ? undefined : listen("public", { host, port }, startPublic);
  if (listener !== undefined)
    resources.defer(() => stopListener(listener.server, limits.drainSecondsMax * 1_000));
  return {
    url: (listener?.server.url ?? inProcess).origin + current.service.basePath,
    adminUrl: admin?.url.origin,
    exchange: () => listener?.exchange(current.service),
  };
}

/** Opens a listener. Throws a ListenError if the address cannot be bound. */
export function listen<Listener>(
  name: "public" | "admin",
  address: ListenerAddress,
  start: (address: ListenerAddress) => Listener,
): Listener {
  try {
    return start(address);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new ListenError(name, address, code);
  }
}
