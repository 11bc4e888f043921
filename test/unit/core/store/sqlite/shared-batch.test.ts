// Batches in shared memory: whatever a plant holds comes back as it was, and so do the outcomes.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { NewPlant } from "../../../../../src/core/contract/plant.ts";
import type { Outcome } from "../../../../../src/core/store/plant-store.ts";
import {
  BatchMemory,
  BatchReceiver,
  BatchSender,
} from "../../../../../src/core/store/sqlite/shared-batch.ts";
import { anyNewPlant } from "../../../../support/any-new-plant.ts";

const outcomes = ["created", "conflict", "unchanged", "unavailable"] as const;
const fourPlants = plantsFrom(1n);

function plantsFrom(first: bigint): NewPlant[] {
  return [0n, 1n, 2n, 3n].map((offset) => ({ id: first + offset, name: `Monstera ${first + offset}` }));
}

function neverFails(failure: string): Error {
  throw new Error(`the batch failed: ${failure}`);
}

/** A sender and the receiver in its memory; `commit` is what the committing thread does with a batch. */
function connected() {
  const sender = new BatchSender();
  const receiver = new BatchReceiver(sender.memory);
  const commit = (results: readonly Outcome[] = outcomes) => {
    expect(receiver.wait(0)).toBe("batch");
    const plants = receiver.batch.readBatch();
    receiver.batch.writeOutcomes(results);
    receiver.finish();
    return plants;
  };
  return { sender, receiver, commit };
}

test("a batch comes back as it was, absent and empty tags apart", () => {
  const shared = new SharedArrayBuffer(8 * 2 ** 20);
  const [writer, reader] = [new BatchMemory(shared, 64), new BatchMemory(shared, 64)];
  fc.assert(
    fc.property(fc.array(anyNewPlant, { maxLength: 20 }), (batch: NewPlant[]) => {
      writer.writeBatch(batch);
      expect(reader.readBatch()).toEqual(batch);
    }),
  );
});

test("the names of tokens come back beside the plants, and a batch without them has none", () => {
  const shared = new SharedArrayBuffer(8 * 2 ** 20);
  const [writer, reader] = [new BatchMemory(shared, 64), new BatchMemory(shared, 64)];
  const anyToken = fc.oneof(fc.constantFrom("ci", "", "\u{1f331}"), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(fc.array(fc.tuple(anyNewPlant, anyToken), { maxLength: 20 }), (pairs) => {
      const [batch, tokens] = [pairs.map(([plant]) => plant), pairs.map(([, token]) => token)];
      writer.writeBatch(batch, tokens);
      expect(reader.readBatch()).toEqual(batch);
      expect(reader.readTokens()).toEqual(tokens);
      writer.writeBatch(batch);
      expect(reader.readTokens()).toBeUndefined();
    }),
  );
});

test("a batch is accepted if its names and tags fit, however many bytes their characters take", () => {
  const memory = new BatchMemory();
  const name = "€".repeat(1_300);
  const batch = Array.from({ length: 1_024 }, (_, index) => ({ id: BigInt(index), name }));
  expect(memory.accepts(batch)).toBe(true);
  memory.writeBatch(batch);
  expect(memory.readBatch()).toEqual(batch);
  expect(memory.accepts([...batch, { id: -1n, name: "x" }])).toBe(false);
  expect(memory.accepts([{ id: 1n, name: "x".repeat(2 ** 21) }])).toBe(false);
  expect(memory.accepts([{ id: 1n, name: "x", tag: "x".repeat(2 ** 21) }])).toBe(false);
});

test("two batches are sent at a time, committed in their order, and each resolves with its own outcomes", async () => {
  const { sender, commit } = connected();
  for (let first = 1n; first < 40n; first += 8n) {
    const [one, other] = [plantsFrom(first), plantsFrom(first + 4n)];
    expect(sender.accepts(one)).toBe(true);
    const sent = sender.send(one, undefined, neverFails);
    expect(sender.accepts(other)).toBe(true);
    const next = sender.send(other, undefined, neverFails);
    expect(sender.accepts(one)).toBe(false);
    expect(commit()).toEqual(one);
    expect(sender.accepts(one)).toBe(true);
    expect(await sent).toEqual([...outcomes]);
    expect(commit(outcomes.toReversed())).toEqual(other);
    expect(await next).toEqual(outcomes.toReversed());
  }
});

test("a batch that fails rejects with the error of its text, and the next one is committed", async () => {
  const { sender, receiver, commit } = connected();
  const failed = sender
    .send(fourPlants, undefined, (failure) => new Error(failure))
    .catch((error) => error.message);
  const sent = sender.send(fourPlants, undefined, neverFails);
  receiver.batch.writeFailure("the disk is gone: ü");
  receiver.finish();
  expect(await failed).toBe("the disk is gone: ü");
  commit();
  expect(await sent).toEqual([...outcomes]);
});

test("fewer outcomes than plants are an error, not those of an earlier batch", () => {
  const memory = new BatchMemory();
  memory.writeBatch(fourPlants);
  memory.writeOutcomes(outcomes);
  memory.writeBatch(fourPlants);
  expect(() => memory.writeOutcomes(outcomes.slice(1))).toThrow("3 outcomes for 4 plants");
});

test("batches that are with a thread which fails reject, and so does every later one", async () => {
  const { sender } = connected();
  const sent = [
    sender.send(fourPlants, undefined, neverFails),
    sender.send(fourPlants, undefined, neverFails),
  ];
  const messages: Promise<string>[] = sent.map((batch) => batch.then(String, (error) => error.message));
  sender.fail(new Error("the thread has ended"));
  messages.push(sender.send(fourPlants, undefined, neverFails).then(String, (error) => error.message));
  expect(await Promise.all(messages)).toEqual(Array<string>(3).fill("the thread has ended"));
});

test("a message wakes the receiver once, and before a batch", () => {
  const { sender, receiver } = connected();
  void sender.send(fourPlants, undefined, neverFails);
  sender.announceMessage();
  expect(receiver.wait(0)).toBe("message");
  expect(receiver.wait(1)).toBe("batch");
});
