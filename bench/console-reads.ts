// How long the console's lists take, and its indexes.

import type { ConsoleServer } from "./console-server.ts";
import { tags } from "./console-stores.ts";
import { type Spread, spreadOf } from "./spread.ts";

export interface ReadTimes {
  readonly store: string;
  readonly read: string;
  readonly ms: Spread;
}

export interface IndexTimes {
  readonly engine: string;
  readonly index: string;
  readonly createSeconds: number;
}

const readsOfAKind = 51;

/** Times each kind of read, each time of other plants. */
export async function readTimes(
  store: string,
  server: ConsoleServer,
  plants: number,
  tell: (line: string) => void,
): Promise<ReadTimes[]> {
  const kinds: Record<string, (index: number) => Record<string, string>> = {
    "first page": () => ({ by: "newest" }),
    "one id": (index) => ({ by: "id", text: String(9_973 * spreadOver(index, plants)) }),
    "a page in the middle": (index) => ({ by: "id", after: `id.${9_973 * spreadOver(index, plants)}` }),
    "beginning of a name": (index) => ({ by: "name", text: `Hoya carnosa ${(index * 37) % 100}` }),
    "beginning that no name has": (index) => ({ by: "name", text: `Aloe ${index}` }),
    tag: (index) => ({ by: "tag", text: `tag ${(index * 37) % tags}` }),
  };
  const times: ReadTimes[] = [];
  for (const [read, parameters] of Object.entries(kinds)) {
    const ms: number[] = [];
    for (let index = 0; index < readsOfAKind; index++) ms.push(await timed(server, parameters(index)));
    times.push({ store, read, ms: spreadOf(ms) });
  }
  tell(`${store}: ${times.map(({ read, ms }) => `${read} ${ms.median.toFixed(1)} ms`).join(", ")}`);
  return times;
}

/** So that newest first has something to show. */
export async function createSome(server: ConsoleServer, token: string): Promise<void> {
  for (let id = 2 * 10 ** 12; id < 2 * 10 ** 12 + 200; id++) {
    const answer = await fetch(`${server.url}/plants`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ id, name: "Monstera deliciosa" }),
    });
    if (!answer.ok) throw new Error(`a create was answered ${answer.status}`);
  }
}

/** Makes all indexes from the console, one after the other. */
export async function timeIndexes(
  engine: string,
  server: ConsoleServer,
  tell: (line: string) => void,
): Promise<IndexTimes[]> {
  const times: IndexTimes[] = [];
  for (const index of ["newest", "name", "tag"]) {
    const start = performance.now();
    await fetch(`${server.consoleUrl}api/indexes`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Plantstore-Console": "1" },
      body: JSON.stringify({ name: index, change: "create" }),
    });
    while (!(await isReady(server, index))) await Bun.sleep(20);
    const createSeconds = (performance.now() - start) / 1_000;
    tell(`${engine}: the index ${index} took ${createSeconds.toFixed(1)} s`);
    times.push({ engine, index, createSeconds });
  }
  return times;
}

async function isReady(server: ConsoleServer, index: string): Promise<boolean> {
  const answer = await fetch(`${server.consoleUrl}api/indexes`);
  const { states, changing, failure } = (await answer.json()) as {
    states: Record<string, string>;
    changing: unknown;
    failure: string | null;
  };
  if (failure !== null) throw new Error(`the index ${index} could not be made: ${failure}`);
  return changing === null && states[index] === "ready";
}

async function timed(server: ConsoleServer, parameters: Record<string, string>): Promise<number> {
  const start = performance.now();
  const answer = await fetch(`${server.consoleUrl}api/plants?${new URLSearchParams(parameters)}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the console answered ${answer.status} ${text}`);
  return performance.now() - start;
}

function spreadOver(index: number, plants: number): number {
  return 1 + ((index * 7_368_787) % plants);
}
