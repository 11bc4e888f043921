// Compares acknowledged creates with stored ones, and checks that a subject waits for fsync.

import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { pathOf } from "../test/support/programs.ts";
import { ServerProcess } from "./processes.ts";
import { createPlant, type HttpSubject } from "./subjects/http.ts";
import type { Audit, Store } from "./suite.ts";

/**
 * A store whose rows are counted. It may have more than were acknowledged: wrk ends without waiting
 * for its last responses.
 */
export class CountedStore implements Store {
  readonly #name: string;
  readonly #countRows: () => number | Promise<number>;

  constructor(name: string, countRows: () => number | Promise<number>) {
    this.#name = name;
    this.#countRows = countRows;
  }

  async audit(acknowledged: number): Promise<Audit> {
    const rows = await this.#countRows();
    if (rows < acknowledged)
      throw new Error(`${this.#name} acknowledged ${acknowledged} creates, but has ${rows} rows`);
    return { store: this.#name, acknowledged, rows };
  }
}

/** The rows of a SQLite file that no server has open. */
export function countSqliteRows(file: string): number {
  using database = new Database(file, { readonly: true });
  return Number(database.query("SELECT count(*) FROM plants").values()[0]?.[0]);
}

const watchedCreates = 5;

interface SqliteWatch {
  /** The subject's processes. */
  readonly pids: readonly number[];
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
  { pids, file, firstId }: SqliteWatch,
): Promise<string> {
  const mode = journalMode(file);
  if (pathOf("strace") === null) return `journal_mode ${mode}, fsyncs not watched (no strace)`;
  const trace = `${file}.strace`;
  const attach = pids.flatMap((pid) => ["-p", String(pid)]);
  await using strace = new ServerProcess([
    ...["strace", "-f", "-o", trace, "-e", "trace=fsync,fdatasync", "-e", "signal=none"],
    ...attach,
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
