// npm run soak -- --minutes N: a server under good and hostile clients, undisturbed for half of the
// time, and then stopped and killed in turn. Prints its memory and descriptors twenty times. The
// store is audited last; the exit code is 1 if there was a fault.

import { parseArgs } from "node:util";
import { Load } from "../../support/load.ts";
import { reservePort } from "../../support/ports.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { HostileClient } from "../../system/hostile/hostile-client.ts";
import { badBodies, framing, heads } from "../../system/hostile/requests.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "60" } } });
const minutes = Number(values.minutes);
const looks = 20;

/** While a server is down, or stops, any request may come to these. */
const hostileRequests = [...framing, ...heads, ...badBodies].map((request) => ({
  ...request,
  allowed: [...request.allowed, "destroySockets", "unavailable"] as const,
}));

using folder = new TemporaryFolder();
const args = ["--port", String(reservePort())];
const start = () => RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args });
let server = await start();
const target = await server.target();
const load = new Load();
const hostile = new HostileClient(target, load);
const faults: string[] = [];
let isOver = false;

/** Sends all hostile requests, again and again. */
async function attack(): Promise<void> {
  while (!isOver) {
    for (const request of hostileRequests) {
      // A connection is refused while the server is down.
      faults.push(...(await hostile.unexpected([request], 1).catch(() => [])));
      await Bun.sleep(100);
    }
  }
}

load.start([target], 4, 40);
const attacking = attack();
for (let look = 1; look <= looks; look++) {
  await Bun.sleep((minutes * 60_000) / looks);
  const megabytes = Math.round((await server.metric("process_resident_memory_bytes")) / 1e6);
  const descriptors = await server.metric("process_open_fds");
  process.stdout.write(`${look} of ${looks}: ${megabytes} MB, ${descriptors} descriptors\n`);
  if (look < looks / 2) continue;
  if (look === looks) {
    isOver = true;
    await Promise.all([load.stop(), attacking]);
  }
  const signal = look % 2 === 0 ? "SIGKILL" : "SIGTERM";
  const { exitCode, stderr } = await server.stop(signal);
  if (signal === "SIGTERM" && exitCode !== 0) faults.push(`SIGTERM: exit code ${exitCode}`);
  faults.push(...stderr.split("\n").filter((line) => line.includes('"level":"error"')));
  server = await start();
}
faults.push(...load.audit((await server.command("export")).stdout));
await server.stop();
for (const status of load.statuses.keys())
  if (status !== 200 && status !== 503) faults.push(`a good create was answered ${status}`);
process.stdout.write(`${load.acknowledged.size} plants acknowledged, ${faults.length} faults\n`);
for (const fault of faults.slice(0, 20)) process.stdout.write(`  ${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
