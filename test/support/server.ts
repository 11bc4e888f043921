// The command serve on a free port, temporary folders, and other commands.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeToken, randomBytes } from "../../src/auth/token.ts";
import type { ContractSource } from "../../src/contract/contract.ts";
import { compiler } from "../../src/openapi/compiler.ts";
import { storeAt } from "../../src/store/open-store.ts";
import type { OpenMode, PlantStore } from "../../src/store/plant-store.ts";
import type { Target } from "./http.ts";
import { InProcessCommand } from "./in-process-command.ts";
import { type LogLine, logLines, Output } from "./output.ts";

/** The command, as a shell runs it. */
export const plantstore = new URL("../../bin/plantstore", import.meta.url).pathname;

/** The end of a program, and everything that it has printed. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command to its end, in the process of the test. Its environment is `env`. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string> = {},
  input = "",
): Promise<CommandResult> {
  return resultOf(new InProcessCommand(args, environment(env), input));
}

/** Runs one command in a new process. Its environment is `env` and the caller's PATH. */
export async function run(
  args: readonly string[],
  env: Record<string, string> = {},
  input = "",
): Promise<CommandResult> {
  return runProgram([plantstore, ...args], { env }, input);
}

/** Runs any program in a folder to its end. Its environment is the caller's PATH. */
export async function runIn(folder: string, command: readonly string[], input = ""): Promise<CommandResult> {
  return runProgram(command, { cwd: folder }, input);
}

/** Runs any program to its end. Its environment is `env` and the caller's PATH. */
export function runProgram(
  command: readonly string[],
  { env = {}, ...options }: { readonly cwd?: string; readonly env?: Record<string, string | undefined> } = {},
  input = "",
): Promise<CommandResult> {
  const streams = { stdin: new Blob([input]), stdout: "pipe", stderr: "pipe" } as const;
  return collectResult(
    Bun.spawn([...command], { ...options, ...streams, env: { ...environment({}), ...env } }),
  );
}

/** The exit code and the output of a process; its streams are read together. */
export async function collectResult(
  child: Bun.Subprocess<Bun.SpawnOptions.Writable, "pipe", "pipe">,
): Promise<CommandResult> {
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

/** Creates an empty store in this process, for commands that create none: a command costs 0.2 s. */
export async function createStore(database: string, contract?: ContractSource): Promise<void> {
  await using _ = await storeAt(database).open("create", () => undefined, { compiler, contract });
}

/** Opens a store in this process, and closes it. */
export async function withStore<T>(
  database: string,
  mode: OpenMode,
  use: (store: PlantStore) => Promise<T>,
): Promise<T> {
  await using store = await storeAt(database).open(mode, () => undefined, { compiler });
  return await use(store);
}

/** A temporary folder, removed when it goes out of scope. */
export class TemporaryFolder {
  readonly path = mkdtempSync(join(tmpdir(), "plantstore-test-"));

  file(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface ServerSetup {
  /**
   * The store's address, as --database takes it; by default a store that is removed with the
   * server.
   */
  readonly database?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** A command prefix that ends in exec, so that its process is the server's. */
  readonly under?: readonly string[];
  /** The command to run instead of `plantstore`. */
  readonly program?: string;
}

/** A running server, killed when it goes out of scope; call stop() first where its end matters. */
export class RunningServer {
  readonly url: string;
  readonly database: string;
  readonly #program: RunningProgram;
  readonly #folder: Disposable;
  #adminOpened: Promise<LogLine> | undefined;

  private constructor(url: string, database: string, program: RunningProgram, folder: Disposable) {
    this.url = url;
    this.database = database;
    this.#program = program;
    this.#folder = folder;
  }

  /** Starts a server in the process of the test. No signal can kill it. */
  static startInProcess({
    database,
    args = [],
    env = {},
  }: Pick<ServerSetup, "database" | "args" | "env"> = {}): Promise<RunningServer> {
    return RunningServer.#started(
      database,
      (serve) => new InProcessCommand([...serve, ...args], environment(env), ""),
    );
  }

  /** Starts a server in a new process, and waits for its address. */
  static async start({
    database,
    args = [],
    env = {},
    under = [],
    program = plantstore,
  }: ServerSetup = {}): Promise<RunningServer> {
    return RunningServer.#started(database, (serve) =>
      startProgram([...under, program, ...serve, ...args], { env: environment(env) }),
    );
  }

  static async #started(
    given: string | undefined,
    start: (serve: readonly string[]) => RunningProgram,
  ): Promise<RunningServer> {
    using folder = new DisposableStack();
    const database = given ?? `sqlite:${folder.use(new TemporaryFolder()).file("plants.db")}`;
    const program = start(["serve", "--port", "0", "--admin-port", "0", "--database", database]);
    const url = await program.stdout.until(firstLine).catch(async () => {
      throw new Error(`The server did not start: ${await program.stderr.ended}`);
    });
    return new RunningServer(url, database, program, folder.move());
  }

  /** The file of a store on SQLite. */
  get path(): string {
    return this.database.replace(/^sqlite:/, "");
  }

  /** The address of the admin listener. */
  async adminUrl(): Promise<string> {
    // Kept: a log may have grown long by the next time.
    this.#adminOpened ??= this.logged(({ msg }) => msg === "the admin listener is open");
    return String((await this.#adminOpened).url);
  }

  /** The first line of the log that matches, as soon as it is there. */
  logged(matches: (line: LogLine) => boolean): Promise<LogLine> {
    return this.#program.stderr.until((text) => logLines(text).find(matches));
  }

  /** The current value of a metric without labels. */
  async metric(name: string): Promise<number> {
    return readMetric(await this.adminUrl(), name);
  }

  /** The process of a server that has one of its own. */
  get pid(): number {
    const { pid } = this.#program;
    if (pid === undefined) throw new Error("This server runs in the process of the test");
    return pid;
  }

  /** The token that a server prints when it has created its store. */
  firstToken(): Promise<string> {
    return this.#program.stdout.until((text) => /pst_[\w-]{43}/.exec(text)?.[0]);
  }

  /** Adds a token, as `plantstore token create` does. It expires after `lifetimeMs`, or never. */
  async createToken(name?: string, lifetimeMs?: number): Promise<string> {
    return await withStore(this.database, "writable", ({ tokens }) => addToken(tokens, name, lifetimeMs));
  }

  /** This server with a new token. */
  async target(): Promise<Target> {
    return { url: this.url, token: await this.createToken() };
  }

  /** Runs a command on this server's store, in the process of the test. */
  command(...args: string[]): Promise<CommandResult> {
    return runCommand([...args, "--database", this.database]);
  }

  /** Waits for the server to end. */
  ended(): Promise<CommandResult> {
    return resultOf(this.#program);
  }

  /** Sends a signal, and waits for the end. */
  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<CommandResult> {
    this.#program.kill(signal);
    return this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(this.#program.pid === undefined ? "SIGTERM" : "SIGKILL");
    this.#folder[Symbol.dispose]();
  }
}

/** Puts the command on PATH, as if installed: messages then name commands as one can type them. */
export function environment(env: Record<string, string>): Record<string, string> {
  return { PATH: `${dirname(plantstore)}:${process.env.PATH}`, ...env };
}

/** A running program, in a separate process if it has a pid. */
export interface RunningProgram {
  readonly pid?: number;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
  endInput(): Promise<void>;
}

/** Starts a program in a new process. Its standard input stays open until endInput(). */
export function startProgram(
  command: readonly string[],
  options: { readonly cwd?: string; readonly env: Record<string, string> },
): RunningProgram {
  const child = Bun.spawn([...command], { ...options, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  return {
    pid: child.pid,
    stdout: new Output(child.stdout),
    stderr: new Output(child.stderr),
    exited: child.exited,
    kill: (signal) => child.kill(signal),
    endInput: async () => void (await child.stdin.end()),
  };
}

/** Waits for a program to end. */
export async function resultOf({ exited, stdout, stderr }: RunningProgram): Promise<CommandResult> {
  const exitCode = await exited;
  return { exitCode, stdout: await stdout.ended, stderr: await stderr.ended };
}

/** Adds a new token to a store. It expires after `lifetimeMs`, or never. */
export async function addToken(
  tokens: PlantStore["tokens"],
  name: string = crypto.randomUUID(),
  lifetimeMs?: number,
): Promise<string> {
  const now = Date.now();
  const expiresAt = lifetimeMs === undefined ? null : now + lifetimeMs;
  const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
  if (!(await tokens.add(record))) throw new Error(`There is a token named ${name}`);
  return token;
}

/** The current value of a metric without labels. */
export async function readMetric(adminUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

function firstLine(text: string): string | undefined {
  const end = text.indexOf("\n");
  return end === -1 ? undefined : text.slice(0, end);
}
