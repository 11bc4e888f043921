// The suite "console": how long the console's lists take the server with many plants in the store, what each index
// costs creates, and what a console that is open in a browser costs them.

import { copyFileSync } from "node:fs";
import { TestBrowser } from "../test/support/browser.ts";
import { chromiumPath } from "../test/support/chromium.ts";
import { readCpu } from "./accounting.ts";
import { assertOnDisk, circumstances, circumstancesText, printedVersion } from "./circumstances.ts";
import { createSome, readTimes, timeIndexes } from "./console-reads.ts";
import { consoleTables, judgeConsole } from "./console-report.ts";
import { type ConsoleServer, startConsoleServer } from "./console-server.ts";
import { fillPostgres, fillSqlite } from "./console-stores.ts";
import { readConsoleFlags } from "./flags.ts";
import { firstIds, type Load } from "./load.ts";
import { createToken, plantstore } from "./plantstore.ts";
import { BenchPostgres } from "./postgres-server.ts";
import { runToEnd } from "./processes.ts";
import { assertMet, program } from "./requirements.ts";
import { writeResult } from "./results.ts";
import { type Entrant, measureRounds, type RoundsPlan, warmUp } from "./rounds.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { runWrk } from "./wrk.ts";

const connections = [64];

/** The page has read everything then, and drawn it. */
const openedMs = 3_000;

/** Runs the suite: tables on standard output, progress by `tell`. */
export async function console(args: readonly string[], tell: (line: string) => void): Promise<void> {
  const { rounds, seconds, plants } = readConsoleFlags(args);
  assertMet([program("wrk", Bun.which("wrk"), "wrk"), program("Chromium", chromiumPath(), "chromium")]);
  await using stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  const under = circumstances(folder, { wrk: printedVersion(["wrk", "-v"]) });
  assertOnDisk(under);
  const ids = firstIds();
  const plan = { connections, rounds, seconds, firstIds: ids, tell };

  const file = `${folder}/filled.db`;
  tell(`filling a SQLite store with ${plants.toLocaleString("en-US")} plants`);
  const token = await createToken(`sqlite:${file}`);
  fillSqlite(file, plants);
  const indexCosts = await measureIndexes({ ...plan, entrants: [] }, file, token, stack);
  const openConsole = await measureOpenConsole({ ...plan, entrants: [] }, folder, stack);

  const reads = [];
  const indexTimes = [];
  const postgres = await BenchPostgres.start(stack);
  const database = await postgres.createDatabase("filled");
  const otherToken = await createToken(database);
  tell(`filling a PostgreSQL database with ${plants.toLocaleString("en-US")} plants`);
  await fillPostgres(database, plants);
  const stores = [
    { engine: "SQLite", address: `sqlite:${file}`, storeToken: token },
    { engine: "PostgreSQL", address: database, storeToken: otherToken },
  ];
  for (const { engine, address, storeToken } of stores) {
    await using server = await startConsoleServer(address);
    reads.push(...(await readTimes(`${engine}, without indexes`, server, plants, tell)));
    indexTimes.push(...(await timeIndexes(engine, server, tell)));
    await createSome(server, storeToken);
    reads.push(...(await readTimes(`${engine}, with all indexes`, server, plants, tell)));
  }

  const figures = { reads, indexTimes, indexCosts, openConsole, connections };
  process.stdout.write(`
${consoleTables(figures)}

${circumstancesText(under)}
- ${plants.toLocaleString("en-US")} plants in each store; ${rounds} rounds, runs of ${seconds} s, wrk with one thread and ${connections[0]} connections
- a read is timed from the request to the end of its answer, over HTTP on this machine
`);
  const result = { rounds, seconds, plants, judged: judgeConsole(figures), ...figures };
  tell(`written to ${await writeResult("console", under, result)}`);
}

/** Creates beside a full store, with each index and without, each on a copy of its own. */
async function measureIndexes(plan: RoundsPlan, file: string, token: string, stack: AsyncDisposableStack) {
  const entrants: Entrant[] = [];
  for (const indexes of [[], ["newest"], ["name"], ["tag"], ["newest", "name", "tag"]]) {
    const name = indexes.length === 0 ? "no index" : indexes.join(", ");
    plan.tell(`a store with ${name}`);
    const copy = `${file}-${indexes.join("-") || "none"}`;
    copyFileSync(file, copy);
    for (const index of indexes)
      await runToEnd([plantstore, "index", "create", index, "--database", `sqlite:${copy}`]);
    const server = stack.use(await startConsoleServer(`sqlite:${copy}`));
    entrants.push(entrantOf(name, server, token));
  }
  await warmUp({ ...plan, entrants });
  return measureRounds({ ...plan, entrants });
}

/** Creates while nobody looks, and while a console is open in Chromium on the same machine. */
async function measureOpenConsole(plan: RoundsPlan, folder: string, stack: AsyncDisposableStack) {
  const database = `sqlite:${folder}/watched.db`;
  const token = await createToken(database);
  const server = stack.use(await startConsoleServer(database));
  const browser = stack.use(await TestBrowser.start());
  const unseen = entrantOf("nobody looks", server, token);
  const seen: Entrant = {
    ...entrantOf("a console is open", server, token),
    drive: async (load) => {
      let result: Awaited<ReturnType<Entrant["drive"]>> | undefined;
      await browser.visit(server.consoleUrl, {}, async (page) => {
        await page.getByRole("heading", { name: "Plants", exact: true }).waitFor();
        // An open page is measured, and not its opening.
        await Bun.sleep(openedMs);
        result = await unseen.drive(load);
      });
      if (result === undefined) throw new Error("the page was not opened");
      return result;
    },
  };
  // The browser itself, without a page, is there for both.
  const entrants = [unseen, seen];
  await warmUp({ ...plan, entrants });
  return measureRounds({ ...plan, entrants });
}

function entrantOf(name: string, server: ConsoleServer, token: string): Entrant {
  const contender = { name, url: server.url, token, pid: server.pid, stop: async () => undefined };
  return {
    name,
    drive: (load: Load) => runWrk(contender, load),
    readCpu: () => readCpu(server.pid),
  };
}
