// plantstore index list | create | drop: the indexes that searching in the console can use.

import { Argument, Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { formatTable, printError, printLines, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";
import { type IndexName, indexNames, type PlantIndexes } from "../store/plant-reader.ts";
import type { OpenMode } from "../store/plant-store.ts";

export function indexCommand(): Command {
  return new Command("index")
    .description("make and drop the indexes that searching in the console can use; each costs every create")
    .addCommand(listCommand())
    .addCommand(
      changeCommand(
        "create",
        "make an index; on SQLite no plant is created meanwhile: running servers answer 503 until it is there",
      ),
    )
    .addCommand(changeCommand("drop", "drop an index"));
}

function listCommand(): Command {
  const command = new Command("list").description("list the indexes and whether they are there");
  return withSettings(command, ["database"]).action(async () => {
    const states = await withIndexes(command, "existing", (indexes) => indexes.states());
    await printLines(formatTable([["INDEX", "STATE"], ...Object.entries(states)]));
  });
}

function changeCommand(change: "create" | "drop", description: string): Command {
  const command = new Command(change)
    .description(description)
    .addArgument(new Argument("<name>", "newest, name or tag").choices(indexNames));
  return withSettings(command, ["database"]).action(async (name: IndexName) => {
    await withIndexes(command, "writable", (indexes) => indexes[change](name));
    printError(`The index ${name} is ${change === "create" ? "there" : "dropped"}.`);
  });
}

async function withIndexes<T>(
  command: Command,
  mode: OpenMode,
  use: (indexes: PlantIndexes) => Promise<T>,
): Promise<T> {
  const store = await openStore(settingOf(command, "database"), mode, printError, { report: tellWaiting });
  try {
    return await use(store.indexes);
  } finally {
    await store.close();
  }
}
