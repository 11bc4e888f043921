// plantstore migrate: creates the store, or upgrades its schema, and distributes it on request.

import { Command } from "commander";
import { OperatorError } from "../core/operator-error.ts";
import { storeAt } from "../core/store/open-store.ts";
import type { Distribution } from "../core/store/postgres/citus/distribution.ts";
import { withSettings } from "./config/command-options.ts";
import { printError } from "./output.ts";
import { withStore } from "./with-store.ts";

export function migrateCommand(): Command {
  const command = new Command("migrate").description(
    "create the store, or upgrade its schema; serve does so too, unless --migrate is off",
  );
  return withSettings(command, ["database", "distribute"], async ({ database, distribute }) => {
    const address = storeAt(database);
    if (distribute !== undefined && address.distribute === undefined)
      throw new OperatorError("--distribute is for PostgreSQL with Citus; a SQLite store is one file", 2);
    const { location } = address;
    await withStore(database, "create", async ({ wasCreated }) => {
      printError(
        wasCreated
          ? `Created an empty store: ${location}`
          : `The store ${location} exists, and its schema is up to date.`,
      );
    });
    const report = (waitingFor: string) => printError(`waiting for ${waitingFor}`);
    const distribution = distribute === undefined ? undefined : await address.distribute?.({ report });
    if (distribution !== undefined) printError(describe(distribution));
  });
}

function describe({ nodes, hasChanged }: Distribution): string {
  const where = `over ${nodes} ${nodes === 1 ? "node" : "nodes"} of Citus`;
  return hasChanged
    ? `Distributed the plants by id ${where}; every node has the tokens.`
    : `The plants are distributed by id ${where}.`;
}
