// One simulation: servers, clients, and an environment that fails, all driven by one seed.

import { Random } from "../../support/random.ts";
import { Client, type ClientParts } from "./client.ts";
import type { EnvironmentParts, Mutation } from "./environment.ts";
import { Model } from "./model.ts";
import { PostgresEnvironment } from "./postgres-environment.ts";
import { SimulatedServer } from "./server.ts";
import { SqliteEnvironment } from "./sqlite-environment.ts";
import { SimulatedTokens } from "./tokens.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface Result {
  readonly seed: number;
  readonly engine: string;
  /** What should not be; nothing if all is well. */
  readonly faults: readonly string[];
  /** The same for every run of a seed. */
  readonly hash: string;
  readonly counts: Readonly<Model["counts"]>;
  /** How often the servers were ended, and how much went wrong around them. */
  readonly kills: number;
  readonly troubles: number;
}

export interface SimulationOptions {
  readonly mutation?: Mutation;
  readonly engine?: "sqlite" | "postgres";
  /** Gets what happens, line by line. */
  readonly trace?: (line: string) => void;
}

/** Longer than every client can take, with every time-out on the way. */
const msMax = 30 * 60_000;

export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Result> {
  using time = new VirtualTime();
  const random = new Random(seed);
  let hash = 0n;
  const trace = (line: string) => {
    const timed = `${time.now().toFixed(3)} ${line}`;
    hash = BigInt(Bun.hash(timed, hash));
    options.trace?.(timed);
  };
  const parts: EnvironmentParts = { time, random, trace, mutation: options.mutation ?? {} };
  const engine = options.engine ?? random.pick(["sqlite", "postgres"] as const);
  const simulation = new Simulation(parts, engine);
  const faults = await time.until(simulation.run(), msMax).catch((error) => [`stuck: ${error.message}`]);
  const { model, kills, troubles } = simulation;
  return { seed, engine, faults, hash: hash.toString(16), counts: model.counts, kills, troubles };
}

class Simulation {
  readonly model = new Model();
  kills = 0;
  troubles = 0;
  readonly #parts: EnvironmentParts;
  readonly #environment;
  readonly #servers: SimulatedServer[] = [];
  readonly #faults: string[] = [];
  #isOver = false;

  constructor(parts: EnvironmentParts, engine: "sqlite" | "postgres") {
    this.#parts = parts;
    this.#environment = engine === "sqlite" ? new SqliteEnvironment(parts) : new PostgresEnvironment(parts);
  }

  /** Runs to its end, and gives what was wrong. */
  async run(): Promise<string[]> {
    const { random } = this.#parts;
    const tokens = new SimulatedTokens(this.#parts, this.#environment.start(() => undefined).tokens);
    await tokens.issue(false);
    const serverCount = this.#environment.engine === "sqlite" ? 1 : 1 + random.below(3);
    for (let place = 0; place < serverCount; place++) await this.#startServer(place);

    const clientParts: ClientParts = {
      ...this.#parts,
      environment: this.#environment,
      model: this.model,
      tokens,
      server: () => {
        const up = this.#servers.filter(({ isUp }) => isUp);
        return random.pick(up.length === 0 ? this.#servers : up);
      },
      report: (fault) => this.#faults.push(fault),
    };
    const clients = Array.from(
      { length: 2 + random.below(12) },
      (_, index) => new Client(clientParts, `client ${index}`),
    );
    const disturbing = this.#disturb(tokens);
    await Promise.all(clients.map((client) => client.createMany(2 + random.below(10))));
    this.#isOver = true;
    await disturbing;
    await this.#end(clients);
    return this.#faults;
  }

  /** Once the faults have ended, every request succeeds, the store matches the model, and no connection is left open. */
  async #end(clients: readonly Client[]): Promise<void> {
    const { time } = this.#parts;
    this.#environment.heal();
    // Past every time-out that a trouble may still have going.
    await time.sleep(30_000);
    for (const [place, server] of this.#servers.entries()) if (!server.isUp) await this.#startServer(place);
    await Promise.all(clients.map((client) => client.createLast()));
    for (const server of this.#servers) {
      this.#faults.push(...(await server.stop(10_000)));
    }
    this.#faults.push(...this.#environment.faults, ...this.model.audit(this.#environment.durable()));
    this.#environment.close();
  }

  async #startServer(place: number): Promise<void> {
    const server = new SimulatedServer(this.#environment, this.#parts, () => {
      this.kills++;
    });
    this.#servers[place] = server;
    await server.start();
  }

  /** What goes on around the servers: troubles, kills, restarts, tokens that come and go, clocks that jump. */
  async #disturb(tokens: SimulatedTokens): Promise<void> {
    const { random, time, trace } = this.#parts;
    while (!this.#isOver) {
      await time.sleep(random.between(1, 250));
      const place = random.below(this.#servers.length);
      const server = this.#servers[place];
      if (server?.isUp === false && random.chance(0.5)) await this.#startServer(place);
      const happening = random.below(10);
      if (happening < 4) {
        this.troubles++;
        this.#environment.trouble();
      } else if (happening === 4 && server?.isUp) {
        this.kills++;
        server.kill();
      } else if (happening === 5 && server?.isUp) {
        const stopping = server
          .stop(random.chance(0.5) ? 10_000 : 1)
          .then((left) => this.#faults.push(...left));
        // The disk may keep it for as long as it likes; an operator does not wait so long.
        await Promise.race([stopping, time.sleep(15_000)]);
        server.kill();
      } else if (happening === 6) await tokens.issue();
      else if (happening === 7) await tokens.revoke();
      else if (happening === 8) {
        time.wallAheadMs += random.between(-100_000, 100_000);
        trace(`clock: ${time.wallAheadMs.toFixed(3)}`);
      }
    }
  }
}
