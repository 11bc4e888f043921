// The real server as its own process: a free port, a temporary folder, the command line beside it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The command, as a shell runs it. */
export const plantstore = new URL("../../bin/plantstore", import.meta.url).pathname;

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command to its end. The environment holds nothing of the caller's but PATH and what is given. */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const child = Bun.spawn([plantstore, ...args], {
    env: environment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
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
  /** The store's address, as --database takes it. */
  readonly database: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

/** A running server. Goes out of scope by being killed, so stop it first where its end matters. */
export class RunningServer {
  readonly url: string;
  readonly database: string;
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #stderr: Promise<string>;

  private constructor(url: string, database: string, child: Bun.Subprocess<"ignore", "pipe", "pipe">) {
    this.url = url;
    this.database = database;
    this.#child = child;
    this.#stderr = child.stderr.text();
  }

  /** Starts a server, and waits for its address. */
  static async start({ database, args = [], env = {} }: ServerSetup): Promise<RunningServer> {
    const child = Bun.spawn(
      [plantstore, "serve", "--port", "0", "--admin-port", "0", "--database", database, ...args],
      {
        env: environment(env),
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const url = await firstLine(child.stdout);
    if (url === undefined) throw new Error(`The server did not start: ${await child.stderr.text()}`);
    return new RunningServer(url, database, child);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Issues a token by the command line, as an operator does. */
  async createToken(name: string = crypto.randomUUID(), args: readonly string[] = []): Promise<string> {
    const { exitCode, stdout, stderr } = await this.command("token", "create", "--name", name, ...args);
    if (exitCode !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  /** Runs a command on this server's store. */
  command(...args: string[]): Promise<CommandResult> {
    return run([...args, "--database", this.database]);
  }

  /** Sends a signal, and waits for the end: the exit code, and all that was written to standard error. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<{ exitCode: number | null; stderr: string }> {
    this.#child.kill(signal);
    await this.#child.exited;
    return { exitCode: this.#child.exitCode, stderr: await this.#stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }
}

function environment(env: Record<string, string>): Record<string, string> {
  return { PATH: process.env.PATH ?? "", ...env };
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  // The reader is released and not cancelled: closing the pipe would end a server that writes to it again.
  for await (const chunk of stream.values({ preventCancel: true })) {
    text += decoder.decode(chunk, { stream: true });
    const end = text.indexOf("\n");
    if (end !== -1) return text.slice(0, end);
  }
  return undefined;
}
