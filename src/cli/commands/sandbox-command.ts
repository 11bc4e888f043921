// plantstore sandbox: declares the command; process/sandbox.ts runs it.

import { Command } from "commander";
import { serverSettingsWithout } from "../../process/config/settings.ts";
import { host } from "../../process/host.ts";
import { printError } from "../../process/output.ts";
import { ReadyFile } from "../../process/ready-file.ts";
import { withSettings } from "../command-options.ts";

/** The sandbox's own settings, and those of a server except for a kept store and TLS. */
const settingNames = [
  ...(["sandboxToken", "sandboxSeed", "sandboxRules", "sandboxReadyPath", "exitWithParent"] as const),
  ...serverSettingsWithout("database", "migrate", "bootstrapToken", "tlsCertificate", "tlsKey", "open"),
];

export function sandboxCommand(): Command {
  const command = new Command("sandbox").description(
    "run a server for tests of API tools, on a store in memory: it keeps nothing, can be reset, and can be told how to respond",
  );
  return withSettings(command, settingNames, async (config) => {
    const { sandboxReadyPath, exitWithParent } = config;
    using readyFile = sandboxReadyPath === undefined ? undefined : new ReadyFile(sandboxReadyPath);
    const [all, them] = config.contract === undefined ? ["all plants are", "them"] : ["all of it is", "it"];
    printError(`A sandbox: nothing is kept, and ${all} gone when it ends. "plantstore serve" keeps ${them}.`);
    using parent = exitWithParent ? readStandardInput() : undefined;
    // In a separate module, like serve, so that the help of all commands does not load it.
    const { runSandbox } = await import("../../process/sandbox.ts");
    const server = {
      ...config,
      database: "memory:",
      migrate: "on",
      bootstrapToken: "off",
      tlsCertificate: undefined,
      tlsKey: undefined,
      open: true,
    } as const;
    await runSandbox(server, readyFile, parent?.ended);
  });
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
