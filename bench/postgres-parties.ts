// Starts all that the suite "postgres" measures: our server, the peers, and several of ours behind nginx.

import { readPartiesCpu } from "./accounting.ts";
import { assertChecks, assertCreates, type Contender } from "./contender.ts";
import { startExpress } from "./express-postgres.ts";
import type { Load, LoadResult } from "./load.ts";
import { startProxy } from "./nginx.ts";
import { runPgbench } from "./pgbench.ts";
import { createToken, startPlantstoreOn } from "./plantstore.ts";
import type { BenchPostgres } from "./postgres-server.ts";
import type { Entrant } from "./rounds.ts";
import { runWrk } from "./wrk.ts";

/** Entrants that write into one database. */
interface Writers {
  readonly database: string;
  readonly entrants: readonly Entrant[];
  /** The processes behind them, to be stopped in this order. */
  readonly processes: readonly Contender[];
}

/** The processes that work for an entrant, by what they are. */
type Pids = Readonly<Record<string, readonly number[]>>;

/** Starts one contender after the other on one PostgreSQL. */
export class PostgresParties {
  readonly #postgres: BenchPostgres;
  readonly #folder: string;
  readonly #firstPlantId: number;
  readonly #stack: AsyncDisposableStack;

  constructor(postgres: BenchPostgres, folder: string, firstPlantId: number, stack: AsyncDisposableStack) {
    this.#postgres = postgres;
    this.#folder = folder;
    this.#firstPlantId = firstPlantId;
    this.#stack = stack;
  }

  /** Our server. */
  async plantstore(): Promise<Writers> {
    const start = await this.#plantstores("plantstore");
    return this.#single("plantstore", await start());
  }

  /** The service as people usually write it. */
  async express(): Promise<Writers> {
    const address = await this.#postgres.createDatabase("express");
    return this.#single("express", await startExpress(address, this.#stack));
  }

  /** PostgreSQL's own load generator, in a table as the others have it. */
  async pgbench(): Promise<Writers> {
    const database = "pgbench";
    await this.#postgres.createDatabase(database);
    await this.#postgres.createPlantsTable(database);
    const drive = (load: Load) => runPgbench(this.#postgres.port, database, this.#folder, load);
    return { database, entrants: [this.#entrant("pgbench", {}, drive)], processes: [] };
  }

  /** Our server by itself, then one, two and three of them behind nginx, all on one database. */
  async fleet(): Promise<Writers> {
    const start = await this.#plantstores("fleet");
    const [first, second, third] = [await start(), await start(), await start()];
    const teams = [[first], [first, second], [first, second, third]] as const;
    const proxies = teams.map((team) =>
      startProxy(`${team.length} behind nginx`, this.#folder, team, this.#stack),
    );
    for (const proxy of proxies) await assertCreates(proxy, this.#firstPlantId);
    const servers = [first, second, third];
    const plantstore = servers.map(({ pid }) => pid);
    const entrants = [
      this.#served({ ...first, name: "1 by itself" }, { plantstore }),
      ...proxies.map((proxy) => this.#served(proxy, { nginx: [proxy.pid], plantstore })),
    ];
    return { database: "fleet", entrants, processes: [...proxies, ...servers] };
  }

  /** A function that starts one server after the other on a new database. */
  async #plantstores(database: string): Promise<() => Promise<Contender>> {
    const address = await this.#postgres.createDatabase(database);
    const token = await createToken(address);
    return () => startPlantstoreOn(address, token, this.#stack);
  }

  async #single(database: string, contender: Contender): Promise<Writers> {
    await assertCreates(contender, this.#firstPlantId);
    await assertChecks(contender);
    const entrants = [this.#served(contender, { "HTTP server": [contender.pid] })];
    return { database, entrants, processes: [contender] };
  }

  #served(contender: Contender, pids: Pids): Entrant {
    return this.#entrant(contender.name, pids, (load) => runWrk(contender, load));
  }

  #entrant(name: string, pids: Pids, drive: (load: Load) => Promise<LoadResult>): Entrant {
    const postgres = this.#postgres;
    return {
      name,
      readCpu: () => readPartiesCpu({ ...pids, postgres: [postgres.pid] }),
      drive: async (load) => {
        const before = await postgres.writingTransactions();
        const result = await drive(load);
        return { ...result, transactions: (await postgres.writingTransactions()) - before };
      },
    };
  }
}
