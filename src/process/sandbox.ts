// plantstore sandbox: starts a server on a store in memory, with its control, and runs until a
// signal.

import packageJson from "../../package.json";
import { printable } from "../base/terminal.ts";
import { Sessions } from "../console/session/sessions.ts";
import { tokenField } from "../contract/access.ts";
import type { Contract } from "../contract/contract.ts";
import type { Operation } from "../http/operation.ts";
import { readContractFile } from "../openapi/files/read-contract-file.ts";
import { describedLine, sandboxOperations } from "../sandbox/described-operations/sandbox-operation.ts";
import { withSandboxPage } from "../sandbox/page.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { type RunningServer, startServer } from "../service/server.ts";
import { formatBanner, interfaceRows, plainRows, type Row, type ServerAddresses } from "./banner.ts";
import type { Config, ServeSettings } from "./config/resolve.ts";
import { loadExtension, remainingNotes } from "./extension.ts";
import { host } from "./host.ts";
import { hasColours, printError, printLines } from "./output.ts";
import type { ReadyFile } from "./ready-file.ts";
import { addressesOf } from "./serve.ts";
import { createConsole } from "./serve-console.ts";
import { ServerProcess } from "./server-process.ts";
import { serverOptions, withListenAdvice } from "./start-server.ts";

/** The settings that a sandbox shares with `serve`, and those that only it has. */
type SandboxConfig = ServeSettings & Config<"sandboxToken" | "sandboxSeed" | "sandboxRules">;

/**
 * Runs a sandbox until a signal stops it.
 *
 * @param readyFile is written when the sandbox is ready.
 * @param stopRequest resolves with another reason to stop.
 */
export async function runSandbox(
  given: SandboxConfig,
  readyFile: ReadyFile | undefined,
  stopRequest: Promise<string> | undefined,
): Promise<void> {
  const { sandboxToken: token, adminNames = [], trustedProxies = [] } = given;
  const extension = await loadExtension(given.extend);
  const now = performance.now.bind(performance);
  await using ownProcess = new ServerProcess(given, now);
  await ownProcess.startTracing();
  const { events, resources } = ownProcess;
  const sandbox = await Sandbox.open(
    {
      contract: given.contract === undefined ? undefined : await readContractFile(given.contract),
      token,
      seed: given.sandboxSeed,
      rules: given.sandboxRules,
      adminNames,
      trustedProxies,
      cors: given.cors,
    },
    ownProcess.storeEvents.onUnavailable,
  );
  const { store } = sandbox;
  const { contract } = store;
  // The console is that of collections.
  const config: SandboxConfig = contract.collections.length > 0 ? given : { ...given, console: "off" };
  const own = await extension(contract);
  resources.use(store);
  const wallNow = () => sandbox.clock.now();

  const parts = { store, events, now, wallNow };
  const console = createConsole(config, parts);
  resources.defer(() => console?.close());
  const sessions = console?.sessions ?? new Sessions({ passwordHash: config.adminPasswordHash, now });
  const controlUrl = () => (server.adminUrl === undefined ? undefined : `${server.adminUrl}/sandbox`);
  const simulated: Operation[] = [];
  const { wrapHandler: withDocumentation, ...options } = await serverOptions(
    config,
    contract,
    own,
    (others) => {
      simulated.push(...sandboxOperations(contract.document, others, contract.errors.shape));
      return simulated;
    },
  );
  for (const note of remainingNotes(sandbox.notes, [...own, ...simulated])) printError(`contract: ${note}`);
  if (simulated.length > 0) printError(`contract: ${describedLine(simulated)}`);
  const { arrivalSecondsMax } = config;
  const { basePath = "" } = options;
  const field = tokenField(contract.access);
  const control = sandbox.control({
    sessions,
    reloadTokens: () => server.reloadTokens(),
    resetRates: () => server.resetRates(),
    stopImport: async () => await console?.stopImport(),
  });
  const server: RunningServer = await withListenAdvice(() =>
    startServer({
      ...options,
      ...parts,
      listener: false,
      wrapHandler: (next) =>
        sandbox.wrapHandler(
          withSandboxPage(withDocumentation?.(next) ?? next, { token, field, controlUrl }),
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
  const { host: publicHost, port, drainSecondsMax } = config;
  const listener = await withListenAdvice(() =>
    sandbox.listen({ host: publicHost, port, basePath, respond: (request) => server.fetch(request) }),
  );
  resources.defer(() => listener.stop(drainSecondsMax * 1_000));

  const addresses = addressesOf(config, { url: sandbox.url, adminUrl: server.adminUrl });
  ownProcess.logStart(config, addresses);
  const { url, adminUrl = null } = addresses;
  readyFile?.write({
    url,
    plantsUrl: sandbox.plantsUrls[0] ?? url,
    collections: Object.fromEntries(contract.collections.map(({ name, path }) => [name, url + path])),
    token,
    adminUrl,
    controlUrl: controlUrl() ?? null,
    pid: process.pid,
  });
  await printLines(startLines(contract, config, addresses, controlUrl()));
  await ownProcess.waitForStop(stopRequest);
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
