// One server of a soak: its store, its good and hostile clients, and its measurements.

import { newPlantJson } from "../../../src/core/contract/plant.ts";
import { plantJson, post, type Target } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { reservePort } from "../../support/ports.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { badBodies } from "../../system/hostile/bodies.ts";
import { framing } from "../../system/hostile/framing.ts";
import { heads } from "../../system/hostile/heads.ts";
import { HostileClient } from "../../system/hostile/hostile-client.ts";
import type { HostileRequest } from "../../system/hostile/hostile-request.ts";

const goodConnections = 4;
const hostileAtOnce = 4;
/** Two hostile requests for five creates. */
const hostileShare = 0.4;
const probePauseMs = 100;

/** While a server is down, or stops, any request may come to these. */
const rows: readonly HostileRequest[] = [...framing, ...heads, ...badBodies].map((row) => ({
  ...row,
  allowed: [...row.allowed, "destroySockets", "unavailable"],
}));

export interface Vitals {
  readonly residentBytes: number;
  readonly descriptors: number;
  /** Of the creates since the last look, in milliseconds. */
  readonly latenciesMs: readonly number[];
}

export class SoakServer {
  readonly load = new Load();
  readonly faults: string[] = [];
  restarts = 0;
  hostileRequests = 0;
  readonly #folder: TemporaryFolder;
  readonly #port: number;
  readonly #target: Target;
  readonly #hostile: HostileClient;
  #server: RunningServer;
  #latenciesMs: number[] = [];
  #isStopped = false;
  #clients: Promise<unknown> = Promise.resolve();

  private constructor(folder: TemporaryFolder, port: number, server: RunningServer, token: string) {
    this.#folder = folder;
    this.#port = port;
    this.#server = server;
    this.#target = { url: server.url, token };
    this.#hostile = new HostileClient(this.#target, this.load);
  }

  /**
   * @param rate creates a second of the good clients, at most: the next one waits for an answer,
   * and then a while.
   */
  static async start(rate: number): Promise<SoakServer> {
    const folder = new TemporaryFolder();
    const port = reservePort();
    const server = await serve(folder, port);
    const soak = new SoakServer(folder, port, server, await server.createToken());
    soak.#clients = Promise.all([
      soak.load.untilStopped([soak.#target], goodConnections, (1000 * goodConnections) / rate),
      soak.#attack((1000 * hostileAtOnce) / (rate * hostileShare)),
      soak.#probe(),
    ]);
    return soak;
  }

  /** Ends the server and starts it again on the same store and port. */
  async restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { exitCode, stderr } = await this.#server.stop(signal);
    if (signal === "SIGTERM" && exitCode !== 0) this.faults.push(`SIGTERM: exit code ${exitCode}`);
    this.faults.push(...errorsIn(stderr));
    this.#server = await serve(this.#folder, this.#port);
    this.restarts++;
  }

  async vitals(): Promise<Vitals> {
    const [residentBytes, descriptors] = await Promise.all([
      this.#server.metric("process_resident_memory_bytes"),
      this.#server.metric("process_open_fds"),
    ]);
    const latenciesMs = this.#latenciesMs;
    this.#latenciesMs = [];
    return { residentBytes, descriptors, latenciesMs };
  }

  /** Ends all clients and the server, and compares the store with what was acknowledged. */
  async audit(): Promise<void> {
    this.#isStopped = true;
    this.load.stop();
    await this.#clients;
    const { stdout } = await this.#server.command("export");
    const { exitCode, stderr } = await this.#server.stop();
    if (exitCode !== 0) this.faults.push(`exit code ${exitCode}`);
    this.faults.push(...errorsIn(stderr), ...this.load.audit(stdout));
    const unexpected = [...this.load.statuses].filter(([status]) => status !== 200 && status !== 503);
    this.faults.push(...unexpected.map(([status, count]) => `${count} good creates were answered ${status}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.load.stop();
    await this.#server[Symbol.asyncDispose]();
    await this.#clients;
    this.#folder[Symbol.dispose]();
  }

  /** All hostile requests, again and again. */
  async #attack(backoffMs: number): Promise<void> {
    while (!this.#isStopped) {
      try {
        for (let at = 0; at < rows.length && !this.#isStopped; at += hostileAtOnce) {
          const some = rows.slice(at, at + hostileAtOnce);
          this.faults.push(...(await this.#hostile.unexpected(some, hostileAtOnce)));
          this.hostileRequests += some.length;
          await Bun.sleep(backoffMs);
        }
      } catch (error) {
        // The server is down for a moment.
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
        await Bun.sleep(probePauseMs);
      }
    }
  }

  /** One create after the other, each timed as its client sees it. */
  async #probe(): Promise<void> {
    for (let id = -1n; !this.#isStopped; id--) {
      const plant = { id, name: "probe" };
      this.load.sent.set(id, newPlantJson(plant));
      const start = performance.now();
      try {
        const { status } = await post(this.#target, plantJson(id, plant.name));
        this.#latenciesMs.push(performance.now() - start);
        if (status === 200) this.load.acknowledged.add(id);
      } catch (error) {
        this.load.unanswered.push(error);
      }
      await Bun.sleep(probePauseMs);
    }
  }
}

function serve(folder: TemporaryFolder, port: number): Promise<RunningServer> {
  return RunningServer.start({
    database: `sqlite:${folder.file("plants.db")}`,
    args: ["--port", String(port)],
  });
}

function errorsIn(stderr: string): string[] {
  return stderr.split("\n").filter((line) => line.includes('"level":"error"'));
}
