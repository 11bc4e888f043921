// Runs `plantstore sandbox`, and waits until it is ready: startSandbox.

import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// Imported, since test runners replace the global functions with fake timers.
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stringifyExact } from "../../client/src/exact-json.ts";
import type { Sent, StoredPlant } from "./control-types.ts";
import { SandboxProcess } from "./process.ts";
import { type Addresses, lastLine, Sandbox } from "./running-sandbox.ts";
import { withExactId } from "./sandbox-collection.ts";
import { SandboxStartError } from "./sandbox-errors.ts";

/** @typeParam Resource a resource of the contract. */
export interface SandboxOptions<Resource = StoredPlant> {
  /**
   * The resources at the start and after each reset, or the path of a CSV or JSON file. Where the
   * contract has several collections, it is the path of a folder with a file for each.
   */
  readonly seed?: readonly Sent<Resource>[] | string;
  /** Flags of `plantstore sandbox`, such as `["--port", "8080"]`; without it on free ports. */
  readonly flags?: readonly string[];
  /** The command, such as the single-file executable. Default: `plantstore` of this package. */
  readonly executable?: string;
  /** Called with each line of the sandbox's log. Default: the lines are dropped. */
  readonly log?: (line: string) => void;
  /** How long the start may take, in milliseconds. Default: 30,000. */
  readonly startTimeoutMs?: number;
}

/**
 * Starts a sandbox in its own process, and resolves when it is ready. It ends with `close()`, or
 * when the caller's process ends or is killed. Any number of sandboxes run side by side.
 *
 * @typeParam Resource a resource of the contract, which `--contract` of the flags may change.
 * @throws SandboxStartError if it does not start.
 * @throws TypeError for a seed whose id is not exact, and for an unknown option.
 */
export async function startSandbox<Resource extends object = StoredPlant>(
  options: SandboxOptions<NoInfer<Resource>> = {},
): Promise<Sandbox<Resource>> {
  assertKnown(options);
  const { executable = ownExecutable(), startTimeoutMs = 30_000 } = options;
  const seedFile = typeof options.seed === "object" ? writeSeeds(options.seed) : options.seed;
  const child = spawn(executable, seedFile, options);
  try {
    const sandbox = new Sandbox<Resource>(await waitUntilReady(child, startTimeoutMs), child);
    child.unref();
    return sandbox;
  } catch (error) {
    await child.kill();
    throw error;
  } finally {
    if (seedFile !== undefined && seedFile !== options.seed) rmSync(seedFile);
  }
}

const optionNames: readonly string[] = [
  "seed",
  "flags",
  "executable",
  "log",
  "startTimeoutMs",
] satisfies (keyof SandboxOptions)[];

/** Rejects unknown options: a misspelt one would be ignored silently. */
function assertKnown(options: object): void {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`startSandbox has no option ${unknown}; it has ${optionNames.join(", ")}`);
}

function spawn(
  executable: string,
  seedFile: string | undefined,
  { flags = [], log = () => undefined }: Pick<SandboxOptions, "flags" | "log">,
): SandboxProcess {
  const args = [
    ...["sandbox", "--port", "0", "--admin-port", "0"],
    // Requests without a response at the close belong to tests that have ended.
    ...["--exit-with-parent", "--drain-seconds-max", "1"],
    ...(seedFile === undefined ? [] : ["--seed", seedFile]),
    ...flags,
  ];
  return new SandboxProcess(executable, args, log);
}

/**
 * Writes resources as NDJSON, and returns the file's path. Throws a SandboxStartError if it cannot.
 */
function writeSeeds(resources: readonly object[]): string {
  const file = join(tmpdir(), `plantstore-sandbox-${randomUUID()}.ndjson`);
  const text = resources.map((resource) => `${stringifyExact(withExactId(resource))}\n`).join("");
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SandboxStartError(
      `The seeds cannot be written to ${tmpdir()} (${code}); set TMPDIR to a folder that is writable.`,
    );
  }
  return file;
}

async function waitUntilReady(sandbox: SandboxProcess, timeoutMs: number): Promise<Addresses> {
  await Promise.race([sandbox.ready, sandbox.ended, delay(timeoutMs, undefined, { ref: false })]);
  const addresses = readAddresses(sandbox.printed);
  if (addresses !== undefined) return addresses;
  const { end, output } = sandbox;
  // The command's own line is its last one.
  const line = lastLine(output);
  const message =
    end === undefined
      ? `The sandbox was not ready within ${timeoutMs} ms. ${line}`.trimEnd()
      : line || `The sandbox ended before it was ready: ${end}`;
  throw new SandboxStartError(message, output);
}

/** Reads the base URL and the rows that the command has printed; undefined until all are there. */
function readAddresses(printed: string): Addresses | undefined {
  const [url = ""] = printed.split("\n", 1);
  const read = (label: string) => new RegExp(`^${label} +(.*)\\n`, "m").exec(printed)?.[1];
  const [resourcesUrl, token, controlUrl] = [read("Interface"), read("Token"), read("Control")];
  if (resourcesUrl === undefined || token === undefined || controlUrl === undefined) return undefined;
  return { url, resourcesUrl, token, controlUrl };
}

/** The command of this package: three folders below, as source and as built. */
function ownExecutable(): string {
  return fileURLToPath(new URL("../../../bin/plantstore", import.meta.url));
}
