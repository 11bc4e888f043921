// One simulation: a server, clients and an environment with injected faults, all driven by one
// seed.

import { makeToken } from "../../../src/auth/token.ts";
import { Random } from "../../support/random.ts";
import { VirtualTime } from "../../support/virtual-time.ts";
import { Client, type ClientParts } from "./client.ts";
import type { Mutation, SimulationParts } from "./environment.ts";
import { Model } from "./model.ts";
import { SimulatedServer } from "./server.ts";
import { SqliteEnvironment } from "./sqlite-environment.ts";

export interface Result {
  readonly seed: number;
  /** Violations of the contract; empty if there are none. */
  readonly violations: readonly string[];
  /** Equal for every run of a seed. */
  readonly hash: string;
  readonly counts: Readonly<Model["counts"]>;
}

export interface SimulationOptions {
  readonly mutation?: Mutation;
  /** Called with every event, as a line. */
  readonly trace?: (line: string) => void;
}

/** Longer than the slowest client takes with all of its time-outs. */
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
  const parts: SimulationParts = { time, random, trace, mutation: options.mutation ?? {} };
  const simulation = new Simulation(parts);
  const violations = await time.until(simulation.run(), msMax).catch((error) => [`stuck: ${error.message}`]);
  return { seed, violations, hash: hash.toString(16), counts: simulation.model.counts };
}

class Simulation {
  readonly model = new Model();
  readonly #parts: SimulationParts;
  readonly #environment;
  #server: SimulatedServer;
  readonly #violations: string[] = [];
  #isOver = false;

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    this.#environment = new SqliteEnvironment(parts);
    this.#server = this.#newServer();
  }

  /** Runs to the end, and returns the violations. */
  async run(): Promise<string[]> {
    const { random, time } = this.#parts;
    const randomBytes = (count: number) => new Uint8Array(count);
    const made = makeToken({ name: "first", expiresAt: null }, { now: time.wallNow(), randomBytes });
    await this.#environment.start(() => undefined).tokens.add(made.record);
    await this.#server.start();

    const clientParts: ClientParts = {
      ...this.#parts,
      environment: this.#environment,
      model: this.model,
      token: made.token,
      server: () => this.#server,
      report: (violation) => this.#violations.push(violation),
    };
    const clients = Array.from(
      { length: 2 + random.below(12) },
      (_, index) => new Client(clientParts, `client ${index}`),
    );
    const disturbing = this.#disturb();
    await Promise.all(clients.map((client) => client.createMany(2 + random.below(10))));
    this.#isOver = true;
    await disturbing;
    await this.#end(clients);
    return this.#violations;
  }

  /**
   * Without faults every client is served, the store agrees with the model, and no request or
   * buffer is left.
   */
  async #end(clients: readonly Client[]): Promise<void> {
    const { time } = this.#parts;
    this.#environment.heal();
    // Longer than every time-out that a fault may have started.
    await time.sleep(30_000);
    if (!this.#server.isUp) await this.#restart();
    await Promise.all(clients.map((client) => client.createLast()));
    this.#violations.push(...(await this.#server.stop(10_000)));
    this.#violations.push(...this.#environment.violations, ...this.model.audit(this.#environment.durable()));
    this.#environment.close();
  }

  #newServer(): SimulatedServer {
    return new SimulatedServer(this.#environment, this.#parts);
  }

  async #restart(): Promise<void> {
    this.#server = this.#newServer();
    await this.#server.start();
  }

  /** Disturbs the server: faults, kills, restarts, clock jumps. */
  async #disturb(): Promise<void> {
    const { random, time, trace } = this.#parts;
    while (!this.#isOver) {
      await time.sleep(random.between(1, 250));
      if (!this.#server.isUp && random.chance(0.5)) await this.#restart();
      const server = this.#server;
      const event = random.below(10);
      if (event < 4) this.#environment.injectFault();
      else if (event === 4 && server.isUp) server.kill();
      else if (event === 5 && server.isUp) {
        const stopping = server
          .stop(random.chance(0.5) ? 10_000 : 1)
          .then((left) => this.#violations.push(...left));
        // A slow disk may delay the stop without limit; an operator kills the server then.
        await Promise.race([stopping, time.sleep(15_000)]);
        server.kill();
      } else if (event === 6) {
        time.wallAheadMs += random.between(-100_000, 100_000);
        trace(`clock: ${time.wallAheadMs.toFixed(3)}`);
      }
    }
  }
}
