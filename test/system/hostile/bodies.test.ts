// Bodies that arrive slowly over thousands of connections of one token: the server lives, others
// create, and the peak of memory is bounded.

import { expect, test } from "bun:test";
import type { Attack } from "./attacker.ts";
import { HostileSession, residentBytesMoreMax, sendsAll, startAttack } from "./hostile-session.ts";
import { peakBytes } from "./peak-bytes.ts";

const connections = sendsAll ? 3_000 : 400;
/** Enough for the time-outs of bodies, and for clients that connect again. */
const attackMs = sendsAll ? 15_000 : 5_000;

test.each<[string, bodyBytes: number, headers: Record<string, string>]>([
  ["a megabyte with its length", 1_000_000, {}],
  ["a megabyte in chunks", 1_000_000, { "Transfer-Encoding": "chunked" }],
  // All are read, and time out together.
  ["15,000 bytes with their length", 15_000, {}],
])("%s that never ends", async (name, bodyBytes, headers) => {
  await using session = await HostileSession.start(["--arrival-seconds-max", "3"]);
  const { url, token } = { ...session.target, token: await session.server.createToken() };
  const authorized = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers };
  const request = { url, method: "POST", path: "/plants", headers: authorized, body: "" };
  const attack: Attack = { requests: [request], behaviour: "sends in pieces", connections, bodyBytes };
  const before = peakBytes(session.server.pid);
  {
    await using _ = await startAttack(attack);
    await Bun.sleep(attackMs);
    await session.load.acknowledgedMore(20);
  }
  const more = peakBytes(session.server.pid) - before;
  process.stdout.write(`${connections} bodies of ${name}: ${Math.round(more / 2 ** 20)} MiB more\n`);
  expect(more).toBeLessThan(residentBytesMoreMax);
  await session.holdsNothing();
  // A create that met a full listen queue was not answered.
  session.load.unanswered.splice(0);
  expect(await session.faults()).toEqual([]);
});
