// plantstore export: plants as NDJSON or CSV, all of them or a selection.

import { fstatSync } from "node:fs";
import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { formatCount, outputError, printChunks, printError, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";
import { exportText } from "../transfer/export.ts";
import { operatorProgress } from "../transfer/progress.ts";

const standardOutput = 1;

export function exportCommand(): Command {
  const command = new Command("export")
    .description("print plants, ordered by id, from one snapshot; works while the server runs")
    .addHelpText(
      "after",
      `
An export that was broken off, or one that is to be continued, goes on with --since-id and the last id that it printed.
Ids are not a clock: a plant that was created later may have a smaller id.`,
    );
  return withSettings(command, ["format", "delimiter", "tag", "sinceId", "database", "quiet"]).action(() =>
    exportPlants(command),
  );
}

async function exportPlants(command: Command): Promise<void> {
  const selection = { tag: settingOf(command, "tag"), sinceId: settingOf(command, "sinceId") };
  // Progress would only disturb a pipe's other end on the same terminal.
  const isQuiet = settingOf(command, "quiet") || !fstatSync(standardOutput).isFile();
  const progress = operatorProgress(isQuiet);
  const store = await openStore(settingOf(command, "database"), "existing", printError, {
    ...(settingOf(command, "quiet") ? {} : { report: tellWaiting }),
  });
  try {
    const total = isQuiet ? undefined : await store.count(selection);
    let plants = 0;
    const format = settingOf(command, "format") ?? "ndjson";
    const texts = exportText(store.export(selection), format, settingOf(command, "delimiter"), (soFar) => {
      plants = soFar;
      progress.update(soFar, total === undefined ? undefined : Math.min(1, soFar / total));
    });
    await printChunks(texts);
    progress.end();
    if (!isQuiet) printError(`${formatCount(plants)} exported`);
  } catch (error) {
    progress.end();
    throw outputError(error, "the export", "run it again");
  } finally {
    await store.close();
  }
}
