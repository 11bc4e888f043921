// plantstore import FILE|-: plants from NDJSON, with the same checks as the API.

import { existsSync, rmSync, statSync } from "node:fs";
import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { errorRegistry } from "../contract/errors.ts";
import { OperatorError } from "../operator-error.ts";
import { tell } from "../operator-output.ts";
import { openStore } from "../store/open-store.ts";
import { type ImportCounts, importPlants, type Refusal, StoreUnavailable } from "../transfer/import.ts";
import { ndjsonEntries } from "../transfer/ndjson.ts";
import { Progress } from "../transfer/progress.ts";

/** The exit code of an import that refused some of the lines. */
const someRefusedExitCode = 3;

export function importCommand(): Command {
  const command = new Command("import")
    .description("create plants from NDJSON; may be broken off and run again; works while the server runs")
    .argument("<file>", "the file, or - for standard input")
    .addHelpText(
      "after",
      `
Refused lines go to FILE.rejected.ndjson with their number, the error and the original text. The exit code is then 3.`,
    );
  return withSettings(command, ["database", "quiet"]).action((file: string) => importFile(command, file));
}

async function importFile(command: Command, file: string): Promise<void> {
  if (file !== "-" && !existsSync(file))
    throw new OperatorError(`there is no file ${file}; give its path, or - for standard input`);
  const source = meteredSource(file);
  const rejected = new RejectedFile(file === "-" ? "stdin.rejected.ndjson" : `${file}.rejected.ndjson`);
  const style = settingOf(command, "quiet") ? "none" : process.stderr.isTTY ? "bar" : "lines";
  const progress = new Progress({
    style,
    write: (text) => process.stderr.write(text),
    now: () => performance.now(),
  });
  const store = await openStore(settingOf(command, "database"), "create", () => undefined);
  try {
    const counts = await importPlants(ndjsonEntries(source.chunks), store, {
      onRefusal: (refusal) => rejected.add(refusal),
      onBatch: (soFar) => progress.update(soFar.created + soFar.unchanged + soFar.refused, source.part()),
    });
    progress.end();
    if (!settingOf(command, "quiet")) tell(summaryOf(counts, rejected.path));
    if (counts.refused > 0) process.exitCode = someRefusedExitCode;
  } catch (error) {
    progress.end();
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new OperatorError(
      "the store could not be written for a minute; see to it, and run the same command again: it goes on",
    );
  } finally {
    await rejected.close();
    await store.close();
  }
}

/** The bytes of a file, and how much of it was read; of standard input nobody knows the whole. */
function meteredSource(file: string): { chunks: AsyncIterable<Uint8Array>; part: () => number | undefined } {
  const stream = file === "-" ? Bun.stdin.stream() : Bun.file(file).stream();
  const size = file === "-" ? 0 : statSync(file).size;
  let read = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      read += chunk.length;
      yield chunk;
    }
  }
  return { chunks: chunks(), part: () => (size === 0 ? undefined : read / size) };
}

/** The report of refused lines; there is none while there is no refusal, and none of an earlier import stays. */
class RejectedFile {
  readonly path: string;
  #sink: Bun.FileSink | undefined;

  constructor(path: string) {
    this.path = path;
    rmSync(path, { force: true });
  }

  add({ line, error, text }: Refusal): void {
    this.#sink ??= Bun.file(this.path).writer();
    const report = { line, error: errorRegistry[error.code].error, message: error.message, text };
    this.#sink.write(`${JSON.stringify(report)}\n`);
  }

  async close(): Promise<void> {
    await this.#sink?.end();
  }
}

function summaryOf({ created, unchanged, refused }: ImportCounts, rejectedPath: string): string {
  const counted = `${created.toLocaleString("en")} created, ${unchanged.toLocaleString("en")} already there, ${refused.toLocaleString("en")} refused`;
  return refused === 0 ? counted : `${counted}; see ${rejectedPath}`;
}
