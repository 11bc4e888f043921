// The bytes of a connection that are not in the log yet: their limits, and taking messages from
// their front.

import { expect, test } from "bun:test";
import { KeptBytes, messageBytesMax } from "../../../src/sandbox/kept-bytes.ts";

const message = (bytes: Buffer) => ({ bytes, length: bytes.length });

test("a message is stored up to a limit, and all of its bytes are counted", () => {
  const budget = { used: 0 };
  const stored = new KeptBytes(budget);
  for (const byte of "abc") stored.append(Buffer.from(byte));
  expect(stored.length).toBe(3);
  expect(stored.take()).toEqual(message(Buffer.from("abc")));
  expect(budget.used).toBe(0);

  const long = new KeptBytes(budget);
  const chunk = Buffer.alloc(1_000_000, "x");
  for (let count = 0; count < 6; count++) long.append(chunk);
  const { bytes, length } = long.take();
  expect([bytes.length, length]).toEqual([messageBytesMax, 6_000_000]);
  expect(budget.used).toBe(0);
});

test("past the memory for messages in flight the start of a message is stored, without a gap", () => {
  const budget = { used: 0 };
  const chunk = Buffer.alloc(messageBytesMax, "x");
  const full = Array.from({ length: 16 }, () => new KeptBytes(budget));
  for (const each of full) each.append(chunk);
  const late = new KeptBytes(budget);
  late.append(Buffer.from("a"));
  full[0]?.take();
  late.append(Buffer.from("b"));
  expect(late.take()).toEqual({ bytes: Buffer.alloc(0), length: 2 });
  const next = new KeptBytes(budget);
  next.append(Buffer.from("a"));
  expect(next.take().bytes.toString()).toBe("a");
  for (const each of full.slice(1)) each.take();
  expect(budget.used).toBe(0);
});

test("messages are taken one after another, also where the last one is cut", () => {
  const budget = { used: 0 };
  const kept = new KeptBytes(budget);
  kept.append(Buffer.from("onetwo"));
  expect(kept.take(3)).toEqual(message(Buffer.from("one")));
  kept.append(Buffer.alloc(messageBytesMax, "x"));
  expect([kept.length, kept.stored.length]).toEqual([messageBytesMax + 3, messageBytesMax]);
  expect(kept.take(3)).toEqual(message(Buffer.from("two")));
  // Bytes behind the gap are counted.
  kept.append(Buffer.from("y"));
  const { bytes, length } = kept.take();
  expect([bytes.length, length]).toEqual([messageBytesMax - 3, messageBytesMax + 1]);
  expect(budget.used).toBe(0);
});
