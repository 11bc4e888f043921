// Each numeric setting of the server at its minimum and maximum.

import { expect, test } from "bun:test";
import { type SettingName, serverSettingNames, settings } from "../../../../src/cli/config/settings.ts";
import { parsePostgresUrl } from "../../../../src/core/store/postgres/connection-url.ts";
import { plantJson, post } from "../../../support/http.ts";
import { logLines } from "../../../support/output.ts";
import { RunningServer } from "../../../support/server.ts";

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

/** With these no body is small enough. */
const tooSmall: readonly string[] = ["bodyBytesMax min", "inFlightBytesMax min"];

/** A burst requires a rate, and the least value of the rate means no limit. */
const withoutBurst: readonly string[] = ["tokenRate min", "connectionsMax min"];

interface Bound {
  readonly setting: string;
  readonly args: readonly string[];
}

// Ports may be in use.
const bounds: readonly Bound[] = ranges
  .filter(({ name }) => !/port$/i.test(name))
  .flatMap(({ name, flag, min, max }) => [
    { setting: `${name} min`, args: [flag, String(min)] },
    { setting: `${name} max`, args: [flag, String(max)] },
  ]);

const others = bounds.filter(({ setting }) => ![...tooSmall, ...withoutBurst].includes(setting));
const argsOf = (some: readonly Bound[]) => some.flatMap(({ args }) => args);

/** A server starts in 0.3 s, so settings share one where they can. */
const servers: readonly (readonly [name: string, args: readonly string[], status: number])[] = [
  [
    "the other minima",
    [...argsOf(others.filter(({ setting }) => setting.endsWith("min"))), "--token-rate", "1"],
    200,
  ],
  ["the maxima", argsOf(others.filter(({ setting }) => setting.endsWith("max"))), 200],
  [withoutBurst.join(" and "), argsOf(bounds.filter(({ setting }) => withoutBurst.includes(setting))), 200],
  [tooSmall.join(" and "), argsOf(bounds.filter(({ setting }) => tooSmall.includes(setting))), 413],
];

test("numeric settings are found, and a server has each of their bounds", () => {
  expect(bounds.length).toBeGreaterThan(15);
  const commandLines = servers.map(([, args]) => args.join(" "));
  for (const { args } of bounds)
    expect([args, commandLines.filter((line) => `${line} `.includes(`${args.join(" ")} `)).length]).toEqual([
      args,
      1,
    ]);
});

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
  for (const { name, max } of times) expect([name, max * 1_000 <= timerMsMax]).toEqual([name, true]);

  const longest = "connect_timeout=99999&statement_timeout=99999&retry_timeout=99999";
  const { hosts, retryMsMax } = parsePostgresUrl(`//user@host/plants?${longest}`);
  const { connectionTimeoutMillis, query_timeout } = hosts[0] ?? {};
  for (const ms of [retryMsMax, connectionTimeoutMillis, query_timeout])
    expect(ms).toBeWithin(1, timerMsMax + 1);
  expect(() => parsePostgresUrl("//user@host/plants?retry_timeout=100000")).toThrow("whole number");
});
