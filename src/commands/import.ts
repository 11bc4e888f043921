// plantstore import FILE|-: plants from NDJSON or CSV, with the same checks as the API.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { OperatorError } from "../operator-error.ts";
import { tell, tellWaiting } from "../operator-output.ts";
import { openStore } from "../store/open-store.ts";
import { formatOfFile, formats } from "../transfer/format.ts";
import { type ImportCounts, importPlants, StoreUnavailable } from "../transfer/import.ts";
import { operatorProgress } from "../transfer/progress.ts";
import { RejectedFile } from "../transfer/rejected-file.ts";
import { openSource } from "../transfer/source.ts";
import { Interruption } from "./interruption.ts";

/** The exit code of an import that refused some of the lines. */
const someRefusedExitCode = 3;

export function importCommand(): Command {
  const command = new Command("import")
    .description(
      "create plants from NDJSON or CSV; may be broken off and run again; works while the server runs",
    )
    .argument("<file>", "the file, or - for standard input")
    .addHelpText(
      "after",
      `
Refused lines go to FILE.rejected.ndjson with their number, the error and the original text. The exit code is then 3.
CSV starts with a header that names the columns id, name and tag; an empty cell is no tag, and "" an empty one.`,
    );
  return withSettings(command, ["format", "database", "quiet", "recordBytesMax"]).action((file: string) =>
    importFile(command, file),
  );
}

async function importFile(command: Command, file: string): Promise<void> {
  using interruption = new Interruption();
  const { signal } = interruption;
  const { entries } = formats[settingOf(command, "format") ?? formatOfFile(file)];
  const isQuiet = settingOf(command, "quiet");
  using source = openSource(file, signal);
  using rejected = new RejectedFile(file === "-" ? "stdin.rejected.ndjson" : `${file}.rejected.ndjson`);
  const progress = operatorProgress(isQuiet);
  const store = await openStore(settingOf(command, "database"), "create", () => undefined, {
    ...(isQuiet ? {} : { report: tellWaiting }),
    signal,
  });
  let counts: Readonly<ImportCounts> = { created: 0, unchanged: 0, refused: 0 };
  try {
    counts = await importPlants(entries(source.chunks, settingOf(command, "recordBytesMax")), store, {
      signal,
      onRefusal: (refusal) => rejected.add(refusal),
      onBatch: (soFar) => {
        counts = soFar;
        progress.update(soFar.created + soFar.unchanged + soFar.refused, source.part());
      },
    });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (!signal.aborted)
      throw new OperatorError(`the store could not be written for a minute; ${goesOn(counts)}`);
  } finally {
    progress.end();
    try {
      rejected.flush();
    } finally {
      // An open connection would keep a command that has failed from ending.
      await store.close();
    }
  }
  if (signal.aborted) throw new OperatorError(`interrupted; ${goesOn(counts)}`);
  if (!isQuiet) tell(countsText(counts) + (counts.refused === 0 ? "" : `; see ${rejected.path}`));
  if (counts.refused > 0) process.exitCode = someRefusedExitCode;
}

function goesOn(counts: ImportCounts): string {
  return `${countsText(counts)} so far, and the same command goes on from there`;
}

function countsText({ created, unchanged, refused }: ImportCounts): string {
  const [one, two, three] = [created, unchanged, refused].map((count) => count.toLocaleString("en"));
  return `${one} created, ${two} already there, ${three} refused`;
}
