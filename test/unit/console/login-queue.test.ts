// The order of password checks, with checks that the test finishes one by one.

import { expect, test } from "bun:test";
import { LoginQueue } from "../../../src/console/login-queue.ts";

class ControlledChecks {
  now = 0;
  readonly queue = new LoginQueue(() => this.now);
  /** The addresses of the checks, in the order of their start. */
  readonly started: string[] = [];
  readonly results = new Map<string, (boolean | "tooMany")[]>();
  #finish: ((isRight: boolean) => void) | undefined;

  attempt(address: string): void {
    const check = () => {
      this.started.push(address);
      const check = Promise.withResolvers<boolean>();
      this.#finish = check.resolve;
      return check.promise;
    };
    void this.queue.run(address, check).then((result) => {
      this.results.set(address, [...(this.results.get(address) ?? []), result]);
    });
  }

  /** Finishes the running check. */
  async finish(isRight = false): Promise<void> {
    this.#finish?.(isRight);
    await settled();
  }

  async finishAll(): Promise<void> {
    for (let count = -1; count !== this.started.length; ) {
      count = this.started.length;
      await this.finish();
    }
  }
}

async function settled(): Promise<void> {
  for (let tick = 0; tick < 10; tick++) await Promise.resolve();
}

/** Addresses in different networks. */
function addresses(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `10.${(from + index) >> 8}.${(from + index) & 255}.1`);
}

test("one check runs at a time, and clients alternate however many attempts each has queued", async () => {
  const checks = new ControlledChecks();
  for (const address of [
    "192.0.2.1",
    "192.0.2.1",
    "192.0.2.1",
    "198.51.100.1",
    "198.51.100.1",
    "203.0.113.1",
  ])
    checks.attempt(address);
  expect(checks.started.length).toBe(1);
  await checks.finishAll();
  expect(checks.started).toEqual([
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "192.0.2.1",
    "198.51.100.1",
    "192.0.2.1",
  ]);
});

test("a client has five attempts in a minute, all addresses of a /64 together", async () => {
  const checks = new ControlledChecks();
  for (let host = 1; host <= 7; host++) checks.attempt(`2001:db8:1:2::${host}`);
  checks.attempt("2001:db8:1:3::1");
  await checks.finishAll();
  expect(checks.started.length).toBe(6);
  expect([...checks.results.values()].flat().filter((result) => result === "tooMany").length).toBe(2);
  checks.now = 60_000;
  checks.attempt("2001:db8:1:2::9");
  await checks.finishAll();
  expect(checks.started.at(-1)).toBe("2001:db8:1:2::9");
});

test("the first attempt of a client comes before further attempts of others, however long ago theirs were", async () => {
  const checks = new ControlledChecks();
  const others = addresses(60);
  for (const address of others) checks.attempt(address);
  await checks.finishAll();
  checks.now = 3_600_000;
  for (const address of others) checks.attempt(address);
  // The queue is full, so that one of them is rejected for it.
  for (const address of addresses(2, 100)) checks.attempt(address);
  checks.attempt("203.0.113.5");
  await checks.finish();
  await checks.finish();
  await checks.finish();
  expect(checks.started.slice(61, 64)).toEqual([...addresses(2, 100), "203.0.113.5"]);
  expect([...checks.results.values()].flat().filter((result) => result === "tooMany").length).toBe(2);
});

test("clients of a network with many attempts do not come before other clients", async () => {
  const checks = new ControlledChecks();
  for (let subnet = 0; subnet < 61; subnet++) checks.attempt(`2001:db8:1:${subnet.toString(16)}::1`);
  checks.attempt("2001:db8:2::1");
  await checks.finish();
  expect(checks.started[1]).toBe("2001:db8:2::1");
});

test("one more first attempt than the queue holds is rejected, and succeeds once the queue is shorter", async () => {
  const checks = new ControlledChecks();
  for (const address of addresses(61)) checks.attempt(address);
  checks.attempt("203.0.113.5");
  await settled();
  expect(checks.results.get("203.0.113.5")).toEqual(["tooMany"]);
  await checks.finish();
  checks.attempt("203.0.113.5");
  await checks.finishAll();
  expect(checks.results.get("203.0.113.5")).toEqual(["tooMany", false]);
});

test("a client that has logged in before comes first, also if the queue is full", async () => {
  const checks = new ControlledChecks();
  checks.attempt("203.0.113.5");
  await checks.finish(true);
  for (const address of addresses(61)) checks.attempt(address);
  checks.attempt("203.0.113.5");
  await checks.finish();
  expect(checks.started.at(-1)).toBe("203.0.113.5");
});

test("an attempt that was rejected for one of higher rank does not count", async () => {
  const checks = new ControlledChecks();
  checks.attempt("203.0.113.5");
  await checks.finish(true);
  for (let minute = 1; minute <= 8; minute++) {
    checks.now = minute * 60_000;
    for (const address of addresses(61, 1_000 * minute)) checks.attempt(address);
    checks.attempt("203.0.113.5");
    await checks.finishAll();
  }
  const rejected = [...checks.results].filter(([, [result]]) => result === "tooMany");
  expect(rejected.length).toBe(8);
  for (let attempt = 0; attempt < 5; attempt++) checks.attempt(rejected[0]?.[0] ?? "");
  await checks.finishAll();
  expect(rejected[0]?.[1].concat(checks.results.get(rejected[0][0])?.slice(1) ?? [])).toContain(false);
  expect(checks.started.filter((address) => address === rejected[0]?.[0]).length).toBe(5);
});

test("an exception in a check affects that attempt only", async () => {
  const checks = new ControlledChecks();
  const failing = checks.queue.run("192.0.2.1", () => Promise.reject(new Error("no memory")));
  checks.attempt("192.0.2.2");
  await expect(failing).rejects.toThrow("no memory");
  await checks.finishAll();
  expect(checks.results.get("192.0.2.2")).toEqual([false]);
});
