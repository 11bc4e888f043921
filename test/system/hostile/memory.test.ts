// All hostile requests and 200 MB of rejected bodies on one server: memory stays bounded, and descriptors are released.

import { expect, test } from "bun:test";
import { badBodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { heads } from "./heads.ts";
import { create, type HostileRequest } from "./hostile-request.ts";
import { HostileSession, residentBytesMax } from "./hostile-session.ts";

const everything = [...framing, ...heads, ...badBodies];

const megabyte = `{"id":$ID,"name":"${"x".repeat(1_000_000)}`;
/** 200 MB that are read and rejected, with Content-Length and in chunks: the server's memory would show a part of them. */
const masses: HostileRequest[] = Array.from({ length: 100 }, () => [
  create(
    "a megabyte that ends too soon",
    { body: megabyte, framing: "Content-Length: 1000021" },
    "invalidJson",
  ),
  create(
    "a megabyte in a chunk that ends too soon",
    {
      framing: "Transfer-Encoding: chunked",
      body: `${(1_000_021).toString(16)}\r\n${megabyte}\r\n0\r\n\r\n`,
    },
    "invalidJson",
  ),
]).flat();

test("neither requests nor bodies are held after their response, nor descriptors after their connection", async () => {
  await using session = await HostileSession.start();
  const before = await session.footprint();
  // Ends when no byte of a body is reserved, and no plant is queued.
  expect(await session.hostile.unexpected([...everything, ...masses])).toEqual([]);
  expect((await session.footprint()).residentBytes).toBeLessThan(residentBytesMax);
  await session.descriptorsAreBackTo(before);
  expect(await session.faults()).toEqual([]);
}, 120_000);
