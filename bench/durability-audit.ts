// Compares the creates that a subject acknowledged with those that it stored, and checks that it waits for fsync.

import { Database } from "bun:sqlite";
import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fates } from "./loads/open-loop.ts";
import { findProgram, runProgram, ServerProcess } from "./processes.ts";
import { createPlant, type HttpSubject } from "./subjects/http.ts";
import { type Audit, idsPerRun, type Store } from "./suite.ts";

/** A store whose rows are counted. It may have more than were acknowledged: wrk ends without waiting for its last answers. */
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

/** A store in which each create of the open loop is looked for: stored if it was acknowledged, and only then. */
export class ExaminedStore implements Store {
  /** By the first id of each run, a byte for each create. */
  readonly fatesByFirstId = new Map<number, Uint8Array>();
  /** For files. */
  readonly folder: string;
  readonly #name: string;
  readonly #exportCommand: readonly string[];

  /** @param exportCommand prints the store's plants as NDJSON. */
  constructor(name: string, folder: string, exportCommand: readonly string[]) {
    this.#name = name;
    this.folder = folder;
    this.#exportCommand = exportCommand;
  }

  async audit(acknowledged: number): Promise<Audit> {
    const file = `${this.folder}/audit.ndjson`;
    await runProgram(this.#exportCommand, { output: file });
    const stored = new Map([...this.fatesByFirstId].map(([id, bytes]) => [id, new Uint8Array(bytes.length)]));
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const { id } = JSON.parse(line) as { id: number };
      stored.get(id - (id % idsPerRun))?.fill(1, id % idsPerRun, (id % idsPerRun) + 1);
    }
    let [rows, refused, lost, storedAnyway] = [0, 0, 0, 0];
    for (const [firstId, bytes] of this.fatesByFirstId) {
      for (const [index, fate] of bytes.entries()) {
        const isStored = stored.get(firstId)?.[index] === 1;
        if (isStored) rows++;
        if (fate === fates.refused) refused++;
        if (fate === fates.accepted && !isStored) lost++;
        if (fate !== fates.accepted && isStored) storedAnyway++;
      }
    }
    if (lost > 0 || storedAnyway > 0)
      throw new Error(`${this.#name} lost ${lost} acknowledged plants and has ${storedAnyway} refused ones`);
    return { store: this.#name, acknowledged, rows, refused };
  }
}

const watchedCreates = 5;

interface SqliteWatch {
  /** The subject's processes. */
  readonly pids: readonly number[];
  readonly file: string;
  /** Of the plants that are created. */
  readonly firstId: number;
  /** False if fewer fsyncs than creates are what is expected. */
  readonly isDurable?: boolean;
}

/**
 * The durability of creates in a SQLite file: its journal mode, and the fsyncs of the processes while one client creates
 * plants one after the other. Throws if there are fewer fsyncs than creates, unless the subject is known not to be durable.
 */
export async function sqliteDurability(
  subject: HttpSubject,
  { pids, file, firstId, isDurable = true }: SqliteWatch,
): Promise<string> {
  const mode = journalMode(file);
  if (findProgram("strace") === null) return `journal_mode ${mode}, fsyncs not watched (no strace)`;
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
  if (isDurable && syncs < watchedCreates)
    throw new Error(`${subject.name} is not durable: ${syncs} fsyncs for ${watchedCreates} creates`);
  return `journal_mode ${mode}, ${syncs} fsyncs for ${watchedCreates} creates in sequence`;
}

function journalMode(file: string): string {
  using database = new Database(file, { readonly: true });
  return String(database.query("PRAGMA journal_mode").values()[0]?.[0]);
}
