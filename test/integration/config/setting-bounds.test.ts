// Each numeric setting of the server at its minimum and maximum.

import { expect, test } from "bun:test";
import { type SettingName, serverSettingNames, settings } from "../../../src/config/settings.ts";
import { parsePostgresUrl } from "../../../src/store/postgres/connection-url.ts";
import { plantJson, post } from "../../support/http.ts";
import { logLines } from "../../support/output.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

/** setTimeout fires immediately for longer times. */
const timerMsMax = 2 ** 31 - 1;

interface Range {
  readonly name: SettingName;
  readonly flag: string;
  readonly min: number;
  readonly max: number;
}

/** The numeric settings: those whose error contains a range. */
const ranges: readonly Range[] = serverSettingNames.flatMap((name) => {
  const { flag, parse: read } = settings[name];
  try {
    read("no number");
  } catch (error) {
    const [, min, max] = / an integer from (\d+) to (\d+)$/.exec((error as Error).message) ?? [];
    if (max !== undefined)
      return [{ name, flag: flag.split(" ")[0] ?? "", min: Number(min), max: Number(max) }];
  }
  return [];
});

/** The flags that a setting requires. */
const beside: Partial<Record<`${SettingName} ${"min" | "max"}`, readonly string[]>> = {
  "bodyBytesMax max": ["--in-flight-bytes-max", String(512 * 2 ** 20)],
  "inFlightBytesMax min": ["--body-bytes-max", "1"],
  "tokenBurst min": ["--token-rate", "1"],
  "tokenBurst max": ["--token-rate", "1"],
};

/** With these no body is small enough. */
const tooSmall: readonly string[] = ["bodyBytesMax min", "inFlightBytesMax min"];

// Ports may be in use.
const cases = ranges
  .filter(({ name }) => !/port$/i.test(name))
  .flatMap(({ name, flag, min, max }) => [
    [`${name} min`, flag, min] as const,
    [`${name} max`, flag, max] as const,
  ]);

test("numeric settings are found", () => {
  expect(cases.length).toBeGreaterThan(15);
});

test.each(cases)(
  "%s, as %s %d: a create succeeds, and nothing is logged as a warning",
  async (name, flag, value) => {
    using folder = new TemporaryFolder();
    await using server = await RunningServer.start({
      database: `sqlite:${folder.file("plants.db")}`,
      args: [flag, String(value), ...(beside[name as keyof typeof beside] ?? [])],
    });
    const target = { url: server.url, token: await server.createToken() };
    const { status } = await post(target, plantJson(1n, "Monstera"));
    expect(status).toBe(tooSmall.includes(name) ? 413 : 200);
    const { exitCode, stderr } = await server.stop();
    // A timer that overflows warns on standard error as well.
    expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"))).toEqual([]);
    const warnings = logLines(stderr).filter(({ level }) => level !== "info");
    // With one connection, the server's own descriptors reach the limit; no limit on open files allows a million.
    const unexpected = warnings.filter(
      ({ msg }) =>
        !(name === "connectionsMax min" && /too many conn/.test(msg)) &&
        !(name === "connectionsMax max" && /limit on open files/.test(msg)),
    );
    expect(unexpected).toEqual([]);
    expect(exitCode).toBe(0);
  },
);

test("the longest window of a rate is counted exactly", async () => {
  using folder = new TemporaryFolder();
  const { max = 0 } = ranges.find(({ name }) => name === "tokenBurst") ?? {};
  await using server = await RunningServer.start({
    database: `sqlite:${folder.file("plants.db")}`,
    args: ["--token-rate", "1", "--token-burst", String(max)],
  });
  const target = { url: server.url, token: await server.createToken() };
  for (let sent = 1; sent <= 20; sent++) {
    const { headers } = await post(target, plantJson(1n, "Monstera"));
    expect(headers.get("ratelimit-policy")).toBe(`"token";q=${max};w=${max}`);
    expect(headers.get("ratelimit")).toStartWith(`"token";r=${max - sent};t=`);
  }
});

test("no configurable time exceeds the maximum of a timer", () => {
  const times = ranges.filter(({ name }) => /seconds/i.test(name));
  expect(times.length).toBeGreaterThanOrEqual(3);
  for (const { name, max } of times) expect([name, max * 1_000 <= timerMsMax]).toEqual([name, true]);

  const longest = "connect_timeout=99999&statement_timeout=99999&retry_timeout=99999";
  const { hosts, retryMsMax } = parsePostgresUrl(`//user@host/plants?${longest}`);
  const { connectionTimeoutMillis, query_timeout } = hosts[0] ?? {};
  for (const ms of [retryMsMax, connectionTimeoutMillis, query_timeout])
    expect(ms).toBeWithin(1, timerMsMax + 1);
  expect(() => parsePostgresUrl("//user@host/plants?retry_timeout=100000")).toThrow("whole number");
});
