// plantstore index list | create | drop: the index of the console's search.

import { Argument, Command } from "commander";
import { buildSearchIndex, dropSearchIndex, searchIndexState } from "../console/search-index.ts";
import { Progress } from "../operations/progress.ts";
import { withSettings } from "./config/command-options.ts";
import { host } from "./host.ts";
import { formatTable, printError, printLines } from "./output.ts";
import { withStore } from "./with-store.ts";

export function indexCommand(): Command {
  const list = withSettings(
    new Command("list").description("list the index with its state: none, building, ready or broken"),
    ["database"],
    ({ database }) =>
      withStore(database, "existing", async (store) => {
        await using read = await store.openSql("read");
        await printLines(
          formatTable([
            ["INDEX", "STATE"],
            ["search", await searchIndexState(read)],
          ]),
        );
      }),
  );
  return new Command("index")
    .description("create and drop the index of the console's search, which finds any part of names and tags")
    .addCommand(list)
    .addCommand(
      changeCommand(
        "create",
        "create the index while plants are created, or continue a build that was interrupted",
      ),
    )
    .addCommand(changeCommand("drop", "drop the index"));
}

function changeCommand(change: "create" | "drop", description: string): Command {
  const command = new Command(change)
    .description(description)
    .addArgument(new Argument("[name]", "the only one").choices(["search"]));
  return withSettings(command, ["database"], async ({ database }) => {
    await withStore(database, "writable", async (store) => {
      await using read = await store.openSql("read");
      await using write = await store.openSql("write");
      if (change === "drop") return await dropSearchIndex(write, read);
      using progress = new Progress(host().error);
      await buildSearchIndex(write, read, (share) => progress.update(undefined, share ?? 0));
    });
    printError(`Index ${change === "create" ? "created" : "dropped"}.`);
  });
}
