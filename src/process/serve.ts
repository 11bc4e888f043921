// plantstore serve: opens the store, starts the server with its console, and runs until a signal.

import packageJson from "../../package.json";
import { makeToken, randomBytes } from "../auth/token.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import type { Contract, ContractSource } from "../contract/contract.ts";
import type { Certificate } from "../http/listener.ts";
import { compiler } from "../openapi/compiler.ts";
import type { RunningServer } from "../service/server.ts";
import type { ServerStore } from "../store/group-commit.ts";
import { storeAt } from "../store/open-store.ts";
import type { OpenOptions, PlantStore } from "../store/plant-store.ts";
import { bannerLines, plainLines, type ServerAddresses } from "./banner.ts";
import { changedSettings, type ServeConfig } from "./config/resolve.ts";
import { noteLines } from "./contract-notes.ts";
import { loadExtension } from "./extension.ts";
import { host } from "./host.ts";
import { hasColours, issueToken, printLines } from "./output.ts";
import { ServerProcess } from "./server-process.ts";

/** Runs the server until a signal stops it. */
export async function serve(config: ServeConfig): Promise<void> {
  // Validate settings before opening anything.
  if (config.watch && config.contract === undefined)
    throw new OperatorError("--watch needs the file of --contract", 2);
  const certificate = await certificateOf(config);
  const extension = await loadExtension(config.extend);

  const now = performance.now.bind(performance);
  await using ownProcess = new ServerProcess(config, now);
  await ownProcess.startTracing();
  let held: Disposable | undefined;
  // A start that fails leaves the store and its contract as they are.
  const beforeMigration = async (wanted: Contract | undefined) => {
    const { assertServable, holdAddresses } = await loading;
    if (wanted !== undefined) await assertServable(config, wanted, await extension(wanted));
    held ??= ownProcess.resources.use(await holdAddresses(config, certificate));
  };
  const opening = openStoreUnlessStopped(config, ownProcess, beforeMigration);
  // Loads while the threads of the store start.
  const loading = import("./start-server.ts");
  const store = await opening;
  if (store === undefined) return await ownProcess.waitForStop();
  ownProcess.resources.use(store);
  const own = await extension(store.contract);
  for (const message of noteLines(store.contract.notes, own, config.notes))
    ownProcess.events.emit({ kind: "notice", message });

  const parts = {
    store,
    extension,
    assertWanted: assertSameAs(config, store.contract),
    events: ownProcess.events,
    now,
    wallNow: Date.now,
  };
  const { startConfigured, assertServable } = await loading;
  held?.[Symbol.dispose]();
  const server = await startConfigured(config, { ...parts, certificate }, ownProcess.resources);

  const addresses = addressesOf(config, server);
  ownProcess.logStart(config, addresses);
  if (certificate !== undefined) {
    const { watchCertificate } = await import("./certificate.ts");
    ownProcess.resources.use(watchCertificate(certificate, ownProcess.events.emit));
  }
  // Last, because a first token that is not shown cannot be issued again.
  await printServerStart(config, addresses, store, server, ownProcess.events.emit);
  const { contract: file, watch, database } = config;
  await using _ =
    watch && file !== undefined
      ? (await import("./watch-contract.ts")).watchContract({
          file,
          source: await readSource(file),
          database,
          assertServable: async (wanted) => assertServable(config, wanted, await extension(wanted)),
          emit: ownProcess.events.emit,
        })
      : undefined;
  await ownProcess.waitForStop();
}

// Parts that few servers need are loaded by those.

async function certificateOf({ tlsCertificate, tlsKey }: ServeConfig): Promise<Certificate | undefined> {
  if (tlsCertificate === undefined || tlsKey === undefined) return undefined;
  const { readCertificate } = await import("./certificate.ts");
  return await readCertificate(tlsCertificate, tlsKey);
}

async function readSource(file: string): Promise<ContractSource> {
  const { readContractFile } = await import("../openapi/files/read-contract-file.ts");
  return await readContractFile(file);
}

/**
 * A server that was started with a contract of its own serves that one only: two servers with two of
 * them would take the store from each other.
 */
function assertSameAs(config: ServeConfig, own: Contract): (contract: Contract) => void {
  return ({ source }) => {
    if (config.contract !== undefined && !config.watch && source.text !== own.source.text)
      throw new OperatorError(
        `the store has got another contract than --contract ${config.contract}; start the server without it, or with that one`,
      );
  };
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
  store: PlantStore,
  server: RunningServer,
  emit: Emit,
): Promise<void> {
  const { output, environment } = host();
  const { columns } = output;
  const started = {
    ...addresses,
    version: packageJson.version,
    publicUrl: config.publicUrl,
    changed: changedSettings(config).map(({ flag }) => flag),
    contract: store.contract,
    store: storeAt(config.database).location,
  };
  const render = (token: string | undefined) =>
    columns === undefined
      ? plainLines(started, token)
      : bannerLines(started, token, hasColours(true, environment));
  const identity = { name: "first", expiresAt: null };
  const { token, record } = makeToken(identity, { now: Date.now(), randomBytes });
  if (config.bootstrapToken === "off" || (await store.tokens.list()).length > 0)
    return await printLines(render(undefined));
  const issuing = issueToken(render(token), async () => {
    if (await store.tokens.add(record)) return;
    const message = "the first token that was printed is void: another server has issued one first";
    emit({ kind: "notice", message });
  });
  // Whoever reads the token may send it before it is stored.
  await server.reloadTokens(issuing);
}

/** Opens the store; undefined if a signal ends the wait for a database that cannot be reached. */
async function openStoreUnlessStopped(
  { database, migrate, contract: file }: ServeConfig,
  { stopSignal, storeEvents, events }: ServerProcess,
  beforeMigration: OpenOptions["beforeMigration"],
): Promise<ServerStore | undefined> {
  const opening = new AbortController();
  // An open store continues to retry, because accepted plants are still to be committed.
  let isOpen = false;
  void stopSignal.then(() => {
    if (!isOpen) opening.abort();
  });
  const report = (waitingFor: string) => events.emit({ kind: "storeWaiting", waitingFor });
  const contract = file === undefined ? undefined : await readSource(file);
  try {
    const mode = migrate === "on" ? "create" : "writable";
    const store = await storeAt(database).openForServer(mode, storeEvents, {
      compiler,
      report,
      onIndex: (message) => events.emit({ kind: "notice", message }),
      signal: opening.signal,
      contract,
      beforeMigration,
    });
    isOpen = true;
    return store;
  } catch (error) {
    if (opening.signal.aborted && error instanceof OperatorError) return undefined;
    throw error;
  }
}
