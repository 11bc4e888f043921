// What takes part in a benchmark: a server at an address, and its figures.

import type { Database } from "../src/store/sqlite/driver.ts";

/** In the order of the numbers that SQLite gives for them. */
const synchronousNames = ["OFF", "NORMAL", "FULL", "EXTRA"];

/** A server that answers POST /plants. */
export interface Contender {
  readonly name: string;
  /** The base address, without /plants. */
  readonly url: string;
  readonly token: string;
  /** The process that answers. */
  readonly pid: number;
  /** Asks it to stop, and throws if it does not do so cleanly. */
  stop(): Promise<void>;
}

/** A contender that stores what it is sent. */
export interface StoreContender extends Contender {
  /** The SQLite file with its plants. */
  readonly file: string;
}

/** How durable a commit is: what the writing connection answers to the pragmas of these names. */
export interface Durability {
  readonly journalMode: string;
  /** 2 is FULL: the log is fsynced at each commit. */
  readonly synchronous: number;
}

export function durabilityOf(database: Database): Durability {
  return {
    journalMode: String(database.query("PRAGMA journal_mode").values()[0]?.[0]),
    synchronous: Number(database.query("PRAGMA synchronous").values()[0]?.[0]),
  };
}

/** Throws unless a commit is on stable storage when it returns. */
export function assertDurable(name: string, durability: Durability): void {
  if (durability.journalMode !== "wal" || durability.synchronous < synchronousNames.indexOf("FULL"))
    throw new Error(`${name} is not durable: ${durabilityText(durability)}`);
}

export function durabilityText({ journalMode, synchronous }: Durability): string {
  return `journal_mode ${journalMode}, synchronous ${synchronousNames[synchronous] ?? synchronous}`;
}

/** What a contender answers to a create of this id by wrk-create.lua. */
export function toPlant(id: number): { name: string; tag: string } {
  return { name: `Monstera deliciosa ${id}`, tag: "tropical" };
}

/** Waits until a contender answers a create rightly. Throws if it does not within five seconds. */
export async function assertCreates({ name, url, token }: Contender, id: number): Promise<void> {
  const plant = toPlant(id);
  let trouble: unknown;
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      const response = await post(url, token, { id, ...plant });
      const answer = await response.text();
      if (response.status === 200 && Bun.deepEquals(JSON.parse(answer), plant)) return;
      throw new Error(`${name} does not create plants: it answered ${response.status} ${answer}`);
    } catch (error) {
      // Only a listener that is not up yet is worth another try.
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
      trouble = error;
    }
    await Bun.sleep(100);
  }
  throw trouble;
}

/** Throws unless a contender refuses what it should: a comparison is fair with all checks on only. */
export async function assertChecks({ name, url, token }: Contender): Promise<void> {
  const attempts = [
    { expected: 401, token: `${token}x`, body: { id: 1, ...toPlant(1) } },
    { expected: 400, token, body: { id: 1, tag: "tropical" } },
  ];
  for (const { expected, token, body } of attempts) {
    const { status } = await post(url, token, body);
    if (status !== expected) throw new Error(`${name} answered ${status} where ${expected} is right`);
  }
}

function post(url: string, token: string, body: unknown): Promise<Response> {
  return fetch(`${url}/plants`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
}
