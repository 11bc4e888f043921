// plantstore migrate: creates the store, upgrades its schema, or gives it another contract.

import { Command } from "commander";
import { readContractFile } from "../../openapi/files/read-contract-file.ts";
import { databaseFlag } from "../../process/command-name.ts";
import { printError } from "../../process/output.ts";
import type { MigrationReport } from "../../store/migration/store-contract.ts";
import { storeAt } from "../../store/open-store.ts";
import type { PlantStore } from "../../store/plant-store.ts";
import { describeGoneCollections } from "../../transfer/gone-collections.ts";
import { withSettings } from "../command-options.ts";
import { withStore } from "./with-store.ts";

export function migrateCommand(): Command {
  const command = new Command("migrate").description(
    "create the store, upgrade its schema, or give it another contract; serve does so too, unless --migrate is off",
  );
  return withSettings(command, ["database", "contract", "dropFields"], async (config) => {
    const { database, dropFields, contract: file } = config;
    const { location } = storeAt(database);
    const contract = file === undefined ? undefined : await readContractFile(file);
    let isNew = false;
    const onMigrated = (report: MigrationReport) => {
      isNew = report.isNew;
      const changes = [described("adds", report.added), described("drops", report.dropped)].flat();
      if (changes.length > 0) printError(`The contract ${changes.join(", and ")}.`);
    };
    const report = async (store: PlantStore) => {
      printError(
        `The store ${location} ${isNew ? "was created" : "is up to date"}. "plantstore serve${databaseFlag(config)}" runs a server on it.`,
      );
      await using sql = await store.openSql();
      for (const sentence of await describeGoneCollections(store.contract, sql)) printError(sentence);
    };
    await withStore(database, "create", report, { contract, dropFields, onMigrated });
  });
}

function described(verb: string, parts: readonly string[]): string[] {
  return parts.length === 0 ? [] : [`${verb} ${parts.join(", ")}`];
}
