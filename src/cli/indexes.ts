// plantstore index list | create | drop: the optional indexes of the console's search.

import { Argument, Command } from "commander";
import { type IndexName, indexNames, type PlantIndexes } from "../core/store/plant-reader.ts";
import { operatorProgress } from "../operations/progress.ts";
import { withSettings } from "./config/command-options.ts";
import { formatTable, printError, printLines, standardError } from "./output.ts";
import { withStore } from "./with-store.ts";

export function indexCommand(): Command {
  return new Command("index")
    .description("create and drop the indexes of the console's search; each slows creates, text most")
    .addCommand(listCommand())
    .addCommand(
      changeCommand(
        "create",
        "create an index, or upgrade an outdated one; on SQLite no plant is created while it builds: running servers respond with 503",
      ),
    )
    .addCommand(changeCommand("drop", "drop an index"));
}

function listCommand(): Command {
  const command = new Command("list").description("list the indexes and their states");
  return withSettings(command, ["database"], ({ database }) =>
    withStore(database, "existing", async ({ indexes }) => {
      const states = Object.entries(await indexes.states());
      await printLines(formatTable([["INDEX", "STATE"], ...states]));
    }),
  );
}

function changeCommand(change: "create" | "drop", description: string): Command {
  const command = new Command(change)
    .description(description)
    .addArgument(new Argument("<name>", "newest, name, tag or text").choices(indexNames));
  return withSettings(command, ["database"], async ({ database }, name: IndexName) => {
    await withStore(database, "writable", ({ indexes }) =>
      change === "drop" ? indexes.drop(name) : create(indexes, name),
    );
    printError(`Index ${name} ${change === "create" ? "created" : "dropped"}.`);
  });
}

/** With the progress, where the engine tells it, on standard error. */
async function create(indexes: PlantIndexes, name: IndexName): Promise<void> {
  const progress = operatorProgress(standardError());
  try {
    await indexes.create(name, ({ share }) => progress.updateShare(share ?? 0));
  } finally {
    progress.end();
  }
}
