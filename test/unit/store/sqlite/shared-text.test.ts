// A text in shared memory, and the response to it.

import { expect, spyOn, test } from "bun:test";
import { SharedText, sharedTextBytes, TextSender } from "../../../../src/store/sqlite/shared-text.ts";
import { settled } from "../../../support/settled.ts";

/** A sender, the receiver in its memory, and how often that was woken. */
function connected() {
  const buffer = new SharedArrayBuffer(8 + sharedTextBytes);
  const woken: boolean[] = [];
  const receiver = new SharedText(buffer, 8);
  const sender = new TextSender(new SharedText(buffer, 8), () => woken.push(receiver.isSent));
  return { sender, receiver, woken };
}

test("a text and its response come as they were sent, and then the next one", async () => {
  const { sender, receiver, woken } = connected();
  expect(receiver.isSent).toBe(false);
  for (const text of ["a long text \u{1f331}", "ü", ""]) {
    expect(sender.accepts(text)).toBe(true);
    const sent = sender.send(text);
    expect([receiver.isSent, receiver.read()]).toEqual([true, text]);
    receiver.respond(`${text}!`);
    // Its response is not read yet.
    expect(sender.accepts(text)).toBe(false);
    expect([await sent, receiver.isSent]).toEqual([`${text}!`, false]);
  }
  expect(woken).toEqual([true, true, true]);
});

test("a text and its response are in the memory before the other thread is told of them", async () => {
  const { sender, receiver } = connected();
  const told: string[] = [];
  const atomics: { store(array: Int32Array, index: number, value: number): number } = Atomics;
  const { store } = atomics;
  using _ = spyOn(atomics, "store").mockImplementation((...args) => {
    told.push(receiver.read());
    return store(...args);
  });
  const sent = sender.send("a");
  receiver.respond("b");
  await sent;
  expect(told).toEqual(["a", "b"]);
});

test("a text is accepted if it fits, however many bytes its characters take", async () => {
  const { sender, receiver } = connected();
  const text = "€".repeat(Math.floor(2 ** 20 / 3));
  expect(sender.accepts(text)).toBe(true);
  expect(sender.accepts(`${text}€`)).toBe(false);
  const sent = sender.send(text);
  expect(receiver.read()).toBe(text);
  receiver.respond("");
  await sent;
});

test("a text that is with a thread which ends rejects, and no later one is accepted", async () => {
  const { sender } = connected();
  const sent = sender.send("a");
  sender.fail(new Error("the thread has ended"));
  expect(await settled(sent)).toThrow("the thread has ended");
  expect(sender.accepts("b")).toBe(false);

  const { sender: idle } = connected();
  idle.fail(new Error("the thread has ended"));
  expect(idle.accepts("a")).toBe(false);
});
