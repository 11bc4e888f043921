// A program: sends creates by a schedule, whether or not answers keep up, or in a closed loop. Prints its report as a
// line of JSON. Fails if anything but 200 and 503 is answered, or a connection ends.
//
// A request that is due while every connection is busy is dropped and counted: that is how an open loop stays open
// without a connection for each request. Latency counts from the schedule as well, so that a generator that lags
// behind does not flatter the server (coordinated omission).

import { Connection } from "./connection.ts";
import { CreateRequest } from "./create-request.ts";
import { GeneratedFigures } from "./generated-figures.ts";
import type { GeneratorPlan } from "./generated-load.ts";

/** How often the schedule is looked at. */
const tickMs = 1;

/** More at a time would not fit into the backlog of a listener. */
const openedAtOnce = 100;

/** For answers that are on their way when the schedule ends. */
const drainMsMax = 20_000;

const now = () => performance.now();

class Generator {
  readonly #plan: GeneratorPlan;
  readonly #connections: readonly Connection[];
  readonly #idle: Connection[];
  readonly #request: CreateRequest;
  readonly #figures: GeneratedFigures;
  readonly #startedAt = now();
  readonly #endsAt: number;
  /** Requests that were due so far. */
  #due = 0;

  constructor(plan: GeneratorPlan, connections: readonly Connection[]) {
    this.#plan = plan;
    this.#connections = connections;
    this.#idle = [...connections];
    this.#request = new CreateRequest(plan.url, plan.token);
    this.#figures = new GeneratedFigures(plan, this.#startedAt);
    this.#endsAt = this.#startedAt + (plan.leadInSeconds + plan.seconds) * 1_000;
  }

  /** Runs the plan, and waits for all answers. */
  async run(): Promise<GeneratedFigures> {
    const { ratePerSecond } = this.#plan;
    if (ratePerSecond === "closed loop") {
      await Promise.all(this.#connections.map((connection) => this.#createOneByOne(connection)));
      return this.#figures;
    }
    for (let moment = now(); moment < this.#endsAt; moment = now()) {
      this.#sendWhatIsDue(moment, ratePerSecond / 1_000);
      await Bun.sleep(tickMs);
    }
    while (this.#idle.length < this.#connections.length) {
      if (now() > this.#endsAt + drainMsMax) throw new Error("not every create was answered");
      await Bun.sleep(tickMs);
    }
    return this.#figures;
  }

  async #createOneByOne(connection: Connection): Promise<void> {
    for (let moment = now(); moment < this.#endsAt; moment = now()) {
      this.#figures.scheduled(moment);
      await this.#create(connection, moment, moment);
    }
  }

  #sendWhatIsDue(moment: number, perMs: number): void {
    for (; this.#due < (moment - this.#startedAt) * perMs; this.#due++) {
      const scheduledAt = this.#startedAt + this.#due / perMs;
      this.#figures.scheduled(scheduledAt);
      const connection = this.#idle.pop();
      if (connection !== undefined)
        this.#create(connection, scheduledAt, moment).then(() => this.#idle.push(connection), fail);
    }
  }

  async #create(connection: Connection, scheduledAt: number, moment: number): Promise<void> {
    const sent = this.#figures.sent(scheduledAt, moment);
    const status = await connection.send(this.#request.of(this.#plan.firstId + sent.index));
    if (status !== 200 && status !== 503) throw new Error(`a create was answered ${status}`);
    this.#figures.answered(sent, status === 200 ? "accepted" : "refused", now());
  }
}

function fail(error: Error): never {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

async function openAll({ url, connections }: GeneratorPlan): Promise<Connection[]> {
  const opened: Connection[] = [];
  while (opened.length < connections) {
    const count = Math.min(openedAtOnce, connections - opened.length);
    opened.push(...(await Promise.all(Array.from({ length: count }, () => Connection.open(url)))));
  }
  return opened;
}

async function run(plan: GeneratorPlan): Promise<void> {
  const generator = new Generator(plan, await openAll(plan));
  const startedAt = now();
  const figures = await generator.run();
  const seconds = (now() - startedAt) / 1_000;
  await Bun.write(plan.fatesFile, figures.fates);
  process.stdout.write(`${JSON.stringify(figures.report(seconds))}\n`);
}

await run(JSON.parse(process.argv[2] ?? "") as GeneratorPlan).catch(fail);
process.exit();
