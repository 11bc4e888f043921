// The order of password checks, with checks that the test ends one by one.

import { expect, test } from "bun:test";
import { LoginQueue } from "../../../src/admin/console/login-queue.ts";

class HeldChecks {
  now = 0;
  readonly queue = new LoginQueue(() => this.now);
  /** The addresses whose checks began, in that order. */
  readonly began: string[] = [];
  readonly outcomes = new Map<string, (boolean | "tooMany")[]>();
  #end: ((isRight: boolean) => void) | undefined;

  attempt(address: string): void {
    const check = () => {
      this.began.push(address);
      const held = Promise.withResolvers<boolean>();
      this.#end = held.resolve;
      return held.promise;
    };
    void this.queue.run(address, check).then((outcome) => {
      this.outcomes.set(address, [...(this.outcomes.get(address) ?? []), outcome]);
    });
  }

  /** Ends the check under way. */
  async end(isRight = false): Promise<void> {
    this.#end?.(isRight);
    await settled();
  }

  async endAll(): Promise<void> {
    for (let begun = -1; begun !== this.began.length; ) {
      begun = this.began.length;
      await this.end();
    }
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

/** Addresses in networks of their own. */
function addresses(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `10.${(from + index) >> 8}.${(from + index) & 255}.1`);
}

test("one check runs at a time, and clients take turns whatever each of them has queued", async () => {
  const checks = new HeldChecks();
  for (const address of [
    "192.0.2.1",
    "192.0.2.1",
    "192.0.2.1",
    "198.51.100.1",
    "198.51.100.1",
    "203.0.113.1",
  ])
    checks.attempt(address);
  expect(checks.began.length).toBe(1);
  await checks.endAll();
  expect(checks.began).toEqual([
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "192.0.2.1",
    "198.51.100.1",
    "192.0.2.1",
  ]);
});

test("a client has five attempts in a minute, the addresses of a /64 together", async () => {
  const checks = new HeldChecks();
  for (let host = 1; host <= 7; host++) checks.attempt(`2001:db8:1:2::${host}`);
  checks.attempt("2001:db8:1:3::1");
  await checks.endAll();
  expect(checks.began.length).toBe(6);
  expect([...checks.outcomes.values()].flat().filter((outcome) => outcome === "tooMany").length).toBe(2);
  checks.now = 60_000;
  checks.attempt("2001:db8:1:2::9");
  await checks.endAll();
  expect(checks.began.at(-1)).toBe("2001:db8:1:2::9");
});

test("a client that has not tried yet waits for no stranger that has, however long ago", async () => {
  const checks = new HeldChecks();
  const strangers = addresses(60);
  for (const address of strangers) checks.attempt(address);
  await checks.endAll();
  checks.now = 3_600_000;
  for (const address of strangers) checks.attempt(address);
  // The queue is full: one of them is refused for it.
  for (const address of addresses(2, 100)) checks.attempt(address);
  checks.attempt("203.0.113.5");
  await checks.end();
  await checks.end();
  await checks.end();
  expect(checks.began.slice(61, 64)).toEqual([...addresses(2, 100), "203.0.113.5"]);
  expect([...checks.outcomes.values()].flat().filter((outcome) => outcome === "tooMany").length).toBe(2);
});

test("a network that has many addresses does not come before another one", async () => {
  const checks = new HeldChecks();
  for (let subnet = 0; subnet < 61; subnet++) checks.attempt(`2001:db8:1:${subnet.toString(16)}::1`);
  checks.attempt("2001:db8:2::1");
  await checks.end();
  expect(checks.began[1]).toBe("2001:db8:2::1");
});

test("where all that wait are new, one more is refused, and is served once there is room", async () => {
  const checks = new HeldChecks();
  for (const address of addresses(61)) checks.attempt(address);
  checks.attempt("203.0.113.5");
  await settled();
  expect(checks.outcomes.get("203.0.113.5")).toEqual(["tooMany"]);
  await checks.end();
  checks.attempt("203.0.113.5");
  await checks.endAll();
  expect(checks.outcomes.get("203.0.113.5")).toEqual(["tooMany", false]);
});

test("who has logged in before comes first, also where the queue is full", async () => {
  const checks = new HeldChecks();
  checks.attempt("203.0.113.5");
  await checks.end(true);
  for (const address of addresses(61)) checks.attempt(address);
  checks.attempt("203.0.113.5");
  await checks.end();
  expect(checks.began.at(-1)).toBe("203.0.113.5");
});

test("an attempt that was refused for a more urgent one does not count", async () => {
  const checks = new HeldChecks();
  checks.attempt("203.0.113.5");
  await checks.end(true);
  for (let minute = 1; minute <= 8; minute++) {
    checks.now = minute * 60_000;
    for (const address of addresses(61, 1_000 * minute)) checks.attempt(address);
    checks.attempt("203.0.113.5");
    await checks.endAll();
  }
  const refused = [...checks.outcomes].filter(([, [outcome]]) => outcome === "tooMany");
  expect(refused.length).toBe(8);
  for (let attempt = 0; attempt < 5; attempt++) checks.attempt(refused[0]?.[0] ?? "");
  await checks.endAll();
  expect(refused[0]?.[1].concat(checks.outcomes.get(refused[0][0])?.slice(1) ?? [])).toContain(false);
  expect(checks.began.filter((address) => address === refused[0]?.[0]).length).toBe(5);
});

test("a check that fails is its own failure alone", async () => {
  const checks = new HeldChecks();
  const failing = checks.queue.run("192.0.2.1", () => Promise.reject(new Error("no memory")));
  checks.attempt("192.0.2.2");
  await expect(failing).rejects.toThrow("no memory");
  await checks.endAll();
  expect(checks.outcomes.get("192.0.2.2")).toEqual([false]);
});
