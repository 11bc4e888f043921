// Counts the rows of a SQLite file, and checks that a subject waits for fsync.

import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { pathOf } from "../test/support/programs.ts";
import { ServerProcess } from "./processes.ts";
import { createPlant, type HttpSubject } from "./subjects/http.ts";

/** The rows of a SQLite file that no server has open. */
export function countSqliteRows(file: string): number {
  using database = new Database(file, { readonly: true });
  return Number(database.query("SELECT count(*) FROM plants").values()[0]?.[0]);
}

const watchedCreates = 5;

interface SqliteWatch {
  /** The subject's process. */
  readonly pid: number;
  readonly file: string;
  /** The ids of the created plants. */
  readonly firstId: number;
}

/**
 * The durability of creates in a SQLite file: its journal mode, and the fsyncs while one client
 * creates plants one after the other. Throws if there are fewer fsyncs than creates.
 */
export async function sqliteDurability(
  subject: HttpSubject,
  { pid, file, firstId }: SqliteWatch,
): Promise<string> {
  const mode = journalMode(file);
  if (pathOf("strace") === null) return `journal_mode ${mode}, fsyncs not watched (no strace)`;
  const trace = `${file}.strace`;
  await using strace = new ServerProcess([
    ...["strace", "-f", "-o", trace, "-e", "trace=fsync,fdatasync", "-e", "signal=none", "-p", `${pid}`],
  ]);
  await Bun.sleep(500);
  if (strace.hasEnded) return `journal_mode ${mode}, fsyncs not watched (strace may not attach)`;
  for (let count = 0; count < watchedCreates; count++) await createPlant(subject, firstId + count);
  await strace.stop();
  const syncs = readFileSync(trace, "utf8").match(/\bf(?:data)?sync\(/g)?.length ?? 0;
  if (syncs < watchedCreates)
    throw new Error(`${subject.name} is not durable: ${syncs} fsyncs for ${watchedCreates} creates`);
  return `journal_mode ${mode}, ${syncs} fsyncs for ${watchedCreates} creates in sequence`;
}

function journalMode(file: string): string {
  using database = new Database(file, { readonly: true });
  return String(database.query("PRAGMA journal_mode").values()[0]?.[0]);
}
