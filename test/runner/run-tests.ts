// Runs one tier of the tests: npm test, npm run test:system, npm run test:citus, and for each
// version npm run test:postgres. All files share one PostgreSQL server, and run in one process more
// than there are processors, since many wait for a disk or a timer, the slowest files first. Prints
// what fails and how to run it alone, what is skipped and why, the slowest files, and the counts,
// which .ci/run adds up.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { CitusCluster, citusMissing, citusVariable } from "../support/citus.ts";
import { engineVariable } from "../support/engines.ts";
import {
  ClusterTemplate,
  clusterTemplateVariable,
  PostgresServer,
  postgresProgramsVariable,
} from "../support/postgres.ts";
import { sendSignal, sessionOf } from "../support/processes.ts";
import { chromiumPath } from "../support/programs.ts";
import { TemporaryFolder } from "../support/server.ts";

interface Tier {
  readonly folders: readonly string[];
  /** The time limit of tests that do not set one. */
  readonly testMsMax: number;
  /** None of its tests is about a disk: temporary files may be in memory. */
  readonly needsNoDisk?: true;
  /** The one engine that it runs on; all that need nothing installed by default. */
  readonly engine?: "citus" | "postgres";
}

/** The suites that hold on every engine, and that another engine can fail. */
const enginesFolders = [
  "./test/integration/console/calls.test.ts",
  "./test/integration/cli/collections.test.ts",
  "./test/integration/console/several-collections.test.ts",
  "./test/integration/contracts/estate.test.ts",
  "./test/integration/contracts/parcels.test.ts",
  "./test/integration/http/conformance.test.ts",
  "./test/integration/http/properties.test.ts",
  "./test/integration/console/plant-search.test.ts",
  "./test/integration/store/probe.test.ts",
  "./test/integration/store/store-contract.test.ts",
  "./test/integration/store/tokens.test.ts",
  "./test/integration/plants/edits.test.ts",
  "./test/integration/transfer/",
  "./test/system/crash/",
  "./test/system/restart/rolling-restart.test.ts",
  "./test/system/restart/stop.test.ts",
  "./test/system/tokens/",
  "./test/system/transfer/",
];

const tiers: Readonly<Record<string, Tier>> = {
  test: { folders: ["./test/unit/", "./test/integration/"], testMsMax: 180_000, needsNoDisk: true },
  system: { folders: ["./test/system/", "./test/long/"], testMsMax: 600_000 },
  citus: { folders: ["./test/system/citus/", ...enginesFolders], testMsMax: 600_000, engine: "citus" },
  // The tests that depend on the version of PostgreSQL: of the SQL, the schema, and the settings of
  // its commits.
  postgres: {
    folders: [
      "./test/integration/console/plant-search.test.ts",
      "./test/integration/store/postgres/schema.test.ts",
      "./test/integration/store/postgres/statements.test.ts",
      "./test/integration/store/postgres/tokens.test.ts",
      "./test/system/postgres/durability.test.ts",
    ],
    testMsMax: 600_000,
    engine: "postgres",
  },
};

/**
 * A folder in memory for the shared servers unless TMPDIR is set, and the room that it must have.
 * In it a new PostgreSQL database takes 0.03 s of processor time instead of 0.13 s.
 */
const memoryFolder = "/dev/shm";
const memoryBytesMin = 4 * 2 ** 30;

/** Settings of the shared server: every test process has servers of its own on it. */
const postgresSettings = { max_connections: "400", max_wal_size: "256MB" };

/**
 * How long each file takes; --update-timings writes it. A file that it lacks runs before all
 * others.
 */
const timings = "test/runner/timings.json";

/**
 * Whether each file's tests run in a random order, as .ci/run has it. Bun prints the seed;
 * `--seed=N` repeats the order.
 */
const isRandom = process.env.PLANTSTORE_TEST_ORDER === "random";

const [name = "", ...args] = process.argv.slice(2);
const tier = tiers[name];
if (tier === undefined) throw new Error(`the tiers are ${Object.keys(tiers).join(", ")}`);
if (tier.engine === "citus" && citusMissing !== undefined)
  process.stdout.write(`skipped: test:citus (${citusMissing})\n`);
else process.exitCode = await runTier(tier, args);

async function runTier(
  { folders, testMsMax, needsNoDisk, engine }: Tier,
  args: readonly string[],
): Promise<number> {
  // Bun runs what matches, and says nothing of a name that no longer does.
  for (const path of folders) if (!existsSync(path)) throw new Error(`there are no tests in ${path}`);
  const { TMPDIR: diskFolder } = process.env;
  if (diskFolder === undefined && canUseMemory()) process.env.TMPDIR = memoryFolder;
  using folder = new TemporaryFolder();
  // PostgreSQL's user passes through it.
  chmodSync(folder.path, 0o755);
  process.env.TMPDIR = folder.path;
  await using stack = new AsyncDisposableStack();
  // One run of many gets it, and takes a second less.
  if (process.env[clusterTemplateVariable] === undefined) {
    const template = stack.use(new ClusterTemplate());
    process.env[clusterTemplateVariable] = template.path;
    // Perhaps a copy in the system's temporary folder, which the next run finds there.
    process.env[postgresProgramsVariable] = dirname(template.programs.postgres);
  }
  const given = process.env.PLANTSTORE_TEST_POSTGRES;
  const url = given ?? stack.use(await PostgresServer.start(postgresSettings)).url;
  // Fewer shards than Citus has by default, as a query of all plants runs once for each.
  if (engine === "citus" && process.env[citusVariable] === undefined) {
    const { nodes } = stack.use(await CitusCluster.start({ ...postgresSettings, "citus.shard_count": "8" }));
    process.env[citusVariable] = nodes.map((node) => node.url).join(" ");
  }
  const report = folder.file("report.xml");
  const only = args.filter((arg) => !arg.startsWith("-"));
  const hasChromium = existsSync(chromiumPath() ?? "");
  const child = spawn(
    process.execPath,
    [
      "test",
      `--parallel=${availableParallelism() + 1}`,
      `--timeout=${testMsMax}`,
      `--timings=${timings}`,
      "--only-failures",
      ...(isRandom ? ["--randomize"] : []),
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...(hasChromium ? [] : ["--path-ignore-patterns=test/system/browser/**"]),
      // A tier of its own.
      ...(engine === "citus" ? [] : ["--path-ignore-patterns=test/system/citus/**"]),
      ...args,
      ...(only.length > 0 ? [] : folders),
    ],
    // A session of its own, by which the processes that the tests start can be found.
    {
      detached: true,
      stdio: ["ignore", "inherit", "inherit"],
      env: {
        ...process.env,
        TMPDIR: needsNoDisk === true ? folder.path : diskFolder,
        PLANTSTORE_TEST_POSTGRES: url,
        ...(engine === undefined ? {} : { [engineVariable]: engine }),
      },
    },
  );
  const exitCode = await endOf(child);
  if (existsSync(report)) {
    const xml = await Bun.file(report).text();
    process.stdout.write(slowestLine(xml) + skippedLine(xml) + failedLines(xml));
  }
  if (!hasChromium && folders.includes("./test/system/"))
    process.stdout.write(
      "skipped: test/system/browser (install chromium-headless-shell or chromium, or set CHROMIUM_PATH)\n",
    );
  return exitCode;
}

/** Whether it has the room, and a file in it can be run: Docker mounts it with noexec. */
function canUseMemory(): boolean {
  if (!existsSync(memoryFolder)) return false;
  const { bavail, bsize } = statfsSync(memoryFolder);
  if (bavail * bsize < memoryBytesMin) return false;
  const script = join(memoryFolder, `plantstore-${crypto.randomUUID()}`);
  try {
    writeFileSync(script, "#!/bin/sh\n", { mode: 0o700 });
    return spawnSync(script).status === 0;
  } catch {
    // It is not writable.
    return false;
  } finally {
    rmSync(script, { force: true });
  }
}

/**
 * Waits for the tests to end, also by a signal to this process. Returns the exit code. No process
 * of theirs is left.
 */
async function endOf(child: ChildProcess): Promise<number> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => killSession(child.pid));
  const [exitCode] = await once(child, "exit");
  // Servers of tests that timed out.
  killSession(child.pid);
  return exitCode ?? 1;
}

/** Kills the processes of a session: each test worker has a process group of its own. */
function killSession(leader: number | undefined): void {
  if (leader !== undefined) for (const pid of sessionOf(leader)) sendSignal(pid, "SIGKILL");
}

/** The command that runs a file with failed tests alone, a line for each. */
function failedLines(xml: string): string {
  const script = name === "test" ? "npm test --" : `npm run test:${name} --`;
  const failed = xml.matchAll(/<testcase [^>]*?file="([^"]*)"[^>]*>\s*<(?:failure|error)/g);
  const files = new Set(Array.from(failed, ([, file]) => file));
  return Array.from(files, (file) => `to run it alone: ${script} ./${file}\n`).join("");
}

/** The ten files that took the longest, with what is before and after their tests. */
function slowestLine(xml: string): string {
  const suites = xml.matchAll(/<testsuite name="([^"]*)" file="\1"[^>]* time="([\d.]+)"/g);
  const files = Array.from(suites, ([, file = "", seconds]) => ({ file, seconds: Number(seconds) }));
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10);
  const texts = slowest.map(({ file, seconds }) => `${file.replace("test/", "")} ${seconds.toFixed(1)} s`);
  return `slowest: ${texts.join(", ")}\n`;
}

/** Why tests were skipped: one line with the reasons in a JUnit report, each with its number. */
function skippedLine(xml: string): string {
  const tests = xml.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*>\s*<skipped/g);
  const reasons = Map.groupBy(tests, ([, name, groups]) => {
    const text = unescapeXml(`${groups} ${name}`);
    return /\(skipped: (.*?)\)/.exec(text)?.[1] ?? text.trim();
  });
  const counted = Array.from(reasons, ([reason, { length }]) => `${reason} (${length})`);
  return `skipped: ${counted.length === 0 ? "none" : counted.toSorted().join(", ")}\n`;
}

function unescapeXml(text: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replaceAll(/&(\w+);/g, (entity, name) => entities[name] ?? entity);
}
