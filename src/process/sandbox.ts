// plantstore sandbox: starts a server on a store in memory, with its control, and runs until a
// signal.

import packageJson from "../../package.json";
import { isLoopback } from "../base/loopback.ts";
import { OperatorError } from "../base/operator-error.ts";
import { printable } from "../base/terminal.ts";
import { Sessions } from "../console/session/sessions.ts";
import { tokenField } from "../contract/access.ts";
import type { Contract, ContractSource } from "../contract/contract.ts";
import type { Operation } from "../http/operation.ts";
import { contractChanges } from "../openapi/files/contract-changes.ts";
import { readContractFile } from "../openapi/files/read-contract-file.ts";
import { describedLine, sandboxOperations } from "../sandbox/described-operations/sandbox-operation.ts";
import { withSandboxPage } from "../sandbox/page.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { type RunningServer, startServer } from "../service/server.ts";
import { formatBanner, interfaceRows, plainRows, type Row, type ServerAddresses } from "./banner.ts";
import type { Config, ServeSettings } from "./config/resolve.ts";
import { noteLines } from "./contract-notes.ts";
import { type Extension, loadExtension } from "./extension.ts";
import { host } from "./host.ts";
import { pageGuard } from "./local-pages.ts";
import { hasColours, printLines } from "./output.ts";
import type { ReadyFile } from "./ready-file.ts";
import { addressesOf } from "./serve.ts";
import { createConsole } from "./serve-console.ts";
import { ServerProcess } from "./server-process.ts";
import { allOpen, serverOptions, withListenAdvice } from "./start-server.ts";

/** The settings that a sandbox shares with `serve`, and those that only it has. */
type SandboxConfig = ServeSettings & Config<"sandboxToken" | "sandboxSeed" | "sandboxRules">;

/**
 * Runs a sandbox until a signal stops it. With --watch it starts anew, at the same addresses, when the
 * file of its contract changes.
 *
 * @param readyFile is written when the sandbox is ready.
 * @param stopRequest resolves with another reason to stop.
 */
export async function runSandbox(
  given: SandboxConfig,
  readyFile: ReadyFile | undefined,
  stopRequest: Promise<string> | undefined,
): Promise<void> {
  const { contract: file } = given;
  if (given.watch && file === undefined) throw new OperatorError("--watch needs the file of --contract", 2);
  const extension = await loadExtension(given.extend);
  const now = performance.now.bind(performance);
  await using ownProcess = new ServerProcess(given, now);
  await ownProcess.startTracing();
  const source = file === undefined ? undefined : await readContractFile(file);
  let running = new AsyncDisposableStack();
  ownProcess.resources.defer(() => running.disposeAsync());
  const first = await prepareSandbox(given, source, extension, ownProcess);
  const addresses = await startSandbox(given, first, ownProcess, running);
  const { url, adminUrl = null, controlUrl, resourcesUrls } = addresses;
  const { contract } = first.sandbox.store;
  ownProcess.logStart(first.config, addresses);
  readyFile?.write({
    url,
    resourcesUrl: resourcesUrls[0] ?? url,
    collections: Object.fromEntries(contract.collections.map(({ name, path }) => [name, url + path])),
    token: given.sandboxToken,
    adminUrl,
    controlUrl: controlUrl ?? null,
    pid: process.pid,
  });
  await printLines(startLines(contract, first.config, addresses, controlUrl));
  const stop = new AbortController();
  const stopped = ownProcess.waitForStop(stopRequest).finally(() => stop.abort());
  if (given.watch && file !== undefined && source !== undefined) {
    const portOf = (address: string) => Number(new URL(address).port);
    const kept: SandboxConfig = {
      ...given,
      port: portOf(url),
      adminPort: adminUrl === null ? given.adminPort : portOf(adminUrl),
    };
    for await (const change of contractChanges(file, source, stop.signal)) {
      const report = (message: string) => ownProcess.events.emit({ kind: "notice", message });
      let next: PreparedSandbox;
      try {
        if ("fault" in change) throw new OperatorError(change.fault);
        next = await prepareSandbox(kept, change, extension, ownProcess);
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        report(`${file} is not taken over: ${error.message}`);
        continue;
      }
      await running.disposeAsync();
      running = new AsyncDisposableStack();
      await startSandbox(kept, next, ownProcess, running);
      report(`${file} has changed: the sandbox serves it, with its seeds`);
    }
  }
  await stopped;
}

type PreparedSandbox = Awaited<ReturnType<typeof prepareSandbox>>;

/** Makes the store and the operations of a contract. Rejects with an OperatorError if they cannot be. */
async function prepareSandbox(
  given: SandboxConfig,
  source: ContractSource | undefined,
  extension: Extension,
  { storeEvents, events }: ServerProcess,
) {
  const { sandboxToken: token, adminNames = [], trustedProxies = [] } = given;
  const { sandboxSeed: seed, sandboxRules: rules, cors } = given;
  const options = { contract: source, token, seed, rules, adminNames, trustedProxies, cors };
  const sandbox = await Sandbox.open(options, storeEvents.onUnavailable);
  const { contract } = sandbox.store;
  // The console is that of collections.
  const config: SandboxConfig = contract.collections.length > 0 ? given : { ...given, console: "off" };
  const own = await extension(contract);
  const simulated: Operation[] = [];
  const server = await serverOptions(config, contract, own, (others) => {
    simulated.push(...sandboxOperations(contract.document, others, contract.errors.shape));
    return simulated;
  });
  const lines = noteLines(sandbox.notes, [...own, ...simulated], config.notes);
  if (simulated.length > 0) lines.push(`contract: ${describedLine(simulated)}`);
  for (const message of lines) events.emit({ kind: "notice", message });
  return { sandbox, config, server };
}

/** Starts a sandbox, which ends with the resources, and returns its addresses. */
async function startSandbox(
  { port, host: publicHost }: SandboxConfig,
  { sandbox, config, server: { wrapHandler: withDocumentation, ...options } }: PreparedSandbox,
  { events }: ServerProcess,
  resources: AsyncDisposableStack,
) {
  const { store } = sandbox;
  const now = performance.now.bind(performance);
  resources.use(store);
  const parts = { store, events, now, wallNow: () => sandbox.clock.now() };
  const console = createConsole(config, parts);
  resources.defer(() => console?.close());
  const sessions = console?.sessions ?? new Sessions({ passwordHash: config.adminPasswordHash, now });
  const controlUrl = () => (server.adminUrl === undefined ? undefined : `${server.adminUrl}/sandbox`);
  const { arrivalSecondsMax, drainSecondsMax, connectionsMax, inFlightBytesMax } = config;
  const { basePath = "" } = options;
  const field = tokenField(store.contract.access);
  const control = sandbox.control({
    sessions,
    reloadTokens: () => server.reloadTokens(),
    resetRates: () => server.resetRates(),
    stopImport: async () => await console?.stopImport(),
  });
  // Beyond loopback clients call it by names of their network, and it is open to all of them.
  const isGuarded = allOpen(store.contract, options.operations ?? []).length > 0 && isLoopback(publicHost);
  const guard = isGuarded ? pageGuard(config) : undefined;
  const server: RunningServer = await withListenAdvice(() =>
    startServer({
      ...options,
      cors: guard?.cors ?? config.cors,
      ...parts,
      listener: false,
      wrapHandler: (next) =>
        sandbox.wrapHandler(
          withSandboxPage(withDocumentation?.(next) ?? next, {
            token: config.sandboxToken,
            field,
            controlUrl,
          }),
          {
            basePath,
            operations: options.operations ?? [],
            arrivalMsMax: arrivalSecondsMax * 1_000,
            rateLimit: options.rateLimit,
            now,
            emit: events.emit,
          },
        ),
      adminRoutes: [control, ...(console === undefined ? [] : [console])],
    }),
  );
  resources.use(server);
  const listener = await withListenAdvice(() =>
    sandbox.listen({
      host: publicHost,
      port,
      basePath,
      connectionsMax,
      inFlightBytesMax,
      respond: async (request) => guard?.refuse(request) ?? (await server.fetch(request)),
    }),
  );
  resources.defer(() => listener.stop(drainSecondsMax * 1_000));
  const addresses = addressesOf(config, { url: sandbox.url, adminUrl: server.adminUrl });
  return { ...addresses, resourcesUrls: sandbox.resourcesUrls, controlUrl: controlUrl() };
}

/** Makes a banner for a terminal; otherwise the base URL is the first line. */
function startLines(
  contract: Contract,
  { sandboxToken, sandboxSeed, publicUrl }: SandboxConfig,
  { url, documentationUrl, consoleUrl }: ServerAddresses,
  controlUrl: string | undefined,
): string[] {
  const { output, environment } = host();
  const { columns } = output;
  const rows: Row[] = [
    ...interfaceRows(contract, url),
    ["Token", sandboxToken],
    ...(publicUrl === undefined ? [] : [["Public URL", publicUrl] as const]),
    ["Documentation", documentationUrl ?? "off"],
    ["Console", consoleUrl ?? "off"],
    ["Control", controlUrl ?? "off"],
    ["Seeds", sandboxSeed === undefined ? "none" : printable(sandboxSeed)],
    ["Store", "in memory; nothing is kept"],
  ];
  if (columns === undefined) return [url, ...plainRows(rows)];
  const title = `${printable(contract.service)} ${packageJson.version} sandbox`;
  return [...formatBanner(title, rows, hasColours(true, environment)), ""];
}
