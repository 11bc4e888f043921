// The limit of password checks, with checks that the test finishes one by one.

import { expect, test } from "bun:test";
import { LoginLimit } from "../../../src/console/session/login-limit.ts";
import { settled } from "../../support/settled.ts";

class ControlledChecks {
  now = 0;
  readonly limit = new LoginLimit(() => this.now);
  /** The addresses of the checks, in the order of their start. */
  readonly started: string[] = [];
  /** Whether a password was right, or the status of the rejection. */
  readonly results: (boolean | number)[] = [];
  #finish: ((isRight: boolean) => void) | undefined;

  attempt(address: string): void {
    const check = () => {
      this.started.push(address);
      const check = Promise.withResolvers<boolean>();
      this.#finish = check.resolve;
      return check.promise;
    };
    void this.limit.run(address, check).then(
      (isRight) => this.results.push(isRight),
      ({ status }) => this.results.push(status),
    );
  }

  /** Finishes the running check, and each that starts then. */
  async finishAll(): Promise<void> {
    for (let count = -1; count !== this.started.length; ) {
      count = this.started.length;
      this.#finish?.(false);
      for (let tick = 0; tick < 10; tick++) await Promise.resolve();
    }
  }
}

test("one check runs at a time, in the order of the attempts", async () => {
  const checks = new ControlledChecks();
  const addresses = ["192.0.2.1", "192.0.2.1", "198.51.100.1"];
  for (const address of addresses) checks.attempt(address);
  await Promise.resolve();
  expect(checks.started).toEqual(["192.0.2.1"]);
  await checks.finishAll();
  expect(checks.started).toEqual(addresses);
});

test("a client has five attempts, all addresses of a /64 together, and one more each twelve seconds", async () => {
  const checks = new ControlledChecks();
  for (let host = 1; host <= 7; host++) checks.attempt(`2001:db8:1:2::${host}`);
  checks.attempt("2001:db8:1:3::1");
  await checks.finishAll();
  expect(checks.started.length).toBe(6);
  expect(checks.results.filter((result) => result === 429).length).toBe(2);
  checks.now = 11_999;
  checks.attempt("2001:db8:1:2::9");
  checks.now = 24_000;
  for (let host = 10; host <= 12; host++) checks.attempt(`2001:db8:1:2::${host}`);
  await checks.finishAll();
  expect(checks.started.slice(6)).toEqual(["2001:db8:1:2::10", "2001:db8:1:2::11"]);
});

test("one more attempt than may wait is rejected without being counted", async () => {
  const checks = new ControlledChecks();
  for (let client = 0; client < 60; client++) checks.attempt(`10.0.${client}.1`);
  for (let attempt = 0; attempt < 5; attempt++) checks.attempt("203.0.113.5");
  await checks.finishAll();
  expect(checks.results.filter((result) => result === 429).length).toBe(5);
  for (let attempt = 0; attempt < 5; attempt++) checks.attempt("203.0.113.5");
  await checks.finishAll();
  expect(checks.started.filter((address) => address === "203.0.113.5").length).toBe(5);
});

test("a client stays limited while others come and go, up to a thousand", async () => {
  const checks = new ControlledChecks();
  for (let attempt = 0; attempt < 6; attempt++) checks.attempt("203.0.113.5");
  await checks.finishAll();
  for (const [clients, result] of [
    [999, 429],
    [1, false],
  ] as const) {
    for (let client = 0; client < clients; client++) {
      checks.attempt(`10.${client >> 8}.${client & 255}.${clients}`);
      await checks.finishAll();
    }
    checks.attempt("203.0.113.5");
    await checks.finishAll();
    expect(checks.results.at(-1)).toBe(result);
  }
});

test("an exception in a check affects that attempt only", async () => {
  const checks = new ControlledChecks();
  const failing = checks.limit.run("192.0.2.1", () => Promise.reject(new Error("no memory")));
  checks.attempt("192.0.2.2");
  expect(await settled(failing)).toThrow("no memory");
  await checks.finishAll();
  expect(checks.results).toEqual([false]);
});
