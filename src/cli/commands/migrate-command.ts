// plantstore migrate: creates the store, upgrades its schema, or gives it another contract.

import { Command } from "commander";
import { listed } from "../../base/listed.ts";
import { readContractFile } from "../../openapi/files/read-contract-file.ts";
import { databaseFlag } from "../../process/command-name.ts";
import { host } from "../../process/host.ts";
import { printError } from "../../process/output.ts";
import type { MigrationReport } from "../../store/migration/contract-change.ts";
import { storeAt } from "../../store/open-store.ts";
import { Progress } from "../../transfer/progress.ts";
import { withSettings } from "../command-options.ts";
import { withStore } from "./with-store.ts";

export function migrateCommand(): Command {
  const command = new Command("migrate").description(
    "create the store, upgrade its schema, or give it another contract; serve does so too, unless --migrate is off",
  );
  const names = ["database", "contract", "dropFields", "renameFields"] as const;
  return withSettings(command, names, async (config) => {
    const { database, dropFields = [], renameFields: renames, contract: file } = config;
    const { location } = storeAt(database);
    const contract = file === undefined ? undefined : await readContractFile(file);
    let isNew = false;
    using progress = new Progress(host().error);
    const onMigrated = (report: MigrationReport, notes: readonly string[]) => {
      isNew = report.isNew;
      const changes = [
        described("adds", report.added),
        described("renames", report.renamed),
        described("drops", report.dropped),
      ].flat();
      if (changes.length > 0) printError(`The contract ${changes.join(", and ")}.`);
      if (report.dropped.length > 0)
        printError("What it drops is deleted; the history keeps what it recorded of it.");
      for (const note of notes) printError(note);
    };
    const onProgress = (done: number, rows: number) => progress.update(done, done / Math.max(rows, 1));
    const options = { contract, dropFields, renames, onMigrated, onProgress };
    await withStore(database, "create", async () => progress[Symbol.dispose](), options);
    printError(
      `The store ${location} ${isNew ? "was created" : "is up to date"}. "plantstore serve${databaseFlag(config)}" runs a server on it.`,
    );
  });
}

function described(verb: string, parts: readonly string[]): string[] {
  return parts.length === 0 ? [] : [`${verb} ${listed(parts)}`];
}
