// A server under hostile requests, with a well-behaved client whose requests must all succeed.

import { eventually } from "../../support/eventually.ts";
import type { Target } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { Output } from "../../support/output.ts";
import { createHead, RawConnection } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";
import type { Attack } from "./attacker.ts";
import { HostileClient } from "./hostile-client.ts";

/**
 * `npm run hostile` sends every exchange; a run of all tests sends a part of those that are alike.
 */
export const sendsAll = process.env.PLANTSTORE_TEST_EXCHANGES === "all";

// Bun raises its own limit to the hard one.
const hardLimit = Number((await Bun.$`sh -c "ulimit -Hn"`.text()).trim().replace("unlimited", "Infinity"));
/** The number of descriptors that a process needs for other purposes. */
const descriptorsBeside = 500;

/** The number of idle connections that a test opens. */
export const idleCount = Math.min(sendsAll ? 10_000 : 2_000, hardLimit - descriptorsBeside);

interface Footprint {
  readonly residentBytes: number;
  readonly descriptors: number;
}

/**
 * Opens connections of which half have received a response, and the others never send anything.
 */
export async function openIdle(url: string, count: number): Promise<RawConnection[]> {
  const idle: RawConnection[] = [];
  while (idle.length < count) {
    const more = await Promise.all(
      Array.from({ length: Math.min(250, count - idle.length) }, () => RawConnection.open(url)),
    );
    const answered = more.slice(0, more.length / 2);
    for (const connection of answered) connection.write(createHead({ token: "x" }, "Content-Length: 0"));
    await Promise.all(
      answered.map((each) => each.until((text) => (text.includes("40101") ? true : undefined))),
    );
    idle.push(...more);
  }
  return idle;
}

/** Exceeds the server's memory under any hostile requests, which is 75 to 150 MiB. */
export const residentBytesMax = 192 * 2 ** 20;
/** What docs/reliability.md promises. */
export const residentBytesMoreMax = 128 * 2 ** 20;

/** Allows for connections of the well-behaved client and of this one, which come and go. */
const descriptorsSlack = 10;

const wellBehavedConnections = 2;
/**
 * The pause between creates of the well-behaved client, so that it does not saturate the machine.
 */
const backoffMs = 20;

/** Starts an attack, and waits until each connection was opened once. Killed out of scope. */
export async function startAttack(attack: Attack): Promise<AsyncDisposable> {
  const program = new URL("attacker.ts", import.meta.url).pathname;
  const attacker = Bun.spawn([process.execPath, program, JSON.stringify(attack)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Output(attacker.stdout).until((text) => (text === "" ? undefined : text));
  return {
    async [Symbol.asyncDispose]() {
      attacker.kill();
      await attacker.exited;
    },
  };
}

export class HostileSession {
  readonly server: RunningServer;
  readonly target: Target;
  /** The well-behaved client. It also records the plants of the hostile one, for the audit. */
  readonly load = new Load();
  readonly hostile: HostileClient;

  private constructor(server: RunningServer, target: Target) {
    this.server = server;
    this.target = target;
    this.hostile = new HostileClient(target, this.load);
    this.load.start([target], wellBehavedConnections, backoffMs);
  }

  /** @param under a command that executes the server in its own process. */
  static async start(args: readonly string[] = [], under: readonly string[] = []): Promise<HostileSession> {
    const server = await RunningServer.start({ args, under });
    return new HostileSession(server, await server.target());
  }

  /** The resident memory and the descriptors of the server. */
  async footprint(): Promise<Footprint> {
    const [residentBytes, descriptors] = await Promise.all([
      this.server.metric("process_resident_memory_bytes"),
      this.server.metric("process_open_fds"),
    ]);
    return { residentBytes, descriptors };
  }

  /**
   * Resolves when the server has closed the descriptors of the hostile connections, which end a
   * moment after their client.
   */
  async descriptorsAreBackTo(before: Footprint): Promise<void> {
    await eventually(
      "the descriptors are closed",
      () => this.footprint(),
      ({ descriptors }) => descriptors <= before.descriptors + descriptorsSlack,
    );
  }

  /** Resolves when no byte of a body is reserved, and no plant is queued. */
  async holdsNothing(): Promise<void> {
    for (const name of ["plantstore_body_bytes", "plantstore_queue_plants"])
      await eventually(
        `${name} is 0`,
        () => this.server.metric(name),
        (value) => value === 0,
      );
  }

  /**
   * Stops the well-behaved client and the server. Returns the errors of both, and those of the
   * stored plants.
   */
  async faults(): Promise<string[]> {
    await this.load.stop();
    const { statuses, unanswered } = this.load;
    const exported = await this.server.command("export");
    const { exitCode, stderr } = await this.server.stop();
    return [
      ...[...statuses]
        .filter(([status]) => status !== 200)
        .map(([status, count]) => `${count} times ${status}`),
      ...unanswered.map((error) => `unanswered: ${error}`),
      ...this.load.audit(exported.stdout),
      ...(exitCode === 0 ? [] : [`exit code ${exitCode}: ${stderr.slice(-2_000)}`]),
      ...stderr.split("\n").filter((line) => line.includes('"level":"error"')),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.load.stop();
    await this.server[Symbol.asyncDispose]();
    await stopped;
  }
}
