// Rounds of hostile requests: memory and descriptors return to their level after the first round.

import { expect, test } from "bun:test";
import { badBodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { heads } from "./heads.ts";
import { create, type HostileRequest } from "./hostile-request.ts";
import { HostileSession } from "./hostile-session.ts";

const everything = [...framing, ...heads, ...badBodies];

/** 300 MB that are read and rejected, with Content-Length and in chunks. A heap's free pages come and go by 100 MB. */
const forcedExit = `{"id":$ID,"name":"${"x".repeat(1_000_000)}`;
const masses: HostileRequest[] = Array.from({ length: 150 }, () => [
  create(
    "a megabyte that ends too soon",
    { body: forcedExit, framing: "Content-Length: 1000021" },
    "invalidJson",
  ),
  create(
    "a megabyte in a chunk that ends too soon",
    {
      framing: "Transfer-Encoding: chunked",
      body: `${(1_000_021).toString(16)}\r\n${forcedExit}\r\n0\r\n\r\n`,
    },
    "invalidJson",
  ),
]).flat();

test("memory and descriptors are released", async () => {
  await using session = await HostileSession.start();
  const found = await session.hostile.unexpected([...everything, ...everything, ...masses.slice(0, 50)]);
  const before = await session.footprint();
  found.push(...(await session.hostile.unexpected([...everything, ...masses, ...everything, ...masses])));
  await session.isBackTo(before);
  expect(found).toEqual([]);
  expect(await session.faults()).toEqual([]);
}, 120_000);
