// One server of a soak: its store, its good and hostile clients, and its measurements.

import { newPlantJson } from "../../../src/core/contract/plant.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { reservePort } from "../../support/ports.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { HostileClient } from "../../system/hostile/hostile-client.ts";
import { badBodies, framing, type HostileRequest, heads } from "../../system/hostile/requests.ts";

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

/**
 * Starts a server and its clients.
 *
 * @param rate creates a second of the good clients, at most: the next one waits for an answer, and
 * then a while.
 */
export async function startSoakServer(rate: number) {
  const folder = new TemporaryFolder();
  const port = reservePort();
  let server = await serve(folder, port);
  const target = await server.target();
  const load = new Load();
  const hostile = new HostileClient(target, load);
  const faults: string[] = [];
  const counts = { restarts: 0, hostileRequests: 0 };
  let latenciesMs: number[] = [];
  let isStopped = false;

  /** Sends all hostile requests, again and again. */
  async function attack(backoffMs: number): Promise<void> {
    while (!isStopped) {
      try {
        for (let at = 0; at < rows.length && !isStopped; at += hostileAtOnce) {
          const some = rows.slice(at, at + hostileAtOnce);
          faults.push(...(await hostile.unexpected(some, hostileAtOnce)));
          counts.hostileRequests += some.length;
          await Bun.sleep(backoffMs);
        }
      } catch (error) {
        // The server is down for a moment.
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
        await Bun.sleep(probePauseMs);
      }
    }
  }

  /** Creates one plant after the other, each timed as its client sees it. */
  async function probe(): Promise<void> {
    for (let id = -1n; !isStopped; id--) {
      const plant = { id, name: "probe" };
      load.sent.set(id, newPlantJson(plant));
      const start = performance.now();
      try {
        const { status } = await post(target, plantJson(id, plant.name));
        latenciesMs.push(performance.now() - start);
        if (status === 200) load.acknowledged.add(id);
      } catch (error) {
        load.unanswered.push(error);
      }
      await Bun.sleep(probePauseMs);
    }
  }

  load.start([target], goodConnections, (1000 * goodConnections) / rate);
  const clients = Promise.all([attack((1000 * hostileAtOnce) / (rate * hostileShare)), probe()]);
  return {
    load,
    faults,
    counts,

    /** Ends the server and starts it again on the same store and port. */
    async restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
      const { exitCode, stderr } = await server.stop(signal);
      if (signal === "SIGTERM" && exitCode !== 0) faults.push(`SIGTERM: exit code ${exitCode}`);
      faults.push(...errorsIn(stderr));
      server = await serve(folder, port);
      counts.restarts++;
    },

    async vitals(): Promise<Vitals> {
      const [residentBytes, descriptors] = await Promise.all([
        server.metric("process_resident_memory_bytes"),
        server.metric("process_open_fds"),
      ]);
      const vitals = { residentBytes, descriptors, latenciesMs };
      latenciesMs = [];
      return vitals;
    },

    /** Ends all clients and the server, and compares the store with what was acknowledged. */
    async audit(): Promise<void> {
      isStopped = true;
      await load.stop();
      await clients;
      const { stdout } = await server.command("export");
      const { exitCode, stderr } = await server.stop();
      if (exitCode !== 0) faults.push(`exit code ${exitCode}`);
      faults.push(...errorsIn(stderr), ...load.audit(stdout));
      const unexpected = [...load.statuses].filter(([status]) => status !== 200 && status !== 503);
      faults.push(...unexpected.map(([status, count]) => `${count} good creates were answered ${status}`));
    },

    async [Symbol.asyncDispose](): Promise<void> {
      isStopped = true;
      const stopped = load.stop();
      await server[Symbol.asyncDispose]();
      await stopped;
      await clients;
      folder[Symbol.dispose]();
    },
  };
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
