// plantstore demo: runs a server on a store in a temporary folder, which is removed at the end.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { OperatorError } from "../../base/operator-error.ts";
import { readContractFile } from "../../openapi/files/read-contract-file.ts";
import type { Config, ServeConfig } from "../../process/config/resolve.ts";
import { serverSettingsWithout } from "../../process/config/settings.ts";
import { host } from "../../process/host.ts";
import { formatCounts, printError } from "../../process/output.ts";
import { waitForStopSignal } from "../../process/signals.ts";
import { toEntries } from "../../store/plant-store.ts";
import { withSettings } from "../command-options.ts";
import { startDemoTraffic, trafficMinutes } from "./demo-traffic.ts";
import { withStore } from "./with-store.ts";

/** Uses free ports, so that it can run next to a server, and does not log its traffic. */
const defaults = { port: "0", adminPort: "0", accessLog: "0" };

const settingNames = serverSettingsWithout("database", "migrate");

export function demoCommand(): Command {
  const command = new Command("demo").description(
    "run a server on a new store in a temporary folder, with the examples of the contract; all of it is removed when the server stops",
  );
  const demonstrate = async (config: Config<(typeof settingNames)[number]>) => {
    const { signals, exit } = host();
    let isServing = false;
    // Before the server receives signals itself, their default action would leave the folder.
    const stopped = waitForStopSignal(signals, performance.now.bind(performance), () => undefined);
    void stopped.then(() => isServing || exit());
    const folder = createFolder();
    // Runs even if a second signal ends the process.
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    const database = `sqlite:${join(folder, "plantstore.db")}`;
    const contract = config.contract === undefined ? undefined : await readContractFile(config.contract);
    const { collections } = await withStore(
      database,
      "create",
      async (store) => {
        const { collections } = store.contract;
        await store.create(collections.flatMap((each) => toEntries(each, each.examples)));
        return store.contract;
      },
      { contract },
    );
    const counts = new Map(collections.map(({ path, examples }) => [path, examples.length]));
    printError(
      `A demonstration: its ${formatCounts(collections, counts)} and ${folder} are removed when the server stops.`,
    );
    printError(
      `Two clients send it ${collections.map(({ words }) => words.many).join(", ")} for ${trafficMinutes} minutes: the console shows them.`,
    );
    const sources = { ...config.sources, database: "default", migrate: "default" };
    const { serve } = await import("../../process/serve.ts");
    isServing = true;
    await serve({ ...config, database, migrate: "on", sources } satisfies ServeConfig, ({ url }, store) =>
      startDemoTraffic(url, store),
    );
  };
  return withSettings(command, settingNames, demonstrate, defaults);
}

/** Creates the folder of the store. Throws an OperatorError if it cannot. */
function createFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), "plantstore-demo-"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      `the demonstration cannot create a folder in ${tmpdir()} (${code}); set TMPDIR to a folder that is writable`,
    );
  }
}
