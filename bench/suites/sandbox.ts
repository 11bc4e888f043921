// The suite "sandbox": how fast a sandbox starts, and how fast it is reset.

import { reservePort } from "../../test/support/ports.ts";
import { ServerProcess } from "../processes.ts";
import { createPlant, type HttpSubject, untilCreates } from "../subjects/http.ts";
import type { Plantstore, Run, Scenario, Setup, Suite } from "../suite.ts";

export const sandboxSuite: Suite = {
  name: "sandbox",
  title: "Sandbox",
  summary:
    "From exec to the first create that is answered with 200, by a client that tries again every millisecond; and a reset by HTTP of a sandbox with many plants, which have been created by HTTP.",
  programs: {},
  defaults: { rounds: 15, seconds: 1, plants: 100_000 },
  setUp: sandboxes,
};

const elapsed = "ms elapsed";

/** Creates that are in flight at the same time. */
const inFlight = 64;

interface SandboxSubject extends HttpSubject {
  readonly version: Plantstore;
  /** The base URL of control, such as http://127.0.0.1:8081/sandbox. */
  readonly controlUrl: string;
  /** The plants that it had before all resets together. */
  rows: number;
}

async function sandboxes(setup: Setup): Promise<Scenario<SandboxSubject>> {
  const subjects: SandboxSubject[] = [];
  for (const version of setup.versions) subjects.push(await startSandbox(setup, version));
  const [subject = ""] = subjects.map(({ name }) => name);
  const start = "start";
  const reset = `reset after ${setup.plants.toLocaleString("en")} creates`;
  return {
    name: "Sandbox",
    subjects,
    loads: [
      { name: start, warmsUp: true, run: startAnother },
      {
        name: reset,
        rounds: 5,
        run: (sandbox, { firstId }) => resetAfterCreates(sandbox, firstId, setup.plants),
      },
    ],
    metrics: [elapsed],
    claims: [{ subject, metric: elapsed, thresholds: { [start]: { atMost: 150 }, [reset]: { atMost: 10 } } }],
  };
}

async function startSandbox({ stack }: Setup, version: Plantstore): Promise<SandboxSubject> {
  const [port, adminPort] = [reservePort(), reservePort()];
  stack.use(new ServerProcess(sandboxCommand(version, port, adminPort)));
  const name = `sandbox${version.suffix}`;
  const target = { name, token: "sandbox", url: `http://127.0.0.1:${port}` };
  await untilCreates(target, 1);
  const controlUrl = `http://127.0.0.1:${adminPort}/sandbox`;
  const sandbox = { ...target, version, controlUrl, rows: 0, countRows: () => sandbox.rows };
  return sandbox;
}

function sandboxCommand({ command }: Plantstore, port: number, adminPort: number): string[] {
  return [command, "sandbox", "--port", String(port), "--admin-port", String(adminPort)];
}

async function startAnother({ name, token, version }: SandboxSubject): Promise<Run> {
  const port = reservePort();
  const start = performance.now();
  await using _ = new ServerProcess(sandboxCommand(version, port, 0));
  await untilCreates({ name, token, url: `http://127.0.0.1:${port}` }, 1, 1);
  return { figures: { [elapsed]: performance.now() - start } };
}

async function resetAfterCreates(sandbox: SandboxSubject, firstId: number, plants: number): Promise<Run> {
  let created = 0;
  const createMany = async () => {
    while (created < plants) await createPlant(sandbox, firstId + created++);
  };
  await Promise.all(Array.from({ length: inFlight }, createMany));
  sandbox.rows += await countPlants(sandbox);
  const start = performance.now();
  const response = await fetch(`${sandbox.controlUrl}/reset`, { method: "POST" });
  const ms = performance.now() - start;
  if (response.status !== 204 || (await countPlants(sandbox)) !== 0)
    throw new Error("the sandbox was not reset");
  return { figures: { [elapsed]: ms }, acknowledged: plants };
}

async function countPlants({ controlUrl }: SandboxSubject): Promise<number> {
  const { plants } = (await (await fetch(controlUrl)).json()) as { plants: number };
  return plants;
}
