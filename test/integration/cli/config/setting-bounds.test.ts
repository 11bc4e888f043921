// Each numeric setting of the server at its minimum and maximum.

import { expect, test } from "bun:test";
import {
  flagName,
  type SettingName,
  serverSettingNames,
  settings,
} from "../../../../src/cli/config/settings.ts";
import { parsePostgresUrl } from "../../../../src/core/store/postgres/connection-url.ts";
import { plantJson, post } from "../../../support/http.ts";
import { logLines } from "../../../support/output.ts";
import { RunningServer } from "../../../support/server.ts";

/** setTimeout fires immediately for longer times. */
const timerMsMax = 2 ** 31 - 1;

/** The numeric settings: those whose error contains a range. Ports may be in use. */
const ranges = serverSettingNames
  .filter((name) => !/port$/i.test(name))
  .flatMap((name) => {
    try {
      settings[name].parse("no number");
    } catch (error) {
      const [, min, max] = / an integer from (\d+) to (\d+)$/.exec((error as Error).message) ?? [];
      if (min !== undefined && max !== undefined) return [{ name, min, max }];
    }
    return [];
  });

/** The flags that set numeric settings to one end of their ranges. */
const flagsAt = (end: "min" | "max", isIncluded: (name: SettingName) => boolean = () => true) =>
  ranges.filter(({ name }) => isIncluded(name)).flatMap((range) => [flagName(range.name), range[end]]);

/** At their minima no body is small enough. */
const ofBodies: readonly SettingName[] = ["bodyBytesMax", "inFlightBytesMax"];

/** A burst requires a rate, and the least value of the rate means no limit. */
const withoutBurst: readonly SettingName[] = ["tokenRate", "connectionsMax"];

/** A server starts in 0.3 s, so settings share one where they can. */
const servers: readonly (readonly [name: string, args: readonly string[], status: number])[] = [
  [
    "the other minima",
    [...flagsAt("min", (name) => ![...ofBodies, ...withoutBurst].includes(name)), "--token-rate", "1"],
    200,
  ],
  ["the maxima", flagsAt("max"), 200],
  ["no rate, and one connection", flagsAt("min", (name) => withoutBurst.includes(name)), 200],
  ["bodies of one byte", flagsAt("min", (name) => ofBodies.includes(name)), 413],
];

test.each(servers)(
  "%s: a create succeeds, and nothing is logged as a warning",
  async (name, args, expected) => {
    await using server = await RunningServer.startInProcess({ args });
    const target = await server.target();
    const { status } = await post(target, plantJson(1n, "Monstera"));
    expect(status).toBe(expected);
    const { exitCode, stderr } = await server.stop();
    // A timer that overflows warns on standard error as well.
    expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"))).toEqual([]);
    const warnings = logLines(stderr).filter(({ level }) => level !== "info");
    // With one connection, the server's own descriptors reach the limit; no limit on open files
    // allows a million.
    const unexpected = warnings.filter(
      ({ msg }) =>
        !(name.includes("connectionsMax min") && /too many conn/.test(msg)) &&
        !(name === "the maxima" && /limit on open files/.test(msg)),
    );
    expect(unexpected).toEqual([]);
    expect(exitCode).toBe(0);
  },
);

test("no configurable time exceeds the maximum of a timer", () => {
  const times = ranges.filter(({ name }) => /seconds/i.test(name));
  expect(times.length).toBeGreaterThanOrEqual(3);
  for (const { name, max } of times) expect([name, Number(max) * 1_000 <= timerMsMax]).toEqual([name, true]);

  const longest = "connect_timeout=99999&statement_timeout=99999&retry_timeout=99999";
  const { hosts, retryMsMax, statementMsMax } = parsePostgresUrl(`//user@host/plants?${longest}`);
  for (const ms of [retryMsMax, statementMsMax, hosts[0]?.connectionTimeoutMillis])
    expect(ms).toBeWithin(1, timerMsMax + 1);
  expect(() => parsePostgresUrl("//user@host/plants?retry_timeout=100000")).toThrow("whole number");
});
