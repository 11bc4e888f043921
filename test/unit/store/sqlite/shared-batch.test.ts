// Batches in shared memory: whatever an entry holds comes back as it was, and so do the outcomes.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { type NewEntry, type Outcome, toEntries } from "../../../../src/store/plant-store.ts";
import { DiskFailureError } from "../../../../src/store/sqlite/disk-failure.ts";
import { BatchMemory, BatchSender, editsAt, slot } from "../../../../src/store/sqlite/shared-batch.ts";
import { SharedText, TextSender } from "../../../../src/store/sqlite/shared-text.ts";
import { onlyCollection, plant, plantStore, readSingle, shelves } from "../../../support/contracts.ts";
import { anyPlant } from "../../../support/random.ts";

const noEdits = { isSent: false };
const outcomes = ["created", "conflict", "unchanged", "unavailable"] as const;
const fourEntries = entriesFrom(1n);

function entriesFrom(first: bigint): NewEntry[] {
  return toEntries(
    plantStore,
    [0n, 1n, 2n, 3n].map((offset) => plant({ id: first + offset, name: `Monstera ${first + offset}` })),
  );
}

/**
 * A sender and the receiver in its memory; `commit` is what the committing thread does with a
 * batch.
 */
function connected() {
  const sender = new BatchSender();
  sender.useCollections([plantStore]);
  const receiver = new BatchMemory([plantStore], sender.buffer);
  const commit = (results: readonly Outcome[] = outcomes, messagesHandled = 0) => {
    expect(receiver.wait(messagesHandled, noEdits)).toBe("batch");
    const batch = receiver.readBatch();
    receiver.writeOutcomes(results);
    receiver.finish();
    return batch;
  };
  return { sender, receiver, commit };
}

test("a batch comes back as it was, absent and empty tags apart, and so do creators and the time", () => {
  const { buffer } = new BatchSender();
  const [writer, reader] = [new BatchMemory([plantStore], buffer), new BatchMemory([plantStore], buffer)];
  const anyCreator = fc.option(fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 31, 2 ** 53 - 1)));
  const anyEntry = fc.record({ collection: fc.constant(plantStore), plant: anyPlant, creator: anyCreator });
  fc.assert(
    fc.property(fc.array(anyEntry, { maxLength: 20 }), fc.maxSafeNat(), (batch: NewEntry[], createdAt) => {
      writer.writeBatch(batch, createdAt);
      expect(reader.readBatch()).toEqual(batch);
      expect(reader.createdAt).toBe(createdAt);
    }),
  );
});

test("a batch is accepted if its names and tags fit, however many bytes their characters take", () => {
  const memory = new BatchMemory([plantStore], new BatchSender().buffer);
  const name = "€".repeat(1_300);
  const batch = toEntries(
    plantStore,
    Array.from({ length: 1_024 }, (_, index) => plant({ id: BigInt(index), name })),
  );
  expect(memory.accepts(batch)).toBe(true);
  memory.writeBatch(batch, 0);
  expect(memory.readBatch()).toEqual(batch);
  expect(memory.accepts([...batch, ...toEntries(plantStore, [plant({ id: -1n, name: "x" })])])).toBe(false);
  expect(memory.accepts(toEntries(plantStore, [plant({ id: 1n, name: "x".repeat(2 ** 21) })]))).toBe(false);
  expect(
    memory.accepts(toEntries(plantStore, [plant({ id: 1n, name: "x", tag: "x".repeat(2 ** 21) })])),
  ).toBe(false);
});

test("a batch is not accepted if its keys do not fit, or there are too many fields", async () => {
  const memory = new BatchMemory([plantStore], new BatchSender().buffer);
  const [entry] = toEntries(plantStore, [plant({ id: 1n, name: "x".repeat(Math.floor(2 ** 22 / 3)) })]);
  expect(memory.accepts([entry as NewEntry])).toBe(true);
  expect(memory.accepts([{ ...(entry as NewEntry), key: "k".repeat(22) }])).toBe(false);

  const properties = Array.from({ length: 70 }, (_, index) => [`p${index}`, { type: "string" }]);
  const wide = onlyCollection(await readSingle(shelves(Object.fromEntries(properties), [])));
  const plants = Array.from({ length: 1_024 }, (_, id) => ({ id: BigInt(id), values: [] }));
  expect(memory.accepts(toEntries(wide, plants.slice(0, 900)))).toBe(true);
  expect(memory.accepts(toEntries(wide, plants))).toBe(false);
});

test("one batch is sent at a time, and the next one when its outcomes are read", async () => {
  const { sender, commit } = connected();
  for (let first = 1n; first < 40n; first += 4n) {
    const batch = entriesFrom(first);
    expect(sender.accepts(batch)).toBe(true);
    const sent = sender.send(batch, 0);
    expect(sender.accepts(batch)).toBe(false);
    expect(commit()).toEqual(batch);
    expect(sender.accepts(batch)).toBe(false);
    expect(await sent).toEqual([...outcomes]);
  }
});

test("the integers that count overflow without a batch or a message being missed", async () => {
  const { sender, receiver, commit } = connected();
  const { integers } = receiver;
  // Every slot that is neither a state nor a length is two steps before 2^31, and then before 2^32.
  for (const start of [2 ** 31 - 2, 2 ** 32 - 2]) {
    integers.fill(start | 0, slot.wake, slot.wake + 1);
    integers.fill(start | 0, slot.messages, slot.messages + 1);
    for (let handled = start; handled < start + 5; handled++) {
      const sent = sender.send(fourEntries, 0);
      expect(receiver.wait(handled, noEdits)).toBe("batch");
      commit(outcomes, handled);
      expect(await sent).toEqual([...outcomes]);
      sender.announceMessage();
      expect(receiver.wait(handled, noEdits)).toBe("message");
    }
  }
});

test("a batch that fails rejects with its error, and the next one is committed", async () => {
  const { sender, receiver, commit } = connected();
  const failed = sender.send(fourEntries, 0).catch((error) => error);
  receiver.writeFailure(new DiskFailureError("the disk is gone: ü"));
  receiver.finish();
  expect(await failed).toEqual(new DiskFailureError("the disk is gone: ü"));
  const sent = sender.send(fourEntries, 0);
  commit();
  expect(await sent).toEqual([...outcomes]);
});

test("a batch that is with a thread which fails rejects, and no later one is accepted", async () => {
  const { sender } = connected();
  const sent = sender.send(fourEntries, 0).then(String, (error) => error.message);
  sender.fail(new Error("the thread has ended"));
  expect(await sent).toBe("the thread has ended");
  expect(sender.accepts(fourEntries)).toBe(false);

  const { sender: idle } = connected();
  idle.fail(new Error("the thread has ended"));
  expect(idle.accepts(fourEntries)).toBe(false);
});

test("a message wakes the receiver once, and before a batch", () => {
  const { sender, receiver } = connected();
  void sender.send(fourEntries, 0);
  sender.announceMessage();
  expect(receiver.wait(0, noEdits)).toBe("message");
  expect(receiver.wait(1, { isSent: true })).toBe("batch");
});

test("a full batch and edits leave each other as they are", () => {
  const { sender, receiver } = connected();
  const edits = new SharedText(sender.buffer, editsAt);
  const batch = toEntries(plantStore, [plant({ id: 1n, name: "a".repeat(4 * 2 ** 20) })]);
  receiver.writeBatch(batch, 0);
  void new TextSender(edits, () => undefined).send("b".repeat(2 ** 20));
  expect(receiver.readBatch()).toEqual(batch);
  receiver.writeBatch(batch, 0);
  expect([edits.isSent, edits.read()]).toEqual([true, "b".repeat(2 ** 20)]);
});

test("edits wake the receiver", async () => {
  const { sender, receiver } = connected();
  let looks = 0;
  const edits = {
    get isSent() {
      // They are sent after the first look, and wake this thread before it waits.
      if (++looks === 1) sender.wake();
      return looks > 1;
    },
  };
  expect(receiver.wait(0, edits)).toBe("edits");
});
