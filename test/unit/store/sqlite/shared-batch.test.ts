// A batch in shared memory: whatever a plant holds comes back as it was, and so do the outcomes.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { NewPlant } from "../../../../src/contract/plant.ts";
import { BatchMemory, BatchReceiver, BatchSender } from "../../../../src/store/sqlite/shared-batch.ts";
import { anyNewPlant } from "../../../support/any-new-plant.ts";

const outcomes = ["created", "conflict", "unchanged", "unavailable"] as const;
const fourPlants = [1n, 2n, 3n, 4n].map((id) => ({ id, name: `Monstera ${id}` }));

function neverFails(failure: string): Error {
  throw new Error(`the batch failed: ${failure}`);
}

test("a batch comes back as it was, absent and empty tags apart", () => {
  const memory = new BatchMemory();
  fc.assert(
    fc.property(fc.array(anyNewPlant, { maxLength: 20 }), (batch: NewPlant[]) => {
      memory.writeBatch(batch);
      expect(new BatchMemory(memory.buffer).readBatch()).toEqual(batch);
    }),
  );
});

test("a batch fits if its names and tags do, however many bytes their characters take", () => {
  const memory = new BatchMemory();
  const name = "€".repeat(1_300);
  const batch = Array.from({ length: 1_024 }, (_, index) => ({ id: BigInt(index), name }));
  expect(memory.fits(batch)).toBe(true);
  memory.writeBatch(batch);
  expect(memory.readBatch()).toEqual(batch);
  expect(memory.fits([...batch, { id: -1n, name: "x" }])).toBe(false);
  expect(memory.fits([{ id: 1n, name: "x".repeat(2 ** 21) }])).toBe(false);
  expect(memory.fits([{ id: 1n, name: "x", tag: "x".repeat(2 ** 21) }])).toBe(false);
});

test("a sender resolves with the outcomes, and sends one batch at a time", async () => {
  const sender = new BatchSender();
  const receiver = new BatchReceiver(sender.memory.buffer);
  for (let round = 0; round < 3; round++) {
    expect(sender.accepts(fourPlants)).toBe(true);
    const sent = sender.send(fourPlants, neverFails);
    expect(sender.accepts(fourPlants)).toBe(false);
    expect(receiver.wait(0)).toBe("batch");
    expect(receiver.memory.readBatch()).toEqual(fourPlants);
    receiver.finish(outcomes);
    expect(await sent).toEqual([...outcomes]);
  }
});

test("a batch that fails rejects with the error of its text, and the next one is committed", async () => {
  const sender = new BatchSender();
  const receiver = new BatchReceiver(sender.memory.buffer);
  const failed = sender.send(fourPlants, (failure) => new Error(failure));
  receiver.fail("the disk is gone: ü");
  expect(failed).rejects.toThrow("the disk is gone: ü");
  await failed.catch(() => undefined);
  const sent = sender.send(fourPlants, neverFails);
  receiver.finish(outcomes);
  expect(await sent).toEqual([...outcomes]);
});

test("fewer outcomes than plants are an error, not those of an earlier batch", () => {
  const memory = new BatchMemory();
  memory.writeBatch(fourPlants);
  memory.writeOutcomes(outcomes);
  memory.writeBatch(fourPlants);
  expect(() => memory.writeOutcomes(outcomes.slice(1))).toThrow("3 outcomes for 4 plants");
});

test("a batch that is with a thread which fails rejects, and so does every later one", async () => {
  const sender = new BatchSender();
  const sent = sender.send(fourPlants, neverFails);
  sender.fail(new Error("the thread has ended"));
  expect(sent).rejects.toThrow("the thread has ended");
  await sent.catch(() => undefined);
  expect(sender.accepts(fourPlants)).toBe(false);
});

test("a message wakes the receiver once, and before a batch", () => {
  const sender = new BatchSender();
  const receiver = new BatchReceiver(sender.memory.buffer);
  void sender.send(fourPlants, neverFails);
  sender.announceMessage();
  expect(receiver.wait(0)).toBe("message");
  expect(receiver.wait(1)).toBe("batch");
});
