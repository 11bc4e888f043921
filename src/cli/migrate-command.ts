// plantstore migrate: creates the store, or upgrades its schema.

import { Command } from "commander";
import { storeAt } from "../core/store/open-store.ts";
import { withSettings } from "./config/command-options.ts";
import { contractSource } from "./contract-file.ts";
import { printError } from "./output.ts";
import { withStore } from "./with-store.ts";

export function migrateCommand(): Command {
  const command = new Command("migrate").description(
    "create the store, or upgrade its schema; serve does so too, unless --migrate is off",
  );
  return withSettings(command, ["database", "contract", "collection"], async ({ database, ...named }) => {
    const { location } = storeAt(database);
    const contract = await contractSource(named);
    const report = async () =>
      printError(`The store ${location} is up to date. "plantstore serve" runs a server on it.`);
    await withStore(database, "create", report, { contract });
  });
}
