// plantstore sandbox: a server for tests of API tools, on a store in memory.

import { Command } from "commander";
import packageJson from "../../package.json";
import { randomBytes } from "../core/auth/token.ts";
import type { Contract } from "../core/contract/contract.ts";
import { tokenField } from "../core/contract/security.ts";
import { printable } from "../core/observability/terminal.ts";
import type { RunningServer } from "../core/server.ts";
import { formatBanner, plainRows, type ServerAddresses } from "./banner.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config, ServeSettings } from "./config/resolve.ts";
import { serverSettingsWithout } from "./config/settings.ts";
import { contractSource } from "./contract-file.ts";
import { host } from "./host.ts";
import { hasColours, printError, printLines } from "./output.ts";
import { ReadyFile } from "./ready-file.ts";

/** The sandbox's own settings, and those of a server except for a kept store and TLS. */
const settingNames = [
  ...(["sandboxToken", "sandboxSeed", "sandboxRules", "sandboxReadyPath", "exitWithParent"] as const),
  ...serverSettingsWithout("database", "migrate", "bootstrapToken", "tlsCertificate", "tlsKey", "open"),
];
type SandboxConfig = Config<(typeof settingNames)[number]>;

export function sandboxCommand(): Command {
  const command = new Command("sandbox").description(
    "run a server for tests of API tools, on a store in memory: it keeps nothing, can be reset, and can be told how to respond",
  );
  return withSettings(command, settingNames, runSandbox);
}

async function runSandbox(config: SandboxConfig): Promise<void> {
  const {
    sandboxToken: token,
    sandboxSeed: seed,
    sandboxRules: rules,
    adminNames = [],
    trustedProxies = [],
  } = config;
  using readyFile =
    config.sandboxReadyPath === undefined ? undefined : new ReadyFile(config.sandboxReadyPath);
  const [all, them] = config.contract === undefined ? ["all plants are", "them"] : ["all of it is", "it"];
  printError(`A sandbox: nothing is kept, and ${all} gone when it ends. "plantstore serve" keeps ${them}.`);
  using parent = config.exitWithParent ? readStandardInput() : undefined;
  // Loaded late, so that --help stays fast.
  const [
    { startServer },
    { addressesOf },
    starting,
    { Sandbox },
    { withSandboxPage },
    { createConsole },
    { Sessions },
    { ServerProcess },
  ] = await Promise.all([
    import("../core/server.ts"),
    import("./serve.ts"),
    import("./start-server.ts"),
    import("../sandbox/sandbox.ts"),
    import("../sandbox/page.ts"),
    import("./serve-console.ts"),
    import("../console/sessions.ts"),
    import("./server-process.ts"),
  ]);
  const serveConfig: ServeSettings = {
    ...config,
    database: "memory:",
    migrate: "on",
    bootstrapToken: "off",
    tlsCertificate: undefined,
    tlsKey: undefined,
    open: true,
  };
  const now = performance.now.bind(performance);
  await using ownProcess = new ServerProcess(serveConfig, now);
  await ownProcess.startTracing();
  const { events, resources } = ownProcess;
  const sandbox = await Sandbox.open(
    {
      contract: await contractSource(config),
      token,
      seed,
      rules,
      adminNames,
      trustedProxies,
      cors: config.cors,
    },
    ownProcess.storeEvents.onUnavailable,
  );
  const { store } = sandbox;
  const { contract } = store;
  for (const note of sandbox.notes) printError(`contract: ${note}`);
  resources.use(store);
  const wallNow = () => sandbox.clock.now();

  const parts = { store, events, now, wallNow };
  const console = createConsole(serveConfig, parts);
  resources.defer(() => console?.close());
  const sessions =
    console?.sessions ?? new Sessions({ passwordHash: config.adminPasswordHash, now, randomBytes });
  const controlUrl = () => (server.adminUrl === undefined ? undefined : `${server.adminUrl}/sandbox`);
  const { wrapHandler: withDocumentation, ...options } = starting.serverOptions(serveConfig, contract);
  const { arrivalSecondsMax } = config;
  const { basePath = "" } = options;
  const field = tokenField(contract.operations.create.access);
  const control = sandbox.control({
    sessions,
    reloadTokens: () => server.reloadTokens(),
  });
  const server: RunningServer = await starting.withListenAdvice(() =>
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
  const listener = await starting.withListenAdvice(() =>
    sandbox.listen({ host: publicHost, port, basePath, respond: (request) => server.fetch(request) }),
  );
  resources.defer(() => listener.stop(drainSecondsMax * 1_000));

  const addresses = addressesOf(serveConfig, { url: sandbox.url, adminUrl: server.adminUrl });
  ownProcess.logStart(config, addresses);
  const { url, adminUrl = null } = addresses;
  readyFile?.write({
    url,
    plantsUrl: url + contract.path,
    token,
    adminUrl,
    controlUrl: controlUrl() ?? null,
    pid: process.pid,
  });
  await printLines(startLines(contract, config, addresses, controlUrl()));
  await ownProcess.waitForStop(parent?.ended);
}

/** On a terminal a banner; elsewhere the base URL is the first line. */
function startLines(
  contract: Contract,
  { sandboxToken, sandboxSeed, publicUrl }: SandboxConfig,
  { url, documentationUrl, consoleUrl }: ServerAddresses,
  controlUrl: string | undefined,
): string[] {
  const { output, environment } = host();
  const { columns } = output;
  const rows = [
    ["Interface", url + contract.path],
    ["Token", sandboxToken],
    ...(publicUrl === undefined ? [] : [["Public URL", publicUrl] as const]),
    ["Documentation", documentationUrl ?? "off"],
    ["Console", consoleUrl ?? "off"],
    ["Control", controlUrl ?? "off"],
    ["Seeds", sandboxSeed === undefined ? "none" : printable(sandboxSeed)],
    ["Store", "in memory; nothing is kept"],
  ] as const;
  if (columns === undefined) return [url, ...plainRows(rows)];
  const title = `${printable(contract.words.service)} ${packageJson.version} sandbox`;
  return [...formatBanner(title, rows, hasColours(true, environment)), ""];
}

/** Reads standard input, which ends with the program at the pipe's other end. */
function readStandardInput(): Disposable & { readonly ended: Promise<string> } {
  const stop = new AbortController();
  const read = host().openInput().pipeTo(new WritableStream(), { signal: stop.signal });
  return {
    // An error ends it too: a terminal that has hung up.
    ended: read.catch(() => undefined).then(() => "end of standard input"),
    // A pipe that its writer keeps open would keep the process running.
    [Symbol.dispose]: () => stop.abort(),
  };
}
